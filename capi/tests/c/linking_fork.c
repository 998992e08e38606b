/* Children of several generations, some while other threads are there, and a fork handler of the program's own. */
#include "check.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static long value = 1;
static int handled;

static void in_child(void) {
    handled = 1;
}

static void *wait_for_end(void *end) {
    char byte;
    while (read(*(int *)end, &byte, 1) > 0) {
    }
    return NULL;
}

/* Forks a child that writes to globals, and forks another. */
static int generation(int left) {
    pid_t child = fork();
    if (child == 0) {
        int good = value == 1 + (3 - left) && handled == 1;
        value++;
        _exit(good && (left == 1 || generation(left - 1) == 0) ? 0 : 1);
    }
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

int main(void) {
    pthread_atfork(NULL, NULL, in_child);
    shmem_init();
    for (int round = 0; round < 3; round++) {
        int status = generation(3);
        CHECK(status == 0);
        CHECK(value == 1 && handled == 0);
        shmem_barrier_all();
    }
    /* Threads come and go after that. */
    for (int round = 0; round < 3; round++) {
        int ends[2];
        pthread_t thread;
        CHECK(pipe(ends) == 0 && pthread_create(&thread, NULL, wait_for_end, &ends[0]) == 0);
        int status = generation(3);
        CHECK(status == 0 && value == 1 && handled == 0);
        CHECK(close(ends[1]) == 0 && pthread_join(thread, NULL) == 0 && close(ends[0]) == 0);
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
