/* Atomic memory operations: each routine for each type, on the next PE's word. */
#include "types.h"

static int me, n, next;

/* What PE `pe` has in its word: another value on each. */
#define OF(T, A, pe) ((T)((A) + (T)(pe)))

/* A word between two that no PE changes. */
#define WORDS(name, T, A, B) \
    static T name##_words[3]; \
    static void begin_##name(void) { \
        name##_words[0] = name##_words[2] = B; \
        name##_words[1] = OF(T, A, me); \
        shmem_barrier_all(); \
    } \
    static void end_##name(T expected) { \
        shmem_barrier_all(); \
        CHECK(name##_words[0] == B && name##_words[1] == expected && name##_words[2] == B); \
        shmem_barrier_all(); \
    }
EXTENDED_TYPES(WORDS)

#define EXTENDED(CALL, name, T, A, B) \
    do { \
        T *word = &name##_words[1], fetched = B, theirs = OF(T, A, next); \
        begin_##name(); \
        CHECK(CALL(name, atomic_fetch, word, next) == theirs); \
        CHECK(CALL(name, atomic_swap, word, B, next) == theirs); \
        CHECK(CALL(name, atomic_fetch, word, next) == B); \
        CALL(name, atomic_set, word, theirs, next); \
        CALL(name, atomic_fetch_nbi, &fetched, word, next); \
        shmem_quiet(); \
        CHECK(fetched == theirs); \
        fetched = B; \
        CALL(name, atomic_swap_nbi, &fetched, word, B, next); \
        shmem_quiet(); \
        CHECK(fetched == theirs); \
        end_##name(B); \
    } while (0);

#define STANDARD(CALL, name, T, A, B) \
    do { \
        T *word = &name##_words[1], fetched = A, theirs = OF(T, A, next); \
        begin_##name(); \
        CHECK(CALL(name, atomic_compare_swap, word, B, A, next) == theirs); \
        CHECK(CALL(name, atomic_compare_swap, word, theirs, B, next) == theirs); \
        CHECK(CALL(name, atomic_fetch_inc, word, next) == B); \
        CALL(name, atomic_inc, word, next); \
        CHECK(CALL(name, atomic_fetch_add, word, A, next) == SUM(T, B, 2)); \
        CALL(name, atomic_add, word, A, next); \
        T sum = SUM(T, SUM(T, B, 2), SUM(T, A, A)); \
        CALL(name, atomic_compare_swap_nbi, &fetched, word, B, A, next); \
        shmem_quiet(); \
        CHECK(fetched == sum); \
        CALL(name, atomic_compare_swap_nbi, &fetched, word, sum, A, next); \
        shmem_quiet(); \
        CHECK(fetched == sum); \
        CALL(name, atomic_fetch_inc_nbi, &fetched, word, next); \
        shmem_quiet(); \
        CHECK(fetched == A); \
        CALL(name, atomic_fetch_add_nbi, &fetched, word, B, next); \
        shmem_quiet(); \
        CHECK(fetched == SUM(T, A, 1)); \
        end_##name(SUM(T, SUM(T, A, 1), B)); \
        /* All of them to PE 0's word. */ \
        for (int i = 0; i < 40; i++) \
            CALL(name, atomic_inc, word, 0); \
        for (int i = 0; i < 10; i++) \
            CALL(name, atomic_add, word, (T)-1, 0); \
        end_##name(SUM(T, SUM(T, SUM(T, A, 1), B), me == 0 ? 30 * n : 0)); \
    } while (0);

#define BITWISE(CALL, name, T, A, B) \
    do { \
        T *word = &name##_words[1], fetched = 0, theirs = OF(T, A, next); \
        begin_##name(); \
        CHECK(CALL(name, atomic_fetch_and, word, B, next) == theirs); \
        CHECK(CALL(name, atomic_fetch_or, word, A, next) == (T)(theirs & B)); \
        CHECK(CALL(name, atomic_fetch_xor, word, B, next) == (T)((theirs & B) | A)); \
        T mixed = (T)(((theirs & B) | A) ^ B); \
        CALL(name, atomic_and, word, A, next); \
        CHECK(CALL(name, atomic_fetch, word, next) == (T)(mixed & A)); \
        CALL(name, atomic_or, word, B, next); \
        CHECK(CALL(name, atomic_fetch, word, next) == (T)((mixed & A) | B)); \
        CALL(name, atomic_xor, word, A, next); \
        mixed = (T)(((mixed & A) | B) ^ A); \
        CALL(name, atomic_fetch_and_nbi, &fetched, word, B, next); \
        shmem_quiet(); \
        CHECK(fetched == mixed); \
        CALL(name, atomic_fetch_or_nbi, &fetched, word, A, next); \
        shmem_quiet(); \
        CHECK(fetched == (T)(mixed & B)); \
        CALL(name, atomic_fetch_xor_nbi, &fetched, word, B, next); \
        shmem_quiet(); \
        CHECK(fetched == (T)((mixed & B) | A)); \
        /* The PE before has done the same to this one. */ \
        T mine = OF(T, A, me), then = (T)(((mine & B) | A) ^ B); \
        then = (T)(((then & A) | B) ^ A); \
        end_##name((T)(((then & B) | A) ^ B)); \
    } while (0);

#define OLD_EXTENDED(CALL, name, T, A, B) \
    do { \
        T *word = &name##_words[1], theirs = OF(T, A, next); \
        begin_##name(); \
        CHECK(CALL(name, fetch, word, next) == theirs); \
        CHECK(CALL(name, swap, word, B, next) == theirs); \
        CHECK(CALL(name, fetch, word, next) == B); \
        CALL(name, set, word, A, next); \
        end_##name(A); \
    } while (0);

#define OLD_STANDARD(CALL, name, T, A, B) \
    do { \
        T *word = &name##_words[1], theirs = OF(T, A, next); \
        begin_##name(); \
        CHECK(CALL(name, cswap, word, B, A, next) == theirs); \
        CHECK(CALL(name, cswap, word, theirs, B, next) == theirs); \
        CHECK(CALL(name, finc, word, next) == B); \
        CALL(name, inc, word, next); \
        CHECK(CALL(name, fadd, word, A, next) == SUM(T, B, 2)); \
        CALL(name, add, word, A, next); \
        end_##name(SUM(T, SUM(T, B, 2), SUM(T, A, A))); \
    } while (0);

#define ALL_OF(CALL, suffix) \
    static void atomics_##suffix(void) { \
        EXTENDED_TYPES(EXTENDED_##suffix) \
        AMO_TYPES(STANDARD_##suffix) \
        BITWISE_TYPES(BITWISE_##suffix) \
    }
#define EXTENDED_plain(...) EXTENDED(PLAIN, __VA_ARGS__)
#define STANDARD_plain(...) STANDARD(PLAIN, __VA_ARGS__)
#define BITWISE_plain(...) BITWISE(PLAIN, __VA_ARGS__)
ALL_OF(PLAIN, plain)
#define EXTENDED_ctx(...) EXTENDED(ON_CONTEXT, __VA_ARGS__)
#define STANDARD_ctx(...) STANDARD(ON_CONTEXT, __VA_ARGS__)
#define BITWISE_ctx(...) BITWISE(ON_CONTEXT, __VA_ARGS__)
ALL_OF(ON_CONTEXT, ctx)
#define OLD_EXTENDED_plain(...) OLD_EXTENDED(PLAIN, __VA_ARGS__)
#define OLD_STANDARD_plain(...) OLD_STANDARD(PLAIN, __VA_ARGS__)

static void old_names(void) {
    FLOAT_TYPES(OLD_EXTENDED_plain)
    OLD_TYPES(OLD_EXTENDED_plain)
    OLD_TYPES(OLD_STANDARD_plain)
}

#if HAS_GENERICS
#define EXTENDED_generic(...) EXTENDED(GENERIC, __VA_ARGS__)
#define STANDARD_generic(...) STANDARD(GENERIC, __VA_ARGS__)
#define BITWISE_generic(...) BITWISE(GENERIC, __VA_ARGS__)
ALL_OF(GENERIC, generic)
#define EXTENDED_generic_ctx(...) EXTENDED(GENERIC_ON_CONTEXT, __VA_ARGS__)
#define STANDARD_generic_ctx(...) STANDARD(GENERIC_ON_CONTEXT, __VA_ARGS__)
#define BITWISE_generic_ctx(...) BITWISE(GENERIC_ON_CONTEXT, __VA_ARGS__)
ALL_OF(GENERIC_ON_CONTEXT, generic_ctx)
#define OLD_EXTENDED_generic(...) OLD_EXTENDED(GENERIC, __VA_ARGS__)
#define OLD_STANDARD_generic(...) OLD_STANDARD(GENERIC, __VA_ARGS__)

static void generics(void) {
    atomics_generic();
    atomics_generic_ctx();
    FLOAT_TYPES(OLD_EXTENDED_generic)
    OLD_TYPES(OLD_EXTENDED_generic)
    OLD_TYPES(OLD_STANDARD_generic)
}
#endif

/* What all PEs take from one counter are different numbers, and all there are. */
static void tickets(void) {
    enum { EACH = 200 };
    static long counter;
    static unsigned char taken[EACH * 64];
    shmem_barrier_all();
    for (int i = 0; i < EACH; i++) {
        long ticket = shmem_long_atomic_fetch_inc(&counter, n - 1);
        CHECK(ticket >= 0 && ticket < EACH * n);
        unsigned char one = 1;
        shmem_uchar_put(&taken[ticket], &one, 1, 0);
    }
    shmem_barrier_all();
    for (int i = 0; me == 0 && i < EACH * n; i++)
        CHECK(taken[i] == 1);
    /* A lock of one's own making. */
    static int held, plain;
    for (int i = 0; i < 20; i++) {
        while (shmem_int_atomic_compare_swap(&held, 0, me + 1, 0) != 0)
            ;
        int before = shmem_int_g(&plain, 0);
        shmem_int_p(&plain, before + 1, 0);
        shmem_quiet();
        CHECK(shmem_int_atomic_swap(&held, 0, 0) == me + 1);
    }
    shmem_barrier_all();
    CHECK(me != 0 || plain == 20 * n);
}

static void amo(void) {
    me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n;
    atomics_plain();
    atomics_ctx();
    old_names();
#if HAS_GENERICS
    generics();
#endif
    tickets();
}

#ifndef PART
int main(void) {
    shmem_init();
    amo();
    shmem_finalize();
    return 0;
}
#endif
