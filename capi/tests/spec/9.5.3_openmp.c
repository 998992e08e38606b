/* 9.5.3, example 14: threads with a context each take tasks from all PEs' counters. */
/* flags: -fopenmp */
#include "../c/check.h"

#define TASKS 200

long counter = 0; /* the next task of this PE */
long times[TASKS]; /* how often each of its tasks was done */
long done = 0; /* what this PE's threads did */
long total = 0;

int main(void) {
    int level;
    CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level) == 0);
    CHECK(level == SHMEM_THREAD_MULTIPLE);
    int me = shmem_my_pe(), n = shmem_n_pes();
#pragma omp parallel num_threads(3) reduction(+ : done)
    {
        shmem_ctx_t ctx;
        CHECK(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) == 0);
        /* First this PE's tasks, then those of the PEs after it. */
        for (int i = 0; i < n; i++) {
            int pe = (me + i) % n;
            long task;
            while ((task = shmem_atomic_fetch_inc(ctx, &counter, pe)) < TASKS) {
                shmem_atomic_inc(ctx, &times[task], pe);
                done++;
            }
        }
        shmem_ctx_destroy(ctx);
    }
    shmem_barrier_all();
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &total, &done, 1);
    CHECK(total == (long)TASKS * n);
    CHECK(counter > TASKS);
    for (int i = 0; i < TASKS; i++)
        CHECK(times[i] == 1);
    shmem_finalize();
    return 0;
}
