/* mpp/shmemx.h: where SGI SHMEM had it; deprecated since OpenSHMEM 1.1.
 * Written by `cargo xtask headers` from the table in capi/table. Do not edit.
 */
#include "../shmemx.h"
