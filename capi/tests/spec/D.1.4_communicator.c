/* Annex D.1.4, example 55: an MPI communicator in which every process has its PE's number. */
#include "../c/check.h"
#include <mpi.h>

int main(int argc, char *argv[]) {
    MPI_Init(&argc, &argv);
    shmem_init();
    int me = shmem_my_pe(), rank, size;
    MPI_Comm shmem_comm;
    MPI_Comm_split(MPI_COMM_WORLD, 0, me, &shmem_comm);
    MPI_Comm_rank(shmem_comm, &rank);
    MPI_Comm_size(shmem_comm, &size);
    printf("PE %d's MPI rank is %d\n", me, rank);
    CHECK(rank == me && size == shmem_n_pes());
    MPI_Comm_free(&shmem_comm);
    shmem_finalize();
    MPI_Finalize();
    return 0;
}
