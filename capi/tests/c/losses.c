/* A job of four PEs that goes on when PE 2 is lost: errors stay with their contexts, and do not end the job. */
#include "check.h"
#include <shmemx.h>
#include <signal.h>
#include <string.h>

enum { LOST = 2, LOCKS = 16 };

static long words[4], sum, part;
static long locks[LOCKS], held[LOCKS], gone[LOCKS];
static uint64_t flag;

int main(void) {
    CHECK(shmemx_survive_loss() == 0);
    shmem_init();
    CHECK(shmemx_survive_loss() != 0); /* too late */
    int me = shmem_my_pe(), n = shmem_n_pes(), left[3] = {0, 1, 3}, lost[4] = {-1, -1, -1, -1};
    CHECK(n == 4 && shmemx_losses(NULL, 0) == 0 && shmemx_losses(lost, 4) == 0 && !shmemx_is_lost(LOST));
    CHECK(shmemx_ctx_error(SHMEM_CTX_DEFAULT) == 0 && shmemx_ctx_error(SHMEM_CTX_INVALID) == 0);
    shmem_ctx_t ctx;
    CHECK(shmem_ctx_create(0, &ctx) == 0 && shmemx_ctx_error(ctx) == 0);
    long *heap = shmem_calloc(4, sizeof *heap);
    shmem_barrier_all();
    if (me == LOST) {
        for (int i = 0; i < LOCKS; i++) shmem_set_lock(&locks[i]);
        for (int i = 0; i < 3; i++) shmem_uint64_atomic_inc(&flag, left[i]);
        shmem_uint64_wait_until(&flag, SHMEM_CMP_EQ, 3);
        raise(SIGKILL);
    }
    shmem_uint64_wait_until(&flag, SHMEM_CMP_EQ, 1);
    CHECK(shmem_test_lock(&locks[0]) != 0);
    shmem_uint64_atomic_inc(&flag, LOST);

    /* A collective does not hang, and says so; the first failure is enough. */
    while (shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &part, 1) == 0) {}
    while (!shmemx_is_lost(LOST)) shmem_team_sync(SHMEM_TEAM_SHARED);
    CHECK(shmemx_losses(lost, 1) == 1 && shmemx_losses(lost, 4) == 1 && lost[0] == LOST && lost[1] == -1);
    CHECK(!shmemx_is_lost(me) && !shmemx_is_lost(-1) && !shmemx_is_lost(n));
    shmem_quiet(); /* whether the increment arrived cannot be known */
    shmem_ctx_quiet(ctx);
    shmemx_ctx_error(SHMEM_CTX_DEFAULT);
    CHECK(shmemx_ctx_error(SHMEM_CTX_DEFAULT) == 0 && shmemx_ctx_error(ctx) == 0);

    /* Routines do nothing towards it. */
    long value = 7, fetched = 7, text[4] = {1, 2, 3, 4};
    shmem_long_p(&words[0], 1, LOST);
    CHECK(shmemx_ctx_error(ctx) == 0);
    CHECK(shmemx_ctx_error(SHMEM_CTX_DEFAULT) == SHMEMX_PE_LOST && shmemx_ctx_error(SHMEM_CTX_DEFAULT) == 0);
    shmem_ctx_long_put(ctx, words, text, 4, LOST);
    CHECK(shmemx_ctx_error(SHMEM_CTX_DEFAULT) == 0);
    CHECK(shmemx_ctx_error(ctx) == SHMEMX_PE_LOST && shmemx_ctx_error(ctx) == 0);
#define FAILS(call) \
    do { \
        call; \
        shmem_quiet(); \
        CHECK(shmemx_ctx_error(SHMEM_CTX_DEFAULT) == SHMEMX_PE_LOST); \
        shmem_quiet(); \
        CHECK(shmemx_ctx_error(SHMEM_CTX_DEFAULT) == 0); \
    } while (0)
    FAILS(shmem_long_put(heap, text, 4, LOST));
    FAILS(shmem_putmem_nbi(words, text, sizeof text, LOST));
    FAILS(shmem_long_iput(words, text, 1, 1, 4, LOST));
    FAILS(shmem_getmem(text, words, sizeof text, LOST));
    FAILS(shmem_long_get_nbi(text, heap, 4, LOST));
    FAILS(shmem_long_atomic_add(&words[1], 1, LOST));
    FAILS(shmem_long_atomic_set(&words[1], 1, LOST));
    FAILS(shmem_long_atomic_fetch_add_nbi(&fetched, &words[1], 1, LOST));
    FAILS(shmem_putmem_signal(words, text, sizeof text, &flag, 1, SHMEM_SIGNAL_ADD, LOST));
    FAILS(value = shmem_long_g(&words[0], LOST));
    CHECK(value == 0 && fetched == 7 && text[3] == 4);
    value = 7;
    FAILS(value = shmem_long_atomic_fetch_add(&words[0], 1, LOST));
    CHECK(value == 0);
    value = 7;
    FAILS(value = shmem_long_atomic_swap(&words[0], 1, LOST));
    CHECK(value == 0);

    /* Collectives of a team with a lost member fail at once. */
    CHECK(shmem_team_sync(SHMEM_TEAM_WORLD) != 0);
    CHECK(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &part, 1) != 0);
    CHECK(shmem_broadcastmem(SHMEM_TEAM_WORLD, words, heap, 8, 0) != 0);
    shmem_team_t team = SHMEM_TEAM_WORLD;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &team) != 0 && team == SHMEM_TEAM_INVALID);
    CHECK(shmemx_ctx_error(SHMEM_CTX_DEFAULT) == SHMEMX_PE_LOST);
    shmem_barrier_all();
    CHECK(shmemx_ctx_error(SHMEM_CTX_DEFAULT) == SHMEMX_PE_LOST);

    /* Those that are left make a team, with and without the counts. */
    uint64_t completed[4] = {0, 0, 0, 9999};
    CHECK(shmemx_team_survivors(SHMEM_TEAM_INVALID, &team, NULL) < 0 && team == SHMEM_TEAM_INVALID);
    CHECK(shmemx_team_survivors(SHMEM_TEAM_WORLD, &team, completed) == 0);
    CHECK(shmem_team_n_pes(team) == 3 && shmem_team_my_pe(team) == (me == 3 ? 2 : me));
    for (int i = 0; i < 3; i++) CHECK(shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD) == left[i] && completed[i] > 0);
    CHECK(completed[3] == 9999);
    long *more = shmem_calloc(8, sizeof *more);
    CHECK(more != NULL);
    shmem_long_p(&more[1], 300 + me, left[(shmem_team_my_pe(team) + 1) % 3]);
    shmem_quiet();
    CHECK(shmem_team_sync(team) == 0 && more[1] == 300 + left[(shmem_team_my_pe(team) + 2) % 3]);
    shmem_free(more);
    shmem_team_t again;
    CHECK(shmemx_team_survivors(team, &again, NULL) == 0 && shmem_team_n_pes(again) == 3);
    for (int round = 0; round < 100; round++) {
        part = me + round;
        CHECK(shmem_long_sum_reduce(again, &sum, &part, 1) == 0 && sum == 4 + 3 * round);
    }
    shmem_team_destroy(again);

    /* Operations among them are as before, on contexts old and new. */
    int next = left[(shmem_team_my_pe(team) + 1) % 3], before = left[(shmem_team_my_pe(team) + 2) % 3];
    shmem_long_p(&words[2], 100 + me, next);
    shmem_ctx_long_p(ctx, &words[3], 200 + me, next);
    shmem_quiet();
    shmem_ctx_quiet(ctx);
    shmem_long_wait_until(&words[2], SHMEM_CMP_EQ, 100 + before);
    shmem_long_wait_until(&words[3], SHMEM_CMP_EQ, 200 + before);
    shmem_ctx_t own;
    CHECK(shmem_team_create_ctx(team, 0, &own) == 0);
    shmem_ctx_long_atomic_inc(own, &heap[1], (shmem_team_my_pe(team) + 1) % 3);
    shmem_ctx_quiet(own);
    CHECK(shmemx_ctx_error(own) == 0 && shmem_team_sync(team) == 0 && heap[1] == 1);
    shmem_ctx_destroy(own);

    /* Its locks go to the others, or are lost with it. */
    for (int i = 0; i < LOCKS; i++) {
        shmem_set_lock(&locks[i]);
        if (shmemx_ctx_error(SHMEM_CTX_DEFAULT) == SHMEMX_PE_LOST) {
            CHECK(shmem_test_lock(&locks[i]) != 0 && shmemx_ctx_error(SHMEM_CTX_DEFAULT) == SHMEMX_PE_LOST);
            shmem_clear_lock(&locks[i]);
            CHECK(shmemx_ctx_error(SHMEM_CTX_DEFAULT) == SHMEMX_PE_LOST);
            shmem_long_atomic_inc(&gone[i], 0);
            continue;
        }
        CHECK(shmem_test_lock(&locks[i]) != 0);
        long so_far = shmem_long_g(&held[i], 0);
        shmem_long_p(&held[i], so_far + 1, 0);
        shmem_clear_lock(&locks[i]);
    }
    shmem_quiet();
    CHECK(shmemx_ctx_error(SHMEM_CTX_DEFAULT) == 0 && shmem_team_sync(team) == 0);
    if (me == 0) {
        int kept = 0;
        for (int i = 0; i < LOCKS; i++) {
            CHECK((held[i] == 3 && gone[i] == 0) || (held[i] == 0 && gone[i] == 3));
            kept += held[i] == 3;
        }
        CHECK(kept >= LOCKS / 2 && kept < LOCKS);
    }
    shmem_team_destroy(team);
    shmem_ctx_destroy(ctx);
    printf("PE %d goes on\n", me);
    shmem_finalize();
    return 0;
}
