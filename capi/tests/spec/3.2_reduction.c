/* 3.2, example 3: a barrier between atomic increments and a reduction of the same word. */
#include "../c/check.h"

int main(void) {
    static int x = 0, y = 0;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_int_atomic_inc(&x, (me + 1) % n);
    /* The reduction reads x without atomics: the increments have to be complete. */
    shmem_barrier_all();
    CHECK(shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &y, &x, 1) == 0);
    CHECK(x == 1 && y == n);
    shmem_finalize();
    return 0;
}
