/* 9.7.1.3, example 21: of all PEs that race for a word, one compare-and-swap succeeds. */
#include "../c/check.h"

int main(void) {
    static int winner = -1, mine = 0, winners = 0;
    shmem_init();
    int me = shmem_my_pe();
    int old = shmem_atomic_compare_swap(&winner, -1, me, 0);
    mine = old == -1;
    if (mine)
        printf("PE %d was first\n", me);
    shmem_barrier_all();
    int first = shmem_g(&winner, 0);
    CHECK(mine ? first == me : first == old && first != me);
    shmem_sum_reduce(SHMEM_TEAM_WORLD, &winners, &mine, 1);
    CHECK(winners == 1);
    shmem_finalize();
    return 0;
}
