/* 9.1.4, example 7: a program that ends with finalize completes what it started. */
#include "../c/check.h"

int main(void) {
    static long x = 10101;
    long y = -1;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    if (me == 0)
        y = shmem_g(&x, n - 1);
    CHECK(y == (me == 0 ? 10101 : -1));
    shmem_finalize();
    /* The process goes on without OpenSHMEM. */
    printf("PE %d: %ld\n", me, y);
    return 0;
}
