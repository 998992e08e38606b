/* Reductions on teams, for each type: §9.10.9. */
#include "collective_types.h"
#include <complex.h>

/* One reduction of one type: `EXPECTED` is what it comes to for element i. In place it comes to the same. */
#define REDUCES(REDUCE, GENERIC, T, VALUE_OF, EXPECTED) \
    do { \
        for (int way = 0; way < 3; way++) { \
            T *source = (T *)source_memory, *dest = way == 2 ? source : dest_memory; \
            if (way < 2) \
                for (int i = 0; i <= COUNT; i++) dest[i] = 1; \
            for (int i = 0; i < COUNT; i++) source[i] = VALUE_OF(T, me, i); \
            source[COUNT] = 1; \
            CHECK(shmem_team_sync(team) == 0); \
            if (way == 1) \
                CHECK(GENERIC(team, dest, source, COUNT) == 0); \
            else \
                CHECK(REDUCE(team, dest, source, COUNT) == 0); \
            for (int i = 0; i < COUNT; i++) { \
                T expected = EXPECTED(T); \
                CHECK(dest[i] == expected); \
            } \
            CHECK(dest[COUNT] == 1); \
            CHECK(shmem_team_sync(team) == 0); \
        } \
        CHECK(REDUCE(team, dest_memory, (T *)source_memory, 0) == 0); \
        CHECK(REDUCE(SHMEM_TEAM_INVALID, dest_memory, (T *)source_memory, COUNT) != 0); \
    } while (0)

#define BITWISE(NAME, T) \
    static void NAME##_bitwise(shmem_team_t team) { \
        int me = shmem_team_my_pe(team), n = shmem_team_n_pes(team); \
        REDUCES(shmem_##NAME##_and_reduce, shmem_and_reduce, T, VALUE, AND); \
        REDUCES(shmem_##NAME##_or_reduce, shmem_or_reduce, T, VALUE, OR); \
        REDUCES(shmem_##NAME##_xor_reduce, shmem_xor_reduce, T, VALUE, XOR); \
    }
BITWISE_TYPES(BITWISE)

#define ORDERED(NAME, T) \
    static void NAME##_ordered(shmem_team_t team) { \
        int me = shmem_team_my_pe(team), n = shmem_team_n_pes(team); \
        REDUCES(shmem_##NAME##_max_reduce, shmem_max_reduce, T, VALUE, MAX); \
        REDUCES(shmem_##NAME##_min_reduce, shmem_min_reduce, T, VALUE, MIN); \
        REDUCES(shmem_##NAME##_sum_reduce, shmem_sum_reduce, T, TERM, ALL_SUM); \
        REDUCES(shmem_##NAME##_prod_reduce, shmem_prod_reduce, T, TERM, ALL_PROD); \
    }
ORDERED_TYPES(ORDERED)

#define COMPLEX(NAME, T) \
    static void NAME##_complex(shmem_team_t team) { \
        int me = shmem_team_my_pe(team), n = shmem_team_n_pes(team); \
        REDUCES(shmem_##NAME##_sum_reduce, shmem_sum_reduce, T, COMPLEX_TERM, COMPLEX_SUM); \
        REDUCES(shmem_##NAME##_prod_reduce, shmem_prod_reduce, T, COMPLEX_TERM, COMPLEX_PROD); \
    }
COMPLEX_TYPES(COMPLEX)

/* A sum that a double could not hold. */
static void precision(shmem_team_t team) {
    int me = shmem_team_my_pe(team), n = shmem_team_n_pes(team);
    long double *source = source_memory, *dest = dest_memory;
    source[0] = me == 0 ? 1.0L : 0x1p-60L;
    CHECK(shmem_longdouble_sum_reduce(team, dest, source, 1) == 0);
    CHECK(dest[0] == 1.0L + (n - 1) * 0x1p-60L);
    CHECK(shmem_team_sync(team) == 0);
}

/* More than what fits into the library's own memory. */
static void large(void) {
    enum { EACH = 70000 };
    int me = shmem_my_pe(), n = shmem_n_pes();
    long *source = shmem_malloc(EACH * sizeof *source), *dest = shmem_malloc(EACH * sizeof *dest);
    for (int i = 0; i < EACH; i++) source[i] = (long)bits(me, i);
    CHECK(shmem_long_max_reduce(SHMEM_TEAM_WORLD, dest, source, EACH) == 0);
    for (int i = 0; i < EACH; i += 7) {
        long expected = FOLD(long, (long)bits(0, i), VALUE, all = one > all ? one : all);
        CHECK(dest[i] == expected);
    }
    shmem_free(dest);
    shmem_free(source);
}

int main(void) {
    shmem_init();
#define RUN_BITWISE(NAME, T) on_teams(NAME##_bitwise);
#define RUN_ORDERED(NAME, T) on_teams(NAME##_ordered);
#define RUN_COMPLEX(NAME, T) on_teams(NAME##_complex);
    BITWISE_TYPES(RUN_BITWISE)
    ORDERED_TYPES(RUN_ORDERED)
    COMPLEX_TYPES(RUN_COMPLEX)
    on_teams(precision);
    large();
    shmem_finalize();
    return 0;
}
