// Heat that spreads over a plate whose rows lie in the devices of several PEs, in CUDA C++.
//
// Each step computes a PE's first and last row in one stream, sends them to the neighbours in the order of that stream,
// and computes what is between in another stream meanwhile. It is done in three ways: in one stream, in two, and in two
// with a kernel that stores the rows in the neighbours' memory by itself. No thread of the host waits for a step. PE 0
// compares the result with that of a sequential run, to the last bit, and prints how long each way took.
//
//   nvcc -std=c++17 cuda_halo.cu -o cuda_halo $(pkg-config --cflags --libs oxshmem)
//   oshrun -np 2 -x SHMEM_ENABLE_GPU_SPACE=1 -- ./cuda_halo [rows [columns [steps]]]

#include <cuda_runtime.h>
#include <shmem.h>
#include <shmemx.h>
#include <shmemx_device.cuh>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA(call)                                                                                          \
    do {                                                                                                    \
        cudaError_t failed = (call);                                                                        \
        if (failed != cudaSuccess) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(failed)); \
            shmem_global_exit(1);                                                                           \
        }                                                                                                   \
    } while (0)

// The rows of a PE: `mine` from row `first` of the plate on. Row 0 in memory is the neighbour's before them.
struct Part {
    long first, mine, rows, columns;
};

__host__ __device__ double next_value(const double *cell, long row, long column, const Part &part)
{
    if (row == 0 || row + 1 == part.rows || column == 0 || column + 1 == part.columns)
        return *cell;
    double around = cell[-part.columns] + cell[part.columns];
    around = around + cell[-1];
    around = around + cell[1];
#ifdef __CUDA_ARCH__
    // Each product and sum is rounded by itself, as on the host.
    return __dadd_rn(__dmul_rn(0.5, *cell), __dmul_rn(0.125, around));
#else
    return 0.5 * *cell + 0.125 * around;
#endif
}

// The next values of `count` rows from row `start` on.
__global__ void compute(const double *from, double *to, long start, long count, Part part)
{
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i >= count * part.columns)
        return;
    i += start * part.columns;
    to[i] = next_value(from + i, part.first + i / part.columns - 1, i % part.columns, part);
}

// Computes one row and gives it to a neighbour, with a signal: one block.
__global__ void __launch_bounds__(1024) compute_and_give(shmemx_device_t shmem, const double *from, double *to, long row, Part part,
                                 double *there, uint64_t *signal, uint64_t step, int pe)
{
    double *mine = to + row * part.columns;
    for (long column = threadIdx.x; column < part.columns; column += blockDim.x)
        mine[column] = next_value(from + row * part.columns + column, part.first + row - 1, column, part);
    __syncthreads();
    if (pe >= 0)
        shmemx::put_signal_block(shmem, there, mine, part.columns, signal, step, SHMEM_SIGNAL_SET, pe);
}

static void launch(cudaStream_t stream, const double *from, double *to, long start, long count, const Part &part)
{
    if (count <= 0)
        return;
    long cells = count * part.columns;
    compute<<<(unsigned)((cells + 255) / 256), 256, 0, stream>>>(from, to, start, count, part);
    CUDA(cudaGetLastError());
}

enum Way { ONE_STREAM, TWO_STREAMS, FROM_KERNELS };

int main(int argc, char **argv)
{
    long rows = argc > 1 ? std::atol(argv[1]) : 1024, columns = argc > 2 ? std::atol(argv[2]) : 4096;
    long steps = argc > 3 ? std::atol(argv[3]) : 100;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), device = shmemx_gpu_device();
    if (device < 0 || rows < n || columns < 3 || steps < 0) {
        if (me == 0)
            std::fprintf(stderr, device < 0 ? "there is no CUDA device; set SHMEM_ENABLE_GPU_SPACE=1\n"
                                            : "usage: cuda_halo [rows [columns [steps]]], a row for each PE at least\n");
        shmem_finalize();
        return 1;
    }
    CUDA(cudaSetDevice(device));
    Part part = {me * (rows / n), rows / n, rows / n * n, columns};
    int above = me > 0 ? me - 1 : -1, below = me + 1 < n ? me + 1 : -1;
    size_t row = columns * sizeof(double), bytes = (part.mine + 2) * row;
    double *plates[2] = {(double *)shmem_space_calloc(SHMEM_SPACE_GPU, 1, bytes),
                         (double *)shmem_space_calloc(SHMEM_SPACE_GPU, 1, bytes)};
    double *whole = (double *)shmem_space_calloc(SHMEM_SPACE_GPU, 1, part.rows * row);
    uint64_t *signals = (uint64_t *)shmem_space_calloc(SHMEM_SPACE_GPU, 2, sizeof(uint64_t));
    shmemx_device_t shmem;
    if (!plates[0] || !plates[1] || !whole || !signals || shmemx_device_handle(&shmem)) {
        std::fprintf(stderr, "there is no room in device memory; raise SHMEM_GPU_SYMMETRIC_SIZE\n");
        shmem_global_exit(1);
    }
    cudaStream_t edge, inner;
    CUDA(cudaStreamCreateWithFlags(&edge, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&inner, cudaStreamNonBlocking));
    cudaEvent_t edges_done, inner_done;
    CUDA(cudaEventCreateWithFlags(&edges_done, cudaEventDisableTiming));
    CUDA(cudaEventCreateWithFlags(&inner_done, cudaEventDisableTiming));

    std::vector<double> start(part.rows * columns, 0.0), framed(bytes / sizeof(double), 0.0);
    for (long i = 0; i < part.rows * columns; i++)
        start[i] = (i * 7919) % 1000 / 10.0;
    for (long i = 0; i < (part.mine + 2) * columns; i++) {
        long at = i + (part.first - 1) * columns;
        framed[i] = at >= 0 && at < (long)start.size() ? start[at] : 0.0;
    }

    // What a sequential run has, on PE 0.
    std::vector<double> expected;
    if (me == 0) {
        std::vector<double> next(start.size());
        expected = start;
        for (long step = 1; step <= steps; step++, expected.swap(next))
            for (long i = 0; i < (long)expected.size(); i++)
                next[i] = next_value(expected.data() + i, i / columns, i % columns, part);
    }

    double seconds[3];
    for (int way = ONE_STREAM; way <= FROM_KERNELS; way++) {
        CUDA(cudaMemcpy(plates[0], framed.data(), bytes, cudaMemcpyHostToDevice));
        CUDA(cudaMemset(signals, 0, 2 * sizeof(uint64_t)));
        CUDA(cudaDeviceSynchronize());
        shmem_barrier_all();
        auto begin = std::chrono::steady_clock::now();
        cudaStream_t between = way == ONE_STREAM ? edge : inner;
        for (long step = 1; step <= steps; step++) {
            const double *from = plates[(step + 1) % 2];
            double *to = plates[step % 2];
            long last = part.mine;
            if (way == FROM_KERNELS) {
                compute_and_give<<<1, 1024, 0, edge>>>(shmem, from, to, 1, part, to + (part.mine + 1) * columns,
                                                       signals + 1, step, above);
                compute_and_give<<<1, 1024, 0, edge>>>(shmem, from, to, last, part, to, signals, step, below);
                CUDA(cudaGetLastError());
            } else {
                launch(edge, from, to, 1, 1, part);
                launch(edge, from, to, last, last > 1, part);
                if (above >= 0)
                    shmemx_putmem_signal_on_stream(to + (part.mine + 1) * columns, to + columns, row, signals + 1,
                                                   step, SHMEM_SIGNAL_SET, above, edge);
                if (below >= 0)
                    shmemx_putmem_signal_on_stream(to, to + last * columns, row, signals, step, SHMEM_SIGNAL_SET,
                                                   below, edge);
            }
            launch(between, from, to, 2, part.mine - 2, part);
            if (above >= 0)
                shmemx_signal_wait_until_on_stream(signals, SHMEM_CMP_GE, step, edge);
            if (below >= 0)
                shmemx_signal_wait_until_on_stream(signals + 1, SHMEM_CMP_GE, step, edge);
            if (between != edge) {
                // The next step reads what both have computed.
                CUDA(cudaEventRecord(edges_done, edge));
                CUDA(cudaEventRecord(inner_done, inner));
                CUDA(cudaStreamWaitEvent(inner, edges_done, 0));
                CUDA(cudaStreamWaitEvent(edge, inner_done, 0));
            }
        }
        CUDA(cudaStreamSynchronize(edge));
        CUDA(cudaStreamSynchronize(inner));
        shmem_barrier_all();
        seconds[way] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

        // All rows on all PEs, in the order of the stream.
        shmemx_fcollectmem_on_stream(SHMEM_TEAM_WORLD, whole, plates[steps % 2] + columns, part.mine * row, edge);
        std::vector<double> got(part.rows * columns);
        CUDA(cudaMemcpyAsync(got.data(), whole, part.rows * row, cudaMemcpyDeviceToHost, edge));
        CUDA(cudaStreamSynchronize(edge));
        for (long i = 0; i < (long)expected.size(); i++)
            if (got[i] != expected[i]) {
                std::fprintf(stderr, "cell %ld is %.17g, and %.17g in a sequential run\n", i, got[i], expected[i]);
                shmem_global_exit(1);
            }
        shmem_barrier_all();
    }
    if (me == 0)
        std::printf("%ld x %ld cells on %d PEs, %ld steps: equal to a sequential run\n"
                    "%.3f ms in one stream, %.3f in two (%.2f times as fast), %.3f with rows from kernels\n",
                    part.rows, columns, n, steps, seconds[0] * 1e3, seconds[1] * 1e3, seconds[0] / seconds[1],
                    seconds[2] * 1e3);
    CUDA(cudaStreamDestroy(edge));
    CUDA(cudaStreamDestroy(inner));
    shmem_finalize();
    return 0;
}
