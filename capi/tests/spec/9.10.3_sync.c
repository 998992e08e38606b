/* 9.10.3, example 31: quiet and sync in two teams, one after the other. */
#include "../c/check.h"

/* The team of PEs that are positive multiples of a number, or none if there are no such PEs. */
static shmem_team_t multiples(int of) {
    shmem_team_t team = SHMEM_TEAM_INVALID;
    int size = (shmem_n_pes() - 1) / of;
    if (size > 0)
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, of, of, size, NULL, 0, &team) == 0);
    return team;
}

/* Puts a value to the next PE of the team and waits for the others to do it. */
static void pass_on(shmem_team_t team, int *x, int value) {
    int me = shmem_team_my_pe(team), n = shmem_team_n_pes(team);
    if (team == SHMEM_TEAM_INVALID) {
        CHECK(me == -1 && n == -1);
        return;
    }
    shmem_p(x, value, shmem_team_translate_pe(team, (me + 1) % n, SHMEM_TEAM_WORLD));
    shmem_quiet();
    CHECK(shmem_sync(team) == 0);
}

int main(void) {
    static int x = 10101;
    shmem_init();
    int me = shmem_my_pe();
    shmem_team_t twos = multiples(2), threes = multiples(3);
    pass_on(twos, &x, 2);
    CHECK(shmem_sync(SHMEM_TEAM_WORLD) == 0);
    pass_on(threes, &x, 3);
    if (me > 0 && me % 3 == 0)
        CHECK(x == 3);
    else if (me > 0 && me % 2 == 0)
        CHECK(x == 2);
    else
        CHECK(x == 10101);
    shmem_finalize();
    return 0;
}
