/* Transfers of one word and of blocks, atomics, a ping-pong and a wait, each beside the same in bare loads, stores and
 * memcpy on the memory that shmem_ptr gives, in one run.
 *
 * PE 0 calls and PE 1 waits in a barrier, except where they play ping-pong. The time of a call is that of a batch,
 * with a shmem_quiet at its end, divided by its calls.
 *
 * oshcc -O2 point_to_point.c && oshrun -n 2 a.out FILE ROUNDS SECONDS */
#include "common.h"

#define LARGEST (16 << 20)
#define WORD_CALLS 20000
#define PING_PONGS 2000

/* On this PE and, at the address that loads and stores reach it at, on the other. */
static char *block, *theirs;
static char *mine;
/* In this PE's block, at the same place of a page as the other's. */
static char *paged;
static long *word, *their_word;
static long value, kept;

/* What is measured: calls of the library and, beside them, without it. */
struct op {
    const char *name;
    size_t bytes;
    void (*call)(size_t bytes, long calls);
    void (*bare)(size_t bytes, long calls);
    long calls;
};

/* What calls return is added up in a register: in memory, each call would also wait for the sum of the last. */
#define LOOP(body) \
    (void)bytes; \
    long sum = 0; \
    for (long i = 0; i < calls; i++) { \
        body; \
    } \
    kept += sum;
/* One operation of the library, and the instruction that it cannot do without. */
#define PAIR(name, library, machine) \
    static void name(size_t bytes, long calls) { LOOP(library) shmem_quiet(); } \
    static void bare_##name(size_t bytes, long calls) { LOOP(machine) }

PAIR(p, shmem_long_p(word, i, 1), *(volatile long *)their_word = i)
PAIR(g, sum += shmem_long_g(word, 1), sum += *(volatile long *)their_word)
PAIR(put, shmem_long_put(word, &value, 1, 1), *(volatile long *)their_word = *(volatile long *)&value)
PAIR(get, shmem_long_get(&value, word, 1, 1), *(volatile long *)&value = *(volatile long *)their_word)
PAIR(put_nbi, shmem_putmem_nbi(word, &value, 8, 1), *(volatile long *)their_word = *(volatile long *)&value)
PAIR(fetch_add, sum += shmem_long_atomic_fetch_add(word, 3, 1), sum += __atomic_fetch_add(their_word, 3, __ATOMIC_SEQ_CST))
PAIR(add, shmem_long_atomic_add(word, 3, 1), __atomic_fetch_add(their_word, 3, __ATOMIC_SEQ_CST))
PAIR(fetch_inc, sum += shmem_long_atomic_fetch_inc(word, 1), sum += __atomic_fetch_add(their_word, 1, __ATOMIC_SEQ_CST))
PAIR(inc, shmem_long_atomic_inc(word, 1), __atomic_fetch_add(their_word, 1, __ATOMIC_SEQ_CST))
/* What was there is asked for only where it is kept: otherwise the bare instruction is another. */
PAIR(xor, shmem_uint64_atomic_xor((uint64_t *)word, 5, 1), __atomic_fetch_xor(their_word, 5, __ATOMIC_SEQ_CST))
PAIR(or, shmem_uint64_atomic_or((uint64_t *)word, 5, 1), __atomic_fetch_or(their_word, 5, __ATOMIC_SEQ_CST))
PAIR(and, shmem_uint64_atomic_and((uint64_t *)word, 5, 1), __atomic_fetch_and(their_word, 5, __ATOMIC_SEQ_CST))
PAIR(fetch_xor, sum += (long)shmem_uint64_atomic_fetch_xor((uint64_t *)word, 5, 1), sum += __atomic_fetch_xor(their_word, 5, __ATOMIC_SEQ_CST))
PAIR(swap, sum += shmem_long_atomic_swap(word, i, 1), sum += __atomic_exchange_n(their_word, i, __ATOMIC_SEQ_CST))
PAIR(fetch, sum += shmem_long_atomic_fetch(word, 1), sum += __atomic_load_n(their_word, __ATOMIC_SEQ_CST))
PAIR(set, shmem_long_atomic_set(word, i, 1), __atomic_exchange_n(their_word, i, __ATOMIC_SEQ_CST))
PAIR(compare_swap, sum += shmem_long_atomic_compare_swap(word, i, i + 1, 1), long cond = i; __atomic_compare_exchange_n(their_word, &cond, i + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); sum += cond)

static void put_block(size_t bytes, long calls) { LOOP(shmem_putmem(block, mine, bytes, 1)) shmem_quiet(); }
static void get_block(size_t bytes, long calls) { LOOP(shmem_getmem(mine, block, bytes, 1)) }
/* Where the destination is a word ahead of the source, within pages, as when a halo shifts by an element: some processors'
 * string instruction, and so memcpy, is slow there. */
static void put_ahead(size_t bytes, long calls) { LOOP(shmem_putmem(block + 8, paged, bytes, 1)) shmem_quiet(); }
static void bare_put_ahead(size_t bytes, long calls) { LOOP(memcpy(theirs + 8, paged, bytes); __asm__ volatile("" ::: "memory")) }
static void bare_put_block(size_t bytes, long calls) { LOOP(memcpy(theirs, mine, bytes); __asm__ volatile("" ::: "memory")) }
static void bare_get_block(size_t bytes, long calls) { LOOP(memcpy(mine, theirs, bytes); __asm__ volatile("" ::: "memory")) }

static const struct op ops[] = {
    {"p", 8, p, bare_p, WORD_CALLS},
    {"g", 8, g, bare_g, WORD_CALLS},
    {"put", 8, put, bare_put, WORD_CALLS},
    {"get", 8, get, bare_get, WORD_CALLS},
    {"put_nbi", 8, put_nbi, bare_put_nbi, WORD_CALLS},
    {"fetch_add", 8, fetch_add, bare_fetch_add, WORD_CALLS},
    {"add", 8, add, bare_add, WORD_CALLS},
    {"fetch_inc", 8, fetch_inc, bare_fetch_inc, WORD_CALLS},
    {"inc", 8, inc, bare_inc, WORD_CALLS},
    {"xor", 8, xor, bare_xor, WORD_CALLS},
    {"or", 8, or, bare_or, WORD_CALLS},
    {"and", 8, and, bare_and, WORD_CALLS},
    {"fetch_xor", 8, fetch_xor, bare_fetch_xor, WORD_CALLS},
    {"swap", 8, swap, bare_swap, WORD_CALLS},
    {"compare_swap", 8, compare_swap, bare_compare_swap, WORD_CALLS},
    {"fetch", 8, fetch, bare_fetch, WORD_CALLS},
    {"set", 8, set, bare_set, WORD_CALLS},
    {"put", 4 << 10, put_block, bare_put_block, 4000},
    {"put", 64 << 10, put_block, bare_put_block, 400},
    {"put", 1 << 20, put_block, bare_put_block, 20},
    {"put", 16 << 20, put_block, bare_put_block, 2},
    {"put_ahead", 4 << 10, put_ahead, bare_put_ahead, 4000},
    {"put_ahead", 64 << 10, put_ahead, bare_put_ahead, 400},
    {"get", 4 << 10, get_block, bare_get_block, 4000},
    {"get", 64 << 10, get_block, bare_get_block, 400},
    {"get", 1 << 20, get_block, bare_get_block, 20},
    {"get", 16 << 20, get_block, bare_get_block, 2},
};

static double timed(void (*call)(size_t, long), size_t bytes, long calls) {
    double start = now();
    call(bytes, calls);
    return (now() - start) / calls;
}

static void measure(const struct op *op) {
    static struct samples all;
    memset(all.taken, 0, sizeof all.taken);
    if (me == 0) {
        op->call(op->bytes, op->calls);
        op->bare(op->bytes, op->calls);
    }
    for (int i = 0; i < rounds; i++) {
        shmem_barrier_all();
        double before = where();
        double value = 0, bound = 0;
        if (me == 0) {
            bound = timed(op->bare, op->bytes, op->calls);
            value = timed(op->call, op->bytes, op->calls);
        }
        shmem_barrier_all();
        take(&all, before, value, bound, where());
    }
    report(&all, op->name, op->bytes);
}

/* Data, a fence and a flag there, and the same back: half of that, with the same in stores beside it. */
static void ping_pong(void) {
    static struct samples all;
    static long number, bare_number;
    long *data = flags + 16, *flag = flags + 32, *bare = flags + 48;
    long *their_bare = shmem_ptr(bare, 1 - me);
    for (int i = 0; i < rounds; i++) {
        shmem_barrier_all();
        double before = where();
        shmem_barrier_all();
        double start = now();
        for (int k = 0; k < PING_PONGS; k++) {
            number++;
            for (int turn = 0; turn < 2; turn++) {
                if (turn == me) {
                    shmem_long_put(data, &number, 1, 1 - me);
                    shmem_fence();
                    shmem_long_p(flag, number, 1 - me);
                } else {
                    shmem_long_wait_until(flag, SHMEM_CMP_GE, number);
                }
            }
        }
        double value = (now() - start) / PING_PONGS / 2;
        shmem_barrier_all();
        start = now();
        for (int k = 0; their_bare && k < PING_PONGS; k++) {
            bare_number++;
            for (int turn = 0; turn < 2; turn++) {
                if (turn == me)
                    __atomic_store_n(their_bare, bare_number, __ATOMIC_RELEASE);
                else
                    while (__atomic_load_n(bare, __ATOMIC_ACQUIRE) < bare_number)
                        __builtin_ia32_pause();
            }
        }
        double bound = (now() - start) / PING_PONGS / 2;
        shmem_barrier_all();
        take(&all, before, value, bound, where());
    }
    report(&all, "ping_pong", 8);
}

static double cpu_time(void) {
    struct timespec at;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return at.tv_sec * 1e9 + at.tv_nsec;
}

/* The part of a processor that PE 1 uses while it waits for a second, in thousandths of a percent. */
static void waiting(void) {
    long *flag = flags + 56;
    shmem_barrier_all();
    if (me == 0) {
        usleep(1000000);
        shmem_long_p(flag, 1, 1);
        shmem_long_wait_until(flag, SHMEM_CMP_NE, 0);
        fprintf(out, "{\"name\":\"waiting\",\"bytes\":0,\"pes\":2,\"value\":%.3f,\"unit\":\"%%\",\"placement\":\"\"}\n",
                *flag / 1e3);
        fflush(out);
    } else {
        double start = now(), used = cpu_time();
        shmem_long_wait_until(flag, SHMEM_CMP_NE, 0);
        shmem_long_p(flag, 1 + (long)(1e5 * (cpu_time() - used) / (now() - start)), 0);
    }
    shmem_barrier_all();
}

int main(int argc, char **argv) {
    begin(argc, argv);
    block = shmem_malloc(LARGEST);
    mine = malloc(LARGEST);
    word = shmem_calloc(64, sizeof(long));
    memset(block, 1, LARGEST);
    memset(mine, 2, LARGEST);
    theirs = shmem_ptr(block, 1);
    paged = block + LARGEST / 2;
    their_word = shmem_ptr(word, 1);
    if (n != 2 || !theirs || !their_word) {
        fprintf(stderr, "this program takes two PEs that reach each other's memory\n");
        shmem_global_exit(2);
    }
    shmem_barrier_all();
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        measure(&ops[i]);
    ping_pong();
    waiting();
    if (kept == 42)
        fprintf(stderr, "so that loads count\n");
    return finish();
}
