/* Remote memory access: each routine for each type and size, to and from the next PE. */
#include "types.h"

enum { LEN = 24 };

static int me, n, next, before;

/* Element `i` of PE `pe`. */
#define OF(T, A, pe, i) ((T)((A) + (T)(30 * (pe) + (i))))

/* What others write to, what they read, and what this PE alone has. */
#define ARRAYS(name, T, A, B) \
    static T name##_dest[LEN], name##_own[LEN]; \
    static void begin_##name(T *mine) { \
        shmem_barrier_all(); \
        for (int i = 0; i < LEN; i++) { \
            name##_dest[i] = B; \
            name##_own[i] = OF(T, A, me, i); \
            mine[i] = B; \
        } \
        shmem_barrier_all(); \
    }
RMA_TYPES(ARRAYS)

/* Element `at` of a block copy: its number in the other array if it is one of `blocks` blocks of `size` elements that are
 * `to` apart here and `from` there, else -1. */
static int copied(int at, int to, int from, int size, int blocks) {
    int block = at / to, inside = at % to;
    return block < blocks && inside < size ? block * from + inside : -1;
}

#define BLOCK(CALL, name, T, A, B) \
    do { \
        T mine[LEN], own[LEN]; \
        T *dest = name##_dest; \
        for (int i = 0; i < LEN; i++) \
            own[i] = OF(T, A, me, i); \
        begin_##name(mine); \
        CALL(name, put, dest + 1, own + 2, LEN - 3, next); \
        CALL(name, put, dest, own, 0, next); \
        CALL(name, get, mine + 1, name##_own + 2, LEN - 3, next); \
        shmem_barrier_all(); \
        for (int i = 0; i < LEN; i++) { \
            int in = i >= 1 && i < LEN - 2; \
            CHECK(dest[i] == (in ? OF(T, A, before, i + 1) : B)); \
            CHECK(mine[i] == (in ? OF(T, A, next, i + 1) : B)); \
        } \
        begin_##name(mine); \
        CALL(name, put_nbi, dest + 3, own, LEN - 3, next); \
        CALL(name, get_nbi, mine, name##_own + 3, LEN - 3, next); \
        shmem_quiet(); \
        shmem_barrier_all(); \
        for (int i = 0; i < LEN; i++) { \
            CHECK(dest[i] == (i >= 3 ? OF(T, A, before, i - 3) : B)); \
            CHECK(mine[i] == (i < LEN - 3 ? OF(T, A, next, i + 3) : B)); \
        } \
        begin_##name(mine); \
        CALL(name, iput, dest, own, 3, 2, 8, next); \
        CALL(name, iget, mine, name##_own, 2, 3, 8, next); \
        shmem_barrier_all(); \
        for (int i = 0; i < LEN; i++) { \
            int put = copied(i, 3, 2, 1, 8), got = copied(i, 2, 3, 1, 8); \
            CHECK(dest[i] == (put >= 0 ? OF(T, A, before, put) : B)); \
            CHECK(mine[i] == (got >= 0 ? OF(T, A, next, got) : B)); \
        } \
        begin_##name(mine); \
        CALL(name, ibput, dest, own, 5, 3, 2, 4, next); \
        CALL(name, ibget, mine, name##_own, 4, 6, 3, 3, next); \
        shmem_barrier_all(); \
        for (int i = 0; i < LEN; i++) { \
            int put = copied(i, 5, 3, 2, 4), got = copied(i, 4, 6, 3, 3); \
            CHECK(dest[i] == (put >= 0 ? OF(T, A, before, put) : B)); \
            CHECK(mine[i] == (got >= 0 ? OF(T, A, next, got) : B)); \
        } \
        begin_##name(mine); \
        CALL(name, p, dest + 7, OF(T, A, me, 7), next); \
        shmem_quiet(); \
        CHECK(CALL(name, g, dest + 7, next) == OF(T, A, me, 7)); \
        CHECK(CALL(name, g, name##_own + 9, next) == OF(T, A, next, 9)); \
        shmem_barrier_all(); \
        for (int i = 0; i < LEN; i++) \
            CHECK(dest[i] == (i == 7 ? OF(T, A, before, 7) : B)); \
    } while (0);

/* Elements by their size: bytes, which show PE, number and place. */
static unsigned char dest[16 * LEN], own[16 * LEN], mine[16 * LEN];

static unsigned char byte_of(int pe, int at) {
    return (unsigned char)(pe * 77 + at * 13 + 1);
}

static void begin(void) {
    shmem_barrier_all();
    memset(dest, 0, sizeof dest);
    memset(mine, 0, sizeof mine);
    for (int i = 0; i < 16 * LEN; i++)
        own[i] = byte_of(me, i);
    shmem_barrier_all();
}

/* Checks LEN elements of `size` bytes in `at`: blocks of what PE `pe` has. */
static void check_blocks(const unsigned char *at, int pe, int size, int to, int from, int bsize, int blocks) {
    for (int i = 0; i < LEN; i++) {
        int other = copied(i, to, from, bsize, blocks);
        for (int j = 0; j < size; j++)
            CHECK(at[i * size + j] == (other < 0 ? 0 : byte_of(pe, other * size + j)));
    }
}

#define SIZED(PUT, NBI, bits) \
    do { \
        enum { SIZE = bits / 8 }; \
        begin(); \
        PUT(put##bits, dest, own, 20, next); \
        PUT(get##bits, mine, own, 19, next); \
        shmem_barrier_all(); \
        check_blocks(dest, before, SIZE, LEN, LEN, 20, 1); \
        check_blocks(mine, next, SIZE, LEN, LEN, 19, 1); \
        begin(); \
        NBI(put##bits, dest, own, 18, next); \
        NBI(get##bits, mine, own, 17, next); \
        shmem_quiet(); \
        shmem_barrier_all(); \
        check_blocks(dest, before, SIZE, LEN, LEN, 18, 1); \
        check_blocks(mine, next, SIZE, LEN, LEN, 17, 1); \
        begin(); \
        PUT(iput##bits, dest, own, 3, 2, 8, next); \
        PUT(iget##bits, mine, own, 2, 3, 8, next); \
        shmem_barrier_all(); \
        check_blocks(dest, before, SIZE, 3, 2, 1, 8); \
        check_blocks(mine, next, SIZE, 2, 3, 1, 8); \
        begin(); \
        PUT(ibput##bits, dest, own, 5, 3, 2, 4, next); \
        PUT(ibget##bits, mine, own, 4, 6, 3, 3, next); \
        shmem_barrier_all(); \
        check_blocks(dest, before, SIZE, 5, 3, 2, 4); \
        check_blocks(mine, next, SIZE, 4, 6, 3, 3); \
    } while (0);

#define BYTES(PUT, NBI) \
    do { \
        begin(); \
        PUT(putmem, dest, own, 192, next); \
        PUT(getmem, mine, own, 208, next); \
        shmem_barrier_all(); \
        check_blocks(dest, before, 16, LEN, LEN, 12, 1); \
        check_blocks(mine, next, 16, LEN, LEN, 13, 1); \
        begin(); \
        NBI(putmem, dest, own, 32, next); \
        NBI(getmem, mine, own, 48, next); \
        shmem_quiet(); \
        shmem_barrier_all(); \
        check_blocks(dest, before, 16, LEN, LEN, 2, 1); \
        check_blocks(mine, next, 16, LEN, LEN, 3, 1); \
    } while (0);

#define BLOCK_plain(...) BLOCK(PLAIN, __VA_ARGS__)
#define BLOCK_ctx(...) BLOCK(ON_CONTEXT, __VA_ARGS__)
#define UNTYPED(routine, ...) shmem_##routine(__VA_ARGS__)
#define UNTYPED_NBI(routine, ...) shmem_##routine##_nbi(__VA_ARGS__)
#define UNTYPED_CTX(routine, ...) shmem_ctx_##routine(SHMEM_CTX_DEFAULT, __VA_ARGS__)
#define UNTYPED_CTX_NBI(routine, ...) shmem_ctx_##routine##_nbi(SHMEM_CTX_DEFAULT, __VA_ARGS__)
#define SIZED_plain(bits) SIZED(UNTYPED, UNTYPED_NBI, bits)
#define SIZED_ctx(bits) SIZED(UNTYPED_CTX, UNTYPED_CTX_NBI, bits)

static void typed(void) { RMA_TYPES(BLOCK_plain) }
static void typed_on_context(void) { RMA_TYPES(BLOCK_ctx) }
static void sized(void) {
    SIZES(SIZED_plain)
    SIZES(SIZED_ctx)
}

#if HAS_GENERICS
#define BLOCK_generic(...) BLOCK(GENERIC, __VA_ARGS__)
#define BLOCK_generic_ctx(...) BLOCK(GENERIC_ON_CONTEXT, __VA_ARGS__)
static void generics(void) { RMA_TYPES(BLOCK_generic) }
static void generics_on_context(void) { RMA_TYPES(BLOCK_generic_ctx) }
#endif

/* Blocks that helpers copy while the PE goes on, and addresses that are not aligned. */
static void large(void) {
    enum { MANY = 3 << 20 };
    static unsigned char here[MANY + 8], there[MANY + 8];
    static unsigned char local[MANY + 8];
    for (int i = 0; i < MANY; i++)
        there[i] = (unsigned char)(i % 251 + me);
    shmem_barrier_all();
    shmem_getmem_nbi(local, there, MANY, next);
    shmem_putmem_nbi(here + 3, there, MANY, next);
    shmem_quiet();
    for (int i = 0; i < MANY; i++)
        CHECK(local[i] == (unsigned char)(i % 251 + next));
    shmem_barrier_all();
    for (int i = 0; i < MANY; i++)
        CHECK(here[i + 3] == (unsigned char)(i % 251 + before));
    /* Blocks need no alignment. */
    shmem_long_get((long *)(void *)(local + 1), (const long *)(const void *)(there + 5), 100, next);
    for (int i = 0; i < 800; i++)
        CHECK(local[i + 1] == (unsigned char)((i + 5) % 251 + next));
    shmem_barrier_all();
}

static void rma(void) {
    me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    typed();
    typed_on_context();
    sized();
    BYTES(UNTYPED, UNTYPED_NBI)
    BYTES(UNTYPED_CTX, UNTYPED_CTX_NBI)
#if HAS_GENERICS
    generics();
    generics_on_context();
#endif
    large();
}

#ifndef PART
int main(void) {
    shmem_init();
    rma();
    shmem_finalize();
    return 0;
}
#endif
