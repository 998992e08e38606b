/* Locks. */
#include "check.h"
#include <sched.h>
#include <string.h>

static long lock, many[100];
static int count, held_by = -1;

enum { MOST = 64 };

/* The halves of the lock on all PEs. A PE that comes to wait leaves two traces: at the lock's home, and with the PE before. */
static void look(const long *of, int n, int halves[2 * MOST]) {
    for (int pe = 0; pe < n; pe++) {
        long word = shmem_long_g(of, pe);
        memcpy(&halves[2 * pe], &word, sizeof word);
    }
}

/* First come, first served: the PEs come one after the other while PE 0 has the lock, and get it in that order. */
static void in_the_order_of_arrival(int me, int n) {
    static long queue;
    static int turn, place, order[MOST];
    if (me == 0) {
        shmem_set_lock(&queue);
        int before[2 * MOST], now[2 * MOST];
        look(&queue, n, before);
        for (int i = n - 1; i > 0; i--) {
            shmem_int_p(&turn, i, i);
            for (int traces = 0; traces < 2; sched_yield()) {
                look(&queue, n, now);
                traces = 0;
                for (int j = 0; j < 2 * n; j++)
                    traces += now[j] != before[j];
            }
            memcpy(before, now, sizeof before);
        }
        shmem_clear_lock(&queue);
    } else {
        shmem_int_wait_until(&turn, SHMEM_CMP_EQ, me);
        shmem_set_lock(&queue);
        int mine = shmem_int_atomic_fetch_inc(&place, 0);
        shmem_int_p(&order[mine], me, 0);
        shmem_clear_lock(&queue);
    }
    shmem_barrier_all();
    if (me == 0)
        for (int i = 0; i < n - 1; i++)
            CHECK(order[i] == n - 1 - i);
    shmem_barrier_all();
}

int main(void) {
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();

    /* Get and put are two operations, but no PE comes in between. */
    for (int i = 0; i < 50; i++) {
        shmem_set_lock(&lock);
        int before = shmem_int_g(&count, 0);
        shmem_int_p(&count, before + 1, 0);
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
    CHECK(shmem_int_g(&count, 0) == 50 * n);
    shmem_barrier_all();

    /* A PE that tries gets it, or learns that it does not. */
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

    in_the_order_of_arrival(me, n);

    shmem_finalize();
    return 0;
}
