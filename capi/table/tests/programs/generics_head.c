/* What a routine notes when it is called, and what is checked then. */
#include <shmem.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
#define LINKAGE extern "C"
#else
#define LINKAGE
#endif

static const char *taken;
static int right, faults;

static void note(const char *name, int all) {
    taken = name;
    right = all;
}

static void check(const char *name, const char *call) {
    if (taken == NULL || strcmp(taken, name) != 0 || !right) {
        fprintf(stderr, "%s calls %s, %s\n", call, taken ? taken : "nothing", right ? "rightly" : "wrongly");
        faults += 1;
    }
    taken = NULL;
}

