/* 9.11.4, example 40: all PEs' data is added up as it comes, from as many PEs at a time as there are. */
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
    /* It returns 0 when no PE is left to wait for. */
    size_t arrived, of = 0;
    while ((arrived = shmem_wait_until_some(flags, (size_t)n, indices, status, SHMEM_CMP_NE, 0)) != 0) {
        for (size_t i = 0; i < arrived; i++) {
            size_t from = indices[i];
            CHECK(from < (size_t)n && status[from] == 0);
            for (size_t j = 0; j < N; j++)
                sum += all[from * N + j];
            status[from] = 1;
        }
        of += arrived;
    }
    CHECK(of == (size_t)n);
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
