/* Annex A, example 52: the first program. */
#include <shmem.h>
#include <stdio.h>

int main(void) {
    shmem_init();
    printf("Hello from %d of %d\n", shmem_my_pe(), shmem_n_pes());
    shmem_finalize();
    return 0;
}
