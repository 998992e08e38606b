/* How processes end: by the first argument, a case, and perhaps a status. */
#include "check.h"
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static long word;

/* PE 0 and the others call different things. */
static void differ(void) {
    void *block = shmem_malloc(64);
    if (shmem_my_pe() == 0) shmem_free(block);
    else shmem_team_sync(SHMEM_TEAM_WORLD);
}

static void barrier(void) { shmem_barrier_all(); }
static void end(void) { shmem_global_exit(5); }
static void before(void) { printf("handler\n"); }

static void *wrong(void *unused) {
    shmem_long_p(&word, 1, -1);
    return unused;
}

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "";
    int status = argc > 2 ? atoi(argv[2]) : 0;
    if (strcmp(kind, "old") == 0) {
        start_pes(0);
        if (argc > 2) return status;
        differ();
    } else if (strcmp(kind, "return") == 0) {
        shmem_init();
        shmem_init();
        /* PE 0 is still at work when the others return. */
        if (shmem_my_pe() == 0) {
            usleep(200000);
            printf("the result\n");
        }
        shmem_long_p(&word, 1, (shmem_my_pe() + 1) % shmem_n_pes());
        return status;
    } else if (strcmp(kind, "one") == 0) {
        shmem_init();
        if (shmem_my_pe() != 0) return status;
        shmem_finalize();
    } else if (strcmp(kind, "handler before") == 0) {
        atexit(before);
        atexit(shmem_finalize);
        shmem_init();
        exit(status);
    } else if (strcmp(kind, "handler behind") == 0) {
        shmem_init();
        atexit(shmem_finalize);
        exit(status);
    } else if (strcmp(kind, "handler again") == 0) {
        atexit(shmem_finalize);
        shmem_init();
        atexit(shmem_finalize);
        shmem_finalize();
        exit(status);
    } else if (strcmp(kind, "handlers fail") == 0) {
        atexit(before);
        atexit(shmem_finalize);
        shmem_init();
        atexit(shmem_finalize);
        atexit(barrier);
        atexit(end);
        atexit(shmem_finalize);
        differ();
    } else if (strcmp(kind, "exits fail") == 0) {
        shmem_init();
        atexit(differ);
        exit(0);
    } else if (strcmp(kind, "threads") == 0) {
        pthread_t threads[4];
        shmem_init();
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, wrong, NULL);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    } else if (strcmp(kind, "child") == 0) {
        shmem_init();
        int me = shmem_my_pe(), n = shmem_n_pes(), ended = -1;
        pid_t child = fork();
        if (child == 0) return 0;
        waitpid(child, &ended, 0);
        CHECK(ended == 0);
        shmem_barrier_all();
        shmem_long_p(&word, me + 1, (me + 1) % n);
        shmem_barrier_all();
        CHECK(word == (me + n - 1) % n + 1);
    } else {
        return 98;
    }
    return 0;
}
