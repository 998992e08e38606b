/* 9.1.9, example 9: a PE writes into another's array through a pointer. */
#include "../c/check.h"

int main(void) {
    static int dest[4];
    shmem_init();
    int me = shmem_my_pe(), other = 1 % shmem_n_pes();
    if (me == 0) {
        int *there = shmem_ptr(dest, other);
        for (int i = 0; i < 4; i++) {
            if (there != NULL)
                there[i] = i + 1;
            else
                shmem_p(&dest[i], i + 1, other);
        }
    }
    shmem_barrier_all();
    for (int i = 0; i < 4; i++)
        CHECK(dest[i] == (me == other ? i + 1 : 0));
    if (me == other)
        printf("PE %d: %d, %d, %d, %d\n", me, dest[0], dest[1], dest[2], dest[3]);
    shmem_finalize();
    return 0;
}
