/* 9.13.1, example 47: PEs take turns to increase a counter by a get and a put, under a lock. */
#include "../c/check.h"

int main(void) {
    static long lock = 0;
    static int count = 0, mine = 0, sum = 0;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_set_lock(&lock);
    mine = shmem_g(&count, 0);
    printf("PE %d counts from %d\n", me, mine);
    shmem_p(&count, mine + 1, 0);
    /* This completes the put first. */
    shmem_clear_lock(&lock);
    shmem_barrier_all();
    CHECK(mine >= 0 && mine < n);
    CHECK(shmem_g(&count, 0) == n);
    shmem_sum_reduce(SHMEM_TEAM_WORLD, &sum, &mine, 1);
    CHECK(sum == n * (n - 1) / 2);
    shmem_finalize();
    return 0;
}
