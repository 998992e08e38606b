/* PE 1 of an MPI program ends the job, while the others wait in MPI. */
#include "../c/check.h"
#include <mpi.h>

int main(int argc, char *argv[]) {
    MPI_Init(&argc, &argv);
    shmem_init();
    MPI_Barrier(MPI_COMM_WORLD);
    if (shmem_my_pe() == 1)
        shmem_global_exit(5);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("still here\n");
    shmem_finalize();
    MPI_Finalize();
    return 0;
}
