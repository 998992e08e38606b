/* What a program does is recorded where SHMEM_TRACE says so, and shmem_pcontrol switches it off. shmemx_phase
   marks its phases. */
#include "check.h"
#include <shmemx.h>

static long words[8];
static uint64_t sig;

int main(void) {
    shmem_pcontrol(1); /* before there is anything to switch */
    shmemx_phase("too early");
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n;
    long block[4] = {1, 2, 3, 4};
    shmem_barrier_all();
    shmemx_phase("operations");
    shmem_long_p(&words[0], 1, next); /* recorded */
    shmem_put(&words[4], block, 4, next);
    shmem_long_atomic_add(&words[1], 1, next);
    shmem_pcontrol(0);
    shmemx_phase("not\xff" "recorded"); /* but marked, though this is no UTF-8 */
    for (int i = 0; i < 100; i++)
        shmem_long_p(&words[0], i, next);
    shmem_barrier_all();
    shmem_pcontrol(2, "any more");
    shmemx_phase("");
    shmemx_phase("signals");
    CHECK(shmem_long_g(&words[0], next) == 99);
    shmem_long_put_signal(&words[4], block, 4, &sig, 1, SHMEM_SIGNAL_SET, next);
    CHECK(shmem_signal_wait_until(&sig, SHMEM_CMP_EQ, 1) == 1);
    shmem_pcontrol(7); /* no level of this library */
    shmem_barrier_all();
    CHECK(words[1] == 1 && words[7] == 4);
    shmemx_phase(NULL);
    shmem_finalize();
    shmem_pcontrol(1);
    shmemx_phase("too late");
    printf("PE %d of %d: ok\n", me, n);
    return 0;
}
