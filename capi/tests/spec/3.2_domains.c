/* 3.2, example 1: two atomicity domains may update one word, but not at the same time. */
#include "../c/check.h"
#include <stdint.h>

int main(void) {
    static uint64_t apart = 0, together = 0;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_ctx_t world, shared;
    CHECK(shmem_team_create_ctx(SHMEM_TEAM_WORLD, 0, &world) == 0);
    CHECK(shmem_team_create_ctx(SHMEM_TEAM_SHARED, 0, &shared) == 0);

    /* The domains take turns, with a barrier between them. */
    if (me > 0) {
        shmem_ctx_uint64_atomic_inc(world, &apart, 0);
        shmem_ctx_quiet(world);
    }
    shmem_barrier_all();
    if (me == 0) {
        int target = shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_SHARED);
        CHECK(target >= 0);
        shmem_ctx_uint64_atomic_inc(shared, &apart, target);
        shmem_ctx_quiet(shared);
    }
    /* All PEs at once, in one domain. */
    shmem_ctx_uint64_atomic_inc(world, &together, 0);
    shmem_ctx_quiet(world);
    shmem_barrier_all();
    if (me == 0)
        CHECK(apart == (uint64_t)n && together == (uint64_t)n);
    shmem_ctx_destroy(shared);
    shmem_ctx_destroy(world);
    shmem_finalize();
    return 0;
}
