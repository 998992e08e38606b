/* Threads split teams of their own at once, and have collectives on them: §9.4, thread safety. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 3, ROUNDS = 300 };
static shmem_team_t parents[THREADS];
static long given[THREADS], got[THREADS];

static void *split(void *argument) {
    long thread = (long *)argument - given;
    int n = shmem_n_pes(), me = shmem_my_pe();
    for (long round = 0; round < ROUNDS; round++) {
        shmem_team_t team;
        CHECK(shmem_team_split_strided(parents[thread], 0, 1, n, NULL, 0, &team) == 0);
        for (int i = 0; i < 3; i++) {
            long value = 1000000 * (thread + 1) + round;
            given[thread] = value + me;
            CHECK(shmem_long_sum_reduce(team, &got[thread], &given[thread], 1) == 0);
            CHECK(got[thread] == n * value + n * (n - 1) / 2);
        }
        shmem_team_destroy(team);
    }
    return NULL;
}

int main(void) {
    int provided;
    pthread_t threads[THREADS];
    CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0 && provided == SHMEM_THREAD_MULTIPLE);
    for (int i = 0; i < THREADS; i++)
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &parents[i]) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, split, &given[i]) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    shmem_finalize();
    return 0;
}
