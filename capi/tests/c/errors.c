/* What happens outside of the phase between shmem_init and shmem_finalize, and with wrong arguments: by the first
   argument, a case, and perhaps a second. */
#include "check.h"
#include <string.h>

static long cell;
static shmem_ctx_t context = SHMEM_CTX_DEFAULT;

static int initialized(void) {
    int answer = -1;
    shmem_query_initialized(&answer);
    return answer;
}

/* Calls the routine of this name. */
static void call(const char *name) {
    long value = 0;
    int provided;
    if (strcmp(name, "shmem_my_pe") == 0) {
        shmem_my_pe();
    } else if (strcmp(name, "shmem_n_pes") == 0) {
        shmem_n_pes();
    } else if (strcmp(name, "shmem_barrier_all") == 0) {
        shmem_barrier_all();
    } else if (strcmp(name, "shmem_long_p") == 0) {
        shmem_long_p(&cell, 1, 0);
    } else if (strcmp(name, "shmem_ctx_long_p") == 0) {
        shmem_ctx_long_p(context, &cell, 1, 0);
    } else if (strcmp(name, "shmem_long_atomic_inc") == 0) {
        shmem_long_atomic_inc(&cell, 0);
    } else if (strcmp(name, "shmem_getmem") == 0) {
        shmem_getmem(&value, &cell, sizeof value, 0);
    } else if (strcmp(name, "shmem_malloc") == 0) {
        shmem_malloc(8);
    } else if (strcmp(name, "shmem_ptr") == 0) {
        shmem_ptr(&cell, 0);
    } else if (strcmp(name, "shmem_query_thread") == 0) {
        shmem_query_thread(&provided);
    } else if (strcmp(name, "shmem_finalize") == 0) {
        shmem_finalize();
    } else if (strcmp(name, "shmem_global_exit") == 0) {
        shmem_global_exit(7);
    } else {
        exit(99);
    }
}

/* Each PE writes something to a global of the next. */
static void exchange(long what) {
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_barrier_all();
    shmem_long_p(&cell, what + me, (me + 1) % n);
    shmem_barrier_all();
    CHECK(cell == what + (me + n - 1) % n);
}

/* What is behind the last byte of the heap. */
static char *end_of_heap(void) {
    char *end = shmem_malloc(1);
    end -= (size_t)end % 4096;
    while (shmem_addr_accessible(end, 0)) {
        end += 4096;
    }
    return end;
}

static void wrong_argument(const char *which) {
    long local = 0, *none = NULL;
    shmem_ctx_t ctx;
    shmem_init();
    int n = shmem_n_pes();
    char *end = end_of_heap();
    shmem_long_p((long *)end - 1, 1, n - 1);
    shmem_ctx_create(0, &ctx);
    shmem_ctx_long_p(ctx, &cell, 1, n - 1);
    if (strcmp(which, "pe") == 0) {
        shmem_long_p(&cell, 1, n);
    } else if (strcmp(which, "negative") == 0) {
        shmem_long_p(&cell, 1, -1);
    } else if (strcmp(which, "private") == 0) {
        shmem_long_p(&local, 1, 0);
    } else if (strcmp(which, "null") == 0) {
        shmem_long_put(&cell, none, 1, 0);
    } else if (strcmp(which, "nothing") == 0) {
        shmem_long_put(&cell, none, 0, 0); /* null is all right if there is nothing to copy */
        shmem_finalize();
    } else if (strcmp(which, "long") == 0) {
        shmem_long_put(&cell, &cell, (size_t)1 << 40, 0);
    } else if (strcmp(which, "add") == 0) {
        shmem_long_atomic_fetch_add(&cell, 1, n);
    } else if (strcmp(which, "get") == 0) {
        shmem_getmem(&local, &cell, sizeof local, -1);
    } else if (strcmp(which, "misaligned") == 0) {
        shmem_long_p((long *)(end - 9), 1, 0);
    } else if (strcmp(which, "end") == 0) {
        shmem_long_p((long *)end, 1, 0);
    } else if (strcmp(which, "over") == 0) {
        shmem_putmem(end - 8, &cell, 16, 0);
    } else if (strcmp(which, "invalid") == 0) {
        shmem_ctx_long_p(SHMEM_CTX_INVALID, &cell, 1, 0);
    } else if (strcmp(which, "unknown") == 0) {
        shmem_ctx_long_g((shmem_ctx_t)15, &cell, 0);
    } else if (strcmp(which, "destroyed") == 0) {
        shmem_ctx_destroy(ctx);
        shmem_ctx_long_atomic_add(ctx, &cell, 1, 0);
    }
}

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "", *more = argc > 2 ? argv[2] : "";
    if (strcmp(kind, "before") == 0) {
        call(more);
    } else if (strcmp(kind, "after") == 0) {
        shmem_init();
        shmem_ctx_create(0, &context);
        shmem_finalize();
        call(more);
    } else if (strcmp(kind, "nested") == 0) {
        int provided = -1;
        if (initialized() != 0) {
            return 1;
        }
        shmem_init();
        CHECK(shmem_init_thread(SHMEM_THREAD_SERIALIZED, &provided) == 0);
        CHECK(provided >= SHMEM_THREAD_SINGLE && provided <= SHMEM_THREAD_MULTIPLE);
        shmem_init();
        exchange(10);
        shmem_finalize();
        exchange(20);
        shmem_finalize();
        CHECK(initialized() == 1);
        exchange(30);
        shmem_finalize();
        return initialized();
    } else if (strcmp(kind, "again") == 0) {
        for (long round = 1; round <= 3; round++) {
            shmem_init();
            CHECK(initialized() == 1);
            exchange(100 * round);
            shmem_finalize();
            if (initialized() != 0 || cell / 100 != round) {
                return 1;
            }
            cell++; /* globals stay what they were, and the program may go on with them */
        }
    } else if (strcmp(kind, "start_pes") == 0) {
        start_pes(0);
        start_pes(0);
        exchange(40);
        printf("done\n");
    } else if (strcmp(kind, "exit") == 0) {
        shmem_init();
        if (shmem_my_pe() == shmem_n_pes() - 1) {
            shmem_global_exit(atoi(more));
        }
        for (;;) {
            shmem_barrier_all();
        }
    } else if (strcmp(kind, "argument") == 0) {
        wrong_argument(more);
    } else {
        return 98;
    }
    return 0;
}
