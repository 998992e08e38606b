/* Globals of the executable are symmetric: initialised and not, in whatever scope. */
#include "check.h"
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

long initialized = 7;
long zeroed;
static char text[64] = "before init";
static double table[3][1000];
static long large[1 << 20];

int main(void) {
    static int local = 5;
    initialized = 8; /* what was written before init stays */
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    CHECK(initialized == 8 && zeroed == 0 && local == 5 && strcmp(text, "before init") == 0);
    shmem_barrier_all();
    shmem_long_p(&zeroed, 100 + me, next);
    shmem_int_p(&local, me, next);
    shmem_double_p(&table[2][999], 0.5 + me, next);
    shmem_long_p(&large[1000000], me, next);
    char mine[64];
    snprintf(mine, sizeof mine, "from %d", me);
    shmem_putmem(text, mine, sizeof mine, next);
    shmem_barrier_all();
    snprintf(mine, sizeof mine, "from %d", before);
    CHECK(zeroed == 100 + before && local == before && table[2][999] == 0.5 + before);
    CHECK(large[1000000] == before && strcmp(text, mine) == 0);

    /* shmem_ptr works on them, where the other PE is on this host. */
    CHECK(shmem_ptr(&zeroed, me) == &zeroed);
    long *there = (long *)shmem_ptr(&initialized, next);
    CHECK((there != NULL) == (shmem_team_translate_pe(SHMEM_TEAM_WORLD, next, SHMEM_TEAM_SHARED) >= 0));
    CHECK((there != NULL ? *there : shmem_long_g(&initialized, next)) == 8);
    shmem_barrier_all();
    if (there != NULL) *there = 1000 + me;
    else shmem_long_p(&initialized, 1000 + me, next);
    shmem_barrier_all();
    CHECK(initialized == 1000 + before);
    CHECK(shmem_addr_accessible(&local, next) && !shmem_addr_accessible(mine, next));

#ifndef NO_FORK
    /* What a child writes is the child's. */
    pid_t child = fork();
    if (child == 0) {
        int saw = initialized == 1000 + before && local == before && large[1000000] == before;
        initialized = local = -1;
        memset(large, 1, sizeof large);
        _exit(saw ? 0 : 1);
    }
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK(initialized == 1000 + before && local == before && large[1000000] == before);
#endif

    /* Commands run. */
    CHECK(system("exit 3") == 3 << 8);
    FILE *pipe = popen("echo 42", "r");
    int answer = 0;
    CHECK(pipe != NULL && fscanf(pipe, "%d", &answer) == 1 && answer == 42 && pclose(pipe) == 0);

    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
