/* Collectives on teams that move data, for each type: §9.10.3, §9.10.5 to §9.10.8. */
#include "collective_types.h"

/* The tests of one type, with its routines and what C11 finds for its pointers. */
#define TESTS(NAME, T, ALLTOALL, ALLTOALLS, BROADCAST, COLLECT, FCOLLECT) \
    static void NAME##_alltoall(shmem_team_t team) { \
        int me = shmem_team_my_pe(team), n = shmem_team_n_pes(team); \
        T *source = (T *)source_memory, *dest = dest_memory; \
        for (int generic = 0; generic < 2; generic++) { \
            for (int i = 0; i < n * COUNT; i++) { \
                source[i] = VALUE(T, me, i + generic); \
                dest[i] = 0; \
            } \
            dest[n * COUNT] = 1; \
            CHECK(shmem_team_sync(team) == 0); \
            if (generic) \
                CHECK(shmem_alltoall(team, dest, source, COUNT) == 0); \
            else \
                CHECK(ALLTOALL(team, dest, source, COUNT) == 0); \
            for (int pe = 0; pe < n; pe++) \
                for (int i = 0; i < COUNT; i++) \
                    CHECK(dest[pe * COUNT + i] == VALUE(T, pe, me * COUNT + i + generic)); \
            CHECK(dest[n * COUNT] == 1); \
            CHECK(shmem_team_sync(team) == 0); \
        } \
        CHECK(ALLTOALL(team, dest, source, 0) == 0); \
        CHECK(ALLTOALL(SHMEM_TEAM_INVALID, dest, source, COUNT) != 0); \
    } \
    static void NAME##_alltoalls(shmem_team_t team) { \
        int me = shmem_team_my_pe(team), n = shmem_team_n_pes(team); \
        T *source = (T *)source_memory, *dest = dest_memory; \
        for (int generic = 0; generic < 2; generic++) { \
            for (int i = 0; i < n * COUNT; i++) \
                for (int j = 0; j < 3; j++) source[3 * i + j] = VALUE(T, me, j == 0 ? i + generic : 999); \
            for (int i = 0; i < 2 * n * COUNT; i++) dest[i] = 1; \
            CHECK(shmem_team_sync(team) == 0); \
            if (generic) \
                CHECK(shmem_alltoalls(team, dest, source, 2, 3, COUNT) == 0); \
            else \
                CHECK(ALLTOALLS(team, dest, source, 2, 3, COUNT) == 0); \
            for (int pe = 0; pe < n; pe++) \
                for (int i = 0; i < COUNT; i++) { \
                    CHECK(dest[2 * (pe * COUNT + i)] == VALUE(T, pe, me * COUNT + i + generic)); \
                    CHECK(dest[2 * (pe * COUNT + i) + 1] == 1); \
                } \
            CHECK(shmem_team_sync(team) == 0); \
        } \
        CHECK(ALLTOALLS(team, dest, source, 1, 1, 0) == 0); \
        CHECK(ALLTOALLS(SHMEM_TEAM_INVALID, dest, source, 2, 3, COUNT) != 0); \
    } \
    static void NAME##_broadcast(shmem_team_t team) { \
        int me = shmem_team_my_pe(team), n = shmem_team_n_pes(team); \
        T *source = (T *)source_memory, *dest = dest_memory; \
        for (int i = 0; i < COUNT; i++) source[i] = VALUE(T, me, i); \
        for (int root = 0; root < n; root++) { \
            for (int i = 0; i < COUNT; i++) dest[i] = 0; \
            dest[COUNT] = 1; \
            CHECK(shmem_sync(team) == 0); \
            if (root % 2) \
                CHECK(shmem_broadcast(team, dest, source, COUNT, root) == 0); \
            else \
                CHECK(BROADCAST(team, dest, source, COUNT, root) == 0); \
            for (int i = 0; i < COUNT; i++) CHECK(dest[i] == VALUE(T, root, i)); \
            CHECK(dest[COUNT] == 1); \
            CHECK(shmem_team_sync(team) == 0); \
        } \
        CHECK(BROADCAST(team, source, source, COUNT, n - 1) == 0); \
        for (int i = 0; i < COUNT; i++) CHECK(source[i] == VALUE(T, n - 1, i)); \
        CHECK(BROADCAST(SHMEM_TEAM_INVALID, dest, source, COUNT, 0) != 0); \
        CHECK(shmem_team_sync(team) == 0); \
    } \
    static void NAME##_collect(shmem_team_t team) { \
        int me = shmem_team_my_pe(team), n = shmem_team_n_pes(team); \
        T *source = (T *)source_memory, *dest = dest_memory; \
        for (int generic = 0; generic < 2; generic++) { \
            int total = 0, at = 0; \
            for (int pe = 0; pe < n; pe++) total += (pe + generic) % 3; \
            for (int i = 0; i < 3; i++) source[i] = VALUE(T, me, i); \
            for (int i = 0; i <= total; i++) dest[i] = 1; \
            CHECK(shmem_team_sync(team) == 0); \
            if (generic) \
                CHECK(shmem_collect(team, dest, source, (size_t)(me + 1) % 3) == 0); \
            else \
                CHECK(COLLECT(team, dest, source, (size_t)me % 3) == 0); \
            for (int pe = 0; pe < n; pe++) \
                for (int i = 0; i < (pe + generic) % 3; i++) CHECK(dest[at++] == VALUE(T, pe, i)); \
            CHECK(dest[total] == 1); \
            CHECK(shmem_team_sync(team) == 0); \
        } \
        CHECK(COLLECT(SHMEM_TEAM_INVALID, dest, source, 1) != 0); \
    } \
    static void NAME##_fcollect(shmem_team_t team) { \
        int me = shmem_team_my_pe(team), n = shmem_team_n_pes(team); \
        T *source = (T *)source_memory, *dest = dest_memory; \
        for (int generic = 0; generic < 2; generic++) { \
            for (int i = 0; i < COUNT; i++) source[i] = VALUE(T, me, i + generic); \
            for (int i = 0; i <= n * COUNT; i++) dest[i] = 1; \
            CHECK(shmem_team_sync(team) == 0); \
            if (generic) \
                CHECK(shmem_fcollect(team, dest, source, COUNT) == 0); \
            else \
                CHECK(FCOLLECT(team, dest, source, COUNT) == 0); \
            for (int pe = 0; pe < n; pe++) \
                for (int i = 0; i < COUNT; i++) CHECK(dest[pe * COUNT + i] == VALUE(T, pe, i + generic)); \
            CHECK(dest[n * COUNT] == 1); \
            CHECK(shmem_team_sync(team) == 0); \
        } \
        CHECK(FCOLLECT(SHMEM_TEAM_INVALID, dest, source, COUNT) != 0); \
    } \
    static void NAME##_tests(shmem_team_t team) { \
        NAME##_alltoall(team); \
        NAME##_alltoalls(team); \
        NAME##_broadcast(team); \
        NAME##_collect(team); \
        NAME##_fcollect(team); \
    }

#define TYPED(NAME, T) \
    TESTS(NAME, T, shmem_##NAME##_alltoall, shmem_##NAME##_alltoalls, shmem_##NAME##_broadcast, \
          shmem_##NAME##_collect, shmem_##NAME##_fcollect)
ORDERED_TYPES(TYPED)
TESTS(mem, unsigned char, shmem_alltoallmem, shmem_alltoallsmem, shmem_broadcastmem, shmem_collectmem,
      shmem_fcollectmem)

/* More than what fits into the library's own memory. */
static void large(void) {
    enum { EACH = 70000 };
    int me = shmem_my_pe(), n = shmem_n_pes();
    double *source = shmem_malloc((size_t)n * EACH * sizeof *source);
    double *dest = shmem_malloc((size_t)n * EACH * sizeof *dest);
    CHECK(source != NULL && dest != NULL);
    for (int i = 0; i < n * EACH; i++) source[i] = VALUE(double, me, i);
    CHECK(shmem_double_alltoall(SHMEM_TEAM_WORLD, dest, source, EACH) == 0);
    for (int pe = 0; pe < n; pe++)
        for (int i = 0; i < EACH; i += 7) CHECK(dest[pe * EACH + i] == VALUE(double, pe, me * EACH + i));
    shmem_barrier_all();
    CHECK(shmem_double_broadcast(SHMEM_TEAM_WORLD, dest, source, EACH, n - 1) == 0);
    for (int i = 0; i < EACH; i += 7) CHECK(dest[i] == VALUE(double, n - 1, i));
    shmem_barrier_all();
    CHECK(shmem_double_fcollect(SHMEM_TEAM_WORLD, dest, source, EACH) == 0);
    for (int pe = 0; pe < n; pe++)
        for (int i = 0; i < EACH; i += 7) CHECK(dest[pe * EACH + i] == VALUE(double, pe, i));
    shmem_barrier_all();
    CHECK(shmem_double_collect(SHMEM_TEAM_WORLD, dest, source, (size_t)(EACH - me)) == 0);
    for (int pe = 0, at = 0; pe < n; at += EACH - pe, pe++)
        for (int i = 0; i < EACH - pe; i += 7) CHECK(dest[at + i] == VALUE(double, pe, i));
    shmem_free(dest);
    shmem_free(source);
}

int main(void) {
    shmem_init();
#define RUN(NAME, T) on_teams(NAME##_tests);
    ORDERED_TYPES(RUN)
    on_teams(mem_tests);
    large();
    shmem_sync_all();
    CHECK(shmem_team_sync(SHMEM_TEAM_WORLD) == 0 && shmem_team_sync(SHMEM_TEAM_INVALID) != 0);
    shmem_finalize();
    return 0;
}
