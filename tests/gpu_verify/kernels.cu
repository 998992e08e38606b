// Runs every device function on a real device, checks what it does, and times some: for `gpu-verify`, which starts it
// with 1, 2 and 4 PEs. `cargo xtask cuda` compiles it.
//
// No kernel here waits for a kernel of another PE: those of processes that share a device take turns. With --limit, a
// process by itself sees that a wait ends that nothing satisfies.

#include <cuda_runtime.h>
#include <shmem.h>
#include <shmemx.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernel_bodies.cuh"

#define CUDA(call)                                                                                          \
    do {                                                                                                    \
        cudaError_t failed = (call);                                                                        \
        if (failed != cudaSuccess) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(failed)); \
            std::exit(1);                                                                                   \
        }                                                                                                   \
    } while (0)

__global__ void functions_kernel(shmemx_device_t shmem, Area *area, Area *here, int to, int *wrong)
{
    *wrong = functions(shmem, area, here, to);
}

__global__ void __launch_bounds__(1024) groups_kernel(shmemx_device_t shmem, Area *area, Area *here, int to, int *wrong)
{
    int found = groups(shmem, area, here, to);
    if (found)
        *wrong = found;
}

__global__ void signal_kernel(shmemx_device_t shmem, u64 *data, u64 value, u64 *signal, int to, int *wrong)
{
    *wrong = shmemx::put_signal(shmem, data, &value, 1, signal, 1, SHMEM_SIGNAL_ADD, to);
}

__global__ void __launch_bounds__(1024) add_kernel(shmemx_device_t shmem, u64 *word, int times, int to, int *wrong)
{
    int found = add_often(shmem, word, times, to);
    if (found)
        *wrong = found;
}

__global__ void wait_kernel(shmemx_device_t shmem, const u64 *word, int *status)
{
    *status = shmemx::wait_until(shmem, word, SHMEM_CMP_EQ, 1);
}

// What is timed, beside what a kernel does without the library.

__global__ void bare_store(u64 *to, int times)
{
    for (int i = 0; i < times; i++)
        *(volatile u64 *)to = i;
}

__global__ void bare_store_and_fence(u64 *to, int times)
{
    for (int i = 0; i < times; i++) {
        *(volatile u64 *)to = i;
        __threadfence_system();
    }
}

__global__ void put_word(shmemx_device_t shmem, u64 *dest, int to, int times)
{
    for (int i = 0; i < times; i++)
        shmemx::p(shmem, dest, i, to);
}

__global__ void __launch_bounds__(1024) bare_block(uint4 *to, const uint4 *from, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        to[i] = from[i];
}

__global__ void __launch_bounds__(1024) put_block(shmemx_device_t shmem, uint4 *dest, const uint4 *from, int n, int to)
{
    shmemx::put_block(shmem, dest, from, n, to);
}

__global__ void ask_often(shmemx_device_t shmem, u64 *word, int to, int times)
{
    for (int i = 0; i < times; i++)
        shmemx::atomic_fetch(shmem, word, to);
}

// The median time of a launch and all it does, in microseconds.
template <class Launch>
static double median(int rounds, Launch launch)
{
    cudaEvent_t begin, end;
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreate(&end));
    std::vector<float> took;
    for (int i = 0; i < rounds + 3; i++) {
        CUDA(cudaEventRecord(begin));
        launch();
        CUDA(cudaGetLastError());
        CUDA(cudaEventRecord(end));
        CUDA(cudaEventSynchronize(end));
        float milliseconds;
        CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
        if (i >= 3)
            took.push_back(milliseconds * 1000);
    }
    CUDA(cudaEventDestroy(begin));
    CUDA(cudaEventDestroy(end));
    std::sort(took.begin(), took.end());
    return took[took.size() / 2];
}

static int *status;

// Waits for the kernel, and ends the job if it has found something wrong.
static void expect_none(const char *what, int to)
{
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
    if (*status != 0) {
        std::fprintf(stderr, "PE %d to PE %d: %s: line %d\n", shmem_my_pe(), to, what, *status);
        shmem_global_exit(1);
    }
}

static void *space_malloc(shmem_space_t space, size_t bytes)
{
    void *made = shmem_space_calloc(space, 1, bytes);
    if (!made) {
        std::fprintf(stderr, "there is no symmetric memory for %zu bytes\n", bytes);
        shmem_global_exit(1);
    }
    return made;
}

static void time_them(shmemx_device_t shmem, u64 *on_device, u64 *on_host, char *here)
{
    const int to = (shmem_my_pe() + 1) % shmem_n_pes(), times = 1000, bytes = 64 << 10;
    u64 *there = (u64 *)shmem_space_ptr(SHMEM_SPACE_GPU, on_device, to);
    std::printf("| from a kernel, %d PEs | us | bare | us |\n|---|---:|---|---:|\n", shmem_n_pes());
    double one = median(100, [&] { put_word<<<1, 1>>>(shmem, on_device, to, 1); });
    double put = median(20, [&] { put_word<<<1, 1>>>(shmem, on_device, to, times); });
    double all = median(100, [&] { put_block<<<1, 1024>>>(shmem, (uint4 *)on_device, (uint4 *)here, bytes / 16, to); });
    double bare_one = 0, bare = 0, fenced = 0, bare_all = 0;
    if (there) {
        bare_one = median(100, [&] { bare_store<<<1, 1>>>(there, 1); });
        bare = median(20, [&] { bare_store<<<1, 1>>>(there, times); });
        fenced = median(20, [&] { bare_store_and_fence<<<1, 1>>>(there, times); });
        bare_all = median(100, [&] { bare_block<<<1, 1024>>>((uint4 *)there, (uint4 *)here, bytes / 16); });
    }
    double asked = median(5, [&] { ask_often<<<1, 1>>>(shmem, on_host, to, 200); });
    std::printf("| a kernel with one put of 8 bytes | %.2f | store | %.2f |\n", one, bare_one);
    std::printf("| a put of 8 bytes, in a loop of %d | %.3f | store | %.3f |\n", times, put / times, bare / times);
    std::printf("| | | store and fence | %.3f |\n", fenced / times);
    std::printf("| a kernel with one put of 64 KiB by a block | %.2f | stores | %.2f |\n", all, bare_all);
    std::printf("| a request to the host and its answer | %.2f | | |\n", asked / 200);
    std::fflush(stdout);
}

int main(int count, char **arguments)
{
    bool is_limit = count > 1 && std::strcmp(arguments[1], "--limit") == 0;
    shmem_init();
    const int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_space_t gpu = SHMEM_SPACE_GPU, cpu = SHMEM_SPACE_CPU;
    shmemx_device_t shmem;
    if (shmem_space_is_available(gpu) != 0 || shmemx_device_handle(&shmem) != 0) {
        std::fprintf(stderr, "PE %d has no device\n", me);
        shmem_global_exit(1);
    }
    Area *on_device = (Area *)space_malloc(gpu, sizeof(Area) * n), *on_host = (Area *)space_malloc(cpu, sizeof(Area) * n);
    u64 *words = (u64 *)space_malloc(gpu, 64 << 10), *host_words = (u64 *)space_malloc(cpu, 64);
    // The device that has this PE's memory.
    cudaPointerAttributes attributes;
    CUDA(cudaPointerGetAttributes(&attributes, words));
    CUDA(cudaSetDevice(attributes.device));
    CUDA(cudaMallocHost(&status, sizeof(int)));
    *status = 0;
    if (is_limit) {
        wait_kernel<<<1, 1>>>(shmem, words, status);
        CUDA(cudaDeviceSynchronize());
        std::printf("a wait that nothing satisfies: %s\n", *status == SHMEMX_DEVICE_TIMEOUT ? "given up" : "wrong");
        std::fflush(stdout);
        std::_Exit(*status == SHMEMX_DEVICE_TIMEOUT ? 0 : 1);
    }
    Area *here;
    CUDA(cudaMalloc(&here, sizeof(Area)));
    Area *here_symmetric = (Area *)space_malloc(gpu, sizeof(Area));
    shmem_barrier_all();

    for (Area *area : {on_device, on_host}) {
        const char *space = area == on_device ? "on the device" : "on the host";
        for (int i = 0; i < n; i++) {
            int to = (me + i) % n;
            for (Area *local : {here, here_symmetric}) {
                functions_kernel<<<1, 1>>>(shmem, area + me, local, to, status);
                expect_none(space, to);
                groups_kernel<<<1, 96>>>(shmem, area + me, local, to, status);
                expect_none(space, to);
            }
        }
        shmem_barrier_all();
    }

    // A host that sleeps is woken by a kernel of another PE.
    uint64_t *signal = (uint64_t *)words + 1;
    for (uint64_t round = 1; round <= 10; round++) {
        int to = (me + 1) % n;
        signal_kernel<<<1, 1>>>(shmem, words, 100 * round + me, (u64 *)signal, to, status);
        expect_none("a signal", to);
        shmem_signal_wait_until(signal, SHMEM_CMP_GE, round);
        uint64_t found;
        shmem_getmem(&found, words, sizeof found, me);
        if (found < 100 * round + (me + n - 1) % n) {
            std::fprintf(stderr, "PE %d: %lu came with signal %lu\n", me, (unsigned long)found, (unsigned long)round);
            shmem_global_exit(1);
        }
        shmem_barrier_all();
    }

    // More requests than there is room for, from several blocks.
    const int blocks = 4, threads = 64, times = 20, to = (me + 1) % n;
    add_kernel<<<blocks, threads>>>(shmem, host_words, times, to, status);
    expect_none("adding often", to);
    shmem_barrier_all();
    if (*(volatile u64 *)host_words != (u64)blocks * threads * times) {
        std::fprintf(stderr, "PE %d: the sum is %llu\n", me, *host_words);
        shmem_global_exit(1);
    }
    shmem_barrier_all();

    if (me == 0) {
        std::printf("every device function on %d PEs: as it should be\n\n", n);
        char *source;
        CUDA(cudaMalloc(&source, 64 << 10));
        time_them(shmem, words, host_words, source);
        CUDA(cudaFree(source));
    }
    shmem_barrier_all();
    CUDA(cudaFree(here));
    shmem_finalize();
    return 0;
}
