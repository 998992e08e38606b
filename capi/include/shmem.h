/* shmem.h: OpenSHMEM 1.6 for C99, C11 and later, and C++11 and later.
 * Written by `cargo xtask headers` from the table in capi/table. Do not edit.
 *
 * Macros that a program may define before it includes this header:
 *   SHMEM_WARN_DEPRECATED  the compiler warns where a deprecated routine is used
 *   SHMEM_NO_GENERICS      leaves the generic forms out: C11 macros, C++ overloads
 */
#ifndef SHMEM_H
#define SHMEM_H

#include <stddef.h>
#include <stdint.h>

/* Constants: section 6. */
#define SHMEM_MAJOR_VERSION 1 /* major version of the specification */
#define SHMEM_MINOR_VERSION 6 /* minor version of the specification */
#define SHMEM_MAX_NAME_LEN 256 /* bytes that SHMEM_VENDOR_STRING has at most, its final null included */
#define SHMEM_VENDOR_STRING "oxshmem 0.1.0" /* name of the library */
#define SHMEM_THREAD_SINGLE 0 /* the program has one thread */
#define SHMEM_THREAD_FUNNELED 1 /* only the thread that initialized the library calls it */
#define SHMEM_THREAD_SERIALIZED 2 /* any thread calls the library, one at a time */
#define SHMEM_THREAD_MULTIPLE 3 /* any threads call the library at once */
#define SHMEM_TEAM_NUM_CONTEXTS 1L /* in a mask: num_contexts of a shmem_team_config_t counts */
#define SHMEM_CTX_SERIALIZED 1L /* context option: one thread at a time uses it */
#define SHMEM_CTX_PRIVATE 2L /* context option: only the thread that made it uses it */
#define SHMEM_CTX_NOSTORE 4L /* context option: quiet and fence need not order memory stores */
#define SHMEM_CTX_SESSION_TOTAL_OPS 1L /* in a mask: total_ops of a shmem_ctx_session_config_t counts */
#define SHMEM_CTX_SESSION_BATCH 1L /* session option: its operations may be delayed and joined */
#define SHMEM_SIGNAL_SET 1 /* the signal is set to the value */
#define SHMEM_SIGNAL_ADD 2 /* the value is added to the signal */
#define SHMEM_MALLOC_ATOMICS_REMOTE 1L /* hint: mostly for atomics of other hosts */
#define SHMEM_MALLOC_SIGNAL_REMOTE 2L /* hint: for signals of other hosts */
#define SHMEM_CMP_EQ 1 /* equal */
#define SHMEM_CMP_NE 2 /* not equal */
#define SHMEM_CMP_LT 3 /* less */
#define SHMEM_CMP_LE 4 /* less or equal */
#define SHMEM_CMP_GT 5 /* greater */
#define SHMEM_CMP_GE 6 /* greater or equal */
#define SHMEM_SYNC_VALUE 0L /* what every element of a pSync is before its first use; deprecated since 1.5 */
#define SHMEM_SYNC_SIZE 32 /* elements of a pSync for any collective; deprecated since 1.5 */
#define SHMEM_BCAST_SYNC_SIZE 32 /* elements of a pSync for broadcasts; deprecated since 1.5 */
#define SHMEM_REDUCE_SYNC_SIZE 32 /* elements of a pSync for reductions; deprecated since 1.5 */
#define SHMEM_BARRIER_SYNC_SIZE 32 /* elements of a pSync for barriers; deprecated since 1.5 */
#define SHMEM_COLLECT_SYNC_SIZE 32 /* elements of a pSync for collects; deprecated since 1.5 */
#define SHMEM_ALLTOALL_SYNC_SIZE 32 /* elements of a pSync for shmem_alltoall; deprecated since 1.5 */
#define SHMEM_ALLTOALLS_SYNC_SIZE 32 /* elements of a pSync for shmem_alltoalls; deprecated since 1.5 */
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE 8 /* elements that a pWrk has at least; deprecated since 1.5 */

/* Their names before OpenSHMEM 1.3. */
#define _SHMEM_MAJOR_VERSION SHMEM_MAJOR_VERSION
#define _SHMEM_MINOR_VERSION SHMEM_MINOR_VERSION
#define _SHMEM_MAX_NAME_LEN SHMEM_MAX_NAME_LEN
#define _SHMEM_VENDOR_STRING SHMEM_VENDOR_STRING
#define _SHMEM_CMP_EQ SHMEM_CMP_EQ
#define _SHMEM_CMP_NE SHMEM_CMP_NE
#define _SHMEM_CMP_LT SHMEM_CMP_LT
#define _SHMEM_CMP_LE SHMEM_CMP_LE
#define _SHMEM_CMP_GT SHMEM_CMP_GT
#define _SHMEM_CMP_GE SHMEM_CMP_GE
#define _SHMEM_SYNC_VALUE SHMEM_SYNC_VALUE
#define _SHMEM_BCAST_SYNC_SIZE SHMEM_BCAST_SYNC_SIZE
#define _SHMEM_REDUCE_SYNC_SIZE SHMEM_REDUCE_SYNC_SIZE
#define _SHMEM_BARRIER_SYNC_SIZE SHMEM_BARRIER_SYNC_SIZE
#define _SHMEM_COLLECT_SYNC_SIZE SHMEM_COLLECT_SYNC_SIZE
#define _SHMEM_REDUCE_MIN_WRKDATA_SIZE SHMEM_REDUCE_MIN_WRKDATA_SIZE

/* The version of the specification in one number, by the name that Open MPI gave it: programs ask for it. */
#ifndef OSHMEM_SPEC_VERSION
#define OSHMEM_SPEC_VERSION (SHMEM_MAJOR_VERSION * 10000 + SHMEM_MINOR_VERSION * 100)
#endif

/* Attributes. A deprecated routine that a generic form stands for, beside others that are not deprecated, is marked
 * where that does not mark the generic form. */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define SHMEM_IMPL_NORETURN [[noreturn]]
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L && __STDC_VERSION__ <= 201710L
#define SHMEM_IMPL_NORETURN _Noreturn
#elif defined(__GNUC__)
#define SHMEM_IMPL_NORETURN __attribute__((__noreturn__))
#else
#define SHMEM_IMPL_NORETURN
#endif
/* A call goes where the table of addresses says, without the jump between that would find a routine at its first call.
 * Compilers with the front end of EDG, nvcc's among them, preprocess as GCC, and may not know the attribute. */
#if defined(__has_attribute) && defined(__GNUC__) && !defined(__EDG__) && !defined(__CUDACC__)
#if __has_attribute(__noplt__)
#define SHMEM_IMPL_NOPLT __attribute__((__noplt__))
#endif
#endif
#ifndef SHMEM_IMPL_NOPLT
#define SHMEM_IMPL_NOPLT
#endif
#if defined(SHMEM_WARN_DEPRECATED) && defined(__GNUC__)
#define SHMEM_IMPL_DEPRECATED(instead) __attribute__((__deprecated__("use " instead)))
#else
#define SHMEM_IMPL_DEPRECATED(instead)
#endif
#if defined(__cplusplus)
#define SHMEM_IMPL_DEPRECATED_IN_C(instead)
#define SHMEM_IMPL_DEPRECATED_IN_GENERIC(instead) SHMEM_IMPL_DEPRECATED(instead)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define SHMEM_IMPL_DEPRECATED_IN_C(instead)
#define SHMEM_IMPL_DEPRECATED_IN_GENERIC(instead)
#else
#define SHMEM_IMPL_DEPRECATED_IN_C(instead) SHMEM_IMPL_DEPRECATED(instead)
#define SHMEM_IMPL_DEPRECATED_IN_GENERIC(instead) SHMEM_IMPL_DEPRECATED(instead)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Types: sections 7, 9.4.3, 9.9.1. */
typedef struct shmem_impl_ctx_t *shmem_ctx_t; /* a context */
typedef struct shmem_impl_team_t *shmem_team_t; /* a team */
typedef void *shmem_space_t; /* a memory space */
typedef struct {
    int num_contexts; /* what a team is made for: how many contexts are to exist at a time */
} shmem_team_config_t;
typedef struct {
    size_t total_ops; /* what a session is to have: how many operations at most */
} shmem_ctx_session_config_t;

/* The complex types of C, which C++ compilers know as an extension. A std::complex<T> has the same layout: overloads
 * below take it. */
#ifdef __GNUC__
__extension__ typedef double _Complex shmem_impl_complexd_t;
__extension__ typedef float _Complex shmem_impl_complexf_t;
#else
typedef double _Complex shmem_impl_complexd_t;
typedef float _Complex shmem_impl_complexf_t;
#endif

/* Predefined handles: small numbers, which are the address of nothing, so that a static variable can start with
 * one and comparing is cheap. An invalid handle is null. Spaces are known only once the library is initialized:
 * theirs, and those of their teams, are asked for, and are no constants. */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define SHMEM_IMPL_HANDLE(type, number) (reinterpret_cast<type>(static_cast<uintptr_t>(number)))
#define SHMEM_IMPL_NO_HANDLE(type) (static_cast<type>(nullptr))
#else
#define SHMEM_IMPL_HANDLE(type, number) ((type)(uintptr_t)(number))
#define SHMEM_IMPL_NO_HANDLE(type) ((type)0)
#endif
#define SHMEM_CTX_DEFAULT SHMEM_IMPL_HANDLE(shmem_ctx_t, 1) /* the default context */
#define SHMEM_CTX_INVALID SHMEM_IMPL_NO_HANDLE(shmem_ctx_t) /* no context */
#define SHMEM_TEAM_WORLD SHMEM_IMPL_HANDLE(shmem_team_t, 1) /* the team of all PEs */
#define SHMEM_TEAM_SHARED SHMEM_IMPL_HANDLE(shmem_team_t, 2) /* the team of the PEs whose memory is mapped here */
#define SHMEM_TEAM_INVALID SHMEM_IMPL_NO_HANDLE(shmem_team_t) /* no team */
#define SHMEM_SPACE_INVALID SHMEM_IMPL_NO_HANDLE(shmem_space_t) /* no memory space */
#define SHMEM_SPACE_DEFAULT (shmem_impl_space(0)) /* the space of shmem_malloc */
#define SHMEM_SPACE_CPU (shmem_impl_space(1)) /* host memory, or INVALID */
#define SHMEM_SPACE_GPU (shmem_impl_space(2)) /* GPU memory, or INVALID */
#define SHMEM_TEAM_CPU (shmem_impl_space_team(1)) /* the PEs with host memory, or INVALID */
#define SHMEM_TEAM_GPU (shmem_impl_space_team(2)) /* the PEs with GPU memory, or INVALID */
shmem_space_t shmem_impl_space(int which); /* the default, CPU or GPU space (0, 1, 2), or SHMEM_SPACE_INVALID */
shmem_team_t shmem_impl_space_team(int which); /* the team of the CPU or GPU space (1, 2), or SHMEM_TEAM_INVALID */

/* shmem_init: starts the library (9.1.1). */
SHMEM_IMPL_NOPLT void shmem_init(void);

/* shmem_my_pe: gives the number of this PE (9.1.2). */
SHMEM_IMPL_NOPLT int shmem_my_pe(void);
SHMEM_IMPL_DEPRECATED("shmem_my_pe") SHMEM_IMPL_NOPLT int _my_pe(void);

/* shmem_n_pes: gives how many PEs the job has (9.1.3). */
SHMEM_IMPL_NOPLT int shmem_n_pes(void);
SHMEM_IMPL_DEPRECATED("shmem_n_pes") SHMEM_IMPL_NOPLT int _num_pes(void);

/* shmem_finalize: ends the library (9.1.4). */
SHMEM_IMPL_NOPLT void shmem_finalize(void);

/* shmem_query_initialized: tells whether the library is initialized (9.1.5). */
SHMEM_IMPL_NOPLT void shmem_query_initialized(int *initialized);

/* shmem_global_exit: ends the whole job (9.1.6). */
SHMEM_IMPL_NORETURN SHMEM_IMPL_NOPLT void shmem_global_exit(int status);

/* shmem_pe_accessible: tells whether a PE can be reached (9.1.7). */
SHMEM_IMPL_NOPLT int shmem_pe_accessible(int pe);

/* shmem_addr_accessible: tells whether an address is symmetric and reachable on a PE (9.1.8). */
SHMEM_IMPL_NOPLT int shmem_addr_accessible(const void *addr, int pe);

/* shmem_ptr: gives a pointer for loads and stores to a PE's object (9.1.9). */
SHMEM_IMPL_NOPLT void *shmem_ptr(const void *dest, int pe);

/* shmem_team_ptr: gives a pointer for loads and stores to the object of a team's PE (9.1.10). */
SHMEM_IMPL_NOPLT void *shmem_team_ptr(shmem_team_t team, const void *dest, int pe);

/* shmem_info_get_version: gives the version of the specification (9.1.11). */
SHMEM_IMPL_NOPLT void shmem_info_get_version(int *major, int *minor);

/* shmem_info_get_name: gives the name of the library (9.1.12). */
SHMEM_IMPL_NOPLT void shmem_info_get_name(char *name);

/* start_pes: starts the library as programs before OpenSHMEM 1.2 did (9.1.13). */
SHMEM_IMPL_DEPRECATED("shmem_init") SHMEM_IMPL_NOPLT void start_pes(int npes);

/* shmem_init_thread: starts the library for use by several threads (9.2.1). */
SHMEM_IMPL_NOPLT int shmem_init_thread(int requested, int *provided);

/* shmem_query_thread: gives the thread level in force (9.2.2). */
SHMEM_IMPL_NOPLT void shmem_query_thread(int *provided);

/* shmem_malloc: allocates symmetric memory (9.3.1). */
SHMEM_IMPL_NOPLT void *shmem_malloc(size_t size);
SHMEM_IMPL_DEPRECATED("shmem_malloc") SHMEM_IMPL_NOPLT void *shmalloc(size_t size);

/* shmem_free: frees symmetric memory (9.3.2). */
SHMEM_IMPL_NOPLT void shmem_free(void *ptr);
SHMEM_IMPL_DEPRECATED("shmem_free") SHMEM_IMPL_NOPLT void shfree(void *ptr);

/* shmem_realloc: resizes symmetric memory (9.3.3). */
SHMEM_IMPL_NOPLT void *shmem_realloc(void *ptr, size_t size);
SHMEM_IMPL_DEPRECATED("shmem_realloc") SHMEM_IMPL_NOPLT void *shrealloc(void *ptr, size_t size);

/* shmem_align: allocates symmetric memory at a multiple of an alignment (9.3.4). */
SHMEM_IMPL_NOPLT void *shmem_align(size_t alignment, size_t size);
SHMEM_IMPL_DEPRECATED("shmem_align") SHMEM_IMPL_NOPLT void *shmemalign(size_t alignment, size_t size);

/* shmem_malloc_with_hints: allocates symmetric memory for a declared use (9.3.5). */
SHMEM_IMPL_NOPLT void *shmem_malloc_with_hints(size_t size, long hints);

/* shmem_calloc: allocates zeroed symmetric memory (9.3.6). */
SHMEM_IMPL_NOPLT void *shmem_calloc(size_t count, size_t size);

/* shmem_team_my_pe: gives the number of this PE in a team (9.4.1). */
SHMEM_IMPL_NOPLT int shmem_team_my_pe(shmem_team_t team);

/* shmem_team_n_pes: gives how many PEs a team has (9.4.2). */
SHMEM_IMPL_NOPLT int shmem_team_n_pes(shmem_team_t team);

/* shmem_team_get_config: gives a team's configuration (9.4.4). */
SHMEM_IMPL_NOPLT int shmem_team_get_config(shmem_team_t team, long config_mask, shmem_team_config_t *config);

/* shmem_team_translate_pe: gives the number that a PE of one team has in another (9.4.5). */
SHMEM_IMPL_NOPLT int shmem_team_translate_pe(shmem_team_t src_team, int src_pe, shmem_team_t dest_team);

/* shmem_team_split_strided: makes a team of every so many PEs of a team (9.4.6). */
SHMEM_IMPL_NOPLT int shmem_team_split_strided(shmem_team_t parent_team, int start, int stride, int size, const
    shmem_team_config_t *config, long config_mask, shmem_team_t *new_team);

/* shmem_team_split_2d: makes teams of the rows and columns of a team (9.4.7). */
SHMEM_IMPL_NOPLT int shmem_team_split_2d(shmem_team_t parent_team, int xrange, const shmem_team_config_t
    *xaxis_config, long xaxis_mask, shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config, long
    yaxis_mask, shmem_team_t *yaxis_team);

/* shmem_team_destroy: destroys a team (9.4.8). */
SHMEM_IMPL_NOPLT void shmem_team_destroy(shmem_team_t team);

/* shmem_ctx_create: makes a context on the world team (9.5.1). */
SHMEM_IMPL_NOPLT int shmem_ctx_create(long options, shmem_ctx_t *ctx);

/* shmem_team_create_ctx: makes a context on a team (9.5.2). */
SHMEM_IMPL_NOPLT int shmem_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t *ctx);

/* shmem_ctx_destroy: destroys a context (9.5.3). */
SHMEM_IMPL_NOPLT void shmem_ctx_destroy(shmem_ctx_t ctx);

/* shmem_ctx_get_team: gives the team of a context (9.5.4). */
SHMEM_IMPL_NOPLT int shmem_ctx_get_team(shmem_ctx_t ctx, shmem_team_t *team);

/* shmem_ctx_session_start: announces a series of operations on a context (9.9.2). */
SHMEM_IMPL_NOPLT void shmem_ctx_session_start(shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t
    *config, long config_mask);

/* shmem_ctx_session_stop: ends a session on a context (9.9.3). */
SHMEM_IMPL_NOPLT void shmem_ctx_session_stop(shmem_ctx_t ctx);

/* shmem_put: copies data to another PE (9.6.1.1). */
SHMEM_IMPL_NOPLT void shmem_float_put(float *dest, const float *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_double_put(double *dest, const double *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_longdouble_put(long double *dest, const long double *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_char_put(char *dest, const char *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_schar_put(signed char *dest, const signed char *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_short_put(short *dest, const short *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int_put(int *dest, const int *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_long_put(long *dest, const long *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_longlong_put(long long *dest, const long long *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uchar_put(unsigned char *dest, const unsigned char *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ushort_put(unsigned short *dest, const unsigned short *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_uint_put(unsigned int *dest, const unsigned int *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ulong_put(unsigned long *dest, const unsigned long *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ulonglong_put(unsigned long long *dest, const unsigned long long *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int8_put(int8_t *dest, const int8_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int16_put(int16_t *dest, const int16_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int32_put(int32_t *dest, const int32_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int64_put(int64_t *dest, const int64_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint8_put(uint8_t *dest, const uint8_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint16_put(uint16_t *dest, const uint16_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint32_put(uint32_t *dest, const uint32_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint64_put(uint64_t *dest, const uint64_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_size_put(size_t *dest, const size_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ptrdiff_put(ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_float_put(shmem_ctx_t ctx, float *dest, const float *source, size_t nelems,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_double_put(shmem_ctx_t ctx, double *dest, const double *source, size_t nelems,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longdouble_put(shmem_ctx_t ctx, long double *dest, const long double *source,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_char_put(shmem_ctx_t ctx, char *dest, const char *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_schar_put(shmem_ctx_t ctx, signed char *dest, const signed char *source,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_short_put(shmem_ctx_t ctx, short *dest, const short *source, size_t nelems,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int_put(shmem_ctx_t ctx, int *dest, const int *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_long_put(shmem_ctx_t ctx, long *dest, const long *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longlong_put(shmem_ctx_t ctx, long long *dest, const long long *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uchar_put(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ushort_put(shmem_ctx_t ctx, unsigned short *dest, const unsigned short
    *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint_put(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulong_put(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulonglong_put(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long
    long *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int8_put(shmem_ctx_t ctx, int8_t *dest, const int8_t *source, size_t nelems,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int16_put(shmem_ctx_t ctx, int16_t *dest, const int16_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int32_put(shmem_ctx_t ctx, int32_t *dest, const int32_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int64_put(shmem_ctx_t ctx, int64_t *dest, const int64_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint8_put(shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint16_put(shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint32_put(shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint64_put(shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_size_put(shmem_ctx_t ctx, size_t *dest, const size_t *source, size_t nelems,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ptrdiff_put(shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_put8(void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_put16(void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_put32(void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_put64(void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_put128(void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_put8(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_put16(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_put32(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_put64(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_put128(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_putmem(void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_putmem(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int
    pe);

/* shmem_p: stores one value on another PE (9.6.1.2). */
SHMEM_IMPL_NOPLT void shmem_float_p(float *dest, float value, int pe);
SHMEM_IMPL_NOPLT void shmem_double_p(double *dest, double value, int pe);
SHMEM_IMPL_NOPLT void shmem_longdouble_p(long double *dest, long double value, int pe);
SHMEM_IMPL_NOPLT void shmem_char_p(char *dest, char value, int pe);
SHMEM_IMPL_NOPLT void shmem_schar_p(signed char *dest, signed char value, int pe);
SHMEM_IMPL_NOPLT void shmem_short_p(short *dest, short value, int pe);
SHMEM_IMPL_NOPLT void shmem_int_p(int *dest, int value, int pe);
SHMEM_IMPL_NOPLT void shmem_long_p(long *dest, long value, int pe);
SHMEM_IMPL_NOPLT void shmem_longlong_p(long long *dest, long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_uchar_p(unsigned char *dest, unsigned char value, int pe);
SHMEM_IMPL_NOPLT void shmem_ushort_p(unsigned short *dest, unsigned short value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint_p(unsigned int *dest, unsigned int value, int pe);
SHMEM_IMPL_NOPLT void shmem_ulong_p(unsigned long *dest, unsigned long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ulonglong_p(unsigned long long *dest, unsigned long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_int8_p(int8_t *dest, int8_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_int16_p(int16_t *dest, int16_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_int32_p(int32_t *dest, int32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_int64_p(int64_t *dest, int64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint8_p(uint8_t *dest, uint8_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint16_p(uint16_t *dest, uint16_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint32_p(uint32_t *dest, uint32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint64_p(uint64_t *dest, uint64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_size_p(size_t *dest, size_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ptrdiff_p(ptrdiff_t *dest, ptrdiff_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_float_p(shmem_ctx_t ctx, float *dest, float value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_double_p(shmem_ctx_t ctx, double *dest, double value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longdouble_p(shmem_ctx_t ctx, long double *dest, long double value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_char_p(shmem_ctx_t ctx, char *dest, char value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_schar_p(shmem_ctx_t ctx, signed char *dest, signed char value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_short_p(shmem_ctx_t ctx, short *dest, short value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int_p(shmem_ctx_t ctx, int *dest, int value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_long_p(shmem_ctx_t ctx, long *dest, long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longlong_p(shmem_ctx_t ctx, long long *dest, long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uchar_p(shmem_ctx_t ctx, unsigned char *dest, unsigned char value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ushort_p(shmem_ctx_t ctx, unsigned short *dest, unsigned short value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint_p(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulong_p(shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulonglong_p(shmem_ctx_t ctx, unsigned long long *dest, unsigned long long
    value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int8_p(shmem_ctx_t ctx, int8_t *dest, int8_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int16_p(shmem_ctx_t ctx, int16_t *dest, int16_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int32_p(shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int64_p(shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint8_p(shmem_ctx_t ctx, uint8_t *dest, uint8_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint16_p(shmem_ctx_t ctx, uint16_t *dest, uint16_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint32_p(shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint64_p(shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_size_p(shmem_ctx_t ctx, size_t *dest, size_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ptrdiff_p(shmem_ctx_t ctx, ptrdiff_t *dest, ptrdiff_t value, int pe);

/* shmem_iput: copies strided elements to another PE (9.6.1.3). */
SHMEM_IMPL_NOPLT void shmem_float_iput(float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_double_iput(double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_longdouble_iput(long double *dest, const long double *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_char_iput(char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_schar_iput(signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_short_iput(short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int_iput(int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_long_iput(long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_longlong_iput(long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uchar_iput(unsigned char *dest, const unsigned char *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ushort_iput(unsigned short *dest, const unsigned short *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint_iput(unsigned int *dest, const unsigned int *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ulong_iput(unsigned long *dest, const unsigned long *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ulonglong_iput(unsigned long long *dest, const unsigned long long *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int8_iput(int8_t *dest, const int8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int16_iput(int16_t *dest, const int16_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int32_iput(int32_t *dest, const int32_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int64_iput(int64_t *dest, const int64_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint8_iput(uint8_t *dest, const uint8_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint16_iput(uint16_t *dest, const uint16_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint32_iput(uint32_t *dest, const uint32_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint64_iput(uint64_t *dest, const uint64_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_size_iput(size_t *dest, const size_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ptrdiff_iput(ptrdiff_t *dest, const ptrdiff_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_float_iput(shmem_ctx_t ctx, float *dest, const float *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_double_iput(shmem_ctx_t ctx, double *dest, const double *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longdouble_iput(shmem_ctx_t ctx, long double *dest, const long double *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_char_iput(shmem_ctx_t ctx, char *dest, const char *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_schar_iput(shmem_ctx_t ctx, signed char *dest, const signed char *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_short_iput(shmem_ctx_t ctx, short *dest, const short *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int_iput(shmem_ctx_t ctx, int *dest, const int *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_long_iput(shmem_ctx_t ctx, long *dest, const long *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longlong_iput(shmem_ctx_t ctx, long long *dest, const long long *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uchar_iput(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ushort_iput(shmem_ctx_t ctx, unsigned short *dest, const unsigned short
    *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint_iput(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulong_iput(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulonglong_iput(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long
    long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int8_iput(shmem_ctx_t ctx, int8_t *dest, const int8_t *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int16_iput(shmem_ctx_t ctx, int16_t *dest, const int16_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int32_iput(shmem_ctx_t ctx, int32_t *dest, const int32_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int64_iput(shmem_ctx_t ctx, int64_t *dest, const int64_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint8_iput(shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint16_iput(shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint32_iput(shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint64_iput(shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_size_iput(shmem_ctx_t ctx, size_t *dest, const size_t *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ptrdiff_iput(shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_iput8(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
    int pe);
SHMEM_IMPL_NOPLT void shmem_iput16(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_iput32(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_iput64(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_iput128(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_iput8(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_iput16(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_iput32(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_iput64(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_iput128(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);

/* shmem_ibput: copies strided blocks to another PE (9.6.1.4). */
SHMEM_IMPL_NOPLT void shmem_float_ibput(float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_double_ibput(double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_longdouble_ibput(long double *dest, const long double *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_char_ibput(char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_schar_ibput(signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_short_ibput(short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_int_ibput(int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_long_ibput(long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_longlong_ibput(long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_uchar_ibput(unsigned char *dest, const unsigned char *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ushort_ibput(unsigned short *dest, const unsigned short *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_uint_ibput(unsigned int *dest, const unsigned int *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ulong_ibput(unsigned long *dest, const unsigned long *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ulonglong_ibput(unsigned long long *dest, const unsigned long long *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_int8_ibput(int8_t *dest, const int8_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_int16_ibput(int16_t *dest, const int16_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_int32_ibput(int32_t *dest, const int32_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_int64_ibput(int64_t *dest, const int64_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_uint8_ibput(uint8_t *dest, const uint8_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_uint16_ibput(uint16_t *dest, const uint16_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_uint32_ibput(uint32_t *dest, const uint32_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_uint64_ibput(uint64_t *dest, const uint64_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_size_ibput(size_t *dest, const size_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ptrdiff_ibput(ptrdiff_t *dest, const ptrdiff_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_float_ibput(shmem_ctx_t ctx, float *dest, const float *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_double_ibput(shmem_ctx_t ctx, double *dest, const double *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longdouble_ibput(shmem_ctx_t ctx, long double *dest, const long double
    *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_char_ibput(shmem_ctx_t ctx, char *dest, const char *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_schar_ibput(shmem_ctx_t ctx, signed char *dest, const signed char *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_short_ibput(shmem_ctx_t ctx, short *dest, const short *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int_ibput(shmem_ctx_t ctx, int *dest, const int *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_long_ibput(shmem_ctx_t ctx, long *dest, const long *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longlong_ibput(shmem_ctx_t ctx, long long *dest, const long long *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uchar_ibput(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ushort_ibput(shmem_ctx_t ctx, unsigned short *dest, const unsigned short
    *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint_ibput(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulong_ibput(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulonglong_ibput(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long
    long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int8_ibput(shmem_ctx_t ctx, int8_t *dest, const int8_t *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int16_ibput(shmem_ctx_t ctx, int16_t *dest, const int16_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int32_ibput(shmem_ctx_t ctx, int32_t *dest, const int32_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int64_ibput(shmem_ctx_t ctx, int64_t *dest, const int64_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint8_ibput(shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint16_ibput(shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint32_ibput(shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint64_ibput(shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_size_ibput(shmem_ctx_t ctx, size_t *dest, const size_t *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ptrdiff_ibput(shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ibput8(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
    size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ibput16(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ibput32(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ibput64(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ibput128(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ibput8(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ibput16(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ibput32(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ibput64(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ibput128(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);

/* shmem_get: copies data from another PE (9.6.1.5). */
SHMEM_IMPL_NOPLT void shmem_float_get(float *dest, const float *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_double_get(double *dest, const double *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_longdouble_get(long double *dest, const long double *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_char_get(char *dest, const char *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_schar_get(signed char *dest, const signed char *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_short_get(short *dest, const short *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int_get(int *dest, const int *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_long_get(long *dest, const long *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_longlong_get(long long *dest, const long long *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uchar_get(unsigned char *dest, const unsigned char *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ushort_get(unsigned short *dest, const unsigned short *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_uint_get(unsigned int *dest, const unsigned int *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ulong_get(unsigned long *dest, const unsigned long *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ulonglong_get(unsigned long long *dest, const unsigned long long *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int8_get(int8_t *dest, const int8_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int16_get(int16_t *dest, const int16_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int32_get(int32_t *dest, const int32_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int64_get(int64_t *dest, const int64_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint8_get(uint8_t *dest, const uint8_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint16_get(uint16_t *dest, const uint16_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint32_get(uint32_t *dest, const uint32_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint64_get(uint64_t *dest, const uint64_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_size_get(size_t *dest, const size_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ptrdiff_get(ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_float_get(shmem_ctx_t ctx, float *dest, const float *source, size_t nelems,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_double_get(shmem_ctx_t ctx, double *dest, const double *source, size_t nelems,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longdouble_get(shmem_ctx_t ctx, long double *dest, const long double *source,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_char_get(shmem_ctx_t ctx, char *dest, const char *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_schar_get(shmem_ctx_t ctx, signed char *dest, const signed char *source,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_short_get(shmem_ctx_t ctx, short *dest, const short *source, size_t nelems,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int_get(shmem_ctx_t ctx, int *dest, const int *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_long_get(shmem_ctx_t ctx, long *dest, const long *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longlong_get(shmem_ctx_t ctx, long long *dest, const long long *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uchar_get(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ushort_get(shmem_ctx_t ctx, unsigned short *dest, const unsigned short
    *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint_get(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulong_get(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulonglong_get(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long
    long *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int8_get(shmem_ctx_t ctx, int8_t *dest, const int8_t *source, size_t nelems,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int16_get(shmem_ctx_t ctx, int16_t *dest, const int16_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int32_get(shmem_ctx_t ctx, int32_t *dest, const int32_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int64_get(shmem_ctx_t ctx, int64_t *dest, const int64_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint8_get(shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint16_get(shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint32_get(shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint64_get(shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_size_get(shmem_ctx_t ctx, size_t *dest, const size_t *source, size_t nelems,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ptrdiff_get(shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_get8(void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_get16(void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_get32(void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_get64(void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_get128(void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_get8(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_get16(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_get32(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_get64(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_get128(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_getmem(void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_getmem(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int
    pe);

/* shmem_g: fetches one value from another PE (9.6.1.6). */
SHMEM_IMPL_NOPLT float shmem_float_g(const float *source, int pe);
SHMEM_IMPL_NOPLT double shmem_double_g(const double *source, int pe);
SHMEM_IMPL_NOPLT long double shmem_longdouble_g(const long double *source, int pe);
SHMEM_IMPL_NOPLT char shmem_char_g(const char *source, int pe);
SHMEM_IMPL_NOPLT signed char shmem_schar_g(const signed char *source, int pe);
SHMEM_IMPL_NOPLT short shmem_short_g(const short *source, int pe);
SHMEM_IMPL_NOPLT int shmem_int_g(const int *source, int pe);
SHMEM_IMPL_NOPLT long shmem_long_g(const long *source, int pe);
SHMEM_IMPL_NOPLT long long shmem_longlong_g(const long long *source, int pe);
SHMEM_IMPL_NOPLT unsigned char shmem_uchar_g(const unsigned char *source, int pe);
SHMEM_IMPL_NOPLT unsigned short shmem_ushort_g(const unsigned short *source, int pe);
SHMEM_IMPL_NOPLT unsigned int shmem_uint_g(const unsigned int *source, int pe);
SHMEM_IMPL_NOPLT unsigned long shmem_ulong_g(const unsigned long *source, int pe);
SHMEM_IMPL_NOPLT unsigned long long shmem_ulonglong_g(const unsigned long long *source, int pe);
SHMEM_IMPL_NOPLT int8_t shmem_int8_g(const int8_t *source, int pe);
SHMEM_IMPL_NOPLT int16_t shmem_int16_g(const int16_t *source, int pe);
SHMEM_IMPL_NOPLT int32_t shmem_int32_g(const int32_t *source, int pe);
SHMEM_IMPL_NOPLT int64_t shmem_int64_g(const int64_t *source, int pe);
SHMEM_IMPL_NOPLT uint8_t shmem_uint8_g(const uint8_t *source, int pe);
SHMEM_IMPL_NOPLT uint16_t shmem_uint16_g(const uint16_t *source, int pe);
SHMEM_IMPL_NOPLT uint32_t shmem_uint32_g(const uint32_t *source, int pe);
SHMEM_IMPL_NOPLT uint64_t shmem_uint64_g(const uint64_t *source, int pe);
SHMEM_IMPL_NOPLT size_t shmem_size_g(const size_t *source, int pe);
SHMEM_IMPL_NOPLT ptrdiff_t shmem_ptrdiff_g(const ptrdiff_t *source, int pe);
SHMEM_IMPL_NOPLT float shmem_ctx_float_g(shmem_ctx_t ctx, const float *source, int pe);
SHMEM_IMPL_NOPLT double shmem_ctx_double_g(shmem_ctx_t ctx, const double *source, int pe);
SHMEM_IMPL_NOPLT long double shmem_ctx_longdouble_g(shmem_ctx_t ctx, const long double *source, int pe);
SHMEM_IMPL_NOPLT char shmem_ctx_char_g(shmem_ctx_t ctx, const char *source, int pe);
SHMEM_IMPL_NOPLT signed char shmem_ctx_schar_g(shmem_ctx_t ctx, const signed char *source, int pe);
SHMEM_IMPL_NOPLT short shmem_ctx_short_g(shmem_ctx_t ctx, const short *source, int pe);
SHMEM_IMPL_NOPLT int shmem_ctx_int_g(shmem_ctx_t ctx, const int *source, int pe);
SHMEM_IMPL_NOPLT long shmem_ctx_long_g(shmem_ctx_t ctx, const long *source, int pe);
SHMEM_IMPL_NOPLT long long shmem_ctx_longlong_g(shmem_ctx_t ctx, const long long *source, int pe);
SHMEM_IMPL_NOPLT unsigned char shmem_ctx_uchar_g(shmem_ctx_t ctx, const unsigned char *source, int pe);
SHMEM_IMPL_NOPLT unsigned short shmem_ctx_ushort_g(shmem_ctx_t ctx, const unsigned short *source, int pe);
SHMEM_IMPL_NOPLT unsigned int shmem_ctx_uint_g(shmem_ctx_t ctx, const unsigned int *source, int pe);
SHMEM_IMPL_NOPLT unsigned long shmem_ctx_ulong_g(shmem_ctx_t ctx, const unsigned long *source, int pe);
SHMEM_IMPL_NOPLT unsigned long long shmem_ctx_ulonglong_g(shmem_ctx_t ctx, const unsigned long long *source,
    int pe);
SHMEM_IMPL_NOPLT int8_t shmem_ctx_int8_g(shmem_ctx_t ctx, const int8_t *source, int pe);
SHMEM_IMPL_NOPLT int16_t shmem_ctx_int16_g(shmem_ctx_t ctx, const int16_t *source, int pe);
SHMEM_IMPL_NOPLT int32_t shmem_ctx_int32_g(shmem_ctx_t ctx, const int32_t *source, int pe);
SHMEM_IMPL_NOPLT int64_t shmem_ctx_int64_g(shmem_ctx_t ctx, const int64_t *source, int pe);
SHMEM_IMPL_NOPLT uint8_t shmem_ctx_uint8_g(shmem_ctx_t ctx, const uint8_t *source, int pe);
SHMEM_IMPL_NOPLT uint16_t shmem_ctx_uint16_g(shmem_ctx_t ctx, const uint16_t *source, int pe);
SHMEM_IMPL_NOPLT uint32_t shmem_ctx_uint32_g(shmem_ctx_t ctx, const uint32_t *source, int pe);
SHMEM_IMPL_NOPLT uint64_t shmem_ctx_uint64_g(shmem_ctx_t ctx, const uint64_t *source, int pe);
SHMEM_IMPL_NOPLT size_t shmem_ctx_size_g(shmem_ctx_t ctx, const size_t *source, int pe);
SHMEM_IMPL_NOPLT ptrdiff_t shmem_ctx_ptrdiff_g(shmem_ctx_t ctx, const ptrdiff_t *source, int pe);

/* shmem_iget: copies strided elements from another PE (9.6.1.7). */
SHMEM_IMPL_NOPLT void shmem_float_iget(float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_double_iget(double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_longdouble_iget(long double *dest, const long double *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_char_iget(char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_schar_iget(signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_short_iget(short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int_iget(int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_long_iget(long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_longlong_iget(long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uchar_iget(unsigned char *dest, const unsigned char *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ushort_iget(unsigned short *dest, const unsigned short *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint_iget(unsigned int *dest, const unsigned int *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ulong_iget(unsigned long *dest, const unsigned long *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ulonglong_iget(unsigned long long *dest, const unsigned long long *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int8_iget(int8_t *dest, const int8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int16_iget(int16_t *dest, const int16_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int32_iget(int32_t *dest, const int32_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int64_iget(int64_t *dest, const int64_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint8_iget(uint8_t *dest, const uint8_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint16_iget(uint16_t *dest, const uint16_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint32_iget(uint32_t *dest, const uint32_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint64_iget(uint64_t *dest, const uint64_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_size_iget(size_t *dest, const size_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ptrdiff_iget(ptrdiff_t *dest, const ptrdiff_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_float_iget(shmem_ctx_t ctx, float *dest, const float *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_double_iget(shmem_ctx_t ctx, double *dest, const double *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longdouble_iget(shmem_ctx_t ctx, long double *dest, const long double *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_char_iget(shmem_ctx_t ctx, char *dest, const char *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_schar_iget(shmem_ctx_t ctx, signed char *dest, const signed char *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_short_iget(shmem_ctx_t ctx, short *dest, const short *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int_iget(shmem_ctx_t ctx, int *dest, const int *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_long_iget(shmem_ctx_t ctx, long *dest, const long *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longlong_iget(shmem_ctx_t ctx, long long *dest, const long long *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uchar_iget(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ushort_iget(shmem_ctx_t ctx, unsigned short *dest, const unsigned short
    *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint_iget(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulong_iget(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulonglong_iget(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long
    long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int8_iget(shmem_ctx_t ctx, int8_t *dest, const int8_t *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int16_iget(shmem_ctx_t ctx, int16_t *dest, const int16_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int32_iget(shmem_ctx_t ctx, int32_t *dest, const int32_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int64_iget(shmem_ctx_t ctx, int64_t *dest, const int64_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint8_iget(shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint16_iget(shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint32_iget(shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint64_iget(shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_size_iget(shmem_ctx_t ctx, size_t *dest, const size_t *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ptrdiff_iget(shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_iget8(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
    int pe);
SHMEM_IMPL_NOPLT void shmem_iget16(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_iget32(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_iget64(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_iget128(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_iget8(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_iget16(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_iget32(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_iget64(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_iget128(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems, int pe);

/* shmem_ibget: copies strided blocks from another PE (9.6.1.8). */
SHMEM_IMPL_NOPLT void shmem_float_ibget(float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_double_ibget(double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_longdouble_ibget(long double *dest, const long double *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_char_ibget(char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_schar_ibget(signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_short_ibget(short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_int_ibget(int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_long_ibget(long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_longlong_ibget(long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_uchar_ibget(unsigned char *dest, const unsigned char *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ushort_ibget(unsigned short *dest, const unsigned short *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_uint_ibget(unsigned int *dest, const unsigned int *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ulong_ibget(unsigned long *dest, const unsigned long *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ulonglong_ibget(unsigned long long *dest, const unsigned long long *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_int8_ibget(int8_t *dest, const int8_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_int16_ibget(int16_t *dest, const int16_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_int32_ibget(int32_t *dest, const int32_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_int64_ibget(int64_t *dest, const int64_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_uint8_ibget(uint8_t *dest, const uint8_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_uint16_ibget(uint16_t *dest, const uint16_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_uint32_ibget(uint32_t *dest, const uint32_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_uint64_ibget(uint64_t *dest, const uint64_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_size_ibget(size_t *dest, const size_t *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ptrdiff_ibget(ptrdiff_t *dest, const ptrdiff_t *source, ptrdiff_t dst, ptrdiff_t
    sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_float_ibget(shmem_ctx_t ctx, float *dest, const float *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_double_ibget(shmem_ctx_t ctx, double *dest, const double *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longdouble_ibget(shmem_ctx_t ctx, long double *dest, const long double
    *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_char_ibget(shmem_ctx_t ctx, char *dest, const char *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_schar_ibget(shmem_ctx_t ctx, signed char *dest, const signed char *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_short_ibget(shmem_ctx_t ctx, short *dest, const short *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int_ibget(shmem_ctx_t ctx, int *dest, const int *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_long_ibget(shmem_ctx_t ctx, long *dest, const long *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longlong_ibget(shmem_ctx_t ctx, long long *dest, const long long *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uchar_ibget(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ushort_ibget(shmem_ctx_t ctx, unsigned short *dest, const unsigned short
    *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint_ibget(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulong_ibget(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulonglong_ibget(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long
    long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int8_ibget(shmem_ctx_t ctx, int8_t *dest, const int8_t *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int16_ibget(shmem_ctx_t ctx, int16_t *dest, const int16_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int32_ibget(shmem_ctx_t ctx, int32_t *dest, const int32_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int64_ibget(shmem_ctx_t ctx, int64_t *dest, const int64_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint8_ibget(shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint16_ibget(shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint32_ibget(shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint64_ibget(shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_size_ibget(shmem_ctx_t ctx, size_t *dest, const size_t *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ptrdiff_ibget(shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ibget8(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
    size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ibget16(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ibget32(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ibget64(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ibget128(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t
    bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ibget8(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ibget16(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ibget32(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ibget64(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ibget128(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);

/* shmem_put_nbi: begins to copy data to another PE (9.6.2.1). */
SHMEM_IMPL_NOPLT void shmem_float_put_nbi(float *dest, const float *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_double_put_nbi(double *dest, const double *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_longdouble_put_nbi(long double *dest, const long double *source, size_t nelems,
    int pe);
SHMEM_IMPL_NOPLT void shmem_char_put_nbi(char *dest, const char *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_schar_put_nbi(signed char *dest, const signed char *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_short_put_nbi(short *dest, const short *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int_put_nbi(int *dest, const int *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_long_put_nbi(long *dest, const long *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_longlong_put_nbi(long long *dest, const long long *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uchar_put_nbi(unsigned char *dest, const unsigned char *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ushort_put_nbi(unsigned short *dest, const unsigned short *source, size_t nelems,
    int pe);
SHMEM_IMPL_NOPLT void shmem_uint_put_nbi(unsigned int *dest, const unsigned int *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ulong_put_nbi(unsigned long *dest, const unsigned long *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ulonglong_put_nbi(unsigned long long *dest, const unsigned long long *source,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int8_put_nbi(int8_t *dest, const int8_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int16_put_nbi(int16_t *dest, const int16_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int32_put_nbi(int32_t *dest, const int32_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int64_put_nbi(int64_t *dest, const int64_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint8_put_nbi(uint8_t *dest, const uint8_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint16_put_nbi(uint16_t *dest, const uint16_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint32_put_nbi(uint32_t *dest, const uint32_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint64_put_nbi(uint64_t *dest, const uint64_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_size_put_nbi(size_t *dest, const size_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ptrdiff_put_nbi(ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_float_put_nbi(shmem_ctx_t ctx, float *dest, const float *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_double_put_nbi(shmem_ctx_t ctx, double *dest, const double *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longdouble_put_nbi(shmem_ctx_t ctx, long double *dest, const long double
    *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_char_put_nbi(shmem_ctx_t ctx, char *dest, const char *source, size_t nelems,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_schar_put_nbi(shmem_ctx_t ctx, signed char *dest, const signed char *source,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_short_put_nbi(shmem_ctx_t ctx, short *dest, const short *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int_put_nbi(shmem_ctx_t ctx, int *dest, const int *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_long_put_nbi(shmem_ctx_t ctx, long *dest, const long *source, size_t nelems,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longlong_put_nbi(shmem_ctx_t ctx, long long *dest, const long long *source,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uchar_put_nbi(shmem_ctx_t ctx, unsigned char *dest, const unsigned char
    *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ushort_put_nbi(shmem_ctx_t ctx, unsigned short *dest, const unsigned short
    *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint_put_nbi(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulong_put_nbi(shmem_ctx_t ctx, unsigned long *dest, const unsigned long
    *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulonglong_put_nbi(shmem_ctx_t ctx, unsigned long long *dest, const unsigned
    long long *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int8_put_nbi(shmem_ctx_t ctx, int8_t *dest, const int8_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int16_put_nbi(shmem_ctx_t ctx, int16_t *dest, const int16_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int32_put_nbi(shmem_ctx_t ctx, int32_t *dest, const int32_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int64_put_nbi(shmem_ctx_t ctx, int64_t *dest, const int64_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint8_put_nbi(shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint16_put_nbi(shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint32_put_nbi(shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint64_put_nbi(shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_size_put_nbi(shmem_ctx_t ctx, size_t *dest, const size_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ptrdiff_put_nbi(shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_put8_nbi(void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_put16_nbi(void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_put32_nbi(void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_put64_nbi(void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_put128_nbi(void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_put8_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_put16_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_put32_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_put64_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_put128_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_putmem_nbi(void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_putmem_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int
    pe);

/* shmem_get_nbi: begins to copy data from another PE (9.6.2.2). */
SHMEM_IMPL_NOPLT void shmem_float_get_nbi(float *dest, const float *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_double_get_nbi(double *dest, const double *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_longdouble_get_nbi(long double *dest, const long double *source, size_t nelems,
    int pe);
SHMEM_IMPL_NOPLT void shmem_char_get_nbi(char *dest, const char *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_schar_get_nbi(signed char *dest, const signed char *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_short_get_nbi(short *dest, const short *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int_get_nbi(int *dest, const int *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_long_get_nbi(long *dest, const long *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_longlong_get_nbi(long long *dest, const long long *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uchar_get_nbi(unsigned char *dest, const unsigned char *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ushort_get_nbi(unsigned short *dest, const unsigned short *source, size_t nelems,
    int pe);
SHMEM_IMPL_NOPLT void shmem_uint_get_nbi(unsigned int *dest, const unsigned int *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ulong_get_nbi(unsigned long *dest, const unsigned long *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ulonglong_get_nbi(unsigned long long *dest, const unsigned long long *source,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int8_get_nbi(int8_t *dest, const int8_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int16_get_nbi(int16_t *dest, const int16_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int32_get_nbi(int32_t *dest, const int32_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_int64_get_nbi(int64_t *dest, const int64_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint8_get_nbi(uint8_t *dest, const uint8_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint16_get_nbi(uint16_t *dest, const uint16_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint32_get_nbi(uint32_t *dest, const uint32_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_uint64_get_nbi(uint64_t *dest, const uint64_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_size_get_nbi(size_t *dest, const size_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ptrdiff_get_nbi(ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_float_get_nbi(shmem_ctx_t ctx, float *dest, const float *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_double_get_nbi(shmem_ctx_t ctx, double *dest, const double *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longdouble_get_nbi(shmem_ctx_t ctx, long double *dest, const long double
    *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_char_get_nbi(shmem_ctx_t ctx, char *dest, const char *source, size_t nelems,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_schar_get_nbi(shmem_ctx_t ctx, signed char *dest, const signed char *source,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_short_get_nbi(shmem_ctx_t ctx, short *dest, const short *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int_get_nbi(shmem_ctx_t ctx, int *dest, const int *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_long_get_nbi(shmem_ctx_t ctx, long *dest, const long *source, size_t nelems,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longlong_get_nbi(shmem_ctx_t ctx, long long *dest, const long long *source,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uchar_get_nbi(shmem_ctx_t ctx, unsigned char *dest, const unsigned char
    *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ushort_get_nbi(shmem_ctx_t ctx, unsigned short *dest, const unsigned short
    *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint_get_nbi(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulong_get_nbi(shmem_ctx_t ctx, unsigned long *dest, const unsigned long
    *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulonglong_get_nbi(shmem_ctx_t ctx, unsigned long long *dest, const unsigned
    long long *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int8_get_nbi(shmem_ctx_t ctx, int8_t *dest, const int8_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int16_get_nbi(shmem_ctx_t ctx, int16_t *dest, const int16_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int32_get_nbi(shmem_ctx_t ctx, int32_t *dest, const int32_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int64_get_nbi(shmem_ctx_t ctx, int64_t *dest, const int64_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint8_get_nbi(shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint16_get_nbi(shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint32_get_nbi(shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint64_get_nbi(shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_size_get_nbi(shmem_ctx_t ctx, size_t *dest, const size_t *source, size_t
    nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ptrdiff_get_nbi(shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source,
    size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_get8_nbi(void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_get16_nbi(void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_get32_nbi(void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_get64_nbi(void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_get128_nbi(void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_get8_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_get16_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_get32_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_get64_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_get128_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int
    pe);
SHMEM_IMPL_NOPLT void shmem_getmem_nbi(void *dest, const void *source, size_t nelems, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_getmem_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int
    pe);

/* shmem_atomic_fetch: fetches a value atomically (9.7.1.1). */
SHMEM_IMPL_NOPLT float shmem_float_atomic_fetch(const float *source, int pe);
SHMEM_IMPL_NOPLT double shmem_double_atomic_fetch(const double *source, int pe);
SHMEM_IMPL_NOPLT int shmem_int_atomic_fetch(const int *source, int pe);
SHMEM_IMPL_NOPLT long shmem_long_atomic_fetch(const long *source, int pe);
SHMEM_IMPL_NOPLT long long shmem_longlong_atomic_fetch(const long long *source, int pe);
SHMEM_IMPL_NOPLT unsigned int shmem_uint_atomic_fetch(const unsigned int *source, int pe);
SHMEM_IMPL_NOPLT unsigned long shmem_ulong_atomic_fetch(const unsigned long *source, int pe);
SHMEM_IMPL_NOPLT unsigned long long shmem_ulonglong_atomic_fetch(const unsigned long long *source, int pe);
SHMEM_IMPL_NOPLT int32_t shmem_int32_atomic_fetch(const int32_t *source, int pe);
SHMEM_IMPL_NOPLT int64_t shmem_int64_atomic_fetch(const int64_t *source, int pe);
SHMEM_IMPL_NOPLT uint32_t shmem_uint32_atomic_fetch(const uint32_t *source, int pe);
SHMEM_IMPL_NOPLT uint64_t shmem_uint64_atomic_fetch(const uint64_t *source, int pe);
SHMEM_IMPL_NOPLT size_t shmem_size_atomic_fetch(const size_t *source, int pe);
SHMEM_IMPL_NOPLT ptrdiff_t shmem_ptrdiff_atomic_fetch(const ptrdiff_t *source, int pe);
SHMEM_IMPL_NOPLT float shmem_ctx_float_atomic_fetch(shmem_ctx_t ctx, const float *source, int pe);
SHMEM_IMPL_NOPLT double shmem_ctx_double_atomic_fetch(shmem_ctx_t ctx, const double *source, int pe);
SHMEM_IMPL_NOPLT int shmem_ctx_int_atomic_fetch(shmem_ctx_t ctx, const int *source, int pe);
SHMEM_IMPL_NOPLT long shmem_ctx_long_atomic_fetch(shmem_ctx_t ctx, const long *source, int pe);
SHMEM_IMPL_NOPLT long long shmem_ctx_longlong_atomic_fetch(shmem_ctx_t ctx, const long long *source, int pe);
SHMEM_IMPL_NOPLT unsigned int shmem_ctx_uint_atomic_fetch(shmem_ctx_t ctx, const unsigned int *source, int
    pe);
SHMEM_IMPL_NOPLT unsigned long shmem_ctx_ulong_atomic_fetch(shmem_ctx_t ctx, const unsigned long *source, int
    pe);
SHMEM_IMPL_NOPLT unsigned long long shmem_ctx_ulonglong_atomic_fetch(shmem_ctx_t ctx, const unsigned long long
    *source, int pe);
SHMEM_IMPL_NOPLT int32_t shmem_ctx_int32_atomic_fetch(shmem_ctx_t ctx, const int32_t *source, int pe);
SHMEM_IMPL_NOPLT int64_t shmem_ctx_int64_atomic_fetch(shmem_ctx_t ctx, const int64_t *source, int pe);
SHMEM_IMPL_NOPLT uint32_t shmem_ctx_uint32_atomic_fetch(shmem_ctx_t ctx, const uint32_t *source, int pe);
SHMEM_IMPL_NOPLT uint64_t shmem_ctx_uint64_atomic_fetch(shmem_ctx_t ctx, const uint64_t *source, int pe);
SHMEM_IMPL_NOPLT size_t shmem_ctx_size_atomic_fetch(shmem_ctx_t ctx, const size_t *source, int pe);
SHMEM_IMPL_NOPLT ptrdiff_t shmem_ctx_ptrdiff_atomic_fetch(shmem_ctx_t ctx, const ptrdiff_t *source, int pe);

/* shmem_atomic_set: stores a value atomically (9.7.1.2). */
SHMEM_IMPL_NOPLT void shmem_float_atomic_set(float *dest, float value, int pe);
SHMEM_IMPL_NOPLT void shmem_double_atomic_set(double *dest, double value, int pe);
SHMEM_IMPL_NOPLT void shmem_int_atomic_set(int *dest, int value, int pe);
SHMEM_IMPL_NOPLT void shmem_long_atomic_set(long *dest, long value, int pe);
SHMEM_IMPL_NOPLT void shmem_longlong_atomic_set(long long *dest, long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint_atomic_set(unsigned int *dest, unsigned int value, int pe);
SHMEM_IMPL_NOPLT void shmem_ulong_atomic_set(unsigned long *dest, unsigned long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ulonglong_atomic_set(unsigned long long *dest, unsigned long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_int32_atomic_set(int32_t *dest, int32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_int64_atomic_set(int64_t *dest, int64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint32_atomic_set(uint32_t *dest, uint32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint64_atomic_set(uint64_t *dest, uint64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_size_atomic_set(size_t *dest, size_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ptrdiff_atomic_set(ptrdiff_t *dest, ptrdiff_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_float_atomic_set(shmem_ctx_t ctx, float *dest, float value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_double_atomic_set(shmem_ctx_t ctx, double *dest, double value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int_atomic_set(shmem_ctx_t ctx, int *dest, int value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_long_atomic_set(shmem_ctx_t ctx, long *dest, long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longlong_atomic_set(shmem_ctx_t ctx, long long *dest, long long value, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint_atomic_set(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulong_atomic_set(shmem_ctx_t ctx, unsigned long *dest, unsigned long value,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulonglong_atomic_set(shmem_ctx_t ctx, unsigned long long *dest, unsigned long
    long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int32_atomic_set(shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int64_atomic_set(shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint32_atomic_set(shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint64_atomic_set(shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_size_atomic_set(shmem_ctx_t ctx, size_t *dest, size_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ptrdiff_atomic_set(shmem_ctx_t ctx, ptrdiff_t *dest, ptrdiff_t value, int pe);

/* shmem_atomic_compare_swap: stores a value atomically if another is there, and fetches what was (9.7.1.3). */
SHMEM_IMPL_NOPLT int shmem_int_atomic_compare_swap(int *dest, int cond, int value, int pe);
SHMEM_IMPL_NOPLT long shmem_long_atomic_compare_swap(long *dest, long cond, long value, int pe);
SHMEM_IMPL_NOPLT long long shmem_longlong_atomic_compare_swap(long long *dest, long long cond, long long
    value, int pe);
SHMEM_IMPL_NOPLT unsigned int shmem_uint_atomic_compare_swap(unsigned int *dest, unsigned int cond, unsigned
    int value, int pe);
SHMEM_IMPL_NOPLT unsigned long shmem_ulong_atomic_compare_swap(unsigned long *dest, unsigned long cond,
    unsigned long value, int pe);
SHMEM_IMPL_NOPLT unsigned long long shmem_ulonglong_atomic_compare_swap(unsigned long long *dest, unsigned
    long long cond, unsigned long long value, int pe);
SHMEM_IMPL_NOPLT int32_t shmem_int32_atomic_compare_swap(int32_t *dest, int32_t cond, int32_t value, int pe);
SHMEM_IMPL_NOPLT int64_t shmem_int64_atomic_compare_swap(int64_t *dest, int64_t cond, int64_t value, int pe);
SHMEM_IMPL_NOPLT uint32_t shmem_uint32_atomic_compare_swap(uint32_t *dest, uint32_t cond, uint32_t value, int
    pe);
SHMEM_IMPL_NOPLT uint64_t shmem_uint64_atomic_compare_swap(uint64_t *dest, uint64_t cond, uint64_t value, int
    pe);
SHMEM_IMPL_NOPLT size_t shmem_size_atomic_compare_swap(size_t *dest, size_t cond, size_t value, int pe);
SHMEM_IMPL_NOPLT ptrdiff_t shmem_ptrdiff_atomic_compare_swap(ptrdiff_t *dest, ptrdiff_t cond, ptrdiff_t value,
    int pe);
SHMEM_IMPL_NOPLT int shmem_ctx_int_atomic_compare_swap(shmem_ctx_t ctx, int *dest, int cond, int value, int
    pe);
SHMEM_IMPL_NOPLT long shmem_ctx_long_atomic_compare_swap(shmem_ctx_t ctx, long *dest, long cond, long value,
    int pe);
SHMEM_IMPL_NOPLT long long shmem_ctx_longlong_atomic_compare_swap(shmem_ctx_t ctx, long long *dest, long long
    cond, long long value, int pe);
SHMEM_IMPL_NOPLT unsigned int shmem_ctx_uint_atomic_compare_swap(shmem_ctx_t ctx, unsigned int *dest, unsigned
    int cond, unsigned int value, int pe);
SHMEM_IMPL_NOPLT unsigned long shmem_ctx_ulong_atomic_compare_swap(shmem_ctx_t ctx, unsigned long *dest,
    unsigned long cond, unsigned long value, int pe);
SHMEM_IMPL_NOPLT unsigned long long shmem_ctx_ulonglong_atomic_compare_swap(shmem_ctx_t ctx, unsigned long
    long *dest, unsigned long long cond, unsigned long long value, int pe);
SHMEM_IMPL_NOPLT int32_t shmem_ctx_int32_atomic_compare_swap(shmem_ctx_t ctx, int32_t *dest, int32_t cond,
    int32_t value, int pe);
SHMEM_IMPL_NOPLT int64_t shmem_ctx_int64_atomic_compare_swap(shmem_ctx_t ctx, int64_t *dest, int64_t cond,
    int64_t value, int pe);
SHMEM_IMPL_NOPLT uint32_t shmem_ctx_uint32_atomic_compare_swap(shmem_ctx_t ctx, uint32_t *dest, uint32_t cond,
    uint32_t value, int pe);
SHMEM_IMPL_NOPLT uint64_t shmem_ctx_uint64_atomic_compare_swap(shmem_ctx_t ctx, uint64_t *dest, uint64_t cond,
    uint64_t value, int pe);
SHMEM_IMPL_NOPLT size_t shmem_ctx_size_atomic_compare_swap(shmem_ctx_t ctx, size_t *dest, size_t cond, size_t
    value, int pe);
SHMEM_IMPL_NOPLT ptrdiff_t shmem_ctx_ptrdiff_atomic_compare_swap(shmem_ctx_t ctx, ptrdiff_t *dest, ptrdiff_t
    cond, ptrdiff_t value, int pe);

/* shmem_atomic_swap: stores a value atomically and fetches the old one (9.7.1.4). */
SHMEM_IMPL_NOPLT float shmem_float_atomic_swap(float *dest, float value, int pe);
SHMEM_IMPL_NOPLT double shmem_double_atomic_swap(double *dest, double value, int pe);
SHMEM_IMPL_NOPLT int shmem_int_atomic_swap(int *dest, int value, int pe);
SHMEM_IMPL_NOPLT long shmem_long_atomic_swap(long *dest, long value, int pe);
SHMEM_IMPL_NOPLT long long shmem_longlong_atomic_swap(long long *dest, long long value, int pe);
SHMEM_IMPL_NOPLT unsigned int shmem_uint_atomic_swap(unsigned int *dest, unsigned int value, int pe);
SHMEM_IMPL_NOPLT unsigned long shmem_ulong_atomic_swap(unsigned long *dest, unsigned long value, int pe);
SHMEM_IMPL_NOPLT unsigned long long shmem_ulonglong_atomic_swap(unsigned long long *dest, unsigned long long
    value, int pe);
SHMEM_IMPL_NOPLT int32_t shmem_int32_atomic_swap(int32_t *dest, int32_t value, int pe);
SHMEM_IMPL_NOPLT int64_t shmem_int64_atomic_swap(int64_t *dest, int64_t value, int pe);
SHMEM_IMPL_NOPLT uint32_t shmem_uint32_atomic_swap(uint32_t *dest, uint32_t value, int pe);
SHMEM_IMPL_NOPLT uint64_t shmem_uint64_atomic_swap(uint64_t *dest, uint64_t value, int pe);
SHMEM_IMPL_NOPLT size_t shmem_size_atomic_swap(size_t *dest, size_t value, int pe);
SHMEM_IMPL_NOPLT ptrdiff_t shmem_ptrdiff_atomic_swap(ptrdiff_t *dest, ptrdiff_t value, int pe);
SHMEM_IMPL_NOPLT float shmem_ctx_float_atomic_swap(shmem_ctx_t ctx, float *dest, float value, int pe);
SHMEM_IMPL_NOPLT double shmem_ctx_double_atomic_swap(shmem_ctx_t ctx, double *dest, double value, int pe);
SHMEM_IMPL_NOPLT int shmem_ctx_int_atomic_swap(shmem_ctx_t ctx, int *dest, int value, int pe);
SHMEM_IMPL_NOPLT long shmem_ctx_long_atomic_swap(shmem_ctx_t ctx, long *dest, long value, int pe);
SHMEM_IMPL_NOPLT long long shmem_ctx_longlong_atomic_swap(shmem_ctx_t ctx, long long *dest, long long value,
    int pe);
SHMEM_IMPL_NOPLT unsigned int shmem_ctx_uint_atomic_swap(shmem_ctx_t ctx, unsigned int *dest, unsigned int
    value, int pe);
SHMEM_IMPL_NOPLT unsigned long shmem_ctx_ulong_atomic_swap(shmem_ctx_t ctx, unsigned long *dest, unsigned long
    value, int pe);
SHMEM_IMPL_NOPLT unsigned long long shmem_ctx_ulonglong_atomic_swap(shmem_ctx_t ctx, unsigned long long *dest,
    unsigned long long value, int pe);
SHMEM_IMPL_NOPLT int32_t shmem_ctx_int32_atomic_swap(shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe);
SHMEM_IMPL_NOPLT int64_t shmem_ctx_int64_atomic_swap(shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe);
SHMEM_IMPL_NOPLT uint32_t shmem_ctx_uint32_atomic_swap(shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int
    pe);
SHMEM_IMPL_NOPLT uint64_t shmem_ctx_uint64_atomic_swap(shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int
    pe);
SHMEM_IMPL_NOPLT size_t shmem_ctx_size_atomic_swap(shmem_ctx_t ctx, size_t *dest, size_t value, int pe);
SHMEM_IMPL_NOPLT ptrdiff_t shmem_ctx_ptrdiff_atomic_swap(shmem_ctx_t ctx, ptrdiff_t *dest, ptrdiff_t value,
    int pe);

/* shmem_atomic_fetch_inc: adds one atomically and fetches the old value (9.7.1.5). */
SHMEM_IMPL_NOPLT int shmem_int_atomic_fetch_inc(int *dest, int pe);
SHMEM_IMPL_NOPLT long shmem_long_atomic_fetch_inc(long *dest, int pe);
SHMEM_IMPL_NOPLT long long shmem_longlong_atomic_fetch_inc(long long *dest, int pe);
SHMEM_IMPL_NOPLT unsigned int shmem_uint_atomic_fetch_inc(unsigned int *dest, int pe);
SHMEM_IMPL_NOPLT unsigned long shmem_ulong_atomic_fetch_inc(unsigned long *dest, int pe);
SHMEM_IMPL_NOPLT unsigned long long shmem_ulonglong_atomic_fetch_inc(unsigned long long *dest, int pe);
SHMEM_IMPL_NOPLT int32_t shmem_int32_atomic_fetch_inc(int32_t *dest, int pe);
SHMEM_IMPL_NOPLT int64_t shmem_int64_atomic_fetch_inc(int64_t *dest, int pe);
SHMEM_IMPL_NOPLT uint32_t shmem_uint32_atomic_fetch_inc(uint32_t *dest, int pe);
SHMEM_IMPL_NOPLT uint64_t shmem_uint64_atomic_fetch_inc(uint64_t *dest, int pe);
SHMEM_IMPL_NOPLT size_t shmem_size_atomic_fetch_inc(size_t *dest, int pe);
SHMEM_IMPL_NOPLT ptrdiff_t shmem_ptrdiff_atomic_fetch_inc(ptrdiff_t *dest, int pe);
SHMEM_IMPL_NOPLT int shmem_ctx_int_atomic_fetch_inc(shmem_ctx_t ctx, int *dest, int pe);
SHMEM_IMPL_NOPLT long shmem_ctx_long_atomic_fetch_inc(shmem_ctx_t ctx, long *dest, int pe);
SHMEM_IMPL_NOPLT long long shmem_ctx_longlong_atomic_fetch_inc(shmem_ctx_t ctx, long long *dest, int pe);
SHMEM_IMPL_NOPLT unsigned int shmem_ctx_uint_atomic_fetch_inc(shmem_ctx_t ctx, unsigned int *dest, int pe);
SHMEM_IMPL_NOPLT unsigned long shmem_ctx_ulong_atomic_fetch_inc(shmem_ctx_t ctx, unsigned long *dest, int pe);
SHMEM_IMPL_NOPLT unsigned long long shmem_ctx_ulonglong_atomic_fetch_inc(shmem_ctx_t ctx, unsigned long long
    *dest, int pe);
SHMEM_IMPL_NOPLT int32_t shmem_ctx_int32_atomic_fetch_inc(shmem_ctx_t ctx, int32_t *dest, int pe);
SHMEM_IMPL_NOPLT int64_t shmem_ctx_int64_atomic_fetch_inc(shmem_ctx_t ctx, int64_t *dest, int pe);
SHMEM_IMPL_NOPLT uint32_t shmem_ctx_uint32_atomic_fetch_inc(shmem_ctx_t ctx, uint32_t *dest, int pe);
SHMEM_IMPL_NOPLT uint64_t shmem_ctx_uint64_atomic_fetch_inc(shmem_ctx_t ctx, uint64_t *dest, int pe);
SHMEM_IMPL_NOPLT size_t shmem_ctx_size_atomic_fetch_inc(shmem_ctx_t ctx, size_t *dest, int pe);
SHMEM_IMPL_NOPLT ptrdiff_t shmem_ctx_ptrdiff_atomic_fetch_inc(shmem_ctx_t ctx, ptrdiff_t *dest, int pe);

/* shmem_atomic_inc: adds one atomically (9.7.1.6). */
SHMEM_IMPL_NOPLT void shmem_int_atomic_inc(int *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_long_atomic_inc(long *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_longlong_atomic_inc(long long *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_uint_atomic_inc(unsigned int *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_ulong_atomic_inc(unsigned long *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_ulonglong_atomic_inc(unsigned long long *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_int32_atomic_inc(int32_t *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_int64_atomic_inc(int64_t *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_uint32_atomic_inc(uint32_t *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_uint64_atomic_inc(uint64_t *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_size_atomic_inc(size_t *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_ptrdiff_atomic_inc(ptrdiff_t *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int_atomic_inc(shmem_ctx_t ctx, int *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_long_atomic_inc(shmem_ctx_t ctx, long *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longlong_atomic_inc(shmem_ctx_t ctx, long long *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint_atomic_inc(shmem_ctx_t ctx, unsigned int *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulong_atomic_inc(shmem_ctx_t ctx, unsigned long *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulonglong_atomic_inc(shmem_ctx_t ctx, unsigned long long *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int32_atomic_inc(shmem_ctx_t ctx, int32_t *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int64_atomic_inc(shmem_ctx_t ctx, int64_t *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint32_atomic_inc(shmem_ctx_t ctx, uint32_t *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint64_atomic_inc(shmem_ctx_t ctx, uint64_t *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_size_atomic_inc(shmem_ctx_t ctx, size_t *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ptrdiff_atomic_inc(shmem_ctx_t ctx, ptrdiff_t *dest, int pe);

/* shmem_atomic_fetch_add: adds a value atomically and fetches the old one (9.7.1.7). */
SHMEM_IMPL_NOPLT int shmem_int_atomic_fetch_add(int *dest, int value, int pe);
SHMEM_IMPL_NOPLT long shmem_long_atomic_fetch_add(long *dest, long value, int pe);
SHMEM_IMPL_NOPLT long long shmem_longlong_atomic_fetch_add(long long *dest, long long value, int pe);
SHMEM_IMPL_NOPLT unsigned int shmem_uint_atomic_fetch_add(unsigned int *dest, unsigned int value, int pe);
SHMEM_IMPL_NOPLT unsigned long shmem_ulong_atomic_fetch_add(unsigned long *dest, unsigned long value, int pe);
SHMEM_IMPL_NOPLT unsigned long long shmem_ulonglong_atomic_fetch_add(unsigned long long *dest, unsigned long
    long value, int pe);
SHMEM_IMPL_NOPLT int32_t shmem_int32_atomic_fetch_add(int32_t *dest, int32_t value, int pe);
SHMEM_IMPL_NOPLT int64_t shmem_int64_atomic_fetch_add(int64_t *dest, int64_t value, int pe);
SHMEM_IMPL_NOPLT uint32_t shmem_uint32_atomic_fetch_add(uint32_t *dest, uint32_t value, int pe);
SHMEM_IMPL_NOPLT uint64_t shmem_uint64_atomic_fetch_add(uint64_t *dest, uint64_t value, int pe);
SHMEM_IMPL_NOPLT size_t shmem_size_atomic_fetch_add(size_t *dest, size_t value, int pe);
SHMEM_IMPL_NOPLT ptrdiff_t shmem_ptrdiff_atomic_fetch_add(ptrdiff_t *dest, ptrdiff_t value, int pe);
SHMEM_IMPL_NOPLT int shmem_ctx_int_atomic_fetch_add(shmem_ctx_t ctx, int *dest, int value, int pe);
SHMEM_IMPL_NOPLT long shmem_ctx_long_atomic_fetch_add(shmem_ctx_t ctx, long *dest, long value, int pe);
SHMEM_IMPL_NOPLT long long shmem_ctx_longlong_atomic_fetch_add(shmem_ctx_t ctx, long long *dest, long long
    value, int pe);
SHMEM_IMPL_NOPLT unsigned int shmem_ctx_uint_atomic_fetch_add(shmem_ctx_t ctx, unsigned int *dest, unsigned
    int value, int pe);
SHMEM_IMPL_NOPLT unsigned long shmem_ctx_ulong_atomic_fetch_add(shmem_ctx_t ctx, unsigned long *dest, unsigned
    long value, int pe);
SHMEM_IMPL_NOPLT unsigned long long shmem_ctx_ulonglong_atomic_fetch_add(shmem_ctx_t ctx, unsigned long long
    *dest, unsigned long long value, int pe);
SHMEM_IMPL_NOPLT int32_t shmem_ctx_int32_atomic_fetch_add(shmem_ctx_t ctx, int32_t *dest, int32_t value, int
    pe);
SHMEM_IMPL_NOPLT int64_t shmem_ctx_int64_atomic_fetch_add(shmem_ctx_t ctx, int64_t *dest, int64_t value, int
    pe);
SHMEM_IMPL_NOPLT uint32_t shmem_ctx_uint32_atomic_fetch_add(shmem_ctx_t ctx, uint32_t *dest, uint32_t value,
    int pe);
SHMEM_IMPL_NOPLT uint64_t shmem_ctx_uint64_atomic_fetch_add(shmem_ctx_t ctx, uint64_t *dest, uint64_t value,
    int pe);
SHMEM_IMPL_NOPLT size_t shmem_ctx_size_atomic_fetch_add(shmem_ctx_t ctx, size_t *dest, size_t value, int pe);
SHMEM_IMPL_NOPLT ptrdiff_t shmem_ctx_ptrdiff_atomic_fetch_add(shmem_ctx_t ctx, ptrdiff_t *dest, ptrdiff_t
    value, int pe);

/* shmem_atomic_add: adds a value atomically (9.7.1.8). */
SHMEM_IMPL_NOPLT void shmem_int_atomic_add(int *dest, int value, int pe);
SHMEM_IMPL_NOPLT void shmem_long_atomic_add(long *dest, long value, int pe);
SHMEM_IMPL_NOPLT void shmem_longlong_atomic_add(long long *dest, long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint_atomic_add(unsigned int *dest, unsigned int value, int pe);
SHMEM_IMPL_NOPLT void shmem_ulong_atomic_add(unsigned long *dest, unsigned long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ulonglong_atomic_add(unsigned long long *dest, unsigned long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_int32_atomic_add(int32_t *dest, int32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_int64_atomic_add(int64_t *dest, int64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint32_atomic_add(uint32_t *dest, uint32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint64_atomic_add(uint64_t *dest, uint64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_size_atomic_add(size_t *dest, size_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ptrdiff_atomic_add(ptrdiff_t *dest, ptrdiff_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int_atomic_add(shmem_ctx_t ctx, int *dest, int value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_long_atomic_add(shmem_ctx_t ctx, long *dest, long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longlong_atomic_add(shmem_ctx_t ctx, long long *dest, long long value, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint_atomic_add(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulong_atomic_add(shmem_ctx_t ctx, unsigned long *dest, unsigned long value,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulonglong_atomic_add(shmem_ctx_t ctx, unsigned long long *dest, unsigned long
    long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int32_atomic_add(shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int64_atomic_add(shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint32_atomic_add(shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint64_atomic_add(shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_size_atomic_add(shmem_ctx_t ctx, size_t *dest, size_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ptrdiff_atomic_add(shmem_ctx_t ctx, ptrdiff_t *dest, ptrdiff_t value, int pe);

/* shmem_atomic_fetch_and: applies a bitwise and atomically and fetches the old value (9.7.1.9). */
SHMEM_IMPL_NOPLT unsigned int shmem_uint_atomic_fetch_and(unsigned int *dest, unsigned int value, int pe);
SHMEM_IMPL_NOPLT unsigned long shmem_ulong_atomic_fetch_and(unsigned long *dest, unsigned long value, int pe);
SHMEM_IMPL_NOPLT unsigned long long shmem_ulonglong_atomic_fetch_and(unsigned long long *dest, unsigned long
    long value, int pe);
SHMEM_IMPL_NOPLT int32_t shmem_int32_atomic_fetch_and(int32_t *dest, int32_t value, int pe);
SHMEM_IMPL_NOPLT int64_t shmem_int64_atomic_fetch_and(int64_t *dest, int64_t value, int pe);
SHMEM_IMPL_NOPLT uint32_t shmem_uint32_atomic_fetch_and(uint32_t *dest, uint32_t value, int pe);
SHMEM_IMPL_NOPLT uint64_t shmem_uint64_atomic_fetch_and(uint64_t *dest, uint64_t value, int pe);
SHMEM_IMPL_NOPLT unsigned int shmem_ctx_uint_atomic_fetch_and(shmem_ctx_t ctx, unsigned int *dest, unsigned
    int value, int pe);
SHMEM_IMPL_NOPLT unsigned long shmem_ctx_ulong_atomic_fetch_and(shmem_ctx_t ctx, unsigned long *dest, unsigned
    long value, int pe);
SHMEM_IMPL_NOPLT unsigned long long shmem_ctx_ulonglong_atomic_fetch_and(shmem_ctx_t ctx, unsigned long long
    *dest, unsigned long long value, int pe);
SHMEM_IMPL_NOPLT int32_t shmem_ctx_int32_atomic_fetch_and(shmem_ctx_t ctx, int32_t *dest, int32_t value, int
    pe);
SHMEM_IMPL_NOPLT int64_t shmem_ctx_int64_atomic_fetch_and(shmem_ctx_t ctx, int64_t *dest, int64_t value, int
    pe);
SHMEM_IMPL_NOPLT uint32_t shmem_ctx_uint32_atomic_fetch_and(shmem_ctx_t ctx, uint32_t *dest, uint32_t value,
    int pe);
SHMEM_IMPL_NOPLT uint64_t shmem_ctx_uint64_atomic_fetch_and(shmem_ctx_t ctx, uint64_t *dest, uint64_t value,
    int pe);

/* shmem_atomic_and: applies a bitwise and atomically (9.7.1.10). */
SHMEM_IMPL_NOPLT void shmem_uint_atomic_and(unsigned int *dest, unsigned int value, int pe);
SHMEM_IMPL_NOPLT void shmem_ulong_atomic_and(unsigned long *dest, unsigned long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ulonglong_atomic_and(unsigned long long *dest, unsigned long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_int32_atomic_and(int32_t *dest, int32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_int64_atomic_and(int64_t *dest, int64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint32_atomic_and(uint32_t *dest, uint32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint64_atomic_and(uint64_t *dest, uint64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint_atomic_and(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulong_atomic_and(shmem_ctx_t ctx, unsigned long *dest, unsigned long value,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulonglong_atomic_and(shmem_ctx_t ctx, unsigned long long *dest, unsigned long
    long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int32_atomic_and(shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int64_atomic_and(shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint32_atomic_and(shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint64_atomic_and(shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe);

/* shmem_atomic_fetch_or: applies a bitwise or atomically and fetches the old value (9.7.1.11). */
SHMEM_IMPL_NOPLT unsigned int shmem_uint_atomic_fetch_or(unsigned int *dest, unsigned int value, int pe);
SHMEM_IMPL_NOPLT unsigned long shmem_ulong_atomic_fetch_or(unsigned long *dest, unsigned long value, int pe);
SHMEM_IMPL_NOPLT unsigned long long shmem_ulonglong_atomic_fetch_or(unsigned long long *dest, unsigned long
    long value, int pe);
SHMEM_IMPL_NOPLT int32_t shmem_int32_atomic_fetch_or(int32_t *dest, int32_t value, int pe);
SHMEM_IMPL_NOPLT int64_t shmem_int64_atomic_fetch_or(int64_t *dest, int64_t value, int pe);
SHMEM_IMPL_NOPLT uint32_t shmem_uint32_atomic_fetch_or(uint32_t *dest, uint32_t value, int pe);
SHMEM_IMPL_NOPLT uint64_t shmem_uint64_atomic_fetch_or(uint64_t *dest, uint64_t value, int pe);
SHMEM_IMPL_NOPLT unsigned int shmem_ctx_uint_atomic_fetch_or(shmem_ctx_t ctx, unsigned int *dest, unsigned int
    value, int pe);
SHMEM_IMPL_NOPLT unsigned long shmem_ctx_ulong_atomic_fetch_or(shmem_ctx_t ctx, unsigned long *dest, unsigned
    long value, int pe);
SHMEM_IMPL_NOPLT unsigned long long shmem_ctx_ulonglong_atomic_fetch_or(shmem_ctx_t ctx, unsigned long long
    *dest, unsigned long long value, int pe);
SHMEM_IMPL_NOPLT int32_t shmem_ctx_int32_atomic_fetch_or(shmem_ctx_t ctx, int32_t *dest, int32_t value, int
    pe);
SHMEM_IMPL_NOPLT int64_t shmem_ctx_int64_atomic_fetch_or(shmem_ctx_t ctx, int64_t *dest, int64_t value, int
    pe);
SHMEM_IMPL_NOPLT uint32_t shmem_ctx_uint32_atomic_fetch_or(shmem_ctx_t ctx, uint32_t *dest, uint32_t value,
    int pe);
SHMEM_IMPL_NOPLT uint64_t shmem_ctx_uint64_atomic_fetch_or(shmem_ctx_t ctx, uint64_t *dest, uint64_t value,
    int pe);

/* shmem_atomic_or: applies a bitwise or atomically (9.7.1.12). */
SHMEM_IMPL_NOPLT void shmem_uint_atomic_or(unsigned int *dest, unsigned int value, int pe);
SHMEM_IMPL_NOPLT void shmem_ulong_atomic_or(unsigned long *dest, unsigned long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ulonglong_atomic_or(unsigned long long *dest, unsigned long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_int32_atomic_or(int32_t *dest, int32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_int64_atomic_or(int64_t *dest, int64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint32_atomic_or(uint32_t *dest, uint32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint64_atomic_or(uint64_t *dest, uint64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint_atomic_or(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulong_atomic_or(shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulonglong_atomic_or(shmem_ctx_t ctx, unsigned long long *dest, unsigned long
    long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int32_atomic_or(shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int64_atomic_or(shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint32_atomic_or(shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint64_atomic_or(shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe);

/* shmem_atomic_fetch_xor: applies a bitwise exclusive or atomically and fetches the old value (9.7.1.13). */
SHMEM_IMPL_NOPLT unsigned int shmem_uint_atomic_fetch_xor(unsigned int *dest, unsigned int value, int pe);
SHMEM_IMPL_NOPLT unsigned long shmem_ulong_atomic_fetch_xor(unsigned long *dest, unsigned long value, int pe);
SHMEM_IMPL_NOPLT unsigned long long shmem_ulonglong_atomic_fetch_xor(unsigned long long *dest, unsigned long
    long value, int pe);
SHMEM_IMPL_NOPLT int32_t shmem_int32_atomic_fetch_xor(int32_t *dest, int32_t value, int pe);
SHMEM_IMPL_NOPLT int64_t shmem_int64_atomic_fetch_xor(int64_t *dest, int64_t value, int pe);
SHMEM_IMPL_NOPLT uint32_t shmem_uint32_atomic_fetch_xor(uint32_t *dest, uint32_t value, int pe);
SHMEM_IMPL_NOPLT uint64_t shmem_uint64_atomic_fetch_xor(uint64_t *dest, uint64_t value, int pe);
SHMEM_IMPL_NOPLT unsigned int shmem_ctx_uint_atomic_fetch_xor(shmem_ctx_t ctx, unsigned int *dest, unsigned
    int value, int pe);
SHMEM_IMPL_NOPLT unsigned long shmem_ctx_ulong_atomic_fetch_xor(shmem_ctx_t ctx, unsigned long *dest, unsigned
    long value, int pe);
SHMEM_IMPL_NOPLT unsigned long long shmem_ctx_ulonglong_atomic_fetch_xor(shmem_ctx_t ctx, unsigned long long
    *dest, unsigned long long value, int pe);
SHMEM_IMPL_NOPLT int32_t shmem_ctx_int32_atomic_fetch_xor(shmem_ctx_t ctx, int32_t *dest, int32_t value, int
    pe);
SHMEM_IMPL_NOPLT int64_t shmem_ctx_int64_atomic_fetch_xor(shmem_ctx_t ctx, int64_t *dest, int64_t value, int
    pe);
SHMEM_IMPL_NOPLT uint32_t shmem_ctx_uint32_atomic_fetch_xor(shmem_ctx_t ctx, uint32_t *dest, uint32_t value,
    int pe);
SHMEM_IMPL_NOPLT uint64_t shmem_ctx_uint64_atomic_fetch_xor(shmem_ctx_t ctx, uint64_t *dest, uint64_t value,
    int pe);

/* shmem_atomic_xor: applies a bitwise exclusive or atomically (9.7.1.14). */
SHMEM_IMPL_NOPLT void shmem_uint_atomic_xor(unsigned int *dest, unsigned int value, int pe);
SHMEM_IMPL_NOPLT void shmem_ulong_atomic_xor(unsigned long *dest, unsigned long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ulonglong_atomic_xor(unsigned long long *dest, unsigned long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_int32_atomic_xor(int32_t *dest, int32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_int64_atomic_xor(int64_t *dest, int64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint32_atomic_xor(uint32_t *dest, uint32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint64_atomic_xor(uint64_t *dest, uint64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint_atomic_xor(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulong_atomic_xor(shmem_ctx_t ctx, unsigned long *dest, unsigned long value,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulonglong_atomic_xor(shmem_ctx_t ctx, unsigned long long *dest, unsigned long
    long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int32_atomic_xor(shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int64_atomic_xor(shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint32_atomic_xor(shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint64_atomic_xor(shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe);

/* shmem_atomic_fetch_nbi: begins to fetch a value atomically (9.7.2.1). */
SHMEM_IMPL_NOPLT void shmem_float_atomic_fetch_nbi(float *fetch, const float *source, int pe);
SHMEM_IMPL_NOPLT void shmem_double_atomic_fetch_nbi(double *fetch, const double *source, int pe);
SHMEM_IMPL_NOPLT void shmem_int_atomic_fetch_nbi(int *fetch, const int *source, int pe);
SHMEM_IMPL_NOPLT void shmem_long_atomic_fetch_nbi(long *fetch, const long *source, int pe);
SHMEM_IMPL_NOPLT void shmem_longlong_atomic_fetch_nbi(long long *fetch, const long long *source, int pe);
SHMEM_IMPL_NOPLT void shmem_uint_atomic_fetch_nbi(unsigned int *fetch, const unsigned int *source, int pe);
SHMEM_IMPL_NOPLT void shmem_ulong_atomic_fetch_nbi(unsigned long *fetch, const unsigned long *source, int pe);
SHMEM_IMPL_NOPLT void shmem_ulonglong_atomic_fetch_nbi(unsigned long long *fetch, const unsigned long long
    *source, int pe);
SHMEM_IMPL_NOPLT void shmem_int32_atomic_fetch_nbi(int32_t *fetch, const int32_t *source, int pe);
SHMEM_IMPL_NOPLT void shmem_int64_atomic_fetch_nbi(int64_t *fetch, const int64_t *source, int pe);
SHMEM_IMPL_NOPLT void shmem_uint32_atomic_fetch_nbi(uint32_t *fetch, const uint32_t *source, int pe);
SHMEM_IMPL_NOPLT void shmem_uint64_atomic_fetch_nbi(uint64_t *fetch, const uint64_t *source, int pe);
SHMEM_IMPL_NOPLT void shmem_size_atomic_fetch_nbi(size_t *fetch, const size_t *source, int pe);
SHMEM_IMPL_NOPLT void shmem_ptrdiff_atomic_fetch_nbi(ptrdiff_t *fetch, const ptrdiff_t *source, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_float_atomic_fetch_nbi(shmem_ctx_t ctx, float *fetch, const float *source, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_double_atomic_fetch_nbi(shmem_ctx_t ctx, double *fetch, const double *source,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int_atomic_fetch_nbi(shmem_ctx_t ctx, int *fetch, const int *source, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_long_atomic_fetch_nbi(shmem_ctx_t ctx, long *fetch, const long *source, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longlong_atomic_fetch_nbi(shmem_ctx_t ctx, long long *fetch, const long long
    *source, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint_atomic_fetch_nbi(shmem_ctx_t ctx, unsigned int *fetch, const unsigned int
    *source, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulong_atomic_fetch_nbi(shmem_ctx_t ctx, unsigned long *fetch, const unsigned
    long *source, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulonglong_atomic_fetch_nbi(shmem_ctx_t ctx, unsigned long long *fetch, const
    unsigned long long *source, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int32_atomic_fetch_nbi(shmem_ctx_t ctx, int32_t *fetch, const int32_t *source,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int64_atomic_fetch_nbi(shmem_ctx_t ctx, int64_t *fetch, const int64_t *source,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint32_atomic_fetch_nbi(shmem_ctx_t ctx, uint32_t *fetch, const uint32_t
    *source, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint64_atomic_fetch_nbi(shmem_ctx_t ctx, uint64_t *fetch, const uint64_t
    *source, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_size_atomic_fetch_nbi(shmem_ctx_t ctx, size_t *fetch, const size_t *source,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ptrdiff_atomic_fetch_nbi(shmem_ctx_t ctx, ptrdiff_t *fetch, const ptrdiff_t
    *source, int pe);

/* shmem_atomic_compare_swap_nbi: begins to store a value atomically if another is there, and to fetch what was (9.7.2.2). */
SHMEM_IMPL_NOPLT void shmem_int_atomic_compare_swap_nbi(int *fetch, int *dest, int cond, int value, int pe);
SHMEM_IMPL_NOPLT void shmem_long_atomic_compare_swap_nbi(long *fetch, long *dest, long cond, long value, int
    pe);
SHMEM_IMPL_NOPLT void shmem_longlong_atomic_compare_swap_nbi(long long *fetch, long long *dest, long long
    cond, long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint_atomic_compare_swap_nbi(unsigned int *fetch, unsigned int *dest, unsigned int
    cond, unsigned int value, int pe);
SHMEM_IMPL_NOPLT void shmem_ulong_atomic_compare_swap_nbi(unsigned long *fetch, unsigned long *dest, unsigned
    long cond, unsigned long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ulonglong_atomic_compare_swap_nbi(unsigned long long *fetch, unsigned long long
    *dest, unsigned long long cond, unsigned long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_int32_atomic_compare_swap_nbi(int32_t *fetch, int32_t *dest, int32_t cond, int32_t
    value, int pe);
SHMEM_IMPL_NOPLT void shmem_int64_atomic_compare_swap_nbi(int64_t *fetch, int64_t *dest, int64_t cond, int64_t
    value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint32_atomic_compare_swap_nbi(uint32_t *fetch, uint32_t *dest, uint32_t cond,
    uint32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint64_atomic_compare_swap_nbi(uint64_t *fetch, uint64_t *dest, uint64_t cond,
    uint64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_size_atomic_compare_swap_nbi(size_t *fetch, size_t *dest, size_t cond, size_t
    value, int pe);
SHMEM_IMPL_NOPLT void shmem_ptrdiff_atomic_compare_swap_nbi(ptrdiff_t *fetch, ptrdiff_t *dest, ptrdiff_t cond,
    ptrdiff_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int_atomic_compare_swap_nbi(shmem_ctx_t ctx, int *fetch, int *dest, int cond,
    int value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_long_atomic_compare_swap_nbi(shmem_ctx_t ctx, long *fetch, long *dest, long
    cond, long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longlong_atomic_compare_swap_nbi(shmem_ctx_t ctx, long long *fetch, long long
    *dest, long long cond, long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint_atomic_compare_swap_nbi(shmem_ctx_t ctx, unsigned int *fetch, unsigned
    int *dest, unsigned int cond, unsigned int value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulong_atomic_compare_swap_nbi(shmem_ctx_t ctx, unsigned long *fetch, unsigned
    long *dest, unsigned long cond, unsigned long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulonglong_atomic_compare_swap_nbi(shmem_ctx_t ctx, unsigned long long *fetch,
    unsigned long long *dest, unsigned long long cond, unsigned long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int32_atomic_compare_swap_nbi(shmem_ctx_t ctx, int32_t *fetch, int32_t *dest,
    int32_t cond, int32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int64_atomic_compare_swap_nbi(shmem_ctx_t ctx, int64_t *fetch, int64_t *dest,
    int64_t cond, int64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint32_atomic_compare_swap_nbi(shmem_ctx_t ctx, uint32_t *fetch, uint32_t
    *dest, uint32_t cond, uint32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint64_atomic_compare_swap_nbi(shmem_ctx_t ctx, uint64_t *fetch, uint64_t
    *dest, uint64_t cond, uint64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_size_atomic_compare_swap_nbi(shmem_ctx_t ctx, size_t *fetch, size_t *dest,
    size_t cond, size_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ptrdiff_atomic_compare_swap_nbi(shmem_ctx_t ctx, ptrdiff_t *fetch, ptrdiff_t
    *dest, ptrdiff_t cond, ptrdiff_t value, int pe);

/* shmem_atomic_swap_nbi: begins to store a value atomically and to fetch the old one (9.7.2.3). */
SHMEM_IMPL_NOPLT void shmem_float_atomic_swap_nbi(float *fetch, float *dest, float value, int pe);
SHMEM_IMPL_NOPLT void shmem_double_atomic_swap_nbi(double *fetch, double *dest, double value, int pe);
SHMEM_IMPL_NOPLT void shmem_int_atomic_swap_nbi(int *fetch, int *dest, int value, int pe);
SHMEM_IMPL_NOPLT void shmem_long_atomic_swap_nbi(long *fetch, long *dest, long value, int pe);
SHMEM_IMPL_NOPLT void shmem_longlong_atomic_swap_nbi(long long *fetch, long long *dest, long long value, int
    pe);
SHMEM_IMPL_NOPLT void shmem_uint_atomic_swap_nbi(unsigned int *fetch, unsigned int *dest, unsigned int value,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ulong_atomic_swap_nbi(unsigned long *fetch, unsigned long *dest, unsigned long
    value, int pe);
SHMEM_IMPL_NOPLT void shmem_ulonglong_atomic_swap_nbi(unsigned long long *fetch, unsigned long long *dest,
    unsigned long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_int32_atomic_swap_nbi(int32_t *fetch, int32_t *dest, int32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_int64_atomic_swap_nbi(int64_t *fetch, int64_t *dest, int64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint32_atomic_swap_nbi(uint32_t *fetch, uint32_t *dest, uint32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint64_atomic_swap_nbi(uint64_t *fetch, uint64_t *dest, uint64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_size_atomic_swap_nbi(size_t *fetch, size_t *dest, size_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ptrdiff_atomic_swap_nbi(ptrdiff_t *fetch, ptrdiff_t *dest, ptrdiff_t value, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_float_atomic_swap_nbi(shmem_ctx_t ctx, float *fetch, float *dest, float value,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_double_atomic_swap_nbi(shmem_ctx_t ctx, double *fetch, double *dest, double
    value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int_atomic_swap_nbi(shmem_ctx_t ctx, int *fetch, int *dest, int value, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_long_atomic_swap_nbi(shmem_ctx_t ctx, long *fetch, long *dest, long value, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longlong_atomic_swap_nbi(shmem_ctx_t ctx, long long *fetch, long long *dest,
    long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint_atomic_swap_nbi(shmem_ctx_t ctx, unsigned int *fetch, unsigned int *dest,
    unsigned int value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulong_atomic_swap_nbi(shmem_ctx_t ctx, unsigned long *fetch, unsigned long
    *dest, unsigned long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulonglong_atomic_swap_nbi(shmem_ctx_t ctx, unsigned long long *fetch, unsigned
    long long *dest, unsigned long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int32_atomic_swap_nbi(shmem_ctx_t ctx, int32_t *fetch, int32_t *dest, int32_t
    value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int64_atomic_swap_nbi(shmem_ctx_t ctx, int64_t *fetch, int64_t *dest, int64_t
    value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint32_atomic_swap_nbi(shmem_ctx_t ctx, uint32_t *fetch, uint32_t *dest,
    uint32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint64_atomic_swap_nbi(shmem_ctx_t ctx, uint64_t *fetch, uint64_t *dest,
    uint64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_size_atomic_swap_nbi(shmem_ctx_t ctx, size_t *fetch, size_t *dest, size_t
    value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ptrdiff_atomic_swap_nbi(shmem_ctx_t ctx, ptrdiff_t *fetch, ptrdiff_t *dest,
    ptrdiff_t value, int pe);

/* shmem_atomic_fetch_inc_nbi: begins to add one atomically and to fetch the old value (9.7.2.4). */
SHMEM_IMPL_NOPLT void shmem_int_atomic_fetch_inc_nbi(int *fetch, int *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_long_atomic_fetch_inc_nbi(long *fetch, long *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_longlong_atomic_fetch_inc_nbi(long long *fetch, long long *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_uint_atomic_fetch_inc_nbi(unsigned int *fetch, unsigned int *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_ulong_atomic_fetch_inc_nbi(unsigned long *fetch, unsigned long *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_ulonglong_atomic_fetch_inc_nbi(unsigned long long *fetch, unsigned long long
    *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_int32_atomic_fetch_inc_nbi(int32_t *fetch, int32_t *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_int64_atomic_fetch_inc_nbi(int64_t *fetch, int64_t *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_uint32_atomic_fetch_inc_nbi(uint32_t *fetch, uint32_t *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_uint64_atomic_fetch_inc_nbi(uint64_t *fetch, uint64_t *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_size_atomic_fetch_inc_nbi(size_t *fetch, size_t *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_ptrdiff_atomic_fetch_inc_nbi(ptrdiff_t *fetch, ptrdiff_t *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int_atomic_fetch_inc_nbi(shmem_ctx_t ctx, int *fetch, int *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_long_atomic_fetch_inc_nbi(shmem_ctx_t ctx, long *fetch, long *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longlong_atomic_fetch_inc_nbi(shmem_ctx_t ctx, long long *fetch, long long
    *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint_atomic_fetch_inc_nbi(shmem_ctx_t ctx, unsigned int *fetch, unsigned int
    *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulong_atomic_fetch_inc_nbi(shmem_ctx_t ctx, unsigned long *fetch, unsigned
    long *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulonglong_atomic_fetch_inc_nbi(shmem_ctx_t ctx, unsigned long long *fetch,
    unsigned long long *dest, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int32_atomic_fetch_inc_nbi(shmem_ctx_t ctx, int32_t *fetch, int32_t *dest, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int64_atomic_fetch_inc_nbi(shmem_ctx_t ctx, int64_t *fetch, int64_t *dest, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint32_atomic_fetch_inc_nbi(shmem_ctx_t ctx, uint32_t *fetch, uint32_t *dest,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint64_atomic_fetch_inc_nbi(shmem_ctx_t ctx, uint64_t *fetch, uint64_t *dest,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_size_atomic_fetch_inc_nbi(shmem_ctx_t ctx, size_t *fetch, size_t *dest, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ptrdiff_atomic_fetch_inc_nbi(shmem_ctx_t ctx, ptrdiff_t *fetch, ptrdiff_t
    *dest, int pe);

/* shmem_atomic_fetch_add_nbi: begins to add a value atomically and to fetch the old one (9.7.2.5). */
SHMEM_IMPL_NOPLT void shmem_int_atomic_fetch_add_nbi(int *fetch, int *dest, int value, int pe);
SHMEM_IMPL_NOPLT void shmem_long_atomic_fetch_add_nbi(long *fetch, long *dest, long value, int pe);
SHMEM_IMPL_NOPLT void shmem_longlong_atomic_fetch_add_nbi(long long *fetch, long long *dest, long long value,
    int pe);
SHMEM_IMPL_NOPLT void shmem_uint_atomic_fetch_add_nbi(unsigned int *fetch, unsigned int *dest, unsigned int
    value, int pe);
SHMEM_IMPL_NOPLT void shmem_ulong_atomic_fetch_add_nbi(unsigned long *fetch, unsigned long *dest, unsigned
    long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ulonglong_atomic_fetch_add_nbi(unsigned long long *fetch, unsigned long long
    *dest, unsigned long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_int32_atomic_fetch_add_nbi(int32_t *fetch, int32_t *dest, int32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_int64_atomic_fetch_add_nbi(int64_t *fetch, int64_t *dest, int64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint32_atomic_fetch_add_nbi(uint32_t *fetch, uint32_t *dest, uint32_t value, int
    pe);
SHMEM_IMPL_NOPLT void shmem_uint64_atomic_fetch_add_nbi(uint64_t *fetch, uint64_t *dest, uint64_t value, int
    pe);
SHMEM_IMPL_NOPLT void shmem_size_atomic_fetch_add_nbi(size_t *fetch, size_t *dest, size_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ptrdiff_atomic_fetch_add_nbi(ptrdiff_t *fetch, ptrdiff_t *dest, ptrdiff_t value,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int_atomic_fetch_add_nbi(shmem_ctx_t ctx, int *fetch, int *dest, int value,
    int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_long_atomic_fetch_add_nbi(shmem_ctx_t ctx, long *fetch, long *dest, long
    value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longlong_atomic_fetch_add_nbi(shmem_ctx_t ctx, long long *fetch, long long
    *dest, long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint_atomic_fetch_add_nbi(shmem_ctx_t ctx, unsigned int *fetch, unsigned int
    *dest, unsigned int value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulong_atomic_fetch_add_nbi(shmem_ctx_t ctx, unsigned long *fetch, unsigned
    long *dest, unsigned long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulonglong_atomic_fetch_add_nbi(shmem_ctx_t ctx, unsigned long long *fetch,
    unsigned long long *dest, unsigned long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int32_atomic_fetch_add_nbi(shmem_ctx_t ctx, int32_t *fetch, int32_t *dest,
    int32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int64_atomic_fetch_add_nbi(shmem_ctx_t ctx, int64_t *fetch, int64_t *dest,
    int64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint32_atomic_fetch_add_nbi(shmem_ctx_t ctx, uint32_t *fetch, uint32_t *dest,
    uint32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint64_atomic_fetch_add_nbi(shmem_ctx_t ctx, uint64_t *fetch, uint64_t *dest,
    uint64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_size_atomic_fetch_add_nbi(shmem_ctx_t ctx, size_t *fetch, size_t *dest, size_t
    value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ptrdiff_atomic_fetch_add_nbi(shmem_ctx_t ctx, ptrdiff_t *fetch, ptrdiff_t
    *dest, ptrdiff_t value, int pe);

/* shmem_atomic_fetch_and_nbi: begins to apply a bitwise and atomically and to fetch the old value (9.7.2.6). */
SHMEM_IMPL_NOPLT void shmem_uint_atomic_fetch_and_nbi(unsigned int *fetch, unsigned int *dest, unsigned int
    value, int pe);
SHMEM_IMPL_NOPLT void shmem_ulong_atomic_fetch_and_nbi(unsigned long *fetch, unsigned long *dest, unsigned
    long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ulonglong_atomic_fetch_and_nbi(unsigned long long *fetch, unsigned long long
    *dest, unsigned long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_int32_atomic_fetch_and_nbi(int32_t *fetch, int32_t *dest, int32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_int64_atomic_fetch_and_nbi(int64_t *fetch, int64_t *dest, int64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint32_atomic_fetch_and_nbi(uint32_t *fetch, uint32_t *dest, uint32_t value, int
    pe);
SHMEM_IMPL_NOPLT void shmem_uint64_atomic_fetch_and_nbi(uint64_t *fetch, uint64_t *dest, uint64_t value, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint_atomic_fetch_and_nbi(shmem_ctx_t ctx, unsigned int *fetch, unsigned int
    *dest, unsigned int value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulong_atomic_fetch_and_nbi(shmem_ctx_t ctx, unsigned long *fetch, unsigned
    long *dest, unsigned long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulonglong_atomic_fetch_and_nbi(shmem_ctx_t ctx, unsigned long long *fetch,
    unsigned long long *dest, unsigned long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int32_atomic_fetch_and_nbi(shmem_ctx_t ctx, int32_t *fetch, int32_t *dest,
    int32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int64_atomic_fetch_and_nbi(shmem_ctx_t ctx, int64_t *fetch, int64_t *dest,
    int64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint32_atomic_fetch_and_nbi(shmem_ctx_t ctx, uint32_t *fetch, uint32_t *dest,
    uint32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint64_atomic_fetch_and_nbi(shmem_ctx_t ctx, uint64_t *fetch, uint64_t *dest,
    uint64_t value, int pe);

/* shmem_atomic_fetch_or_nbi: begins to apply a bitwise or atomically and to fetch the old value (9.7.2.7). */
SHMEM_IMPL_NOPLT void shmem_uint_atomic_fetch_or_nbi(unsigned int *fetch, unsigned int *dest, unsigned int
    value, int pe);
SHMEM_IMPL_NOPLT void shmem_ulong_atomic_fetch_or_nbi(unsigned long *fetch, unsigned long *dest, unsigned long
    value, int pe);
SHMEM_IMPL_NOPLT void shmem_ulonglong_atomic_fetch_or_nbi(unsigned long long *fetch, unsigned long long *dest,
    unsigned long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_int32_atomic_fetch_or_nbi(int32_t *fetch, int32_t *dest, int32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_int64_atomic_fetch_or_nbi(int64_t *fetch, int64_t *dest, int64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint32_atomic_fetch_or_nbi(uint32_t *fetch, uint32_t *dest, uint32_t value, int
    pe);
SHMEM_IMPL_NOPLT void shmem_uint64_atomic_fetch_or_nbi(uint64_t *fetch, uint64_t *dest, uint64_t value, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint_atomic_fetch_or_nbi(shmem_ctx_t ctx, unsigned int *fetch, unsigned int
    *dest, unsigned int value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulong_atomic_fetch_or_nbi(shmem_ctx_t ctx, unsigned long *fetch, unsigned long
    *dest, unsigned long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulonglong_atomic_fetch_or_nbi(shmem_ctx_t ctx, unsigned long long *fetch,
    unsigned long long *dest, unsigned long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int32_atomic_fetch_or_nbi(shmem_ctx_t ctx, int32_t *fetch, int32_t *dest,
    int32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int64_atomic_fetch_or_nbi(shmem_ctx_t ctx, int64_t *fetch, int64_t *dest,
    int64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint32_atomic_fetch_or_nbi(shmem_ctx_t ctx, uint32_t *fetch, uint32_t *dest,
    uint32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint64_atomic_fetch_or_nbi(shmem_ctx_t ctx, uint64_t *fetch, uint64_t *dest,
    uint64_t value, int pe);

/* shmem_atomic_fetch_xor_nbi: begins to apply a bitwise exclusive or atomically and to fetch the old value (9.7.2.8). */
SHMEM_IMPL_NOPLT void shmem_uint_atomic_fetch_xor_nbi(unsigned int *fetch, unsigned int *dest, unsigned int
    value, int pe);
SHMEM_IMPL_NOPLT void shmem_ulong_atomic_fetch_xor_nbi(unsigned long *fetch, unsigned long *dest, unsigned
    long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ulonglong_atomic_fetch_xor_nbi(unsigned long long *fetch, unsigned long long
    *dest, unsigned long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_int32_atomic_fetch_xor_nbi(int32_t *fetch, int32_t *dest, int32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_int64_atomic_fetch_xor_nbi(int64_t *fetch, int64_t *dest, int64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_uint32_atomic_fetch_xor_nbi(uint32_t *fetch, uint32_t *dest, uint32_t value, int
    pe);
SHMEM_IMPL_NOPLT void shmem_uint64_atomic_fetch_xor_nbi(uint64_t *fetch, uint64_t *dest, uint64_t value, int
    pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint_atomic_fetch_xor_nbi(shmem_ctx_t ctx, unsigned int *fetch, unsigned int
    *dest, unsigned int value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulong_atomic_fetch_xor_nbi(shmem_ctx_t ctx, unsigned long *fetch, unsigned
    long *dest, unsigned long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulonglong_atomic_fetch_xor_nbi(shmem_ctx_t ctx, unsigned long long *fetch,
    unsigned long long *dest, unsigned long long value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int32_atomic_fetch_xor_nbi(shmem_ctx_t ctx, int32_t *fetch, int32_t *dest,
    int32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int64_atomic_fetch_xor_nbi(shmem_ctx_t ctx, int64_t *fetch, int64_t *dest,
    int64_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint32_atomic_fetch_xor_nbi(shmem_ctx_t ctx, uint32_t *fetch, uint32_t *dest,
    uint32_t value, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint64_atomic_fetch_xor_nbi(shmem_ctx_t ctx, uint64_t *fetch, uint64_t *dest,
    uint64_t value, int pe);

/* shmem_fetch: is the old name of shmem_atomic_fetch (9.7.1.1). */
SHMEM_IMPL_DEPRECATED("shmem_atomic_fetch") SHMEM_IMPL_NOPLT float shmem_float_fetch(const float *source, int
    pe);
SHMEM_IMPL_DEPRECATED("shmem_atomic_fetch") SHMEM_IMPL_NOPLT double shmem_double_fetch(const double *source,
    int pe);
SHMEM_IMPL_DEPRECATED("shmem_atomic_fetch") SHMEM_IMPL_NOPLT int shmem_int_fetch(const int *source, int pe);
SHMEM_IMPL_DEPRECATED("shmem_atomic_fetch") SHMEM_IMPL_NOPLT long shmem_long_fetch(const long *source, int
    pe);
SHMEM_IMPL_DEPRECATED("shmem_atomic_fetch") SHMEM_IMPL_NOPLT long long shmem_longlong_fetch(const long long
    *source, int pe);

/* shmem_set: is the old name of shmem_atomic_set (9.7.1.2). */
SHMEM_IMPL_DEPRECATED("shmem_atomic_set") SHMEM_IMPL_NOPLT void shmem_float_set(float *dest, float value, int
    pe);
SHMEM_IMPL_DEPRECATED("shmem_atomic_set") SHMEM_IMPL_NOPLT void shmem_double_set(double *dest, double value,
    int pe);
SHMEM_IMPL_DEPRECATED("shmem_atomic_set") SHMEM_IMPL_NOPLT void shmem_int_set(int *dest, int value, int pe);
SHMEM_IMPL_DEPRECATED("shmem_atomic_set") SHMEM_IMPL_NOPLT void shmem_long_set(long *dest, long value, int
    pe);
SHMEM_IMPL_DEPRECATED("shmem_atomic_set") SHMEM_IMPL_NOPLT void shmem_longlong_set(long long *dest, long long
    value, int pe);

/* shmem_cswap: is the old name of shmem_atomic_compare_swap (9.7.1.3). */
SHMEM_IMPL_DEPRECATED("shmem_atomic_compare_swap") SHMEM_IMPL_NOPLT int shmem_int_cswap(int *dest, int cond,
    int value, int pe);
SHMEM_IMPL_DEPRECATED("shmem_atomic_compare_swap") SHMEM_IMPL_NOPLT long shmem_long_cswap(long *dest, long
    cond, long value, int pe);
SHMEM_IMPL_DEPRECATED("shmem_atomic_compare_swap") SHMEM_IMPL_NOPLT long long shmem_longlong_cswap(long long
    *dest, long long cond, long long value, int pe);

/* shmem_swap: is the old name of shmem_atomic_swap (9.7.1.4). */
SHMEM_IMPL_DEPRECATED("shmem_atomic_swap") SHMEM_IMPL_NOPLT float shmem_float_swap(float *dest, float value,
    int pe);
SHMEM_IMPL_DEPRECATED("shmem_atomic_swap") SHMEM_IMPL_NOPLT double shmem_double_swap(double *dest, double
    value, int pe);
SHMEM_IMPL_DEPRECATED("shmem_atomic_swap") SHMEM_IMPL_NOPLT int shmem_int_swap(int *dest, int value, int pe);
SHMEM_IMPL_DEPRECATED("shmem_atomic_swap") SHMEM_IMPL_NOPLT long shmem_long_swap(long *dest, long value, int
    pe);
SHMEM_IMPL_DEPRECATED("shmem_atomic_swap") SHMEM_IMPL_NOPLT long long shmem_longlong_swap(long long *dest,
    long long value, int pe);

/* shmem_finc: is the old name of shmem_atomic_fetch_inc (9.7.1.5). */
SHMEM_IMPL_DEPRECATED("shmem_atomic_fetch_inc") SHMEM_IMPL_NOPLT int shmem_int_finc(int *dest, int pe);
SHMEM_IMPL_DEPRECATED("shmem_atomic_fetch_inc") SHMEM_IMPL_NOPLT long shmem_long_finc(long *dest, int pe);
SHMEM_IMPL_DEPRECATED("shmem_atomic_fetch_inc") SHMEM_IMPL_NOPLT long long shmem_longlong_finc(long long
    *dest, int pe);

/* shmem_inc: is the old name of shmem_atomic_inc (9.7.1.6). */
SHMEM_IMPL_DEPRECATED("shmem_atomic_inc") SHMEM_IMPL_NOPLT void shmem_int_inc(int *dest, int pe);
SHMEM_IMPL_DEPRECATED("shmem_atomic_inc") SHMEM_IMPL_NOPLT void shmem_long_inc(long *dest, int pe);
SHMEM_IMPL_DEPRECATED("shmem_atomic_inc") SHMEM_IMPL_NOPLT void shmem_longlong_inc(long long *dest, int pe);

/* shmem_fadd: is the old name of shmem_atomic_fetch_add (9.7.1.7). */
SHMEM_IMPL_DEPRECATED("shmem_atomic_fetch_add") SHMEM_IMPL_NOPLT int shmem_int_fadd(int *dest, int value, int
    pe);
SHMEM_IMPL_DEPRECATED("shmem_atomic_fetch_add") SHMEM_IMPL_NOPLT long shmem_long_fadd(long *dest, long value,
    int pe);
SHMEM_IMPL_DEPRECATED("shmem_atomic_fetch_add") SHMEM_IMPL_NOPLT long long shmem_longlong_fadd(long long
    *dest, long long value, int pe);

/* shmem_add: is the old name of shmem_atomic_add (9.7.1.8). */
SHMEM_IMPL_DEPRECATED("shmem_atomic_add") SHMEM_IMPL_NOPLT void shmem_int_add(int *dest, int value, int pe);
SHMEM_IMPL_DEPRECATED("shmem_atomic_add") SHMEM_IMPL_NOPLT void shmem_long_add(long *dest, long value, int
    pe);
SHMEM_IMPL_DEPRECATED("shmem_atomic_add") SHMEM_IMPL_NOPLT void shmem_longlong_add(long long *dest, long long
    value, int pe);

/* shmem_put_signal: copies data to another PE and then updates a signal there (9.8.3). */
SHMEM_IMPL_NOPLT void shmem_float_put_signal(float *dest, const float *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_double_put_signal(double *dest, const double *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_longdouble_put_signal(long double *dest, const long double *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_char_put_signal(char *dest, const char *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_schar_put_signal(signed char *dest, const signed char *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_short_put_signal(short *dest, const short *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_int_put_signal(int *dest, const int *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_long_put_signal(long *dest, const long *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_longlong_put_signal(long long *dest, const long long *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_uchar_put_signal(unsigned char *dest, const unsigned char *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ushort_put_signal(unsigned short *dest, const unsigned short *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_uint_put_signal(unsigned int *dest, const unsigned int *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ulong_put_signal(unsigned long *dest, const unsigned long *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ulonglong_put_signal(unsigned long long *dest, const unsigned long long *source,
    size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_int8_put_signal(int8_t *dest, const int8_t *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_int16_put_signal(int16_t *dest, const int16_t *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_int32_put_signal(int32_t *dest, const int32_t *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_int64_put_signal(int64_t *dest, const int64_t *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_uint8_put_signal(uint8_t *dest, const uint8_t *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_uint16_put_signal(uint16_t *dest, const uint16_t *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_uint32_put_signal(uint32_t *dest, const uint32_t *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_uint64_put_signal(uint64_t *dest, const uint64_t *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_size_put_signal(size_t *dest, const size_t *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ptrdiff_put_signal(ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_float_put_signal(shmem_ctx_t ctx, float *dest, const float *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_double_put_signal(shmem_ctx_t ctx, double *dest, const double *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longdouble_put_signal(shmem_ctx_t ctx, long double *dest, const long double
    *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_char_put_signal(shmem_ctx_t ctx, char *dest, const char *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_schar_put_signal(shmem_ctx_t ctx, signed char *dest, const signed char
    *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_short_put_signal(shmem_ctx_t ctx, short *dest, const short *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int_put_signal(shmem_ctx_t ctx, int *dest, const int *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_long_put_signal(shmem_ctx_t ctx, long *dest, const long *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longlong_put_signal(shmem_ctx_t ctx, long long *dest, const long long *source,
    size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uchar_put_signal(shmem_ctx_t ctx, unsigned char *dest, const unsigned char
    *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ushort_put_signal(shmem_ctx_t ctx, unsigned short *dest, const unsigned short
    *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint_put_signal(shmem_ctx_t ctx, unsigned int *dest, const unsigned int
    *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulong_put_signal(shmem_ctx_t ctx, unsigned long *dest, const unsigned long
    *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulonglong_put_signal(shmem_ctx_t ctx, unsigned long long *dest, const unsigned
    long long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int8_put_signal(shmem_ctx_t ctx, int8_t *dest, const int8_t *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int16_put_signal(shmem_ctx_t ctx, int16_t *dest, const int16_t *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int32_put_signal(shmem_ctx_t ctx, int32_t *dest, const int32_t *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int64_put_signal(shmem_ctx_t ctx, int64_t *dest, const int64_t *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint8_put_signal(shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint16_put_signal(shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source,
    size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint32_put_signal(shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source,
    size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint64_put_signal(shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source,
    size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_size_put_signal(shmem_ctx_t ctx, size_t *dest, const size_t *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ptrdiff_put_signal(shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source,
    size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_put8_signal(void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_put16_signal(void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_put32_signal(void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_put64_signal(void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_put128_signal(void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_put8_signal(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_put16_signal(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_put32_signal(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_put64_signal(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_put128_signal(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_putmem_signal(void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_putmem_signal(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);

/* shmem_put_signal_nbi: begins to copy data to another PE and to update a signal there (9.8.4). */
SHMEM_IMPL_NOPLT void shmem_float_put_signal_nbi(float *dest, const float *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_double_put_signal_nbi(double *dest, const double *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_longdouble_put_signal_nbi(long double *dest, const long double *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_char_put_signal_nbi(char *dest, const char *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_schar_put_signal_nbi(signed char *dest, const signed char *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_short_put_signal_nbi(short *dest, const short *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_int_put_signal_nbi(int *dest, const int *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_long_put_signal_nbi(long *dest, const long *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_longlong_put_signal_nbi(long long *dest, const long long *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_uchar_put_signal_nbi(unsigned char *dest, const unsigned char *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ushort_put_signal_nbi(unsigned short *dest, const unsigned short *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_uint_put_signal_nbi(unsigned int *dest, const unsigned int *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ulong_put_signal_nbi(unsigned long *dest, const unsigned long *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ulonglong_put_signal_nbi(unsigned long long *dest, const unsigned long long
    *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_int8_put_signal_nbi(int8_t *dest, const int8_t *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_int16_put_signal_nbi(int16_t *dest, const int16_t *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_int32_put_signal_nbi(int32_t *dest, const int32_t *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_int64_put_signal_nbi(int64_t *dest, const int64_t *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_uint8_put_signal_nbi(uint8_t *dest, const uint8_t *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_uint16_put_signal_nbi(uint16_t *dest, const uint16_t *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_uint32_put_signal_nbi(uint32_t *dest, const uint32_t *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_uint64_put_signal_nbi(uint64_t *dest, const uint64_t *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_size_put_signal_nbi(size_t *dest, const size_t *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ptrdiff_put_signal_nbi(ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_float_put_signal_nbi(shmem_ctx_t ctx, float *dest, const float *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_double_put_signal_nbi(shmem_ctx_t ctx, double *dest, const double *source,
    size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longdouble_put_signal_nbi(shmem_ctx_t ctx, long double *dest, const long
    double *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_char_put_signal_nbi(shmem_ctx_t ctx, char *dest, const char *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_schar_put_signal_nbi(shmem_ctx_t ctx, signed char *dest, const signed char
    *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_short_put_signal_nbi(shmem_ctx_t ctx, short *dest, const short *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int_put_signal_nbi(shmem_ctx_t ctx, int *dest, const int *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_long_put_signal_nbi(shmem_ctx_t ctx, long *dest, const long *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_longlong_put_signal_nbi(shmem_ctx_t ctx, long long *dest, const long long
    *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uchar_put_signal_nbi(shmem_ctx_t ctx, unsigned char *dest, const unsigned char
    *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ushort_put_signal_nbi(shmem_ctx_t ctx, unsigned short *dest, const unsigned
    short *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint_put_signal_nbi(shmem_ctx_t ctx, unsigned int *dest, const unsigned int
    *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulong_put_signal_nbi(shmem_ctx_t ctx, unsigned long *dest, const unsigned long
    *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ulonglong_put_signal_nbi(shmem_ctx_t ctx, unsigned long long *dest, const
    unsigned long long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int8_put_signal_nbi(shmem_ctx_t ctx, int8_t *dest, const int8_t *source,
    size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int16_put_signal_nbi(shmem_ctx_t ctx, int16_t *dest, const int16_t *source,
    size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int32_put_signal_nbi(shmem_ctx_t ctx, int32_t *dest, const int32_t *source,
    size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_int64_put_signal_nbi(shmem_ctx_t ctx, int64_t *dest, const int64_t *source,
    size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint8_put_signal_nbi(shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source,
    size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint16_put_signal_nbi(shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source,
    size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint32_put_signal_nbi(shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source,
    size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_uint64_put_signal_nbi(shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source,
    size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_size_put_signal_nbi(shmem_ctx_t ctx, size_t *dest, const size_t *source,
    size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_ptrdiff_put_signal_nbi(shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t
    *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_put8_signal_nbi(void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_put16_signal_nbi(void *dest, const void *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_put32_signal_nbi(void *dest, const void *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_put64_signal_nbi(void *dest, const void *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_put128_signal_nbi(void *dest, const void *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_put8_signal_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_put16_signal_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_put32_signal_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_put64_signal_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_put128_signal_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_putmem_signal_nbi(void *dest, const void *source, size_t nelems, uint64_t
    *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_putmem_signal_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t
    nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);

/* shmem_signal_add: adds to a signal on another PE (9.8.5). */
SHMEM_IMPL_NOPLT void shmem_signal_add(uint64_t *sig_addr, uint64_t signal, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_signal_add(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe);

/* shmem_signal_fetch: reads this PE's signal atomically (9.8.6). */
SHMEM_IMPL_NOPLT uint64_t shmem_signal_fetch(const uint64_t *sig_addr);

/* shmem_signal_set: sets a signal on another PE (9.8.7). */
SHMEM_IMPL_NOPLT void shmem_signal_set(uint64_t *sig_addr, uint64_t signal, int pe);
SHMEM_IMPL_NOPLT void shmem_ctx_signal_set(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe);

/* shmem_barrier_all: waits until all PEs have come, and completes all updates (9.10.1). */
SHMEM_IMPL_NOPLT void shmem_barrier_all(void);

/* shmem_team_sync: waits until all PEs of a team have come (9.10.3). */
SHMEM_IMPL_NOPLT int shmem_team_sync(shmem_team_t team);

/* shmem_sync_all: waits until all PEs have come (9.10.4). */
SHMEM_IMPL_NOPLT void shmem_sync_all(void);

/* shmem_alltoall: gives each PE of a team its block of every PE's data (9.10.5). */
SHMEM_IMPL_NOPLT int shmem_float_alltoall(shmem_team_t team, float *dest, const float *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_double_alltoall(shmem_team_t team, double *dest, const double *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_longdouble_alltoall(shmem_team_t team, long double *dest, const long double
    *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_char_alltoall(shmem_team_t team, char *dest, const char *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_schar_alltoall(shmem_team_t team, signed char *dest, const signed char *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_short_alltoall(shmem_team_t team, short *dest, const short *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_int_alltoall(shmem_team_t team, int *dest, const int *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_long_alltoall(shmem_team_t team, long *dest, const long *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_longlong_alltoall(shmem_team_t team, long long *dest, const long long *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_uchar_alltoall(shmem_team_t team, unsigned char *dest, const unsigned char *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_ushort_alltoall(shmem_team_t team, unsigned short *dest, const unsigned short
    *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_uint_alltoall(shmem_team_t team, unsigned int *dest, const unsigned int *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_ulong_alltoall(shmem_team_t team, unsigned long *dest, const unsigned long *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_ulonglong_alltoall(shmem_team_t team, unsigned long long *dest, const unsigned long
    long *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_int8_alltoall(shmem_team_t team, int8_t *dest, const int8_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_int16_alltoall(shmem_team_t team, int16_t *dest, const int16_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_int32_alltoall(shmem_team_t team, int32_t *dest, const int32_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_int64_alltoall(shmem_team_t team, int64_t *dest, const int64_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_uint8_alltoall(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_uint16_alltoall(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_uint32_alltoall(shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_uint64_alltoall(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_size_alltoall(shmem_team_t team, size_t *dest, const size_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_ptrdiff_alltoall(shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_alltoallmem(shmem_team_t team, void *dest, const void *source, size_t nelems);

/* shmem_alltoalls: gives each PE of a team its strided block of every PE's data (9.10.6). */
SHMEM_IMPL_NOPLT int shmem_float_alltoalls(shmem_team_t team, float *dest, const float *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_double_alltoalls(shmem_team_t team, double *dest, const double *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_longdouble_alltoalls(shmem_team_t team, long double *dest, const long double
    *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_char_alltoalls(shmem_team_t team, char *dest, const char *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_schar_alltoalls(shmem_team_t team, signed char *dest, const signed char *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_short_alltoalls(shmem_team_t team, short *dest, const short *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_int_alltoalls(shmem_team_t team, int *dest, const int *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_long_alltoalls(shmem_team_t team, long *dest, const long *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_longlong_alltoalls(shmem_team_t team, long long *dest, const long long *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_uchar_alltoalls(shmem_team_t team, unsigned char *dest, const unsigned char
    *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_ushort_alltoalls(shmem_team_t team, unsigned short *dest, const unsigned short
    *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_uint_alltoalls(shmem_team_t team, unsigned int *dest, const unsigned int *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_ulong_alltoalls(shmem_team_t team, unsigned long *dest, const unsigned long
    *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_ulonglong_alltoalls(shmem_team_t team, unsigned long long *dest, const unsigned
    long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_int8_alltoalls(shmem_team_t team, int8_t *dest, const int8_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_int16_alltoalls(shmem_team_t team, int16_t *dest, const int16_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_int32_alltoalls(shmem_team_t team, int32_t *dest, const int32_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_int64_alltoalls(shmem_team_t team, int64_t *dest, const int64_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_uint8_alltoalls(shmem_team_t team, uint8_t *dest, const uint8_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_uint16_alltoalls(shmem_team_t team, uint16_t *dest, const uint16_t *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_uint32_alltoalls(shmem_team_t team, uint32_t *dest, const uint32_t *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_uint64_alltoalls(shmem_team_t team, uint64_t *dest, const uint64_t *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_size_alltoalls(shmem_team_t team, size_t *dest, const size_t *source, ptrdiff_t
    dst, ptrdiff_t sst, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_ptrdiff_alltoalls(shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source,
    ptrdiff_t dst, ptrdiff_t sst, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_alltoallsmem(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst,
    ptrdiff_t sst, size_t nelems);

/* shmem_broadcast: gives all PEs of a team the data of one (9.10.7). */
SHMEM_IMPL_NOPLT int shmem_float_broadcast(shmem_team_t team, float *dest, const float *source, size_t nelems,
    int PE_root);
SHMEM_IMPL_NOPLT int shmem_double_broadcast(shmem_team_t team, double *dest, const double *source, size_t
    nelems, int PE_root);
SHMEM_IMPL_NOPLT int shmem_longdouble_broadcast(shmem_team_t team, long double *dest, const long double
    *source, size_t nelems, int PE_root);
SHMEM_IMPL_NOPLT int shmem_char_broadcast(shmem_team_t team, char *dest, const char *source, size_t nelems,
    int PE_root);
SHMEM_IMPL_NOPLT int shmem_schar_broadcast(shmem_team_t team, signed char *dest, const signed char *source,
    size_t nelems, int PE_root);
SHMEM_IMPL_NOPLT int shmem_short_broadcast(shmem_team_t team, short *dest, const short *source, size_t nelems,
    int PE_root);
SHMEM_IMPL_NOPLT int shmem_int_broadcast(shmem_team_t team, int *dest, const int *source, size_t nelems, int
    PE_root);
SHMEM_IMPL_NOPLT int shmem_long_broadcast(shmem_team_t team, long *dest, const long *source, size_t nelems,
    int PE_root);
SHMEM_IMPL_NOPLT int shmem_longlong_broadcast(shmem_team_t team, long long *dest, const long long *source,
    size_t nelems, int PE_root);
SHMEM_IMPL_NOPLT int shmem_uchar_broadcast(shmem_team_t team, unsigned char *dest, const unsigned char
    *source, size_t nelems, int PE_root);
SHMEM_IMPL_NOPLT int shmem_ushort_broadcast(shmem_team_t team, unsigned short *dest, const unsigned short
    *source, size_t nelems, int PE_root);
SHMEM_IMPL_NOPLT int shmem_uint_broadcast(shmem_team_t team, unsigned int *dest, const unsigned int *source,
    size_t nelems, int PE_root);
SHMEM_IMPL_NOPLT int shmem_ulong_broadcast(shmem_team_t team, unsigned long *dest, const unsigned long
    *source, size_t nelems, int PE_root);
SHMEM_IMPL_NOPLT int shmem_ulonglong_broadcast(shmem_team_t team, unsigned long long *dest, const unsigned
    long long *source, size_t nelems, int PE_root);
SHMEM_IMPL_NOPLT int shmem_int8_broadcast(shmem_team_t team, int8_t *dest, const int8_t *source, size_t
    nelems, int PE_root);
SHMEM_IMPL_NOPLT int shmem_int16_broadcast(shmem_team_t team, int16_t *dest, const int16_t *source, size_t
    nelems, int PE_root);
SHMEM_IMPL_NOPLT int shmem_int32_broadcast(shmem_team_t team, int32_t *dest, const int32_t *source, size_t
    nelems, int PE_root);
SHMEM_IMPL_NOPLT int shmem_int64_broadcast(shmem_team_t team, int64_t *dest, const int64_t *source, size_t
    nelems, int PE_root);
SHMEM_IMPL_NOPLT int shmem_uint8_broadcast(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t
    nelems, int PE_root);
SHMEM_IMPL_NOPLT int shmem_uint16_broadcast(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t
    nelems, int PE_root);
SHMEM_IMPL_NOPLT int shmem_uint32_broadcast(shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t
    nelems, int PE_root);
SHMEM_IMPL_NOPLT int shmem_uint64_broadcast(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t
    nelems, int PE_root);
SHMEM_IMPL_NOPLT int shmem_size_broadcast(shmem_team_t team, size_t *dest, const size_t *source, size_t
    nelems, int PE_root);
SHMEM_IMPL_NOPLT int shmem_ptrdiff_broadcast(shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source,
    size_t nelems, int PE_root);
SHMEM_IMPL_NOPLT int shmem_broadcastmem(shmem_team_t team, void *dest, const void *source, size_t nelems, int
    PE_root);

/* shmem_collect: joins the data of all PEs of a team on each of them (9.10.8). */
SHMEM_IMPL_NOPLT int shmem_float_collect(shmem_team_t team, float *dest, const float *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_double_collect(shmem_team_t team, double *dest, const double *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_longdouble_collect(shmem_team_t team, long double *dest, const long double *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_char_collect(shmem_team_t team, char *dest, const char *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_schar_collect(shmem_team_t team, signed char *dest, const signed char *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_short_collect(shmem_team_t team, short *dest, const short *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_int_collect(shmem_team_t team, int *dest, const int *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_long_collect(shmem_team_t team, long *dest, const long *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_longlong_collect(shmem_team_t team, long long *dest, const long long *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_uchar_collect(shmem_team_t team, unsigned char *dest, const unsigned char *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_ushort_collect(shmem_team_t team, unsigned short *dest, const unsigned short
    *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_uint_collect(shmem_team_t team, unsigned int *dest, const unsigned int *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_ulong_collect(shmem_team_t team, unsigned long *dest, const unsigned long *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_ulonglong_collect(shmem_team_t team, unsigned long long *dest, const unsigned long
    long *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_int8_collect(shmem_team_t team, int8_t *dest, const int8_t *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_int16_collect(shmem_team_t team, int16_t *dest, const int16_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_int32_collect(shmem_team_t team, int32_t *dest, const int32_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_int64_collect(shmem_team_t team, int64_t *dest, const int64_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_uint8_collect(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_uint16_collect(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_uint32_collect(shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_uint64_collect(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_size_collect(shmem_team_t team, size_t *dest, const size_t *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_ptrdiff_collect(shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_collectmem(shmem_team_t team, void *dest, const void *source, size_t nelems);

/* shmem_fcollect: joins as much data of all PEs of a team on each of them (9.10.8). */
SHMEM_IMPL_NOPLT int shmem_float_fcollect(shmem_team_t team, float *dest, const float *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_double_fcollect(shmem_team_t team, double *dest, const double *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_longdouble_fcollect(shmem_team_t team, long double *dest, const long double
    *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_char_fcollect(shmem_team_t team, char *dest, const char *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_schar_fcollect(shmem_team_t team, signed char *dest, const signed char *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_short_fcollect(shmem_team_t team, short *dest, const short *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_int_fcollect(shmem_team_t team, int *dest, const int *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_long_fcollect(shmem_team_t team, long *dest, const long *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_longlong_fcollect(shmem_team_t team, long long *dest, const long long *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_uchar_fcollect(shmem_team_t team, unsigned char *dest, const unsigned char *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_ushort_fcollect(shmem_team_t team, unsigned short *dest, const unsigned short
    *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_uint_fcollect(shmem_team_t team, unsigned int *dest, const unsigned int *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_ulong_fcollect(shmem_team_t team, unsigned long *dest, const unsigned long *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_ulonglong_fcollect(shmem_team_t team, unsigned long long *dest, const unsigned long
    long *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_int8_fcollect(shmem_team_t team, int8_t *dest, const int8_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_int16_fcollect(shmem_team_t team, int16_t *dest, const int16_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_int32_fcollect(shmem_team_t team, int32_t *dest, const int32_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_int64_fcollect(shmem_team_t team, int64_t *dest, const int64_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_uint8_fcollect(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_uint16_fcollect(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_uint32_fcollect(shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_uint64_fcollect(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_size_fcollect(shmem_team_t team, size_t *dest, const size_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_ptrdiff_fcollect(shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_fcollectmem(shmem_team_t team, void *dest, const void *source, size_t nelems);

/* shmem_and_reduce: gives all PEs of a team the bitwise and of their data (9.10.9.1). */
SHMEM_IMPL_NOPLT int shmem_uchar_and_reduce(shmem_team_t team, unsigned char *dest, const unsigned char
    *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_ushort_and_reduce(shmem_team_t team, unsigned short *dest, const unsigned short
    *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_uint_and_reduce(shmem_team_t team, unsigned int *dest, const unsigned int *source,
    size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_ulong_and_reduce(shmem_team_t team, unsigned long *dest, const unsigned long
    *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_ulonglong_and_reduce(shmem_team_t team, unsigned long long *dest, const unsigned
    long long *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_int8_and_reduce(shmem_team_t team, int8_t *dest, const int8_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_int16_and_reduce(shmem_team_t team, int16_t *dest, const int16_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_int32_and_reduce(shmem_team_t team, int32_t *dest, const int32_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_int64_and_reduce(shmem_team_t team, int64_t *dest, const int64_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint8_and_reduce(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint16_and_reduce(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint32_and_reduce(shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint64_and_reduce(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_size_and_reduce(shmem_team_t team, size_t *dest, const size_t *source, size_t
    nreduce);

/* shmem_or_reduce: gives all PEs of a team the bitwise or of their data (9.10.9.2). */
SHMEM_IMPL_NOPLT int shmem_uchar_or_reduce(shmem_team_t team, unsigned char *dest, const unsigned char
    *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_ushort_or_reduce(shmem_team_t team, unsigned short *dest, const unsigned short
    *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_uint_or_reduce(shmem_team_t team, unsigned int *dest, const unsigned int *source,
    size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_ulong_or_reduce(shmem_team_t team, unsigned long *dest, const unsigned long
    *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_ulonglong_or_reduce(shmem_team_t team, unsigned long long *dest, const unsigned
    long long *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_int8_or_reduce(shmem_team_t team, int8_t *dest, const int8_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_int16_or_reduce(shmem_team_t team, int16_t *dest, const int16_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_int32_or_reduce(shmem_team_t team, int32_t *dest, const int32_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_int64_or_reduce(shmem_team_t team, int64_t *dest, const int64_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint8_or_reduce(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint16_or_reduce(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint32_or_reduce(shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint64_or_reduce(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_size_or_reduce(shmem_team_t team, size_t *dest, const size_t *source, size_t
    nreduce);

/* shmem_xor_reduce: gives all PEs of a team the bitwise exclusive or of their data (9.10.9.3). */
SHMEM_IMPL_NOPLT int shmem_uchar_xor_reduce(shmem_team_t team, unsigned char *dest, const unsigned char
    *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_ushort_xor_reduce(shmem_team_t team, unsigned short *dest, const unsigned short
    *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_uint_xor_reduce(shmem_team_t team, unsigned int *dest, const unsigned int *source,
    size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_ulong_xor_reduce(shmem_team_t team, unsigned long *dest, const unsigned long
    *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_ulonglong_xor_reduce(shmem_team_t team, unsigned long long *dest, const unsigned
    long long *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_int8_xor_reduce(shmem_team_t team, int8_t *dest, const int8_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_int16_xor_reduce(shmem_team_t team, int16_t *dest, const int16_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_int32_xor_reduce(shmem_team_t team, int32_t *dest, const int32_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_int64_xor_reduce(shmem_team_t team, int64_t *dest, const int64_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint8_xor_reduce(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint16_xor_reduce(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint32_xor_reduce(shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint64_xor_reduce(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_size_xor_reduce(shmem_team_t team, size_t *dest, const size_t *source, size_t
    nreduce);

/* shmem_max_reduce: gives all PEs of a team the greatest of their values (9.10.9.4). */
SHMEM_IMPL_NOPLT int shmem_char_max_reduce(shmem_team_t team, char *dest, const char *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_schar_max_reduce(shmem_team_t team, signed char *dest, const signed char *source,
    size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_short_max_reduce(shmem_team_t team, short *dest, const short *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_int_max_reduce(shmem_team_t team, int *dest, const int *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_long_max_reduce(shmem_team_t team, long *dest, const long *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_longlong_max_reduce(shmem_team_t team, long long *dest, const long long *source,
    size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_ptrdiff_max_reduce(shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source,
    size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_uchar_max_reduce(shmem_team_t team, unsigned char *dest, const unsigned char
    *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_ushort_max_reduce(shmem_team_t team, unsigned short *dest, const unsigned short
    *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_uint_max_reduce(shmem_team_t team, unsigned int *dest, const unsigned int *source,
    size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_ulong_max_reduce(shmem_team_t team, unsigned long *dest, const unsigned long
    *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_ulonglong_max_reduce(shmem_team_t team, unsigned long long *dest, const unsigned
    long long *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_int8_max_reduce(shmem_team_t team, int8_t *dest, const int8_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_int16_max_reduce(shmem_team_t team, int16_t *dest, const int16_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_int32_max_reduce(shmem_team_t team, int32_t *dest, const int32_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_int64_max_reduce(shmem_team_t team, int64_t *dest, const int64_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint8_max_reduce(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint16_max_reduce(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint32_max_reduce(shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint64_max_reduce(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_size_max_reduce(shmem_team_t team, size_t *dest, const size_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_float_max_reduce(shmem_team_t team, float *dest, const float *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_double_max_reduce(shmem_team_t team, double *dest, const double *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_longdouble_max_reduce(shmem_team_t team, long double *dest, const long double
    *source, size_t nreduce);

/* shmem_min_reduce: gives all PEs of a team the least of their values (9.10.9.5). */
SHMEM_IMPL_NOPLT int shmem_char_min_reduce(shmem_team_t team, char *dest, const char *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_schar_min_reduce(shmem_team_t team, signed char *dest, const signed char *source,
    size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_short_min_reduce(shmem_team_t team, short *dest, const short *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_int_min_reduce(shmem_team_t team, int *dest, const int *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_long_min_reduce(shmem_team_t team, long *dest, const long *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_longlong_min_reduce(shmem_team_t team, long long *dest, const long long *source,
    size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_ptrdiff_min_reduce(shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source,
    size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_uchar_min_reduce(shmem_team_t team, unsigned char *dest, const unsigned char
    *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_ushort_min_reduce(shmem_team_t team, unsigned short *dest, const unsigned short
    *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_uint_min_reduce(shmem_team_t team, unsigned int *dest, const unsigned int *source,
    size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_ulong_min_reduce(shmem_team_t team, unsigned long *dest, const unsigned long
    *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_ulonglong_min_reduce(shmem_team_t team, unsigned long long *dest, const unsigned
    long long *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_int8_min_reduce(shmem_team_t team, int8_t *dest, const int8_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_int16_min_reduce(shmem_team_t team, int16_t *dest, const int16_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_int32_min_reduce(shmem_team_t team, int32_t *dest, const int32_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_int64_min_reduce(shmem_team_t team, int64_t *dest, const int64_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint8_min_reduce(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint16_min_reduce(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint32_min_reduce(shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint64_min_reduce(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_size_min_reduce(shmem_team_t team, size_t *dest, const size_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_float_min_reduce(shmem_team_t team, float *dest, const float *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_double_min_reduce(shmem_team_t team, double *dest, const double *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_longdouble_min_reduce(shmem_team_t team, long double *dest, const long double
    *source, size_t nreduce);

/* shmem_sum_reduce: gives all PEs of a team the sum of their values (9.10.9.6). */
SHMEM_IMPL_NOPLT int shmem_char_sum_reduce(shmem_team_t team, char *dest, const char *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_schar_sum_reduce(shmem_team_t team, signed char *dest, const signed char *source,
    size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_short_sum_reduce(shmem_team_t team, short *dest, const short *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_int_sum_reduce(shmem_team_t team, int *dest, const int *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_long_sum_reduce(shmem_team_t team, long *dest, const long *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_longlong_sum_reduce(shmem_team_t team, long long *dest, const long long *source,
    size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_ptrdiff_sum_reduce(shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source,
    size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_uchar_sum_reduce(shmem_team_t team, unsigned char *dest, const unsigned char
    *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_ushort_sum_reduce(shmem_team_t team, unsigned short *dest, const unsigned short
    *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_uint_sum_reduce(shmem_team_t team, unsigned int *dest, const unsigned int *source,
    size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_ulong_sum_reduce(shmem_team_t team, unsigned long *dest, const unsigned long
    *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_ulonglong_sum_reduce(shmem_team_t team, unsigned long long *dest, const unsigned
    long long *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_int8_sum_reduce(shmem_team_t team, int8_t *dest, const int8_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_int16_sum_reduce(shmem_team_t team, int16_t *dest, const int16_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_int32_sum_reduce(shmem_team_t team, int32_t *dest, const int32_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_int64_sum_reduce(shmem_team_t team, int64_t *dest, const int64_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint8_sum_reduce(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint16_sum_reduce(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint32_sum_reduce(shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint64_sum_reduce(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_size_sum_reduce(shmem_team_t team, size_t *dest, const size_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_float_sum_reduce(shmem_team_t team, float *dest, const float *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_double_sum_reduce(shmem_team_t team, double *dest, const double *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_longdouble_sum_reduce(shmem_team_t team, long double *dest, const long double
    *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_complexd_sum_reduce(shmem_team_t team, shmem_impl_complexd_t *dest, const
    shmem_impl_complexd_t *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_complexf_sum_reduce(shmem_team_t team, shmem_impl_complexf_t *dest, const
    shmem_impl_complexf_t *source, size_t nreduce);

/* shmem_prod_reduce: gives all PEs of a team the product of their values (9.10.9.7). */
SHMEM_IMPL_NOPLT int shmem_char_prod_reduce(shmem_team_t team, char *dest, const char *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_schar_prod_reduce(shmem_team_t team, signed char *dest, const signed char *source,
    size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_short_prod_reduce(shmem_team_t team, short *dest, const short *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_int_prod_reduce(shmem_team_t team, int *dest, const int *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_long_prod_reduce(shmem_team_t team, long *dest, const long *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_longlong_prod_reduce(shmem_team_t team, long long *dest, const long long *source,
    size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_ptrdiff_prod_reduce(shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source,
    size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_uchar_prod_reduce(shmem_team_t team, unsigned char *dest, const unsigned char
    *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_ushort_prod_reduce(shmem_team_t team, unsigned short *dest, const unsigned short
    *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_uint_prod_reduce(shmem_team_t team, unsigned int *dest, const unsigned int *source,
    size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_ulong_prod_reduce(shmem_team_t team, unsigned long *dest, const unsigned long
    *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_ulonglong_prod_reduce(shmem_team_t team, unsigned long long *dest, const unsigned
    long long *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_int8_prod_reduce(shmem_team_t team, int8_t *dest, const int8_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_int16_prod_reduce(shmem_team_t team, int16_t *dest, const int16_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_int32_prod_reduce(shmem_team_t team, int32_t *dest, const int32_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_int64_prod_reduce(shmem_team_t team, int64_t *dest, const int64_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint8_prod_reduce(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_uint16_prod_reduce(shmem_team_t team, uint16_t *dest, const uint16_t *source,
    size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_uint32_prod_reduce(shmem_team_t team, uint32_t *dest, const uint32_t *source,
    size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_uint64_prod_reduce(shmem_team_t team, uint64_t *dest, const uint64_t *source,
    size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_size_prod_reduce(shmem_team_t team, size_t *dest, const size_t *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_float_prod_reduce(shmem_team_t team, float *dest, const float *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_double_prod_reduce(shmem_team_t team, double *dest, const double *source, size_t
    nreduce);
SHMEM_IMPL_NOPLT int shmem_longdouble_prod_reduce(shmem_team_t team, long double *dest, const long double
    *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_complexd_prod_reduce(shmem_team_t team, shmem_impl_complexd_t *dest, const
    shmem_impl_complexd_t *source, size_t nreduce);
SHMEM_IMPL_NOPLT int shmem_complexf_prod_reduce(shmem_team_t team, shmem_impl_complexf_t *dest, const
    shmem_impl_complexf_t *source, size_t nreduce);

/* shmem_sum_inscan: gives each PE of a team the sum of the values up to its own (9.10.10). */
SHMEM_IMPL_NOPLT int shmem_char_sum_inscan(shmem_team_t team, char *dest, const char *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_schar_sum_inscan(shmem_team_t team, signed char *dest, const signed char *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_short_sum_inscan(shmem_team_t team, short *dest, const short *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_int_sum_inscan(shmem_team_t team, int *dest, const int *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_long_sum_inscan(shmem_team_t team, long *dest, const long *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_longlong_sum_inscan(shmem_team_t team, long long *dest, const long long *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_ptrdiff_sum_inscan(shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_uchar_sum_inscan(shmem_team_t team, unsigned char *dest, const unsigned char
    *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_ushort_sum_inscan(shmem_team_t team, unsigned short *dest, const unsigned short
    *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_uint_sum_inscan(shmem_team_t team, unsigned int *dest, const unsigned int *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_ulong_sum_inscan(shmem_team_t team, unsigned long *dest, const unsigned long
    *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_ulonglong_sum_inscan(shmem_team_t team, unsigned long long *dest, const unsigned
    long long *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_int8_sum_inscan(shmem_team_t team, int8_t *dest, const int8_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_int16_sum_inscan(shmem_team_t team, int16_t *dest, const int16_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_int32_sum_inscan(shmem_team_t team, int32_t *dest, const int32_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_int64_sum_inscan(shmem_team_t team, int64_t *dest, const int64_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_uint8_sum_inscan(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_uint16_sum_inscan(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_uint32_sum_inscan(shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_uint64_sum_inscan(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_size_sum_inscan(shmem_team_t team, size_t *dest, const size_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_float_sum_inscan(shmem_team_t team, float *dest, const float *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_double_sum_inscan(shmem_team_t team, double *dest, const double *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_longdouble_sum_inscan(shmem_team_t team, long double *dest, const long double
    *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_complexd_sum_inscan(shmem_team_t team, shmem_impl_complexd_t *dest, const
    shmem_impl_complexd_t *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_complexf_sum_inscan(shmem_team_t team, shmem_impl_complexf_t *dest, const
    shmem_impl_complexf_t *source, size_t nelems);

/* shmem_sum_exscan: gives each PE of a team the sum of the values before its own (9.10.10). */
SHMEM_IMPL_NOPLT int shmem_char_sum_exscan(shmem_team_t team, char *dest, const char *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_schar_sum_exscan(shmem_team_t team, signed char *dest, const signed char *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_short_sum_exscan(shmem_team_t team, short *dest, const short *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_int_sum_exscan(shmem_team_t team, int *dest, const int *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_long_sum_exscan(shmem_team_t team, long *dest, const long *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_longlong_sum_exscan(shmem_team_t team, long long *dest, const long long *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_ptrdiff_sum_exscan(shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_uchar_sum_exscan(shmem_team_t team, unsigned char *dest, const unsigned char
    *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_ushort_sum_exscan(shmem_team_t team, unsigned short *dest, const unsigned short
    *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_uint_sum_exscan(shmem_team_t team, unsigned int *dest, const unsigned int *source,
    size_t nelems);
SHMEM_IMPL_NOPLT int shmem_ulong_sum_exscan(shmem_team_t team, unsigned long *dest, const unsigned long
    *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_ulonglong_sum_exscan(shmem_team_t team, unsigned long long *dest, const unsigned
    long long *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_int8_sum_exscan(shmem_team_t team, int8_t *dest, const int8_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_int16_sum_exscan(shmem_team_t team, int16_t *dest, const int16_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_int32_sum_exscan(shmem_team_t team, int32_t *dest, const int32_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_int64_sum_exscan(shmem_team_t team, int64_t *dest, const int64_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_uint8_sum_exscan(shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_uint16_sum_exscan(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_uint32_sum_exscan(shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_uint64_sum_exscan(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_size_sum_exscan(shmem_team_t team, size_t *dest, const size_t *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_float_sum_exscan(shmem_team_t team, float *dest, const float *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_double_sum_exscan(shmem_team_t team, double *dest, const double *source, size_t
    nelems);
SHMEM_IMPL_NOPLT int shmem_longdouble_sum_exscan(shmem_team_t team, long double *dest, const long double
    *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_complexd_sum_exscan(shmem_team_t team, shmem_impl_complexd_t *dest, const
    shmem_impl_complexd_t *source, size_t nelems);
SHMEM_IMPL_NOPLT int shmem_complexf_sum_exscan(shmem_team_t team, shmem_impl_complexf_t *dest, const
    shmem_impl_complexf_t *source, size_t nelems);

/* shmem_barrier: waits until all PEs of an active set have come, and completes their updates (9.10.2). */
SHMEM_IMPL_DEPRECATED("shmem_quiet and shmem_team_sync") SHMEM_IMPL_NOPLT void shmem_barrier(int PE_start, int
    logPE_stride, int PE_size, long *pSync);

/* shmem_sync: waits until all PEs of an active set have come (9.10.3). */
SHMEM_IMPL_DEPRECATED_IN_GENERIC("shmem_team_sync") SHMEM_IMPL_NOPLT void shmem_sync(int PE_start, int
    logPE_stride, int PE_size, long *pSync);

/* shmem_alltoall32: gives each PE of an active set its block of every PE's data (9.10.5). */
SHMEM_IMPL_DEPRECATED("shmem_alltoall") SHMEM_IMPL_NOPLT void shmem_alltoall32(void *dest, const void *source,
    size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_alltoall") SHMEM_IMPL_NOPLT void shmem_alltoall64(void *dest, const void *source,
    size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync);

/* shmem_alltoalls32: gives each PE of an active set its strided block of every PE's data (9.10.6). */
SHMEM_IMPL_DEPRECATED("shmem_alltoalls") SHMEM_IMPL_NOPLT void shmem_alltoalls32(void *dest, const void
    *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int PE_start, int logPE_stride, int PE_size, long
    *pSync);
SHMEM_IMPL_DEPRECATED("shmem_alltoalls") SHMEM_IMPL_NOPLT void shmem_alltoalls64(void *dest, const void
    *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int PE_start, int logPE_stride, int PE_size, long
    *pSync);

/* shmem_broadcast32: gives all PEs of an active set the data of one (9.10.7). */
SHMEM_IMPL_DEPRECATED("shmem_broadcast") SHMEM_IMPL_NOPLT void shmem_broadcast32(void *dest, const void
    *source, size_t nelems, int PE_root, int PE_start, int logPE_stride, int PE_size, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_broadcast") SHMEM_IMPL_NOPLT void shmem_broadcast64(void *dest, const void
    *source, size_t nelems, int PE_root, int PE_start, int logPE_stride, int PE_size, long *pSync);

/* shmem_collect32: joins the data of all PEs of an active set on each of them (9.10.8). */
SHMEM_IMPL_DEPRECATED("shmem_collect") SHMEM_IMPL_NOPLT void shmem_collect32(void *dest, const void *source,
    size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_collect") SHMEM_IMPL_NOPLT void shmem_collect64(void *dest, const void *source,
    size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync);

/* shmem_fcollect32: joins as much data of all PEs of an active set on each of them (9.10.8). */
SHMEM_IMPL_DEPRECATED("shmem_fcollect") SHMEM_IMPL_NOPLT void shmem_fcollect32(void *dest, const void *source,
    size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_fcollect") SHMEM_IMPL_NOPLT void shmem_fcollect64(void *dest, const void *source,
    size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync);

/* shmem_and_to_all: gives all PEs of an active set the bitwise and of their data (9.10.9.1). */
SHMEM_IMPL_DEPRECATED("shmem_and_reduce") SHMEM_IMPL_NOPLT void shmem_short_and_to_all(short *dest, const
    short *source, int nreduce, int PE_start, int logPE_stride, int PE_size, short *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_and_reduce") SHMEM_IMPL_NOPLT void shmem_int_and_to_all(int *dest, const int
    *source, int nreduce, int PE_start, int logPE_stride, int PE_size, int *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_and_reduce") SHMEM_IMPL_NOPLT void shmem_long_and_to_all(long *dest, const long
    *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_and_reduce") SHMEM_IMPL_NOPLT void shmem_longlong_and_to_all(long long *dest,
    const long long *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long long *pWrk, long
    *pSync);

/* shmem_or_to_all: gives all PEs of an active set the bitwise or of their data (9.10.9.2). */
SHMEM_IMPL_DEPRECATED("shmem_or_reduce") SHMEM_IMPL_NOPLT void shmem_short_or_to_all(short *dest, const short
    *source, int nreduce, int PE_start, int logPE_stride, int PE_size, short *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_or_reduce") SHMEM_IMPL_NOPLT void shmem_int_or_to_all(int *dest, const int
    *source, int nreduce, int PE_start, int logPE_stride, int PE_size, int *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_or_reduce") SHMEM_IMPL_NOPLT void shmem_long_or_to_all(long *dest, const long
    *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_or_reduce") SHMEM_IMPL_NOPLT void shmem_longlong_or_to_all(long long *dest, const
    long long *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long long *pWrk, long
    *pSync);

/* shmem_xor_to_all: gives all PEs of an active set the bitwise exclusive or of their data (9.10.9.3). */
SHMEM_IMPL_DEPRECATED("shmem_xor_reduce") SHMEM_IMPL_NOPLT void shmem_short_xor_to_all(short *dest, const
    short *source, int nreduce, int PE_start, int logPE_stride, int PE_size, short *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_xor_reduce") SHMEM_IMPL_NOPLT void shmem_int_xor_to_all(int *dest, const int
    *source, int nreduce, int PE_start, int logPE_stride, int PE_size, int *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_xor_reduce") SHMEM_IMPL_NOPLT void shmem_long_xor_to_all(long *dest, const long
    *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_xor_reduce") SHMEM_IMPL_NOPLT void shmem_longlong_xor_to_all(long long *dest,
    const long long *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long long *pWrk, long
    *pSync);

/* shmem_max_to_all: gives all PEs of an active set the greatest of their values (9.10.9.4). */
SHMEM_IMPL_DEPRECATED("shmem_max_reduce") SHMEM_IMPL_NOPLT void shmem_short_max_to_all(short *dest, const
    short *source, int nreduce, int PE_start, int logPE_stride, int PE_size, short *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_max_reduce") SHMEM_IMPL_NOPLT void shmem_int_max_to_all(int *dest, const int
    *source, int nreduce, int PE_start, int logPE_stride, int PE_size, int *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_max_reduce") SHMEM_IMPL_NOPLT void shmem_long_max_to_all(long *dest, const long
    *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_max_reduce") SHMEM_IMPL_NOPLT void shmem_longlong_max_to_all(long long *dest,
    const long long *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long long *pWrk, long
    *pSync);
SHMEM_IMPL_DEPRECATED("shmem_max_reduce") SHMEM_IMPL_NOPLT void shmem_float_max_to_all(float *dest, const
    float *source, int nreduce, int PE_start, int logPE_stride, int PE_size, float *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_max_reduce") SHMEM_IMPL_NOPLT void shmem_double_max_to_all(double *dest, const
    double *source, int nreduce, int PE_start, int logPE_stride, int PE_size, double *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_max_reduce") SHMEM_IMPL_NOPLT void shmem_longdouble_max_to_all(long double *dest,
    const long double *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long double *pWrk,
    long *pSync);

/* shmem_min_to_all: gives all PEs of an active set the least of their values (9.10.9.5). */
SHMEM_IMPL_DEPRECATED("shmem_min_reduce") SHMEM_IMPL_NOPLT void shmem_short_min_to_all(short *dest, const
    short *source, int nreduce, int PE_start, int logPE_stride, int PE_size, short *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_min_reduce") SHMEM_IMPL_NOPLT void shmem_int_min_to_all(int *dest, const int
    *source, int nreduce, int PE_start, int logPE_stride, int PE_size, int *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_min_reduce") SHMEM_IMPL_NOPLT void shmem_long_min_to_all(long *dest, const long
    *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_min_reduce") SHMEM_IMPL_NOPLT void shmem_longlong_min_to_all(long long *dest,
    const long long *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long long *pWrk, long
    *pSync);
SHMEM_IMPL_DEPRECATED("shmem_min_reduce") SHMEM_IMPL_NOPLT void shmem_float_min_to_all(float *dest, const
    float *source, int nreduce, int PE_start, int logPE_stride, int PE_size, float *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_min_reduce") SHMEM_IMPL_NOPLT void shmem_double_min_to_all(double *dest, const
    double *source, int nreduce, int PE_start, int logPE_stride, int PE_size, double *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_min_reduce") SHMEM_IMPL_NOPLT void shmem_longdouble_min_to_all(long double *dest,
    const long double *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long double *pWrk,
    long *pSync);

/* shmem_sum_to_all: gives all PEs of an active set the sum of their values (9.10.9.6). */
SHMEM_IMPL_DEPRECATED("shmem_sum_reduce") SHMEM_IMPL_NOPLT void shmem_short_sum_to_all(short *dest, const
    short *source, int nreduce, int PE_start, int logPE_stride, int PE_size, short *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_sum_reduce") SHMEM_IMPL_NOPLT void shmem_int_sum_to_all(int *dest, const int
    *source, int nreduce, int PE_start, int logPE_stride, int PE_size, int *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_sum_reduce") SHMEM_IMPL_NOPLT void shmem_long_sum_to_all(long *dest, const long
    *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_sum_reduce") SHMEM_IMPL_NOPLT void shmem_longlong_sum_to_all(long long *dest,
    const long long *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long long *pWrk, long
    *pSync);
SHMEM_IMPL_DEPRECATED("shmem_sum_reduce") SHMEM_IMPL_NOPLT void shmem_float_sum_to_all(float *dest, const
    float *source, int nreduce, int PE_start, int logPE_stride, int PE_size, float *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_sum_reduce") SHMEM_IMPL_NOPLT void shmem_double_sum_to_all(double *dest, const
    double *source, int nreduce, int PE_start, int logPE_stride, int PE_size, double *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_sum_reduce") SHMEM_IMPL_NOPLT void shmem_longdouble_sum_to_all(long double *dest,
    const long double *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long double *pWrk,
    long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_sum_reduce") SHMEM_IMPL_NOPLT void
    shmem_complexd_sum_to_all(shmem_impl_complexd_t *dest, const shmem_impl_complexd_t *source, int nreduce,
    int PE_start, int logPE_stride, int PE_size, shmem_impl_complexd_t *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_sum_reduce") SHMEM_IMPL_NOPLT void
    shmem_complexf_sum_to_all(shmem_impl_complexf_t *dest, const shmem_impl_complexf_t *source, int nreduce,
    int PE_start, int logPE_stride, int PE_size, shmem_impl_complexf_t *pWrk, long *pSync);

/* shmem_prod_to_all: gives all PEs of an active set the product of their values (9.10.9.7). */
SHMEM_IMPL_DEPRECATED("shmem_prod_reduce") SHMEM_IMPL_NOPLT void shmem_short_prod_to_all(short *dest, const
    short *source, int nreduce, int PE_start, int logPE_stride, int PE_size, short *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_prod_reduce") SHMEM_IMPL_NOPLT void shmem_int_prod_to_all(int *dest, const int
    *source, int nreduce, int PE_start, int logPE_stride, int PE_size, int *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_prod_reduce") SHMEM_IMPL_NOPLT void shmem_long_prod_to_all(long *dest, const long
    *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_prod_reduce") SHMEM_IMPL_NOPLT void shmem_longlong_prod_to_all(long long *dest,
    const long long *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long long *pWrk, long
    *pSync);
SHMEM_IMPL_DEPRECATED("shmem_prod_reduce") SHMEM_IMPL_NOPLT void shmem_float_prod_to_all(float *dest, const
    float *source, int nreduce, int PE_start, int logPE_stride, int PE_size, float *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_prod_reduce") SHMEM_IMPL_NOPLT void shmem_double_prod_to_all(double *dest, const
    double *source, int nreduce, int PE_start, int logPE_stride, int PE_size, double *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_prod_reduce") SHMEM_IMPL_NOPLT void shmem_longdouble_prod_to_all(long double
    *dest, const long double *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long double
    *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_prod_reduce") SHMEM_IMPL_NOPLT void
    shmem_complexd_prod_to_all(shmem_impl_complexd_t *dest, const shmem_impl_complexd_t *source, int nreduce,
    int PE_start, int logPE_stride, int PE_size, shmem_impl_complexd_t *pWrk, long *pSync);
SHMEM_IMPL_DEPRECATED("shmem_prod_reduce") SHMEM_IMPL_NOPLT void
    shmem_complexf_prod_to_all(shmem_impl_complexf_t *dest, const shmem_impl_complexf_t *source, int nreduce,
    int PE_start, int logPE_stride, int PE_size, shmem_impl_complexf_t *pWrk, long *pSync);

/* shmem_wait_until: waits until a variable compares to a value (9.11.1). */
SHMEM_IMPL_NOPLT void shmem_int_wait_until(int *ivar, int cmp, int cmp_value);
SHMEM_IMPL_NOPLT void shmem_long_wait_until(long *ivar, int cmp, long cmp_value);
SHMEM_IMPL_NOPLT void shmem_longlong_wait_until(long long *ivar, int cmp, long long cmp_value);
SHMEM_IMPL_NOPLT void shmem_uint_wait_until(unsigned int *ivar, int cmp, unsigned int cmp_value);
SHMEM_IMPL_NOPLT void shmem_ulong_wait_until(unsigned long *ivar, int cmp, unsigned long cmp_value);
SHMEM_IMPL_NOPLT void shmem_ulonglong_wait_until(unsigned long long *ivar, int cmp, unsigned long long
    cmp_value);
SHMEM_IMPL_NOPLT void shmem_int32_wait_until(int32_t *ivar, int cmp, int32_t cmp_value);
SHMEM_IMPL_NOPLT void shmem_int64_wait_until(int64_t *ivar, int cmp, int64_t cmp_value);
SHMEM_IMPL_NOPLT void shmem_uint32_wait_until(uint32_t *ivar, int cmp, uint32_t cmp_value);
SHMEM_IMPL_NOPLT void shmem_uint64_wait_until(uint64_t *ivar, int cmp, uint64_t cmp_value);
SHMEM_IMPL_NOPLT void shmem_size_wait_until(size_t *ivar, int cmp, size_t cmp_value);
SHMEM_IMPL_NOPLT void shmem_ptrdiff_wait_until(ptrdiff_t *ivar, int cmp, ptrdiff_t cmp_value);
SHMEM_IMPL_DEPRECATED_IN_C("shmem_long_wait_until") SHMEM_IMPL_NOPLT void shmem_wait_until(long *ivar, int
    cmp, long cmp_value);

/* shmem_wait_until_all: waits until all of several variables compare to a value (9.11.2). */
SHMEM_IMPL_NOPLT void shmem_int_wait_until_all(int *ivars, size_t nelems, const int *status, int cmp, int
    cmp_value);
SHMEM_IMPL_NOPLT void shmem_long_wait_until_all(long *ivars, size_t nelems, const int *status, int cmp, long
    cmp_value);
SHMEM_IMPL_NOPLT void shmem_longlong_wait_until_all(long long *ivars, size_t nelems, const int *status, int
    cmp, long long cmp_value);
SHMEM_IMPL_NOPLT void shmem_uint_wait_until_all(unsigned int *ivars, size_t nelems, const int *status, int
    cmp, unsigned int cmp_value);
SHMEM_IMPL_NOPLT void shmem_ulong_wait_until_all(unsigned long *ivars, size_t nelems, const int *status, int
    cmp, unsigned long cmp_value);
SHMEM_IMPL_NOPLT void shmem_ulonglong_wait_until_all(unsigned long long *ivars, size_t nelems, const int
    *status, int cmp, unsigned long long cmp_value);
SHMEM_IMPL_NOPLT void shmem_int32_wait_until_all(int32_t *ivars, size_t nelems, const int *status, int cmp,
    int32_t cmp_value);
SHMEM_IMPL_NOPLT void shmem_int64_wait_until_all(int64_t *ivars, size_t nelems, const int *status, int cmp,
    int64_t cmp_value);
SHMEM_IMPL_NOPLT void shmem_uint32_wait_until_all(uint32_t *ivars, size_t nelems, const int *status, int cmp,
    uint32_t cmp_value);
SHMEM_IMPL_NOPLT void shmem_uint64_wait_until_all(uint64_t *ivars, size_t nelems, const int *status, int cmp,
    uint64_t cmp_value);
SHMEM_IMPL_NOPLT void shmem_size_wait_until_all(size_t *ivars, size_t nelems, const int *status, int cmp,
    size_t cmp_value);
SHMEM_IMPL_NOPLT void shmem_ptrdiff_wait_until_all(ptrdiff_t *ivars, size_t nelems, const int *status, int
    cmp, ptrdiff_t cmp_value);
SHMEM_IMPL_NOPLT void shmem_short_wait_until_all(short *ivars, size_t nelems, const int *status, int cmp,
    short cmp_value);
SHMEM_IMPL_NOPLT void shmem_ushort_wait_until_all(unsigned short *ivars, size_t nelems, const int *status, int
    cmp, unsigned short cmp_value);

/* shmem_wait_until_any: waits until one of several variables compares to a value (9.11.3). */
SHMEM_IMPL_NOPLT size_t shmem_int_wait_until_any(int *ivars, size_t nelems, const int *status, int cmp, int
    cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_long_wait_until_any(long *ivars, size_t nelems, const int *status, int cmp, long
    cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_longlong_wait_until_any(long long *ivars, size_t nelems, const int *status, int
    cmp, long long cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_uint_wait_until_any(unsigned int *ivars, size_t nelems, const int *status, int
    cmp, unsigned int cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_ulong_wait_until_any(unsigned long *ivars, size_t nelems, const int *status, int
    cmp, unsigned long cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_ulonglong_wait_until_any(unsigned long long *ivars, size_t nelems, const int
    *status, int cmp, unsigned long long cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_int32_wait_until_any(int32_t *ivars, size_t nelems, const int *status, int cmp,
    int32_t cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_int64_wait_until_any(int64_t *ivars, size_t nelems, const int *status, int cmp,
    int64_t cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_uint32_wait_until_any(uint32_t *ivars, size_t nelems, const int *status, int
    cmp, uint32_t cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_uint64_wait_until_any(uint64_t *ivars, size_t nelems, const int *status, int
    cmp, uint64_t cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_size_wait_until_any(size_t *ivars, size_t nelems, const int *status, int cmp,
    size_t cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_ptrdiff_wait_until_any(ptrdiff_t *ivars, size_t nelems, const int *status, int
    cmp, ptrdiff_t cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_short_wait_until_any(short *ivars, size_t nelems, const int *status, int cmp,
    short cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_ushort_wait_until_any(unsigned short *ivars, size_t nelems, const int *status,
    int cmp, unsigned short cmp_value);

/* shmem_wait_until_some: waits until one or more of several variables compare to a value (9.11.4). */
SHMEM_IMPL_NOPLT size_t shmem_int_wait_until_some(int *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, int cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_long_wait_until_some(long *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, long cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_longlong_wait_until_some(long long *ivars, size_t nelems, size_t *indices, const
    int *status, int cmp, long long cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_uint_wait_until_some(unsigned int *ivars, size_t nelems, size_t *indices, const
    int *status, int cmp, unsigned int cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_ulong_wait_until_some(unsigned long *ivars, size_t nelems, size_t *indices,
    const int *status, int cmp, unsigned long cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_ulonglong_wait_until_some(unsigned long long *ivars, size_t nelems, size_t
    *indices, const int *status, int cmp, unsigned long long cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_int32_wait_until_some(int32_t *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, int32_t cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_int64_wait_until_some(int64_t *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, int64_t cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_uint32_wait_until_some(uint32_t *ivars, size_t nelems, size_t *indices, const
    int *status, int cmp, uint32_t cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_uint64_wait_until_some(uint64_t *ivars, size_t nelems, size_t *indices, const
    int *status, int cmp, uint64_t cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_size_wait_until_some(size_t *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, size_t cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_ptrdiff_wait_until_some(ptrdiff_t *ivars, size_t nelems, size_t *indices, const
    int *status, int cmp, ptrdiff_t cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_short_wait_until_some(short *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, short cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_ushort_wait_until_some(unsigned short *ivars, size_t nelems, size_t *indices,
    const int *status, int cmp, unsigned short cmp_value);

/* shmem_wait_until_all_vector: waits until all of several variables compare to their values (9.11.5). */
SHMEM_IMPL_NOPLT void shmem_int_wait_until_all_vector(int *ivars, size_t nelems, const int *status, int cmp,
    const int *cmp_values);
SHMEM_IMPL_NOPLT void shmem_long_wait_until_all_vector(long *ivars, size_t nelems, const int *status, int cmp,
    const long *cmp_values);
SHMEM_IMPL_NOPLT void shmem_longlong_wait_until_all_vector(long long *ivars, size_t nelems, const int *status,
    int cmp, const long long *cmp_values);
SHMEM_IMPL_NOPLT void shmem_uint_wait_until_all_vector(unsigned int *ivars, size_t nelems, const int *status,
    int cmp, const unsigned int *cmp_values);
SHMEM_IMPL_NOPLT void shmem_ulong_wait_until_all_vector(unsigned long *ivars, size_t nelems, const int
    *status, int cmp, const unsigned long *cmp_values);
SHMEM_IMPL_NOPLT void shmem_ulonglong_wait_until_all_vector(unsigned long long *ivars, size_t nelems, const
    int *status, int cmp, const unsigned long long *cmp_values);
SHMEM_IMPL_NOPLT void shmem_int32_wait_until_all_vector(int32_t *ivars, size_t nelems, const int *status, int
    cmp, const int32_t *cmp_values);
SHMEM_IMPL_NOPLT void shmem_int64_wait_until_all_vector(int64_t *ivars, size_t nelems, const int *status, int
    cmp, const int64_t *cmp_values);
SHMEM_IMPL_NOPLT void shmem_uint32_wait_until_all_vector(uint32_t *ivars, size_t nelems, const int *status,
    int cmp, const uint32_t *cmp_values);
SHMEM_IMPL_NOPLT void shmem_uint64_wait_until_all_vector(uint64_t *ivars, size_t nelems, const int *status,
    int cmp, const uint64_t *cmp_values);
SHMEM_IMPL_NOPLT void shmem_size_wait_until_all_vector(size_t *ivars, size_t nelems, const int *status, int
    cmp, const size_t *cmp_values);
SHMEM_IMPL_NOPLT void shmem_ptrdiff_wait_until_all_vector(ptrdiff_t *ivars, size_t nelems, const int *status,
    int cmp, const ptrdiff_t *cmp_values);
SHMEM_IMPL_NOPLT void shmem_short_wait_until_all_vector(short *ivars, size_t nelems, const int *status, int
    cmp, const short *cmp_values);
SHMEM_IMPL_NOPLT void shmem_ushort_wait_until_all_vector(unsigned short *ivars, size_t nelems, const int
    *status, int cmp, const unsigned short *cmp_values);

/* shmem_wait_until_any_vector: waits until one of several variables compares to its value (9.11.6). */
SHMEM_IMPL_NOPLT size_t shmem_int_wait_until_any_vector(int *ivars, size_t nelems, const int *status, int cmp,
    const int *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_long_wait_until_any_vector(long *ivars, size_t nelems, const int *status, int
    cmp, const long *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_longlong_wait_until_any_vector(long long *ivars, size_t nelems, const int
    *status, int cmp, const long long *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_uint_wait_until_any_vector(unsigned int *ivars, size_t nelems, const int
    *status, int cmp, const unsigned int *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_ulong_wait_until_any_vector(unsigned long *ivars, size_t nelems, const int
    *status, int cmp, const unsigned long *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_ulonglong_wait_until_any_vector(unsigned long long *ivars, size_t nelems, const
    int *status, int cmp, const unsigned long long *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_int32_wait_until_any_vector(int32_t *ivars, size_t nelems, const int *status,
    int cmp, const int32_t *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_int64_wait_until_any_vector(int64_t *ivars, size_t nelems, const int *status,
    int cmp, const int64_t *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_uint32_wait_until_any_vector(uint32_t *ivars, size_t nelems, const int *status,
    int cmp, const uint32_t *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_uint64_wait_until_any_vector(uint64_t *ivars, size_t nelems, const int *status,
    int cmp, const uint64_t *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_size_wait_until_any_vector(size_t *ivars, size_t nelems, const int *status, int
    cmp, const size_t *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_ptrdiff_wait_until_any_vector(ptrdiff_t *ivars, size_t nelems, const int
    *status, int cmp, const ptrdiff_t *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_short_wait_until_any_vector(short *ivars, size_t nelems, const int *status, int
    cmp, const short *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_ushort_wait_until_any_vector(unsigned short *ivars, size_t nelems, const int
    *status, int cmp, const unsigned short *cmp_values);

/* shmem_wait_until_some_vector: waits until one or more of several variables compare to their values (9.11.7). */
SHMEM_IMPL_NOPLT size_t shmem_int_wait_until_some_vector(int *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, const int *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_long_wait_until_some_vector(long *ivars, size_t nelems, size_t *indices, const
    int *status, int cmp, const long *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_longlong_wait_until_some_vector(long long *ivars, size_t nelems, size_t
    *indices, const int *status, int cmp, const long long *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_uint_wait_until_some_vector(unsigned int *ivars, size_t nelems, size_t *indices,
    const int *status, int cmp, const unsigned int *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_ulong_wait_until_some_vector(unsigned long *ivars, size_t nelems, size_t
    *indices, const int *status, int cmp, const unsigned long *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_ulonglong_wait_until_some_vector(unsigned long long *ivars, size_t nelems,
    size_t *indices, const int *status, int cmp, const unsigned long long *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_int32_wait_until_some_vector(int32_t *ivars, size_t nelems, size_t *indices,
    const int *status, int cmp, const int32_t *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_int64_wait_until_some_vector(int64_t *ivars, size_t nelems, size_t *indices,
    const int *status, int cmp, const int64_t *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_uint32_wait_until_some_vector(uint32_t *ivars, size_t nelems, size_t *indices,
    const int *status, int cmp, const uint32_t *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_uint64_wait_until_some_vector(uint64_t *ivars, size_t nelems, size_t *indices,
    const int *status, int cmp, const uint64_t *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_size_wait_until_some_vector(size_t *ivars, size_t nelems, size_t *indices, const
    int *status, int cmp, const size_t *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_ptrdiff_wait_until_some_vector(ptrdiff_t *ivars, size_t nelems, size_t *indices,
    const int *status, int cmp, const ptrdiff_t *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_short_wait_until_some_vector(short *ivars, size_t nelems, size_t *indices, const
    int *status, int cmp, const short *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_ushort_wait_until_some_vector(unsigned short *ivars, size_t nelems, size_t
    *indices, const int *status, int cmp, const unsigned short *cmp_values);

/* shmem_test: tells whether a variable compares to a value (9.11.8). */
SHMEM_IMPL_NOPLT int shmem_int_test(int *ivar, int cmp, int cmp_value);
SHMEM_IMPL_NOPLT int shmem_long_test(long *ivar, int cmp, long cmp_value);
SHMEM_IMPL_NOPLT int shmem_longlong_test(long long *ivar, int cmp, long long cmp_value);
SHMEM_IMPL_NOPLT int shmem_uint_test(unsigned int *ivar, int cmp, unsigned int cmp_value);
SHMEM_IMPL_NOPLT int shmem_ulong_test(unsigned long *ivar, int cmp, unsigned long cmp_value);
SHMEM_IMPL_NOPLT int shmem_ulonglong_test(unsigned long long *ivar, int cmp, unsigned long long cmp_value);
SHMEM_IMPL_NOPLT int shmem_int32_test(int32_t *ivar, int cmp, int32_t cmp_value);
SHMEM_IMPL_NOPLT int shmem_int64_test(int64_t *ivar, int cmp, int64_t cmp_value);
SHMEM_IMPL_NOPLT int shmem_uint32_test(uint32_t *ivar, int cmp, uint32_t cmp_value);
SHMEM_IMPL_NOPLT int shmem_uint64_test(uint64_t *ivar, int cmp, uint64_t cmp_value);
SHMEM_IMPL_NOPLT int shmem_size_test(size_t *ivar, int cmp, size_t cmp_value);
SHMEM_IMPL_NOPLT int shmem_ptrdiff_test(ptrdiff_t *ivar, int cmp, ptrdiff_t cmp_value);

/* shmem_test_all: tells whether all of several variables compare to a value (9.11.9). */
SHMEM_IMPL_NOPLT int shmem_int_test_all(int *ivars, size_t nelems, const int *status, int cmp, int cmp_value);
SHMEM_IMPL_NOPLT int shmem_long_test_all(long *ivars, size_t nelems, const int *status, int cmp, long
    cmp_value);
SHMEM_IMPL_NOPLT int shmem_longlong_test_all(long long *ivars, size_t nelems, const int *status, int cmp, long
    long cmp_value);
SHMEM_IMPL_NOPLT int shmem_uint_test_all(unsigned int *ivars, size_t nelems, const int *status, int cmp,
    unsigned int cmp_value);
SHMEM_IMPL_NOPLT int shmem_ulong_test_all(unsigned long *ivars, size_t nelems, const int *status, int cmp,
    unsigned long cmp_value);
SHMEM_IMPL_NOPLT int shmem_ulonglong_test_all(unsigned long long *ivars, size_t nelems, const int *status, int
    cmp, unsigned long long cmp_value);
SHMEM_IMPL_NOPLT int shmem_int32_test_all(int32_t *ivars, size_t nelems, const int *status, int cmp, int32_t
    cmp_value);
SHMEM_IMPL_NOPLT int shmem_int64_test_all(int64_t *ivars, size_t nelems, const int *status, int cmp, int64_t
    cmp_value);
SHMEM_IMPL_NOPLT int shmem_uint32_test_all(uint32_t *ivars, size_t nelems, const int *status, int cmp,
    uint32_t cmp_value);
SHMEM_IMPL_NOPLT int shmem_uint64_test_all(uint64_t *ivars, size_t nelems, const int *status, int cmp,
    uint64_t cmp_value);
SHMEM_IMPL_NOPLT int shmem_size_test_all(size_t *ivars, size_t nelems, const int *status, int cmp, size_t
    cmp_value);
SHMEM_IMPL_NOPLT int shmem_ptrdiff_test_all(ptrdiff_t *ivars, size_t nelems, const int *status, int cmp,
    ptrdiff_t cmp_value);
SHMEM_IMPL_NOPLT int shmem_short_test_all(short *ivars, size_t nelems, const int *status, int cmp, short
    cmp_value);
SHMEM_IMPL_NOPLT int shmem_ushort_test_all(unsigned short *ivars, size_t nelems, const int *status, int cmp,
    unsigned short cmp_value);

/* shmem_test_any: finds one of several variables that compares to a value (9.11.10). */
SHMEM_IMPL_NOPLT size_t shmem_int_test_any(int *ivars, size_t nelems, const int *status, int cmp, int
    cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_long_test_any(long *ivars, size_t nelems, const int *status, int cmp, long
    cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_longlong_test_any(long long *ivars, size_t nelems, const int *status, int cmp,
    long long cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_uint_test_any(unsigned int *ivars, size_t nelems, const int *status, int cmp,
    unsigned int cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_ulong_test_any(unsigned long *ivars, size_t nelems, const int *status, int cmp,
    unsigned long cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_ulonglong_test_any(unsigned long long *ivars, size_t nelems, const int *status,
    int cmp, unsigned long long cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_int32_test_any(int32_t *ivars, size_t nelems, const int *status, int cmp,
    int32_t cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_int64_test_any(int64_t *ivars, size_t nelems, const int *status, int cmp,
    int64_t cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_uint32_test_any(uint32_t *ivars, size_t nelems, const int *status, int cmp,
    uint32_t cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_uint64_test_any(uint64_t *ivars, size_t nelems, const int *status, int cmp,
    uint64_t cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_size_test_any(size_t *ivars, size_t nelems, const int *status, int cmp, size_t
    cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_ptrdiff_test_any(ptrdiff_t *ivars, size_t nelems, const int *status, int cmp,
    ptrdiff_t cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_short_test_any(short *ivars, size_t nelems, const int *status, int cmp, short
    cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_ushort_test_any(unsigned short *ivars, size_t nelems, const int *status, int
    cmp, unsigned short cmp_value);

/* shmem_test_some: finds those of several variables that compare to a value (9.11.11). */
SHMEM_IMPL_NOPLT size_t shmem_int_test_some(int *ivars, size_t nelems, size_t *indices, const int *status, int
    cmp, int cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_long_test_some(long *ivars, size_t nelems, size_t *indices, const int *status,
    int cmp, long cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_longlong_test_some(long long *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, long long cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_uint_test_some(unsigned int *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, unsigned int cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_ulong_test_some(unsigned long *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, unsigned long cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_ulonglong_test_some(unsigned long long *ivars, size_t nelems, size_t *indices,
    const int *status, int cmp, unsigned long long cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_int32_test_some(int32_t *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, int32_t cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_int64_test_some(int64_t *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, int64_t cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_uint32_test_some(uint32_t *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, uint32_t cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_uint64_test_some(uint64_t *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, uint64_t cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_size_test_some(size_t *ivars, size_t nelems, size_t *indices, const int *status,
    int cmp, size_t cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_ptrdiff_test_some(ptrdiff_t *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, ptrdiff_t cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_short_test_some(short *ivars, size_t nelems, size_t *indices, const int *status,
    int cmp, short cmp_value);
SHMEM_IMPL_NOPLT size_t shmem_ushort_test_some(unsigned short *ivars, size_t nelems, size_t *indices, const
    int *status, int cmp, unsigned short cmp_value);

/* shmem_test_all_vector: tells whether all of several variables compare to their values (9.11.12). */
SHMEM_IMPL_NOPLT int shmem_int_test_all_vector(int *ivars, size_t nelems, const int *status, int cmp, const
    int *cmp_values);
SHMEM_IMPL_NOPLT int shmem_long_test_all_vector(long *ivars, size_t nelems, const int *status, int cmp, const
    long *cmp_values);
SHMEM_IMPL_NOPLT int shmem_longlong_test_all_vector(long long *ivars, size_t nelems, const int *status, int
    cmp, const long long *cmp_values);
SHMEM_IMPL_NOPLT int shmem_uint_test_all_vector(unsigned int *ivars, size_t nelems, const int *status, int
    cmp, const unsigned int *cmp_values);
SHMEM_IMPL_NOPLT int shmem_ulong_test_all_vector(unsigned long *ivars, size_t nelems, const int *status, int
    cmp, const unsigned long *cmp_values);
SHMEM_IMPL_NOPLT int shmem_ulonglong_test_all_vector(unsigned long long *ivars, size_t nelems, const int
    *status, int cmp, const unsigned long long *cmp_values);
SHMEM_IMPL_NOPLT int shmem_int32_test_all_vector(int32_t *ivars, size_t nelems, const int *status, int cmp,
    const int32_t *cmp_values);
SHMEM_IMPL_NOPLT int shmem_int64_test_all_vector(int64_t *ivars, size_t nelems, const int *status, int cmp,
    const int64_t *cmp_values);
SHMEM_IMPL_NOPLT int shmem_uint32_test_all_vector(uint32_t *ivars, size_t nelems, const int *status, int cmp,
    const uint32_t *cmp_values);
SHMEM_IMPL_NOPLT int shmem_uint64_test_all_vector(uint64_t *ivars, size_t nelems, const int *status, int cmp,
    const uint64_t *cmp_values);
SHMEM_IMPL_NOPLT int shmem_size_test_all_vector(size_t *ivars, size_t nelems, const int *status, int cmp,
    const size_t *cmp_values);
SHMEM_IMPL_NOPLT int shmem_ptrdiff_test_all_vector(ptrdiff_t *ivars, size_t nelems, const int *status, int
    cmp, const ptrdiff_t *cmp_values);
SHMEM_IMPL_NOPLT int shmem_short_test_all_vector(short *ivars, size_t nelems, const int *status, int cmp,
    const short *cmp_values);
SHMEM_IMPL_NOPLT int shmem_ushort_test_all_vector(unsigned short *ivars, size_t nelems, const int *status, int
    cmp, const unsigned short *cmp_values);

/* shmem_test_any_vector: finds one of several variables that compares to its value (9.11.13). */
SHMEM_IMPL_NOPLT size_t shmem_int_test_any_vector(int *ivars, size_t nelems, const int *status, int cmp, const
    int *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_long_test_any_vector(long *ivars, size_t nelems, const int *status, int cmp,
    const long *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_longlong_test_any_vector(long long *ivars, size_t nelems, const int *status, int
    cmp, const long long *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_uint_test_any_vector(unsigned int *ivars, size_t nelems, const int *status, int
    cmp, const unsigned int *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_ulong_test_any_vector(unsigned long *ivars, size_t nelems, const int *status,
    int cmp, const unsigned long *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_ulonglong_test_any_vector(unsigned long long *ivars, size_t nelems, const int
    *status, int cmp, const unsigned long long *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_int32_test_any_vector(int32_t *ivars, size_t nelems, const int *status, int cmp,
    const int32_t *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_int64_test_any_vector(int64_t *ivars, size_t nelems, const int *status, int cmp,
    const int64_t *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_uint32_test_any_vector(uint32_t *ivars, size_t nelems, const int *status, int
    cmp, const uint32_t *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_uint64_test_any_vector(uint64_t *ivars, size_t nelems, const int *status, int
    cmp, const uint64_t *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_size_test_any_vector(size_t *ivars, size_t nelems, const int *status, int cmp,
    const size_t *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_ptrdiff_test_any_vector(ptrdiff_t *ivars, size_t nelems, const int *status, int
    cmp, const ptrdiff_t *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_short_test_any_vector(short *ivars, size_t nelems, const int *status, int cmp,
    const short *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_ushort_test_any_vector(unsigned short *ivars, size_t nelems, const int *status,
    int cmp, const unsigned short *cmp_values);

/* shmem_test_some_vector: finds those of several variables that compare to their values (9.11.14). */
SHMEM_IMPL_NOPLT size_t shmem_int_test_some_vector(int *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, const int *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_long_test_some_vector(long *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, const long *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_longlong_test_some_vector(long long *ivars, size_t nelems, size_t *indices,
    const int *status, int cmp, const long long *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_uint_test_some_vector(unsigned int *ivars, size_t nelems, size_t *indices, const
    int *status, int cmp, const unsigned int *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_ulong_test_some_vector(unsigned long *ivars, size_t nelems, size_t *indices,
    const int *status, int cmp, const unsigned long *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_ulonglong_test_some_vector(unsigned long long *ivars, size_t nelems, size_t
    *indices, const int *status, int cmp, const unsigned long long *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_int32_test_some_vector(int32_t *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, const int32_t *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_int64_test_some_vector(int64_t *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, const int64_t *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_uint32_test_some_vector(uint32_t *ivars, size_t nelems, size_t *indices, const
    int *status, int cmp, const uint32_t *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_uint64_test_some_vector(uint64_t *ivars, size_t nelems, size_t *indices, const
    int *status, int cmp, const uint64_t *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_size_test_some_vector(size_t *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, const size_t *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_ptrdiff_test_some_vector(ptrdiff_t *ivars, size_t nelems, size_t *indices, const
    int *status, int cmp, const ptrdiff_t *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_short_test_some_vector(short *ivars, size_t nelems, size_t *indices, const int
    *status, int cmp, const short *cmp_values);
SHMEM_IMPL_NOPLT size_t shmem_ushort_test_some_vector(unsigned short *ivars, size_t nelems, size_t *indices,
    const int *status, int cmp, const unsigned short *cmp_values);

/* shmem_signal_wait_until: waits until this PE's signal compares to a value (9.11.15). */
SHMEM_IMPL_NOPLT uint64_t shmem_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value);

/* shmem_short_wait_until: waits until a short variable compares to a value (9.11.1). */
SHMEM_IMPL_DEPRECATED_IN_GENERIC("an int or a longer type") SHMEM_IMPL_NOPLT void shmem_short_wait_until(short
    *ivar, int cmp, short cmp_value);
SHMEM_IMPL_DEPRECATED_IN_GENERIC("an int or a longer type") SHMEM_IMPL_NOPLT void
    shmem_ushort_wait_until(unsigned short *ivar, int cmp, unsigned short cmp_value);
SHMEM_IMPL_DEPRECATED("an int or a longer type") SHMEM_IMPL_NOPLT void shmem_short_wait(short *ivar, short
    cmp_value);

/* shmem_short_test: tells whether a short variable compares to a value (9.11.8). */
SHMEM_IMPL_DEPRECATED_IN_GENERIC("an int or a longer type") SHMEM_IMPL_NOPLT int shmem_short_test(short *ivar,
    int cmp, short cmp_value);
SHMEM_IMPL_DEPRECATED_IN_GENERIC("an int or a longer type") SHMEM_IMPL_NOPLT int shmem_ushort_test(unsigned
    short *ivar, int cmp, unsigned short cmp_value);

/* shmem_wait: waits until a variable is another than a value (9.11.1). */
SHMEM_IMPL_DEPRECATED("shmem_wait_until") SHMEM_IMPL_NOPLT void shmem_wait(long *ivar, long cmp_value);
SHMEM_IMPL_DEPRECATED("shmem_wait_until") SHMEM_IMPL_NOPLT void shmem_int_wait(int *ivar, int cmp_value);
SHMEM_IMPL_DEPRECATED("shmem_wait_until") SHMEM_IMPL_NOPLT void shmem_long_wait(long *ivar, long cmp_value);
SHMEM_IMPL_DEPRECATED("shmem_wait_until") SHMEM_IMPL_NOPLT void shmem_longlong_wait(long long *ivar, long long
    cmp_value);

/* shmem_fence: orders what this PE sends to each PE (9.12.1). */
SHMEM_IMPL_NOPLT void shmem_fence(void);
SHMEM_IMPL_NOPLT void shmem_ctx_fence(shmem_ctx_t ctx);

/* shmem_quiet: completes all operations of a context (9.12.2). */
SHMEM_IMPL_NOPLT void shmem_quiet(void);
SHMEM_IMPL_NOPLT void shmem_ctx_quiet(shmem_ctx_t ctx);

/* shmem_pe_quiet: completes a context's operations to certain PEs (9.12.3). */
SHMEM_IMPL_NOPLT void shmem_pe_quiet(const int *target_pes, size_t npes);
SHMEM_IMPL_NOPLT void shmem_ctx_pe_quiet(shmem_ctx_t ctx, const int *target_pes, size_t npes);

/* shmem_set_lock: takes a lock, waiting for it (9.13.1). */
SHMEM_IMPL_NOPLT void shmem_set_lock(long *lock);

/* shmem_clear_lock: gives a lock back (9.13.1). */
SHMEM_IMPL_NOPLT void shmem_clear_lock(long *lock);

/* shmem_test_lock: takes a lock if it is free (9.13.1). */
SHMEM_IMPL_NOPLT int shmem_test_lock(long *lock);

/* shmem_pcontrol: controls a profiler (10.1.1). */
SHMEM_IMPL_NOPLT void shmem_pcontrol(int level, ...);

/* shmem_space_is_available: tells whether a memory space can be allocated from (memory spaces). */
SHMEM_IMPL_NOPLT int shmem_space_is_available(shmem_space_t space);

/* shmem_space_malloc: allocates symmetric memory in a space (memory spaces). */
SHMEM_IMPL_NOPLT void *shmem_space_malloc(shmem_space_t space, size_t size);

/* shmem_space_calloc: allocates zeroed symmetric memory in a space (memory spaces). */
SHMEM_IMPL_NOPLT void *shmem_space_calloc(shmem_space_t space, size_t count, size_t size);

/* shmem_space_free: frees symmetric memory of a space (memory spaces). */
SHMEM_IMPL_NOPLT void shmem_space_free(shmem_space_t space, void *ptr);

/* shmem_get_space: gives the space that an address belongs to (memory spaces). */
SHMEM_IMPL_NOPLT int shmem_get_space(void *ptr, shmem_space_t *space);

/* shmem_team_get_space: gives the space of a team (memory spaces). */
SHMEM_IMPL_NOPLT int shmem_team_get_space(shmem_team_t team, shmem_space_t *space);

/* shmem_space_ptr: gives a pointer for loads and stores to a PE's object in a space (memory spaces). */
SHMEM_IMPL_NOPLT void *shmem_space_ptr(shmem_space_t space, const void *dest, int pe);

/* shmem_team_is_valid: tells whether a team handle can be used (memory spaces). */
SHMEM_IMPL_NOPLT int shmem_team_is_valid(shmem_team_t team);

#ifdef __cplusplus
} /* extern "C" */
#endif

#if !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L && !defined(SHMEM_NO_GENERICS)
/* The generic forms: an argument's type chooses the routine, with a context before it or without. size_t,
 * ptrdiff_t and the exact-width integers are chosen as the standard types that they are. */
#define SHMEM_IMPL_FIRST(first, ...) first
#define SHMEM_IMPL_SECOND(first, second, ...) second
/* What is called, and takes no argument, where no routine is for the type. */
void shmem_impl_no_routine_for_this_type(void);

#define shmem_put(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_put, \
        double *: shmem_ctx_double_put, \
        long double *: shmem_ctx_longdouble_put, \
        char *: shmem_ctx_char_put, \
        signed char *: shmem_ctx_schar_put, \
        short *: shmem_ctx_short_put, \
        int *: shmem_ctx_int_put, \
        long *: shmem_ctx_long_put, \
        long long *: shmem_ctx_longlong_put, \
        unsigned char *: shmem_ctx_uchar_put, \
        unsigned short *: shmem_ctx_ushort_put, \
        unsigned int *: shmem_ctx_uint_put, \
        unsigned long *: shmem_ctx_ulong_put, \
        unsigned long long *: shmem_ctx_ulonglong_put, \
        default: shmem_impl_no_routine_for_this_type), \
    float *: shmem_float_put, \
    double *: shmem_double_put, \
    long double *: shmem_longdouble_put, \
    char *: shmem_char_put, \
    signed char *: shmem_schar_put, \
    short *: shmem_short_put, \
    int *: shmem_int_put, \
    long *: shmem_long_put, \
    long long *: shmem_longlong_put, \
    unsigned char *: shmem_uchar_put, \
    unsigned short *: shmem_ushort_put, \
    unsigned int *: shmem_uint_put, \
    unsigned long *: shmem_ulong_put, \
    unsigned long long *: shmem_ulonglong_put)(__VA_ARGS__)
#define shmem_p(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_p, \
        double *: shmem_ctx_double_p, \
        long double *: shmem_ctx_longdouble_p, \
        char *: shmem_ctx_char_p, \
        signed char *: shmem_ctx_schar_p, \
        short *: shmem_ctx_short_p, \
        int *: shmem_ctx_int_p, \
        long *: shmem_ctx_long_p, \
        long long *: shmem_ctx_longlong_p, \
        unsigned char *: shmem_ctx_uchar_p, \
        unsigned short *: shmem_ctx_ushort_p, \
        unsigned int *: shmem_ctx_uint_p, \
        unsigned long *: shmem_ctx_ulong_p, \
        unsigned long long *: shmem_ctx_ulonglong_p, \
        default: shmem_impl_no_routine_for_this_type), \
    float *: shmem_float_p, \
    double *: shmem_double_p, \
    long double *: shmem_longdouble_p, \
    char *: shmem_char_p, \
    signed char *: shmem_schar_p, \
    short *: shmem_short_p, \
    int *: shmem_int_p, \
    long *: shmem_long_p, \
    long long *: shmem_longlong_p, \
    unsigned char *: shmem_uchar_p, \
    unsigned short *: shmem_ushort_p, \
    unsigned int *: shmem_uint_p, \
    unsigned long *: shmem_ulong_p, \
    unsigned long long *: shmem_ulonglong_p)(__VA_ARGS__)
#define shmem_iput(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_iput, \
        double *: shmem_ctx_double_iput, \
        long double *: shmem_ctx_longdouble_iput, \
        char *: shmem_ctx_char_iput, \
        signed char *: shmem_ctx_schar_iput, \
        short *: shmem_ctx_short_iput, \
        int *: shmem_ctx_int_iput, \
        long *: shmem_ctx_long_iput, \
        long long *: shmem_ctx_longlong_iput, \
        unsigned char *: shmem_ctx_uchar_iput, \
        unsigned short *: shmem_ctx_ushort_iput, \
        unsigned int *: shmem_ctx_uint_iput, \
        unsigned long *: shmem_ctx_ulong_iput, \
        unsigned long long *: shmem_ctx_ulonglong_iput, \
        default: shmem_impl_no_routine_for_this_type), \
    float *: shmem_float_iput, \
    double *: shmem_double_iput, \
    long double *: shmem_longdouble_iput, \
    char *: shmem_char_iput, \
    signed char *: shmem_schar_iput, \
    short *: shmem_short_iput, \
    int *: shmem_int_iput, \
    long *: shmem_long_iput, \
    long long *: shmem_longlong_iput, \
    unsigned char *: shmem_uchar_iput, \
    unsigned short *: shmem_ushort_iput, \
    unsigned int *: shmem_uint_iput, \
    unsigned long *: shmem_ulong_iput, \
    unsigned long long *: shmem_ulonglong_iput)(__VA_ARGS__)
#define shmem_ibput(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_ibput, \
        double *: shmem_ctx_double_ibput, \
        long double *: shmem_ctx_longdouble_ibput, \
        char *: shmem_ctx_char_ibput, \
        signed char *: shmem_ctx_schar_ibput, \
        short *: shmem_ctx_short_ibput, \
        int *: shmem_ctx_int_ibput, \
        long *: shmem_ctx_long_ibput, \
        long long *: shmem_ctx_longlong_ibput, \
        unsigned char *: shmem_ctx_uchar_ibput, \
        unsigned short *: shmem_ctx_ushort_ibput, \
        unsigned int *: shmem_ctx_uint_ibput, \
        unsigned long *: shmem_ctx_ulong_ibput, \
        unsigned long long *: shmem_ctx_ulonglong_ibput, \
        default: shmem_impl_no_routine_for_this_type), \
    float *: shmem_float_ibput, \
    double *: shmem_double_ibput, \
    long double *: shmem_longdouble_ibput, \
    char *: shmem_char_ibput, \
    signed char *: shmem_schar_ibput, \
    short *: shmem_short_ibput, \
    int *: shmem_int_ibput, \
    long *: shmem_long_ibput, \
    long long *: shmem_longlong_ibput, \
    unsigned char *: shmem_uchar_ibput, \
    unsigned short *: shmem_ushort_ibput, \
    unsigned int *: shmem_uint_ibput, \
    unsigned long *: shmem_ulong_ibput, \
    unsigned long long *: shmem_ulonglong_ibput)(__VA_ARGS__)
#define shmem_get(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_get, \
        double *: shmem_ctx_double_get, \
        long double *: shmem_ctx_longdouble_get, \
        char *: shmem_ctx_char_get, \
        signed char *: shmem_ctx_schar_get, \
        short *: shmem_ctx_short_get, \
        int *: shmem_ctx_int_get, \
        long *: shmem_ctx_long_get, \
        long long *: shmem_ctx_longlong_get, \
        unsigned char *: shmem_ctx_uchar_get, \
        unsigned short *: shmem_ctx_ushort_get, \
        unsigned int *: shmem_ctx_uint_get, \
        unsigned long *: shmem_ctx_ulong_get, \
        unsigned long long *: shmem_ctx_ulonglong_get, \
        default: shmem_impl_no_routine_for_this_type), \
    float *: shmem_float_get, \
    double *: shmem_double_get, \
    long double *: shmem_longdouble_get, \
    char *: shmem_char_get, \
    signed char *: shmem_schar_get, \
    short *: shmem_short_get, \
    int *: shmem_int_get, \
    long *: shmem_long_get, \
    long long *: shmem_longlong_get, \
    unsigned char *: shmem_uchar_get, \
    unsigned short *: shmem_ushort_get, \
    unsigned int *: shmem_uint_get, \
    unsigned long *: shmem_ulong_get, \
    unsigned long long *: shmem_ulonglong_get)(__VA_ARGS__)
#define shmem_g(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_g, \
        const float *: shmem_ctx_float_g, \
        double *: shmem_ctx_double_g, \
        const double *: shmem_ctx_double_g, \
        long double *: shmem_ctx_longdouble_g, \
        const long double *: shmem_ctx_longdouble_g, \
        char *: shmem_ctx_char_g, \
        const char *: shmem_ctx_char_g, \
        signed char *: shmem_ctx_schar_g, \
        const signed char *: shmem_ctx_schar_g, \
        short *: shmem_ctx_short_g, \
        const short *: shmem_ctx_short_g, \
        int *: shmem_ctx_int_g, \
        const int *: shmem_ctx_int_g, \
        long *: shmem_ctx_long_g, \
        const long *: shmem_ctx_long_g, \
        long long *: shmem_ctx_longlong_g, \
        const long long *: shmem_ctx_longlong_g, \
        unsigned char *: shmem_ctx_uchar_g, \
        const unsigned char *: shmem_ctx_uchar_g, \
        unsigned short *: shmem_ctx_ushort_g, \
        const unsigned short *: shmem_ctx_ushort_g, \
        unsigned int *: shmem_ctx_uint_g, \
        const unsigned int *: shmem_ctx_uint_g, \
        unsigned long *: shmem_ctx_ulong_g, \
        const unsigned long *: shmem_ctx_ulong_g, \
        unsigned long long *: shmem_ctx_ulonglong_g, \
        const unsigned long long *: shmem_ctx_ulonglong_g, \
        default: shmem_impl_no_routine_for_this_type), \
    float *: shmem_float_g, \
    const float *: shmem_float_g, \
    double *: shmem_double_g, \
    const double *: shmem_double_g, \
    long double *: shmem_longdouble_g, \
    const long double *: shmem_longdouble_g, \
    char *: shmem_char_g, \
    const char *: shmem_char_g, \
    signed char *: shmem_schar_g, \
    const signed char *: shmem_schar_g, \
    short *: shmem_short_g, \
    const short *: shmem_short_g, \
    int *: shmem_int_g, \
    const int *: shmem_int_g, \
    long *: shmem_long_g, \
    const long *: shmem_long_g, \
    long long *: shmem_longlong_g, \
    const long long *: shmem_longlong_g, \
    unsigned char *: shmem_uchar_g, \
    const unsigned char *: shmem_uchar_g, \
    unsigned short *: shmem_ushort_g, \
    const unsigned short *: shmem_ushort_g, \
    unsigned int *: shmem_uint_g, \
    const unsigned int *: shmem_uint_g, \
    unsigned long *: shmem_ulong_g, \
    const unsigned long *: shmem_ulong_g, \
    unsigned long long *: shmem_ulonglong_g, \
    const unsigned long long *: shmem_ulonglong_g)(__VA_ARGS__)
#define shmem_iget(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_iget, \
        double *: shmem_ctx_double_iget, \
        long double *: shmem_ctx_longdouble_iget, \
        char *: shmem_ctx_char_iget, \
        signed char *: shmem_ctx_schar_iget, \
        short *: shmem_ctx_short_iget, \
        int *: shmem_ctx_int_iget, \
        long *: shmem_ctx_long_iget, \
        long long *: shmem_ctx_longlong_iget, \
        unsigned char *: shmem_ctx_uchar_iget, \
        unsigned short *: shmem_ctx_ushort_iget, \
        unsigned int *: shmem_ctx_uint_iget, \
        unsigned long *: shmem_ctx_ulong_iget, \
        unsigned long long *: shmem_ctx_ulonglong_iget, \
        default: shmem_impl_no_routine_for_this_type), \
    float *: shmem_float_iget, \
    double *: shmem_double_iget, \
    long double *: shmem_longdouble_iget, \
    char *: shmem_char_iget, \
    signed char *: shmem_schar_iget, \
    short *: shmem_short_iget, \
    int *: shmem_int_iget, \
    long *: shmem_long_iget, \
    long long *: shmem_longlong_iget, \
    unsigned char *: shmem_uchar_iget, \
    unsigned short *: shmem_ushort_iget, \
    unsigned int *: shmem_uint_iget, \
    unsigned long *: shmem_ulong_iget, \
    unsigned long long *: shmem_ulonglong_iget)(__VA_ARGS__)
#define shmem_ibget(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_ibget, \
        double *: shmem_ctx_double_ibget, \
        long double *: shmem_ctx_longdouble_ibget, \
        char *: shmem_ctx_char_ibget, \
        signed char *: shmem_ctx_schar_ibget, \
        short *: shmem_ctx_short_ibget, \
        int *: shmem_ctx_int_ibget, \
        long *: shmem_ctx_long_ibget, \
        long long *: shmem_ctx_longlong_ibget, \
        unsigned char *: shmem_ctx_uchar_ibget, \
        unsigned short *: shmem_ctx_ushort_ibget, \
        unsigned int *: shmem_ctx_uint_ibget, \
        unsigned long *: shmem_ctx_ulong_ibget, \
        unsigned long long *: shmem_ctx_ulonglong_ibget, \
        default: shmem_impl_no_routine_for_this_type), \
    float *: shmem_float_ibget, \
    double *: shmem_double_ibget, \
    long double *: shmem_longdouble_ibget, \
    char *: shmem_char_ibget, \
    signed char *: shmem_schar_ibget, \
    short *: shmem_short_ibget, \
    int *: shmem_int_ibget, \
    long *: shmem_long_ibget, \
    long long *: shmem_longlong_ibget, \
    unsigned char *: shmem_uchar_ibget, \
    unsigned short *: shmem_ushort_ibget, \
    unsigned int *: shmem_uint_ibget, \
    unsigned long *: shmem_ulong_ibget, \
    unsigned long long *: shmem_ulonglong_ibget)(__VA_ARGS__)
#define shmem_put_nbi(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_put_nbi, \
        double *: shmem_ctx_double_put_nbi, \
        long double *: shmem_ctx_longdouble_put_nbi, \
        char *: shmem_ctx_char_put_nbi, \
        signed char *: shmem_ctx_schar_put_nbi, \
        short *: shmem_ctx_short_put_nbi, \
        int *: shmem_ctx_int_put_nbi, \
        long *: shmem_ctx_long_put_nbi, \
        long long *: shmem_ctx_longlong_put_nbi, \
        unsigned char *: shmem_ctx_uchar_put_nbi, \
        unsigned short *: shmem_ctx_ushort_put_nbi, \
        unsigned int *: shmem_ctx_uint_put_nbi, \
        unsigned long *: shmem_ctx_ulong_put_nbi, \
        unsigned long long *: shmem_ctx_ulonglong_put_nbi, \
        default: shmem_impl_no_routine_for_this_type), \
    float *: shmem_float_put_nbi, \
    double *: shmem_double_put_nbi, \
    long double *: shmem_longdouble_put_nbi, \
    char *: shmem_char_put_nbi, \
    signed char *: shmem_schar_put_nbi, \
    short *: shmem_short_put_nbi, \
    int *: shmem_int_put_nbi, \
    long *: shmem_long_put_nbi, \
    long long *: shmem_longlong_put_nbi, \
    unsigned char *: shmem_uchar_put_nbi, \
    unsigned short *: shmem_ushort_put_nbi, \
    unsigned int *: shmem_uint_put_nbi, \
    unsigned long *: shmem_ulong_put_nbi, \
    unsigned long long *: shmem_ulonglong_put_nbi)(__VA_ARGS__)
#define shmem_get_nbi(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_get_nbi, \
        double *: shmem_ctx_double_get_nbi, \
        long double *: shmem_ctx_longdouble_get_nbi, \
        char *: shmem_ctx_char_get_nbi, \
        signed char *: shmem_ctx_schar_get_nbi, \
        short *: shmem_ctx_short_get_nbi, \
        int *: shmem_ctx_int_get_nbi, \
        long *: shmem_ctx_long_get_nbi, \
        long long *: shmem_ctx_longlong_get_nbi, \
        unsigned char *: shmem_ctx_uchar_get_nbi, \
        unsigned short *: shmem_ctx_ushort_get_nbi, \
        unsigned int *: shmem_ctx_uint_get_nbi, \
        unsigned long *: shmem_ctx_ulong_get_nbi, \
        unsigned long long *: shmem_ctx_ulonglong_get_nbi, \
        default: shmem_impl_no_routine_for_this_type), \
    float *: shmem_float_get_nbi, \
    double *: shmem_double_get_nbi, \
    long double *: shmem_longdouble_get_nbi, \
    char *: shmem_char_get_nbi, \
    signed char *: shmem_schar_get_nbi, \
    short *: shmem_short_get_nbi, \
    int *: shmem_int_get_nbi, \
    long *: shmem_long_get_nbi, \
    long long *: shmem_longlong_get_nbi, \
    unsigned char *: shmem_uchar_get_nbi, \
    unsigned short *: shmem_ushort_get_nbi, \
    unsigned int *: shmem_uint_get_nbi, \
    unsigned long *: shmem_ulong_get_nbi, \
    unsigned long long *: shmem_ulonglong_get_nbi)(__VA_ARGS__)
#define shmem_atomic_fetch(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_atomic_fetch, \
        const float *: shmem_ctx_float_atomic_fetch, \
        double *: shmem_ctx_double_atomic_fetch, \
        const double *: shmem_ctx_double_atomic_fetch, \
        int *: shmem_ctx_int_atomic_fetch, \
        const int *: shmem_ctx_int_atomic_fetch, \
        long *: shmem_ctx_long_atomic_fetch, \
        const long *: shmem_ctx_long_atomic_fetch, \
        long long *: shmem_ctx_longlong_atomic_fetch, \
        const long long *: shmem_ctx_longlong_atomic_fetch, \
        unsigned int *: shmem_ctx_uint_atomic_fetch, \
        const unsigned int *: shmem_ctx_uint_atomic_fetch, \
        unsigned long *: shmem_ctx_ulong_atomic_fetch, \
        const unsigned long *: shmem_ctx_ulong_atomic_fetch, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_fetch, \
        const unsigned long long *: shmem_ctx_ulonglong_atomic_fetch, \
        default: shmem_impl_no_routine_for_this_type), \
    float *: shmem_float_atomic_fetch, \
    const float *: shmem_float_atomic_fetch, \
    double *: shmem_double_atomic_fetch, \
    const double *: shmem_double_atomic_fetch, \
    int *: shmem_int_atomic_fetch, \
    const int *: shmem_int_atomic_fetch, \
    long *: shmem_long_atomic_fetch, \
    const long *: shmem_long_atomic_fetch, \
    long long *: shmem_longlong_atomic_fetch, \
    const long long *: shmem_longlong_atomic_fetch, \
    unsigned int *: shmem_uint_atomic_fetch, \
    const unsigned int *: shmem_uint_atomic_fetch, \
    unsigned long *: shmem_ulong_atomic_fetch, \
    const unsigned long *: shmem_ulong_atomic_fetch, \
    unsigned long long *: shmem_ulonglong_atomic_fetch, \
    const unsigned long long *: shmem_ulonglong_atomic_fetch)(__VA_ARGS__)
#define shmem_atomic_set(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_atomic_set, \
        double *: shmem_ctx_double_atomic_set, \
        int *: shmem_ctx_int_atomic_set, \
        long *: shmem_ctx_long_atomic_set, \
        long long *: shmem_ctx_longlong_atomic_set, \
        unsigned int *: shmem_ctx_uint_atomic_set, \
        unsigned long *: shmem_ctx_ulong_atomic_set, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_set, \
        default: shmem_impl_no_routine_for_this_type), \
    float *: shmem_float_atomic_set, \
    double *: shmem_double_atomic_set, \
    int *: shmem_int_atomic_set, \
    long *: shmem_long_atomic_set, \
    long long *: shmem_longlong_atomic_set, \
    unsigned int *: shmem_uint_atomic_set, \
    unsigned long *: shmem_ulong_atomic_set, \
    unsigned long long *: shmem_ulonglong_atomic_set)(__VA_ARGS__)
#define shmem_atomic_compare_swap(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        int *: shmem_ctx_int_atomic_compare_swap, \
        long *: shmem_ctx_long_atomic_compare_swap, \
        long long *: shmem_ctx_longlong_atomic_compare_swap, \
        unsigned int *: shmem_ctx_uint_atomic_compare_swap, \
        unsigned long *: shmem_ctx_ulong_atomic_compare_swap, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_compare_swap, \
        default: shmem_impl_no_routine_for_this_type), \
    int *: shmem_int_atomic_compare_swap, \
    long *: shmem_long_atomic_compare_swap, \
    long long *: shmem_longlong_atomic_compare_swap, \
    unsigned int *: shmem_uint_atomic_compare_swap, \
    unsigned long *: shmem_ulong_atomic_compare_swap, \
    unsigned long long *: shmem_ulonglong_atomic_compare_swap)(__VA_ARGS__)
#define shmem_atomic_swap(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_atomic_swap, \
        double *: shmem_ctx_double_atomic_swap, \
        int *: shmem_ctx_int_atomic_swap, \
        long *: shmem_ctx_long_atomic_swap, \
        long long *: shmem_ctx_longlong_atomic_swap, \
        unsigned int *: shmem_ctx_uint_atomic_swap, \
        unsigned long *: shmem_ctx_ulong_atomic_swap, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_swap, \
        default: shmem_impl_no_routine_for_this_type), \
    float *: shmem_float_atomic_swap, \
    double *: shmem_double_atomic_swap, \
    int *: shmem_int_atomic_swap, \
    long *: shmem_long_atomic_swap, \
    long long *: shmem_longlong_atomic_swap, \
    unsigned int *: shmem_uint_atomic_swap, \
    unsigned long *: shmem_ulong_atomic_swap, \
    unsigned long long *: shmem_ulonglong_atomic_swap)(__VA_ARGS__)
#define shmem_atomic_fetch_inc(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        int *: shmem_ctx_int_atomic_fetch_inc, \
        long *: shmem_ctx_long_atomic_fetch_inc, \
        long long *: shmem_ctx_longlong_atomic_fetch_inc, \
        unsigned int *: shmem_ctx_uint_atomic_fetch_inc, \
        unsigned long *: shmem_ctx_ulong_atomic_fetch_inc, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_fetch_inc, \
        default: shmem_impl_no_routine_for_this_type), \
    int *: shmem_int_atomic_fetch_inc, \
    long *: shmem_long_atomic_fetch_inc, \
    long long *: shmem_longlong_atomic_fetch_inc, \
    unsigned int *: shmem_uint_atomic_fetch_inc, \
    unsigned long *: shmem_ulong_atomic_fetch_inc, \
    unsigned long long *: shmem_ulonglong_atomic_fetch_inc)(__VA_ARGS__)
#define shmem_atomic_inc(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        int *: shmem_ctx_int_atomic_inc, \
        long *: shmem_ctx_long_atomic_inc, \
        long long *: shmem_ctx_longlong_atomic_inc, \
        unsigned int *: shmem_ctx_uint_atomic_inc, \
        unsigned long *: shmem_ctx_ulong_atomic_inc, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_inc, \
        default: shmem_impl_no_routine_for_this_type), \
    int *: shmem_int_atomic_inc, \
    long *: shmem_long_atomic_inc, \
    long long *: shmem_longlong_atomic_inc, \
    unsigned int *: shmem_uint_atomic_inc, \
    unsigned long *: shmem_ulong_atomic_inc, \
    unsigned long long *: shmem_ulonglong_atomic_inc)(__VA_ARGS__)
#define shmem_atomic_fetch_add(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        int *: shmem_ctx_int_atomic_fetch_add, \
        long *: shmem_ctx_long_atomic_fetch_add, \
        long long *: shmem_ctx_longlong_atomic_fetch_add, \
        unsigned int *: shmem_ctx_uint_atomic_fetch_add, \
        unsigned long *: shmem_ctx_ulong_atomic_fetch_add, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_fetch_add, \
        default: shmem_impl_no_routine_for_this_type), \
    int *: shmem_int_atomic_fetch_add, \
    long *: shmem_long_atomic_fetch_add, \
    long long *: shmem_longlong_atomic_fetch_add, \
    unsigned int *: shmem_uint_atomic_fetch_add, \
    unsigned long *: shmem_ulong_atomic_fetch_add, \
    unsigned long long *: shmem_ulonglong_atomic_fetch_add)(__VA_ARGS__)
#define shmem_atomic_add(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        int *: shmem_ctx_int_atomic_add, \
        long *: shmem_ctx_long_atomic_add, \
        long long *: shmem_ctx_longlong_atomic_add, \
        unsigned int *: shmem_ctx_uint_atomic_add, \
        unsigned long *: shmem_ctx_ulong_atomic_add, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_add, \
        default: shmem_impl_no_routine_for_this_type), \
    int *: shmem_int_atomic_add, \
    long *: shmem_long_atomic_add, \
    long long *: shmem_longlong_atomic_add, \
    unsigned int *: shmem_uint_atomic_add, \
    unsigned long *: shmem_ulong_atomic_add, \
    unsigned long long *: shmem_ulonglong_atomic_add)(__VA_ARGS__)
#define shmem_atomic_fetch_and(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        unsigned int *: shmem_ctx_uint_atomic_fetch_and, \
        unsigned long *: shmem_ctx_ulong_atomic_fetch_and, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_fetch_and, \
        int32_t *: shmem_ctx_int32_atomic_fetch_and, \
        int64_t *: shmem_ctx_int64_atomic_fetch_and, \
        default: shmem_impl_no_routine_for_this_type), \
    unsigned int *: shmem_uint_atomic_fetch_and, \
    unsigned long *: shmem_ulong_atomic_fetch_and, \
    unsigned long long *: shmem_ulonglong_atomic_fetch_and, \
    int32_t *: shmem_int32_atomic_fetch_and, \
    int64_t *: shmem_int64_atomic_fetch_and)(__VA_ARGS__)
#define shmem_atomic_and(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        unsigned int *: shmem_ctx_uint_atomic_and, \
        unsigned long *: shmem_ctx_ulong_atomic_and, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_and, \
        int32_t *: shmem_ctx_int32_atomic_and, \
        int64_t *: shmem_ctx_int64_atomic_and, \
        default: shmem_impl_no_routine_for_this_type), \
    unsigned int *: shmem_uint_atomic_and, \
    unsigned long *: shmem_ulong_atomic_and, \
    unsigned long long *: shmem_ulonglong_atomic_and, \
    int32_t *: shmem_int32_atomic_and, \
    int64_t *: shmem_int64_atomic_and)(__VA_ARGS__)
#define shmem_atomic_fetch_or(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        unsigned int *: shmem_ctx_uint_atomic_fetch_or, \
        unsigned long *: shmem_ctx_ulong_atomic_fetch_or, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_fetch_or, \
        int32_t *: shmem_ctx_int32_atomic_fetch_or, \
        int64_t *: shmem_ctx_int64_atomic_fetch_or, \
        default: shmem_impl_no_routine_for_this_type), \
    unsigned int *: shmem_uint_atomic_fetch_or, \
    unsigned long *: shmem_ulong_atomic_fetch_or, \
    unsigned long long *: shmem_ulonglong_atomic_fetch_or, \
    int32_t *: shmem_int32_atomic_fetch_or, \
    int64_t *: shmem_int64_atomic_fetch_or)(__VA_ARGS__)
#define shmem_atomic_or(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        unsigned int *: shmem_ctx_uint_atomic_or, \
        unsigned long *: shmem_ctx_ulong_atomic_or, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_or, \
        int32_t *: shmem_ctx_int32_atomic_or, \
        int64_t *: shmem_ctx_int64_atomic_or, \
        default: shmem_impl_no_routine_for_this_type), \
    unsigned int *: shmem_uint_atomic_or, \
    unsigned long *: shmem_ulong_atomic_or, \
    unsigned long long *: shmem_ulonglong_atomic_or, \
    int32_t *: shmem_int32_atomic_or, \
    int64_t *: shmem_int64_atomic_or)(__VA_ARGS__)
#define shmem_atomic_fetch_xor(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        unsigned int *: shmem_ctx_uint_atomic_fetch_xor, \
        unsigned long *: shmem_ctx_ulong_atomic_fetch_xor, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_fetch_xor, \
        int32_t *: shmem_ctx_int32_atomic_fetch_xor, \
        int64_t *: shmem_ctx_int64_atomic_fetch_xor, \
        default: shmem_impl_no_routine_for_this_type), \
    unsigned int *: shmem_uint_atomic_fetch_xor, \
    unsigned long *: shmem_ulong_atomic_fetch_xor, \
    unsigned long long *: shmem_ulonglong_atomic_fetch_xor, \
    int32_t *: shmem_int32_atomic_fetch_xor, \
    int64_t *: shmem_int64_atomic_fetch_xor)(__VA_ARGS__)
#define shmem_atomic_xor(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        unsigned int *: shmem_ctx_uint_atomic_xor, \
        unsigned long *: shmem_ctx_ulong_atomic_xor, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_xor, \
        int32_t *: shmem_ctx_int32_atomic_xor, \
        int64_t *: shmem_ctx_int64_atomic_xor, \
        default: shmem_impl_no_routine_for_this_type), \
    unsigned int *: shmem_uint_atomic_xor, \
    unsigned long *: shmem_ulong_atomic_xor, \
    unsigned long long *: shmem_ulonglong_atomic_xor, \
    int32_t *: shmem_int32_atomic_xor, \
    int64_t *: shmem_int64_atomic_xor)(__VA_ARGS__)
#define shmem_atomic_fetch_nbi(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_atomic_fetch_nbi, \
        double *: shmem_ctx_double_atomic_fetch_nbi, \
        int *: shmem_ctx_int_atomic_fetch_nbi, \
        long *: shmem_ctx_long_atomic_fetch_nbi, \
        long long *: shmem_ctx_longlong_atomic_fetch_nbi, \
        unsigned int *: shmem_ctx_uint_atomic_fetch_nbi, \
        unsigned long *: shmem_ctx_ulong_atomic_fetch_nbi, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_fetch_nbi, \
        default: shmem_impl_no_routine_for_this_type), \
    float *: shmem_float_atomic_fetch_nbi, \
    double *: shmem_double_atomic_fetch_nbi, \
    int *: shmem_int_atomic_fetch_nbi, \
    long *: shmem_long_atomic_fetch_nbi, \
    long long *: shmem_longlong_atomic_fetch_nbi, \
    unsigned int *: shmem_uint_atomic_fetch_nbi, \
    unsigned long *: shmem_ulong_atomic_fetch_nbi, \
    unsigned long long *: shmem_ulonglong_atomic_fetch_nbi)(__VA_ARGS__)
#define shmem_atomic_compare_swap_nbi(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        int *: shmem_ctx_int_atomic_compare_swap_nbi, \
        long *: shmem_ctx_long_atomic_compare_swap_nbi, \
        long long *: shmem_ctx_longlong_atomic_compare_swap_nbi, \
        unsigned int *: shmem_ctx_uint_atomic_compare_swap_nbi, \
        unsigned long *: shmem_ctx_ulong_atomic_compare_swap_nbi, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_compare_swap_nbi, \
        default: shmem_impl_no_routine_for_this_type), \
    int *: shmem_int_atomic_compare_swap_nbi, \
    long *: shmem_long_atomic_compare_swap_nbi, \
    long long *: shmem_longlong_atomic_compare_swap_nbi, \
    unsigned int *: shmem_uint_atomic_compare_swap_nbi, \
    unsigned long *: shmem_ulong_atomic_compare_swap_nbi, \
    unsigned long long *: shmem_ulonglong_atomic_compare_swap_nbi)(__VA_ARGS__)
#define shmem_atomic_swap_nbi(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_atomic_swap_nbi, \
        double *: shmem_ctx_double_atomic_swap_nbi, \
        int *: shmem_ctx_int_atomic_swap_nbi, \
        long *: shmem_ctx_long_atomic_swap_nbi, \
        long long *: shmem_ctx_longlong_atomic_swap_nbi, \
        unsigned int *: shmem_ctx_uint_atomic_swap_nbi, \
        unsigned long *: shmem_ctx_ulong_atomic_swap_nbi, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_swap_nbi, \
        default: shmem_impl_no_routine_for_this_type), \
    float *: shmem_float_atomic_swap_nbi, \
    double *: shmem_double_atomic_swap_nbi, \
    int *: shmem_int_atomic_swap_nbi, \
    long *: shmem_long_atomic_swap_nbi, \
    long long *: shmem_longlong_atomic_swap_nbi, \
    unsigned int *: shmem_uint_atomic_swap_nbi, \
    unsigned long *: shmem_ulong_atomic_swap_nbi, \
    unsigned long long *: shmem_ulonglong_atomic_swap_nbi)(__VA_ARGS__)
#define shmem_atomic_fetch_inc_nbi(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        int *: shmem_ctx_int_atomic_fetch_inc_nbi, \
        long *: shmem_ctx_long_atomic_fetch_inc_nbi, \
        long long *: shmem_ctx_longlong_atomic_fetch_inc_nbi, \
        unsigned int *: shmem_ctx_uint_atomic_fetch_inc_nbi, \
        unsigned long *: shmem_ctx_ulong_atomic_fetch_inc_nbi, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_fetch_inc_nbi, \
        default: shmem_impl_no_routine_for_this_type), \
    int *: shmem_int_atomic_fetch_inc_nbi, \
    long *: shmem_long_atomic_fetch_inc_nbi, \
    long long *: shmem_longlong_atomic_fetch_inc_nbi, \
    unsigned int *: shmem_uint_atomic_fetch_inc_nbi, \
    unsigned long *: shmem_ulong_atomic_fetch_inc_nbi, \
    unsigned long long *: shmem_ulonglong_atomic_fetch_inc_nbi)(__VA_ARGS__)
#define shmem_atomic_fetch_add_nbi(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        int *: shmem_ctx_int_atomic_fetch_add_nbi, \
        long *: shmem_ctx_long_atomic_fetch_add_nbi, \
        long long *: shmem_ctx_longlong_atomic_fetch_add_nbi, \
        unsigned int *: shmem_ctx_uint_atomic_fetch_add_nbi, \
        unsigned long *: shmem_ctx_ulong_atomic_fetch_add_nbi, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_fetch_add_nbi, \
        default: shmem_impl_no_routine_for_this_type), \
    int *: shmem_int_atomic_fetch_add_nbi, \
    long *: shmem_long_atomic_fetch_add_nbi, \
    long long *: shmem_longlong_atomic_fetch_add_nbi, \
    unsigned int *: shmem_uint_atomic_fetch_add_nbi, \
    unsigned long *: shmem_ulong_atomic_fetch_add_nbi, \
    unsigned long long *: shmem_ulonglong_atomic_fetch_add_nbi)(__VA_ARGS__)
#define shmem_atomic_fetch_and_nbi(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        unsigned int *: shmem_ctx_uint_atomic_fetch_and_nbi, \
        unsigned long *: shmem_ctx_ulong_atomic_fetch_and_nbi, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_fetch_and_nbi, \
        int32_t *: shmem_ctx_int32_atomic_fetch_and_nbi, \
        int64_t *: shmem_ctx_int64_atomic_fetch_and_nbi, \
        default: shmem_impl_no_routine_for_this_type), \
    unsigned int *: shmem_uint_atomic_fetch_and_nbi, \
    unsigned long *: shmem_ulong_atomic_fetch_and_nbi, \
    unsigned long long *: shmem_ulonglong_atomic_fetch_and_nbi, \
    int32_t *: shmem_int32_atomic_fetch_and_nbi, \
    int64_t *: shmem_int64_atomic_fetch_and_nbi)(__VA_ARGS__)
#define shmem_atomic_fetch_or_nbi(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        unsigned int *: shmem_ctx_uint_atomic_fetch_or_nbi, \
        unsigned long *: shmem_ctx_ulong_atomic_fetch_or_nbi, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_fetch_or_nbi, \
        int32_t *: shmem_ctx_int32_atomic_fetch_or_nbi, \
        int64_t *: shmem_ctx_int64_atomic_fetch_or_nbi, \
        default: shmem_impl_no_routine_for_this_type), \
    unsigned int *: shmem_uint_atomic_fetch_or_nbi, \
    unsigned long *: shmem_ulong_atomic_fetch_or_nbi, \
    unsigned long long *: shmem_ulonglong_atomic_fetch_or_nbi, \
    int32_t *: shmem_int32_atomic_fetch_or_nbi, \
    int64_t *: shmem_int64_atomic_fetch_or_nbi)(__VA_ARGS__)
#define shmem_atomic_fetch_xor_nbi(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        unsigned int *: shmem_ctx_uint_atomic_fetch_xor_nbi, \
        unsigned long *: shmem_ctx_ulong_atomic_fetch_xor_nbi, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_fetch_xor_nbi, \
        int32_t *: shmem_ctx_int32_atomic_fetch_xor_nbi, \
        int64_t *: shmem_ctx_int64_atomic_fetch_xor_nbi, \
        default: shmem_impl_no_routine_for_this_type), \
    unsigned int *: shmem_uint_atomic_fetch_xor_nbi, \
    unsigned long *: shmem_ulong_atomic_fetch_xor_nbi, \
    unsigned long long *: shmem_ulonglong_atomic_fetch_xor_nbi, \
    int32_t *: shmem_int32_atomic_fetch_xor_nbi, \
    int64_t *: shmem_int64_atomic_fetch_xor_nbi)(__VA_ARGS__)
#define shmem_fetch(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    float *: shmem_float_fetch, \
    const float *: shmem_float_fetch, \
    double *: shmem_double_fetch, \
    const double *: shmem_double_fetch, \
    int *: shmem_int_fetch, \
    const int *: shmem_int_fetch, \
    long *: shmem_long_fetch, \
    const long *: shmem_long_fetch, \
    long long *: shmem_longlong_fetch, \
    const long long *: shmem_longlong_fetch, \
    unsigned int *: shmem_uint_atomic_fetch, \
    const unsigned int *: shmem_uint_atomic_fetch, \
    unsigned long *: shmem_ulong_atomic_fetch, \
    const unsigned long *: shmem_ulong_atomic_fetch, \
    unsigned long long *: shmem_ulonglong_atomic_fetch, \
    const unsigned long long *: shmem_ulonglong_atomic_fetch)(__VA_ARGS__)
#define shmem_set(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    float *: shmem_float_set, \
    double *: shmem_double_set, \
    int *: shmem_int_set, \
    long *: shmem_long_set, \
    long long *: shmem_longlong_set, \
    unsigned int *: shmem_uint_atomic_set, \
    unsigned long *: shmem_ulong_atomic_set, \
    unsigned long long *: shmem_ulonglong_atomic_set)(__VA_ARGS__)
#define shmem_cswap(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    int *: shmem_int_cswap, \
    long *: shmem_long_cswap, \
    long long *: shmem_longlong_cswap, \
    unsigned int *: shmem_uint_atomic_compare_swap, \
    unsigned long *: shmem_ulong_atomic_compare_swap, \
    unsigned long long *: shmem_ulonglong_atomic_compare_swap)(__VA_ARGS__)
#define shmem_swap(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    float *: shmem_float_swap, \
    double *: shmem_double_swap, \
    int *: shmem_int_swap, \
    long *: shmem_long_swap, \
    long long *: shmem_longlong_swap, \
    unsigned int *: shmem_uint_atomic_swap, \
    unsigned long *: shmem_ulong_atomic_swap, \
    unsigned long long *: shmem_ulonglong_atomic_swap)(__VA_ARGS__)
#define shmem_finc(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    int *: shmem_int_finc, \
    long *: shmem_long_finc, \
    long long *: shmem_longlong_finc, \
    unsigned int *: shmem_uint_atomic_fetch_inc, \
    unsigned long *: shmem_ulong_atomic_fetch_inc, \
    unsigned long long *: shmem_ulonglong_atomic_fetch_inc)(__VA_ARGS__)
#define shmem_inc(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    int *: shmem_int_inc, \
    long *: shmem_long_inc, \
    long long *: shmem_longlong_inc, \
    unsigned int *: shmem_uint_atomic_inc, \
    unsigned long *: shmem_ulong_atomic_inc, \
    unsigned long long *: shmem_ulonglong_atomic_inc)(__VA_ARGS__)
#define shmem_fadd(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    int *: shmem_int_fadd, \
    long *: shmem_long_fadd, \
    long long *: shmem_longlong_fadd, \
    unsigned int *: shmem_uint_atomic_fetch_add, \
    unsigned long *: shmem_ulong_atomic_fetch_add, \
    unsigned long long *: shmem_ulonglong_atomic_fetch_add)(__VA_ARGS__)
#define shmem_add(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    int *: shmem_int_add, \
    long *: shmem_long_add, \
    long long *: shmem_longlong_add, \
    unsigned int *: shmem_uint_atomic_add, \
    unsigned long *: shmem_ulong_atomic_add, \
    unsigned long long *: shmem_ulonglong_atomic_add)(__VA_ARGS__)
#define shmem_put_signal(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_put_signal, \
        double *: shmem_ctx_double_put_signal, \
        long double *: shmem_ctx_longdouble_put_signal, \
        char *: shmem_ctx_char_put_signal, \
        signed char *: shmem_ctx_schar_put_signal, \
        short *: shmem_ctx_short_put_signal, \
        int *: shmem_ctx_int_put_signal, \
        long *: shmem_ctx_long_put_signal, \
        long long *: shmem_ctx_longlong_put_signal, \
        unsigned char *: shmem_ctx_uchar_put_signal, \
        unsigned short *: shmem_ctx_ushort_put_signal, \
        unsigned int *: shmem_ctx_uint_put_signal, \
        unsigned long *: shmem_ctx_ulong_put_signal, \
        unsigned long long *: shmem_ctx_ulonglong_put_signal, \
        default: shmem_impl_no_routine_for_this_type), \
    float *: shmem_float_put_signal, \
    double *: shmem_double_put_signal, \
    long double *: shmem_longdouble_put_signal, \
    char *: shmem_char_put_signal, \
    signed char *: shmem_schar_put_signal, \
    short *: shmem_short_put_signal, \
    int *: shmem_int_put_signal, \
    long *: shmem_long_put_signal, \
    long long *: shmem_longlong_put_signal, \
    unsigned char *: shmem_uchar_put_signal, \
    unsigned short *: shmem_ushort_put_signal, \
    unsigned int *: shmem_uint_put_signal, \
    unsigned long *: shmem_ulong_put_signal, \
    unsigned long long *: shmem_ulonglong_put_signal)(__VA_ARGS__)
#define shmem_put_signal_nbi(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    shmem_ctx_t: _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_put_signal_nbi, \
        double *: shmem_ctx_double_put_signal_nbi, \
        long double *: shmem_ctx_longdouble_put_signal_nbi, \
        char *: shmem_ctx_char_put_signal_nbi, \
        signed char *: shmem_ctx_schar_put_signal_nbi, \
        short *: shmem_ctx_short_put_signal_nbi, \
        int *: shmem_ctx_int_put_signal_nbi, \
        long *: shmem_ctx_long_put_signal_nbi, \
        long long *: shmem_ctx_longlong_put_signal_nbi, \
        unsigned char *: shmem_ctx_uchar_put_signal_nbi, \
        unsigned short *: shmem_ctx_ushort_put_signal_nbi, \
        unsigned int *: shmem_ctx_uint_put_signal_nbi, \
        unsigned long *: shmem_ctx_ulong_put_signal_nbi, \
        unsigned long long *: shmem_ctx_ulonglong_put_signal_nbi, \
        default: shmem_impl_no_routine_for_this_type), \
    float *: shmem_float_put_signal_nbi, \
    double *: shmem_double_put_signal_nbi, \
    long double *: shmem_longdouble_put_signal_nbi, \
    char *: shmem_char_put_signal_nbi, \
    signed char *: shmem_schar_put_signal_nbi, \
    short *: shmem_short_put_signal_nbi, \
    int *: shmem_int_put_signal_nbi, \
    long *: shmem_long_put_signal_nbi, \
    long long *: shmem_longlong_put_signal_nbi, \
    unsigned char *: shmem_uchar_put_signal_nbi, \
    unsigned short *: shmem_ushort_put_signal_nbi, \
    unsigned int *: shmem_uint_put_signal_nbi, \
    unsigned long *: shmem_ulong_put_signal_nbi, \
    unsigned long long *: shmem_ulonglong_put_signal_nbi)(__VA_ARGS__)
#define shmem_alltoall(...) _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
    float *: shmem_float_alltoall, \
    double *: shmem_double_alltoall, \
    long double *: shmem_longdouble_alltoall, \
    char *: shmem_char_alltoall, \
    signed char *: shmem_schar_alltoall, \
    short *: shmem_short_alltoall, \
    int *: shmem_int_alltoall, \
    long *: shmem_long_alltoall, \
    long long *: shmem_longlong_alltoall, \
    unsigned char *: shmem_uchar_alltoall, \
    unsigned short *: shmem_ushort_alltoall, \
    unsigned int *: shmem_uint_alltoall, \
    unsigned long *: shmem_ulong_alltoall, \
    unsigned long long *: shmem_ulonglong_alltoall)(__VA_ARGS__)
#define shmem_alltoalls(...) _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
    float *: shmem_float_alltoalls, \
    double *: shmem_double_alltoalls, \
    long double *: shmem_longdouble_alltoalls, \
    char *: shmem_char_alltoalls, \
    signed char *: shmem_schar_alltoalls, \
    short *: shmem_short_alltoalls, \
    int *: shmem_int_alltoalls, \
    long *: shmem_long_alltoalls, \
    long long *: shmem_longlong_alltoalls, \
    unsigned char *: shmem_uchar_alltoalls, \
    unsigned short *: shmem_ushort_alltoalls, \
    unsigned int *: shmem_uint_alltoalls, \
    unsigned long *: shmem_ulong_alltoalls, \
    unsigned long long *: shmem_ulonglong_alltoalls)(__VA_ARGS__)
#define shmem_broadcast(...) _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
    float *: shmem_float_broadcast, \
    double *: shmem_double_broadcast, \
    long double *: shmem_longdouble_broadcast, \
    char *: shmem_char_broadcast, \
    signed char *: shmem_schar_broadcast, \
    short *: shmem_short_broadcast, \
    int *: shmem_int_broadcast, \
    long *: shmem_long_broadcast, \
    long long *: shmem_longlong_broadcast, \
    unsigned char *: shmem_uchar_broadcast, \
    unsigned short *: shmem_ushort_broadcast, \
    unsigned int *: shmem_uint_broadcast, \
    unsigned long *: shmem_ulong_broadcast, \
    unsigned long long *: shmem_ulonglong_broadcast)(__VA_ARGS__)
#define shmem_collect(...) _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
    float *: shmem_float_collect, \
    double *: shmem_double_collect, \
    long double *: shmem_longdouble_collect, \
    char *: shmem_char_collect, \
    signed char *: shmem_schar_collect, \
    short *: shmem_short_collect, \
    int *: shmem_int_collect, \
    long *: shmem_long_collect, \
    long long *: shmem_longlong_collect, \
    unsigned char *: shmem_uchar_collect, \
    unsigned short *: shmem_ushort_collect, \
    unsigned int *: shmem_uint_collect, \
    unsigned long *: shmem_ulong_collect, \
    unsigned long long *: shmem_ulonglong_collect)(__VA_ARGS__)
#define shmem_fcollect(...) _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
    float *: shmem_float_fcollect, \
    double *: shmem_double_fcollect, \
    long double *: shmem_longdouble_fcollect, \
    char *: shmem_char_fcollect, \
    signed char *: shmem_schar_fcollect, \
    short *: shmem_short_fcollect, \
    int *: shmem_int_fcollect, \
    long *: shmem_long_fcollect, \
    long long *: shmem_longlong_fcollect, \
    unsigned char *: shmem_uchar_fcollect, \
    unsigned short *: shmem_ushort_fcollect, \
    unsigned int *: shmem_uint_fcollect, \
    unsigned long *: shmem_ulong_fcollect, \
    unsigned long long *: shmem_ulonglong_fcollect)(__VA_ARGS__)
#define shmem_and_reduce(...) _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
    unsigned char *: shmem_uchar_and_reduce, \
    unsigned short *: shmem_ushort_and_reduce, \
    unsigned int *: shmem_uint_and_reduce, \
    unsigned long *: shmem_ulong_and_reduce, \
    unsigned long long *: shmem_ulonglong_and_reduce, \
    int8_t *: shmem_int8_and_reduce, \
    int16_t *: shmem_int16_and_reduce, \
    int32_t *: shmem_int32_and_reduce, \
    int64_t *: shmem_int64_and_reduce)(__VA_ARGS__)
#define shmem_or_reduce(...) _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
    unsigned char *: shmem_uchar_or_reduce, \
    unsigned short *: shmem_ushort_or_reduce, \
    unsigned int *: shmem_uint_or_reduce, \
    unsigned long *: shmem_ulong_or_reduce, \
    unsigned long long *: shmem_ulonglong_or_reduce, \
    int8_t *: shmem_int8_or_reduce, \
    int16_t *: shmem_int16_or_reduce, \
    int32_t *: shmem_int32_or_reduce, \
    int64_t *: shmem_int64_or_reduce)(__VA_ARGS__)
#define shmem_xor_reduce(...) _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
    unsigned char *: shmem_uchar_xor_reduce, \
    unsigned short *: shmem_ushort_xor_reduce, \
    unsigned int *: shmem_uint_xor_reduce, \
    unsigned long *: shmem_ulong_xor_reduce, \
    unsigned long long *: shmem_ulonglong_xor_reduce, \
    int8_t *: shmem_int8_xor_reduce, \
    int16_t *: shmem_int16_xor_reduce, \
    int32_t *: shmem_int32_xor_reduce, \
    int64_t *: shmem_int64_xor_reduce)(__VA_ARGS__)
#define shmem_max_reduce(...) _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
    char *: shmem_char_max_reduce, \
    signed char *: shmem_schar_max_reduce, \
    short *: shmem_short_max_reduce, \
    int *: shmem_int_max_reduce, \
    long *: shmem_long_max_reduce, \
    long long *: shmem_longlong_max_reduce, \
    unsigned char *: shmem_uchar_max_reduce, \
    unsigned short *: shmem_ushort_max_reduce, \
    unsigned int *: shmem_uint_max_reduce, \
    unsigned long *: shmem_ulong_max_reduce, \
    unsigned long long *: shmem_ulonglong_max_reduce, \
    float *: shmem_float_max_reduce, \
    double *: shmem_double_max_reduce, \
    long double *: shmem_longdouble_max_reduce)(__VA_ARGS__)
#define shmem_min_reduce(...) _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
    char *: shmem_char_min_reduce, \
    signed char *: shmem_schar_min_reduce, \
    short *: shmem_short_min_reduce, \
    int *: shmem_int_min_reduce, \
    long *: shmem_long_min_reduce, \
    long long *: shmem_longlong_min_reduce, \
    unsigned char *: shmem_uchar_min_reduce, \
    unsigned short *: shmem_ushort_min_reduce, \
    unsigned int *: shmem_uint_min_reduce, \
    unsigned long *: shmem_ulong_min_reduce, \
    unsigned long long *: shmem_ulonglong_min_reduce, \
    float *: shmem_float_min_reduce, \
    double *: shmem_double_min_reduce, \
    long double *: shmem_longdouble_min_reduce)(__VA_ARGS__)
#define shmem_sum_reduce(...) _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
    char *: shmem_char_sum_reduce, \
    signed char *: shmem_schar_sum_reduce, \
    short *: shmem_short_sum_reduce, \
    int *: shmem_int_sum_reduce, \
    long *: shmem_long_sum_reduce, \
    long long *: shmem_longlong_sum_reduce, \
    unsigned char *: shmem_uchar_sum_reduce, \
    unsigned short *: shmem_ushort_sum_reduce, \
    unsigned int *: shmem_uint_sum_reduce, \
    unsigned long *: shmem_ulong_sum_reduce, \
    unsigned long long *: shmem_ulonglong_sum_reduce, \
    float *: shmem_float_sum_reduce, \
    double *: shmem_double_sum_reduce, \
    long double *: shmem_longdouble_sum_reduce, \
    double _Complex *: shmem_complexd_sum_reduce, \
    float _Complex *: shmem_complexf_sum_reduce)(__VA_ARGS__)
#define shmem_prod_reduce(...) _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
    char *: shmem_char_prod_reduce, \
    signed char *: shmem_schar_prod_reduce, \
    short *: shmem_short_prod_reduce, \
    int *: shmem_int_prod_reduce, \
    long *: shmem_long_prod_reduce, \
    long long *: shmem_longlong_prod_reduce, \
    unsigned char *: shmem_uchar_prod_reduce, \
    unsigned short *: shmem_ushort_prod_reduce, \
    unsigned int *: shmem_uint_prod_reduce, \
    unsigned long *: shmem_ulong_prod_reduce, \
    unsigned long long *: shmem_ulonglong_prod_reduce, \
    float *: shmem_float_prod_reduce, \
    double *: shmem_double_prod_reduce, \
    long double *: shmem_longdouble_prod_reduce, \
    double _Complex *: shmem_complexd_prod_reduce, \
    float _Complex *: shmem_complexf_prod_reduce)(__VA_ARGS__)
#define shmem_sum_inscan(...) _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
    char *: shmem_char_sum_inscan, \
    signed char *: shmem_schar_sum_inscan, \
    short *: shmem_short_sum_inscan, \
    int *: shmem_int_sum_inscan, \
    long *: shmem_long_sum_inscan, \
    long long *: shmem_longlong_sum_inscan, \
    unsigned char *: shmem_uchar_sum_inscan, \
    unsigned short *: shmem_ushort_sum_inscan, \
    unsigned int *: shmem_uint_sum_inscan, \
    unsigned long *: shmem_ulong_sum_inscan, \
    unsigned long long *: shmem_ulonglong_sum_inscan, \
    float *: shmem_float_sum_inscan, \
    double *: shmem_double_sum_inscan, \
    long double *: shmem_longdouble_sum_inscan, \
    double _Complex *: shmem_complexd_sum_inscan, \
    float _Complex *: shmem_complexf_sum_inscan)(__VA_ARGS__)
#define shmem_sum_exscan(...) _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \
    char *: shmem_char_sum_exscan, \
    signed char *: shmem_schar_sum_exscan, \
    short *: shmem_short_sum_exscan, \
    int *: shmem_int_sum_exscan, \
    long *: shmem_long_sum_exscan, \
    long long *: shmem_longlong_sum_exscan, \
    unsigned char *: shmem_uchar_sum_exscan, \
    unsigned short *: shmem_ushort_sum_exscan, \
    unsigned int *: shmem_uint_sum_exscan, \
    unsigned long *: shmem_ulong_sum_exscan, \
    unsigned long long *: shmem_ulonglong_sum_exscan, \
    float *: shmem_float_sum_exscan, \
    double *: shmem_double_sum_exscan, \
    long double *: shmem_longdouble_sum_exscan, \
    double _Complex *: shmem_complexd_sum_exscan, \
    float _Complex *: shmem_complexf_sum_exscan)(__VA_ARGS__)
#ifndef SHMEM_IMPL_TOOL
#define shmem_wait_until(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    int *: shmem_int_wait_until, \
    long *: shmem_long_wait_until, \
    long long *: shmem_longlong_wait_until, \
    unsigned int *: shmem_uint_wait_until, \
    unsigned long *: shmem_ulong_wait_until, \
    unsigned long long *: shmem_ulonglong_wait_until, \
    short *: shmem_short_wait_until, \
    unsigned short *: shmem_ushort_wait_until)(__VA_ARGS__)
#endif
#define shmem_wait_until_all(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    int *: shmem_int_wait_until_all, \
    long *: shmem_long_wait_until_all, \
    long long *: shmem_longlong_wait_until_all, \
    unsigned int *: shmem_uint_wait_until_all, \
    unsigned long *: shmem_ulong_wait_until_all, \
    unsigned long long *: shmem_ulonglong_wait_until_all, \
    short *: shmem_short_wait_until_all, \
    unsigned short *: shmem_ushort_wait_until_all)(__VA_ARGS__)
#define shmem_wait_until_any(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    int *: shmem_int_wait_until_any, \
    long *: shmem_long_wait_until_any, \
    long long *: shmem_longlong_wait_until_any, \
    unsigned int *: shmem_uint_wait_until_any, \
    unsigned long *: shmem_ulong_wait_until_any, \
    unsigned long long *: shmem_ulonglong_wait_until_any, \
    short *: shmem_short_wait_until_any, \
    unsigned short *: shmem_ushort_wait_until_any)(__VA_ARGS__)
#define shmem_wait_until_some(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    int *: shmem_int_wait_until_some, \
    long *: shmem_long_wait_until_some, \
    long long *: shmem_longlong_wait_until_some, \
    unsigned int *: shmem_uint_wait_until_some, \
    unsigned long *: shmem_ulong_wait_until_some, \
    unsigned long long *: shmem_ulonglong_wait_until_some, \
    short *: shmem_short_wait_until_some, \
    unsigned short *: shmem_ushort_wait_until_some)(__VA_ARGS__)
#define shmem_wait_until_all_vector(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    int *: shmem_int_wait_until_all_vector, \
    long *: shmem_long_wait_until_all_vector, \
    long long *: shmem_longlong_wait_until_all_vector, \
    unsigned int *: shmem_uint_wait_until_all_vector, \
    unsigned long *: shmem_ulong_wait_until_all_vector, \
    unsigned long long *: shmem_ulonglong_wait_until_all_vector, \
    short *: shmem_short_wait_until_all_vector, \
    unsigned short *: shmem_ushort_wait_until_all_vector)(__VA_ARGS__)
#define shmem_wait_until_any_vector(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    int *: shmem_int_wait_until_any_vector, \
    long *: shmem_long_wait_until_any_vector, \
    long long *: shmem_longlong_wait_until_any_vector, \
    unsigned int *: shmem_uint_wait_until_any_vector, \
    unsigned long *: shmem_ulong_wait_until_any_vector, \
    unsigned long long *: shmem_ulonglong_wait_until_any_vector, \
    short *: shmem_short_wait_until_any_vector, \
    unsigned short *: shmem_ushort_wait_until_any_vector)(__VA_ARGS__)
#define shmem_wait_until_some_vector(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    int *: shmem_int_wait_until_some_vector, \
    long *: shmem_long_wait_until_some_vector, \
    long long *: shmem_longlong_wait_until_some_vector, \
    unsigned int *: shmem_uint_wait_until_some_vector, \
    unsigned long *: shmem_ulong_wait_until_some_vector, \
    unsigned long long *: shmem_ulonglong_wait_until_some_vector, \
    short *: shmem_short_wait_until_some_vector, \
    unsigned short *: shmem_ushort_wait_until_some_vector)(__VA_ARGS__)
#define shmem_test(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    int *: shmem_int_test, \
    long *: shmem_long_test, \
    long long *: shmem_longlong_test, \
    unsigned int *: shmem_uint_test, \
    unsigned long *: shmem_ulong_test, \
    unsigned long long *: shmem_ulonglong_test, \
    short *: shmem_short_test, \
    unsigned short *: shmem_ushort_test)(__VA_ARGS__)
#define shmem_test_all(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    int *: shmem_int_test_all, \
    long *: shmem_long_test_all, \
    long long *: shmem_longlong_test_all, \
    unsigned int *: shmem_uint_test_all, \
    unsigned long *: shmem_ulong_test_all, \
    unsigned long long *: shmem_ulonglong_test_all, \
    short *: shmem_short_test_all, \
    unsigned short *: shmem_ushort_test_all)(__VA_ARGS__)
#define shmem_test_any(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    int *: shmem_int_test_any, \
    long *: shmem_long_test_any, \
    long long *: shmem_longlong_test_any, \
    unsigned int *: shmem_uint_test_any, \
    unsigned long *: shmem_ulong_test_any, \
    unsigned long long *: shmem_ulonglong_test_any, \
    short *: shmem_short_test_any, \
    unsigned short *: shmem_ushort_test_any)(__VA_ARGS__)
#define shmem_test_some(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    int *: shmem_int_test_some, \
    long *: shmem_long_test_some, \
    long long *: shmem_longlong_test_some, \
    unsigned int *: shmem_uint_test_some, \
    unsigned long *: shmem_ulong_test_some, \
    unsigned long long *: shmem_ulonglong_test_some, \
    short *: shmem_short_test_some, \
    unsigned short *: shmem_ushort_test_some)(__VA_ARGS__)
#define shmem_test_all_vector(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    int *: shmem_int_test_all_vector, \
    long *: shmem_long_test_all_vector, \
    long long *: shmem_longlong_test_all_vector, \
    unsigned int *: shmem_uint_test_all_vector, \
    unsigned long *: shmem_ulong_test_all_vector, \
    unsigned long long *: shmem_ulonglong_test_all_vector, \
    short *: shmem_short_test_all_vector, \
    unsigned short *: shmem_ushort_test_all_vector)(__VA_ARGS__)
#define shmem_test_any_vector(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    int *: shmem_int_test_any_vector, \
    long *: shmem_long_test_any_vector, \
    long long *: shmem_longlong_test_any_vector, \
    unsigned int *: shmem_uint_test_any_vector, \
    unsigned long *: shmem_ulong_test_any_vector, \
    unsigned long long *: shmem_ulonglong_test_any_vector, \
    short *: shmem_short_test_any_vector, \
    unsigned short *: shmem_ushort_test_any_vector)(__VA_ARGS__)
#define shmem_test_some_vector(...) _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
    int *: shmem_int_test_some_vector, \
    long *: shmem_long_test_some_vector, \
    long long *: shmem_longlong_test_some_vector, \
    unsigned int *: shmem_uint_test_some_vector, \
    unsigned long *: shmem_ulong_test_some_vector, \
    unsigned long long *: shmem_ulonglong_test_some_vector, \
    short *: shmem_short_test_some_vector, \
    unsigned short *: shmem_ushort_test_some_vector)(__VA_ARGS__)

#ifndef SHMEM_IMPL_TOOL
#define shmem_sync(...) \
    _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), shmem_team_t: shmem_team_sync, default: shmem_sync)(__VA_ARGS__)
#define shmem_signal_add(...) \
    _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: shmem_ctx_signal_add, default: shmem_signal_add)(__VA_ARGS__)
#define shmem_signal_set(...) \
    _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: shmem_ctx_signal_set, default: shmem_signal_set)(__VA_ARGS__)
#endif

#endif /* C11 */

#if defined(__cplusplus) && __cplusplus >= 201103L && !defined(SHMEM_NO_GENERICS)
/* The generic forms: an overload for each type of element, with a context and without. size_t, ptrdiff_t and the
 * exact-width integers are taken as the standard types that they are. */
extern "C++" {
#if defined(SHMEM_WARN_DEPRECATED) && defined(__GNUC__)
/* Overloads of deprecated routines, which are marked themselves, call these. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

#define SHMEM_IMPL_TYPES_1(X) \
    X(float, float) X(double, double) X(long double, longdouble) X(char, char) X(signed char, schar) \
    X(short, short) X(int, int) X(long, long) X(long long, longlong) X(unsigned char, uchar) \
    X(unsigned short, ushort) X(unsigned int, uint) X(unsigned long, ulong) \
    X(unsigned long long, ulonglong)
#define SHMEM_IMPL_TYPES_2(X) \
    X(float, float) X(double, double) X(int, int) X(long, long) X(long long, longlong) \
    X(unsigned int, uint) X(unsigned long, ulong) X(unsigned long long, ulonglong)
#define SHMEM_IMPL_TYPES_3(X) \
    X(int, int) X(long, long) X(long long, longlong) X(unsigned int, uint) X(unsigned long, ulong) \
    X(unsigned long long, ulonglong)
#define SHMEM_IMPL_TYPES_4(X) \
    X(unsigned int, uint) X(unsigned long, ulong) X(unsigned long long, ulonglong) X(int32_t, int32) \
    X(int64_t, int64)
#define SHMEM_IMPL_TYPES_5(X) \
    X(float, float) X(double, double) X(int, int) X(long, long) X(long long, longlong)
#define SHMEM_IMPL_TYPES_6(X) \
    X(unsigned int, uint) X(unsigned long, ulong) X(unsigned long long, ulonglong)
#define SHMEM_IMPL_TYPES_7(X) \
    X(int, int) X(long, long) X(long long, longlong)
#define SHMEM_IMPL_TYPES_8(X) \
    X(unsigned char, uchar) X(unsigned short, ushort) X(unsigned int, uint) X(unsigned long, ulong) \
    X(unsigned long long, ulonglong) X(int8_t, int8) X(int16_t, int16) X(int32_t, int32) \
    X(int64_t, int64)
#define SHMEM_IMPL_TYPES_9(X) \
    X(char, char) X(signed char, schar) X(short, short) X(int, int) X(long, long) X(long long, longlong) \
    X(unsigned char, uchar) X(unsigned short, ushort) X(unsigned int, uint) X(unsigned long, ulong) \
    X(unsigned long long, ulonglong) X(float, float) X(double, double) X(long double, longdouble)
#define SHMEM_IMPL_TYPES_10(X) \
    X(int, int) X(long long, longlong) X(unsigned int, uint) X(unsigned long, ulong) \
    X(unsigned long long, ulonglong)
#define SHMEM_IMPL_TYPES_11(X) \
    X(short, short) X(unsigned short, ushort)

#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_put(T *dest, const T *source, size_t nelems, int pe) { shmem_##N##_put(dest, source, nelems, pe); } \
    inline void shmem_put(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems, int pe) { shmem_ctx_##N##_put(ctx, dest, source, nelems, pe); }
SHMEM_IMPL_TYPES_1(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_p(T *dest, T value, int pe) { shmem_##N##_p(dest, value, pe); } \
    inline void shmem_p(shmem_ctx_t ctx, T *dest, T value, int pe) { shmem_ctx_##N##_p(ctx, dest, value, pe); }
SHMEM_IMPL_TYPES_1(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_iput(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_##N##_iput(dest, source, dst, sst, nelems, pe); } \
    inline void shmem_iput(shmem_ctx_t ctx, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_##N##_iput(ctx, dest, source, dst, sst, nelems, pe); }
SHMEM_IMPL_TYPES_1(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_ibput(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_##N##_ibput(dest, source, dst, sst, bsize, nblocks, pe); } \
    inline void shmem_ibput(shmem_ctx_t ctx, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_##N##_ibput(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
SHMEM_IMPL_TYPES_1(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_get(T *dest, const T *source, size_t nelems, int pe) { shmem_##N##_get(dest, source, nelems, pe); } \
    inline void shmem_get(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems, int pe) { shmem_ctx_##N##_get(ctx, dest, source, nelems, pe); }
SHMEM_IMPL_TYPES_1(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline T shmem_g(const T *source, int pe) { return shmem_##N##_g(source, pe); } \
    inline T shmem_g(shmem_ctx_t ctx, const T *source, int pe) { return shmem_ctx_##N##_g(ctx, source, pe); }
SHMEM_IMPL_TYPES_1(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_iget(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_##N##_iget(dest, source, dst, sst, nelems, pe); } \
    inline void shmem_iget(shmem_ctx_t ctx, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_##N##_iget(ctx, dest, source, dst, sst, nelems, pe); }
SHMEM_IMPL_TYPES_1(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_ibget(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_##N##_ibget(dest, source, dst, sst, bsize, nblocks, pe); } \
    inline void shmem_ibget(shmem_ctx_t ctx, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_##N##_ibget(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
SHMEM_IMPL_TYPES_1(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_put_nbi(T *dest, const T *source, size_t nelems, int pe) { shmem_##N##_put_nbi(dest, source, nelems, pe); } \
    inline void shmem_put_nbi(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems, int pe) { shmem_ctx_##N##_put_nbi(ctx, dest, source, nelems, pe); }
SHMEM_IMPL_TYPES_1(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_get_nbi(T *dest, const T *source, size_t nelems, int pe) { shmem_##N##_get_nbi(dest, source, nelems, pe); } \
    inline void shmem_get_nbi(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems, int pe) { shmem_ctx_##N##_get_nbi(ctx, dest, source, nelems, pe); }
SHMEM_IMPL_TYPES_1(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline T shmem_atomic_fetch(const T *source, int pe) { return shmem_##N##_atomic_fetch(source, pe); } \
    inline T shmem_atomic_fetch(shmem_ctx_t ctx, const T *source, int pe) { return shmem_ctx_##N##_atomic_fetch(ctx, source, pe); }
SHMEM_IMPL_TYPES_2(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_atomic_set(T *dest, T value, int pe) { shmem_##N##_atomic_set(dest, value, pe); } \
    inline void shmem_atomic_set(shmem_ctx_t ctx, T *dest, T value, int pe) { shmem_ctx_##N##_atomic_set(ctx, dest, value, pe); }
SHMEM_IMPL_TYPES_2(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline T shmem_atomic_compare_swap(T *dest, T cond, T value, int pe) { return shmem_##N##_atomic_compare_swap(dest, cond, value, pe); } \
    inline T shmem_atomic_compare_swap(shmem_ctx_t ctx, T *dest, T cond, T value, int pe) { return shmem_ctx_##N##_atomic_compare_swap(ctx, dest, cond, value, pe); }
SHMEM_IMPL_TYPES_3(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline T shmem_atomic_swap(T *dest, T value, int pe) { return shmem_##N##_atomic_swap(dest, value, pe); } \
    inline T shmem_atomic_swap(shmem_ctx_t ctx, T *dest, T value, int pe) { return shmem_ctx_##N##_atomic_swap(ctx, dest, value, pe); }
SHMEM_IMPL_TYPES_2(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline T shmem_atomic_fetch_inc(T *dest, int pe) { return shmem_##N##_atomic_fetch_inc(dest, pe); } \
    inline T shmem_atomic_fetch_inc(shmem_ctx_t ctx, T *dest, int pe) { return shmem_ctx_##N##_atomic_fetch_inc(ctx, dest, pe); }
SHMEM_IMPL_TYPES_3(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_atomic_inc(T *dest, int pe) { shmem_##N##_atomic_inc(dest, pe); } \
    inline void shmem_atomic_inc(shmem_ctx_t ctx, T *dest, int pe) { shmem_ctx_##N##_atomic_inc(ctx, dest, pe); }
SHMEM_IMPL_TYPES_3(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline T shmem_atomic_fetch_add(T *dest, T value, int pe) { return shmem_##N##_atomic_fetch_add(dest, value, pe); } \
    inline T shmem_atomic_fetch_add(shmem_ctx_t ctx, T *dest, T value, int pe) { return shmem_ctx_##N##_atomic_fetch_add(ctx, dest, value, pe); }
SHMEM_IMPL_TYPES_3(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_atomic_add(T *dest, T value, int pe) { shmem_##N##_atomic_add(dest, value, pe); } \
    inline void shmem_atomic_add(shmem_ctx_t ctx, T *dest, T value, int pe) { shmem_ctx_##N##_atomic_add(ctx, dest, value, pe); }
SHMEM_IMPL_TYPES_3(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline T shmem_atomic_fetch_and(T *dest, T value, int pe) { return shmem_##N##_atomic_fetch_and(dest, value, pe); } \
    inline T shmem_atomic_fetch_and(shmem_ctx_t ctx, T *dest, T value, int pe) { return shmem_ctx_##N##_atomic_fetch_and(ctx, dest, value, pe); }
SHMEM_IMPL_TYPES_4(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_atomic_and(T *dest, T value, int pe) { shmem_##N##_atomic_and(dest, value, pe); } \
    inline void shmem_atomic_and(shmem_ctx_t ctx, T *dest, T value, int pe) { shmem_ctx_##N##_atomic_and(ctx, dest, value, pe); }
SHMEM_IMPL_TYPES_4(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline T shmem_atomic_fetch_or(T *dest, T value, int pe) { return shmem_##N##_atomic_fetch_or(dest, value, pe); } \
    inline T shmem_atomic_fetch_or(shmem_ctx_t ctx, T *dest, T value, int pe) { return shmem_ctx_##N##_atomic_fetch_or(ctx, dest, value, pe); }
SHMEM_IMPL_TYPES_4(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_atomic_or(T *dest, T value, int pe) { shmem_##N##_atomic_or(dest, value, pe); } \
    inline void shmem_atomic_or(shmem_ctx_t ctx, T *dest, T value, int pe) { shmem_ctx_##N##_atomic_or(ctx, dest, value, pe); }
SHMEM_IMPL_TYPES_4(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline T shmem_atomic_fetch_xor(T *dest, T value, int pe) { return shmem_##N##_atomic_fetch_xor(dest, value, pe); } \
    inline T shmem_atomic_fetch_xor(shmem_ctx_t ctx, T *dest, T value, int pe) { return shmem_ctx_##N##_atomic_fetch_xor(ctx, dest, value, pe); }
SHMEM_IMPL_TYPES_4(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_atomic_xor(T *dest, T value, int pe) { shmem_##N##_atomic_xor(dest, value, pe); } \
    inline void shmem_atomic_xor(shmem_ctx_t ctx, T *dest, T value, int pe) { shmem_ctx_##N##_atomic_xor(ctx, dest, value, pe); }
SHMEM_IMPL_TYPES_4(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_atomic_fetch_nbi(T *fetch, const T *source, int pe) { shmem_##N##_atomic_fetch_nbi(fetch, source, pe); } \
    inline void shmem_atomic_fetch_nbi(shmem_ctx_t ctx, T *fetch, const T *source, int pe) { shmem_ctx_##N##_atomic_fetch_nbi(ctx, fetch, source, pe); }
SHMEM_IMPL_TYPES_2(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_atomic_compare_swap_nbi(T *fetch, T *dest, T cond, T value, int pe) { shmem_##N##_atomic_compare_swap_nbi(fetch, dest, cond, value, pe); } \
    inline void shmem_atomic_compare_swap_nbi(shmem_ctx_t ctx, T *fetch, T *dest, T cond, T value, int pe) { shmem_ctx_##N##_atomic_compare_swap_nbi(ctx, fetch, dest, cond, value, pe); }
SHMEM_IMPL_TYPES_3(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_atomic_swap_nbi(T *fetch, T *dest, T value, int pe) { shmem_##N##_atomic_swap_nbi(fetch, dest, value, pe); } \
    inline void shmem_atomic_swap_nbi(shmem_ctx_t ctx, T *fetch, T *dest, T value, int pe) { shmem_ctx_##N##_atomic_swap_nbi(ctx, fetch, dest, value, pe); }
SHMEM_IMPL_TYPES_2(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_atomic_fetch_inc_nbi(T *fetch, T *dest, int pe) { shmem_##N##_atomic_fetch_inc_nbi(fetch, dest, pe); } \
    inline void shmem_atomic_fetch_inc_nbi(shmem_ctx_t ctx, T *fetch, T *dest, int pe) { shmem_ctx_##N##_atomic_fetch_inc_nbi(ctx, fetch, dest, pe); }
SHMEM_IMPL_TYPES_3(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_atomic_fetch_add_nbi(T *fetch, T *dest, T value, int pe) { shmem_##N##_atomic_fetch_add_nbi(fetch, dest, value, pe); } \
    inline void shmem_atomic_fetch_add_nbi(shmem_ctx_t ctx, T *fetch, T *dest, T value, int pe) { shmem_ctx_##N##_atomic_fetch_add_nbi(ctx, fetch, dest, value, pe); }
SHMEM_IMPL_TYPES_3(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_atomic_fetch_and_nbi(T *fetch, T *dest, T value, int pe) { shmem_##N##_atomic_fetch_and_nbi(fetch, dest, value, pe); } \
    inline void shmem_atomic_fetch_and_nbi(shmem_ctx_t ctx, T *fetch, T *dest, T value, int pe) { shmem_ctx_##N##_atomic_fetch_and_nbi(ctx, fetch, dest, value, pe); }
SHMEM_IMPL_TYPES_4(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_atomic_fetch_or_nbi(T *fetch, T *dest, T value, int pe) { shmem_##N##_atomic_fetch_or_nbi(fetch, dest, value, pe); } \
    inline void shmem_atomic_fetch_or_nbi(shmem_ctx_t ctx, T *fetch, T *dest, T value, int pe) { shmem_ctx_##N##_atomic_fetch_or_nbi(ctx, fetch, dest, value, pe); }
SHMEM_IMPL_TYPES_4(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_atomic_fetch_xor_nbi(T *fetch, T *dest, T value, int pe) { shmem_##N##_atomic_fetch_xor_nbi(fetch, dest, value, pe); } \
    inline void shmem_atomic_fetch_xor_nbi(shmem_ctx_t ctx, T *fetch, T *dest, T value, int pe) { shmem_ctx_##N##_atomic_fetch_xor_nbi(ctx, fetch, dest, value, pe); }
SHMEM_IMPL_TYPES_4(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    SHMEM_IMPL_DEPRECATED("shmem_atomic_fetch") inline T shmem_fetch(const T *source, int pe) { return shmem_##N##_fetch(source, pe); }
SHMEM_IMPL_TYPES_5(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    SHMEM_IMPL_DEPRECATED("shmem_atomic_fetch") inline T shmem_fetch(const T *source, int pe) { return shmem_##N##_atomic_fetch(source, pe); }
SHMEM_IMPL_TYPES_6(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    SHMEM_IMPL_DEPRECATED("shmem_atomic_set") inline void shmem_set(T *dest, T value, int pe) { shmem_##N##_set(dest, value, pe); }
SHMEM_IMPL_TYPES_5(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    SHMEM_IMPL_DEPRECATED("shmem_atomic_set") inline void shmem_set(T *dest, T value, int pe) { shmem_##N##_atomic_set(dest, value, pe); }
SHMEM_IMPL_TYPES_6(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    SHMEM_IMPL_DEPRECATED("shmem_atomic_compare_swap") inline T shmem_cswap(T *dest, T cond, T value, int pe) { return shmem_##N##_cswap(dest, cond, value, pe); }
SHMEM_IMPL_TYPES_7(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    SHMEM_IMPL_DEPRECATED("shmem_atomic_compare_swap") inline T shmem_cswap(T *dest, T cond, T value, int pe) { return shmem_##N##_atomic_compare_swap(dest, cond, value, pe); }
SHMEM_IMPL_TYPES_6(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    SHMEM_IMPL_DEPRECATED("shmem_atomic_swap") inline T shmem_swap(T *dest, T value, int pe) { return shmem_##N##_swap(dest, value, pe); }
SHMEM_IMPL_TYPES_5(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    SHMEM_IMPL_DEPRECATED("shmem_atomic_swap") inline T shmem_swap(T *dest, T value, int pe) { return shmem_##N##_atomic_swap(dest, value, pe); }
SHMEM_IMPL_TYPES_6(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    SHMEM_IMPL_DEPRECATED("shmem_atomic_fetch_inc") inline T shmem_finc(T *dest, int pe) { return shmem_##N##_finc(dest, pe); }
SHMEM_IMPL_TYPES_7(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    SHMEM_IMPL_DEPRECATED("shmem_atomic_fetch_inc") inline T shmem_finc(T *dest, int pe) { return shmem_##N##_atomic_fetch_inc(dest, pe); }
SHMEM_IMPL_TYPES_6(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    SHMEM_IMPL_DEPRECATED("shmem_atomic_inc") inline void shmem_inc(T *dest, int pe) { shmem_##N##_inc(dest, pe); }
SHMEM_IMPL_TYPES_7(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    SHMEM_IMPL_DEPRECATED("shmem_atomic_inc") inline void shmem_inc(T *dest, int pe) { shmem_##N##_atomic_inc(dest, pe); }
SHMEM_IMPL_TYPES_6(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    SHMEM_IMPL_DEPRECATED("shmem_atomic_fetch_add") inline T shmem_fadd(T *dest, T value, int pe) { return shmem_##N##_fadd(dest, value, pe); }
SHMEM_IMPL_TYPES_7(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    SHMEM_IMPL_DEPRECATED("shmem_atomic_fetch_add") inline T shmem_fadd(T *dest, T value, int pe) { return shmem_##N##_atomic_fetch_add(dest, value, pe); }
SHMEM_IMPL_TYPES_6(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    SHMEM_IMPL_DEPRECATED("shmem_atomic_add") inline void shmem_add(T *dest, T value, int pe) { shmem_##N##_add(dest, value, pe); }
SHMEM_IMPL_TYPES_7(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    SHMEM_IMPL_DEPRECATED("shmem_atomic_add") inline void shmem_add(T *dest, T value, int pe) { shmem_##N##_atomic_add(dest, value, pe); }
SHMEM_IMPL_TYPES_6(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_put_signal(T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_##N##_put_signal(dest, source, nelems, sig_addr, signal, sig_op, pe); } \
    inline void shmem_put_signal(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_##N##_put_signal(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
SHMEM_IMPL_TYPES_1(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_put_signal_nbi(T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_##N##_put_signal_nbi(dest, source, nelems, sig_addr, signal, sig_op, pe); } \
    inline void shmem_put_signal_nbi(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_##N##_put_signal_nbi(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
SHMEM_IMPL_TYPES_1(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline int shmem_alltoall(shmem_team_t team, T *dest, const T *source, size_t nelems) { return shmem_##N##_alltoall(team, dest, source, nelems); }
SHMEM_IMPL_TYPES_1(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline int shmem_alltoalls(shmem_team_t team, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems) { return shmem_##N##_alltoalls(team, dest, source, dst, sst, nelems); }
SHMEM_IMPL_TYPES_1(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline int shmem_broadcast(shmem_team_t team, T *dest, const T *source, size_t nelems, int PE_root) { return shmem_##N##_broadcast(team, dest, source, nelems, PE_root); }
SHMEM_IMPL_TYPES_1(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline int shmem_collect(shmem_team_t team, T *dest, const T *source, size_t nelems) { return shmem_##N##_collect(team, dest, source, nelems); }
SHMEM_IMPL_TYPES_1(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline int shmem_fcollect(shmem_team_t team, T *dest, const T *source, size_t nelems) { return shmem_##N##_fcollect(team, dest, source, nelems); }
SHMEM_IMPL_TYPES_1(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline int shmem_and_reduce(shmem_team_t team, T *dest, const T *source, size_t nreduce) { return shmem_##N##_and_reduce(team, dest, source, nreduce); }
SHMEM_IMPL_TYPES_8(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline int shmem_or_reduce(shmem_team_t team, T *dest, const T *source, size_t nreduce) { return shmem_##N##_or_reduce(team, dest, source, nreduce); }
SHMEM_IMPL_TYPES_8(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline int shmem_xor_reduce(shmem_team_t team, T *dest, const T *source, size_t nreduce) { return shmem_##N##_xor_reduce(team, dest, source, nreduce); }
SHMEM_IMPL_TYPES_8(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline int shmem_max_reduce(shmem_team_t team, T *dest, const T *source, size_t nreduce) { return shmem_##N##_max_reduce(team, dest, source, nreduce); }
SHMEM_IMPL_TYPES_9(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline int shmem_min_reduce(shmem_team_t team, T *dest, const T *source, size_t nreduce) { return shmem_##N##_min_reduce(team, dest, source, nreduce); }
SHMEM_IMPL_TYPES_9(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline int shmem_sum_reduce(shmem_team_t team, T *dest, const T *source, size_t nreduce) { return shmem_##N##_sum_reduce(team, dest, source, nreduce); }
SHMEM_IMPL_TYPES_9(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline int shmem_prod_reduce(shmem_team_t team, T *dest, const T *source, size_t nreduce) { return shmem_##N##_prod_reduce(team, dest, source, nreduce); }
SHMEM_IMPL_TYPES_9(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline int shmem_sum_inscan(shmem_team_t team, T *dest, const T *source, size_t nelems) { return shmem_##N##_sum_inscan(team, dest, source, nelems); }
SHMEM_IMPL_TYPES_9(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline int shmem_sum_exscan(shmem_team_t team, T *dest, const T *source, size_t nelems) { return shmem_##N##_sum_exscan(team, dest, source, nelems); }
SHMEM_IMPL_TYPES_9(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_wait_until(T *ivar, int cmp, T cmp_value) { shmem_##N##_wait_until(ivar, cmp, cmp_value); }
SHMEM_IMPL_TYPES_10(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    SHMEM_IMPL_DEPRECATED("an int or a longer type") inline void shmem_wait_until(T *ivar, int cmp, T cmp_value) { shmem_##N##_wait_until(ivar, cmp, cmp_value); }
SHMEM_IMPL_TYPES_11(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_wait_until_all(T *ivars, size_t nelems, const int *status, int cmp, T cmp_value) { shmem_##N##_wait_until_all(ivars, nelems, status, cmp, cmp_value); }
SHMEM_IMPL_TYPES_3(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_wait_until_all(T *ivars, size_t nelems, const int *status, int cmp, T cmp_value) { shmem_##N##_wait_until_all(ivars, nelems, status, cmp, cmp_value); }
SHMEM_IMPL_TYPES_11(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline size_t shmem_wait_until_any(T *ivars, size_t nelems, const int *status, int cmp, T cmp_value) { return shmem_##N##_wait_until_any(ivars, nelems, status, cmp, cmp_value); }
SHMEM_IMPL_TYPES_3(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline size_t shmem_wait_until_any(T *ivars, size_t nelems, const int *status, int cmp, T cmp_value) { return shmem_##N##_wait_until_any(ivars, nelems, status, cmp, cmp_value); }
SHMEM_IMPL_TYPES_11(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline size_t shmem_wait_until_some(T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, T cmp_value) { return shmem_##N##_wait_until_some(ivars, nelems, indices, status, cmp, cmp_value); }
SHMEM_IMPL_TYPES_3(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline size_t shmem_wait_until_some(T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, T cmp_value) { return shmem_##N##_wait_until_some(ivars, nelems, indices, status, cmp, cmp_value); }
SHMEM_IMPL_TYPES_11(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_wait_until_all_vector(T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values) { shmem_##N##_wait_until_all_vector(ivars, nelems, status, cmp, cmp_values); }
SHMEM_IMPL_TYPES_3(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline void shmem_wait_until_all_vector(T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values) { shmem_##N##_wait_until_all_vector(ivars, nelems, status, cmp, cmp_values); }
SHMEM_IMPL_TYPES_11(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline size_t shmem_wait_until_any_vector(T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values) { return shmem_##N##_wait_until_any_vector(ivars, nelems, status, cmp, cmp_values); }
SHMEM_IMPL_TYPES_3(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline size_t shmem_wait_until_any_vector(T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values) { return shmem_##N##_wait_until_any_vector(ivars, nelems, status, cmp, cmp_values); }
SHMEM_IMPL_TYPES_11(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline size_t shmem_wait_until_some_vector(T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const T *cmp_values) { return shmem_##N##_wait_until_some_vector(ivars, nelems, indices, status, cmp, cmp_values); }
SHMEM_IMPL_TYPES_3(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline size_t shmem_wait_until_some_vector(T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const T *cmp_values) { return shmem_##N##_wait_until_some_vector(ivars, nelems, indices, status, cmp, cmp_values); }
SHMEM_IMPL_TYPES_11(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline int shmem_test(T *ivar, int cmp, T cmp_value) { return shmem_##N##_test(ivar, cmp, cmp_value); }
SHMEM_IMPL_TYPES_3(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    SHMEM_IMPL_DEPRECATED("an int or a longer type") inline int shmem_test(T *ivar, int cmp, T cmp_value) { return shmem_##N##_test(ivar, cmp, cmp_value); }
SHMEM_IMPL_TYPES_11(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline int shmem_test_all(T *ivars, size_t nelems, const int *status, int cmp, T cmp_value) { return shmem_##N##_test_all(ivars, nelems, status, cmp, cmp_value); }
SHMEM_IMPL_TYPES_3(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline int shmem_test_all(T *ivars, size_t nelems, const int *status, int cmp, T cmp_value) { return shmem_##N##_test_all(ivars, nelems, status, cmp, cmp_value); }
SHMEM_IMPL_TYPES_11(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline size_t shmem_test_any(T *ivars, size_t nelems, const int *status, int cmp, T cmp_value) { return shmem_##N##_test_any(ivars, nelems, status, cmp, cmp_value); }
SHMEM_IMPL_TYPES_3(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline size_t shmem_test_any(T *ivars, size_t nelems, const int *status, int cmp, T cmp_value) { return shmem_##N##_test_any(ivars, nelems, status, cmp, cmp_value); }
SHMEM_IMPL_TYPES_11(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline size_t shmem_test_some(T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, T cmp_value) { return shmem_##N##_test_some(ivars, nelems, indices, status, cmp, cmp_value); }
SHMEM_IMPL_TYPES_3(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline size_t shmem_test_some(T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, T cmp_value) { return shmem_##N##_test_some(ivars, nelems, indices, status, cmp, cmp_value); }
SHMEM_IMPL_TYPES_11(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline int shmem_test_all_vector(T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values) { return shmem_##N##_test_all_vector(ivars, nelems, status, cmp, cmp_values); }
SHMEM_IMPL_TYPES_3(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline int shmem_test_all_vector(T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values) { return shmem_##N##_test_all_vector(ivars, nelems, status, cmp, cmp_values); }
SHMEM_IMPL_TYPES_11(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline size_t shmem_test_any_vector(T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values) { return shmem_##N##_test_any_vector(ivars, nelems, status, cmp, cmp_values); }
SHMEM_IMPL_TYPES_3(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline size_t shmem_test_any_vector(T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values) { return shmem_##N##_test_any_vector(ivars, nelems, status, cmp, cmp_values); }
SHMEM_IMPL_TYPES_11(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline size_t shmem_test_some_vector(T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const T *cmp_values) { return shmem_##N##_test_some_vector(ivars, nelems, indices, status, cmp, cmp_values); }
SHMEM_IMPL_TYPES_3(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#define SHMEM_IMPL_OVERLOAD(T, N) \
    inline size_t shmem_test_some_vector(T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const T *cmp_values) { return shmem_##N##_test_some_vector(ivars, nelems, indices, status, cmp, cmp_values); }
SHMEM_IMPL_TYPES_11(SHMEM_IMPL_OVERLOAD)
#undef SHMEM_IMPL_OVERLOAD
#undef SHMEM_IMPL_TYPES_1
#undef SHMEM_IMPL_TYPES_2
#undef SHMEM_IMPL_TYPES_3
#undef SHMEM_IMPL_TYPES_4
#undef SHMEM_IMPL_TYPES_5
#undef SHMEM_IMPL_TYPES_6
#undef SHMEM_IMPL_TYPES_7
#undef SHMEM_IMPL_TYPES_8
#undef SHMEM_IMPL_TYPES_9
#undef SHMEM_IMPL_TYPES_10
#undef SHMEM_IMPL_TYPES_11

inline int shmem_sync(shmem_team_t team) { return shmem_team_sync(team); }
inline void shmem_signal_add(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe) {
    shmem_ctx_signal_add(ctx, sig_addr, signal, pe);
}
inline void shmem_signal_set(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe) {
    shmem_ctx_signal_set(ctx, sig_addr, signal, pe);
}

/* For std::complex: a template with a real() that has the layout of two of its parts. */
template <class Complex, class Part, class Result, bool fits = sizeof(Complex) == 2 * sizeof(Part),
          class = decltype(static_cast<const Complex *>(nullptr)->real())>
struct shmem_impl_complex;
template <class Complex, class Part, class Result, class Real> struct shmem_impl_complex<Complex, Part, Result, true, Real> {
    typedef Result result;
};
inline int shmem_sum_reduce(shmem_team_t team, shmem_impl_complexd_t *dest, const shmem_impl_complexd_t *source, size_t nreduce) {
    return shmem_complexd_sum_reduce(team, dest, source, nreduce);
}
template <template <class> class Complex>
inline typename shmem_impl_complex<Complex<double>, double, int>::result
shmem_sum_reduce(shmem_team_t team, Complex<double> *dest, const Complex<double> *source, size_t nreduce) {
    return shmem_complexd_sum_reduce(team, reinterpret_cast<shmem_impl_complexd_t *>(dest),
        reinterpret_cast<const shmem_impl_complexd_t *>(source), nreduce);
}
inline int shmem_sum_reduce(shmem_team_t team, shmem_impl_complexf_t *dest, const shmem_impl_complexf_t *source, size_t nreduce) {
    return shmem_complexf_sum_reduce(team, dest, source, nreduce);
}
template <template <class> class Complex>
inline typename shmem_impl_complex<Complex<float>, float, int>::result
shmem_sum_reduce(shmem_team_t team, Complex<float> *dest, const Complex<float> *source, size_t nreduce) {
    return shmem_complexf_sum_reduce(team, reinterpret_cast<shmem_impl_complexf_t *>(dest),
        reinterpret_cast<const shmem_impl_complexf_t *>(source), nreduce);
}
inline int shmem_prod_reduce(shmem_team_t team, shmem_impl_complexd_t *dest, const shmem_impl_complexd_t *source, size_t nreduce) {
    return shmem_complexd_prod_reduce(team, dest, source, nreduce);
}
template <template <class> class Complex>
inline typename shmem_impl_complex<Complex<double>, double, int>::result
shmem_prod_reduce(shmem_team_t team, Complex<double> *dest, const Complex<double> *source, size_t nreduce) {
    return shmem_complexd_prod_reduce(team, reinterpret_cast<shmem_impl_complexd_t *>(dest),
        reinterpret_cast<const shmem_impl_complexd_t *>(source), nreduce);
}
inline int shmem_prod_reduce(shmem_team_t team, shmem_impl_complexf_t *dest, const shmem_impl_complexf_t *source, size_t nreduce) {
    return shmem_complexf_prod_reduce(team, dest, source, nreduce);
}
template <template <class> class Complex>
inline typename shmem_impl_complex<Complex<float>, float, int>::result
shmem_prod_reduce(shmem_team_t team, Complex<float> *dest, const Complex<float> *source, size_t nreduce) {
    return shmem_complexf_prod_reduce(team, reinterpret_cast<shmem_impl_complexf_t *>(dest),
        reinterpret_cast<const shmem_impl_complexf_t *>(source), nreduce);
}
inline int shmem_sum_inscan(shmem_team_t team, shmem_impl_complexd_t *dest, const shmem_impl_complexd_t *source, size_t nelems) {
    return shmem_complexd_sum_inscan(team, dest, source, nelems);
}
template <template <class> class Complex>
inline typename shmem_impl_complex<Complex<double>, double, int>::result
shmem_sum_inscan(shmem_team_t team, Complex<double> *dest, const Complex<double> *source, size_t nelems) {
    return shmem_complexd_sum_inscan(team, reinterpret_cast<shmem_impl_complexd_t *>(dest),
        reinterpret_cast<const shmem_impl_complexd_t *>(source), nelems);
}
inline int shmem_sum_inscan(shmem_team_t team, shmem_impl_complexf_t *dest, const shmem_impl_complexf_t *source, size_t nelems) {
    return shmem_complexf_sum_inscan(team, dest, source, nelems);
}
template <template <class> class Complex>
inline typename shmem_impl_complex<Complex<float>, float, int>::result
shmem_sum_inscan(shmem_team_t team, Complex<float> *dest, const Complex<float> *source, size_t nelems) {
    return shmem_complexf_sum_inscan(team, reinterpret_cast<shmem_impl_complexf_t *>(dest),
        reinterpret_cast<const shmem_impl_complexf_t *>(source), nelems);
}
inline int shmem_sum_exscan(shmem_team_t team, shmem_impl_complexd_t *dest, const shmem_impl_complexd_t *source, size_t nelems) {
    return shmem_complexd_sum_exscan(team, dest, source, nelems);
}
template <template <class> class Complex>
inline typename shmem_impl_complex<Complex<double>, double, int>::result
shmem_sum_exscan(shmem_team_t team, Complex<double> *dest, const Complex<double> *source, size_t nelems) {
    return shmem_complexd_sum_exscan(team, reinterpret_cast<shmem_impl_complexd_t *>(dest),
        reinterpret_cast<const shmem_impl_complexd_t *>(source), nelems);
}
inline int shmem_sum_exscan(shmem_team_t team, shmem_impl_complexf_t *dest, const shmem_impl_complexf_t *source, size_t nelems) {
    return shmem_complexf_sum_exscan(team, dest, source, nelems);
}
template <template <class> class Complex>
inline typename shmem_impl_complex<Complex<float>, float, int>::result
shmem_sum_exscan(shmem_team_t team, Complex<float> *dest, const Complex<float> *source, size_t nelems) {
    return shmem_complexf_sum_exscan(team, reinterpret_cast<shmem_impl_complexf_t *>(dest),
        reinterpret_cast<const shmem_impl_complexf_t *>(source), nelems);
}
template <template <class> class Complex>
inline typename shmem_impl_complex<Complex<double>, double, int>::result
shmem_complexd_sum_reduce(shmem_team_t team, Complex<double> *dest, const Complex<double> *source, size_t nreduce) {
    return shmem_complexd_sum_reduce(team, reinterpret_cast<shmem_impl_complexd_t *>(dest),
        reinterpret_cast<const shmem_impl_complexd_t *>(source), nreduce);
}
template <template <class> class Complex>
inline typename shmem_impl_complex<Complex<float>, float, int>::result
shmem_complexf_sum_reduce(shmem_team_t team, Complex<float> *dest, const Complex<float> *source, size_t nreduce) {
    return shmem_complexf_sum_reduce(team, reinterpret_cast<shmem_impl_complexf_t *>(dest),
        reinterpret_cast<const shmem_impl_complexf_t *>(source), nreduce);
}
template <template <class> class Complex>
inline typename shmem_impl_complex<Complex<double>, double, int>::result
shmem_complexd_prod_reduce(shmem_team_t team, Complex<double> *dest, const Complex<double> *source, size_t nreduce) {
    return shmem_complexd_prod_reduce(team, reinterpret_cast<shmem_impl_complexd_t *>(dest),
        reinterpret_cast<const shmem_impl_complexd_t *>(source), nreduce);
}
template <template <class> class Complex>
inline typename shmem_impl_complex<Complex<float>, float, int>::result
shmem_complexf_prod_reduce(shmem_team_t team, Complex<float> *dest, const Complex<float> *source, size_t nreduce) {
    return shmem_complexf_prod_reduce(team, reinterpret_cast<shmem_impl_complexf_t *>(dest),
        reinterpret_cast<const shmem_impl_complexf_t *>(source), nreduce);
}
template <template <class> class Complex>
inline typename shmem_impl_complex<Complex<double>, double, int>::result
shmem_complexd_sum_inscan(shmem_team_t team, Complex<double> *dest, const Complex<double> *source, size_t nelems) {
    return shmem_complexd_sum_inscan(team, reinterpret_cast<shmem_impl_complexd_t *>(dest),
        reinterpret_cast<const shmem_impl_complexd_t *>(source), nelems);
}
template <template <class> class Complex>
inline typename shmem_impl_complex<Complex<float>, float, int>::result
shmem_complexf_sum_inscan(shmem_team_t team, Complex<float> *dest, const Complex<float> *source, size_t nelems) {
    return shmem_complexf_sum_inscan(team, reinterpret_cast<shmem_impl_complexf_t *>(dest),
        reinterpret_cast<const shmem_impl_complexf_t *>(source), nelems);
}
template <template <class> class Complex>
inline typename shmem_impl_complex<Complex<double>, double, int>::result
shmem_complexd_sum_exscan(shmem_team_t team, Complex<double> *dest, const Complex<double> *source, size_t nelems) {
    return shmem_complexd_sum_exscan(team, reinterpret_cast<shmem_impl_complexd_t *>(dest),
        reinterpret_cast<const shmem_impl_complexd_t *>(source), nelems);
}
template <template <class> class Complex>
inline typename shmem_impl_complex<Complex<float>, float, int>::result
shmem_complexf_sum_exscan(shmem_team_t team, Complex<float> *dest, const Complex<float> *source, size_t nelems) {
    return shmem_complexf_sum_exscan(team, reinterpret_cast<shmem_impl_complexf_t *>(dest),
        reinterpret_cast<const shmem_impl_complexf_t *>(source), nelems);
}
template <template <class> class Complex>
SHMEM_IMPL_DEPRECATED("shmem_sum_reduce") inline typename shmem_impl_complex<Complex<double>, double, void>::result
shmem_complexd_sum_to_all(Complex<double> *dest, const Complex<double> *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, Complex<double> *pWrk, long *pSync) {
    shmem_complexd_sum_to_all(reinterpret_cast<shmem_impl_complexd_t *>(dest),
        reinterpret_cast<const shmem_impl_complexd_t *>(source), nreduce, PE_start, logPE_stride,
        PE_size, reinterpret_cast<shmem_impl_complexd_t *>(pWrk), pSync);
}
template <template <class> class Complex>
SHMEM_IMPL_DEPRECATED("shmem_sum_reduce") inline typename shmem_impl_complex<Complex<float>, float, void>::result
shmem_complexf_sum_to_all(Complex<float> *dest, const Complex<float> *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, Complex<float> *pWrk, long *pSync) {
    shmem_complexf_sum_to_all(reinterpret_cast<shmem_impl_complexf_t *>(dest),
        reinterpret_cast<const shmem_impl_complexf_t *>(source), nreduce, PE_start, logPE_stride,
        PE_size, reinterpret_cast<shmem_impl_complexf_t *>(pWrk), pSync);
}
template <template <class> class Complex>
SHMEM_IMPL_DEPRECATED("shmem_prod_reduce") inline typename shmem_impl_complex<Complex<double>, double, void>::result
shmem_complexd_prod_to_all(Complex<double> *dest, const Complex<double> *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, Complex<double> *pWrk, long *pSync) {
    shmem_complexd_prod_to_all(reinterpret_cast<shmem_impl_complexd_t *>(dest),
        reinterpret_cast<const shmem_impl_complexd_t *>(source), nreduce, PE_start, logPE_stride,
        PE_size, reinterpret_cast<shmem_impl_complexd_t *>(pWrk), pSync);
}
template <template <class> class Complex>
SHMEM_IMPL_DEPRECATED("shmem_prod_reduce") inline typename shmem_impl_complex<Complex<float>, float, void>::result
shmem_complexf_prod_to_all(Complex<float> *dest, const Complex<float> *source, int nreduce, int PE_start, int logPE_stride, int
    PE_size, Complex<float> *pWrk, long *pSync) {
    shmem_complexf_prod_to_all(reinterpret_cast<shmem_impl_complexf_t *>(dest),
        reinterpret_cast<const shmem_impl_complexf_t *>(source), nreduce, PE_start, logPE_stride,
        PE_size, reinterpret_cast<shmem_impl_complexf_t *>(pWrk), pSync);
}

#if defined(SHMEM_WARN_DEPRECATED) && defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
} /* extern "C++" */
#endif /* C++11 */

#endif /* SHMEM_H */
