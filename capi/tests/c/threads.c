/* Communication from several threads of each PE at once, each on a context of its own, and all on the default one. */
#include "types.h"
#include <pthread.h>
#include <sched.h>

enum { THREADS = 4, ROUNDS = 100, LEN = 64 };

static int me, n, next, before;
static long counter, shared_counter, slots[THREADS][LEN], flags[THREADS], lock, locked;
static uint64_t sigs[THREADS];

static void *work(void *argument) {
    long number = (long)(intptr_t)argument;
    const long options[THREADS] = {0, SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE, SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE};
    shmem_ctx_t ctx;
    CHECK(shmem_ctx_create(options[number], &ctx) == 0);
    for (long round = 1; round <= ROUNDS; round++) {
        long mine[LEN], theirs[LEN], fetched = -1;
        for (int i = 0; i < LEN; i++)
            mine[i] = me * 1000000 + number * 10000 + round * 64 + i;
        /* The next PE's thread of the same number reads what this one has put before the flag or the signal. */
        if (round % 2 == 0) {
            shmem_ctx_long_put_nbi(ctx, slots[number], mine, LEN, next);
            shmem_ctx_fence(ctx);
            shmem_ctx_long_p(ctx, &flags[number], round, next);
        } else {
            shmem_ctx_long_put_signal_nbi(ctx, slots[number], mine, LEN, &sigs[number], 1, SHMEM_SIGNAL_ADD, next);
            shmem_ctx_long_atomic_set(ctx, &flags[number], round, next);
        }
        shmem_ctx_long_atomic_fetch_add_nbi(ctx, &fetched, &counter, 1, 0);
        shmem_long_atomic_inc(&shared_counter, n - 1);
        shmem_ctx_quiet(ctx);
        CHECK(fetched >= 0 && fetched < (long)THREADS * ROUNDS * n);
        CHECK(shmem_ctx_long_g(ctx, &slots[number][LEN - 1], next) == mine[LEN - 1]);
        if (round % 2 == 1)
            shmem_signal_wait_until(&sigs[number], SHMEM_CMP_GE, (uint64_t)(round / 2 + 1));
        shmem_long_wait_until(&flags[number], SHMEM_CMP_GE, round);
        memcpy(theirs, slots[number], sizeof theirs);
        for (int i = 0; i < LEN; i++)
            CHECK(theirs[i] == before * 1000000 + number * 10000 + round * 64 + i);
        /* It may go on once this one has read. */
        shmem_ctx_long_p(ctx, &flags[number], -round, me);
        while (shmem_ctx_long_g(ctx, &flags[number], next) != -round)
            sched_yield();
    }
    shmem_ctx_destroy(ctx);
    if (number == 0) {
        shmem_set_lock(&lock);
        shmem_long_p(&locked, shmem_long_g(&locked, 0) + 1, 0);
        shmem_clear_lock(&lock);
    }
    return NULL;
}

int main(void) {
    int provided;
    CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0 && provided == SHMEM_THREAD_MULTIPLE);
    me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    shmem_barrier_all();
    CHECK(shmem_long_g(&counter, 0) == (long)THREADS * ROUNDS * n);
    CHECK(shmem_long_g(&shared_counter, n - 1) == (long)THREADS * ROUNDS * n);
    CHECK(shmem_long_g(&locked, 0) == n);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
