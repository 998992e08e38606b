/* What conformance programs share: a check that ends the job, and a seed of their own for each PE. */
#ifndef CHECK_H
#define CHECK_H
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends the job with the line, unless the condition holds. */
#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "PE %d: %s:%d: not so: %s\n", shmem_my_pe(), __FILE__, __LINE__, #condition); \
            shmem_global_exit(3); \
        } \
    } while (0)
#endif
