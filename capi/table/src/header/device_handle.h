/* What kernels take to call the functions of shmemx_device.cuh: addresses and numbers that are those functions' own. */
#ifndef SHMEMX_DEVICE_T
#define SHMEMX_DEVICE_T
typedef struct shmemx_device {
    unsigned long long shown;       /* where programs see this PE's device memory */
    unsigned long long len;         /* its bytes */
    unsigned long long own;         /* where kernels reach it */
    unsigned long long base;        /* where kernels reach that of the first of the near PEs */
    unsigned long long stride;      /* bytes from there to the next one's */
    unsigned long long bells;       /* the first near PE's bell, on the host */
    unsigned long long bell_stride; /* bytes to the next one's */
    unsigned long long table;       /* for near PEs that are not in a row: two words for each PE, or null */
    unsigned long long area;        /* the words by which this PE's kernels ask for something */
    unsigned long long timeout;     /* nanoseconds */
    int me;
    int n_pes;
    int first;   /* the near PEs that are in a row: the first */
    int near;    /* and how many */
    int atomics; /* whether atomic operations on near PEs' memory are atomic */
    int unused;
} shmemx_device_t;
#endif
