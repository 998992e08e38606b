/* The types of the specification's tables: X(name in routines, type in C, two values of it). The first value is negative,
 * or has the highest bit, or a fraction, so that a routine for another type shows. */
#ifndef TYPES_H
#define TYPES_H
#include "check.h"
#include <string.h>

#define INTEGER(X, name, T) X(name, T, (T)0x89abcdef89abcdefULL, (T)0x7123456776543210ULL)
#define SHORTER(X, name, T) X(name, T, (T)0x89ab, (T)0x7654)
#define SHORTEST(X, name, T) X(name, T, (T)0x8d, (T)0x72)

/* Table 6. */
#define AMO_TYPES(X) \
    INTEGER(X, int, int) \
    INTEGER(X, long, long) \
    INTEGER(X, longlong, long long) \
    INTEGER(X, uint, unsigned int) \
    INTEGER(X, ulong, unsigned long) \
    INTEGER(X, ulonglong, unsigned long long) \
    INTEGER(X, int32, int32_t) \
    INTEGER(X, int64, int64_t) \
    INTEGER(X, uint32, uint32_t) \
    INTEGER(X, uint64, uint64_t) \
    INTEGER(X, size, size_t) \
    INTEGER(X, ptrdiff, ptrdiff_t)

#define FLOAT_TYPES(X) \
    X(float, float, -1.1f, 3.3e30f) \
    X(double, double, -1.1, 3.3e300)

/* Table 7. */
#define EXTENDED_TYPES(X) \
    FLOAT_TYPES(X) \
    AMO_TYPES(X)

/* Table 8. */
#define BITWISE_TYPES(X) \
    INTEGER(X, uint, unsigned int) \
    INTEGER(X, ulong, unsigned long) \
    INTEGER(X, ulonglong, unsigned long long) \
    INTEGER(X, int32, int32_t) \
    INTEGER(X, int64, int64_t) \
    INTEGER(X, uint32, uint32_t) \
    INTEGER(X, uint64, uint64_t)

/* Those of the names before OpenSHMEM 1.4. */
#define OLD_TYPES(X) \
    INTEGER(X, int, int) \
    INTEGER(X, long, long) \
    INTEGER(X, longlong, long long)

/* What table 12 has beyond table 6. */
#define SHORT_TYPES(X) \
    SHORTER(X, short, short) \
    SHORTER(X, ushort, unsigned short)

/* Table 5. */
#define RMA_TYPES(X) \
    EXTENDED_TYPES(X) \
    SHORT_TYPES(X) \
    X(longdouble, long double, -1.0L / 3, 3.3e4000L) \
    SHORTEST(X, char, char) \
    SHORTEST(X, schar, signed char) \
    SHORTEST(X, uchar, unsigned char) \
    SHORTEST(X, int8, int8_t) \
    SHORTER(X, int16, int16_t) \
    SHORTEST(X, uint8, uint8_t) \
    SHORTER(X, uint16, uint16_t)

/* Element sizes in bits. */
#define SIZES(X) X(8) X(16) X(32) X(64) X(128)

/* A routine for a type, with and without a context, and its generic forms. */
#define PLAIN(name, routine, ...) shmem_##name##_##routine(__VA_ARGS__)
#define ON_CONTEXT(name, routine, ...) shmem_ctx_##name##_##routine(SHMEM_CTX_DEFAULT, __VA_ARGS__)
#define GENERIC(name, routine, ...) shmem_##routine(__VA_ARGS__)
#define GENERIC_ON_CONTEXT(name, routine, ...) shmem_##routine(SHMEM_CTX_DEFAULT, __VA_ARGS__)

#if defined __cplusplus || __STDC_VERSION__ >= 201112L
#define HAS_GENERICS 1
#else
#define HAS_GENERICS 0
#endif

/* The sum, as the processor adds. */
#define SUM(T, a, b) ((T)((uint64_t)(a) + (uint64_t)(b)))
#endif
