/* 9.11.11, example 44: all PEs' data is added up as it comes, and other work done while none comes. */
#include "../c/check.h"

#define N 100

int main(void) {
    int sum = 0;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    int *mine = malloc(N * sizeof *mine), *status = calloc((size_t)n, sizeof *status);
    size_t *indices = calloc((size_t)n, sizeof *indices);
    int *all = shmem_malloc(N * (size_t)n * sizeof *all), *flags = shmem_calloc((size_t)n, sizeof *flags);
    CHECK(mine != NULL && status != NULL && indices != NULL && all != NULL && flags != NULL);
    for (int i = 0; i < N; i++)
        mine[i] = me * N + i;
    /* The data of a PE, then the flag that says so. */
    for (int pe = 0; pe < n; pe++)
        shmem_put_nbi(&all[me * N], mine, N, pe);
    shmem_fence();
    for (int pe = 0; pe < n; pe++)
        shmem_atomic_set(&flags[me], 1, pe);
    long other = 0;
    for (size_t of = 0; of < (size_t)n;) {
        size_t arrived = shmem_test_some(flags, (size_t)n, indices, status, SHMEM_CMP_NE, 0);
        for (size_t i = 0; i < arrived; i++) {
            size_t from = indices[i];
            CHECK(from < (size_t)n && status[from] == 0);
            for (size_t j = 0; j < N; j++)
                sum += all[from * N + j];
            status[from] = 1;
        }
        if (arrived == 0)
            other++;
        of += arrived;
    }
    printf("PE %d did something else %ld times\n", me, other);
    CHECK(shmem_test_some(flags, (size_t)n, indices, status, SHMEM_CMP_NE, 0) == 0);
    int last = N * n - 1;
    CHECK(sum == last * (last + 1) / 2);
    shmem_quiet();
    free(mine);
    free(status);
    free(indices);
    shmem_free(flags);
    shmem_free(all);
    shmem_finalize();
    return 0;
}
