/* 9.11.3, example 39: all PEs' data is added up as it comes, from one PE at a time. */
#include "../c/check.h"

#define N 100

int main(void) {
    int sum = 0;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    int *mine = malloc(N * sizeof *mine), *status = calloc((size_t)n, sizeof *status);
    int *all = shmem_malloc(N * (size_t)n * sizeof *all), *flags = shmem_calloc((size_t)n, sizeof *flags);
    CHECK(mine != NULL && status != NULL && all != NULL && flags != NULL);
    for (int i = 0; i < N; i++)
        mine[i] = me * N + i;
    /* The data of a PE, then the flag that says so. */
    for (int pe = 0; pe < n; pe++)
        shmem_put_nbi(&all[me * N], mine, N, pe);
    shmem_fence();
    for (int pe = 0; pe < n; pe++)
        shmem_atomic_set(&flags[me], 1, pe);
    for (int i = 0; i < n; i++) {
        size_t from = shmem_wait_until_any(flags, (size_t)n, status, SHMEM_CMP_NE, 0);
        CHECK(from < (size_t)n && status[from] == 0);
        for (size_t j = 0; j < N; j++)
            sum += all[from * N + j];
        status[from] = 1;
    }
    /* No PE is left to wait for. */
    CHECK(shmem_wait_until_any(flags, (size_t)n, status, SHMEM_CMP_NE, 0) == SIZE_MAX);
    int last = N * n - 1;
    CHECK(sum == last * (last + 1) / 2);
    shmem_quiet();
    free(mine);
    free(status);
    shmem_free(flags);
    shmem_free(all);
    shmem_finalize();
    return 0;
}
