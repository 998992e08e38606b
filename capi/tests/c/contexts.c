/* Contexts: §9.5. */
#include "check.h"

static long words[16];

/* Operations on a context take PE numbers of its team. */
static void use(shmem_ctx_t ctx, shmem_team_t team) {
    int me = shmem_team_my_pe(team), n = shmem_team_n_pes(team);
    shmem_team_t found = SHMEM_TEAM_INVALID;
    CHECK(ctx != SHMEM_CTX_INVALID);
    CHECK(shmem_ctx_get_team(ctx, &found) == 0 && found == team);
    CHECK(shmem_team_sync(team) == 0);
    words[0] = words[1] = -1;
    CHECK(shmem_team_sync(team) == 0);
    long two[2] = {100 + me, 200 + me};
    shmem_ctx_long_p(ctx, &words[0], 100 + me, (me + 1) % n);
    shmem_ctx_long_put_nbi(ctx, &words[1], &two[1], 1, (me + 1) % n);
    shmem_ctx_quiet(ctx);
    CHECK(shmem_team_sync(team) == 0);
    CHECK(words[0] == 100 + (me + n - 1) % n && words[1] == 200 + (me + n - 1) % n);
    CHECK(shmem_ctx_long_g(ctx, &words[1], n - 1) == 200 + (n - 1 + n - 1) % n);
    CHECK(shmem_team_sync(team) == 0);
}

int main(void) {
    shmem_init();
    int n = shmem_n_pes();
    shmem_ctx_t ctx;
    shmem_team_t team, found = SHMEM_TEAM_WORLD, teams[3] = {SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED};

    use(SHMEM_CTX_DEFAULT, SHMEM_TEAM_WORLD);
    CHECK(shmem_ctx_get_team(SHMEM_CTX_INVALID, &found) != 0 && found == SHMEM_TEAM_INVALID);
    shmem_ctx_destroy(SHMEM_CTX_INVALID);

    /* Every combination of options there is, and none that there is not. */
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &teams[2]) == 0);
    for (long options = 0; options < 8; options++) {
        CHECK(shmem_ctx_create(options, &ctx) == 0);
        use(ctx, SHMEM_TEAM_WORLD);
        shmem_ctx_destroy(ctx);
        for (int i = 0; i < 3; i++) {
            CHECK(shmem_team_create_ctx(teams[i], options, &ctx) == 0);
            use(ctx, teams[i]);
            shmem_ctx_destroy(ctx);
        }
    }
    for (long options = 8; options < 1L << 40; options *= 2) {
        ctx = SHMEM_CTX_DEFAULT;
        CHECK(shmem_ctx_create(options | 1, &ctx) != 0 && ctx == SHMEM_CTX_INVALID);
        ctx = SHMEM_CTX_DEFAULT;
        CHECK(shmem_team_create_ctx(teams[2], options, &ctx) != 0 && ctx == SHMEM_CTX_INVALID);
    }
    ctx = SHMEM_CTX_DEFAULT;
    CHECK(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &ctx) != 0 && ctx == SHMEM_CTX_INVALID);

    /* Many at once, which complete apart, and all that a team leaves go with it. */
    shmem_ctx_t many[200];
    for (int i = 0; i < 200; i++) CHECK(shmem_team_create_ctx(teams[2], SHMEM_CTX_SERIALIZED, &many[i]) == 0);
    for (int i = 0; i < 200; i++) {
        shmem_ctx_long_atomic_inc(many[i], &words[2], 0);
        if (i < 100) shmem_ctx_destroy(many[i]);
    }
    shmem_team_destroy(teams[2]);
    shmem_barrier_all();
    if (shmem_my_pe() == n - 1) CHECK(words[2] == 200L * n);

    for (int i = 0; i < 500; i++) {
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team) == 0);
        CHECK(shmem_team_create_ctx(team, SHMEM_CTX_NOSTORE, &ctx) == 0);
        CHECK(shmem_ctx_long_g(ctx, &words[2], n - 1) == 200L * n);
        if (i % 2) shmem_ctx_destroy(ctx);
        shmem_team_destroy(team);
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
