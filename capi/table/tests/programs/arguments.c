/* Arrays, constant objects, members, results of other calls, expressions and null pointers as arguments. */
#include <shmem.h>
#include <stdint.h>

struct own {
    shmem_ctx_t ctx;
    double value[4];
};

static struct own own;
static long cells[10];
static const size_t size = 3;
static uint64_t word;
static ptrdiff_t distance;

double arguments(const struct own *mine, const shmem_ctx_t ctx, int pe);
double arguments(const struct own *mine, const shmem_ctx_t ctx, int pe) {
    const long source[] = {1, 2};
    const long *next = source;
    int *status = NULL;
    shmem_put(cells, source, 2, pe);
    shmem_put(mine->ctx, cells + 1, &source[1], size, pe + 1);
    shmem_put(cells, next++, 1, pe++);
    shmem_p(&own.value[2], 1, pe);
    shmem_p(ctx, pe ? cells : cells + 2, shmem_g(cells, shmem_my_pe()), 0);
    shmem_get_nbi(SHMEM_CTX_DEFAULT, own.value, mine->value, 4, 0);
    shmem_put_signal(ctx, &word, &word, 1, &word, 1, SHMEM_SIGNAL_ADD, pe);
    shmem_signal_set(ctx, &word, 1, pe);
    shmem_signal_add(&word, 1, pe);
    shmem_wait_until_all(cells, 10, status, SHMEM_CMP_GE, 1);
    shmem_sum_reduce(SHMEM_TEAM_WORLD, own.value, mine->value, 4);
    distance = shmem_atomic_fetch_add(ctx, &distance, 3, pe);
    word += shmem_atomic_fetch(&size, shmem_test(cells, SHMEM_CMP_EQ, 0));
    return shmem_g(&mine->value[0], pe) + shmem_g(ctx, mine->value, 0);
}
