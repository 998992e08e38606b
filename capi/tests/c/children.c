/* A process that a PE has forked is no PE: what it calls says so in one line, and whatever it does, its parent and the job go on. The first
   argument says how it is forked, the second what it does. */
#define _GNU_SOURCE
#include "check.h"
#include <mpp/shmem.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static long word, other;
static shmem_ctx_t ctx;

static pid_t begin(const char *how) {
    if (strcmp(how, "clone") == 0) return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#if __GLIBC_PREREQ(2, 34)
    if (strcmp(how, "_Fork") == 0) return _Fork();
#endif
    return fork();
}

static int act(const char *what, int next) {
    if (strcmp(what, "barrier") == 0) shmem_barrier_all();
    else if (strcmp(what, "finalize") == 0) shmem_finalize();
    else if (strcmp(what, "init") == 0) shmem_init();
    else if (strcmp(what, "global_exit") == 0) shmem_global_exit(9);
    else if (strcmp(what, "malloc") == 0) (void)shmem_malloc(8);
    else if (strcmp(what, "wait") == 0) shmem_long_wait_until(&other, SHMEM_CMP_EQ, 77);
    else if (strcmp(what, "put") == 0) shmem_long_p(&word, -1, next);
    else if (strcmp(what, "ctx") == 0) shmem_ctx_long_p(ctx, &word, -1, next);
    else if (strcmp(what, "wrong") == 0) shmem_long_p(NULL, -1, next);
    else if (strcmp(what, "exit") == 0) exit(1);
    return 1;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    start_pes(0);
    int me = _my_pe(), n = _num_pes(), next = (me + 1) % n;
    shmem_ctx_create(0, &ctx);
    shmem_barrier_all();
    if (me == 0) {
        pid_t child = begin(argv[1]);
        if (child == 0) return act(argv[2], next);
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 1) return 3;
    }
    shmem_long_p(&word, me + 1, next);
    shmem_barrier_all();
    CHECK(word == (me + n - 1) % n + 1);
    shmem_barrier_all();
    if (me == 0) printf("end\n");
    return 0;
}
