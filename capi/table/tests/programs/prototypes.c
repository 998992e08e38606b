/* The address of routines in pointers whose types were written down from the specification, not from the table. */
#include <shmem.h>
#include <shmemx.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 9.1, 9.2 */
void (*init)(void) = shmem_init;
int (*my_pe_)(void) = _my_pe;
void (*query_initialized)(int *) = shmem_query_initialized;
void (*global_exit_)(int) = shmem_global_exit;
int (*pe_accessible)(int) = shmem_pe_accessible;
int (*addr_accessible)(const void *, int) = shmem_addr_accessible;
void *(*ptr)(const void *, int) = shmem_ptr;
void *(*team_ptr)(shmem_team_t, const void *, int) = shmem_team_ptr;
void (*info_get_version)(int *, int *) = shmem_info_get_version;
void (*info_get_name)(char *) = shmem_info_get_name;
void (*start_pes_)(int) = start_pes;
int (*init_thread)(int, int *) = shmem_init_thread;
void (*query_thread)(int *) = shmem_query_thread;

/* 9.3 */
void *(*malloc_)(size_t) = shmem_malloc;
void (*free_)(void *) = shmem_free;
void *(*realloc_)(void *, size_t) = shmem_realloc;
void *(*align_)(size_t, size_t) = shmem_align;
void *(*memalign_)(size_t, size_t) = shmemalign;
void *(*malloc_with_hints)(size_t, long) = shmem_malloc_with_hints;
void *(*calloc_)(size_t, size_t) = shmem_calloc;

/* 9.4 */
int (*team_my_pe)(shmem_team_t) = shmem_team_my_pe;
int (*team_get_config)(shmem_team_t, long, shmem_team_config_t *) = shmem_team_get_config;
int (*team_translate_pe)(shmem_team_t, int, shmem_team_t) = shmem_team_translate_pe;
int (*team_split_strided)(shmem_team_t, int, int, int, const shmem_team_config_t *, long,
                          shmem_team_t *) = shmem_team_split_strided;
int (*team_split_2d)(shmem_team_t, int, const shmem_team_config_t *, long, shmem_team_t *,
                     const shmem_team_config_t *, long, shmem_team_t *) = shmem_team_split_2d;
void (*team_destroy)(shmem_team_t) = shmem_team_destroy;

/* 9.5, 9.9 */
int (*ctx_create)(long, shmem_ctx_t *) = shmem_ctx_create;
int (*team_create_ctx)(shmem_team_t, long, shmem_ctx_t *) = shmem_team_create_ctx;
void (*ctx_destroy)(shmem_ctx_t) = shmem_ctx_destroy;
int (*ctx_get_team)(shmem_ctx_t, shmem_team_t *) = shmem_ctx_get_team;
void (*session_start)(shmem_ctx_t, long, const shmem_ctx_session_config_t *, long) = shmem_ctx_session_start;
void (*session_stop)(shmem_ctx_t) = shmem_ctx_session_stop;

/* 9.6 */
void (*put)(long double *, const long double *, size_t, int) = shmem_longdouble_put;
void (*ctx_put)(shmem_ctx_t, signed char *, const signed char *, size_t, int) = shmem_ctx_schar_put;
void (*p)(ptrdiff_t *, ptrdiff_t, int) = shmem_ptrdiff_p;
void (*iput)(short *, const short *, ptrdiff_t, ptrdiff_t, size_t, int) = shmem_short_iput;
void (*ctx_iput128)(shmem_ctx_t, void *, const void *, ptrdiff_t, ptrdiff_t, size_t, int) = shmem_ctx_iput128;
void (*ibput)(uint8_t *, const uint8_t *, ptrdiff_t, ptrdiff_t, size_t, size_t, int) = shmem_uint8_ibput;
void (*ibget64)(void *, const void *, ptrdiff_t, ptrdiff_t, size_t, size_t, int) = shmem_ibget64;
void (*getmem)(void *, const void *, size_t, int) = shmem_getmem;
unsigned long long (*ctx_g)(shmem_ctx_t, const unsigned long long *, int) = shmem_ctx_ulonglong_g;
void (*put16_nbi)(void *, const void *, size_t, int) = shmem_put16_nbi;
void (*get_nbi)(size_t *, const size_t *, size_t, int) = shmem_size_get_nbi;

/* 9.7 */
float (*atomic_fetch)(const float *, int) = shmem_float_atomic_fetch;
void (*ctx_atomic_set)(shmem_ctx_t, double *, double, int) = shmem_ctx_double_atomic_set;
int64_t (*compare_swap)(int64_t *, int64_t, int64_t, int) = shmem_int64_atomic_compare_swap;
unsigned int (*fetch_inc)(unsigned int *, int) = shmem_uint_atomic_fetch_inc;
void (*atomic_xor)(uint32_t *, uint32_t, int) = shmem_uint32_atomic_xor;
void (*fetch_nbi)(long *, const long *, int) = shmem_long_atomic_fetch_nbi;
void (*compare_swap_nbi)(shmem_ctx_t, int *, int *, int, int, int) = shmem_ctx_int_atomic_compare_swap_nbi;
void (*fetch_or_nbi)(int32_t *, int32_t *, int32_t, int) = shmem_int32_atomic_fetch_or_nbi;
long long (*cswap)(long long *, long long, long long, int) = shmem_longlong_cswap;
void (*inc)(int *, int) = shmem_int_inc;

/* 9.8 */
void (*put_signal)(char *, const char *, size_t, uint64_t *, uint64_t, int, int) = shmem_char_put_signal;
void (*put_signal_nbi)(shmem_ctx_t, void *, const void *, size_t, uint64_t *, uint64_t, int,
                       int) = shmem_ctx_put32_signal_nbi;
void (*signal_add)(uint64_t *, uint64_t, int) = shmem_signal_add;
void (*ctx_signal_set)(shmem_ctx_t, uint64_t *, uint64_t, int) = shmem_ctx_signal_set;
uint64_t (*signal_fetch)(const uint64_t *) = shmem_signal_fetch;

/* 9.10 */
void (*barrier)(int, int, int, long *) = shmem_barrier;
void (*sync_)(int, int, int, long *) = shmem_sync;
int (*team_sync)(shmem_team_t) = shmem_team_sync;
int (*alltoalls)(shmem_team_t, double *, const double *, ptrdiff_t, ptrdiff_t, size_t) = shmem_double_alltoalls;
void (*alltoalls64)(void *, const void *, ptrdiff_t, ptrdiff_t, size_t, int, int, int,
                    long *) = shmem_alltoalls64;
int (*broadcast)(shmem_team_t, int *, const int *, size_t, int) = shmem_int_broadcast;
void (*broadcast32)(void *, const void *, size_t, int, int, int, int, long *) = shmem_broadcast32;
int (*collectmem)(shmem_team_t, void *, const void *, size_t) = shmem_collectmem;
void (*fcollect64)(void *, const void *, size_t, int, int, int, long *) = shmem_fcollect64;
int (*or_reduce)(shmem_team_t, unsigned char *, const unsigned char *, size_t) = shmem_uchar_or_reduce;
void (*max_to_all)(long double *, const long double *, int, int, int, int, long double *,
                   long *) = shmem_longdouble_max_to_all;
int (*exscan)(shmem_team_t, uint16_t *, const uint16_t *, size_t) = shmem_uint16_sum_exscan;
#ifndef __cplusplus
int (*sum_reduce)(shmem_team_t, double _Complex *, const double _Complex *, size_t) = shmem_complexd_sum_reduce;
void (*prod_to_all)(float _Complex *, const float _Complex *, int, int, int, int, float _Complex *,
                    long *) = shmem_complexf_prod_to_all;
#endif

/* 9.11 */
void (*wait_until)(long *, int, long) = shmem_wait_until;
void (*short_wait_until)(unsigned short *, int, unsigned short) = shmem_ushort_wait_until;
void (*wait_)(long *, long) = shmem_wait;
void (*until_all)(int *, size_t, const int *, int, int) = shmem_int_wait_until_all;
size_t (*until_some)(long *, size_t, size_t *, const int *, int, long) = shmem_long_wait_until_some;
size_t (*until_any_vector)(uint64_t *, size_t, const int *, int,
                           const uint64_t *) = shmem_uint64_wait_until_any_vector;
int (*test)(size_t *, int, size_t) = shmem_size_test;
int (*test_all)(int *, size_t, const int *, int, int) = shmem_int_test_all;
size_t (*test_some_vector)(int *, size_t, size_t *, const int *, int,
                           const int *) = shmem_int_test_some_vector;
uint64_t (*signal_wait_until)(uint64_t *, int, uint64_t) = shmem_signal_wait_until;

/* 9.12, 9.13, 10 */
void (*ctx_fence)(shmem_ctx_t) = shmem_ctx_fence;
void (*pe_quiet)(const int *, size_t) = shmem_pe_quiet;
void (*set_lock)(long *) = shmem_set_lock;
int (*test_lock)(long *) = shmem_test_lock;
void (*pcontrol)(int, ...) = shmem_pcontrol;

/* The proposals. */
int (*space_is_available)(shmem_space_t) = shmem_space_is_available;
void *(*space_calloc)(shmem_space_t, size_t, size_t) = shmem_space_calloc;
void (*space_free)(shmem_space_t, void *) = shmem_space_free;
int (*get_space)(void *, shmem_space_t *) = shmem_get_space;
void *(*kind_malloc)(size_t, int) = shmemx_kind_malloc;
void *(*kind_align)(size_t, size_t, int) = shmemx_kind_align;

#ifdef __cplusplus
}
#endif
