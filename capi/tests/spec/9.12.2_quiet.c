/* 9.12.2, example 46: a quiet completes puts, so that gets and later puts come after them. */
#include "../c/check.h"

int main(void) {
    static long dest[3];
    static long source[3] = {1, 2, 3};
    static int target;
    static int value = 90;
    long x[3] = {0};
    int y = 0;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), one = 1 % n, two = 2 % n;
    if (me == 0) {
        shmem_put(dest, source, 3, one);
        shmem_put(&target, &value, 1, two);
        shmem_quiet();
        shmem_get(x, dest, 3, one);
        shmem_get(&y, &target, 1, two);
        printf("x: %ld, %ld, %ld; y: %d\n", x[0], x[1], x[2], y);
        CHECK(x[0] == 1 && x[1] == 2 && x[2] == 3 && y == 90);
        value = 91;
        shmem_put(&target, &value, 1, one);
        shmem_put(&target, &value, 1, two);
    }
    shmem_barrier_all();
    CHECK(target == (me == one || me == two ? 91 : 0));
    for (int i = 0; i < 3; i++)
        CHECK(dest[i] == (me == one ? i + 1 : 0));
    shmem_finalize();
    return 0;
}
