/* All PEs print, then PE 0 ends the job while the others are in the place that the first argument names. */
#include "check.h"
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static long flag, lock;

/* Waits for input for ever, and has the lock of its stream meanwhile. */
static void *reads(void *unused) {
    flockfile(stdin);
    pause();
    return unused;
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    const char *place = argv[1];
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    int me = shmem_my_pe();
    pthread_t thread;
    if (!strcmp(place, "stdin"))
        CHECK(pthread_create(&thread, NULL, reads, NULL) == 0);
    if (me == 0)
        shmem_set_lock(&lock);
    /* Standard output is a pipe, so that this stays in its buffer. */
    printf("PE %d was here\n", me);
    shmem_barrier_all();
    if (me == 0) {
        usleep(100000);
        shmem_global_exit(7);
    }
    if (!strcmp(place, "barrier"))
        shmem_barrier_all();
    else if (!strcmp(place, "lock"))
        shmem_set_lock(&lock);
    else if (!strcmp(place, "allocation"))
        CHECK(shmem_malloc(8) != NULL);
    else if (!strcmp(place, "finalize"))
        shmem_finalize();
    else
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    return 3;
}
