/* 9.12.1, example 45: a fence orders the puts to a PE. */
#include "../c/check.h"

int main(void) {
    static long dest[10];
    static int value, flag;
    long source[10];
    for (int i = 0; i < 10; i++)
        source[i] = i + 1;
    int late = 99;
    shmem_init();
    /* With less than three PEs, PE 0 is one of the targets, or both. */
    int me = shmem_my_pe(), n = shmem_n_pes(), one = 1 % n, two = 2 % n;
    if (me == 0) {
        shmem_put(dest, source, 10, one);
        shmem_put(dest, source, 10, two);
        shmem_fence();
        shmem_put(&value, &late, 1, one);
        shmem_put(&value, &late, 1, two);
        shmem_fence();
        shmem_atomic_set(&flag, 1, one);
        shmem_atomic_set(&flag, 1, two);
    }
    int target = me == one || me == two;
    if (target) {
        /* What came before the fences is here before the flag. */
        shmem_wait_until(&flag, SHMEM_CMP_EQ, 1);
        CHECK(dest[0] == 1 && dest[9] == 10 && value == 99);
    }
    shmem_barrier_all();
    printf("PE %d: %ld first\n", me, dest[0]);
    for (int i = 0; i < 10; i++)
        CHECK(dest[i] == (target ? i + 1 : 0));
    CHECK(value == (target ? 99 : 0));
    shmem_finalize();
    return 0;
}
