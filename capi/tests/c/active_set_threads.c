/* Threads of each PE call collectives on active sets at once, each with pSync arrays of its own: on different sets, with PEs
 * in common and without, and on the same one. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, SETS = 6, LEN = 5, MOST_PES = 16, CROWD = 280 };

static int me, n, rounds, same;
static long sync_memory[2][THREADS][SETS][2][SHMEM_SYNC_SIZE], (*syncs)[SETS][2][SHMEM_SYNC_SIZE];
static long work_memory[THREADS][SHMEM_REDUCE_MIN_WRKDATA_SIZE + LEN];
static int64_t source[THREADS][LEN * MOST_PES], dest[THREADS][LEN * MOST_PES];
static int32_t small_source[THREADS][LEN], small_dest[THREADS][LEN * MOST_PES];
static long sums_source[THREADS][LEN], sums[THREADS][LEN], word[THREADS];

/* What PE number `pe` of a set has in place `i`. */
static long value(int thread, int round, int pe, int i) {
    return ((thread * 1000L + round) * 100 + pe) * 100 + i;
}

static void collectives(int thread, int round, int number, const int *set) {
    int start = set[0], log_stride = set[1], size = set[2];
#define SET start, log_stride, size
    int mine = (me - start) >> log_stride, root = round % size, next = start + ((mine + 1) % size << log_stride);
    long *sync = syncs[thread][number][0], *barrier = syncs[thread][number][1];
    int64_t *from = source[thread], *to = dest[thread];
    for (int i = 0; i < LEN * size; i++) from[i] = value(thread, round, mine, i);
    for (int i = 0; i < LEN * size; i++) to[i] = -1;
    shmem_barrier(SET, barrier);
    switch (round % 5) {
    case 0:
        shmem_broadcast64(to, from, LEN, root, SET, sync);
        for (int i = 0; i < LEN; i++) CHECK(to[i] == (mine == root ? -1 : value(thread, round, root, i)));
        break;
    case 1: {
        for (int i = 0; i < LEN; i++) small_source[thread][i] = (int32_t)value(thread, round, mine, i);
        size_t at = 0, count = (size_t)(mine + 1) % LEN;
        shmem_collect32(small_dest[thread], small_source[thread], count, SET, sync);
        for (int pe = 0; pe < size; pe++)
            for (int i = 0; i < (pe + 1) % LEN; i++)
                CHECK(small_dest[thread][at++] == (int32_t)value(thread, round, pe, i));
        break;
    }
    case 2:
        shmem_fcollect64(to, from, LEN, SET, sync);
        for (int i = 0; i < LEN * size; i++) CHECK(to[i] == value(thread, round, i / LEN, i % LEN));
        break;
    case 3:
        shmem_alltoall64(to, from, LEN, SET, sync);
        for (int i = 0; i < LEN * size; i++)
            CHECK(to[i] == value(thread, round, i / LEN, mine * LEN + i % LEN));
        break;
    default:
        for (int i = 0; i < LEN; i++) sums_source[thread][i] = value(thread, round, mine, i);
        shmem_long_sum_to_all(sums[thread], sums_source[thread], LEN, SET, work_memory[thread], sync);
        for (int i = 0; i < LEN; i++)
            CHECK(sums[thread][i] == size * value(thread, round, 0, i) + 100L * size * (size - 1) / 2);
    }
    /* A barrier completes what this thread has put. */
    shmem_long_p(&word[thread], round, next);
    shmem_barrier(SET, barrier);
    CHECK(word[thread] == round);
    shmem_sync(SET, barrier);
}

static void *work(void *argument) {
    int thread = (int)(intptr_t)argument;
    const int sets[SETS][3] = {{0, 0, n},           {0, 1, (n + 1) / 2},         {1, 1, n / 2},
                               {1, 0, n - 1},       {0, 0, (n + 1) / 2},         {(n + 1) / 2, 0, n / 2}};
    for (int round = 0; round < rounds; round++) {
        int number = same ? round / 50 % SETS : (round + thread) % SETS;
        const int *set = sets[number];
        int behind = me - set[0], stride = 1 << set[1];
        if (behind < 0 || behind % stride != 0 || behind / stride >= set[2]) continue;
        collectives(thread, round, number, set);
    }
    return NULL;
}

/* All threads, on sets of their own or all on the same one at a time, while the main thread has collectives of the world. */
static void run(int times, int on_same, int crowded) {
    pthread_t threads[THREADS];
    rounds = times, same = on_same, syncs = sync_memory[crowded];
    for (intptr_t i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (int i = 0; i < times; i++) shmem_barrier_all();
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    shmem_barrier_all();
    for (int i = 0; i < 2 * THREADS * SETS * 2 * SHMEM_SYNC_SIZE; i++)
        CHECK((&sync_memory[0][0][0][0][0])[i] == SHMEM_SYNC_VALUE);
    shmem_barrier_all();
}

int main(void) {
    int provided;
    CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0 && provided == SHMEM_THREAD_MULTIPLE);
    me = shmem_my_pe(), n = shmem_n_pes();
    CHECK(n <= MOST_PES);
    run(300, 0, 0);
    run(300, 1, 0);
    /* With more teams than there is room for to keep what is made of a pSync. */
    static shmem_team_t teams[CROWD];
    for (int i = 0; i < CROWD; i++)
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &teams[i]) == 0);
    run(60, 0, 1);
    run(60, 1, 1);
    for (int i = 0; i < CROWD; i++) shmem_team_destroy(teams[i]);
    shmem_finalize();
    return 0;
}
