/* Signals: each routine for each type and size. */
#include "types.h"

enum { LEN = 17 };

static int me, n, next, before;
static uint64_t sig, high = 0x8000000000000000u;

#define OF(T, A, pe, i) ((T)((A) + (T)(20 * (pe) + (i))))

#define ARRAYS(name, T, A, B) static T name##_dest[LEN];
RMA_TYPES(ARRAYS)

/* Waits for a put, looks at what has come with it, and lets the next one come. */
#define ARRIVED(name, T, A, B, from, then) \
    do { \
        CHECK(shmem_signal_wait_until(&sig, SHMEM_CMP_NE, from) == (then)); \
        CHECK(shmem_signal_fetch(&sig) == (then)); \
        for (int i = 0; i < LEN; i++) \
            CHECK(name##_dest[i] == (i < LEN - 1 ? OF(T, A, before, i) : B)); \
        shmem_barrier_all(); \
        for (int i = 0; i < LEN; i++) \
            name##_dest[i] = B; \
        shmem_barrier_all(); \
    } while (0)

#define PUT_SIGNAL(CALL, name, T, A, B) \
    do { \
        T mine[LEN]; \
        for (int i = 0; i < LEN; i++) { \
            mine[i] = OF(T, A, me, i); \
            name##_dest[i] = B; \
        } \
        sig = 5; \
        shmem_barrier_all(); \
        CALL(name, put_signal, name##_dest, mine, LEN - 1, &sig, high + 1, SHMEM_SIGNAL_SET, next); \
        ARRIVED(name, T, A, B, 5, high + 1); \
        CALL(name, put_signal, name##_dest, mine, LEN - 1, &sig, high, SHMEM_SIGNAL_ADD, next); \
        ARRIVED(name, T, A, B, high + 1, 1); \
        CALL(name, put_signal_nbi, name##_dest, mine, LEN - 1, &sig, high + 3, SHMEM_SIGNAL_SET, next); \
        ARRIVED(name, T, A, B, 1, high + 3); \
        CALL(name, put_signal_nbi, name##_dest, mine, LEN - 1, &sig, (uint64_t)-1, SHMEM_SIGNAL_ADD, next); \
        ARRIVED(name, T, A, B, high + 3, high + 2); \
        shmem_quiet(); \
    } while (0);

/* The same without types: `size` bytes each. */
static unsigned char bytes[16 * LEN], mine[16 * LEN];

static unsigned char byte_of(int pe, int at) {
    return (unsigned char)(pe * 77 + at * 13 + 1);
}

static void begin(void) {
    shmem_barrier_all();
    memset(bytes, 0, sizeof bytes);
    for (int i = 0; i < 16 * LEN; i++)
        mine[i] = byte_of(me, i);
    sig = 0;
    shmem_barrier_all();
}

static void arrived(uint64_t expected, int size) {
    CHECK(shmem_signal_wait_until(&sig, SHMEM_CMP_EQ, expected) == expected);
    for (int i = 0; i < 16 * LEN; i++)
        CHECK(bytes[i] == (i < (LEN - 1) * size ? byte_of(before, i) : 0));
}

#define UNTYPED(routine, size) \
    do { \
        begin(); \
        shmem_##routine(bytes, mine, LEN - 1, &sig, high, SHMEM_SIGNAL_SET, next); \
        arrived(high, size); \
        begin(); \
        shmem_ctx_##routine(SHMEM_CTX_DEFAULT, bytes, mine, LEN - 1, &sig, 7, SHMEM_SIGNAL_ADD, next); \
        arrived(7, size); \
        begin(); \
        shmem_##routine##_nbi(bytes, mine, LEN - 1, &sig, 9, SHMEM_SIGNAL_ADD, next); \
        arrived(9, size); \
        begin(); \
        shmem_ctx_##routine##_nbi(SHMEM_CTX_DEFAULT, bytes, mine, LEN - 1, &sig, high, SHMEM_SIGNAL_SET, next); \
        arrived(high, size); \
        shmem_quiet(); \
    } while (0);
#define SIZED(bits) UNTYPED(put##bits##_signal, bits / 8)

#define PUT_SIGNAL_plain(...) PUT_SIGNAL(PLAIN, __VA_ARGS__)
#define PUT_SIGNAL_ctx(...) PUT_SIGNAL(ON_CONTEXT, __VA_ARGS__)
static void typed(void) { RMA_TYPES(PUT_SIGNAL_plain) }
static void typed_on_context(void) { RMA_TYPES(PUT_SIGNAL_ctx) }

#if HAS_GENERICS
#define PUT_SIGNAL_generic(...) PUT_SIGNAL(GENERIC, __VA_ARGS__)
#define PUT_SIGNAL_generic_ctx(...) PUT_SIGNAL(GENERIC_ON_CONTEXT, __VA_ARGS__)
static void generics(void) { RMA_TYPES(PUT_SIGNAL_generic) }
static void generics_on_context(void) { RMA_TYPES(PUT_SIGNAL_generic_ctx) }
#endif

/* Signals without data, from all to PE 0. */
static void alone(void) {
    begin();
    shmem_signal_add(&sig, 3, 0);
    (shmem_signal_add)(&sig, 2, 0);
    shmem_ctx_signal_add(SHMEM_CTX_DEFAULT, &sig, high, 0);
    shmem_ctx_signal_add(SHMEM_CTX_DEFAULT, &sig, high, 0);
    if (me == 0)
        CHECK(shmem_signal_wait_until(&sig, SHMEM_CMP_EQ, 5 * (uint64_t)n) == 5 * (uint64_t)n);
    begin();
    shmem_signal_set(&sig, high + 1 + (uint64_t)me, next);
    CHECK(shmem_signal_wait_until(&sig, SHMEM_CMP_GT, high) == high + 1 + (uint64_t)before);
    shmem_barrier_all();
    shmem_ctx_signal_set(SHMEM_CTX_DEFAULT, &sig, 1 + (uint64_t)me, next);
    CHECK(shmem_signal_wait_until(&sig, SHMEM_CMP_LE, high) == 1 + (uint64_t)before);
#if HAS_GENERICS
    begin();
    shmem_signal_add(SHMEM_CTX_DEFAULT, &sig, 2, next);
    CHECK(shmem_signal_wait_until(&sig, SHMEM_CMP_GE, 2) == 2);
    shmem_barrier_all();
    shmem_signal_set(SHMEM_CTX_DEFAULT, &sig, 1, next);
    CHECK(shmem_signal_wait_until(&sig, SHMEM_CMP_LT, 2) == 1);
#endif
    begin();
    /* No data, and then much. */
    shmem_putmem_signal(bytes, mine, 0, &sig, 1, SHMEM_SIGNAL_SET, next);
    arrived(1, 0);
    enum { MANY = 2 << 20 };
    static unsigned char large[MANY], from[MANY];
    for (int i = 0; i < MANY; i++)
        from[i] = (unsigned char)(i % 253 + me);
    shmem_barrier_all();
    shmem_putmem_signal_nbi(large, from, MANY, &sig, 1, SHMEM_SIGNAL_ADD, next);
    shmem_signal_wait_until(&sig, SHMEM_CMP_EQ, 2);
    for (int i = 0; i < MANY; i++)
        CHECK(large[i] == (unsigned char)(i % 253 + before));
    shmem_quiet();
    shmem_barrier_all();
}

static void signals(void) {
    me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    typed();
    typed_on_context();
#if HAS_GENERICS
    generics();
    generics_on_context();
#endif
    SIZES(SIZED)
    UNTYPED(putmem_signal, 1)
    alone();
}

#ifndef PART
int main(void) {
    shmem_init();
    signals();
    shmem_finalize();
    return 0;
}
#endif
