/* 9.4.5, example 10: the number of a PE of one team in another. */
#include "../c/check.h"

int main(void) {
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_team_t even;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, NULL, 0, &even) == 0);
    CHECK((even != SHMEM_TEAM_INVALID) == (me % 2 == 0));
    if (even != SHMEM_TEAM_INVALID) {
        int mine = shmem_team_my_pe(even);
        CHECK(shmem_team_translate_pe(even, mine, SHMEM_TEAM_WORLD) == me);
        CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, me, even) == mine);
        for (int pe = 0; pe < n; pe++)
            CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, even) == (pe % 2 == 0 ? pe / 2 : -1));
    }
    CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, me, SHMEM_TEAM_INVALID) == -1);
    shmem_team_destroy(even);
    shmem_finalize();
    return 0;
}
