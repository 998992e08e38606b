/* 9.10.7, example 34: a broadcast from PE 0 to every PE of the team, itself too. */
#include "../c/check.h"

int main(void) {
    static long source[4], dest[4];
    shmem_init();
    int me = shmem_my_pe();
    if (me == 0)
        for (int i = 0; i < 4; i++)
            source[i] = i + 1;
    CHECK(shmem_broadcast(SHMEM_TEAM_WORLD, dest, source, 4, 0) == 0);
    printf("PE %d: %ld, %ld, %ld, %ld\n", me, dest[0], dest[1], dest[2], dest[3]);
    for (int i = 0; i < 4; i++)
        CHECK(dest[i] == i + 1 && source[i] == (me == 0 ? i + 1 : 0));
    shmem_finalize();
    return 0;
}
