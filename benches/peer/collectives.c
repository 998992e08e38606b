/* The loops of benches/src/collectives.rs for another OpenSHMEM, so that both are timed alike.
 *
 * The time of a call is that of a batch of calls without anything in between, from when all PEs have come to when
 * all are done, divided by their number. A batch takes 2 ms or 8 calls, and the figure is the median of many.
 *
 * oshcc -O2 collectives.c && oshrun -n 2 a.out FILE ROUNDS SECONDS */
#include "common.h"

#define LARGEST (1 << 20)
#define BATCH_NS 2e6
#define BATCH_CALLS 8
/* A collective that takes longer is left out: it meets no target, and would take all the time. */
#define TOO_SLOW_NS(bytes) ((bytes) < LARGEST ? 4e6 : 2e7)

static const size_t sizes[] = {8, 1 << 10, 8 << 10, 64 << 10, LARGEST};
static double *dest, *source;

#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5

static void prepare(void) {}
static void sum(size_t count) { shmem_double_sum_reduce(SHMEM_TEAM_WORLD, dest, source, count); }
static void broadcast_from(int root, size_t count) {
    shmem_double_broadcast(SHMEM_TEAM_WORLD, dest, source, count, root);
}
static void collect(size_t count) { shmem_double_collect(SHMEM_TEAM_WORLD, dest, source, count); }
static void fcollect(size_t count) { shmem_double_fcollect(SHMEM_TEAM_WORLD, dest, source, count); }
static void alltoall(size_t count) { shmem_double_alltoall(SHMEM_TEAM_WORLD, dest, source, count); }
static void alltoalls(size_t count) { shmem_double_alltoalls(SHMEM_TEAM_WORLD, dest, source, 1, 2, count); }

#else /* active sets */

#define LONGEST (SHMEM_REDUCE_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE + SHMEM_COLLECT_SYNC_SIZE + SHMEM_ALLTOALL_SYNC_SIZE)
/* Taken in turns, so that a call never meets what an earlier one has left. */
#define TURNS 2
static long *syncs[TURNS];
static double *work[TURNS];
static unsigned turn;

static void prepare(void) {
    for (int i = 0; i < TURNS; i++) {
        syncs[i] = shmem_malloc(LONGEST * sizeof(long));
        for (size_t k = 0; k < LONGEST; k++)
            syncs[i][k] = SHMEM_SYNC_VALUE;
        work[i] = shmem_malloc((LARGEST / 16 + 1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE) * sizeof(double));
    }
    shmem_barrier_all();
}

static long *sync_array(void) { return syncs[++turn % TURNS]; }
static void sum(size_t count) {
    long *sync = sync_array();
    shmem_double_sum_to_all(dest, source, (int)count, 0, 0, n, work[turn % TURNS], sync);
}
static void broadcast_from(int root, size_t count) {
    shmem_broadcast64(dest, source, count, root, 0, 0, n, sync_array());
}
static void collect(size_t count) { shmem_collect64(dest, source, count, 0, 0, n, sync_array()); }
static void fcollect(size_t count) { shmem_fcollect64(dest, source, count, 0, 0, n, sync_array()); }
static void alltoall(size_t count) { shmem_alltoall64(dest, source, count, 0, 0, n, sync_array()); }
static void alltoalls(size_t count) { shmem_alltoalls64(dest, source, 1, 2, count, 0, 0, n, sync_array()); }

#endif

static void broadcast(size_t count) { broadcast_from(0, count); }
/* The same on all PEs, as they make the same calls. */
static int root;
static void broadcast_rotating(size_t count) {
    broadcast_from(root, count);
    root = root + 1 < n ? root + 1 : 0;
}
static void barrier(size_t count) { (void)count, shmem_barrier_all(); }
static void sync_all(size_t count) { (void)count, shmem_sync_all(); }

static const struct {
    const char *name;
    void (*call)(size_t count);
    int sized;
} ops[] = {
    {"barrier", barrier, 0},     {"sync", sync_all, 0},       {"sum", sum, 1},
    {"broadcast", broadcast, 1}, {"broadcast_rotating", broadcast_rotating, 1},
    {"fcollect", fcollect, 1},   {"collect", collect, 1},
    {"alltoall", alltoall, 1},   {"alltoalls", alltoalls, 1},
};

static double batch(void (*call)(size_t), size_t count, long calls) {
    shmem_barrier_all();
    double start = now();
    for (long i = 0; i < calls; i++)
        call(count);
    shmem_barrier_all();
    return (now() - start) / calls;
}

/* What PE 0 wants, on all PEs. */
static long agree(long wanted) {
    for (int pe = 0; me == 0 && pe < n; pe++)
        shmem_long_p(agreed, wanted, pe);
    shmem_barrier_all();
    return *(volatile long *)agreed;
}

static void measure(const char *name, void (*call)(size_t), size_t bytes) {
    static struct samples all;
    memset(all.taken, 0, sizeof all.taken);
    size_t count = bytes / sizeof(double);
    long calls = BATCH_CALLS;
    double first = batch(call, count, 2), second = batch(call, count, 2);
    if (agree(first > TOO_SLOW_NS(bytes) && second > TOO_SLOW_NS(bytes)))
        return;
    for (int i = 0; i < 2; i++) {
        long wanted = (long)(BATCH_NS / batch(call, count, calls));
        calls = agree(wanted < BATCH_CALLS ? BATCH_CALLS : wanted > 100000 ? 100000 : wanted);
    }
    for (int i = 0; i < rounds; i++) {
        shmem_barrier_all();
        double before = where();
        double value = batch(call, count, calls);
        take(&all, before, value, 0, where());
    }
    report(&all, name, bytes);
}

int main(int argc, char **argv) {
    begin(argc, argv);
    dest = shmem_malloc((size_t)n * LARGEST);
    source = shmem_malloc((size_t)n * LARGEST * 2);
    for (size_t i = 0; i < (size_t)n * LARGEST / 4; i++)
        source[i] = 1;
    memset(dest, 0, (size_t)n * LARGEST);
    prepare();
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (size_t k = 0; k < (ops[i].sized ? sizeof sizes / sizeof *sizes : 1); k++)
            measure(ops[i].name, ops[i].call, ops[i].sized ? sizes[k] : 0);
    return finish();
}
