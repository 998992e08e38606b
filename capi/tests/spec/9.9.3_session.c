/* 9.9.3, example 28: a session of many atomic updates of random places in a distributed table. */
#include "../c/check.h"
#include <stdint.h>

#define UPDATES 3000u
#define WORDS 256u

/* The next number of a sequence that a PE can repeat for another PE. */
static uint64_t draw(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

int main(void) {
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    uint64_t *table = (uint64_t *)shmem_calloc(WORDS, sizeof *table);
    CHECK(table != NULL);
    shmem_ctx_t ctx;
    CHECK(shmem_ctx_create(0, &ctx) == 0);

    shmem_ctx_session_config_t config;
    config.total_ops = UPDATES;
    shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
    uint64_t state = (uint64_t)me;
    for (unsigned i = 0; i < UPDATES; i++) {
        int pe = (int)(draw(&state) % (uint64_t)n);
        size_t word = draw(&state) % WORDS;
        shmem_ctx_uint64_atomic_xor(ctx, &table[word], draw(&state), pe);
    }
    shmem_ctx_session_stop(ctx);
    /* The end of a session neither completes the operations nor waits for other PEs. */
    shmem_ctx_quiet(ctx);
    shmem_sync_all();

    /* What all PEs did to this PE's part. */
    uint64_t expected[WORDS] = {0};
    for (int pe = 0; pe < n; pe++) {
        state = (uint64_t)pe;
        for (unsigned i = 0; i < UPDATES; i++) {
            int target = (int)(draw(&state) % (uint64_t)n);
            size_t word = draw(&state) % WORDS;
            uint64_t value = draw(&state);
            if (target == me)
                expected[word] ^= value;
        }
    }
    for (size_t i = 0; i < WORDS; i++)
        CHECK(table[i] == expected[i]);
    shmem_ctx_destroy(ctx);
    shmem_free(table);
    shmem_finalize();
    return 0;
}
