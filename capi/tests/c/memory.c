/* The symmetric heap: §9.3, and the names that it had before. */
#include "check.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Each PE writes to the next one's copy of a block, and finds what the one before has written. */
static void use(void *block, size_t size) {
    int me = shmem_my_pe(), n = shmem_n_pes();
    CHECK(block != NULL && shmem_addr_accessible(block, (me + 1) % n));
    char *bytes = (char *)block, mark = (char)(100 + me);
    shmem_char_put(bytes, &mark, 1, (me + 1) % n);
    shmem_char_put(bytes + size - 1, &mark, 1, (me + 1) % n);
    shmem_barrier_all();
    CHECK(bytes[0] == (char)(100 + (me + n - 1) % n) && bytes[size - 1] == bytes[0]);
    shmem_barrier_all();
}

#ifdef __cplusplus
#define ALIGN_OF alignof
#else
#define ALIGN_OF _Alignof
#endif

static int aligned(const void *block, size_t alignment) { return (uintptr_t)block % alignment == 0; }

/* All PEs have a block at the same place of their heaps. */
static void same_everywhere(void *block) {
    static uintptr_t place;
    void *start = shmem_malloc(1);
    place = (uintptr_t)block - (uintptr_t)start;
    shmem_barrier_all();
    for (int pe = 0; pe < shmem_n_pes(); pe++) {
        uintptr_t there;
        shmem_getmem(&there, &place, sizeof there, pe);
        CHECK(there == place);
    }
    shmem_free(start);
}

int main(void) {
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();

    /* Nothing: no block, and no PE waits for another. */
    if (me == 0) {
        CHECK(shmem_malloc(0) == NULL && shmem_calloc(0, 8) == NULL && shmem_calloc(8, 0) == NULL);
        CHECK(shmem_align(64, 0) == NULL && shmem_malloc_with_hints(0, SHMEM_MALLOC_ATOMICS_REMOTE) == NULL);
        CHECK(shmem_realloc(NULL, 0) == NULL && shmalloc(0) == NULL && shmemalign(64, 0) == NULL);
        CHECK(shrealloc(NULL, 0) == NULL);
        shmem_free(NULL);
        shfree(NULL);
    }

    for (size_t size = 1; size < 100000; size = size * 3 + 1) {
        void *blocks[5] = {
            shmem_malloc(size),
            shmem_calloc(size, 3),
            shmem_align(4096, size),
            shmem_malloc_with_hints(size, SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE),
            shmem_malloc_with_hints(size, 0),
        };
        CHECK(aligned(blocks[2], 4096));
        for (size_t i = 0; i < 3 * size; i++) CHECK(((char *)blocks[1])[i] == 0);
        shmem_barrier_all();
        for (int i = 0; i < 5; i++) {
            CHECK(aligned(blocks[i], ALIGN_OF(max_align_t)));
            use(blocks[i], size);
            same_everywhere(blocks[i]);
        }
        for (int i = 0; i < 5; i++) {
            memset(blocks[i], 1, size);
            shmem_free(blocks[i]);
        }
    }
    for (size_t alignment = sizeof(void *); alignment <= 1 << 16; alignment *= 2) {
        void *block = shmem_align(alignment, 24);
        CHECK(aligned(block, alignment));
        use(block, 24);
        shmem_free(block);
    }

    /* A block that was used is zero again. */
    for (int i = 0; i < 20; i++) {
        char *zeros = (char *)shmem_calloc(100, 10);
        for (int j = 0; j < 1000; j++) CHECK(zeros[j] == 0);
        memset(zeros, 0xff, 1000);
        shmem_free(zeros);
    }

    /* Its content comes along. */
    long *list = (long *)shmem_realloc(NULL, 10 * sizeof *list);
    CHECK(list != NULL);
    for (long i = 0; i < 10; i++) list[i] = 100 * me + i;
    void *behind = shmem_malloc(1000);
    list = (long *)shmem_realloc(list, 10000 * sizeof *list);
    for (long i = 0; i < 10; i++) CHECK(list[i] == 100 * me + i);
    use(list + 10, 100);
    list = (long *)shmem_realloc(list, 3 * sizeof *list);
    for (long i = 0; i < 3; i++) CHECK(list[i] == 100 * me + i);
    shmem_free(behind);

    /* More than there is: nothing, on all PEs, and what was there stays. */
    CHECK(shmem_malloc((size_t)1 << 46) == NULL);
    CHECK(shmem_malloc(SIZE_MAX) == NULL && shmem_malloc(SIZE_MAX / 2) == NULL);
    CHECK(shmem_calloc(SIZE_MAX / 4, 8) == NULL && shmem_align(64, SIZE_MAX - 64) == NULL);
    CHECK(shmem_malloc_with_hints(SIZE_MAX, 1) == NULL && shmem_align((size_t)1 << 40, 8) == NULL);
    CHECK(shmem_realloc(list, SIZE_MAX) == NULL);
    for (long i = 0; i < 3; i++) CHECK(list[i] == 100 * me + i);
    CHECK(shmem_realloc(list, 0) == NULL);

    /* What is freed is there again. */
    size_t half = (size_t)1 << 20;
    void *most = NULL;
    for (void *more; (more = shmem_malloc(half * 2)) != NULL; most = more) {
        half *= 2;
        if (most != NULL) shmem_free(most);
    }
    CHECK(most != NULL);
    shmem_free(most);
    for (int i = 0; i < 10; i++) {
        most = shmem_malloc(half);
        CHECK(most != NULL);
        shmem_free(most);
    }

    /* Allocations complete what was begun. */
    long *word = (long *)shmem_calloc(1, sizeof *word);
    long value = 7 + me;
    shmem_long_put_nbi(word, &value, 1, (me + 1) % n);
    void *other = shmem_malloc(8);
    CHECK(*word == 7 + (me + n - 1) % n);
    value = 70 + me;
    shmem_barrier_all();
    shmem_long_put_nbi(word, &value, 1, (me + 1) % n);
    shmem_free(other);
    CHECK(*word == 70 + (me + n - 1) % n);
    shmem_free(word);

    /* The old names. */
    int *old = (int *)shmalloc(3 * sizeof *old);
    use(old, sizeof *old);
    old = (int *)shrealloc(old, 3000 * sizeof *old);
    use(old, 3000);
    shfree(old);
    old = (int *)shmemalign(1024, 8);
    CHECK(aligned(old, 1024));
    use(old, 8);
    shfree(old);
    shmem_finalize();
    return 0;
}
