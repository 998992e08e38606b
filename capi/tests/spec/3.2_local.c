/* 3.2, example 4: a PE that updates its own word while others do uses an atomic operation too. */
#include "../c/check.h"

int main(void) {
    static int x = 0;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    /* For PE 0 this takes the place of x++. */
    shmem_int_atomic_inc(&x, 0);
    shmem_barrier_all();
    CHECK(x == (me == 0 ? n : 0));
    /* Now no other PE updates it. */
    if (me == 0)
        x++;
    shmem_barrier_all();
    CHECK(shmem_int_g(&x, 0) == n + 1);
    shmem_finalize();
    return 0;
}
