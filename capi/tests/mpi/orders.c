/* MPI and OpenSHMEM in one program, begun and ended in the order that the argument says: m and s are the two inits, M and
   S the two finalizes. In between, each moves what the other has brought. */
#include "../c/check.h"
#include <mpi.h>
#include <string.h>

static long inbox;

static void begin_mpi(int *argc, char ***argv) {
    int provided = -1;
    CHECK(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided) == MPI_SUCCESS);
}

static void both(int round) {
    int me = shmem_my_pe(), n = shmem_n_pes(), rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(me == rank && n == size);
    int left = (me + n - 1) % n, right = (me + 1) % n;
    long *heap = (long *)shmem_malloc(sizeof *heap), sum = 0, from_left = -1, mine = 1000L * round + me;
    CHECK(heap != NULL);
    shmem_long_p(heap, mine, right);
    shmem_long_p(&inbox, mine, right);
    shmem_barrier_all();
    CHECK(*heap == 1000L * round + left && inbox == *heap);
    MPI_Allreduce(heap, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == 1000L * round * n + (long)n * (n - 1) / 2);
    MPI_Sendrecv(&mine, 1, MPI_LONG, right, 7, &from_left, 1, MPI_LONG, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(from_left == *heap);
    /* MPI's buffers may be symmetric memory. */
    MPI_Bcast(me == 0 ? &mine : heap, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    CHECK(me == 0 || *heap == 1000L * round);
    shmem_free(heap);
}

int main(int argc, char *argv[]) {
    const char *order = argc > 1 ? argv[1] : "msSM";
    int mpi = 0, shmem = 0, round = 0;
    for (const char *step = order; *step != '\0'; step++) {
        switch (*step) {
        case 'm': begin_mpi(&argc, &argv), mpi = 1; break;
        case 's': shmem_init(), shmem = 1; break;
        case 'M': MPI_Finalize(), mpi = 0; break;
        case 'S': shmem_finalize(), shmem = 0; break;
        default: return 9;
        }
        if (mpi && shmem)
            both(++round);
    }
    return round > 0 ? 0 : 8;
}
