/* What programs do that live with other libraries: by the first argument, a case. */
#include "check.h"
#include <stdint.h>
#include <string.h>

static void *without_room(const char *routine) {
    const size_t much = 2 << 20;
    if (strcmp(routine, "malloc") == 0) return shmem_malloc(much);
    if (strcmp(routine, "calloc") == 0) return shmem_calloc(much / 8, 8);
    if (strcmp(routine, "align") == 0) return shmem_align(64, much);
    return shmem_realloc(shmem_malloc(8), much);
}

static void alignments(void) {
    for (size_t alignment = 1; alignment <= 8; alignment *= 2) {
        void *block = shmem_align(alignment, 24);
        CHECK(block != NULL && (uintptr_t)block % sizeof(void *) == 0);
        shmem_free(block);
    }
    const size_t none[] = {3, 0, 6, 24, SIZE_MAX, (size_t)1 << 40};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) CHECK(shmem_align(none[i], 24) == NULL);
}

static long sync_memory[SHMEM_REDUCE_SYNC_SIZE], work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long source[8], dest[64];

/* All PEs call collectives of the even ones. */
static void outside(void) {
    int me = shmem_my_pe(), n = shmem_n_pes(), size = (n + 1) / 2;
    for (int i = 0; i < 8; i++) source[i] = me + 1;
    shmem_barrier_all();
    shmem_long_sum_to_all(dest, source, 8, 0, 1, size, work, sync_memory);
    for (int i = 0; i < 8; i++) CHECK(dest[i] == (me % 2 == 0 ? (long)size * size : 0));
    shmem_barrier(0, 1, size, sync_memory);
    shmem_sync(0, 1, size, sync_memory);
    shmem_broadcast64(dest, source, 8, 0, 0, 1, size, sync_memory);
    shmem_fcollect64(dest, source, 1, 0, 1, size, sync_memory);
    CHECK(me % 2 == 0 || dest[0] == 0);
    shmem_barrier_all();
}

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "";
    shmem_init();
    if (strcmp(kind, "no room") == 0) {
        CHECK(without_room(argv[2]) == NULL);
        CHECK(without_room(argv[2]) == NULL);
    } else if (strcmp(kind, "alignments") == 0) {
        alignments();
    } else if (strcmp(kind, "outside") == 0) {
        outside();
    } else {
        shmem_global_exit(98);
    }
    shmem_finalize();
    return 0;
}
