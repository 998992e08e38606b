/* The first program in C: every PE greets, and PE 0 counts them.
 *
 *   oshcc -O2 -o hello hello.c && oshrun -np 4 -- ./hello
 */
#include <shmem.h>
#include <stdio.h>

static long greeted; /* symmetric: one on every PE */

int main(void) {
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();

    printf("Hello from PE %d of %d\n", me, n);
    shmem_long_atomic_inc(&greeted, 0);
    if (me == 0) {
        shmem_long_wait_until(&greeted, SHMEM_CMP_GE, n);
        printf("PE 0 was greeted by %ld PEs\n", greeted);
    }
    shmem_finalize();
    return 0;
}
