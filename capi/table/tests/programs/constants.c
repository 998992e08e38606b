/* Constants in the preprocessor, as array lengths, in initializers and as case labels. */
#include <shmem.h>
#include <shmemx.h>

#if SHMEM_MAJOR_VERSION != 1 || SHMEM_MINOR_VERSION < 6 || _SHMEM_CMP_GE == _SHMEM_CMP_EQ
#error
#endif
#if SHMEMX_MAX_PARTITIONS < 7 || SHMEMX_MAX_PARTITION_ID < 127
#error
#endif

long pSync[SHMEM_SYNC_SIZE + _SHMEM_REDUCE_SYNC_SIZE] = {SHMEM_SYNC_VALUE};
char name[] = _SHMEM_VENDOR_STRING;
char fits[sizeof(SHMEM_VENDOR_STRING) <= SHMEM_MAX_NAME_LEN ? 1 : -1];

int known(int cmp);
int known(int cmp) {
    switch (cmp) {
    case SHMEM_CMP_EQ:
    case SHMEM_CMP_NE:
    case SHMEM_CMP_GT:
    case SHMEM_CMP_GE:
    case SHMEM_CMP_LT:
    case SHMEM_CMP_LE:
        return 1;
    default:
        return 0;
    }
}
