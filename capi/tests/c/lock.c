/* Locks. */
#include "check.h"

static long lock, many[100];
static int count, held_by = -1;

int main(void) {
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();

    /* Get and put are two operations, but nobody comes in between. */
    for (int i = 0; i < 50; i++) {
        shmem_set_lock(&lock);
        int before = shmem_int_g(&count, 0);
        shmem_int_p(&count, before + 1, 0);
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
    CHECK(shmem_int_g(&count, 0) == 50 * n);
    shmem_barrier_all();

    /* Who tries gets it, or is told. */
    for (int i = 0; i < 20;) {
        int got = shmem_test_lock(&lock);
        CHECK(got == 0 || got == 1);
        if (got == 1)
            continue;
        CHECK(shmem_int_atomic_swap(&held_by, me, 0) == -1);
        CHECK(shmem_int_atomic_swap(&held_by, -1, 0) == me);
        shmem_clear_lock(&lock);
        i++;
    }
    shmem_barrier_all();

    /* One that is held is refused to others. */
    if (me == 0)
        CHECK(shmem_test_lock(&lock) == 0);
    shmem_barrier_all();
    if (me != 0)
        CHECK(shmem_test_lock(&lock) == 1);
    shmem_barrier_all();
    if (me == 0)
        shmem_clear_lock(&lock);
    shmem_barrier_all();

    /* Many at once, of which each has a home of its own; what a holder has put is there for the next. */
    for (int i = me; i < 100; i += n)
        shmem_set_lock(&many[i]);
    for (int i = me; i < 100; i += n)
        shmem_clear_lock(&many[i]);
    static long log[256];
    for (int i = 0; i < 10; i++) {
        long mine[256];
        for (int j = 0; j < 256; j++)
            mine[j] = me * 100 + i;
        shmem_set_lock(&many[99]);
        long seen[256];
        shmem_long_get(seen, log, 256, 0);
        for (int j = 1; j < 256; j++)
            CHECK(seen[j] == seen[0]);
        shmem_long_put_nbi(log, mine, 256, 0);
        shmem_clear_lock(&many[99]);
    }
    shmem_barrier_all();

    shmem_finalize();
    return 0;
}
