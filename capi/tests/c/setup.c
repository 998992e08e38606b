/* Queries: which PE this is, what it can reach, what this library is. */
#include "check.h"
#include <string.h>

static long cell;

int main(void) {
    long local = 0;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    CHECK(me >= 0 && me < n && _my_pe() == me && _num_pes() == n);

    /* Every PE is there once. */
    long *seen = (long *)shmem_calloc((size_t)n, sizeof *seen);
    CHECK(seen != NULL);
    for (int pe = 0; pe < n; pe++) {
        CHECK(shmem_pe_accessible(pe));
        shmem_long_p(&seen[me], 1 + me, pe);
    }
    shmem_barrier_all();
    for (int pe = 0; pe < n; pe++) {
        CHECK(seen[pe] == 1 + pe);
    }
    CHECK(!shmem_pe_accessible(n) && !shmem_pe_accessible(-1));

    for (int pe = 0; pe < n; pe++) {
        CHECK(shmem_addr_accessible(&cell, pe) && shmem_addr_accessible(&seen[n - 1], pe));
        CHECK(!shmem_addr_accessible(&local, pe) && !shmem_addr_accessible(NULL, pe));
        int near = shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, SHMEM_TEAM_SHARED) >= 0;
        CHECK((shmem_ptr(&cell, pe) != NULL) == near && shmem_ptr(&local, pe) == NULL);
    }
    CHECK(!shmem_addr_accessible(&cell, n) && shmem_ptr(&cell, n) == NULL && shmem_ptr(&cell, -1) == NULL);

    int major = -1, minor = -1;
    char name[SHMEM_MAX_NAME_LEN];
    memset(name, 1, sizeof name);
    shmem_info_get_version(&major, &minor);
    shmem_info_get_name(name);
    CHECK(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION);
    CHECK(major == 1 && minor == 6);
    CHECK(memchr(name, 0, sizeof name) != NULL && strcmp(name, SHMEM_VENDOR_STRING) == 0);

    int provided = -1;
    shmem_query_thread(&provided);
    CHECK(provided >= SHMEM_THREAD_SINGLE && provided <= SHMEM_THREAD_MULTIPLE);

    shmem_barrier_all();
    shmem_free(seen);
    shmem_finalize();
    return 0;
}
