/* What kernels of the tests do: the same for a device, and for host threads with SHMEMX_DEVICE_ON_HOST. Each returns 0,
 * or the number of the line that found something wrong. None waits for a kernel of another PE. */
#ifndef KERNEL_BODIES_CUH
#define KERNEL_BODIES_CUH

#include "shmemx_device.cuh"

#ifdef SHMEMX_DEVICE_ON_HOST
#define BODY static int
#else
#define BODY static __device__ __noinline__ int
#endif

typedef unsigned long long u64;

enum { BYTES = 5000, WORDS = 32 };

/* What a PE has for each other: symmetric memory, and memory for a kernel to copy from and to. */
struct Area {
    u64 words[WORDS];
    int ints[WORDS];
    float reals[WORDS];
    unsigned char bytes[BYTES + 40];
};

#define CHECK(what)          \
    do {                     \
        if (!(what))         \
            return __LINE__; \
    } while (0)

BODY fill(unsigned char *bytes, int n, int seed)
{
    for (int i = 0; i < n; i++)
        bytes[i] = (unsigned char)(i * 7 + seed);
    return 0;
}

BODY is_filled(const unsigned char *bytes, int n, int seed)
{
    for (int i = 0; i < n; i++)
        if (bytes[i] != (unsigned char)(i * 7 + seed))
            return 0;
    return 1;
}

/* Puts and gets of one thread, or of a group that is one thread, of all lengths and alignments. */
BODY transfers(shmemx_device_t shmem, Area *area, Area *here, int to)
{
    const int lengths[] = {0, 1, 3, 8, 15, 16, 17, 100, 512, 513, 1500, BYTES};
    for (int k = 0; k < (int)(sizeof lengths / sizeof lengths[0]); k++) {
        for (int shift = 0; shift < 18; shift += 5) {
            int n = lengths[k], seed = n + shift;
            unsigned char *source = here->bytes + (shift * 3) % 16, *dest = area->bytes + shift;
            fill(source, n, seed);
            CHECK(shmemx::put(shmem, dest, (const unsigned char *)source, n, to) == SHMEMX_DEVICE_OK);
            CHECK(shmemx::quiet(shmem) == SHMEMX_DEVICE_OK);
            fill(source, n, seed + 1);
            CHECK(shmemx::get(shmem, source, dest, n, to) == SHMEMX_DEVICE_OK);
            CHECK(is_filled(source, n, seed));
        }
    }
    return 0;
}

BODY values(shmemx_device_t shmem, Area *area, Area *here, int to)
{
    CHECK(shmemx::p(shmem, &area->words[0], 0x123456789abcdefULL, to) == SHMEMX_DEVICE_OK);
    CHECK(shmemx::p(shmem, &area->ints[0], -5, to) == SHMEMX_DEVICE_OK);
    CHECK(shmemx::p(shmem, &area->reals[0], 2.5f, to) == SHMEMX_DEVICE_OK);
    CHECK(shmemx::quiet(shmem) == SHMEMX_DEVICE_OK);
    CHECK(shmemx::g(shmem, &area->words[0], to) == 0x123456789abcdefULL);
    CHECK(shmemx::g(shmem, &area->ints[0], to) == -5);
    CHECK(shmemx::g(shmem, &area->reals[0], to) == 2.5f);
    /* Later puts come later, where there is a fence in between. */
    for (int i = 1; i <= 20; i++) {
        CHECK(shmemx::p(shmem, &area->words[1], (u64)i, to) == SHMEMX_DEVICE_OK);
        CHECK(shmemx::fence(shmem) == SHMEMX_DEVICE_OK);
    }
    CHECK(shmemx::quiet(shmem) == SHMEMX_DEVICE_OK);
    CHECK(shmemx::g(shmem, &area->words[1], to) == 20);
    int *mapped = shmemx::ptr(shmem, area->ints, to);
    if (mapped)
        CHECK(*(volatile int *)mapped == -5);
    (void)here;
    return 0;
}

template <class T>
BODY atomics_of(shmemx_device_t shmem, T *at, int to)
{
    CHECK(shmemx::atomic_set(shmem, at, 100, to) == SHMEMX_DEVICE_OK);
    CHECK(shmemx::quiet(shmem) == SHMEMX_DEVICE_OK);
    CHECK(shmemx::atomic_fetch(shmem, at, to) == 100);
    CHECK(shmemx::atomic_fetch_add(shmem, at, (T)-30, to) == 100);
    CHECK(shmemx::atomic_add(shmem, at, 5, to) == SHMEMX_DEVICE_OK);
    CHECK(shmemx::quiet(shmem) == SHMEMX_DEVICE_OK);
    CHECK(shmemx::atomic_swap(shmem, at, 0x0f0f, to) == 75);
    CHECK(shmemx::atomic_compare_swap(shmem, at, 1, 2, to) == 0x0f0f);
    CHECK(shmemx::atomic_compare_swap(shmem, at, 0x0f0f, 0x3333, to) == 0x0f0f);
    CHECK(shmemx::atomic_fetch_and(shmem, at, 0x00ff, to) == 0x3333);
    CHECK(shmemx::atomic_fetch_or(shmem, at, 0x0f00, to) == 0x0033);
    CHECK(shmemx::atomic_fetch_xor(shmem, at, 0x0ff0, to) == 0x0f33);
    CHECK(shmemx::atomic_and(shmem, at, 0x00f3, to) == SHMEMX_DEVICE_OK);
    CHECK(shmemx::atomic_or(shmem, at, 0x1000, to) == SHMEMX_DEVICE_OK);
    CHECK(shmemx::atomic_xor(shmem, at, 0x0001, to) == SHMEMX_DEVICE_OK);
    CHECK(shmemx::quiet(shmem) == SHMEMX_DEVICE_OK);
    CHECK(shmemx::atomic_fetch(shmem, at, to) == (T)(((0x00c3 & 0x00f3) | 0x1000) ^ 0x0001));
    return 0;
}

BODY atomics(shmemx_device_t shmem, Area *area, Area *, int to)
{
    int wrong = atomics_of(shmem, &area->words[2], to);
    if (wrong == 0)
        wrong = atomics_of(shmem, (long long *)&area->words[3], to);
    if (wrong == 0)
        wrong = atomics_of(shmem, &area->ints[2], to);
    if (wrong == 0)
        wrong = atomics_of(shmem, (unsigned *)&area->ints[3], to);
    CHECK(wrong == 0);
    CHECK(shmemx::atomic_set(shmem, &area->reals[1], 1.5f, to) == SHMEMX_DEVICE_OK);
    CHECK(shmemx::quiet(shmem) == SHMEMX_DEVICE_OK);
    CHECK(shmemx::atomic_swap(shmem, &area->reals[1], -2.0f, to) == 1.5f);
    CHECK(shmemx::atomic_fetch(shmem, &area->reals[1], to) == -2.0f);
    return 0;
}

BODY signals(shmemx_device_t shmem, Area *area, Area *here, int to)
{
    fill(here->bytes, 1200, to + 3);
    CHECK(shmemx::signal_op(shmem, &area->words[4], 7, SHMEM_SIGNAL_SET, to) == SHMEMX_DEVICE_OK);
    CHECK(shmemx::quiet(shmem) == SHMEMX_DEVICE_OK);
    CHECK(shmemx::put_signal(shmem, area->bytes, (const unsigned char *)here->bytes, 1200, &area->words[4], 5,
                             SHMEM_SIGNAL_ADD, to) == SHMEMX_DEVICE_OK);
    CHECK(shmemx::quiet(shmem) == SHMEMX_DEVICE_OK);
    CHECK(shmemx::g(shmem, &area->words[4], to) == 12);
    CHECK(shmemx::get(shmem, here->bytes, area->bytes, 1200, to) == SHMEMX_DEVICE_OK);
    CHECK(is_filled(here->bytes, 1200, to + 3));
    return 0;
}

/* Waits for what this kernel itself has stored to this PE. */
BODY waits(shmemx_device_t shmem, Area *area, Area *, int)
{
    int me = shmemx::my_pe(shmem);
    CHECK(me >= 0 && me < shmemx::n_pes(shmem));
    CHECK(shmemx::atomic_set(shmem, &area->words[5], 10, me) == SHMEMX_DEVICE_OK);
    CHECK(shmemx::atomic_set(shmem, &area->ints[5], -10, me) == SHMEMX_DEVICE_OK);
    CHECK(shmemx::quiet(shmem) == SHMEMX_DEVICE_OK);
    const u64 *word = &area->words[5];
    const int *number = &area->ints[5];
    for (int cmp = SHMEM_CMP_EQ; cmp <= SHMEM_CMP_GE; cmp++) {
        for (int with = 9; with <= 11; with++) {
            bool holds = cmp == SHMEM_CMP_EQ   ? 10 == with
                         : cmp == SHMEM_CMP_NE ? 10 != with
                         : cmp == SHMEM_CMP_LT ? 10 < with
                         : cmp == SHMEM_CMP_LE ? 10 <= with
                         : cmp == SHMEM_CMP_GT ? 10 > with
                                               : 10 >= with;
            CHECK(shmemx::test(shmem, word, cmp, with) == holds);
            if (holds)
                CHECK(shmemx::wait_until(shmem, word, cmp, with) == SHMEMX_DEVICE_OK);
        }
    }
    CHECK(shmemx::test(shmem, number, SHMEM_CMP_LT, 0) && !shmemx::test(shmem, number, SHMEM_CMP_GT, 0));
    CHECK(shmemx::wait_until(shmem, number, SHMEM_CMP_LE, -10) == SHMEMX_DEVICE_OK);
    return 0;
}

/* The forms of warps and blocks, by all threads of a block: `Group` says which they are. On the host that is one. */
BODY groups(shmemx_device_t shmem, Area *area, Area *here, int to)
{
    using namespace shmemx::impl;
    word rank = Block::rank(), all = Block::size();
    const int n = 1111;
    for (int form = 0; form < 2; form++) {
        bool is_block = form == 0;
        /* Of the warps the first alone has something to do. */
        bool works = is_block || rank < 32;
        for (int i = (int)rank; i < n; i += (int)all)
            here->bytes[i] = (unsigned char)(i * 7 + form + to);
        Block::sync();
        int status = 0;
        const unsigned char *source = here->bytes;
        u64 *signal = &area->words[6 + form];
        if (is_block)
            status = shmemx::put_block(shmem, area->bytes + 3, source, n, to);
        else if (works)
            status = shmemx::put_warp(shmem, area->bytes + 3, source, n, to);
        CHECK(status == SHMEMX_DEVICE_OK);
        if (rank == 0) {
            CHECK(shmemx::atomic_set(shmem, signal, 1, to) == SHMEMX_DEVICE_OK);
            CHECK(shmemx::quiet(shmem) == SHMEMX_DEVICE_OK);
        }
        Block::sync();
        if (is_block)
            status = shmemx::put_signal_block(shmem, area->bytes + 3, source, n, signal, 4, SHMEM_SIGNAL_ADD, to);
        else if (works)
            status = shmemx::put_signal_warp(shmem, area->bytes + 3, source, n, signal, 4, SHMEM_SIGNAL_ADD, to);
        CHECK(status == SHMEMX_DEVICE_OK);
        if (rank == 0) {
            CHECK(shmemx::quiet(shmem) == SHMEMX_DEVICE_OK);
            CHECK(shmemx::g(shmem, signal, to) == 5);
        }
        Block::sync();
        for (int i = (int)rank; i < n; i += (int)all)
            here->bytes[i] = 0;
        Block::sync();
        if (is_block)
            status = shmemx::get_block(shmem, here->bytes, area->bytes + 3, n, to);
        else if (works)
            status = shmemx::get_warp(shmem, here->bytes, area->bytes + 3, n, to);
        CHECK(status == SHMEMX_DEVICE_OK);
        Block::sync();
        for (int i = (int)rank; i < n; i += (int)all)
            CHECK(here->bytes[i] == (unsigned char)(i * 7 + form + to));
        Block::sync();
    }
    return 0;
}

/* All of one thread's. */
BODY functions(shmemx_device_t shmem, Area *area, Area *here, int to)
{
    int wrong = values(shmem, area, here, to);
    if (wrong == 0)
        wrong = transfers(shmem, area, here, to);
    if (wrong == 0)
        wrong = atomics(shmem, area, here, to);
    if (wrong == 0)
        wrong = signals(shmem, area, here, to);
    if (wrong == 0)
        wrong = waits(shmem, area, here, to);
    return wrong;
}

/* Adds to a word, again and again, without waiting in between. */
BODY add_often(shmemx_device_t shmem, u64 *word, int times, int to)
{
    for (int i = 0; i < times; i++)
        CHECK(shmemx::atomic_add(shmem, word, 1, to) == SHMEMX_DEVICE_OK);
    CHECK(shmemx::quiet(shmem) == SHMEMX_DEVICE_OK);
    return 0;
}

#endif
