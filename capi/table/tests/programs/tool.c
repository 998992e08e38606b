/* A profiling tool that defines the routines whose name is that of a generic form too. */
#include <pshmem.h>

void shmem_sync(int PE_start, int logPE_stride, int PE_size, long *pSync) {
    pshmem_sync(PE_start, logPE_stride, PE_size, pSync);
}

void shmem_wait_until(long *ivar, int cmp, long cmp_value) {
    pshmem_wait_until(ivar, cmp, cmp_value);
}

void shmem_signal_add(uint64_t *sig_addr, uint64_t signal, int pe) {
    pshmem_signal_add(sig_addr, signal, pe);
}

void shmem_signal_set(uint64_t *sig_addr, uint64_t signal, int pe) {
    pshmem_signal_set(sig_addr, signal, pe);
}

void shmem_long_p(long *dest, long value, int pe) {
    pshmem_long_p(dest, value, pe);
}
