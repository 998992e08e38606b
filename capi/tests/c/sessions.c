/* Sessions: §9.9. They are hints: what is in them has the same results. */
#include "check.h"

static long sum;

static void session(shmem_ctx_t ctx, int adds) {
    int me = shmem_my_pe(), n = shmem_n_pes();
    for (int i = 0; i < adds; i++) shmem_ctx_long_atomic_add(ctx, &sum, me + 1, i % n);
}

int main(void) {
    shmem_init();
    int n = shmem_n_pes();
    shmem_ctx_t ctx;
    CHECK(shmem_ctx_create(0, &ctx) == 0);
    shmem_ctx_t contexts[] = {SHMEM_CTX_DEFAULT, ctx};
    shmem_ctx_session_config_t config;
    config.total_ops = 1000;
    for (int i = 0; i < 2; i++) {
        sum = 0;
        shmem_barrier_all();
        shmem_ctx_session_start(contexts[i], SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
        session(contexts[i], 10 * n);
        shmem_ctx_session_start(contexts[i], 0, NULL, 0);
        session(contexts[i], 10 * n);
        shmem_ctx_session_stop(contexts[i]);
        shmem_ctx_session_stop(contexts[i]);
        session(contexts[i], 10 * n);
        shmem_ctx_quiet(contexts[i]);
        shmem_barrier_all();
        CHECK(sum == 30L * n * (n + 1) / 2);
        shmem_barrier_all();
    }
    shmem_ctx_session_start(SHMEM_CTX_INVALID, SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
    shmem_ctx_session_stop(SHMEM_CTX_INVALID);
    shmem_ctx_destroy(ctx);
    shmem_finalize();
    return 0;
}
