/* Collectives on active sets, deprecated: §9.10. */
#include "collective_types.h"
#include <complex.h>
#include <string.h>

/* An active set, and this PE's number in it. */
typedef struct {
    int start, log_stride, size, me;
} set_t;

#define SET set.start, set.log_stride, set.size

enum { SYNCS = 4, SETS = 100 };
static long sync_memory[SYNCS][SHMEM_SYNC_SIZE];
static long other_sync_memory[SETS][SHMEM_SYNC_SIZE];
static long double work_memory[64];

/* This PE's number in a set, or -1. */
static int number_in(int start, int log_stride, int size) {
    int behind = shmem_my_pe() - start, stride = 1 << log_stride;
    return behind >= 0 && behind % stride == 0 && behind / stride < size ? behind / stride : -1;
}

static int next_in_turn;

/* A pSync that no collective uses: they take turns, the same on all PEs of a set. Each must be as
 * it was, but for the one that others may use already. */
static long *next_sync(void) {
    int mine = next_in_turn++ % SYNCS;
    for (int i = 0; i < SYNCS; i++)
        for (int j = 0; j < SHMEM_SYNC_SIZE; j++) CHECK(i == mine || sync_memory[i][j] == SHMEM_SYNC_VALUE);
    return sync_memory[mine];
}

static void meet(set_t set) {
    static long barrier[SHMEM_BARRIER_SYNC_SIZE];
    shmem_barrier(SET, barrier);
}

#define MOVES(BITS, T) \
    static void moves_##BITS(set_t set) { \
        int me = set.me, n = set.size; \
        T *source = (T *)source_memory, *dest = dest_memory; \
        for (int root = 0; root < n; root++) { \
            for (int i = 0; i < COUNT; i++) { \
                source[i] = VALUE(T, me, i); \
                dest[i] = 1; \
            } \
            meet(set); \
            shmem_broadcast##BITS(dest, source, COUNT, root, SET, next_sync()); \
            for (int i = 0; i < COUNT; i++) CHECK(dest[i] == (me == root ? (T)1 : VALUE(T, root, i))); \
            meet(set); \
        } \
        int total = 0, at = 0; \
        for (int pe = 0; pe < n; pe++) total += (pe + 1) % 3; \
        for (int i = 0; i <= total; i++) dest[i] = 1; \
        meet(set); \
        shmem_collect##BITS(dest, source, (size_t)(me + 1) % 3, SET, next_sync()); \
        for (int pe = 0; pe < n; pe++) \
            for (int i = 0; i < (pe + 1) % 3; i++) CHECK(dest[at++] == VALUE(T, pe, i)); \
        CHECK(dest[total] == 1); \
        for (int i = 0; i <= n * COUNT; i++) dest[i] = 1; \
        meet(set); \
        shmem_fcollect##BITS(dest, source, COUNT, SET, next_sync()); \
        for (int pe = 0; pe < n; pe++) \
            for (int i = 0; i < COUNT; i++) CHECK(dest[pe * COUNT + i] == VALUE(T, pe, i)); \
        CHECK(dest[n * COUNT] == 1); \
        meet(set); \
        for (int i = 0; i < 3 * n * COUNT; i++) source[i] = VALUE(T, me, i); \
        for (int i = 0; i <= n * COUNT; i++) dest[i] = 1; \
        meet(set); \
        shmem_alltoall##BITS(dest, source, COUNT, SET, next_sync()); \
        for (int pe = 0; pe < n; pe++) \
            for (int i = 0; i < COUNT; i++) CHECK(dest[pe * COUNT + i] == VALUE(T, pe, me * COUNT + i)); \
        CHECK(dest[n * COUNT] == 1); \
        meet(set); \
        for (int i = 0; i < 2 * n * COUNT; i++) dest[i] = 1; \
        meet(set); \
        shmem_alltoalls##BITS(dest, source, 2, 3, COUNT, SET, next_sync()); \
        for (int pe = 0; pe < n; pe++) \
            for (int i = 0; i < COUNT; i++) { \
                CHECK(dest[2 * (pe * COUNT + i)] == VALUE(T, pe, 3 * (me * COUNT + i))); \
                CHECK(dest[2 * (pe * COUNT + i) + 1] == 1); \
            } \
        meet(set); \
    }
MOVES(32, int32_t)
MOVES(64, int64_t)

#define REDUCES(REDUCE, T, VALUE_OF, EXPECTED) \
    do { \
        for (int in_place = 0; in_place < 2; in_place++) { \
            T *source = (T *)source_memory, *dest = in_place ? source : dest_memory; \
            if (!in_place) \
                for (int i = 0; i <= COUNT; i++) dest[i] = 1; \
            for (int i = 0; i < COUNT; i++) source[i] = VALUE_OF(T, me, i); \
            source[COUNT] = 1; \
            meet(set); \
            REDUCE(dest, source, COUNT, SET, (T *)work_memory, next_sync()); \
            for (int i = 0; i < COUNT; i++) { \
                T expected = EXPECTED(T); \
                CHECK(dest[i] == expected); \
            } \
            CHECK(dest[COUNT] == 1); \
            meet(set); \
        } \
    } while (0)

#define BITWISE(NAME, T) \
    static void NAME##_bitwise(set_t set) { \
        int me = set.me, n = set.size; \
        REDUCES(shmem_##NAME##_and_to_all, T, VALUE, AND); \
        REDUCES(shmem_##NAME##_or_to_all, T, VALUE, OR); \
        REDUCES(shmem_##NAME##_xor_to_all, T, VALUE, XOR); \
    }
TO_ALL_BITWISE_TYPES(BITWISE)

#define ORDERED(NAME, T) \
    static void NAME##_ordered(set_t set) { \
        int me = set.me, n = set.size; \
        REDUCES(shmem_##NAME##_max_to_all, T, VALUE, MAX); \
        REDUCES(shmem_##NAME##_min_to_all, T, VALUE, MIN); \
        REDUCES(shmem_##NAME##_sum_to_all, T, TERM, ALL_SUM); \
        REDUCES(shmem_##NAME##_prod_to_all, T, TERM, ALL_PROD); \
    }
TO_ALL_ORDERED_TYPES(ORDERED)

#define COMPLEX(NAME, T) \
    static void NAME##_complex(set_t set) { \
        int me = set.me, n = set.size; \
        REDUCES(shmem_##NAME##_sum_to_all, T, COMPLEX_TERM, COMPLEX_SUM); \
        REDUCES(shmem_##NAME##_prod_to_all, T, COMPLEX_TERM, COMPLEX_PROD); \
    }
COMPLEX_TYPES(COMPLEX)

/* Runs a test on some sets: all PEs, every other one, all but the first, each alone. */
static void on_sets(void (*test)(set_t)) {
    int n = shmem_n_pes();
    int sets[][3] = {{0, 0, n}, {0, 1, (n + 1) / 2}, {1, 1, n / 2}, {1, 0, n - 1}, {0, 2, (n + 3) / 4}, {n - 1, 5, 1}};
    for (unsigned i = 0; i < sizeof sets / sizeof *sets; i++) {
        if (sets[i][2] < 1) continue;
        set_t set = {sets[i][0], sets[i][1], sets[i][2], number_in(sets[i][0], sets[i][1], sets[i][2])};
        next_in_turn = 0;
        if (set.me >= 0) test(set);
        for (int j = 0; j < SYNCS * SHMEM_SYNC_SIZE; j++)
            CHECK(sync_memory[j / SHMEM_SYNC_SIZE][j % SHMEM_SYNC_SIZE] == SHMEM_SYNC_VALUE);
        shmem_barrier_all();
    }
}

/* Every set there is, one after the other, with a pSync each and nothing between them: a PE goes on to the next one while
 * others, which are not in it, are still at one before. */
static void overlapping(void) {
    int n = shmem_n_pes();
    static long counts[SETS], sums[SETS];
    int sets = 0;
    for (int round = 0; round < 3; round++) {
        sets = 0;
        for (int start = 0; start < n; start++)
            for (int log_stride = 0; log_stride < 3; log_stride++)
                for (int size = 1; start + ((size - 1) << log_stride) < n; size++) {
                    CHECK(sets < SETS);
                    int me = number_in(start, log_stride, size);
                    counts[sets] = me + round + 1;
                    sums[sets] = 0;
                    if (me >= 0) {
                        shmem_sync(start, log_stride, size, other_sync_memory[sets]);
                        shmem_long_sum_to_all(&sums[sets], &counts[sets], 1, start, log_stride, size,
                                              (long *)work_memory, other_sync_memory[sets]);
                        CHECK(sums[sets] == (long)size * (size + 1) / 2 + (long)size * round);
                    }
                    sets++;
                }
    }
    shmem_barrier_all();
    for (int i = 0; i < sets; i++)
        for (int j = 0; j < SHMEM_SYNC_SIZE; j++) CHECK(other_sync_memory[i][j] == SHMEM_SYNC_VALUE);
}

/* A barrier completes what was put; the same pSync serves every barrier of the set. */
static void barriers(set_t set) {
    static long word, barrier[SHMEM_BARRIER_SYNC_SIZE];
    int stride = 1 << set.log_stride, next = set.start + stride * ((set.me + 1) % set.size);
    for (long i = 1; i < 100; i++) {
        long value = 1000 * i + set.me;
        shmem_long_put_nbi(&word, &value, 1, next);
        shmem_barrier(SET, barrier);
        CHECK(word == 1000 * i + (set.me + set.size - 1) % set.size);
        shmem_sync(SET, barrier);
    }
}

/* With more teams than there is room for to keep what is made of a set: each call makes it anew. */
static void crowded(void) {
    enum { TEAMS = 300 };
    static shmem_team_t teams[TEAMS];
    for (int i = 0; i < TEAMS; i++)
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &teams[i]) == 0);
    on_sets(moves_64);
    on_sets(barriers);
    for (int i = 0; i < TEAMS; i++) shmem_team_destroy(teams[i]);
}

int main(void) {
    shmem_init();
    dest_memory = shmem_malloc(sizeof source_memory);
    CHECK(dest_memory != NULL);
    crowded();
    on_sets(moves_32);
    on_sets(moves_64);
#define RUN_BITWISE(NAME, T) on_sets(NAME##_bitwise);
#define RUN_ORDERED(NAME, T) on_sets(NAME##_ordered);
#define RUN_COMPLEX(NAME, T) on_sets(NAME##_complex);
    TO_ALL_BITWISE_TYPES(RUN_BITWISE)
    TO_ALL_ORDERED_TYPES(RUN_ORDERED)
    COMPLEX_TYPES(RUN_COMPLEX)
    overlapping();
    on_sets(barriers);
    shmem_finalize();
    return 0;
}
