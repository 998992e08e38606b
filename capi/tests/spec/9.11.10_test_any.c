/* 9.11.10, example 43: a simple barrier that leaves time for other work. */
#include "../c/check.h"

int main(void) {
    static int entered = 0;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    int *flags = shmem_calloc((size_t)n, sizeof *flags), *status = calloc((size_t)n, sizeof *status);
    CHECK(flags != NULL && status != NULL);
    shmem_atomic_inc(&entered, 0);
    shmem_quiet();
    for (int pe = 0; pe < n; pe++)
        shmem_atomic_set(&flags[me], 1, pe);
    long other = 0;
    for (int seen = 0; seen < n;) {
        size_t from = shmem_test_any(flags, (size_t)n, status, SHMEM_CMP_EQ, 1);
        if (from == SIZE_MAX) {
            other++;
            continue;
        }
        CHECK(from < (size_t)n && status[from] == 0);
        status[from] = 1;
        seen++;
    }
    printf("PE %d did something else %ld times\n", me, other);
    CHECK(shmem_test_any(flags, (size_t)n, status, SHMEM_CMP_EQ, 1) == SIZE_MAX);
    CHECK(shmem_atomic_fetch(&entered, 0) == n);
    free(status);
    shmem_free(flags);
    shmem_finalize();
    return 0;
}
