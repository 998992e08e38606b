/* 3.2, example 2: two types may update one word, but not at the same time. */
#include "../c/check.h"
#include <stdint.h>

int main(void) {
    static union {
        uint64_t whole;
        uint32_t half[2];
    } apart;
    static uint64_t together = 0;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();

    /* The types take turns, with a barrier between them. */
    if (me > 0)
        shmem_uint32_atomic_or(&apart.half[0], (uint32_t)me + 1, 0);
    shmem_barrier_all();
    uint32_t others = 0;
    for (int pe = 1; pe < n; pe++)
        others |= (uint32_t)pe + 1;
    if (me == 0) {
        CHECK(apart.half[0] == others && apart.half[1] == 0);
        uint64_t before = apart.whole;
        shmem_uint64_atomic_or(&apart.whole, 1, 0);
        shmem_quiet();
        CHECK(apart.whole == (before | 1));
    }
    /* All PEs at once, with one type: what was 32 bits is shifted. */
    uint64_t mine = me > 0 ? ((uint64_t)me + 1) << 32 : 1;
    shmem_uint64_atomic_or(&together, mine, 0);
    shmem_barrier_all();
    if (me == 0)
        CHECK(together == ((uint64_t)others << 32 | 1));
    shmem_finalize();
    return 0;
}
