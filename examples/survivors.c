/* Sums that go on when PEs are lost, with those that are left.
 *
 *   oshcc -O2 -o survivors survivors.c && oshrun -np 4 --on-loss=continue -- ./survivors
 *
 * In each round all PEs of a team sum up their numbers in the world. In the tenth round of each team one of them is killed,
 * and the others make a new team, until two are left.
 */
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static long mine, sum;

/* A team of the members that are left. */
static shmem_team_t survivors(shmem_team_t team) {
    shmem_team_t left;
    uint64_t *completed = calloc(shmem_n_pes(), sizeof *completed);
    int status;
    do { /* Another may be lost meanwhile. */
        status = shmemx_team_survivors(team, &left, completed);
    } while (status == SHMEMX_PE_LOST);
    if (status != 0) {
        fprintf(stderr, "survivors: this job ends with a lost PE: oshrun --on-loss=continue\n");
        shmem_global_exit(1);
    }
    /* Some may have finished the collective in which others have failed. */
    int n = shmem_team_n_pes(left);
    if (shmem_team_my_pe(left) == 0)
        for (int pe = 0; pe < n; pe++)
            printf("PE %d goes on as %d of %d, after %llu collectives of the old team\n",
                   shmem_team_translate_pe(left, pe, SHMEM_TEAM_WORLD), pe, n, (unsigned long long)completed[pe]);
    free(completed);
    return left;
}

int main(void) {
    shmemx_survive_loss();
    shmem_init();
    int me = mine = shmem_my_pe(), round = 0;
    shmem_team_t team = SHMEM_TEAM_WORLD;
    while (shmem_team_n_pes(team) > 2) {
        if (round == 9 && shmem_team_my_pe(team) == 1) raise(SIGKILL);
        if (shmem_long_sum_reduce(team, &sum, &mine, 1) != 0) {
            team = survivors(team);
            round = 0;
            continue;
        }
        long expected = 0;
        for (int pe = 0; pe < shmem_team_n_pes(team); pe++) expected += shmem_team_translate_pe(team, pe, SHMEM_TEAM_WORLD);
        if (sum != expected) {
            fprintf(stderr, "survivors: PE %d has %ld and should have %ld\n", me, sum, expected);
            shmem_global_exit(1);
        }
        round++;
    }
    printf("PE %d is left of %d, %d of which are lost\n", me, shmem_n_pes(), shmemx_losses(NULL, 0));
    shmem_finalize();
    return 0;
}
