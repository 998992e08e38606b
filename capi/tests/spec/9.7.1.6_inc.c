/* 9.7.1.6, example 24: an increment that fetches nothing. */
#include "../c/check.h"

int main(void) {
    static int dest = 74;
    shmem_init();
    int me = shmem_my_pe(), target = 1 % shmem_n_pes();
    if (me == 0)
        shmem_atomic_inc(&dest, target);
    shmem_barrier_all();
    printf("PE %d: %d\n", me, dest);
    CHECK(dest == (me == target ? 75 : 74));
    shmem_finalize();
    return 0;
}
