/* 9.7.1.5, example 23: an increment that fetches what was there. */
#include "../c/check.h"

int main(void) {
    static int dest = 22;
    int old = -1;
    shmem_init();
    int me = shmem_my_pe(), target = 1 % shmem_n_pes();
    if (me == 0)
        old = shmem_atomic_fetch_inc(&dest, target);
    shmem_barrier_all();
    printf("PE %d: %d, then %d\n", me, old, dest);
    CHECK(old == (me == 0 ? 22 : -1) && dest == (me == target ? 23 : 22));
    shmem_finalize();
    return 0;
}
