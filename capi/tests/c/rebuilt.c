/* A job of four PEs, each of which is killed once and replaced: what a replacement finds, and what the world is afterwards. */
#include "check.h"
#include <shmemx.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

enum { LEN = 1000 };

static long table[2] = {41, 42}, sums[2];
static long p_sync[SHMEM_BARRIER_SYNC_SIZE], p_sync_even[SHMEM_BARRIER_SYNC_SIZE];
static int is_over;

/* What the world offers, once it is whole. */
static void all_is_well(long *words, long *more, shmem_ctx_t ctx) {
    int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    for (int pe = 0; pe < n; pe++) CHECK(!shmemx_is_lost(pe));
    CHECK(shmem_team_n_pes(SHMEM_TEAM_WORLD) == n && shmem_team_my_pe(SHMEM_TEAM_WORLD) == me);
    CHECK(shmem_team_sync(SHMEM_TEAM_SHARED) == 0);
    more[1] = 0;
    shmem_barrier_all();
    shmem_long_p(&words[LEN - 1], 100 + me, next);
    shmem_ctx_long_atomic_add(ctx, &more[1], 1, next);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    CHECK(words[LEN - 1] == 100 + before && more[1] == 1);
    sums[0] = me + 1;
    CHECK(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sums[1], &sums[0], 1) == 0 && sums[1] == n * (n + 1) / 2);
    shmem_barrier(0, 0, n, p_sync);
    shmem_barrier(0, 1, n / 2, p_sync_even);
    long *fresh = shmem_calloc(8, sizeof *fresh);
    CHECK(fresh != NULL);
    shmem_long_p(&fresh[7], me, next);
    shmem_barrier_all();
    CHECK(fresh[7] == before);
    shmem_free(fresh);
    shmem_team_t half;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, n / 2, NULL, 0, &half) == 0);
    CHECK(me % 2 == 1 || shmem_team_sync(half) == 0);
    shmem_team_destroy(half);
    CHECK(shmemx_ctx_error(SHMEM_CTX_DEFAULT) == 0 && shmemx_ctx_error(ctx) == 0);
}

/* Makes the world whole, as soon as the one that was lost is replaced. */
static void rebuild(void) {
    int status;
    while ((status = shmemx_rebuilt()) == SHMEMX_PE_LOST) usleep(1000);
    CHECK(status == 0);
}

/* Waits through all that comes. */
static void *waits(void *arg) {
    shmem_int_wait_until(&is_over, SHMEM_CMP_EQ, 1);
    return arg;
}

int main(void) {
    shmemx_survive_loss();
    int provided;
    CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0);
    pthread_t waiting;
    CHECK(pthread_create(&waiting, NULL, waits, NULL) == 0);
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_ctx_t ctx;
    CHECK(shmem_ctx_create(0, &ctx) == 0);
    CHECK(table[0] == 41 && table[1] == 42 && shmemx_unclaimed(NULL, 0) == 0);
    long *words, *more;
    int is_new = shmemx_is_replacement();
    if (is_new) {
        void *blocks[3] = {NULL, NULL, NULL};
        shmem_barrier_all();
        CHECK(shmemx_ctx_error(SHMEM_CTX_DEFAULT) == SHMEMX_PE_LOST); /* it is not let in yet */
        rebuild();
        CHECK(shmemx_unclaimed(NULL, 0) == 2 && shmemx_unclaimed(blocks, 1) == 2 && blocks[0] && !blocks[1]);
        CHECK(shmemx_unclaimed(blocks, 3) == 2 && blocks[1] && !blocks[2]);
        words = blocks[0], more = blocks[1];
        CHECK(words[0] == 0 && words[LEN - 1] == 0 && more[0] == 0);
    } else {
        words = shmem_calloc(LEN, sizeof *words);
        more = shmem_malloc(64);
        words[0] = more[0] = 7 + me;
        CHECK(shmemx_rebuilt() == 0); /* it is whole */
        all_is_well(words, more, ctx);
        shmem_barrier_all();
    }
    /* Each new world begins with how many were lost. */
    for (;;) {
        if (is_new) all_is_well(words, more, ctx);
        int lost = shmemx_losses(NULL, 0);
        if (lost == n) break;
        shmem_team_sync(SHMEM_TEAM_WORLD); /* all have come here; it may fail on some, as one is killed behind it */
        if (me == lost) raise(SIGKILL);
        table[1] = 43; /* a replacement has its own */
        while (shmem_team_sync(SHMEM_TEAM_WORLD) == 0) {}
        shmem_quiet();
        shmemx_ctx_error(SHMEM_CTX_DEFAULT);
        /* Memory is shared by those that are left until then. */
        shmem_team_t left;
        CHECK(shmemx_team_survivors(SHMEM_TEAM_WORLD, &left, NULL) == 0 && shmem_team_n_pes(left) == n - 1);
        rebuild();
        shmem_team_destroy(left);
        is_new = 1;
    }
    shmem_int_p(&is_over, 1, me);
    CHECK(pthread_join(waiting, NULL) == 0);
    size_t unclaimed = shmemx_unclaimed(NULL, 0);
    CHECK(unclaimed == (shmemx_is_replacement() ? 2 : 0));
    shmem_free(more);
    words = shmem_realloc(words, 2 * LEN * sizeof *words);
    CHECK(words != NULL && shmemx_unclaimed(NULL, 0) == 0);
    shmem_free(words);
    shmem_ctx_destroy(ctx);
    printf("PE %d is in a whole world\n", me);
    shmem_finalize();
    return 0;
}
