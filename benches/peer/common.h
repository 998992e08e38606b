/* What the programs here share: the clock, agreement, where the cores are, and the file of figures.
 *
 * With two PEs, a flag that goes to and fro before and after each batch says whether the cores were near each
 * other or far; figures of the two are kept apart. */
#define _GNU_SOURCE
#include <sched.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_ROUNDS 999
#define NEAR_NS 130.0
/* Fewer samples than this near, or far, are no figure. */
#define FEW 3

/* Words of each PE for those, for the programs, and for what PEs agree on. */
static long *flags, *agreed;
static int me, n;
/* Where PE 0 writes its figures, and how often each is measured. */
static FILE *out;
static int rounds;

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1e9 + at.tv_nsec;
}

/* How long a flag takes from one of 2 PEs to the other, in ns: the best of some attempts, as a PE that was
 * interrupted is not far away. */
static double one_way(void) {
    static long number;
    enum { ATTEMPTS = 8, ROUNDS = 40 };
    double best = 1e9;
    long *theirs = shmem_ptr(flags, 1 - me);
    if (!theirs)
        return -1;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        double start = now();
        for (int i = 0; i < ROUNDS; i++) {
            number++;
            for (int turn = 0; turn < 2; turn++) {
                if (turn == me)
                    __atomic_store_n(theirs, number, __ATOMIC_RELEASE);
                else
                    while (__atomic_load_n(flags, __ATOMIC_ACQUIRE) < number)
                        __builtin_ia32_pause();
            }
        }
        double each = (now() - start) / ROUNDS / 2;
        best = each < best ? each : best;
    }
    return best;
}

/* How long the processor takes for an addition that needs the last one's sum: a cycle, of a clock that others on the
 * machine slow down. */
static double pace(void) {
    enum { ADDITIONS = 4000 };
    long sum = 0;
    double start = now();
    for (int i = 0; i < ADDITIONS; i++) {
        sum += i;
        __asm__ volatile("" : "+r"(sum));
    }
    return (now() - start) / ADDITIONS;
}

/* Samples of one figure, of the bound beside it and of the pace, near, far and of more PEs than two. */
struct samples {
    double value[3][MAX_ROUNDS], bound[3][MAX_ROUNDS], pace[3][MAX_ROUNDS];
    int taken[3];
};

/* Where the cores are now, as one_way has it. */
static double where(void) { return n == 2 ? one_way() : 0; }

/* Takes a sample that was measured between two looks at where the cores are. */
static void take(struct samples *all, double before, double value, double bound, double after) {
    if (n == 2 && (before < NEAR_NS) != (after < NEAR_NS))
        return; /* the cores have moved in between */
    int side = n != 2 || before < 0 ? 2 : before >= NEAR_NS;
    all->value[side][all->taken[side]] = value;
    all->pace[side][all->taken[side]] = pace();
    all->bound[side][all->taken[side]++] = bound;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* PE 0 writes the medians. A bound of 0 is none. */
static void report(struct samples *all, const char *name, size_t bytes) {
    static const char *const placements[] = {"near", "far", ""};
    for (int side = 0; me == 0 && side < 3; side++) {
        int taken = all->taken[side];
        if (taken < FEW)
            continue;
        qsort(all->value[side], taken, sizeof(double), ascending);
        qsort(all->bound[side], taken, sizeof(double), ascending);
        qsort(all->pace[side], taken, sizeof(double), ascending);
        fprintf(out, "{\"name\":\"%s\",\"bytes\":%zu,\"pes\":%d,\"value\":%.2f,\"unit\":\"ns\",\"placement\":\"%s\"", name,
                bytes, n, all->value[side][taken / 2], placements[side]);
        fprintf(out, ",\"pace\":%.4f", all->pace[side][taken / 2]);
        if (all->bound[side][taken / 2] > 0)
            fprintf(out, ",\"reference\":%.2f", all->bound[side][taken / 2]);
        fprintf(out, "}\n");
        fflush(out);
    }
}

/* The one CPU that this PE may run on, or -1. */
static long only_cpu(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) || CPU_COUNT(&set) != 1)
        return -1;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set))
            return cpu;
    return -1;
}

/* Joins the job. The arguments are FILE ROUNDS SECONDS: PE 0 writes one JSON object a line to FILE, and every PE ends
 * itself after SECONDS. With SHMEM_BENCH_THREADS the job is one of many threads. */
static void begin(int argc, char **argv) {
    if (argc != 4 || atoi(argv[2]) > MAX_ROUNDS) {
        fprintf(stderr, "usage: %s FILE ROUNDS SECONDS\n", argv[0]);
        exit(2);
    }
    alarm(atoi(argv[3]));
    int provided;
    if (getenv("SHMEM_BENCH_THREADS"))
        shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    else
        shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    rounds = atoi(argv[2]);
    flags = shmem_calloc(64, sizeof(long));
    agreed = shmem_calloc(64, sizeof(long));
    out = me == 0 ? fopen(argv[1], "w") : stderr;
    if (!out) {
        perror(argv[1]);
        shmem_global_exit(1);
    }
    agreed[8] = only_cpu();
    shmem_barrier_all();
    if (me == 0) {
        fprintf(out, "{\"cpus\":[");
        for (int pe = 0; pe < n; pe++)
            fprintf(out, "%s%ld", pe ? "," : "", shmem_long_g(&agreed[8], pe));
        fprintf(out, "],\"version\":\"%d.%d\"}\n", SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION);
    }
}

/* Leaves the job. The line {"end":true} is the file's last. */
static int finish(void) {
    if (me == 0) {
        fprintf(out, "{\"end\":true}\n");
        fclose(out);
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
