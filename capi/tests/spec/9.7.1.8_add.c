/* 9.7.1.8, example 26: an addition that fetches nothing. */
#include "../c/check.h"

int main(void) {
    static int dest = 22;
    shmem_init();
    int me = shmem_my_pe(), adder = 1 % shmem_n_pes();
    if (me == adder)
        shmem_atomic_add(&dest, 44, 0);
    shmem_barrier_all();
    printf("PE %d: %d\n", me, dest);
    CHECK(dest == (me == 0 ? 66 : 22));
    shmem_finalize();
    return 0;
}
