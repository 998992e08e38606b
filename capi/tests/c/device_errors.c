/* Mistakes with memory spaces, each by its name: what a library can see of them ends the job. */
#include "check.h"
#include <shmemx.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static long host[10];
static struct sigaction passed_on;

static void write_line(const char *line) {
    ssize_t written = write(2, line, strlen(line));
    (void)written;
}

/* Handlers of the program's own: one that was there before the library's, and one that comes before it. */
static void before_all(int signal) {
    write_line("the program's handler\n");
    _exit(20 + signal);
}

static void behind(int signal, siginfo_t *info, void *context) {
    write_line("the program's handler, first\n");
    passed_on.sa_sigaction(signal, info, context);
}

static void install(void (*handler)(int, siginfo_t *, void *)) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    const char *what = argv[1];
    if (strcmp(what, "stray_before") == 0) signal(SIGSEGV, before_all);
    shmem_init();
    shmem_space_t gpu = SHMEM_SPACE_GPU, cpu = SHMEM_SPACE_CPU;
    if (strcmp(what, "members") == 0) {
        /* PEs 0 and 2 have a device. */
        int has = shmem_my_pe() % 2 == 0;
        CHECK((gpu != SHMEM_SPACE_INVALID) == has && (SHMEM_TEAM_GPU != SHMEM_TEAM_INVALID) == has);
        CHECK((shmem_space_is_available(gpu) == 0) == has && shmem_team_is_valid(SHMEM_TEAM_GPU) == has);
        shmemx_device_t handle;
        CHECK((shmemx_device_handle(&handle) == 0) == has);
        if (has) {
            long *block = shmem_space_calloc(gpu, 4, sizeof(long)), sum;
            CHECK(!(shmemx_space_capabilities(gpu) & SHMEMX_SPACE_WORLD_ACCESS));
            CHECK(shmem_team_n_pes(SHMEM_TEAM_GPU) == 2 && shmem_team_my_pe(SHMEM_TEAM_GPU) == shmem_my_pe() / 2);
            shmem_long_p(block, shmem_my_pe() + 1, shmem_my_pe());
            shmem_quiet();
            shmem_long_sum_reduce(SHMEM_TEAM_GPU, block, block, 1);
            sum = shmem_long_g(block, shmem_my_pe());
            CHECK(sum == 4);
            shmem_space_free(gpu, block);
        } else {
            CHECK(shmem_space_malloc(gpu, 8) == NULL && shmem_space_calloc(gpu, 1, 8) == NULL);
            CHECK(shmem_long_sum_reduce(SHMEM_TEAM_GPU, host, host, 1) != 0);
            shmem_space_free(gpu, host);
        }
        shmem_finalize();
        return 0;
    }
    if (strcmp(what, "outside") == 0) {
        if (gpu != SHMEM_SPACE_INVALID) {
            long *block = shmem_space_malloc(gpu, sizeof(long));
            shmem_long_p(block, 1, 1);
        }
        shmem_barrier_all();
        return 0;
    }
    if (strcmp(what, "team") == 0) {
        if (gpu != SHMEM_SPACE_INVALID) {
            long *block = shmem_space_malloc(gpu, sizeof(long));
            shmem_long_sum_reduce(SHMEM_TEAM_WORLD, block, block, 1);
        }
        shmem_barrier_all();
        return 0;
    }
    long *block = shmem_space_calloc(gpu, 10, sizeof(long)), *heap = shmem_malloc(10 * sizeof(long));
    if (strcmp(what, "free_by_other") == 0) shmem_space_free(cpu, block);
    if (strcmp(what, "free_by_default") == 0) shmem_free(block);
    if (strcmp(what, "free_host_by_gpu") == 0) shmem_space_free(gpu, heap);
    if (strcmp(what, "realloc") == 0) shmem_realloc(block, 1000);
    if (strcmp(what, "sizes") == 0) shmem_space_malloc(gpu, 100 + 8 * shmem_my_pe());
    if (strcmp(what, "spaces") == 0) shmem_space_malloc(shmem_my_pe() ? gpu : cpu, 100);
    if (strcmp(what, "no_space") == 0) shmem_space_is_available((shmem_space_t)(size_t)7);
    if (strcmp(what, "no_space_malloc") == 0) shmem_space_malloc((shmem_space_t)heap, 8);
    if (strcmp(what, "mixed") == 0) shmem_long_sum_reduce(SHMEM_TEAM_WORLD, block, heap, 10);
    if (strcmp(what, "mixed_collect") == 0) shmem_long_fcollect(SHMEM_TEAM_WORLD, host, block, 1);
    if (strcmp(what, "lock") == 0) shmem_set_lock(block);
    if (strcmp(what, "beyond") == 0) shmem_long_put(block, host, (size_t)1 << 40, 0);
    if (strcmp(what, "unaligned") == 0) shmem_long_p((long *)((char *)block + 1), 1, 0);
    if (strcmp(what, "destroy") == 0) shmem_team_destroy(SHMEM_TEAM_GPU);
    if (strcmp(what, "stray_behind") == 0) { /* this handler comes first, and passes on */
        sigaction(SIGSEGV, NULL, &passed_on);
        install(behind);
    }
    if (strncmp(what, "stray", 5) == 0) block[3] = 1; /* only the processor can catch this */
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
