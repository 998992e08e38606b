/* Two arrays in memory of two kinds: the example of the memory-kinds proposal, with something to do for it.
 *
 * A vector is multiplied with a matrix, whose rows are spread over the PEs. The vector, array_B, is read for every row and
 * wants to be in fast memory; the matrix, array_A, is read once. Where they are, the environment says:
 *
 *   export SMA_SYMMETRIC_PARTITION1=size=64M:kind=S:pgsize=2M:policy=S
 *   export SMA_SYMMETRIC_PARTITION2=kind=Fastmem:policy=Preferred:size=64M:pgsize=8M
 *   oshcc -O2 -o hbm hbm.c && oshrun -np 4 -- ./hbm
 */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>

enum { ROWS = 64, COLUMNS = 4096 };

static long product[ROWS], sum, total;

int main(void) {
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();

    /* array_A is not accessed often and uses the system's default memory and policy. */
    int *array_A = shmemx_kind_malloc(ROWS * COLUMNS * sizeof *array_A, 1);
    /* Fast access to array_B is most important. Without partition 2 it is beside the other. */
    int b_in = 2;
    long *array_B = shmemx_kind_malloc(COLUMNS * sizeof *array_B, b_in);
    if (array_B == NULL) array_B = shmemx_kind_malloc(COLUMNS * sizeof *array_B, b_in = 1);
    if (array_A == NULL || array_B == NULL) {
        if (me == 0) fprintf(stderr, "hbm: there is no room for the arrays\n");
        shmem_global_exit(1);
    }

    /* The report of a recording (oshrun --trace) has the times of each phase. */
    shmemx_phase("fill");
    for (int i = 0; i < ROWS * COLUMNS; i++) array_A[i] = (me * ROWS * COLUMNS + i) % 7;
    if (me == 0)
        for (int i = 0; i < COLUMNS; i++) array_B[i] = i % 5;
    shmem_long_broadcast(SHMEM_TEAM_WORLD, array_B, array_B, COLUMNS, 0);

    shmemx_phase("multiply");
    for (int row = 0; row < ROWS; row++) {
        product[row] = 0;
        for (int i = 0; i < COLUMNS; i++) product[row] += array_A[row * COLUMNS + i] * array_B[i];
        sum += product[row];
    }
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &total, &sum, 1);

    shmemx_phase("check");
    long expected = 0;
    for (long i = 0; i < (long)n * ROWS * COLUMNS; i++) expected += i % 7 * (i % COLUMNS % 5);
    if (me == 0) printf("array_A in partition 1, array_B in partition %d: the sum is %ld\n", b_in, total);
    int wrong = total != expected;
    if (wrong) fprintf(stderr, "PE %d: hbm: the sum is %ld and should be %ld\n", me, total, expected);

    shmem_free(array_A);
    shmem_free(array_B);
    shmem_finalize();
    return wrong;
}
