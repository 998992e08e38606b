/* Generic forms that deprecated routines have a part in, with types that are not deprecated. */
#include <shmem.h>

int current(int *x, short *s);
int current(int *x, short *s) {
    shmem_p(x, shmem_g(x, 0), 0);
    shmem_p(s, *s, 0);
    shmem_wait_until(x, SHMEM_CMP_EQ, 1);
    return shmem_sync(SHMEM_TEAM_WORLD) + shmem_test(x, SHMEM_CMP_EQ, 1);
}
