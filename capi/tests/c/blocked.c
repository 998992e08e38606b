/* A thread that is blocked in a call stops neither the other threads of its PE nor other PEs, and uses no processor. */
#include "check.h"
#include <pthread.h>
#include <time.h>
#include <unistd.h>

static long flag, sum, mine, released;

static double seconds(clockid_t clock) {
    struct timespec at;
    clock_gettime(clock, &at);
    return at.tv_sec + at.tv_nsec / 1e9;
}

static void *wait_for_it(void *unused) {
    (void)unused;
    double start = seconds(CLOCK_MONOTONIC), used = seconds(CLOCK_THREAD_CPUTIME_ID);
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    double waited = seconds(CLOCK_MONOTONIC) - start;
    used = seconds(CLOCK_THREAD_CPUTIME_ID) - used;
    /* It may drive what the other threads wait for, too. */
    CHECK(used < waited / 2);
    CHECK(__atomic_load_n(&released, __ATOMIC_ACQUIRE) == 1);
    return NULL;
}

int main(void) {
    int provided;
    CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0 && provided == SHMEM_THREAD_MULTIPLE);
    int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n;
    pthread_t blocked;
    CHECK(pthread_create(&blocked, NULL, wait_for_it, NULL) == 0);
    for (int round = 0; round < 50; round++) {
        mine = round + me;
        CHECK(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &mine, 1) == 0);
        CHECK(sum == (long)round * n + (long)n * (n - 1) / 2);
        shmem_barrier_all();
        usleep(4000);
    }
    CHECK(shmem_long_g(&flag, next) == 0);
    __atomic_store_n(&released, 1, __ATOMIC_RELEASE);
    shmem_barrier_all();
    shmem_long_p(&flag, 1, next);
    CHECK(pthread_join(blocked, NULL) == 0);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
