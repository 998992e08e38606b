"""Compiles the device functions as a program does at run time: by NVRTC, without any other header."""

import ctypes
import pathlib
import sys

KERNEL = r"""
extern "C" __global__ void pass_on(shmemx_device_t shmem, double *cells, const double *mine, size_t n,
                                   unsigned long long *signal)
{
    int next = (shmemx::my_pe(shmem) + 1) % shmemx::n_pes(shmem);
    shmemx::put_signal_block(shmem, cells, mine, n, signal, 1, SHMEM_SIGNAL_SET, next);
    if (threadIdx.x == 0) {
        shmemx::wait_until(shmem, signal, SHMEM_CMP_EQ, 1);
        shmemx::atomic_add(shmem, (int *)cells, 1, next);
        shmemx::quiet(shmem);
    }
}
"""

root = pathlib.Path(sys.argv[1])
nvrtc = ctypes.CDLL(str(root / "lib" / "libnvrtc.so.13"))
text = pathlib.Path("capi/include/shmemx_device.cuh").read_text() + KERNEL
program = ctypes.c_void_p()
made = nvrtc.nvrtcCreateProgram(
    ctypes.byref(program), text.encode(), b"pass_on.cu", 0, None, None
)
options = [b"--gpu-architecture=compute_75", b"--std=c++17"]
compiled = made or nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
size = ctypes.c_size_t()
if not made:
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    print(log.value.decode(), end="")
sys.exit(1 if compiled else 0)
