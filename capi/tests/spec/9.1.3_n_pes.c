/* 9.1.3, example 6: a PE's number and how many there are. */
#include "../c/check.h"

int main(void) {
    static int seen[64];
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    printf("PE %d of %d\n", me, n);
    CHECK(me >= 0 && me < n && n <= 64);
    /* No two PEs have one number. */
    shmem_int_atomic_inc(&seen[me], 0);
    shmem_barrier_all();
    if (me == 0)
        for (int pe = 0; pe < 64; pe++)
            CHECK(seen[pe] == (pe < n));
    shmem_finalize();
    return 0;
}
