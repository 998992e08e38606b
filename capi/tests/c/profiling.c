/* A profiling library, in the program itself or, with LIBRARY, apart: it counts calls, and has the twins do them. */
#include "check.h"
#include <pshmem.h>

static int puts_counted, barriers_counted;

void shmem_long_put(long *dest, const long *source, size_t nelems, int pe) {
    puts_counted++;
    pshmem_long_put(dest, source, nelems, pe);
}

void shmem_barrier_all(void) {
    barriers_counted++;
    pshmem_barrier_all();
}

#ifdef LIBRARY
__attribute__((destructor)) static void tell(void) {
    fprintf(stderr, "%d barriers\n", barriers_counted);
}
#else
static long cell = -1;

int main(void) {
    shmem_init();
    int me = pshmem_my_pe(), n = shmem_n_pes();
    CHECK(puts_counted == 0 && barriers_counted == 0); /* the library does not call what it offers */
    for (long i = 0; i < 3; i++) {
        long value = 10 * i + me;
        shmem_long_put(&cell, &value, 1, (me + 1) % n);
    }
    shmem_barrier_all();
    CHECK(cell == 20 + (me + n - 1) % n);
    pshmem_barrier_all();
    shmem_pcontrol(0);
    shmem_pcontrol(1, 2, "any more");
    pshmem_pcontrol(2);
    CHECK(puts_counted == 3 && barriers_counted == 1);
    shmem_finalize();
    return 0;
}
#endif
