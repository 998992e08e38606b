/* 9.10.6, example 33: the same with strides, which leave what is between the values alone. */
#include "../c/check.h"
#include <stdint.h>

int main(void) {
    shmem_init();
    const int count = 2, to = 2, from = 3;
    int me = shmem_my_pe(), n = shmem_n_pes();
    int64_t *dest = (int64_t *)shmem_malloc((size_t)(count * to * n) * sizeof *dest);
    int64_t *source = (int64_t *)shmem_malloc((size_t)(count * from * n) * sizeof *source);
    CHECK(dest != NULL && source != NULL);
    for (int i = 0; i < count * to * n; i++)
        dest[i] = 9999;
    for (int i = 0; i < count * from * n; i++)
        source[i] = i % from == 0 ? 1000 * me + i / from : -1;
    shmem_team_sync(SHMEM_TEAM_WORLD);
    CHECK(shmem_int64_alltoalls(SHMEM_TEAM_WORLD, dest, source, to, from, (size_t)count) == 0);
    for (int i = 0; i < count * to * n; i++) {
        int pe = i / to / count, which = i / to % count;
        CHECK(dest[i] == (i % to == 0 ? 1000 * pe + count * me + which : 9999));
    }
    shmem_free(dest);
    shmem_free(source);
    shmem_finalize();
    return 0;
}
