/* 9.6.1.1, example 17: a put of ten words. */
#include "../c/check.h"

int main(void) {
    static long dest[10];
    long source[10];
    for (int i = 0; i < 10; i++)
        source[i] = i + 1;
    shmem_init();
    int me = shmem_my_pe(), receiver = 1 % shmem_n_pes();
    if (me == 0)
        shmem_put(dest, source, 10, receiver);
    shmem_barrier_all();
    printf("PE %d: %ld first\n", me, dest[0]);
    for (int i = 0; i < 10; i++)
        CHECK(dest[i] == (me == receiver ? i + 1 : 0));
    shmem_finalize();
    return 0;
}
