/* 9.11.2, example 38: a simple barrier: each PE waits for a flag of every PE. */
#include "../c/check.h"

int main(void) {
    static int entered = 0;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    int *flags = shmem_calloc((size_t)n, sizeof *flags), *status = NULL;
    CHECK(flags != NULL);
    shmem_atomic_inc(&entered, 0);
    shmem_quiet();
    for (int pe = 0; pe < n; pe++)
        shmem_atomic_set(&flags[me], 1, pe);
    shmem_wait_until_all(flags, (size_t)n, status, SHMEM_CMP_EQ, 1);
    for (int pe = 0; pe < n; pe++)
        CHECK(flags[pe] == 1);
    CHECK(shmem_atomic_fetch(&entered, 0) == n);
    shmem_free(flags);
    shmem_finalize();
    return 0;
}
