/* Point-to-point synchronization: each routine for each type, with comparisons that hold already and ones that come to. */
#include "types.h"
#include <pthread.h>
#include <unistd.h>

enum { LEN = 8 };

static int me, n, next;

static const int COMPARISONS[] = {SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_LT, SHMEM_CMP_LE, SHMEM_CMP_GT, SHMEM_CMP_GE};

/* Without elements 1 and 6. */
static const int MASK[LEN] = {0, 1, 0, 0, 0, 0, -9, 0};
static const int NONE[LEN] = {1, 2, 3, 4, 5, 6, 7, 8};

#define HOLDS(cmp, a, b) \
    ((cmp) == SHMEM_CMP_EQ   ? (a) == (b) \
     : (cmp) == SHMEM_CMP_NE ? (a) != (b) \
     : (cmp) == SHMEM_CMP_LT ? (a) < (b) \
     : (cmp) == SHMEM_CMP_LE ? (a) <= (b) \
     : (cmp) == SHMEM_CMP_GT ? (a) > (b) \
                             : (a) >= (b))

/* Has others wait for a moment, now and then. */
static void be_late(void) {
    static int calls;
    if (++calls % n == me && calls < 100)
        usleep(300);
}

/* Whether `found` indices are those of `expected`, a set of bits, in whatever order. */
static int are(size_t found, const size_t *indices, unsigned expected) {
    unsigned bits = 0;
    for (size_t i = 0; i < found; i++) {
        if (indices[i] >= LEN || bits >> indices[i] & 1)
            return 0;
        bits |= 1u << indices[i];
    }
    return bits == expected;
}

#define WORDS(name, T, A, B) static T name##_words[LEN];
AMO_TYPES(WORDS)
SHORT_TYPES(WORDS)

/* One word. */
#define ONE(CALL, name, T, A, B) \
    do { \
        const T values[] = {A, B, (T)0, (T)1, (T)-1}; \
        T *word = &name##_words[3]; \
        for (int i = 0; i < 5; i++) \
            for (int j = 0; j < 5; j++) \
                for (int k = 0; k < 6; k++) { \
                    *word = values[i]; \
                    int holds = HOLDS(COMPARISONS[k], values[i], values[j]); \
                    CHECK(CALL(name, test, word, COMPARISONS[k], values[j]) == holds); \
                    if (holds) \
                        CALL(name, wait_until, word, COMPARISONS[k], values[j]); \
                } \
        /* Each comparison comes to hold when the PE before writes. */ \
        for (int k = 0; k < 6; k++) { \
            int to_b = COMPARISONS[k] <= SHMEM_CMP_NE || HOLDS(COMPARISONS[k], B, A); \
            T from = to_b ? A : B, to = to_b ? B : A; \
            T bound = COMPARISONS[k] == SHMEM_CMP_EQ || COMPARISONS[k] == SHMEM_CMP_LE \
                || COMPARISONS[k] == SHMEM_CMP_GE ? to : from; \
            *word = from; \
            shmem_barrier_all(); \
            CHECK(CALL(name, test, word, COMPARISONS[k], bound) == 0); \
            shmem_barrier_all(); \
            be_late(); \
            shmem_##name##_p(word, to, next); \
            CALL(name, wait_until, word, COMPARISONS[k], bound); \
            CHECK(*word == to); \
        } \
        shmem_barrier_all(); \
        for (int i = 0; i < LEN; i++) \
            name##_words[i] = 0; \
    } while (0);

/* Several words. They are A at first, and become B, or C for each its own value, from the end. */
#define SEVERAL(CALL, name, T, A, B) \
    do { \
        T *words = name##_words, each[LEN]; \
        size_t indices[LEN], found; \
        for (int i = 0; i < LEN; i++) \
            each[i] = SUM(T, B, i); \
        for (int vector = 0; vector < 2; vector++) { \
            shmem_barrier_all(); \
            for (int i = 0; i < LEN; i++) \
                words[i] = A; \
            /* Empty sets. */ \
            for (int i = 0; i < 2; i++) { \
                T *none = i == 0 ? words : NULL; \
                size_t len = i == 0 ? LEN : 0; \
                const int *status = i == 0 ? NONE : NULL; \
                const T *values = i == 0 ? each : NULL; \
                size_t *unused = i == 0 ? indices : NULL; \
                if (vector) { \
                    CALL(name, wait_until_all_vector, none, len, status, SHMEM_CMP_EQ, values); \
                    CHECK(CALL(name, wait_until_any_vector, none, len, status, SHMEM_CMP_EQ, values) == SIZE_MAX); \
                    CHECK(CALL(name, wait_until_some_vector, none, len, unused, status, SHMEM_CMP_EQ, values) == 0); \
                    CHECK(CALL(name, test_all_vector, none, len, status, SHMEM_CMP_EQ, values) == 1); \
                    CHECK(CALL(name, test_any_vector, none, len, status, SHMEM_CMP_EQ, values) == SIZE_MAX); \
                    CHECK(CALL(name, test_some_vector, none, len, unused, status, SHMEM_CMP_EQ, values) == 0); \
                } else { \
                    CALL(name, wait_until_all, none, len, status, SHMEM_CMP_EQ, B); \
                    CHECK(CALL(name, wait_until_any, none, len, status, SHMEM_CMP_EQ, B) == SIZE_MAX); \
                    CHECK(CALL(name, wait_until_some, none, len, unused, status, SHMEM_CMP_EQ, B) == 0); \
                    CHECK(CALL(name, test_all, none, len, status, SHMEM_CMP_EQ, B) == 1); \
                    CHECK(CALL(name, test_any, none, len, status, SHMEM_CMP_EQ, B) == SIZE_MAX); \
                    CHECK(CALL(name, test_some, none, len, unused, status, SHMEM_CMP_EQ, B) == 0); \
                } \
            } \
            /* Nothing holds. */ \
            if (vector) { \
                CHECK(CALL(name, test_all_vector, words, LEN, MASK, SHMEM_CMP_EQ, each) == 0); \
                CHECK(CALL(name, test_any_vector, words, LEN, MASK, SHMEM_CMP_EQ, each) == SIZE_MAX); \
                CHECK(CALL(name, test_some_vector, words, LEN, indices, NULL, SHMEM_CMP_EQ, each) == 0); \
            } else { \
                CHECK(CALL(name, test_all, words, LEN, MASK, SHMEM_CMP_EQ, B) == 0); \
                CHECK(CALL(name, test_any, words, LEN, MASK, SHMEM_CMP_EQ, B) == SIZE_MAX); \
                CHECK(CALL(name, test_some, words, LEN, indices, NULL, SHMEM_CMP_EQ, B) == 0); \
            } \
            shmem_barrier_all(); \
            be_late(); \
            /* The last one, and one that the mask excludes. */ \
            shmem_##name##_p(&words[6], vector ? each[6] : B, next); \
            shmem_##name##_p(&words[7], vector ? each[7] : B, next); \
            if (vector) { \
                CHECK(CALL(name, wait_until_any_vector, words, LEN, MASK, SHMEM_CMP_EQ, each) == 7); \
                found = CALL(name, wait_until_some_vector, words, LEN, indices, MASK, SHMEM_CMP_EQ, each); \
                CHECK(are(found, indices, 1 << 7)); \
                CHECK(CALL(name, test_any_vector, words, LEN, MASK, SHMEM_CMP_EQ, each) == 7); \
                found = CALL(name, test_some_vector, words, LEN, indices, MASK, SHMEM_CMP_EQ, each); \
                CHECK(are(found, indices, 1 << 7)); \
                CALL(name, wait_until_all_vector, words + 6, 2, NULL, SHMEM_CMP_EQ, each + 6); \
                CHECK(CALL(name, test_all_vector, words, LEN, MASK, SHMEM_CMP_EQ, each) == 0); \
            } else { \
                CHECK(CALL(name, wait_until_any, words, LEN, MASK, SHMEM_CMP_EQ, B) == 7); \
                found = CALL(name, wait_until_some, words, LEN, indices, MASK, SHMEM_CMP_EQ, B); \
                CHECK(are(found, indices, 1 << 7)); \
                CHECK(CALL(name, test_any, words, LEN, MASK, SHMEM_CMP_EQ, B) == 7); \
                found = CALL(name, test_some, words, LEN, indices, MASK, SHMEM_CMP_EQ, B); \
                CHECK(are(found, indices, 1 << 7)); \
                CALL(name, wait_until_all, words + 6, 2, NULL, SHMEM_CMP_EQ, B); \
                CHECK(CALL(name, test_all, words, LEN, MASK, SHMEM_CMP_EQ, B) == 0); \
            } \
            shmem_barrier_all(); \
            be_late(); \
            for (int i = 0; i < LEN; i++) \
                if (i != 1 && i < 6) \
                    shmem_##name##_p(&words[i], vector ? each[i] : B, next); \
            /* Each comes once. */ \
            int status[LEN] = {0}, open = LEN - 1; \
            status[1] = 7; \
            while (open > 0) { \
                size_t at; \
                if (open % 2 == 1) { \
                    at = vector ? CALL(name, wait_until_any_vector, words, LEN, status, SHMEM_CMP_EQ, each) \
                                : CALL(name, wait_until_any, words, LEN, status, SHMEM_CMP_NE, A); \
                    found = 1; \
                    indices[0] = at; \
                } else { \
                    found = vector \
                        ? CALL(name, wait_until_some_vector, words, LEN, indices, status, SHMEM_CMP_EQ, each) \
                        : CALL(name, wait_until_some, words, LEN, indices, status, SHMEM_CMP_NE, A); \
                } \
                CHECK(found > 0 && found <= (size_t)open); \
                for (size_t i = 0; i < found; i++) { \
                    CHECK(indices[i] < LEN && status[indices[i]] == 0); \
                    status[indices[i]] = 1; \
                    open--; \
                } \
            } \
            if (vector) { \
                CALL(name, wait_until_all_vector, words, LEN, MASK, SHMEM_CMP_GE, each); \
                CHECK(CALL(name, test_all_vector, words, LEN, MASK, SHMEM_CMP_EQ, each) == 1); \
                CHECK(CALL(name, test_all_vector, words, LEN, NULL, SHMEM_CMP_EQ, each) == 0); \
                found = CALL(name, test_some_vector, words, LEN, indices, NULL, SHMEM_CMP_EQ, each); \
            } else { \
                CALL(name, wait_until_all, words, LEN, MASK, HOLDS(SHMEM_CMP_LT, A, B) ? SHMEM_CMP_GT : SHMEM_CMP_LT, A); \
                CHECK(CALL(name, test_all, words, LEN, MASK, SHMEM_CMP_EQ, B) == 1); \
                CHECK(CALL(name, test_all, words, LEN, NULL, SHMEM_CMP_EQ, B) == 0); \
                found = CALL(name, test_some, words, LEN, indices, NULL, SHMEM_CMP_EQ, B); \
            } \
            CHECK(are(found, indices, 0xfd)); \
        } \
        shmem_barrier_all(); \
    } while (0);

#define ONE_plain(...) ONE(PLAIN, __VA_ARGS__)
#define SEVERAL_plain(...) SEVERAL(PLAIN, __VA_ARGS__)

static void typed(void) {
    AMO_TYPES(ONE_plain)
    SHORT_TYPES(ONE_plain)
    AMO_TYPES(SEVERAL_plain)
    SHORT_TYPES(SEVERAL_plain)
}

#if HAS_GENERICS
#define ONE_generic(...) ONE(GENERIC, __VA_ARGS__)
#define SEVERAL_generic(...) SEVERAL(GENERIC, __VA_ARGS__)

static void generics(void) {
    AMO_TYPES(ONE_generic)
    SHORT_TYPES(ONE_generic)
    AMO_TYPES(SEVERAL_generic)
    SHORT_TYPES(SEVERAL_generic)
}
#endif

/* What waits until a word is another. */
#define CHANGE(name, T, A, B) \
    do { \
        T *word = &name##_words[2]; \
        *word = A; \
        shmem_##name##_wait(word, B); \
        shmem_barrier_all(); \
        be_late(); \
        shmem_##name##_p(word, B, next); \
        shmem_##name##_wait(word, A); \
        CHECK(*word == B); \
        shmem_barrier_all(); \
    } while (0);

static void old_names(void) {
    OLD_TYPES(CHANGE)
    SHORTER(CHANGE, short, short)
    long *word = &long_words[2];
    *word = -1;
    (shmem_wait_until)(word, SHMEM_CMP_LT, 0);
    shmem_barrier_all();
    be_late();
    shmem_long_p(word, 1L << 40, next);
    shmem_wait(word, -1);
    (shmem_wait_until)(word, SHMEM_CMP_EQ, 1L << 40);
    shmem_barrier_all();
    /* The names of comparisons before 1.3. */
    CHECK(shmem_long_test(word, _SHMEM_CMP_GE, 1L << 40) == 1);
}

/* A chain through all PEs, in which all PEs sleep but one. */
static void sleepers(void) {
    static uint64_t token, payload;
    for (uint64_t round = 1; round <= 5; round++) {
        if (me == 0) {
            usleep(5000);
            shmem_uint64_p(&payload, 10 * round, next);
            shmem_fence();
            shmem_uint64_p(&token, round, next);
        }
        shmem_uint64_wait_until(&token, SHMEM_CMP_EQ, round);
        CHECK(payload == 10 * round);
        if (me != 0) {
            shmem_uint64_p(&payload, 10 * round, next);
            shmem_fence();
            shmem_uint64_p(&token, round, next);
        }
        shmem_barrier_all();
    }
}

/* Threads of one PE wait for each other, and for other PEs. */
static long from_thread[4];
static unsigned short from_others;

static void *wait_in_thread(void *which) {
    long at = (long)(intptr_t)which;
    shmem_long_wait_until(&from_thread[at], SHMEM_CMP_NE, 0);
    if (at < 3)
        shmem_long_atomic_set(&from_thread[at + 1], at + 1, me);
    else
        shmem_ushort_wait_until(&from_others, SHMEM_CMP_GE, 0x8000);
    return which;
}

static void threads(void) {
    pthread_t thread[4];
    shmem_barrier_all();
    for (intptr_t i = 0; i < 4; i++)
        CHECK(pthread_create(&thread[i], NULL, wait_in_thread, (void *)i) == 0);
    usleep(1000);
    shmem_long_atomic_set(&from_thread[0], 1, next);
    shmem_long_wait_until(&from_thread[3], SHMEM_CMP_EQ, 3);
    shmem_ushort_p(&from_others, 0x8000, next);
    for (intptr_t i = 0; i < 4; i++) {
        void *which;
        CHECK(pthread_join(thread[i], &which) == 0 && which == (void *)i);
    }
    shmem_barrier_all();
}

int main(void) {
    int provided;
    CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0 && provided == SHMEM_THREAD_MULTIPLE);
    me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n;
    typed();
#if HAS_GENERICS
    generics();
#endif
    old_names();
    sleepers();
    threads();
    shmem_finalize();
    return 0;
}
