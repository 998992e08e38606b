/* 9.10.5, example 32: each PE gives two values of its own to each. */
#include "../c/check.h"
#include <stdint.h>

int main(void) {
    shmem_init();
    const int count = 2;
    int me = shmem_my_pe(), n = shmem_n_pes();
    int64_t *dest = (int64_t *)shmem_malloc((size_t)(count * n) * sizeof *dest);
    int64_t *source = (int64_t *)shmem_malloc((size_t)(count * n) * sizeof *source);
    CHECK(dest != NULL && source != NULL);
    for (int i = 0; i < count * n; i++) {
        source[i] = 1000 * me + i;
        dest[i] = 9999;
    }
    shmem_team_sync(SHMEM_TEAM_WORLD);
    CHECK(shmem_int64_alltoall(SHMEM_TEAM_WORLD, dest, source, (size_t)count) == 0);
    for (int pe = 0; pe < n; pe++)
        for (int i = 0; i < count; i++)
            CHECK(dest[pe * count + i] == 1000 * pe + count * me + i);
    shmem_free(dest);
    shmem_free(source);
    shmem_finalize();
    return 0;
}
