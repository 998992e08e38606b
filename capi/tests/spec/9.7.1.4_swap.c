/* 9.7.1.4, example 22: odd PEs swap a value with the PE to their right. */
#include "../c/check.h"

int main(void) {
    static long dest;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    dest = me;
    shmem_barrier_all();
    if (me % 2 == 1) {
        int right = (me + 1) % n;
        long mine = me, theirs = shmem_atomic_swap(&dest, mine, right);
        printf("PE %d: %ld for %ld\n", me, mine, theirs);
        CHECK(theirs == right);
    }
    shmem_barrier_all();
    int left = (me + n - 1) % n;
    CHECK(dest == (left % 2 == 1 ? left : me));
    shmem_finalize();
    return 0;
}
