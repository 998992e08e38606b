/* What the specification just allows: nothing to do, with pointers to nothing; the same array twice where that is allowed; elements between each
 * other; handles that are none, where a routine says that. Beside it, errors.c has what is just not allowed. */
#include <string.h>

#include "check.h"

enum { ROOM = 4096 };
static long a[ROOM], b[ROOM];
static uint64_t sig[4];
static long lock;
/* Predefined handles are constants, and macros as well as variables. */
static shmem_team_t world = SHMEM_TEAM_WORLD;
static shmem_ctx_t context = SHMEM_CTX_DEFAULT;
#if !defined(SHMEM_TEAM_WORLD) || !defined(SHMEM_TEAM_INVALID) || !defined(SHMEM_CTX_INVALID)
#error "programs ask whether there are such macros"
#endif

static void nothing_to_do(int other)
{
    long own[8] = {0};
    shmem_long_put(NULL, NULL, 0, other);
    shmem_long_put(own, own, 0, other);
    shmem_long_get(own, NULL, 0, other);
    shmem_putmem_nbi(NULL, NULL, 0, other);
    shmem_getmem_nbi(NULL, NULL, 0, other);
    shmem_long_iput(NULL, NULL, 1, 1, 0, other);
    shmem_long_iget(own, a, 1, 1, 0, other);
    shmem_long_ibput(a, own, 4, 4, 4, 0, other);
    shmem_long_ibput(a, own, 4, 4, 0, 2, other);
    shmem_long_put_signal(a, own, 0, &sig[0], 1, SHMEM_SIGNAL_ADD, other); /* the signal comes all the same */
    shmem_signal_wait_until(&sig[0], SHMEM_CMP_EQ, 1);
    shmem_long_wait_until_all(NULL, 0, NULL, SHMEM_CMP_EQ, 0);
    CHECK(shmem_long_wait_until_any(NULL, 0, NULL, SHMEM_CMP_EQ, 0) == SIZE_MAX);
    CHECK(shmem_long_test_some(NULL, 0, NULL, NULL, SHMEM_CMP_EQ, 0) == 0);
    CHECK(shmem_long_test_all(NULL, 0, NULL, SHMEM_CMP_EQ, 0) == 1);
    int none[16];
    for (int i = 0; i < 16; i++) none[i] = 1;
    shmem_long_wait_until_all(a, 16, none, SHMEM_CMP_EQ, 12345);
    CHECK(shmem_long_wait_until_any(a, 16, none, SHMEM_CMP_EQ, 12345) == SIZE_MAX);
    shmem_pe_quiet(NULL, 0);
    int again[] = {other, other, shmem_my_pe(), other};
    shmem_pe_quiet(again, 4);
}

static void collectives(shmem_team_t team)
{
    int n = shmem_team_n_pes(team), me = shmem_team_my_pe(team);
    CHECK(shmem_long_sum_reduce(team, NULL, NULL, 0) == 0);
    CHECK(shmem_long_sum_exscan(team, NULL, NULL, 0) == 0);
    CHECK(shmem_long_broadcast(team, NULL, NULL, 0, 0) == 0);
    CHECK(shmem_long_collect(team, NULL, NULL, 0) == 0);
    CHECK(shmem_long_fcollect(team, NULL, NULL, 0) == 0);
    CHECK(shmem_long_alltoall(team, NULL, NULL, 0) == 0);
    CHECK(shmem_long_alltoalls(team, NULL, NULL, 1, 1, 0) == 0);
    shmem_team_sync(team);
    for (int i = 0; i < 4; i++) a[i] = me + 1;
    shmem_team_sync(team);
    CHECK(shmem_long_sum_reduce(team, a, a, 4) == 0);
    CHECK(a[3] == n * (n + 1) / 2);
    shmem_team_sync(team);
    CHECK(shmem_long_broadcast(team, a, a, 4, 0) == 0);
    shmem_team_sync(team);
    /* Elements that lie between each other overlap in nothing. */
    for (int count = 1; count <= 100; count += 33) {
        for (int i = 0; i < count * n; i++) {
            a[2 * i] = 10000 * me + i;
            a[2 * i + 1] = -1;
        }
        shmem_team_sync(team);
        CHECK(shmem_long_alltoalls(team, &a[1], &a[0], 2, 2, count) == 0);
        shmem_team_sync(team);
        for (int pe = 0; pe < n; pe++) {
            for (int i = 0; i < count; i++) {
                CHECK(a[2 * (pe * count + i) + 1] == 10000 * pe + me * count + i);
                CHECK(a[2 * (pe * count + i)] == 10000 * me + pe * count + i);
            }
        }
        shmem_team_sync(team);
    }
    for (int i = 0; i < 2 * n; i++) b[3 * i] = me, b[3 * i + 1] = b[3 * i + 2] = -1;
    shmem_team_sync(team);
    CHECK(shmem_alltoallsmem(team, &b[1], &b[0], 24, 24, 0) == 0);
    CHECK(shmem_long_alltoalls(team, &b[1], &b[0], 3, 3, 2) == 0);
    CHECK(b[3 * (2 * n - 1) + 1] == n - 1 && b[3 * (2 * n - 1) + 2] == -1);
    shmem_team_sync(team);
}

static void heap(void)
{
    shmem_free(NULL);
    void *block = shmem_realloc(NULL, 64);
    CHECK(block != NULL);
    CHECK(shmem_realloc(block, 0) == NULL);
    CHECK(shmem_malloc(0) == NULL && shmem_calloc(0, 8) == NULL && shmem_align(64, 0) == NULL);
    size_t aligns[] = {sizeof(void *), 4096};
    for (int i = 0; i < 2; i++) {
        block = shmem_align(aligns[i], 64);
        CHECK(block != NULL && (uintptr_t)block % aligns[i] == 0);
        shmem_free(block);
    }
    block = shmem_malloc_with_hints(64, 0);
    CHECK(block != NULL);
    shmem_free(block);
}

static void handles(int n)
{
    CHECK(world == SHMEM_TEAM_WORLD && world != SHMEM_TEAM_INVALID && context != SHMEM_CTX_INVALID);
    shmem_ctx_fence(context);
    shmem_team_t team, x, y;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 0, 1, NULL, 0, &team) == 0); /* one PE needs no stride */
    shmem_team_destroy(team);
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &team) == 0);
    CHECK(shmem_team_my_pe(team) == n - 1 - shmem_my_pe());
    shmem_team_destroy(team);
    CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, n + 5, NULL, 0, &x, NULL, 0, &y) == 0); /* wider than the team */
    CHECK(shmem_team_n_pes(x) == n && shmem_team_n_pes(y) == 1);
    shmem_team_destroy(x);
    shmem_team_destroy(y);
    shmem_team_destroy(SHMEM_TEAM_INVALID);
    CHECK(shmem_team_my_pe(SHMEM_TEAM_INVALID) == -1 && shmem_team_n_pes(SHMEM_TEAM_INVALID) == -1);
    CHECK(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_WORLD) == -1);
    CHECK(shmem_team_get_config(SHMEM_TEAM_WORLD, 0, NULL) == 0);
    shmem_ctx_t ctx;
    CHECK(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &ctx) != 0);
    shmem_ctx_destroy(SHMEM_CTX_INVALID);
    CHECK(shmem_ctx_create(SHMEM_CTX_SERIALIZED | SHMEM_CTX_NOSTORE, &ctx) == 0);
    shmem_ctx_quiet(ctx);
    shmem_ctx_destroy(ctx);
    CHECK(!shmem_pe_accessible(-1) && !shmem_pe_accessible(n) && shmem_ptr(NULL, 0) == NULL);
    CHECK(!shmem_addr_accessible(&ctx, 0));
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    nothing_to_do((me + 1) % n);
    shmem_barrier_all();
    collectives(SHMEM_TEAM_WORLD);
    heap();
    handles(n);
    shmem_long_put(a, a, 8, me); /* onto itself */
    shmem_set_lock(&lock);
    shmem_clear_lock(&lock);
    if (shmem_test_lock(&lock) == 0) shmem_clear_lock(&lock);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
