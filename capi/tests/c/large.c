/* A large .bss takes neither memory nor time before it is used, and is symmetric all the same. */
#include "check.h"
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_KIB (64L << 10)

static char large[1L << 30];

/* What this process has in memory. */
static long resident_kib(void) {
    char line[256];
    long kib = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
        sscanf(line, "VmRSS: %ld", &kib);
    }
    if (status != NULL) {
        fclose(status);
    }
    return kib;
}

/* What the files behind symmetric memory have in memory. */
static long shared_kib(void) {
    char path[300], target[256];
    long kib = 0;
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        struct stat status;
        snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
        ssize_t len = readlink(path, target, sizeof target - 1);
        target[len < 0 ? 0 : len] = 0;
        if (strstr(target, "memfd:") != NULL && stat(path, &status) == 0 && status.st_blocks / 2 > kib) {
            kib = status.st_blocks / 2;
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return kib;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(void) {
    large[500 << 20] = 5; /* one page of many */
    double before = seconds();
    shmem_init();
    double init = seconds() - before;
    int me = shmem_my_pe(), n = shmem_n_pes();
    CHECK(large[500 << 20] == 5 && large[(500 << 20) - 4096] == 0);
    CHECK(init < 5.0);
    CHECK(resident_kib() > 0 && resident_kib() < MOST_KIB);
    CHECK(shared_kib() > 0 && shared_kib() < MOST_KIB);
    shmem_char_p(&large[sizeof large - 1], (char)(1 + me), (me + 1) % n);
    shmem_barrier_all();
    CHECK(large[sizeof large - 1] == 1 + (me + n - 1) % n);

#ifndef NO_FORK
    before = seconds();
    pid_t child = fork();
    if (child == 0) {
        int saw = large[500 << 20] == 5 && large[sizeof large - 1] == 1 + (me + n - 1) % n;
        large[0] = 1;
        _exit(saw && resident_kib() < MOST_KIB ? 0 : 1);
    }
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK(large[0] == 0 && seconds() - before < 5.0 && shared_kib() < MOST_KIB);
#endif

    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
