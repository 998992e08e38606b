/* A program of long ago. */
#include <mpp/shmem.h>

long flag, work[_SHMEM_REDUCE_MIN_WRKDATA_SIZE], sync_words[_SHMEM_REDUCE_SYNC_SIZE];

int old(void);
int old(void) {
    long *p = (long *)shmalloc(8);
    start_pes(0);
    shmem_long_swap(p, 3, _my_pe());
    shmem_wait(&flag, 0);
    shmem_long_sum_to_all(p, p, 1, 0, 0, _num_pes(), work, sync_words);
    shmem_sync(0, 0, 1, sync_words);
    shmem_wait_until(&flag, _SHMEM_CMP_NE, 0);
    shfree(p);
    return 0;
}
