/* Compiled in two ways, it is two programs: with MORE_DATA their globals differ in size, with MORE_CODE they do not. */
#include "check.h"

#ifdef MORE_DATA
long data[100000];
#else
long data[10];
#endif

int main(void) {
    shmem_init();
#ifdef MORE_CODE
    data[0] += shmem_my_pe();
#endif
    shmem_long_p(&data[1], 1, 0);
    shmem_finalize();
    return 0;
}
