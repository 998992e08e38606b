/* Annex D.1.4, example 54: every PE's rank in MPI, collected by all. */
#include "../c/check.h"
#include <mpi.h>

int main(int argc, char *argv[]) {
    MPI_Init(&argc, &argv);
    shmem_init();
    int me = shmem_team_my_pe(SHMEM_TEAM_WORLD), n = shmem_team_n_pes(SHMEM_TEAM_WORLD);
    static int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int *ranks = (int *)shmem_calloc((size_t)n, sizeof *ranks);
    CHECK(ranks != NULL);
    CHECK(shmem_int_collect(SHMEM_TEAM_WORLD, ranks, &rank, 1) == 0);
    if (me == 0)
        for (int i = 0; i < n; i++)
            printf("PE %d's MPI rank is %d\n", i, ranks[i]);
    /* Not so everywhere, but with one launcher for both. */
    for (int i = 0; i < n; i++)
        CHECK(ranks[i] == i);
    shmem_free(ranks);
    shmem_finalize();
    MPI_Finalize();
    return 0;
}
