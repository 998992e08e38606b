/* What the system refuses to a PE: by the first argument, threads, pairs of sockets, or nothing. */
#include "check.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static void refuse(const char *what) {
    const unsigned number = offsetof(struct seccomp_data, nr), flags = offsetof(struct seccomp_data, args[0]);
    struct sock_filter threads[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number),
        /* The C library tries this one first, whose flags are in memory. */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, flags),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_filter sockets[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socketpair, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof threads / sizeof *threads, threads};
    if (strcmp(what, "sockets") == 0) {
        program.len = sizeof sockets / sizeof *sockets;
        program.filter = sockets;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) exit(97);
}

static long word;

int main(int argc, char **argv) {
    if (argc > 1) refuse(argv[1]);
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_long_p(&word, me + 1, (me + 1) % n);
    shmem_barrier_all();
    CHECK(word == (me + n - 1) % n + 1);
    void *block = shmem_realloc(shmem_malloc(100), 1000);
    shmem_free(block);
    shmem_team_t team, row, column;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team) == 0);
    CHECK(shmem_team_split_2d(team, 1, NULL, 0, &row, NULL, 0, &column) == 0);
    shmem_team_sync(team);
    static long sums[2], lock, sync_memory[SHMEM_REDUCE_SYNC_SIZE], work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
    CHECK(shmem_long_sum_reduce(team, sums, &word, 1) == 0 && sums[0] == n * (n + 1) / 2);
    shmem_long_sum_to_all(sums, &word, 1, 0, 0, n, work, sync_memory);
    shmem_team_destroy(team);
    for (int i = 0; i < 100; i++) {
        shmem_set_lock(&lock);
        shmem_clear_lock(&lock);
    }
    if (argc > 2) {
        /* In the memory of a device, which a thread works on. */
        char *device = (char *)shmem_malloc(1000);
        shmem_putmem(device, argv[2], 1, me);
        shmem_quiet();
    }
    printf("done\n");
    shmem_finalize();
    return 0;
}
