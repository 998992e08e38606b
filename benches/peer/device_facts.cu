// What a CUDA device and its driver take by themselves for what a communication library builds on: completion, memory operations
// of streams, flags between kernels and the host, copies while kernels run, and processes that share a device.
//
//   nvcc -O2 -arch=sm_90 -o device_facts device_facts.cu -lcuda && ./device_facts
//
// Prints a table in Markdown. Times are medians in microseconds, taken on the host.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>
#include <functional>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        int status_ = (int)(call);                                                                                     \
        if (status_) {                                                                                                 \
            fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, status_);                                    \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static double now() {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static double median(int runs, const std::function<double()> &one) {
    std::vector<double> all;
    for (int i = 0; i < runs + 3; i++) {
        double it = one();
        if (i >= 3) all.push_back(it);
    }
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
}

static double time_of(int runs, const std::function<void()> &one) {
    return median(runs, [&] { double begin = now(); one(); return now() - begin; });
}

static void row(const char *what, double us) { printf("| %s | %.2f |\n", what, us); fflush(stdout); }
static void said(const char *what, const char *answer) { printf("| %s | %s |\n", what, answer); fflush(stdout); }

__global__ void busy(long long cycles) { long long begin = clock64(); while (clock64() - begin < cycles) {} }
__global__ void raise_flag(volatile uint64_t *flag, uint64_t value) { __threadfence_system(); *flag = value; }
__global__ void echo(volatile uint64_t *in, volatile uint64_t *out, uint64_t from, uint64_t rounds) {
    for (uint64_t i = from; i < from + rounds; i++) {
        while (*in < i) {}
        *out = i;
        __threadfence_system();
    }
}
__global__ void add2(float4 *to, const float4 *a, const float4 *b, size_t n) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        float4 x = a[i], y = b[i];
        to[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
    }
}
__global__ void store_loop(uint4 *to, const uint4 *from, size_t n) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) to[i] = from[i];
}

static int ring;
static void CUDART_CB ring_host(void *) { uint64_t one = 1; if (write(ring, &one, 8) != 8) abort(); }

static void spin_until(volatile uint64_t *flag, uint64_t value) {
    double end = now() + 5e6;
    while (*flag < value) if (now() > end) { fprintf(stderr, "a flag was not raised\n"); exit(1); }
}

static void one_process(CUdevice device) {
    cudaStream_t stream, other, urgent;
    int least, greatest;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, greatest));
    size_t most = 256 << 20;
    char *a, *b, *c, *host;
    OK(cudaMalloc(&a, most)); OK(cudaMalloc(&b, most)); OK(cudaMalloc(&c, most));
    OK(cudaMallocHost(&host, most));
    memset(host, 1, most);
    OK(cudaMemset(a, 0, most)); OK(cudaMemset(b, 0, most)); OK(cudaMemset(c, 0, most));
    OK(cudaDeviceSynchronize());
    cudaEvent_t event, timed;
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(cudaEventCreate(&timed));

    printf("\n## Completion\n\n| what | us |\n|---|---:|\n");
    auto poll_event = [&] { while (cudaEventQuery(event) == cudaErrorNotReady) {} };
    row("event recorded in an idle stream, and seen by polling", time_of(200, [&] { OK(cudaEventRecord(event, stream)); poll_event(); }));
    row("copy of 8 bytes within the device, an event, seen by polling", time_of(200, [&] { OK(cudaMemcpyAsync(b, a, 8, cudaMemcpyDeviceToDevice, stream)); OK(cudaEventRecord(event, stream)); poll_event(); }));
    row("copy of 8 bytes from pinned host memory, an event, seen by polling", time_of(200, [&] { OK(cudaMemcpyAsync(b, host, 8, cudaMemcpyHostToDevice, stream)); OK(cudaEventRecord(event, stream)); poll_event(); }));
    row("copy of 8 bytes to pinned host memory, an event, seen by polling", time_of(200, [&] { OK(cudaMemcpyAsync(host, a, 8, cudaMemcpyDeviceToHost, stream)); OK(cudaEventRecord(event, stream)); poll_event(); }));
    row("kernel of one thread, an event, seen by polling", time_of(200, [&] { busy<<<1, 1, 0, stream>>>(1); OK(cudaEventRecord(event, stream)); poll_event(); }));
    row("`cudaEventQuery` of an event that is not over", [&] {
        busy<<<1, 1, 0, stream>>>(20000000LL);
        OK(cudaEventRecord(event, stream));
        double each = time_of(1000, [&] { (void)cudaEventQuery(event); });
        OK(cudaStreamSynchronize(stream));
        return each;
    }());
    ring = eventfd(0, EFD_NONBLOCK);
    auto wait_ring = [&](bool spin) {
        pollfd it = {ring, POLLIN, 0};
        uint64_t sum;
        while (read(ring, &sum, 8) != 8) if (!spin) poll(&it, 1, 1000);
    };
    row("host function that writes an eventfd, in an idle stream, eventfd polled", time_of(200, [&] { OK(cudaLaunchHostFunc(stream, ring_host, nullptr)); wait_ring(true); }));
    row("the same, the thread asleep on the eventfd", time_of(200, [&] { OK(cudaLaunchHostFunc(stream, ring_host, nullptr)); wait_ring(false); }));
    row("host function behind a copy of 8 bytes, thread asleep", time_of(200, [&] { OK(cudaMemcpyAsync(b, a, 8, cudaMemcpyDeviceToDevice, stream)); OK(cudaLaunchHostFunc(stream, ring_host, nullptr)); wait_ring(false); }));

    printf("\n## Memory operations of streams, and flags\n\n| what | us |\n|---|---:|\n");
    int wait64 = 0, flush = 0;
    OK(cuDeviceGetAttribute(&wait64, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, device));
    OK(cuDeviceGetAttribute(&flush, CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, device));
    said("64-bit memory operations of streams", wait64 ? "yes" : "no");
    said("waits that flush remote writes", flush ? "yes" : "no");
    volatile uint64_t *flags;
    OK(cudaHostAlloc((void **)&flags, 4096, cudaHostAllocMapped | cudaHostAllocPortable));
    memset((void *)flags, 0, 4096);
    CUdeviceptr flags_there;
    OK(cuMemHostGetDevicePointer(&flags_there, (void *)flags, 0));
    uint64_t at = 0;
    row("`cuStreamWriteValue64` to pinned host memory, seen by the host", time_of(200, [&] { at++; OK(cuStreamWriteValue64(stream, flags_there, at, 0)); spin_until(flags, at); }));
    row("copy of 8 bytes, then that write, seen by the host", time_of(200, [&] { at++; OK(cudaMemcpyAsync(b, a, 8, cudaMemcpyDeviceToDevice, stream)); OK(cuStreamWriteValue64(stream, flags_there, at, 0)); spin_until(flags, at); }));
    row("kernel of one thread that writes pinned host memory, seen by the host", time_of(200, [&] { at++; raise_flag<<<1, 1, 0, stream>>>((volatile uint64_t *)flags_there, at); spin_until(flags, at); }));
    uint64_t go = 0;
    row("host stores to pinned memory, `cuStreamWaitValue64` ends, write to the host seen", median(200, [&] {
        go++; at++;
        OK(cuStreamWaitValue64(stream, flags_there + 64, go, CU_STREAM_WAIT_VALUE_GEQ));
        OK(cuStreamWriteValue64(stream, flags_there, at, 0));
        usleep(100);
        double begin = now();
        flags[8] = go;
        spin_until(flags, at);
        return now() - begin;
    }));
    {
        uint64_t rounds = 2000;
        echo<<<1, 1, 0, stream>>>((volatile uint64_t *)(flags_there + 128), (volatile uint64_t *)(flags_there + 192), 1, rounds);
        double begin = 0;
        for (uint64_t i = 1; i <= rounds; i++) { if (i == 100) begin = now(); flags[16] = i; spin_until(flags + 24, i); }
        row("a flag to a running kernel and back, in pinned host memory", (now() - begin) / (rounds - 99));
        OK(cudaStreamSynchronize(stream));
    }

    printf("\n## Captured into a graph\n\n| what | answer |\n|---|---|\n");
    auto capture = [&](const char *what, const std::function<int()> &add) {
        OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        int added = add();
        cudaGraph_t graph = nullptr;
        int ended = cudaStreamEndCapture(stream, &graph);
        char text[80];
        snprintf(text, sizeof text, added == 0 && ended == 0 ? "yes" : "no: %d, %d", added, ended);
        said(what, text);
        if (graph) cudaGraphDestroy(graph);
        (void)cudaGetLastError();
    };
    capture("copy within the device", [&] { return (int)cudaMemcpyAsync(b, a, 8, cudaMemcpyDeviceToDevice, stream); });
    capture("`cuStreamWriteValue64`", [&] { return (int)cuStreamWriteValue64(stream, flags_there, 1, 0); });
    capture("`cuStreamWaitValue64`", [&] { return (int)cuStreamWaitValue64(stream, flags_there, 1, CU_STREAM_WAIT_VALUE_GEQ); });
    capture("host function", [&] { return (int)cudaLaunchHostFunc(stream, ring_host, nullptr); });

    printf("\n## 16 copies within the device under way, time of each\n\n| what | 1 MiB | 4 MiB | 64 MiB |\n|---|---:|---:|---:|\n");
    auto many = [&](const char *what, const std::function<void(int, size_t)> &one, const std::function<void()> &end) {
        printf("| %s |", what);
        for (size_t bytes : {size_t(1) << 20, size_t(4) << 20, size_t(64) << 20}) {
            double all = time_of(20, [&] { for (int i = 0; i < 16; i++) one(i, bytes); end(); });
            printf(" %.2f |", all / 16);
        }
        printf("\n");
    };
    std::vector<cudaEvent_t> events(16);
    for (auto &it : events) OK(cudaEventCreateWithFlags(&it, cudaEventDisableTiming));
    auto copy = [&](int i, size_t bytes) { size_t at = (i * bytes) % most; OK(cudaMemcpyAsync(b + at, a + at, bytes, cudaMemcpyDeviceToDevice, stream)); };
    many("one event behind all", copy, [&] { OK(cudaEventRecord(event, stream)); poll_event(); });
    many("an event behind each", [&](int i, size_t n) { copy(i, n); OK(cudaEventRecord(events[i], stream)); }, [&] { while (cudaEventQuery(events[15]) == cudaErrorNotReady) {} });
    many("`cuStreamWriteValue64` to the host behind each", [&](int i, size_t n) { copy(i, n); at++; OK(cuStreamWriteValue64(stream, flags_there, at, 0)); }, [&] { spin_until(flags, at); });
    many("a host function behind each", [&](int i, size_t n) { copy(i, n); OK(cudaLaunchHostFunc(stream, ring_host, nullptr)); }, [&] { OK(cudaEventRecord(event, stream)); poll_event(); });
    many("copies by a kernel of 264 x 512 threads, one event", [&](int i, size_t n) { size_t at = (i * n) % most; store_loop<<<264, 512, 0, stream>>>((uint4 *)(b + at), (uint4 *)(a + at), n / 16); }, [&] { OK(cudaEventRecord(event, stream)); poll_event(); });
    many("alternating between two streams, an event in each", [&](int i, size_t n) { size_t at = (i * n) % most; OK(cudaMemcpyAsync(b + at, a + at, n, cudaMemcpyDeviceToDevice, i % 2 ? stream : other)); }, [&] { OK(cudaEventRecord(event, stream)); poll_event(); OK(cudaEventRecord(event, other)); poll_event(); });

    printf("\n## While kernels fill the device (grids of 132 x 16 blocks of 1,024 threads, 10 ms each block)\n\n| what | us |\n|---|---:|\n");
    auto filled = [&](const char *what, const std::function<void()> &start, cudaStream_t where) {
        double it = median(2, [&] {
            busy<<<132 * 16, 1024, 0, other>>>(17000000LL);
            usleep(2000);
            double begin = now();
            start();
            OK(cudaEventRecord(event, where));
            poll_event();
            double took = now() - begin;
            OK(cudaStreamSynchronize(other));
            return took;
        });
        row(what, it);
    };
    filled("4 MiB within the device, stream of normal priority", [&] { OK(cudaMemcpyAsync(b, a, 4 << 20, cudaMemcpyDeviceToDevice, stream)); }, stream);
    filled("4 MiB within the device, stream of the highest priority", [&] { OK(cudaMemcpyAsync(b, a, 4 << 20, cudaMemcpyDeviceToDevice, urgent)); }, urgent);
    filled("4 MiB from pinned host memory, normal priority", [&] { OK(cudaMemcpyAsync(b, host, 4 << 20, cudaMemcpyHostToDevice, stream)); }, stream);
    filled("kernel of one thread, highest priority", [&] { busy<<<1, 1, 0, urgent>>>(1); }, urgent);
#if CUDART_VERSION >= 13000
    {
        cudaMemcpyAttributes how = {};
        how.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
        how.flags = cudaMemcpyFlagPreferOverlapWithCompute;
        size_t size = 4 << 20, first = 0;
        const void *from = a;
        void *to = b;
        int can = (int)cudaMemcpyBatchAsync(&to, &from, &size, 1, &how, &first, 1, stream);
        OK(cudaStreamSynchronize(stream));
        if (can == 0) {
            filled("4 MiB within the device by `cudaMemcpyBatchAsync`, to overlap with kernels", [&] { OK(cudaMemcpyBatchAsync(&to, &from, &size, 1, &how, &first, 1, stream)); }, stream);
            row("the same on an idle device", time_of(50, [&] { OK(cudaMemcpyBatchAsync(&to, &from, &size, 1, &how, &first, 1, stream)); OK(cudaEventRecord(event, stream)); poll_event(); }));
        } else {
            (void)cudaGetLastError();
            said("`cudaMemcpyBatchAsync`", "refused");
        }
    }
#endif

    printf("\n## 64 MiB of ordinary host memory\n\n| what | us |\n|---|---:|\n");
    char *plain = (char *)malloc(64 << 20);
    memset(plain, 1, 64 << 20);
    row("copied to the device by the driver", time_of(5, [&] { OK(cudaMemcpyAsync(b, plain, 64 << 20, cudaMemcpyHostToDevice, stream)); OK(cudaStreamSynchronize(stream)); }));
    row("made known to the driver, copied, forgotten", time_of(5, [&] {
        OK(cudaHostRegister(plain, 64 << 20, 0));
        OK(cudaMemcpyAsync(b, plain, 64 << 20, cudaMemcpyHostToDevice, stream));
        OK(cudaStreamSynchronize(stream));
        OK(cudaHostUnregister(plain));
    }));
    row("copied in parts of 1 MiB through four pinned buffers by one thread", time_of(5, [&] {
        for (int i = 0; i < 64; i++) {
            if (i >= 4) while (cudaEventQuery(events[i % 4]) == cudaErrorNotReady) {}
            memcpy(host + (size_t(i % 4) << 20), plain + (size_t(i) << 20), 1 << 20);
            OK(cudaMemcpyAsync(b + (size_t(i) << 20), host + (size_t(i % 4) << 20), 1 << 20, cudaMemcpyHostToDevice, stream));
            OK(cudaEventRecord(events[i % 4], stream));
        }
        OK(cudaStreamSynchronize(stream));
    }));
    row("copied from pinned memory", time_of(5, [&] { OK(cudaMemcpyAsync(b, host, 64 << 20, cudaMemcpyHostToDevice, stream)); OK(cudaStreamSynchronize(stream)); }));

    printf("\n## Sums of two arrays of `f32` within the device\n\n| what | us |\n|---|---:|\n");
    for (size_t bytes : {size_t(12) << 20, size_t(64) << 20}) {
        char text[80];
        snprintf(text, sizeof text, "%zu MiB, one kernel of 1,056 x 256 threads", bytes >> 20);
        row(text, time_of(20, [&] { add2<<<1056, 256, 0, stream>>>((float4 *)c, (float4 *)a, (float4 *)b, bytes / 16); OK(cudaEventRecord(event, stream)); poll_event(); }));
    }
}

// What the two processes share: a place for handles, and words that they wait for.
struct Shared { volatile int step[2]; cudaIpcMemHandle_t memory; cudaIpcEventHandle_t event; volatile double since; volatile uint64_t word[64]; };

static void meet(Shared *s, int me, int step) { s->step[me] = step; double end = now() + 2e7; while (s->step[1 - me] < step) if (now() > end) exit(1); }

static void two_processes(Shared *s, int me) {
    OK(cudaSetDevice(0));
    cudaStream_t stream, urgent;
    int least, greatest;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, greatest));
    cudaEvent_t event, shared_event;
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    char *mine, *theirs;
    size_t bytes = 64 << 20;
    if (me == 0) {
        OK(cudaMalloc(&mine, bytes)); OK(cudaMemset(mine, 0, bytes));
        OK(cudaIpcGetMemHandle(&s->memory, mine));
        OK(cudaEventCreateWithFlags(&shared_event, cudaEventDisableTiming | cudaEventInterprocess));
        OK(cudaIpcGetEventHandle(&s->event, shared_event));
        meet(s, me, 1);
        theirs = mine;
    } else {
        OK(cudaMalloc(&mine, bytes)); OK(cudaMemset(mine, 0, bytes));
        meet(s, me, 1);
        OK(cudaIpcOpenMemHandle((void **)&theirs, s->memory, cudaIpcMemLazyEnablePeerAccess));
        OK(cudaIpcOpenEventHandle(&shared_event, s->event));
    }
    OK(cudaHostRegister((void *)s->word, sizeof s->word, cudaHostRegisterMapped));
    CUdeviceptr word;
    OK(cuMemHostGetDevicePointer(&word, (void *)s->word, 0));
    auto done = [&] { OK(cudaEventRecord(event, stream)); while (cudaEventQuery(event) == cudaErrorNotReady) {} };
    busy<<<1, 1, 0, stream>>>(1); done();
    if (me == 0) printf("\n## Two processes on the device, without MPS\n\n| what | us |\n|---|---:|\n"), fflush(stdout);
    meet(s, me, 2);
    if (me == 1) {
        row("kernel of one thread and its event, the other process idle", time_of(100, [&] { busy<<<1, 1, 0, stream>>>(1); done(); }));
        row("copy of 8 bytes into the other's memory and its event, the other idle", time_of(100, [&] { OK(cudaMemcpyAsync(theirs, mine, 8, cudaMemcpyDeviceToDevice, stream)); done(); }));
        row("kernel that stores 8 bytes to the other's memory and its event, the other idle", time_of(100, [&] { raise_flag<<<1, 1, 0, stream>>>((volatile uint64_t *)theirs, 1); done(); }));
        row("kernel that copies 64 KiB to the other's memory and its event, the other idle", time_of(100, [&] { store_loop<<<16, 256, 0, stream>>>((uint4 *)theirs, (uint4 *)mine, 4096); done(); }));
        row("the same to own memory", time_of(100, [&] { store_loop<<<16, 256, 0, stream>>>((uint4 *)mine, (uint4 *)(mine + (32 << 20)), 4096); done(); }));
    }
    meet(s, me, 3);
    // The other runs short kernels one after the other, without a pause.
    if (me == 0) { double end = now() + 1.2e6; while (now() < end) { busy<<<1, 1, 0, stream>>>(1); done(); } }
    else { usleep(200000); row("kernel of one thread and its event, the other launches the same all the time", time_of(100, [&] { busy<<<1, 1, 0, stream>>>(1); done(); })); }
    meet(s, me, 4);
    // The other always has a kernel of one thread that runs for .2 s, and the next one behind it.
    if (me == 0) {
        while (!s->word[40]) {
            busy<<<1, 1, 0, stream>>>(350000000LL);
            OK(cudaEventRecord(event, stream));
            busy<<<1, 1, 0, stream>>>(350000000LL);
            while (cudaEventQuery(event) == cudaErrorNotReady) {}
        }
        OK(cudaStreamSynchronize(stream));
    } else {
        usleep(100000);
        row("kernel of one thread and its event, the other runs long kernels of one thread", time_of(20, [&] { busy<<<1, 1, 0, stream>>>(1); done(); }));
        row("copy of 8 bytes from pinned host memory and its event, likewise", time_of(20, [&] { OK(cudaMemcpyAsync(mine, (void *)s->word, 8, cudaMemcpyHostToDevice, stream)); done(); }));
        row("copy of 8 bytes within the device and its event, likewise", time_of(20, [&] { OK(cudaMemcpyAsync(mine, mine + 64, 8, cudaMemcpyDeviceToDevice, stream)); done(); }));
        row("`cuStreamWriteValue64` to host memory, likewise", time_of(20, [&] { s->word[16] = 0; OK(cuStreamWriteValue64(stream, word + 128, 1, 0)); spin_until(&s->word[16], 1); }));
        s->word[40] = 1;
    }
    meet(s, me, 5);
    // A flag by memory operations of streams, there and back, in host memory that both know.
    int rounds = 200;
    double begin = 0;
    for (int i = 1; i <= rounds + 10; i++) {
        if (i == 11) begin = now();
        if (me == 0) { OK(cuStreamWriteValue64(stream, word + 64, i, 0)); OK(cuStreamWaitValue64(stream, word + 128, i, CU_STREAM_WAIT_VALUE_GEQ)); OK(cudaStreamSynchronize(stream)); }
        else { OK(cuStreamWaitValue64(stream, word + 64, i, CU_STREAM_WAIT_VALUE_GEQ)); OK(cuStreamWriteValue64(stream, word + 128, i, 0)); OK(cudaStreamSynchronize(stream)); }
    }
    if (me == 0) row("a flag to the other's stream and back, by memory operations of both streams", (now() - begin) / rounds);
    meet(s, me, 6);
    // The host signals, each with a copy of 8 bytes into the other's device memory before its store.
    for (int i = 1; i <= rounds + 10; i++) {
        if (i == 11) begin = now();
        if (me == 1) { OK(cudaMemcpyAsync(theirs, mine, 8, cudaMemcpyDeviceToDevice, stream)); done(); s->word[24] = i; spin_until((volatile uint64_t *)&s->word[32], i); }
        else { spin_until((volatile uint64_t *)&s->word[24], i); s->word[32] = i; }
    }
    if (me == 1) row("copy of 8 bytes to the other, then a flag in host memory and one back", (now() - begin) / rounds);
    meet(s, me, 7);
    if (me == 0) {
        double each = time_of(100, [&] { OK(cudaEventRecord(shared_event, stream)); OK(cudaStreamSynchronize(stream)); });
        row("event that other processes may wait for, recorded and seen", each);
    }
    meet(s, me, 8);
}

int main(int count, char **) {
    (void)count;
    Shared *shared = (Shared *)mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset((void *)shared, 0, 8192);
    // Processes are made before any of them has a context.
    pid_t alone = fork();
    if (alone == 0) {
        OK(cudaSetDevice(0));
        cudaDeviceProp device;
        OK(cudaGetDeviceProperties(&device, 0));
        int driver = 0;
        OK(cudaDriverGetVersion(&driver));
        printf("# %s: what the device and its driver take\n\nCUDA %d.%d, driver for %d.%d.\n", device.name, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10, driver / 1000, driver % 1000 / 10);
        CUdevice of;
        OK(cuDeviceGet(&of, 0));
        one_process(of);
        exit(0);
    }
    int status = 0, bad = 0;
    waitpid(alone, &status, 0);
    bad |= status;
    pid_t pes[2];
    for (int me = 0; me < 2; me++) if ((pes[me] = fork()) == 0) { two_processes(shared, me); exit(0); }
    for (pid_t pe : pes) { waitpid(pe, &status, 0); bad |= status; }
    return bad ? 1 : 0;
}
