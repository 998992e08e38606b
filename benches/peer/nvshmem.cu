// What NVSHMEM takes on one device for what gpu-verify measures of ours: operations that the host starts, by one process or by
// two that share the device.
//
//   nvshmem PES     with 1 or 2; it starts the second process itself
//
// Prints rows "operation | bytes | us", of medians taken on the host of PE 0. A collective that NVSHMEM refuses, as it does where
// PEs share a device without MPS, has no row.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <functional>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr size_t kMost = 64 << 20;
int me, peer;
cudaStream_t stream;

void require(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "nvshmem, PE %d: %s\n", me, what);
    exit(1);
}

double micros() {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The median of some runs, after a few that do not count.
double median_of(int runs, const std::function<void()> &one) {
    for (int i = 0; i < 3; i++) one();
    std::vector<double> all(runs);
    for (double &it : all) {
        double begin = micros();
        one();
        it = micros() - begin;
    }
    std::nth_element(all.begin(), all.begin() + runs / 2, all.end());
    return all[runs / 2];
}

void row(const char *what, size_t bytes, double us) {
    if (me != 0) return;
    printf("%s | %zu | %.2f\n", what, bytes, us);
    fflush(stdout);
}

/// Of PE 0, while the other waits in a barrier.
void alone(const char *what, size_t bytes, int runs, const std::function<void()> &one) {
    nvshmem_barrier_all();
    double us = me == 0 ? median_of(runs, one) : 0;
    nvshmem_barrier_all();
    row(what, bytes, us);
}

/// Of all PEs at once.
void together(const char *what, size_t bytes, int runs, const std::function<void()> &one) {
    nvshmem_barrier_all();
    row(what, bytes, median_of(runs, one));
}

void finish_stream() { require(cudaStreamSynchronize(stream) == cudaSuccess, "the stream fails"); }

/// PE 0 makes the job's name, and the other reads it from the pipe.
void join(int pes, const int ends[2]) {
    nvshmemx_uniqueid_t name = NVSHMEMX_UNIQUEID_INITIALIZER;
    if (me == 0) {
        require(nvshmemx_get_uniqueid(&name) == 0, "there is no name for the job");
        require(write(ends[1], &name, sizeof name) == (ssize_t)sizeof name, "the name cannot be sent");
    } else {
        require(read(ends[0], &name, sizeof name) == (ssize_t)sizeof name, "the name does not come");
    }
    require(cudaSetDevice(0) == cudaSuccess, "there is no device");
    nvshmemx_init_attr_t how = NVSHMEMX_INIT_ATTR_INITIALIZER;
    require(nvshmemx_set_attr_uniqueid_args(me, pes, &name, &how) == 0, "the name does not do");
    require(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &how) == 0, "it does not start");
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess, "there is no stream");
}

void measure(int pes) {
    char *from = (char *)nvshmem_malloc(kMost), *to = (char *)nvshmem_malloc(kMost);
    uint64_t *words = (uint64_t *)nvshmem_calloc(16, sizeof(uint64_t));
    require(from && to && words, "there is no memory");
    require(cudaMemset(from, 0, kMost) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess, "a fill fails");

    alone("put and quiet", 8, 300, [&] { nvshmem_putmem(words, from, 8, peer); nvshmem_quiet(); });
    alone("get", 8, 300, [&] { volatile uint64_t seen = nvshmem_uint64_g(words, peer); (void)seen; });
    for (size_t bytes : {size_t(1) << 20, kMost})
        alone("put and quiet", bytes, 20, [&] { nvshmem_putmem(to, from, bytes, peer); nvshmem_quiet(); });
    for (size_t bytes : {size_t(1) << 20, size_t(4) << 20, kMost}) {
        const int many = bytes == kMost ? 4 : 16;
        nvshmem_barrier_all();
        double us = me == 0 ? median_of(10, [&] {
            for (int i = 0; i < many; i++) nvshmem_putmem_nbi(to, from, bytes, peer);
            nvshmem_quiet();
        }) : 0;
        nvshmem_barrier_all();
        row("puts, many under way, each", bytes, us / many);
    }
    together("barrier", 0, 200, [] { nvshmem_barrier_all(); });
    if (pes == 2) {
        uint64_t turn = 0;
        together("signal there and back", 8, 50, [&] {
            turn++;
            uint64_t *mine = words + 8 + me, *other = words + 8 + peer;
            if (me == 0) nvshmemx_signal_op_on_stream(other, turn, NVSHMEM_SIGNAL_SET, peer, stream);
            nvshmemx_signal_wait_until_on_stream(mine, NVSHMEM_CMP_GE, turn, stream);
            if (me == 1) nvshmemx_signal_op_on_stream(other, turn, NVSHMEM_SIGNAL_SET, peer, stream);
            finish_stream();
        });
    }
    // Last, as where it is refused nothing works any more.
    for (size_t bytes : {size_t(8), kMost})
        together("sum of f32", bytes, bytes == kMost ? 10 : 50, [&] {
            int refused = nvshmemx_float_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, (float *)to, (float *)from, bytes / 4, stream);
            require(refused == 0, "sum of f32: refused");
            finish_stream();
        });
}

} // namespace

int main(int argc, char **argv) {
    const int pes = argc > 1 && atoi(argv[1]) == 2 ? 2 : 1;
    int ends[2];
    require(pipe(ends) == 0, "there is no pipe");
    pid_t child = pes == 2 ? fork() : -1;
    me = child == 0 ? 1 : 0;
    peer = pes - 1 - me;
    alarm(60); // whatever waits for ever
    join(pes, ends);
    measure(pes);
    nvshmem_finalize();
    int status = 0;
    if (child > 0) waitpid(child, &status, 0);
    return status != 0;
}
