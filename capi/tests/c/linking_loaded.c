/* A program that is not linked with the library, and loads it while it runs, as interpreters do. Its argument is the
 * library's path. With IN_THREAD a thread does all that, not main. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

/* Not through shmem_global_exit: it may be what could not be loaded. */
#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(3); \
        } \
    } while (0)

/* Declares a pointer to the routine, of its own type. */
#define LOAD(name) \
    __typeof__(&name) load_##name = (__typeof__(&name))dlsym(library, #name); \
    CHECK(load_##name != NULL)

/* They are symmetric although the program knew nothing of the library when it was linked. */
static long from_left = -1;
static long counters[3];

/* All of a job. */
static void *life(void *path) {
    /* Loaded, closed and loaded again, before it is used. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    CHECK(dlclose(library) == 0);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);

    LOAD(shmem_init_thread);
    LOAD(shmem_my_pe);
    LOAD(shmem_n_pes);
    LOAD(shmem_malloc);
    LOAD(shmem_free);
    LOAD(shmem_barrier_all);
    LOAD(shmem_finalize);
    LOAD(shmem_long_p);
    LOAD(shmem_long_wait_until);
    LOAD(shmem_long_atomic_add);
    LOAD(shmem_long_sum_to_all);
    LOAD(shmem_ptr);

    int provided = -1;
    CHECK(load_shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0);
    CHECK(provided == SHMEM_THREAD_MULTIPLE);
    const int me = load_shmem_my_pe(), n = load_shmem_n_pes();
    load_shmem_long_p(&from_left, me, (me + 1) % n);
    load_shmem_long_wait_until(&from_left, SHMEM_CMP_EQ, (me + n - 1) % n);
    for (int pe = 0; pe < n; pe++)
        load_shmem_long_atomic_add(&counters[1], me + 1, pe);
    load_shmem_barrier_all();
    CHECK(counters[0] == 0 && counters[1] == (long)n * (n + 1) / 2 && counters[2] == 0);

    const size_t words = 1000;
    long *heap = load_shmem_malloc((2 * words + SHMEM_REDUCE_MIN_WRKDATA_SIZE + words + SHMEM_REDUCE_SYNC_SIZE)
                                   * sizeof *heap);
    CHECK(heap != NULL);
    CHECK(load_shmem_ptr(heap, me) == heap);
    long *sums = heap + words, *work = sums + words;
    long *sync = work + SHMEM_REDUCE_MIN_WRKDATA_SIZE + words;
    for (size_t i = 0; i < words; i++)
        heap[i] = (long)i + me;
    for (size_t i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
        sync[i] = SHMEM_SYNC_VALUE;
    load_shmem_barrier_all();
    load_shmem_long_sum_to_all(sums, heap, (int)words, 0, 0, n, work, sync);
    for (size_t i = 0; i < words; i++)
        CHECK(sums[i] == (long)i * n + (long)n * (n - 1) / 2);
    load_shmem_barrier_all();
    load_shmem_free(heap);
    load_shmem_finalize();

    /* What the library has registered to be called is called at the end of the thread and the program. */
    CHECK(dlclose(library) == 0);
    return NULL;
}

int main(int count, char **arguments) {
    CHECK(count == 2);
#ifdef IN_THREAD
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, life, arguments[1]) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
#else
    life(arguments[1]);
#endif
    /* They stay what they were when the library was finalized. */
    CHECK(from_left >= 0 && counters[1] > 0);
    return 0;
}
