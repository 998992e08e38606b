/* Mistakes, each by its name: what a library can see of them ends the job. */
#include "check.h"
#include <string.h>

static long word, other, sync_memory[SHMEM_SYNC_SIZE], wrong_sync_memory[SHMEM_SYNC_SIZE];
static int numbers[100];

static shmem_team_t team_of_all(void) {
    shmem_team_t team;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &team) == 0);
    return team;
}

static shmem_team_t destroyed_team(void) {
    shmem_team_t team = team_of_all();
    shmem_team_destroy(team);
    return team;
}

static shmem_ctx_t destroyed_context(void) {
    shmem_ctx_t ctx;
    CHECK(shmem_ctx_create(0, &ctx) == 0);
    shmem_ctx_destroy(ctx);
    return ctx;
}

static shmem_ctx_t context_of_destroyed_team(void) {
    shmem_team_t team = team_of_all();
    shmem_ctx_t ctx;
    CHECK(shmem_team_create_ctx(team, 0, &ctx) == 0);
    shmem_team_destroy(team);
    return ctx;
}

static void *freed(void) {
    void *block = shmem_malloc(100);
    shmem_free(block);
    return block;
}

int main(int argc, char **argv) {
    shmem_init();
    int me = shmem_my_pe();
    void *block = shmem_malloc(100), *second = shmem_malloc(100);
    shmem_team_t team;
    shmem_team_config_t config = {-2};
    int here = 0;
    if (argc != 2) return 0;
    wrong_sync_memory[31] = 1;
    shmem_barrier_all();
#define MISTAKE(NAME, STATEMENT) \
    if (strcmp(argv[1], #NAME) == 0) { STATEMENT; }
    MISTAKE(free_twice, shmem_free(freed()))
    MISTAKE(free_foreign, shmem_free(&word))
    MISTAKE(free_inside, shfree((char *)block + 99))
    MISTAKE(realloc_foreign, shmem_realloc(&here, 8))
    MISTAKE(sizes, shmem_malloc((size_t)(100 + 8 * me)))
    MISTAKE(frees, shmem_free(me == 0 ? block : second))
    MISTAKE(destroyed_team, shmem_team_sync(destroyed_team()))
    MISTAKE(destroyed_twice, shmem_team_destroy(destroyed_team()))
    MISTAKE(predefined_team, shmem_team_destroy(SHMEM_TEAM_WORLD))
    MISTAKE(no_team, shmem_team_my_pe((shmem_team_t)9))
    MISTAKE(no_config, shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 1, &team))
    MISTAKE(negative_config, shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, &config, 1, &team))
    MISTAKE(splits, shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2 - me, NULL, 0, &team))
    MISTAKE(default_context, shmem_ctx_destroy(SHMEM_CTX_DEFAULT))
    MISTAKE(destroyed_context, shmem_ctx_destroy(destroyed_context()))
    MISTAKE(used_context, shmem_ctx_long_p(destroyed_context(), &word, 1, 0))
    MISTAKE(context_of_team, shmem_ctx_long_p(context_of_destroyed_team(), &word, 1, 0))
    MISTAKE(session, shmem_ctx_session_start(SHMEM_CTX_DEFAULT, 0, NULL, SHMEM_CTX_SESSION_TOTAL_OPS))
    MISTAKE(session_context, shmem_ctx_session_stop(destroyed_context()))
    MISTAKE(root, shmem_long_broadcast(SHMEM_TEAM_WORLD, &word, &other, 1, shmem_n_pes()))
    MISTAKE(negative_root, shmem_broadcastmem(SHMEM_TEAM_WORLD, &word, &other, 1, -1))
    MISTAKE(dest, shmem_int_fcollect(SHMEM_TEAM_WORLD, &here, numbers, 1))
    MISTAKE(source, shmem_int_sum_reduce(SHMEM_TEAM_WORLD, numbers, NULL, 1))
    MISTAKE(stride, shmem_int_alltoalls(SHMEM_TEAM_WORLD, numbers, numbers + 50, 0, 1, 1))
    MISTAKE(lengths, shmem_int_sum_reduce(SHMEM_TEAM_WORLD, numbers, numbers + 50, (size_t)(3 + me)))
    MISTAKE(beyond, shmem_barrier(0, 1, 3, sync_memory))
    MISTAKE(wide, shmem_barrier(0, 70, 2, sync_memory))
    MISTAKE(negative_start, shmem_barrier(-1, 0, 2, sync_memory))
    MISTAKE(negative_stride, shmem_barrier(0, -1, 2, sync_memory))
    MISTAKE(no_size, shmem_barrier(0, 0, 0, sync_memory))
    MISTAKE(set_root, shmem_broadcast64(&word, &other, 1, 2, 0, 0, 2, sync_memory))
    MISTAKE(nreduce, shmem_int_sum_to_all(numbers, numbers, -1, 0, 0, 2, numbers, sync_memory))
    long local[SHMEM_SYNC_SIZE] = {0};
    MISTAKE(p_sync, if (me < 2) shmem_sync(0, 0, 2, local))
    MISTAKE(p_sync_values, if (me < 2) shmem_sync(0, 0, 2, wrong_sync_memory))
    while (!strcmp(argv[1], "no_place") && !shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &team)) continue;
    MISTAKE(no_place, shmem_sync(me, 0, 1, sync_memory))
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
