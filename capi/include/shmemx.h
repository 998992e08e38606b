/* shmemx.h: extensions to OpenSHMEM: the memory-kinds proposal.
 * Written by `cargo xtask headers` from the table in capi/table. Do not edit.
 */
#ifndef SHMEMX_H
#define SHMEMX_H

#include "shmem.h"

#define SHMEMX_MAX_PARTITIONS 7 /* how many partitions of the symmetric heap there may be */
#define SHMEMX_MAX_PARTITION_ID 127 /* greatest number of a partition */
#define SHMEMX_SPACE_RMA 1L /* capability of a space: put and get */
#define SHMEMX_SPACE_ATOMICS 2L /* capability of a space: atomics and signals */
#define SHMEMX_SPACE_COLLECTIVES 4L /* capability of a space: collectives */
#define SHMEMX_SPACE_DIRECT_ACCESS 8L /* capability of a space: loads and stores, as through shmem_ptr */
#define SHMEMX_SPACE_WORLD_ACCESS 16L /* capability of a space: all PEs have it */

#ifdef __cplusplus
extern "C" {
#endif

/* shmemx_space_capabilities: tells what can be done with the memory of a space (memory space capabilities). */
SHMEM_IMPL_NOPLT long shmemx_space_capabilities(shmem_space_t space);

/* shmemx_kind_malloc: allocates symmetric memory in a partition (memory kinds). */
SHMEM_IMPL_NOPLT void *shmemx_kind_malloc(size_t size, int partition_id);

/* shmemx_kind_align: allocates symmetric memory in a partition, at a multiple of an alignment (memory kinds). */
SHMEM_IMPL_NOPLT void *shmemx_kind_align(size_t alignment, size_t size, int partition_id);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* SHMEMX_H */
