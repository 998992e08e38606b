// The first program in CUDA C++: a kernel of every PE adds to a word in the device memory of PE 0.
//
//   nvcc -std=c++17 hello.cu -o hello $(pkg-config --cflags --libs oxshmem)
//   oshrun -np 4 -x SHMEM_ENABLE_GPU_SPACE=1 -- ./hello

#include <cuda_runtime.h>
#include <shmem.h>
#include <shmemx.h>
#include <shmemx_device.cuh>

#include <cstdio>

__global__ void greet(shmemx_device_t shmem, long *greeted)
{
    shmemx::atomic_add(shmem, greeted, 1, 0);
    shmemx::quiet(shmem);
}

int main()
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), device = shmemx_gpu_device();
    shmemx_device_t shmem;
    if (device < 0 || cudaSetDevice(device) != cudaSuccess || shmemx_device_handle(&shmem) != 0) {
        std::fprintf(stderr, "PE %d has no CUDA device; is SHMEM_ENABLE_GPU_SPACE=1 set?\n", me);
        shmem_global_exit(1);
    }
    // Symmetric: one in the device memory of every PE.
    long *greeted = (long *)shmem_space_calloc(SHMEM_SPACE_GPU, 1, sizeof(long)), all = 0;
    greet<<<1, 1>>>(shmem, greeted);
    cudaError_t ended = cudaDeviceSynchronize();
    shmem_barrier_all();
    if (me == 0) {
        cudaMemcpy(&all, greeted, sizeof all, cudaMemcpyDeviceToHost);
        std::printf("PE 0 was greeted by %ld of %d PEs\n", all, n);
    }
    shmem_finalize();
    return ended != cudaSuccess || (me == 0 && all != n);
}
