/* Nonblocking operations on words of another host are complete at quiet, and not before that one by one. */
#include "check.h"
#include <string.h>
#include <time.h>

#define ROUND 2000
#define MANY 100000

static long words[ROUND], count, total;
static int narrow;
static long got[MANY];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

/* How long the operation takes ROUND times, and then quiet. */
#define TIME(operation) \
    ({ \
        double start = now(); \
        for (int i = 0; i < ROUND; i++) operation; \
        shmem_quiet(); \
        now() - start; \
    })

int main(void) {
    static char seen[MANY];
    shmem_init();
    int me = shmem_my_pe(), far = shmem_n_pes() - 1;
    for (int i = 0; i < ROUND; i++) words[i] = 1000 * me + i;
    shmem_barrier_all();
    if (me == 0) {
        /* The machine may do something else meanwhile, so it is tried again. */
        int faster = 0;
        for (int round = 0; round < 20 && faster != 7; round++) {
            double one = TIME(got[i] = shmem_long_g(&words[i], far));
            double together = TIME(shmem_long_get_nbi(&got[i], &words[i], 1, far));
            for (int i = 0; i < ROUND; i++) CHECK(got[i] == 1000 * far + i);
            faster |= together < one / 3;

            one = TIME(got[i] = shmem_long_atomic_fetch_add(&count, 0, far));
            together = TIME(shmem_long_atomic_fetch_nbi(&got[i], &words[i], far));
            for (int i = 0; i < ROUND; i++) CHECK(got[i] == 1000 * far + i);
            faster |= together < one / 3 ? 2 : 0;

            shmem_int_atomic_set(&narrow, 0, far);
            shmem_quiet();
            together = TIME(shmem_int_atomic_fetch_inc_nbi((int *)&got[i], &narrow, far));
            faster |= together < one / 3 ? 4 : 0;
            CHECK(shmem_int_atomic_fetch(&narrow, far) == ROUND);
        }
        CHECK(faster == 7);

        /* More than are under way at a time: none is lost, and none has the value of another. */
        for (int i = 0; i < MANY; i++) shmem_long_atomic_fetch_add_nbi(&got[i], &total, 1, far);
        shmem_quiet();
        for (int i = 0; i < MANY; i++) {
            CHECK(got[i] >= 0 && got[i] < MANY && !seen[got[i]]);
            seen[got[i]] = 1;
        }
        long before;
        char odd[1 + sizeof(long)];
        shmem_long_atomic_swap_nbi(&before, &total, -1, far);
        shmem_quiet();
        CHECK(before == MANY);
        /* To a place that is not aligned. */
        shmem_long_atomic_compare_swap_nbi((long *)(odd + 1), &total, -1, 7, far);
        shmem_quiet();
        memcpy(&before, odd + 1, sizeof before);
        CHECK(before == -1 && shmem_long_g(&total, far) == 7);
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
