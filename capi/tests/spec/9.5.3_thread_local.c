/* 9.5.3, example 16: a library gives each thread a context that its callers do not see. */
/* flags: -fopenmp */
#include "../c/check.h"
#include <omp.h>

#define COUNT 4096
#define THREADS 3

static _Thread_local shmem_ctx_t ctx = SHMEM_CTX_INVALID;

/* A context of its own, a shared one, or the default one: the first that there is. */
static void enter(void) {
    if (ctx != SHMEM_CTX_INVALID)
        return;
    if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) != 0 && shmem_ctx_create(0, &ctx) != 0)
        ctx = SHMEM_CTX_DEFAULT;
}

static void leave(void) {
    if (ctx != SHMEM_CTX_DEFAULT) {
        shmem_ctx_destroy(ctx);
        ctx = SHMEM_CTX_INVALID;
    }
}

static void put(void *dest, const void *source, size_t bytes, int pe) {
    shmem_ctx_putmem(ctx, dest, source, bytes, pe);
}

int main(void) {
    int level;
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level) != 0)
        return 1;
    CHECK(level == SHMEM_THREAD_MULTIPLE);
    int me = shmem_my_pe(), n = shmem_n_pes();
    int *sources[n], *dests[n];
    for (int pe = 0; pe < n; pe++) {
        sources[pe] = shmem_calloc(COUNT, sizeof(int));
        dests[pe] = shmem_calloc(COUNT, sizeof(int));
        CHECK(sources[pe] != NULL && dests[pe] != NULL);
    }
#pragma omp parallel num_threads(THREADS)
    {
        int thread = omp_get_thread_num();
#pragma omp for
        for (int pe = 0; pe < n; pe++)
            for (int i = 0; i < COUNT; i++)
                sources[pe][i] = (me << 10) + thread + 1;
        enter();
        CHECK(ctx != SHMEM_CTX_INVALID);
#pragma omp for
        for (int pe = 0; pe < n; pe++)
            put(dests[me], sources[pe], COUNT * sizeof(int), pe);
        leave();
    }
    shmem_barrier_all();
    for (int pe = 0; pe < n; pe++) {
        int thread = dests[pe][0] & 1023;
        CHECK(thread >= 1 && thread <= THREADS);
        for (int i = 0; i < COUNT; i++)
            CHECK(dests[pe][i] == (pe << 10) + thread);
    }
    for (int pe = n - 1; pe >= 0; pe--) {
        shmem_free(dests[pe]);
        shmem_free(sources[pe]);
    }
    shmem_finalize();
    return 0;
}
