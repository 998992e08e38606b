/* 9.1.1, example 5: initialization, and a put of one value. */
#include "../c/check.h"

int main(void) {
    static int target = 0;
    shmem_init();
    int me = shmem_my_pe(), receiver = 1 % shmem_n_pes();
    if (me == 0) {
        int value = 33;
        shmem_put(&target, &value, 1, receiver);
    }
    shmem_barrier_all();
    if (me == receiver)
        printf("PE %d: %d of 33\n", me, target);
    CHECK(target == (me == receiver ? 33 : 0));
    shmem_finalize();
    return 0;
}
