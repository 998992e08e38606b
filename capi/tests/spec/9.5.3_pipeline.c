/* 9.5.3, example 15: contexts overlap the exchange of one segment with the summation of the one before. */
#include "../c/check.h"

#define LENGTH 8192
#define SEGMENT 512
#define SEGMENTS (LENGTH / SEGMENT)

/* With two of them, a fast PE would write where a slow one still reads. */
#define BUFFERS 3

int in[LENGTH], out[LENGTH];

/* Starts the puts of a segment to all PEs. */
static void send(shmem_ctx_t ctx, int *buffer, int segment) {
    int me = shmem_my_pe(), n = shmem_n_pes();
    for (int i = 1; i <= n; i++)
        shmem_put_nbi(ctx, &buffer[SEGMENT * me], &in[SEGMENT * segment], SEGMENT, (me + i) % n);
}

/* Adds up what all PEs sent of a segment. */
static void add(const int *buffer, int segment) {
    int n = shmem_n_pes();
    for (int pe = 0; pe < n; pe++)
        for (int i = 0; i < SEGMENT; i++)
            out[SEGMENT * segment + i] += buffer[SEGMENT * pe + i];
}

int main(void) {
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    int *buffers[BUFFERS];
    shmem_ctx_t ctx[2];
    for (int i = 0; i < BUFFERS; i++) {
        buffers[i] = shmem_malloc(SEGMENT * (size_t)n * sizeof(int));
        CHECK(buffers[i] != NULL);
    }
    CHECK(shmem_ctx_create(0, &ctx[0]) == 0 && shmem_ctx_create(0, &ctx[1]) == 0);
    for (int i = 0; i < LENGTH; i++) {
        in[i] = me + i;
        out[i] = 0;
    }
    send(ctx[0], buffers[0], 0);
    for (int p = 1; p <= SEGMENTS; p++) {
        if (p < SEGMENTS)
            send(ctx[p % 2], buffers[p % BUFFERS], p);
        shmem_ctx_quiet(ctx[(p - 1) % 2]);
        shmem_sync_all();
        add(buffers[(p - 1) % BUFFERS], p - 1);
    }
    for (int i = 0; i < LENGTH; i++)
        CHECK(out[i] == n * i + n * (n - 1) / 2);
    shmem_ctx_destroy(ctx[0]);
    shmem_ctx_destroy(ctx[1]);
    for (int i = 0; i < BUFFERS; i++)
        shmem_free(buffers[i]);
    shmem_finalize();
    return 0;
}
