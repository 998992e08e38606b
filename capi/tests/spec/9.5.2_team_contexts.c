/* 9.5.2, example 13: contexts of two teams, each with its team's numbers of the PEs. */
#include "../c/check.h"

/* The team of PEs at a stride, from PE 0, with room for one context. */
static shmem_team_t every(int stride) {
    shmem_team_config_t config;
    config.num_contexts = 1;
    shmem_team_t team;
    int size = (shmem_n_pes() + stride - 1) / stride;
    long mask = SHMEM_TEAM_NUM_CONTEXTS;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, stride, size, &config, mask, &team) == 0);
    return team;
}

/* A context of the team, or none for a PE outside of it. */
static shmem_ctx_t context(shmem_team_t team) {
    shmem_ctx_t ctx;
    int failed = shmem_team_create_ctx(team, 0, &ctx);
    CHECK((failed != 0) == (team == SHMEM_TEAM_INVALID));
    CHECK((failed != 0) == (ctx == SHMEM_CTX_INVALID));
    return ctx;
}

/* Puts this PE's number in the team to the next PE of the team. */
static void pass_on(shmem_team_t team, shmem_ctx_t ctx, int *value) {
    if (ctx == SHMEM_CTX_INVALID)
        return;
    int mine = shmem_team_my_pe(team);
    shmem_ctx_int_put(ctx, value, &mine, 1, (mine + 1) % shmem_team_n_pes(team));
}

/* The number in the team of the PE before this one of the world. */
static int before(shmem_team_t team, int pe, int stride) {
    if (pe < stride)
        return shmem_team_n_pes(team) - 1;
    return shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe - stride, team);
}

int main(void) {
    static int sum = 0, of_2 = 0, of_3 = 0;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_team_t team_2 = every(2), team_3 = every(3);
    shmem_ctx_t ctx_2 = context(team_2), ctx_3 = context(team_3);
    pass_on(team_2, ctx_2, &of_2);
    pass_on(team_3, ctx_3, &of_3);
    /* For a PE outside of the team this does nothing. */
    shmem_ctx_quiet(ctx_2);
    shmem_ctx_quiet(ctx_3);
    shmem_team_sync(SHMEM_TEAM_WORLD);

    /* PEs of both teams add what they received to PE 0 of a team, which is that of the world. */
    if (team_2 != SHMEM_TEAM_INVALID && team_3 != SHMEM_TEAM_INVALID)
        shmem_ctx_int_atomic_add(ctx_2, &sum, of_2 + of_3, 0);
    shmem_ctx_quiet(ctx_2);
    shmem_team_sync(SHMEM_TEAM_WORLD);
    if (me == 0) {
        int expected = 0;
        for (int pe = 0; pe < n; pe += 6)
            expected += before(team_2, pe, 2) + before(team_3, pe, 3);
        CHECK(sum == expected);
    }
    shmem_ctx_destroy(ctx_2);
    shmem_team_destroy(team_2);
    shmem_ctx_destroy(ctx_3);
    shmem_team_destroy(team_3);
    shmem_finalize();
    return 0;
}
