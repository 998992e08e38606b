/* A program that defines such a routine and uses the generic form. */
#include <shmem.h>

#include <pshmem.h>

void(shmem_sync)(int PE_start, int logPE_stride, int PE_size, long *pSync) {
    pshmem_sync(PE_start, logPE_stride, PE_size, pSync);
}

int both(long *pSync);
int both(long *pSync) {
    shmem_sync(0, 0, 1, pSync);
    return shmem_sync(SHMEM_TEAM_WORLD);
}
