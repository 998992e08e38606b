/* Device memory, emulated: every kind of routine takes its addresses. With an argument, it is the default space. */
#include "check.h"
#include <shmemx.h>
#include <stdint.h>
#include <string.h>

enum { N = 300 };
static long host[2 * N];
static uint64_t host_signal;
static int me, n, next, before;

/* What is at an address of this PE, wherever that is. */
static void expect(const long *what, long first, long step, size_t count) {
    long seen[N];
    shmem_getmem(seen, what, count * sizeof(long), me);
    for (size_t i = 0; i < count; i++) CHECK(seen[i] == first + step * (long)i);
}

static void set(long *what, long first, long step, size_t count) {
    long values[N];
    for (size_t i = 0; i < count; i++) values[i] = first + step * (long)i;
    shmem_putmem(what, values, count * sizeof(long), me);
    shmem_quiet();
}

static void copies(long *device) {
    long *places[2] = {host, device}, private[N];
    for (int f = 0; f < 2; f++)
        for (int t = 0; t < 2; t++) {
            long *from = places[f], *to = places[t] + N / 2;
            size_t count = N / 2;
            for (int kind = 0; kind < 6; kind++) {
                long seed = 1000 * (kind + 1) + 100 * me;
                if (kind == 5) count = 1;
                set(from, seed, 1, count);
                shmem_barrier_all();
                switch (kind) {
                case 0: shmem_long_put(to, from, count, next); break;
                case 1: shmem_putmem_nbi(to, from, count * sizeof(long), next); break;
                case 2: shmem_put64(to, from, count, next); break;
                case 3: shmem_long_iput(to, from, 1, 1, count, next); break;
                case 4: shmem_ctx_long_ibput(SHMEM_CTX_DEFAULT, to, from, 10, 10, 10, count / 10, next); break;
                case 5: shmem_long_put_nbi(to, from, 1, next); break;
                }
                shmem_barrier_all();
                expect(to, 1000 * (kind + 1) + 100 * before, 1, count);
                set(from, 0, 0, count);
                switch (kind) {
                case 0: shmem_long_get(from, to, count, next); break;
                case 1: shmem_getmem_nbi(from, to, count * sizeof(long), next); break;
                case 2: shmem_get64(from, to, count, next); break;
                case 3: shmem_long_iget(from, to, 1, 1, count, next); break;
                case 4: shmem_long_ibget(from, to, 10, 10, 10, count / 10, next); break;
                case 5: shmem_long_get_nbi(from, to, 1, next); break;
                }
                shmem_quiet();
                expect(from, seed, 1, count);
                shmem_barrier_all();
            }
        }
    for (int i = 0; i < 5; i++) private[i] = me + i;
    shmem_long_put(device, private, 5, next);
    shmem_long_p(&device[5], me + 5, next);
    shmem_barrier_all();
    shmem_long_get(private, device, 6, me);
    for (int i = 0; i < 6; i++) CHECK(private[i] == before + i);
    CHECK(shmem_long_g(&device[5], next) == me + 5);
    shmem_barrier_all();
}

static void atomics(long *device) {
    set(device, 0, 0, 8);
    shmem_barrier_all();
    shmem_long_atomic_inc(&device[0], 0);
    shmem_long_atomic_add(&device[1], 5, 0);
    shmem_ulong_atomic_or((unsigned long *)&device[2], 1UL << me, 0);
    shmem_barrier_all();
    CHECK(shmem_long_atomic_fetch(&device[0], 0) == n && shmem_long_g(&device[1], 0) == 5 * n);
    CHECK(shmem_long_g(&device[2], 0) == (1L << n) - 1);
    /* What is fetched may go to device memory too. */
    shmem_long_atomic_fetch_add_nbi(&device[6], &device[4], 7, me);
    shmem_long_atomic_fetch_nbi(&device[7], &device[0], 0);
    shmem_quiet();
    expect(&device[4], 7, 0, 1);
    expect(&device[6], 0, 0, 1);
    expect(&device[7], n, 0, 1);
    CHECK(shmem_long_atomic_swap(&device[4], 9, me) == 7 && shmem_long_atomic_compare_swap(&device[4], 9, 3, me) == 9);
    CHECK(shmem_int_atomic_fetch_add((int *)&device[5], 1, me) == 0 && shmem_long_g(&device[5], me) == 1);
    shmem_barrier_all();
}

static void signals(long *device, uint64_t *device_signal) {
    uint64_t *words[2] = {&host_signal, device_signal};
    long *places[2] = {host, device};
    uint64_t count = 0;
    for (int s = 0; s < 2; s++)
        for (int f = 0; f < 2; f++)
            for (int t = 0; t < 2; t++) {
                uint64_t *word = words[s];
                long *from = places[f], *to = places[t] + N / 2;
                set(from, 10 * me, 1, N / 2);
                shmem_barrier_all();
                if (f) shmem_long_put_signal(to, from, N / 2, word, 1, SHMEM_SIGNAL_ADD, next);
                else shmem_putmem_signal_nbi(to, from, N / 2 * sizeof(long), word, 1, SHMEM_SIGNAL_ADD, next);
                count++;
                uint64_t expected = s ? count - 4 : count;
                CHECK(shmem_signal_wait_until(word, SHMEM_CMP_GE, expected) == expected);
                expect(to, 10 * before, 1, N / 2);
                shmem_barrier_all();
            }
    shmem_signal_set(device_signal, 40, next);
    shmem_quiet();
    shmem_signal_add(device_signal, 2, next);
    shmem_barrier_all();
    CHECK(shmem_signal_fetch(device_signal) == 42);
}

static void waits(long *device) {
    int status[4] = {0, 0, 0, 0};
    size_t indices[4];
    long values[2] = {5, 6};
    set(device, 0, 0, 4);
    shmem_barrier_all();
    CHECK(!shmem_long_test(device, SHMEM_CMP_NE, 0) && shmem_long_test_all(device, 4, NULL, SHMEM_CMP_EQ, 0));
    shmem_barrier_all();
    for (int i = 0; i < 4; i++) shmem_long_p(&device[i], 5 + i, next);
    shmem_long_wait_until(&device[3], SHMEM_CMP_EQ, 8);
    shmem_long_wait_until_all(device, 4, NULL, SHMEM_CMP_GE, 5);
    CHECK(shmem_long_wait_until_any(device, 4, NULL, SHMEM_CMP_EQ, 7) == 2);
    CHECK(shmem_long_wait_until_some(device, 4, indices, status, SHMEM_CMP_LT, 7) == 2 && indices[1] == 1);
    shmem_long_wait_until_all_vector(device, 2, NULL, SHMEM_CMP_EQ, values);
    CHECK(shmem_long_test_some(device, 4, indices, NULL, SHMEM_CMP_GT, 7) == 1 && indices[0] == 3);
    shmem_barrier_all();
}

static void collectives(shmem_team_t team, long *source, long *dest) {
    set(source, 10 * me, 1, 7);
    set(dest, -1, 0, N);
    shmem_barrier_all();
    CHECK(shmem_long_sum_reduce(team, dest, source, 7) == 0);
    expect(dest, 5L * n * (n - 1), n, 7);
    expect(dest + 7, -1, 0, 10);
    shmem_barrier_all(); /* all have seen what was there */
    CHECK(shmem_long_broadcast(team, dest, source, 7, n - 1) == 0);
    expect(dest, 10 * (n - 1), 1, 7);
    shmem_barrier_all(); /* all have seen what was there */
    CHECK(shmem_long_fcollect(team, dest, source, 7) == 0);
    for (int pe = 0; pe < n; pe++) expect(dest + 7 * pe, 10 * pe, 1, 7);
    /* Of lengths that differ: only the library knows how long the result is. */
    shmem_barrier_all();
    set(dest, -1, 0, N);
    shmem_barrier_all();
    CHECK(shmem_long_collect(team, dest, source, 1 + me % 2) == 0);
    long *at = dest;
    for (int pe = 0; pe < n; at += 1 + pe % 2, pe++) expect(at, 10 * pe, 1, 1 + pe % 2);
    expect(at, -1, 0, 10);
    shmem_barrier_all(); /* all have seen what was there */
    CHECK(shmem_long_sum_inscan(team, dest, source, 1) == 0);
    expect(dest, 5L * me * (me + 1), 0, 1);
    shmem_barrier_all();
    set(source, 100 * me, 1, n);
    shmem_barrier_all();
    CHECK(shmem_long_alltoall(team, dest, source, 1) == 0);
    expect(dest, me, 100, n);
    shmem_barrier_all();
    set(dest, -1, 0, N);
    shmem_barrier_all();
    CHECK(shmem_long_alltoalls(team, dest, source, 2, 1, 1) == 0);
    for (int pe = 0; pe < n; pe++) {
        expect(dest + 2 * pe, 100 * pe + me, 0, 1);
        expect(dest + 2 * pe + 1, -1, 0, 1);
    }
    shmem_barrier_all();
}

/* What kernels of this PE's device use: those of the emulated one are functions of the host. */
static void pointers(long *device) {
    int hosts = getenv("SHMEM_FAKE_HOSTS") != NULL;
    shmem_space_t gpu = SHMEM_SPACE_GPU;
    set(device, 5 * me, 1, N);
    shmem_barrier_all();
    for (int pe = 0; pe < n; pe++) {
        long *there = shmem_space_ptr(gpu, &device[7], pe);
        CHECK(pe != me || there != NULL);
        CHECK(hosts || there != NULL);
        if (there != NULL) CHECK(*there == 5 * pe + 7);
    }
    shmemx_device_t handle;
    CHECK(shmemx_device_handle(&handle) == 0 && handle.me == me && handle.n_pes == n);
    CHECK(handle.shown <= (uintptr_t)device && (uintptr_t)device - handle.shown < handle.len);
    shmem_barrier_all();
    long *there = shmem_space_ptr(gpu, &device[9], next);
    if (there != NULL)
        *there = 900 + me;
    else
        shmem_long_p(&device[9], 900 + me, next);
    shmem_barrier_all();
    expect(&device[9], 900 + before, 0, 1);
    CHECK(shmem_space_ptr(gpu, device, -1) == NULL && shmem_space_ptr(gpu, device, n) == NULL);
}

int main(int argc, char **argv) {
    int is_default = argc > 1 && strcmp(argv[1], "default") == 0;
    CHECK(shmem_impl_space(2) == SHMEM_SPACE_INVALID); /* not before the beginning */
    shmem_init();
    me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    shmem_space_t gpu = SHMEM_SPACE_GPU, space;

    CHECK(gpu != SHMEM_SPACE_INVALID && SHMEM_SPACE_CPU != SHMEM_SPACE_INVALID && gpu != SHMEM_SPACE_CPU);
    CHECK(SHMEM_SPACE_DEFAULT == (is_default ? SHMEM_SPACE_GPU : SHMEM_SPACE_CPU));
    CHECK(shmem_space_is_available(gpu) == 0 && shmem_space_is_available(SHMEM_SPACE_DEFAULT) == 0);
    CHECK(shmem_team_is_valid(SHMEM_TEAM_GPU) == 1 && shmem_team_n_pes(SHMEM_TEAM_GPU) == n);
    CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, next, SHMEM_TEAM_GPU) == next);
    CHECK(shmem_team_get_space(SHMEM_TEAM_GPU, &space) == 0 && space == SHMEM_SPACE_GPU);
    CHECK(shmem_team_get_space(SHMEM_TEAM_CPU, &space) == 0 && space == SHMEM_SPACE_CPU);
    CHECK(shmem_team_get_space(SHMEM_TEAM_WORLD, &space) == 0 && space == SHMEM_SPACE_DEFAULT);
    long all = SHMEMX_SPACE_RMA | SHMEMX_SPACE_ATOMICS | SHMEMX_SPACE_COLLECTIVES | SHMEMX_SPACE_WORLD_ACCESS;
    CHECK(shmemx_space_capabilities(gpu) == all && shmemx_space_capabilities(SHMEM_SPACE_INVALID) == 0);
    CHECK(shmemx_space_capabilities(SHMEM_SPACE_CPU) == (all | SHMEMX_SPACE_DIRECT_ACCESS));

    long *device = shmem_space_malloc(gpu, N * sizeof(long)), *other = shmem_space_calloc(gpu, N, sizeof(long));
    uint64_t *signal = shmem_space_calloc(gpu, 1, sizeof *signal);
    CHECK(device != NULL && other != NULL && signal != NULL);
    expect(other, 0, 0, N);
    CHECK(shmem_get_space(&device[3], &space) == 0 && space == gpu);
    CHECK(shmem_get_space(host, &space) == 0 && space == SHMEM_SPACE_CPU);
    CHECK(shmem_ptr(device, me) == NULL && shmem_ptr(device, next) == NULL);
    pointers(device);
    CHECK(shmem_space_ptr(SHMEM_SPACE_CPU, device, me) == NULL && shmem_space_ptr(gpu, host, me) == NULL);
    CHECK(shmem_addr_accessible(device, next) == 1 && shmem_addr_accessible(device + N / 2, n) == 0);
    CHECK(shmem_space_malloc(gpu, 0) == NULL && shmem_space_malloc(gpu, (size_t)1 << 40) == NULL);

    copies(device);
    atomics(device);
    signals(device, signal);
    waits(device);
    collectives(SHMEM_TEAM_WORLD, device, other);
    collectives(SHMEM_TEAM_GPU, device, other);
    collectives(SHMEM_TEAM_WORLD, host, host + N);

    shmem_ctx_t ctx;
    CHECK(shmem_team_create_ctx(SHMEM_TEAM_GPU, 0, &ctx) == 0);
    shmem_ctx_long_p(ctx, device, 77 + me, next);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    expect(device, 77 + before, 0, 1);
    shmem_ctx_destroy(ctx);

    /* The old routines are on the default space. */
    long *block = shmem_malloc(N * sizeof(long));
    CHECK(shmem_get_space(block, &space) == 0 && space == SHMEM_SPACE_DEFAULT);
    set(block, me, 1, 10);
    block = shmem_realloc(block, 2 * N * sizeof(long));
    expect(block, me, 1, 10);
    long *p_sync = shmem_calloc(SHMEM_SYNC_SIZE, sizeof(long));
    shmem_long_p(&block[N], me, next);
    shmem_barrier(0, 0, n, p_sync);
    expect(&block[N], before, 0, 1);
    if (n > 2 && me < 2) {
        shmem_barrier(0, 0, 2, p_sync);
        shmem_sync(0, 0, 2, p_sync);
    }
    shmem_free(p_sync);
    shmem_space_free(SHMEM_SPACE_DEFAULT, block);

    shmem_space_free(gpu, device);
    shmem_space_free(gpu, other);
    shmem_space_free(gpu, signal);
    shmem_space_free(gpu, NULL);
    shmem_finalize();
    CHECK(SHMEM_SPACE_GPU == SHMEM_SPACE_INVALID);
    return 0;
}
