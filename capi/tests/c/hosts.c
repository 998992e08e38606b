/* PEs of two hosts, in turn: globals and heap of those of the other one are reached, but have no address here. */
#include "check.h"
#include <string.h>

#define LEN 100003

static char text[LEN];
static long words[1000], count, bits = -1;
static int narrow;
static uint64_t arrived;

int main(void) {
    static char mine[LEN], back[LEN];
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    long *heap = shmem_calloc(1000, sizeof *heap);
    for (int pe = 0; pe < n; pe++) {
        int near = pe % 2 == me % 2;
        CHECK(near == (shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, SHMEM_TEAM_SHARED) >= 0));
        CHECK((shmem_ptr(&count, pe) != NULL) == near && (shmem_ptr(heap, pe) != NULL) == near);
        CHECK((shmem_ptr(&heap[999], pe) != NULL) == near && shmem_ptr(&me, pe) == NULL);
        CHECK(shmem_pe_accessible(pe) && shmem_addr_accessible(&count, pe) && shmem_addr_accessible(heap, pe));
        CHECK(!shmem_addr_accessible(&me, pe));
    }

    /* Puts and gets, from a buffer that changes when they are over. */
    memset(mine, 'a' + me, LEN);
    shmem_putmem(text + 1, mine, LEN - 1, next);
    memset(mine, 'z', LEN);
    shmem_putmem_nbi(words, heap, 3, next); /* zeros */
    for (int i = 0; i < 1000; i++) shmem_long_p(&words[i], 1000 * me + i, next);
    shmem_iput(heap, words, 2, 1, 0, next); /* nothing */
    shmem_barrier_all();
    for (int i = 1; i < LEN; i++) CHECK(text[i] == 'a' + before);
    for (int i = 0; i < 1000; i++) CHECK(words[i] == 1000 * before + i);
    CHECK(text[0] == 0);
    shmem_getmem(back, text, LEN, next);
    CHECK(back[0] == 0 && memcmp(back + 1, back + 2, LEN - 2) == 0 && back[1] == 'a' + me);
    CHECK(shmem_long_g(&words[999], next) == 1000 * me + 999);
    shmem_iget(heap, words, 1, 3, 300, next);
    for (int i = 0; i < 300; i++) CHECK(heap[i] == 1000 * me + 3 * i);

    /* Atomics of all PEs on one word of the first, and on its neighbours. */
    for (int i = 0; i < 100; i++) {
        shmem_atomic_inc(&count, 0);
        (void)shmem_atomic_fetch_add(&count, 2, 0);
        shmem_atomic_xor((unsigned long *)&bits, 1ul << me, 0);
        (void)shmem_atomic_fetch_inc(&narrow, 0);
    }
    shmem_atomic_and((unsigned long *)&bits, ~(1ul << me), 0);
    shmem_barrier_all();
    if (me == 0) CHECK(count == 300 * n && bits == ~((1l << n) - 1) && narrow == 100 * n);

    /* A signal says that the data is there. */
    memset(mine, 'A' + me, LEN);
    shmem_putmem_signal(text, mine, LEN, &arrived, 1, SHMEM_SIGNAL_ADD, next);
    CHECK(shmem_signal_wait_until(&arrived, SHMEM_CMP_GE, 1) == 1);
    for (int i = 0; i < LEN; i++) CHECK(text[i] == 'A' + before);

    shmem_barrier_all();
    shmem_free(heap);
    shmem_finalize();
    return 0;
}
