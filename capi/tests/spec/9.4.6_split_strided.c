/* 9.4.6, example 11: a team of every other PE. */
#include "../c/check.h"

int main(void) {
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), size = n / 2;
    shmem_team_t team = SHMEM_TEAM_INVALID;
    /* A single PE makes none: a team is not empty. */
    if (size > 0)
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, size, NULL, 0, &team) == 0);
    CHECK((team != SHMEM_TEAM_INVALID) == (me % 2 == 0 && me / 2 < size));
    if (team != SHMEM_TEAM_INVALID) {
        CHECK(shmem_team_n_pes(team) == size);
        CHECK(shmem_team_my_pe(team) == me / 2);
        shmem_team_destroy(team);
    }
    shmem_finalize();
    return 0;
}
