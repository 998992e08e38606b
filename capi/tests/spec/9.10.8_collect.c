/* 9.10.8, example 35: a collect of one element from PE 0, two from PE 1, and so on. */
#include "../c/check.h"

int main(void) {
    static long lock = 0;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), mine = me + 1, all = n * (n + 1) / 2;
    int *source = (int *)shmem_malloc((size_t)n * sizeof *source);
    int *dest = (int *)shmem_malloc((size_t)all * sizeof *dest);
    CHECK(source != NULL && dest != NULL);
    for (int i = 0; i < mine; i++)
        source[i] = me * (me + 1) / 2 + i;
    for (int i = 0; i < all; i++)
        dest[i] = -9999;
    shmem_team_sync(SHMEM_TEAM_WORLD);
    CHECK(shmem_int_collect(SHMEM_TEAM_WORLD, dest, source, (size_t)mine) == 0);
    for (int i = 0; i < all; i++)
        CHECK(dest[i] == i);
    /* The lock keeps the lines apart. */
    shmem_set_lock(&lock);
    printf("PE %d:", me);
    for (int i = 0; i < all; i++)
        printf(" %d", dest[i]);
    printf("\n");
    fflush(stdout);
    shmem_clear_lock(&lock);
    shmem_finalize();
    return 0;
}
