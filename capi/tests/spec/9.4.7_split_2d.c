/* 9.4.7, example 12: two splits in two dimensions place the PEs in a box. */
#include "../c/check.h"

/* Two factors of n that are near each other; the first is at most the square root, rounded up. */
static void two_factors(int n, int *x, int *y) {
    int d = 1;
    while (d * d < n)
        d++;
    while (n % d != 0)
        d--;
    *x = d;
    *y = n / d;
}

/* Three of them; the first is at most the cube root, rounded up. */
static void three_factors(int n, int *x, int *y, int *z) {
    int d = 1;
    while (d * d * d < n)
        d++;
    while (n % d != 0)
        d--;
    *x = d;
    two_factors(n / d, y, z);
}

int main(void) {
    int xs, ys, zs;
    three_factors(12, &xs, &ys, &zs);
    shmem_init();
    CHECK(xs == 3 && ys == 2 && zs == 2);
    int me = shmem_my_pe(), n = shmem_n_pes();
    three_factors(n, &xs, &ys, &zs);
    CHECK(xs * ys * zs == n);
    if (me == 0)
        printf("%d by %d by %d PEs\n", xs, ys, zs);

    shmem_team_t row, plane, column, pile;
    CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, xs, NULL, 0, &row, NULL, 0, &plane) == 0);
    /* The plane can be used at once, and is not needed after it is split. */
    CHECK(shmem_team_split_2d(plane, ys, NULL, 0, &column, NULL, 0, &pile) == 0);
    shmem_team_destroy(plane);
    CHECK(shmem_team_n_pes(row) == xs && shmem_team_n_pes(column) == ys && shmem_team_n_pes(pile) == zs);

    int x = shmem_team_my_pe(row), y = shmem_team_my_pe(column), z = shmem_team_my_pe(pile);
    CHECK(x + xs * (y + ys * z) == me);
    /* Neighbours along each dimension. */
    for (int i = 0; i < xs; i++)
        CHECK(shmem_team_translate_pe(row, i, SHMEM_TEAM_WORLD) == i + xs * (y + ys * z));
    for (int i = 0; i < ys; i++)
        CHECK(shmem_team_translate_pe(column, i, SHMEM_TEAM_WORLD) == x + xs * (i + ys * z));
    for (int i = 0; i < zs; i++)
        CHECK(shmem_team_translate_pe(pile, i, SHMEM_TEAM_WORLD) == x + xs * (y + ys * i));

    /* They print one after the other. */
    for (int k = 0; k < zs; k++)
        for (int j = 0; j < ys; j++)
            for (int i = 0; i < xs; i++) {
                if (i == x && j == y && k == z)
                    printf("PE %d is at (%d, %d, %d)\n", me, x, y, z);
                CHECK(shmem_team_sync(SHMEM_TEAM_WORLD) == 0);
            }
    shmem_team_destroy(pile);
    shmem_team_destroy(column);
    shmem_team_destroy(row);
    shmem_finalize();
    return 0;
}
