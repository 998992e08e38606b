/* Annex A, example 53: a static array is symmetric, and one on the stack is not. */
#include "../c/check.h"

#define N 16

int main(void) {
    static short dest[N];
    static long lock = 0;
    short source[N];
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    CHECK(shmem_addr_accessible(dest, me) && !shmem_addr_accessible(source, me));
    if (me == 0) {
        for (short i = 0; i < N; i++)
            source[i] = i;
        for (int pe = 1; pe < n; pe++)
            shmem_put(dest, source, N, pe);
    }
    shmem_barrier_all();
    if (me != 0) {
        shmem_set_lock(&lock);
        printf("PE %d:", me);
        for (short i = 0; i < N; i++)
            printf(" %hd", dest[i]);
        printf("\n");
        fflush(stdout);
        shmem_clear_lock(&lock);
    }
    for (short i = 0; i < N; i++)
        CHECK(dest[i] == (me != 0 ? i : 0));
    shmem_finalize();
    return 0;
}
