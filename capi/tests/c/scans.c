/* Scans on teams, for each type: §9.10.10. */
#include "collective_types.h"
#include <complex.h>

#define SCANS(SCAN, GENERIC, T, VALUE_OF, EXPECTED) \
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
                CHECK(SCAN(team, dest, source, COUNT) == 0); \
            for (int i = 0; i < COUNT; i++) { \
                T expected = EXPECTED(T); \
                CHECK(dest[i] == expected); \
            } \
            CHECK(dest[COUNT] == 1); \
            CHECK(shmem_team_sync(team) == 0); \
        } \
        CHECK(SCAN(team, dest_memory, (T *)source_memory, 0) == 0); \
        CHECK(SCAN(SHMEM_TEAM_INVALID, dest_memory, (T *)source_memory, COUNT) != 0); \
    } while (0)

#define SUM_OF(T, PES) \
    ({ \
        totals_t totals = TOTALS; \
        for (int pe = 0; pe < (PES); pe++) TAKE(T, totals, TERM(T, pe, i)); \
        SUM(T, totals); \
    })
#define IN(T) SUM_OF(T, me + 1)
#define EX(T) SUM_OF(T, me)

#define COMPLEX_TERM(T, pe, i) ((T)(factor(pe, i) + factor(pe, (i) + 1) * I))
#define COMPLEX_SUM_OF(T, PES) \
    ({ \
        T all = 0; \
        for (int pe = 0; pe < (PES); pe++) all += COMPLEX_TERM(T, pe, i); \
        all; \
    })
#define COMPLEX_IN(T) COMPLEX_SUM_OF(T, me + 1)
#define COMPLEX_EX(T) COMPLEX_SUM_OF(T, me)

#define REAL(NAME, T) \
    static void NAME##_scans(shmem_team_t team) { \
        int me = shmem_team_my_pe(team); \
        SCANS(shmem_##NAME##_sum_inscan, shmem_sum_inscan, T, TERM, IN); \
        SCANS(shmem_##NAME##_sum_exscan, shmem_sum_exscan, T, TERM, EX); \
    }
ORDERED_TYPES(REAL)

#define COMPLEX(NAME, T) \
    static void NAME##_scans(shmem_team_t team) { \
        int me = shmem_team_my_pe(team); \
        SCANS(shmem_##NAME##_sum_inscan, shmem_sum_inscan, T, COMPLEX_TERM, COMPLEX_IN); \
        SCANS(shmem_##NAME##_sum_exscan, shmem_sum_exscan, T, COMPLEX_TERM, COMPLEX_EX); \
    }
COMPLEX_TYPES(COMPLEX)

/* More than what fits into the library's own memory. */
static void large(void) {
    enum { EACH = 70000 };
    int me = shmem_my_pe();
    long *source = shmem_malloc(EACH * sizeof *source), *dest = shmem_malloc(EACH * sizeof *dest);
    for (int i = 0; i < EACH; i++) source[i] = i - 5 * me;
    CHECK(shmem_long_sum_inscan(SHMEM_TEAM_WORLD, dest, source, EACH) == 0);
    for (int i = 0; i < EACH; i++) CHECK(dest[i] == (long)i * (me + 1) - 5 * me * (me + 1) / 2);
    shmem_barrier_all();
    CHECK(shmem_long_sum_exscan(SHMEM_TEAM_WORLD, dest, source, EACH) == 0);
    for (int i = 0; i < EACH; i++) CHECK(dest[i] == (long)i * me - 5 * me * (me - 1) / 2);
    shmem_free(dest);
    shmem_free(source);
}

int main(void) {
    shmem_init();
#define RUN(NAME, T) on_teams(NAME##_scans);
    ORDERED_TYPES(RUN)
    COMPLEX_TYPES(RUN)
    large();
    shmem_finalize();
    return 0;
}
