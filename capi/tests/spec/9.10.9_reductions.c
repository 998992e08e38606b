/* 9.10.9, example 36: where the largest values are, by an OR, and how many, by a sum. */
#include "../c/check.h"

#define ELEMENTS 32

int main(void) {
    static int count = 0, total;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    unsigned char *here = shmem_malloc(ELEMENTS), *anywhere = shmem_malloc(ELEMENTS);
    CHECK(here != NULL && anywhere != NULL);
    srand((unsigned)me);
    for (int i = 0; i < ELEMENTS; i++) {
        here[i] = rand() % n == n - 1;
        count += here[i];
    }
    shmem_sync(SHMEM_TEAM_WORLD);
    CHECK(shmem_or_reduce(SHMEM_TEAM_WORLD, anywhere, here, ELEMENTS) == 0);
    CHECK(shmem_sum_reduce(SHMEM_TEAM_WORLD, &total, &count, 1) == 0);
    if (me == 0) {
        printf("%d values are the largest possible, at", total);
        for (int i = 0; i < ELEMENTS; i++)
            if (anywhere[i] == 1)
                printf(" %d", i);
        printf("\n");
    }
    /* The same without communication: all PEs' sequences are known. */
    int expected = 0;
    unsigned char places[ELEMENTS] = {0};
    for (int pe = 0; pe < n; pe++) {
        srand((unsigned)pe);
        for (int i = 0; i < ELEMENTS; i++) {
            int largest = rand() % n == n - 1;
            expected += largest;
            places[i] |= (unsigned char)largest;
        }
    }
    CHECK(total == expected);
    for (int i = 0; i < ELEMENTS; i++)
        CHECK(anywhere[i] == places[i]);
    shmem_free(anywhere);
    shmem_free(here);
    shmem_finalize();
    return 0;
}
