/* 9.7.1.7, example 25: an addition that fetches what was there. */
#include "../c/check.h"

int main(void) {
    static int dest = 22;
    int old = -1;
    shmem_init();
    int me = shmem_my_pe(), adder = 1 % shmem_n_pes();
    if (me == adder)
        old = shmem_atomic_fetch_add(&dest, 44, 0);
    shmem_barrier_all();
    printf("PE %d: %d, then %d\n", me, old, dest);
    CHECK(old == (me == adder ? 22 : -1) && dest == (me == 0 ? 66 : 22));
    shmem_finalize();
    return 0;
}
