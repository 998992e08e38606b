/* Partitions of the symmetric heap, as tests/kinds.rs defines them: 1 of 8M, 2 and 127 of 4M, and no others. */
#include "check.h"
#include <shmemx.h>
#include <stdint.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

static long word;

/* Whether a block is used as any symmetric memory is: puts, atomics, signals, collectives, shmem_ptr. */
static void use(long *block, size_t n_longs) {
    int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    size_t last = n_longs - 1;
    for (size_t i = 0; i < n_longs; i++) block[i] = 0;
    shmem_barrier_all();
    shmem_long_p(&block[last], 1000 + me, next);
    shmem_long_atomic_inc(&block[0], 0);
    long values[2] = {me, 7};
    shmem_long_put_signal(&block[1], values, 2, (uint64_t *)&block[3], 5, SHMEM_SIGNAL_SET, next);
    shmem_signal_wait_until((uint64_t *)&block[3], SHMEM_CMP_EQ, 5);
    shmem_barrier_all();
    CHECK(block[last] == 1000 + before && block[1] == before && block[2] == 7);
    CHECK(shmem_long_g(&block[0], 0) == n);
    CHECK(shmem_addr_accessible(&block[last], next) == 1);
    long *there = shmem_ptr(&block[last], next);
    int near = shmem_team_translate_pe(SHMEM_TEAM_WORLD, next, SHMEM_TEAM_SHARED) >= 0;
    CHECK((there != NULL) == near && (!near || *there == 1000 + me));
    CHECK(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &block[5], &block[2], 1) == 0 && block[5] == 7 * n);
    shmem_barrier_all();
}

static void partitions(void) {
    int next = (shmem_my_pe() + 1) % shmem_n_pes();
    int ids[] = {1, 2, 127};
    long *blocks[3], *aligned[3];
    for (int i = 0; i < 3; i++) {
        blocks[i] = shmemx_kind_malloc(1000 * sizeof(long), ids[i]);
        aligned[i] = shmemx_kind_align(4096, 100 * sizeof(long), ids[i]);
        CHECK(blocks[i] != NULL && aligned[i] != NULL && (uintptr_t)aligned[i] % 4096 == 0);
        use(blocks[i], 1000);
        use(aligned[i], 100);
    }
    /* Blocks of one partition are nearer to each other than the partition is large. */
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            uintptr_t a = (uintptr_t)blocks[i], b = (uintptr_t)aligned[j];
            CHECK((i == j) == ((a > b ? a - b : b - a) < MIB));
        }
    /* What names none is in the first. */
    char *plain = shmem_malloc(100);
    CHECK(plain != NULL && (size_t)(plain > (char *)blocks[0] ? plain - (char *)blocks[0] : (char *)blocks[0] - plain) < MIB);
    shmem_free(plain);
    /* Blocks stay in their partition when they are resized. */
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 1000; j++) blocks[i][j] = 10 * i + j;
        shmem_barrier_all();
        blocks[i] = shmem_realloc(blocks[i], MIB);
        CHECK(blocks[i] != NULL && blocks[i][999] == 10 * i + 999);
        uintptr_t a = (uintptr_t)blocks[i], b = (uintptr_t)aligned[i];
        CHECK((a > b ? a - b : b - a) < 8 * MIB);
        shmem_free(blocks[i]);
        shmem_free(aligned[i]);
    }
    /* Each is exhausted for itself, and what was freed can be had again. */
    for (int round = 0; round < 2; round++) {
        char *most = shmemx_kind_malloc(4 * MIB, 127), *others = shmemx_kind_malloc(4 * MIB, 2);
        CHECK(most != NULL && others != NULL);
        CHECK(shmemx_kind_malloc(1, 127) == NULL && shmemx_kind_align(64, 1, 127) == NULL);
        CHECK(shmemx_kind_malloc(SIZE_MAX, 1) == NULL);
        shmem_char_p(&most[4 * MIB - 1], 7, next);
        shmem_barrier_all();
        CHECK(most[4 * MIB - 1] == 7);
        char *first = shmem_malloc(8 * MIB);
        CHECK(first != NULL && shmem_malloc(1) == NULL && shmem_calloc(1, 1) == NULL);
        CHECK(shmem_realloc(most, 5 * MIB) == NULL && most[4 * MIB - 1] == 7);
        shmem_free(first);
        shmem_free(others);
        shmem_free(most);
    }
    CHECK(shmemx_kind_malloc(0, 2) == NULL && shmemx_kind_align(64, 0, 2) == NULL);
    /* Globals are symmetric as ever. */
    shmem_long_p(&word, 9, next);
    shmem_barrier_all();
    CHECK(word == 9);
}

/* With device memory as the default space: what names no space resizes and frees blocks of partitions all the same. */
static void device(void) {
    int next = (shmem_my_pe() + 1) % shmem_n_pes();
    for (int id = 1; id <= 2; id++) {
        long *block = shmemx_kind_malloc(8 * sizeof(long), id);
        CHECK(block != NULL);
        block = shmem_realloc(block, 64 * sizeof(long));
        CHECK(block != NULL);
        CHECK(shmem_realloc(block, SIZE_MAX / 2) == NULL);
        /* It is host memory. */
        block[63] = id;
        shmem_barrier_all();
        CHECK(shmem_long_g(&block[63], next) == id);
        shmem_barrier_all();
        shmem_free(block);
        shmem_free(shmem_malloc(64));
    }
}

/* Partitions that are not defined. */
static void undefined(void) {
    for (int partition = -1; partition <= SHMEMX_MAX_PARTITION_ID + 1; partition++)
        if (partition != 1 && partition != 2 && partition != 127)
            CHECK(shmemx_kind_malloc(8, partition) == NULL && shmemx_kind_align(64, 8, partition) == NULL);
}

int main(int argc, char **argv) {
    const char *part = argc > 1 ? argv[1] : "";
    shmem_init();
    if (strcmp(part, "undefined") == 0)
        undefined();
    else if (strcmp(part, "no_first") == 0)
        CHECK(shmem_malloc(8) == NULL && shmem_calloc(1, 8) == NULL && shmemx_kind_malloc(8, 5) != NULL);
    else if (strcmp(part, "different") == 0)
        shmemx_kind_malloc(8, 1 + shmem_my_pe());
    else if (strcmp(part, "alignment") == 0)
        CHECK(shmemx_kind_align(24, 8, 2) == NULL);
    else if (strcmp(part, "device") == 0)
        device();
    else
        partitions();
    shmem_finalize();
    return 0;
}
