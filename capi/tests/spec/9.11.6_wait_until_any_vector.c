/* 9.11.6, example 41: a wait for another value from each PE. */
#include "../c/check.h"

int main(void) {
    int sum = 0;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    int *values = shmem_calloc((size_t)n, sizeof *values);
    int *status = calloc((size_t)n, sizeof *status), *expected = malloc((size_t)n * sizeof *expected);
    CHECK(values != NULL && status != NULL && expected != NULL);
    /* 1 from even PEs, 2 from odd ones. */
    for (int pe = 0; pe < n; pe++) {
        shmem_atomic_set(&values[me], me % 2 + 1, pe);
        expected[pe] = pe % 2 + 1;
    }
    for (int i = 0; i < n; i++) {
        size_t from = shmem_wait_until_any_vector(values, (size_t)n, status, SHMEM_CMP_EQ, expected);
        CHECK(from < (size_t)n && status[from] == 0);
        status[from] = 1;
        sum += values[from];
    }
    CHECK(sum == n + n / 2);
    CHECK(shmem_wait_until_any_vector(values, (size_t)n, status, SHMEM_CMP_EQ, expected) == SIZE_MAX);
    free(expected);
    free(status);
    shmem_free(values);
    shmem_finalize();
    return 0;
}
