/* Predefined handles as the first values of static variables. */
#include <shmem.h>

static shmem_ctx_t ctx[] = {SHMEM_CTX_DEFAULT, SHMEM_CTX_INVALID};
static shmem_team_t team[] = {SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED, SHMEM_TEAM_INVALID};
static shmem_space_t space = SHMEM_SPACE_INVALID;

int holds(shmem_ctx_t one, shmem_team_t other);
int holds(shmem_ctx_t one, shmem_team_t other) {
    int spaces = space == SHMEM_SPACE_GPU || SHMEM_TEAM_CPU == SHMEM_TEAM_INVALID;
    return ctx[0] == one || ctx[1] != SHMEM_CTX_INVALID || team[2] == other || spaces;
}
