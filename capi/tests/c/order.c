/* Fence, quiet and their forms for contexts and PEs. */
#include "check.h"

enum { LEN = 1000, MANY = 1 << 19 };

static int me, n, next, before;
static long data[LEN], flag;
static long large[MANY], from[MANY];
/* How often the data was put. */
static long data_rounds;

/* A PE that sees the flag sees the data. */
static void sees_in_order(void (*order)(void)) {
    for (int i = 0; i < 50; i++) {
        long round = ++data_rounds;
        long mine[LEN];
        for (int j = 0; j < LEN; j++)
            mine[j] = round * LEN + j + me;
        shmem_long_put(data, mine, LEN, next);
        order();
        shmem_long_p(&flag, round, next);
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, round);
        for (int j = 0; j < LEN; j++)
            CHECK(data[j] == round * LEN + j + before);
        shmem_barrier_all();
    }
}

/* Once it returns, others find on the next PE what this one has put there, and it has what it has got. */
static void completes(void (*order)(void)) {
    static long round = 0;
    static long got[MANY];
    round++;
    for (int i = 0; i < MANY; i++)
        from[i] = round * 1000 + i + me;
    shmem_barrier_all();
    shmem_long_put_nbi(large, from, MANY, next);
    shmem_long_get_nbi(got, from, MANY, before);
    long fetched = 0;
    shmem_long_atomic_fetch_add_nbi(&fetched, &data[0], 0, next);
    order();
    CHECK(fetched == data_rounds * LEN + me);
    CHECK(shmem_long_g(&large[MANY - 1], next) == round * 1000 + MANY - 1 + me);
    for (int i = 0; i < MANY; i++)
        CHECK(got[i] == round * 1000 + i + before);
    shmem_barrier_all();
    for (int i = 0; i < MANY; i++)
        CHECK(large[i] == round * 1000 + i + before);
    shmem_barrier_all();
}

static void fence(void) { shmem_fence(); }
static void quiet(void) { shmem_quiet(); }
static void ctx_fence(void) { shmem_ctx_fence(SHMEM_CTX_DEFAULT); }
static void ctx_quiet(void) { shmem_ctx_quiet(SHMEM_CTX_DEFAULT); }

static void pe_quiet(void) {
    int pes[] = {next, before, next};
    shmem_pe_quiet(pes, 3);
}

static void ctx_pe_quiet(void) {
    int all[64];
    for (int i = 0; i < n; i++)
        all[i] = n - 1 - i;
    shmem_ctx_pe_quiet(SHMEM_CTX_DEFAULT, all, (size_t)n);
}

int main(void) {
    shmem_init();
    me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    sees_in_order(fence);
    sees_in_order(ctx_fence);
    sees_in_order(quiet);
    sees_in_order(ctx_quiet);
    sees_in_order(pe_quiet);
    sees_in_order(ctx_pe_quiet);
    completes(quiet);
    completes(ctx_quiet);
    completes(pe_quiet);
    completes(ctx_pe_quiet);
    /* Nothing to be done. */
    shmem_ctx_fence(SHMEM_CTX_INVALID);
    shmem_ctx_quiet(SHMEM_CTX_INVALID);
    shmem_pe_quiet(NULL, 0);
    shmem_ctx_pe_quiet(SHMEM_CTX_DEFAULT, NULL, 0);
    shmem_finalize();
    return 0;
}
