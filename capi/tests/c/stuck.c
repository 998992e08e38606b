/* PEs that wait for a while, in the place that the first argument names. The others come or let go after the second. */
#include "check.h"
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static long lock, word = 3;
/* Apart from what begins the globals. */
static long more[64] = {1};

static void *also_wants_the_lock(void *unused) {
    (void)unused;
    shmem_set_lock(&lock);
    shmem_clear_lock(&lock);
    return NULL;
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
    const char *place = argv[1];
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    int me = shmem_my_pe();
    useconds_t late = (useconds_t)(atof(argv[2]) * 1e6);
    if (!strcmp(place, "own lock")) {
        pthread_t thread;
        shmem_set_lock(&lock);
        CHECK(pthread_create(&thread, NULL, also_wants_the_lock, NULL) == 0);
        usleep(late);
        shmem_clear_lock(&lock);
        CHECK(pthread_join(thread, NULL) == 0);
    } else if (!strcmp(place, "static word")) {
        if (me == 0)
            usleep(late);
        if (me == 0)
            shmem_long_p(&word, 7, 1);
        else
            shmem_long_wait_until(&word, SHMEM_CMP_GE, 7);
    } else if (!strcmp(place, "heap word")) {
        long *there = shmem_calloc(1, sizeof *there);
        if (me == 0)
            usleep(late);
        if (me == 0)
            shmem_long_p(there, 7, 1);
        else
            shmem_long_wait_until(there, SHMEM_CMP_GE, 7);
    } else if (!strcmp(place, "allocation")) {
        if (me == 0)
            usleep(late);
        CHECK(shmem_calloc(10, sizeof(long)) != NULL);
    }
    CHECK(more[0] == 1);
    shmem_finalize();
    return 0;
}
