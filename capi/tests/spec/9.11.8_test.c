/* 9.11.8, example 42: PE 0 finds the first of the others that speaks by testing one word after the other. */
#include "../c/check.h"

/* The index of a word for which the condition holds. */
static int any_of(long *words, int count, int cmp, long value) {
    int i = 0;
    while (!shmem_test(&words[i], cmp, value))
        i = (i + 1) % count;
    return i;
}

int main(void) {
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    long *words = shmem_calloc((size_t)n, sizeof *words);
    CHECK(words != NULL);
    /* A single PE has no other to wait for. */
    if (me > 0) {
        shmem_atomic_set(&words[me], me, 0);
    } else if (n > 1) {
        int first = any_of(words, n, SHMEM_CMP_NE, 0);
        printf("PE %d is the first whose flag PE 0 sees\n", first);
        CHECK(first > 0 && first < n && words[first] == first);
    }
    shmem_free(words);
    shmem_finalize();
    return 0;
}
