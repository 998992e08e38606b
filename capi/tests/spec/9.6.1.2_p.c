/* 9.6.1.2, example 18: a put of a single value arrives bit by bit. */
#include "../c/check.h"

int main(void) {
    const double e = 2.71828182, pi = 3.1415927;
    static double f = 3.1415927;
    shmem_init();
    int me = shmem_my_pe(), receiver = 1 % shmem_n_pes();
    if (me == 0)
        shmem_p(&f, e, receiver);
    shmem_barrier_all();
    CHECK(f == (me == receiver ? e : pi));
    if (me == receiver)
        printf("as sent\n");
    shmem_finalize();
    return 0;
}
