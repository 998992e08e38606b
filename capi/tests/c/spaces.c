/* Memory spaces and memory kinds, on a host without other memory. */
#include "check.h"
#include <shmemx.h>
#include <stdint.h>

static long word;

int main(void) {
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    shmem_space_t spaces[] = {SHMEM_SPACE_DEFAULT, SHMEM_SPACE_CPU}, space;

    CHECK(SHMEM_SPACE_DEFAULT == SHMEM_SPACE_CPU && SHMEM_SPACE_CPU != SHMEM_SPACE_INVALID);
    CHECK(SHMEM_SPACE_GPU == SHMEM_SPACE_INVALID && SHMEM_TEAM_GPU == SHMEM_TEAM_INVALID);
    CHECK(shmem_impl_space(3) == SHMEM_SPACE_INVALID && shmem_impl_space_team(3) == SHMEM_TEAM_INVALID);
    CHECK(shmem_team_is_valid(SHMEM_TEAM_CPU) == 1 && shmem_team_is_valid(SHMEM_TEAM_GPU) == 0);
    CHECK(shmem_team_n_pes(SHMEM_TEAM_CPU) == n && shmem_team_my_pe(SHMEM_TEAM_CPU) == me);
    CHECK(shmem_space_is_available(SHMEM_SPACE_GPU) != 0 && shmem_space_is_available(SHMEM_SPACE_INVALID) != 0);

    for (int i = 0; i < 2; i++) {
        CHECK(shmem_space_is_available(spaces[i]) == 0);
        long *a = (long *)shmem_space_malloc(spaces[i], 100 * sizeof *a), *b = (long *)shmem_space_calloc(spaces[i], 100, sizeof *b);
        CHECK(a != NULL && b != NULL);
        for (int j = 0; j < 100; j++) CHECK(b[j] == 0);
        shmem_long_p(&a[99], 1000 + me, next);
        shmem_barrier_all();
        CHECK(a[99] == 1000 + before);
        long *there = (long *)shmem_space_ptr(spaces[i], &a[99], next);
        int near = shmem_team_translate_pe(SHMEM_TEAM_WORLD, next, SHMEM_TEAM_SHARED) >= 0;
        CHECK((there != NULL) == near && (!near || *there == 1000 + me) && shmem_space_ptr(spaces[i], a, me) == a);
        CHECK(shmem_space_ptr(spaces[i], a, -1) == NULL && shmem_space_ptr(spaces[i], a, n) == NULL);
        CHECK(shmem_space_ptr(spaces[i], &me, 0) == NULL);
        CHECK(shmem_get_space(a, &space) == 0 && space == SHMEM_SPACE_CPU);
        CHECK(shmem_team_get_space(SHMEM_TEAM_WORLD, &space) == 0 && space == SHMEM_SPACE_CPU);
        shmem_space_free(spaces[i], a);
        shmem_space_free(spaces[i], b);
        shmem_space_free(spaces[i], NULL);
        CHECK(shmem_space_malloc(spaces[i], 0) == NULL && shmem_space_calloc(spaces[i], 0, 8) == NULL);
        CHECK(shmem_space_malloc(spaces[i], SIZE_MAX) == NULL);
    }
    CHECK(shmem_get_space(&word, &space) == 0 && shmem_get_space(NULL, &space) != 0);
    CHECK(shmem_team_get_space(SHMEM_TEAM_INVALID, &space) != 0);
    CHECK(shmem_space_malloc(SHMEM_SPACE_INVALID, 8) == NULL);
    CHECK(shmem_space_calloc(SHMEM_SPACE_GPU, 8, 8) == NULL);
    shmem_space_free(SHMEM_SPACE_INVALID, &word);
    CHECK(shmem_space_ptr(SHMEM_SPACE_INVALID, &word, 0) == NULL);

    /* Where no partitions are defined the heap is the first. */
    char *kind = (char *)shmemx_kind_malloc(1000, 1), *aligned = (char *)shmemx_kind_align(4096, 1000, 1);
    CHECK(kind != NULL && aligned != NULL && (uintptr_t)aligned % 4096 == 0);
    shmem_char_p(&kind[999], (char)me, next);
    shmem_barrier_all();
    CHECK(kind[999] == (char)before);
    kind = (char *)shmem_realloc(kind, 5000);
    CHECK(kind != NULL && kind[999] == (char)before);
    shmem_free(kind);
    shmem_free(aligned);
    CHECK(shmemx_kind_malloc(0, 1) == NULL && shmemx_kind_align(64, 0, 1) == NULL);
    for (int partition = -1; partition <= SHMEMX_MAX_PARTITION_ID; partition++)
        if (partition != 1)
            CHECK(shmemx_kind_malloc(8, partition) == NULL && shmemx_kind_align(64, 8, partition) == NULL);
    shmem_finalize();
    return 0;
}
