/* Calls that end the job: the first argument says which. The last PE makes it while the others wait in a barrier. */
#include "check.h"
#include <string.h>

static long word, words[4];
static int narrow;
static uint64_t sig;
static long double wide[2];

int main(int argc, char **argv) {
    const char *which = argc > 1 ? argv[1] : "";
    long local = 0;
    int status[4] = {0};
    size_t indices[4];
    if (strcmp(which, "before init") == 0)
        shmem_long_atomic_add(&word, 1, 0);
    if (strcmp(which, "wait before init") == 0)
        shmem_long_wait_until(&word, SHMEM_CMP_EQ, 0);
    if (strcmp(which, "quiet before init") == 0)
        shmem_quiet();
    shmem_init();
    int n = shmem_n_pes();
    if (shmem_my_pe() == n - 1) {
        char *odd = (char *)words + 3;
#define CASE(name, ...) \
    if (strcmp(which, name) == 0) \
        __VA_ARGS__;
        CASE("amo pe", shmem_long_atomic_add(&word, 1, n))
        CASE("amo negative pe", shmem_long_atomic_fetch_inc(&word, -1))
        CASE("amo ctx pe", shmem_ctx_long_atomic_swap(SHMEM_CTX_DEFAULT, &word, 1, n + 5))
        CASE("amo null", shmem_long_atomic_set(NULL, 1, 0))
        CASE("amo stack", shmem_long_atomic_compare_swap(&local, 0, 1, 0))
        CASE("amo source", shmem_int_atomic_fetch((int *)(void *)&local, 0))
        CASE("amo odd", shmem_long_atomic_inc((long *)(void *)odd, 0))
        CASE("amo fetch null", shmem_long_atomic_fetch_add_nbi(NULL, &word, 1, 0))
        CASE("amo invalid ctx", shmem_ctx_long_atomic_inc(SHMEM_CTX_INVALID, &word, 0))
        CASE("old amo pe", shmem_int_finc(&narrow, n))
        CASE("p longdouble pe", shmem_longdouble_p(wide, 1.0L, n))
        CASE("g longdouble odd", local = (long)shmem_longdouble_g((long double *)(void *)((char *)wide + 8), 0))
        CASE("p longdouble ctx", shmem_ctx_longdouble_p(SHMEM_CTX_INVALID, wide, 1.0L, 0))
        CASE("put too long", shmem_putmem(&word, words, (size_t)1 << 40, 0))
        CASE("put elements", shmem_long_put(words, words, (size_t)1 << 62, 0))
        CASE("sig_op", shmem_putmem_signal(words, &local, 8, &sig, 1, 3, 0))
        CASE("sig_op nbi", shmem_long_put_signal_nbi(words, &local, 1, &sig, 1, 0, 0))
        CASE("sig_addr", shmem_putmem_signal(words, &local, 8, (uint64_t *)(void *)&local, 1, SHMEM_SIGNAL_SET, 0))
        CASE("sig_addr odd", shmem_signal_add((uint64_t *)(void *)odd, 1, 0))
        CASE("signal null", shmem_signal_set(NULL, 1, 0))
        CASE("signal pe", shmem_signal_set(&sig, 1, n))
        CASE("signal fetch", shmem_signal_fetch((uint64_t *)(void *)&local))
        CASE("signal dest", shmem_put32_signal(&local, words, 1, &sig, 1, SHMEM_SIGNAL_SET, 0))
        CASE("signal source", shmem_put32_signal(words, NULL, 1, &sig, 1, SHMEM_SIGNAL_SET, 0))
        CASE("put_signal pe", shmem_int_put_signal(&narrow, &narrow, 1, &sig, 1, SHMEM_SIGNAL_SET, -7))
        CASE("cmp", shmem_long_wait_until(&word, 0, 0))
        CASE("cmp test", shmem_long_test(&word, 7, 0))
        CASE("cmp signal", shmem_signal_wait_until(&sig, -1, 0))
        CASE("cmp set", shmem_long_test_any(words, 4, NULL, 9, 0))
        CASE("wait stack", shmem_long_wait_until(&local, SHMEM_CMP_EQ, 0))
        CASE("wait odd", shmem_short_wait_until((short *)(void *)odd, SHMEM_CMP_EQ, 0))
        CASE("wait null", shmem_int_wait(NULL, 1))
        CASE("ivars", shmem_long_wait_until_all(&local, 1, NULL, SHMEM_CMP_EQ, 0))
        CASE("ivars end", shmem_long_wait_until_all(words, (size_t)1 << 40, NULL, SHMEM_CMP_EQ, 0))
        CASE("values null", shmem_long_test_all_vector(words, 4, status, SHMEM_CMP_EQ, NULL))
        CASE("values odd", shmem_long_test_all_vector(words, 2, status, SHMEM_CMP_EQ, (long *)(void *)odd))
        CASE("indices null", shmem_long_test_some(words, 4, NULL, status, SHMEM_CMP_EQ, 0))
        CASE("status odd", shmem_long_test_some(words, 4, indices, (int *)(void *)odd, SHMEM_CMP_EQ, 0))
        CASE("pe_quiet", { int pes[] = {0, n}; shmem_pe_quiet(pes, 2); })
        CASE("pe_quiet null", shmem_pe_quiet(NULL, 1))
        CASE("lock stack", shmem_set_lock(&local))
        CASE("lock null", shmem_test_lock(NULL))
        CASE("lock not held", shmem_clear_lock(&word))
        CASE("fence ctx", shmem_ctx_fence((shmem_ctx_t)7))
        CASE("after finalize", { shmem_finalize(); shmem_long_p(&word, 1, 0); })
        CASE("test after finalize", { shmem_finalize(); shmem_long_test(&word, SHMEM_CMP_EQ, 0); })
    } else if (strstr(which, "after finalize") != NULL) {
        shmem_finalize();
        return 0;
    }
    shmem_barrier_all();
    fprintf(stderr, "\"%s\" did not end the job, with %ld\n", which, local);
    shmem_finalize();
    return 0;
}
