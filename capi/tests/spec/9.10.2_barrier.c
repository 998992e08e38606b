/* 9.10.2, example 30: a barrier of the even PEs only, by an active set. */
#include "../c/check.h"

int main(void) {
    static int x = 10101;
    static long sync[SHMEM_BARRIER_SYNC_SIZE];
    for (int i = 0; i < SHMEM_BARRIER_SYNC_SIZE; i++)
        sync[i] = SHMEM_SYNC_VALUE;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    if (me % 2 == 0) {
        int evens = n / 2 + n % 2;
        /* To the next even PE; from the last, to PE 0. */
        shmem_p(&x, 4, me / 2 + 1 < evens ? me + 2 : 0);
        shmem_barrier(0, 1, evens, sync);
        for (int i = 0; i < SHMEM_BARRIER_SYNC_SIZE; i++)
            CHECK(sync[i] == SHMEM_SYNC_VALUE);
    }
    printf("PE %d: %d\n", me, x);
    CHECK(x == (me % 2 == 0 ? 4 : 10101));
    shmem_finalize();
    return 0;
}
