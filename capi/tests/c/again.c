/* A program may leave the job and join it again: nothing of the first time is left in the second. */
#include "check.h"

static long sync[SHMEM_BCAST_SYNC_SIZE];
static long kept = 1, value[2];

int main(void) {
    for (int time = 0; time < 5; time++) {
        shmem_init();
        int me = shmem_my_pe(), n = shmem_n_pes();
        CHECK(kept == 1 + time);
        long *block = (long *)shmem_malloc(1000 * sizeof(long));
        CHECK(block != NULL);
        shmem_long_p(&block[999], 10 * time + me, (me + 1) % n);
        shmem_barrier_all();
        CHECK(block[999] == 10 * time + (me + n - 1) % n);
        /* The even PEs, as an active set. */
        if (me % 2 == 0) {
            value[0] = 100 * time + me;
            shmem_broadcast64(&value[1], &value[0], 1, 0, 0, 1, (n + 1) / 2, sync);
            CHECK(me == 0 || value[1] == 100 * time);
            CHECK(sync[0] == SHMEM_SYNC_VALUE);
        }
        shmem_team_t team;
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team) == 0);
        shmem_ctx_t ctx;
        CHECK(shmem_team_create_ctx(team, 0, &ctx) == 0);
        shmem_ctx_long_p(ctx, &value[0], 7, (me + 1) % n);
        shmem_ctx_quiet(ctx);
        shmem_team_sync(team);
        CHECK(value[0] == 7);
        shmem_barrier_all();
        kept++;
        if (time % 2 == 0) {
            shmem_ctx_destroy(ctx);
            shmem_team_destroy(team);
            shmem_free(block);
        }
        shmem_finalize();
    }
    return 0;
}
