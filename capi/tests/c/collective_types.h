/* The types of collectives, each with what stands for it in names, and values that tell them apart. */
#ifndef COLLECTIVE_TYPES_H
#define COLLECTIVE_TYPES_H
#include "check.h"
#include <stddef.h>
#include <stdint.h>

/* Table 10, and, or, xor. */
#define BITWISE_TYPES(X) \
    X(uchar, unsigned char) X(ushort, unsigned short) X(uint, unsigned int) X(ulong, unsigned long) \
    X(ulonglong, unsigned long long) X(int8, int8_t) X(int16, int16_t) X(int32, int32_t) X(int64, int64_t) \
    X(uint8, uint8_t) X(uint16, uint16_t) X(uint32, uint32_t) X(uint64, uint64_t) X(size, size_t)

/* Table 10, max, min; and table 5. */
#define ORDERED_TYPES(X) \
    BITWISE_TYPES(X) X(char, char) X(schar, signed char) X(short, short) X(int, int) X(long, long) \
    X(longlong, long long) X(ptrdiff, ptrdiff_t) X(float, float) X(double, double) X(longdouble, long double)

/* What table 10 has beyond that for sum and prod. */
#define COMPLEX_TYPES(X) X(complexd, double _Complex) X(complexf, float _Complex)

/* Table 11: active sets. */
#define TO_ALL_BITWISE_TYPES(X) X(short, short) X(int, int) X(long, long) X(longlong, long long)
#define TO_ALL_ORDERED_TYPES(X) TO_ALL_BITWISE_TYPES(X) X(float, float) X(double, double) X(longdouble, long double)

/* The most PEs that a program here runs with, and elements that a PE gives. */
#define MOST_PES 8
#define COUNT 5

#define IS_FLOAT(T) ((T)0.5 != (T)0)

/* Every bit of an integer matters, the sign too. */
static inline unsigned long long bits(int pe, int i) {
    return 0x9e3779b97f4a7c15ull * (unsigned long long)(1000 * pe + i + 1);
}

/* A value with a fraction, of which more is in a double than in a float, and in a long double than in a double. */
#define VALUE(T, pe, i) (IS_FLOAT(T) ? (T)(-1.1L * (pe) - 0.013L * (i) - 0.1L) : (T)bits(pe, i))

/* A value whose sums and products are exact, in whatever order. */
static inline long double factor(int pe, int i) {
    return (pe + i) % 3 == 0 ? 1.5L : (pe + i) % 3 == 1 ? -2.0L : 0.5L;
}
#define TERM(T, pe, i) (IS_FLOAT(T) ? (T)factor(pe, i) : (T)bits(pe, i))

/* Sums and products of integers wrap around: what is left is right whatever the size. */
typedef struct {
    unsigned long long sum, prod;
    long double fsum, fprod;
} totals_t;

#define TOTALS (totals_t){0, 1, 0, 1}
#define TAKE(T, totals, value) \
    do { \
        T value_ = (value); \
        if (IS_FLOAT(T)) { \
            (totals).fsum += value_; \
            (totals).fprod *= value_; \
        } else { \
            (totals).sum += (unsigned long long)value_; \
            (totals).prod *= (unsigned long long)value_; \
        } \
    } while (0)
#define SUM(T, totals) (IS_FLOAT(T) ? (T)(totals).fsum : (T)(totals).sum)
#define PROD(T, totals) (IS_FLOAT(T) ? (T)(totals).fprod : (T)(totals).prod)

/* A global is symmetric too, and the heap is the other half of the memory: collectives go from one to the other. */
static long double source_memory[MOST_PES * COUNT * 4];
static void *dest_memory;

/* Runs `test` on the predefined teams, and on some of its own. */
static inline void on_teams(void (*test)(shmem_team_t)) {
    int n = shmem_n_pes();
    if (dest_memory == NULL) dest_memory = shmem_malloc(sizeof source_memory);
    CHECK(dest_memory != NULL);
    test(SHMEM_TEAM_WORLD);
    test(SHMEM_TEAM_SHARED);
    shmem_team_t reversed, evens;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &reversed) == 0);
    test(reversed);
    shmem_team_destroy(reversed);
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, NULL, 0, &evens) == 0);
    if (evens != SHMEM_TEAM_INVALID) test(evens);
    shmem_team_destroy(evens);
    shmem_barrier_all();
}
/* What reductions come to for element i, in the order of the PEs; `n` is their number. */
#define FOLD(T, START, VALUE_OF, STEP) \
    ({ \
        T all = START; \
        for (int pe = 0; pe < n; pe++) { \
            T one = VALUE_OF(T, pe, i); \
            STEP; \
        } \
        all; \
    })
#define AND(T) FOLD(T, (T)~0ull, VALUE, all = (T)(all & one))
#define OR(T) FOLD(T, 0, VALUE, all = (T)(all | one))
#define XOR(T) FOLD(T, 0, VALUE, all = (T)(all ^ one))
#define MAX(T) FOLD(T, VALUE(T, 0, i), VALUE, all = one > all ? one : all)
#define MIN(T) FOLD(T, VALUE(T, 0, i), VALUE, all = one < all ? one : all)
#define WITH_TOTALS(T, RESULT) \
    ({ \
        totals_t totals = TOTALS; \
        for (int pe = 0; pe < n; pe++) TAKE(T, totals, TERM(T, pe, i)); \
        RESULT(T, totals); \
    })
#define ALL_SUM(T) WITH_TOTALS(T, SUM)
#define ALL_PROD(T) WITH_TOTALS(T, PROD)
#define COMPLEX_TERM(T, pe, i) ((T)(factor(pe, i) + factor(pe, (i) + 1) * I))
#define COMPLEX_SUM(T) FOLD(T, 0, COMPLEX_TERM, all += one)
#define COMPLEX_PROD(T) FOLD(T, 1, COMPLEX_TERM, all *= one)

#endif
