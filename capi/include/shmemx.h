/* shmemx.h: extensions to OpenSHMEM: the memory-kinds proposal.
 * Written by `cargo xtask headers` from the table in capi/table. Do not edit.
 */
#ifndef SHMEMX_H
#define SHMEMX_H

#include "shmem.h"

#define SHMEMX_MAX_PARTITIONS 7 /* how many partitions of the symmetric heap there may be */
#define SHMEMX_MAX_PARTITION_ID 127 /* greatest number of a partition */

#ifdef __cplusplus
extern "C" {
#endif

/* shmemx_kind_malloc: allocates symmetric memory in a partition (memory kinds). */
void *shmemx_kind_malloc(size_t size, int partition_id);

/* shmemx_kind_align: allocates symmetric memory in a partition, at a multiple of an alignment (memory kinds). */
void *shmemx_kind_align(size_t alignment, size_t size, int partition_id);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* SHMEMX_H */
