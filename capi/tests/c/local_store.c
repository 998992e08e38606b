/* A thread waits, and another thread of the same PE stores to the word past the library. The specification promises nothing
   then (OpenSHMEM 1.6 9.11), but programs rely on it. argv[1] is how: 0 a store, 1 with shmem_quiet behind it, 2 with
   shmem_ptr at the start, 3 by a put, 4 with a put elsewhere behind it, 5 with shmem_fence behind it; argv[2] after how many
   milliseconds, argv[3] how many more it may take. Prints what share of the time was spent on a processor, in 1/10000. */
#include "check.h"
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static long flag, other;
static int how, delay;
static double stored;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static double on_a_processor(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e3 + (use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e3;
}

static void *set(void *unused) {
    usleep(delay * 1000);
    stored = now();
    if (how == 3) shmem_long_p(&flag, 1, shmem_my_pe());
    else *(volatile long *)&flag = 1;
    if (how == 1) shmem_quiet();
    if (how == 4) shmem_long_p(&other, 1, shmem_my_pe());
    if (how == 5) shmem_fence();
    return unused;
}

int main(int argc, char **argv) {
    if (argc < 4) return 98;
    how = atoi(argv[1]);
    delay = atoi(argv[2]);
    int level;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level);
    if (how == 2) CHECK(shmem_ptr(&flag, shmem_my_pe()) == &flag);
    shmem_barrier_all();
    pthread_t thread;
    double begin = now(), used = on_a_processor();
    pthread_create(&thread, NULL, set, NULL);
    shmem_long_wait_until(&flag, SHMEM_CMP_NE, 0);
    used = on_a_processor() - used;
    double late = now() - stored;
    pthread_join(thread, NULL);
    if (late > atoi(argv[3])) printf("late by %.1f ms\n", late);
    else printf("%d\n", (int)(used / (now() - begin) * 1e4));
    shmem_finalize();
    return 0;
}
