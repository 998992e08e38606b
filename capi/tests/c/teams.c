/* Teams: §9.4, and §9.1.10. */
#include "check.h"

/* What is true of a team whose PE i is PE `start + stride * i` of the world. */
static void is_strided(shmem_team_t team, int start, int stride, int size) {
    int me = shmem_my_pe(), n = shmem_n_pes();
    CHECK(team != SHMEM_TEAM_INVALID);
    CHECK(shmem_team_n_pes(team) == size);
    CHECK(start + stride * shmem_team_my_pe(team) == me);
    static long word;
    word = 1000 + me;
    CHECK(shmem_team_sync(team) == 0);
    for (int i = 0; i < size; i++) {
        int pe = start + stride * i;
        CHECK(shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD) == pe);
        CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, team) == i);
        long *there = (long *)shmem_team_ptr(team, &word, i);
        int near = shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, SHMEM_TEAM_SHARED) >= 0;
        CHECK((there != NULL) == near && (!near || *there == 1000 + pe));
    }
    for (int pe = 0; pe < n; pe++) {
        int i = stride == 0 ? 0 : (pe - start) / stride;
        if (start + stride * i != pe || i < 0 || i >= size)
            CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, team) == -1);
    }
    CHECK(shmem_team_translate_pe(team, size, SHMEM_TEAM_WORLD) == -1);
    CHECK(shmem_team_translate_pe(team, -1, SHMEM_TEAM_WORLD) == -1);
    CHECK(shmem_team_ptr(team, &word, size) == NULL && shmem_team_ptr(team, &word, -1) == NULL);
    CHECK(shmem_team_ptr(team, &start, 0) == NULL);
    CHECK(shmem_team_is_valid(team) == 1);
    CHECK(shmem_team_sync(team) == 0);
}

static int size_of(int start, int stride, int n) {
    return stride > 0 ? (n - start + stride - 1) / stride : stride < 0 ? start / -stride + 1 : 1;
}

static void strided(void) {
    int me = shmem_my_pe(), n = shmem_n_pes();
    for (int start = 0; start < n; start++)
        for (int stride = -n; stride <= n; stride++)
            for (int size = 1; size <= size_of(start, stride, n); size++) {
                shmem_team_t team = SHMEM_TEAM_WORLD;
                CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, size, NULL, 0, &team) == 0);
                int in = 0;
                for (int i = 0; i < size; i++) in |= start + stride * i == me;
                if (in)
                    is_strided(team, start, stride, size);
                else
                    CHECK(team == SHMEM_TEAM_INVALID);
                shmem_team_destroy(team);
            }
    /* Triplets that name no team, on all PEs. */
    int wrong[][3] = {{0, 1, 0}, {0, 1, n + 1}, {0, 1, -1}, {-1, 1, 1}, {n, 1, 1},
                      {0, -1, 2}, {n - 1, 1, 2}, {0, 0, 2}, {0, 2147483647, 2147483647}};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        shmem_team_t team = SHMEM_TEAM_WORLD;
        int *it = wrong[i];
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, it[0], it[1], it[2], NULL, 0, &team) != 0);
        CHECK(team == SHMEM_TEAM_INVALID);
    }
}

static void planes(void) {
    int me = shmem_my_pe(), n = shmem_n_pes();
    for (int xrange = 1; xrange <= n + 2; xrange++) {
        int width = xrange < n ? xrange : n, x = me % width, y = me / width;
        shmem_team_t row, column;
        CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, xrange, NULL, 0, &row, NULL, 0, &column) == 0);
        int last = n - y * width;
        is_strided(row, y * width, 1, width < last ? width : last);
        is_strided(column, x, width, (n - x + width - 1) / width);
        CHECK(shmem_team_my_pe(row) == x && shmem_team_my_pe(column) == y);
        CHECK(shmem_team_translate_pe(row, x, column) == y);
        shmem_team_destroy(column);
        shmem_team_destroy(row);
    }
    for (int xrange = 0; xrange > -3; xrange--) {
        shmem_team_t row = SHMEM_TEAM_WORLD, column = SHMEM_TEAM_WORLD;
        CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, xrange, NULL, 0, &row, NULL, 0, &column) != 0);
        CHECK(row == SHMEM_TEAM_INVALID && column == SHMEM_TEAM_INVALID);
    }
}

static void configurations(void) {
    int n = shmem_n_pes();
    shmem_team_config_t config = {7}, got = {-1};
    shmem_team_t team, row, column;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, &config, SHMEM_TEAM_NUM_CONTEXTS, &team) == 0);
    CHECK(shmem_team_get_config(team, 0, NULL) == 0);
    CHECK(shmem_team_get_config(team, 0, &got) == 0 && got.num_contexts == -1);
    CHECK(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &got) == 0 && got.num_contexts == 7);
    shmem_team_destroy(team);
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, &config, 0, &team) == 0);
    CHECK(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &got) == 0 && got.num_contexts == 0);
    shmem_team_config_t other = {3};
    CHECK(shmem_team_split_2d(team, n, &config, SHMEM_TEAM_NUM_CONTEXTS, &row, &other, SHMEM_TEAM_NUM_CONTEXTS,
                              &column) == 0);
    CHECK(shmem_team_get_config(row, SHMEM_TEAM_NUM_CONTEXTS, &got) == 0 && got.num_contexts == 7);
    CHECK(shmem_team_get_config(column, SHMEM_TEAM_NUM_CONTEXTS, &got) == 0 && got.num_contexts == 3);
    shmem_team_destroy(row);
    shmem_team_destroy(team);
    /* Its parent is no more. */
    is_strided(column, shmem_my_pe(), 1, 1);
    shmem_team_destroy(column);
    CHECK(shmem_team_get_config(SHMEM_TEAM_WORLD, SHMEM_TEAM_NUM_CONTEXTS, &got) == 0);
    got.num_contexts = 11;
    CHECK(shmem_team_get_config(SHMEM_TEAM_INVALID, SHMEM_TEAM_NUM_CONTEXTS, &got) != 0);
    CHECK(got.num_contexts == 11);
}

static void invalid(void) {
    shmem_team_t none = SHMEM_TEAM_INVALID, a = SHMEM_TEAM_WORLD, b = SHMEM_TEAM_WORLD;
    static long word;
    CHECK(shmem_team_my_pe(none) == -1 && shmem_team_n_pes(none) == -1);
    CHECK(shmem_team_translate_pe(none, 0, SHMEM_TEAM_WORLD) == -1);
    CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, none) == -1);
    CHECK(shmem_team_split_strided(none, 0, 1, 1, NULL, 0, &a) != 0 && a == SHMEM_TEAM_INVALID);
    a = SHMEM_TEAM_WORLD;
    CHECK(shmem_team_split_2d(none, 1, NULL, 0, &a, NULL, 0, &b) != 0);
    CHECK(a == SHMEM_TEAM_INVALID && b == SHMEM_TEAM_INVALID);
    CHECK(shmem_team_ptr(none, &word, 0) == NULL && shmem_team_is_valid(none) == 0);
    CHECK(shmem_team_sync(none) != 0);
    shmem_team_destroy(none);
}

/* Teams of teams of teams, and many one after the other. */
static void nested(void) {
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_team_t evens, fours, team;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, NULL, 0, &evens) == 0);
    CHECK((evens != SHMEM_TEAM_INVALID) == (me % 2 == 0));
    int size = (n + 1) / 2;
    int status = shmem_team_split_strided(evens, size - 1, -2, (size + 1) / 2, NULL, 0, &fours);
    CHECK((status == 0) == (me % 2 == 0));
    if (fours != SHMEM_TEAM_INVALID) is_strided(fours, 2 * (size - 1), -4, (size + 1) / 2);
    shmem_team_destroy(fours);
    shmem_team_destroy(evens);
    for (int i = 0; i < 1000; i++) {
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, i % n, 1, n - i % n, NULL, 0, &team) == 0);
        if (team != SHMEM_TEAM_INVALID) CHECK(shmem_team_sync(team) == 0);
        shmem_team_destroy(team);
    }
}

int main(void) {
    shmem_init();
    int n = shmem_n_pes();
    is_strided(SHMEM_TEAM_WORLD, 0, 1, n);
    if (getenv("SHMEM_FAKE_HOSTS") == NULL) is_strided(SHMEM_TEAM_SHARED, 0, 1, n); /* all on one host */
    strided();
    planes();
    configurations();
    invalid();
    nested();
    shmem_finalize();
    return 0;
}
