/* After shmem_finalize the process has what it had before shmem_init: descriptors, threads, mappings and memory. The first argument says
   how often it joins and leaves the job, the second how many MiB it allocates, the third how many of those it touches. */
#include "check.h"
#include <dirent.h>
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static long p_sync[SHMEM_BCAST_SYNC_SIZE];
static long kept, value[2];
static char large[3 << 20];
static char untouched[64 << 20];
static sigjmp_buf back;

/* What a process has. */
struct has {
    long descriptors, threads, mappings, pages, resident, shared;
};

static long entries(const char *folder) {
    DIR *all = opendir(folder);
    long count = 0;
    while (readdir(all) != NULL) count++;
    closedir(all);
    return count;
}

static struct has look(void) {
    struct has now = {entries("/proc/self/fd"), entries("/proc/self/task"), 0, 0, 0, 0};
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps) != NULL) now.mappings++;
    fclose(maps);
    FILE *statm = fopen("/proc/self/statm", "r");
    if (fscanf(statm, "%ld %ld %ld", &now.pages, &now.resident, &now.shared) != 3) exit(4);
    fclose(statm);
    return now;
}

/* Whether the mapping with this address is private. */
static int is_private(const void *address) {
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    int found = -1;
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long start, end;
        char access[5];
        if (sscanf(line, "%lx-%lx %4s", &start, &end, access) != 3) exit(5);
        if ((unsigned long)address >= start && (unsigned long)address < end) found = access[3] == 'p';
    }
    fclose(maps);
    return found;
}

static void faulted(int signal) { siglongjmp(back, signal); }

/* Whether a load from there faults. */
static int faults(volatile char *address) {
    void (*before)(int) = signal(SIGSEGV, faulted);
    int did = sigsetjmp(back, 1);
    if (did == 0) (void)*address;
    signal(SIGSEGV, before);
    return did == SIGSEGV;
}

static void differs(const char *what, long before, long now, long most) {
    if (now > before + most || now < before - most) {
        fprintf(stderr, "PE ?: after finalize there are %ld %s, and there were %ld\n", now, what, before);
        exit(6);
    }
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 10;
    size_t size = (argc > 2 ? atoi(argv[2]) : 1) * (size_t)(1 << 20);
    size_t touched = argc > 3 ? atoi(argv[3]) * (size_t)(1 << 20) : size;
    /* The C library reserves addresses for each thread that allocates at the same time as another, and keeps them. */
    mallopt(M_ARENA_MAX, 1);
    struct has first = {0, 0, 0, 0, 0, 0};
    for (int time = 0; time < rounds; time++) {
        CHECK(kept == time && large[time % sizeof large] == 0);
        shmem_init();
        int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
        CHECK(kept == time);
        char *block = (char *)shmem_malloc(size);
        CHECK(block != NULL);
        memset(block, 1, touched);
        /* What the program does not give back. */
        shmem_team_t team;
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team) == 0);
        shmem_ctx_t ctx;
        CHECK(shmem_team_create_ctx(team, 0, &ctx) == 0);
        CHECK(shmem_ctx_create(0, &ctx) == 0);
        if (me % 2 == 0) shmem_broadcast64(&value[1], &value[0], 1, 0, 0, 1, (n + 1) / 2, p_sync);
        shmem_barrier_all();
        shmem_ctx_long_p(ctx, &value[0], 10L * time + me, next);
        shmem_char_p(&large[time % sizeof large], 1, next);
        shmem_ctx_quiet(ctx);
        shmem_barrier_all();
        CHECK(!is_private(&kept));
        kept++;
        shmem_finalize();

        /* The globals are the program's own, and have their last values. */
        if (!is_private(&kept) || !is_private(&large[sizeof large / 2]) || !is_private(&untouched[8 << 20])) return 7;
        if (kept != time + 1 || value[0] != 10L * time + before || large[time % sizeof large] != 1) return 8;
        large[time % sizeof large] = 0;
        /* The block is given to no other use, even if the program asks for more memory. */
        void *other = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (other == MAP_FAILED || !faults(block) || !faults(block + size - 1)) return 9;
        munmap(other, size);
        struct has now = look();
        if (time == 2) first = now;
        if (time > 2) {
            differs("descriptors", first.descriptors, now.descriptors, 0);
            differs("threads", first.threads, now.threads, 0);
            differs("mappings", first.mappings, now.mappings, 6);
            differs("pages of addresses", first.pages, now.pages, 16 << 8);
            if (now.resident > first.resident) differs("resident pages", first.resident, now.resident, 8 << 8);
        }
    }
    return 0;
}
