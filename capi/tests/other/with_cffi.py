"""A program that calls the library by cffi: python with_cffi.py LIBRARY."""

import sys

from cffi import FFI

ffi = FFI()
# As the header declares them, but for `const`, with which cffi reads no pointers of a library that is loaded.
ffi.cdef("""
    typedef struct shmem_impl_ctx_t *shmem_ctx_t;
    typedef struct shmem_impl_team_t *shmem_team_t;
    typedef void *shmem_space_t;
    extern shmem_ctx_t SHMEM_CTX_DEFAULT;
    extern shmem_team_t SHMEM_TEAM_WORLD;
    extern shmem_team_t SHMEM_TEAM_INVALID;
    extern shmem_space_t SHMEM_SPACE_CPU;
    extern shmem_team_t SHMEM_TEAM_CPU;
    void shmem_init(void);
    int shmem_my_pe(void);
    int shmem_n_pes(void);
    int shmem_team_n_pes(shmem_team_t team);
    void *shmem_space_malloc(shmem_space_t space, size_t size);
    void shmem_space_free(shmem_space_t space, void *ptr);
    void shmem_barrier_all(void);
    void shmem_ctx_long_p(shmem_ctx_t ctx, long *dest, long value, int pe);
    int shmem_long_sum_reduce(shmem_team_t team, long *dest, const long *source, size_t nreduce);
    void shmem_finalize(void);
""")
shmem = ffi.dlopen(sys.argv[1])

shmem.shmem_init()
me, n = shmem.shmem_my_pe(), shmem.shmem_n_pes()
assert shmem.shmem_team_n_pes(shmem.SHMEM_TEAM_CPU) == n
assert shmem.shmem_team_n_pes(shmem.SHMEM_TEAM_INVALID) == -1
words = ffi.cast("long *", shmem.shmem_space_malloc(shmem.SHMEM_SPACE_CPU, 16))
shmem.shmem_ctx_long_p(shmem.SHMEM_CTX_DEFAULT, words, me + 1, (me + 1) % n)
shmem.shmem_barrier_all()
assert words[0] == (me - 1) % n + 1
assert shmem.shmem_long_sum_reduce(shmem.SHMEM_TEAM_WORLD, words + 1, words, 1) == 0
assert words[1] == n * (n + 1) // 2
shmem.shmem_space_free(shmem.SHMEM_SPACE_CPU, words)
shmem.shmem_finalize()
print("passed")
