/* 9.6.1.6, example 20: a get of a single value. */
#include "../c/check.h"

int main(void) {
    static long x = 10101;
    long y = -1;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    x += me;
    shmem_barrier_all();
    if (me == 0)
        y = shmem_g(&x, n - 1);
    printf("PE %d: %ld\n", me, y);
    CHECK(y == (me == 0 ? 10101 + n - 1 : -1));
    shmem_finalize();
    return 0;
}
