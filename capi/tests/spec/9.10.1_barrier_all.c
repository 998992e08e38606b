/* 9.10.1, example 29: a barrier completes the puts of all PEs. */
#include "../c/check.h"

int main(void) {
    static int x = 1010;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_p(&x, 4 + me, (me + 1) % n);
    shmem_barrier_all();
    printf("PE %d: %d\n", me, x);
    CHECK(x == 4 + (me + n - 1) % n);
    shmem_finalize();
    return 0;
}
