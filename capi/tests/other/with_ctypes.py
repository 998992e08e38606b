"""A program that calls the library by ctypes: python with_ctypes.py LIBRARY."""

import ctypes
import sys
from ctypes import POINTER, byref, c_int, c_long, c_size_t, c_void_p

shmem = ctypes.CDLL(sys.argv[1])


def handle(name):
    return c_void_p.in_dll(shmem, name)


shmem.shmem_malloc.restype = c_void_p
shmem.shmem_malloc.argtypes = [c_size_t]
shmem.shmem_free.argtypes = [c_void_p]
shmem.shmem_team_n_pes.argtypes = [c_void_p]
shmem.shmem_ctx_long_put.argtypes = [c_void_p, c_void_p, POINTER(c_long), c_size_t, c_int]
shmem.shmem_long_max_reduce.argtypes = [c_void_p, c_void_p, c_void_p, c_size_t]

shmem.shmem_init()
me, n = shmem.shmem_my_pe(), shmem.shmem_n_pes()
assert shmem.shmem_team_n_pes(handle("SHMEM_TEAM_WORLD")) == n
assert handle("SHMEM_TEAM_INVALID").value is None
assert handle("SHMEM_SPACE_CPU").value == handle("SHMEM_SPACE_DEFAULT").value
assert handle("SHMEM_SPACE_GPU").value is None

block = shmem.shmem_malloc(16)
words = ctypes.cast(block, POINTER(c_long))
mine = c_long(me + 10)
shmem.shmem_ctx_long_put(handle("SHMEM_CTX_DEFAULT"), block, byref(mine), 1, (me + 1) % n)
shmem.shmem_barrier_all()
assert words[0] == (me - 1) % n + 10
assert shmem.shmem_long_max_reduce(handle("SHMEM_TEAM_WORLD"), block + 8, block, 1) == 0
assert words[1] == n + 9
shmem.shmem_free(block)
shmem.shmem_finalize()
print("passed")
