/* shmemx_device.cuh: device functions of oxshmem, for CUDA C++ (nvcc, clang, NVRTC) from C++14 on and compute capability
 * 7.0 on.
 *
 * Kernels take a shmemx_device_t by value, which shmemx_device_handle() fills in on the host, and call the functions of
 * the namespace shmemx with it:
 *
 *   __global__ void give(shmemx_device_t shmem, unsigned long long *flag, double *cells, const double *mine, size_t n)
 *   {
 *       int next = (shmemx::my_pe(shmem) + 1) % shmemx::n_pes(shmem);
 *       shmemx::put_signal_block(shmem, cells, mine, n, flag, 1, SHMEM_SIGNAL_SET, next);
 *       if (threadIdx.x == 0)
 *           shmemx::wait_until(shmem, flag, SHMEM_CMP_EQ, 1ULL);
 *       __syncthreads();
 *   }
 *
 * Addresses of remote objects are symmetric ones, as this PE has them of shmem_space_malloc or shmem_malloc, or in Rust
 * of SymView::device_address. Local sources and destinations are addresses that the kernel loads from and stores to.
 *
 * Functions that end in _warp are called by all threads of a warp, those that end in _block by all threads of a block,
 * with the same arguments. They share the work and return when all of them are done. All others are one thread's.
 * Numbers of elements are of the type of the pointers.
 *
 * Device memory of PEs that this device reaches is loaded from and stored to by the calling threads. Everything else,
 * which is memory of other hosts, of devices that are not reached, and of the CPU space, goes by a request to the host,
 * which takes some microseconds up to some milliseconds. Which it is, makes no difference to the program.
 *
 * A kernel that waits for another one needs that to run at the same time. Kernels of one PE do if there is room for them
 * on the device, in streams of their own. Kernels of processes that share a device take turns there, unless it is
 * shared by MPS: let the host wait instead, or the next kernel begin when the signal has come. The host serves requests
 * while kernels run; those for much data, or for atomic operations that one device cannot do on another, need the
 * device to have room beside the kernel.
 *
 * Functions that return int return SHMEMX_DEVICE_OK, SHMEMX_DEVICE_TIMEOUT if they have waited for longer than
 * SHMEM_GPU_KERNEL_TIMEOUT says, or SHMEMX_DEVICE_FAILED. Of a group, the first thread gets the error. The host reports
 * it too, in the next quiet of the default context. What has been put or updated is complete after quiet(), in order
 * after fence().
 *
 * Signals, put_signal, atomic operations and quiet() ring for PEs that wait on the host. What p and put have stored alone
 * such a PE sees when it looks by itself, within a millisecond in most waits.
 *
 * With SHMEMX_DEVICE_ON_HOST defined, the same text is C++17 for the host, in which a kernel is a function, each of its
 * threads a thread of its own, and a warp or a block one thread: for tests with SHMEM_GPU_EMULATE.
 */
#ifndef SHMEMX_DEVICE_CUH
#define SHMEMX_DEVICE_CUH

#ifdef SHMEMX_DEVICE_ON_HOST
#include <sched.h>
#include <stddef.h>
#include <time.h>
#define SHMEMX_FN inline
#define SHMEMX_CALLED inline
#else
#define SHMEMX_FN __device__ __forceinline__
/* What is long, so that there is one of it in a module. */
#define SHMEMX_CALLED inline __device__ __noinline__
#endif

#ifndef SHMEMX_DEVICE_T
#define SHMEMX_DEVICE_T
typedef struct shmemx_device {
    unsigned long long shown;       /* where programs see this PE's device memory */
    unsigned long long len;         /* its bytes */
    unsigned long long own;         /* where kernels reach it */
    unsigned long long base;        /* where kernels reach that of the first of the near PEs */
    unsigned long long stride;      /* bytes from there to the next one's */
    unsigned long long bells;       /* the first near PE's bell, on the host */
    unsigned long long bell_stride; /* bytes to the next one's */
    unsigned long long table;       /* for near PEs that are not in a row: two words for each PE, or null */
    unsigned long long area;        /* the words by which this PE's kernels ask for something */
    unsigned long long timeout;     /* nanoseconds */
    int me;
    int n_pes;
    int first;   /* the near PEs that are in a row: the first */
    int near;    /* and how many */
    int atomics; /* whether atomic operations on near PEs' memory are atomic */
    int unused;
} shmemx_device_t;
#endif

#ifndef SHMEM_CMP_EQ
#define SHMEM_CMP_EQ 1
#define SHMEM_CMP_NE 2
#define SHMEM_CMP_LT 3
#define SHMEM_CMP_LE 4
#define SHMEM_CMP_GT 5
#define SHMEM_CMP_GE 6
#endif
#ifndef SHMEM_SIGNAL_SET
#define SHMEM_SIGNAL_SET 1
#define SHMEM_SIGNAL_ADD 2
#endif
#define SHMEMX_DEVICE_OK 0
#define SHMEMX_DEVICE_TIMEOUT 1
#define SHMEMX_DEVICE_FAILED 2

namespace shmemx {

/* What the functions below are made of. Programs call nothing of it. */
namespace impl {

typedef unsigned long long word;
typedef unsigned int half;
#if defined(__GNUC__) && !defined(__CUDACC_RTC__)
#define SHMEMX_ALIAS __attribute__((__may_alias__))
#define SHMEMX_ALIAS_16 __attribute__((__may_alias__, __aligned__(16)))
#else
#define SHMEMX_ALIAS
#define SHMEMX_ALIAS_16 __align__(16)
#endif
typedef word SHMEMX_ALIAS word_at;
typedef half SHMEMX_ALIAS half_at;
struct SHMEMX_ALIAS_16 Two {
    word a, b;
};

/* The same numbers are in the library: runtime/progress/src/kernels.rs. */
enum : word {
    SLOTS = 64,
    ROOM = 512,
    TICKET = 128,
    BEFORE = 256,
    FAILED = 264,
    NOTE_CALL = 384,
    NOTE_ADDRESS = 392,
    BROKEN = 400,
    REQUESTS = 1024,
    REQUEST = 64,
    ANSWERS = 5120,
    ANSWER = 64,
    ROOMS = 9216
};
/* What is asked for, whether there is a word that waits for the answer, and where the data is. */
enum : word { PUT = 1, GET = 2, ATOMIC = 3, FENCE = 4, WAITS = 1 << 24, IN_ROOM = 1 << 25 };
/* Atomic operations. */
enum Kind { FETCH = 0, SET = 1, SWAP = 2, COMPARE_SWAP = 3, ADD = 4, AND = 5, OR = 6, XOR = 7 };
/* What gives up. */
enum : word { IN_WAIT = 1, IN_QUIET = 2, IN_REQUEST = 3 };

#ifdef SHMEMX_DEVICE_ON_HOST

inline void fence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline word now()
{
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (word)time.tv_sec * 1000000000u + (word)time.tv_nsec;
}
inline void pause() { sched_yield(); }
inline word load8(word at) { return __atomic_load_n((word_at *)at, __ATOMIC_ACQUIRE); }
inline word load4(word at) { return __atomic_load_n((half_at *)at, __ATOMIC_ACQUIRE); }
inline void store8(word at, word value) { __atomic_store_n((word_at *)at, value, __ATOMIC_RELEASE); }
inline word draw(word at) { return __atomic_fetch_add((word_at *)at, 1, __ATOMIC_ACQ_REL); }

template <class Word>
inline Word apply(Word *at, Kind kind, Word value, Word cond)
{
    switch (kind) {
    case FETCH: return __atomic_load_n(at, __ATOMIC_ACQUIRE);
    case COMPARE_SWAP:
        __atomic_compare_exchange_n(at, &cond, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        return cond;
    case ADD: return __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL);
    case AND: return __atomic_fetch_and(at, value, __ATOMIC_ACQ_REL);
    case OR: return __atomic_fetch_or(at, value, __ATOMIC_ACQ_REL);
    case XOR: return __atomic_fetch_xor(at, value, __ATOMIC_ACQ_REL);
    default: return __atomic_exchange_n(at, value, __ATOMIC_ACQ_REL);
    }
}

/* Has the bell of one PE ring. */
inline void ring(word bell) { store8(bell, 1); }

/* Threads that call a function together. */
struct One {
    static word rank() { return 0; }
    static word size() { return 1; }
    static void sync() {}
};
typedef One Warp;
typedef One Block;

#else

SHMEMX_FN void fence_system() { __threadfence_system(); }
SHMEMX_FN word now()
{
    word time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}
SHMEMX_FN void pause() { __nanosleep(200); }
SHMEMX_FN word load8(word at)
{
    word value;
    asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}
SHMEMX_FN word load4(word at)
{
    half value;
    asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}
SHMEMX_FN void store8(word at, word value)
{
    asm volatile("st.release.sys.u64 [%0], %1;" : : "l"(at), "l"(value) : "memory");
}
/* Only kernels of one device draw from a word. */
SHMEMX_FN word draw(word at) { return atomicAdd((word *)at, 1ULL); }

template <class Word>
SHMEMX_FN Word apply(Word *at, Kind kind, Word value, Word cond)
{
    switch (kind) {
    case FETCH: return sizeof(Word) == 8 ? (Word)load8((word)at) : (Word)load4((word)at);
    case COMPARE_SWAP: return atomicCAS_system(at, cond, value);
    case ADD: return atomicAdd_system(at, value);
    case AND: return atomicAnd_system(at, value);
    case OR: return atomicOr_system(at, value);
    case XOR: return atomicXor_system(at, value);
    default: return atomicExch_system(at, value);
    }
}

SHMEMX_FN word lane() { return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32; }

/* Of the threads of a warp that come together, one rings. */
SHMEMX_FN void ring(word bell)
{
    unsigned same = __match_any_sync(__activemask(), bell);
    __syncwarp(same);
    if (lane() == (word)(__ffs(same) - 1))
        store8(bell, 1);
}

struct One {
    static SHMEMX_FN word rank() { return 0; }
    static SHMEMX_FN word size() { return 1; }
    static SHMEMX_FN void sync() {}
};
struct Warp {
    static SHMEMX_FN word rank() { return lane(); }
    static SHMEMX_FN word size()
    {
        word all = blockDim.x * blockDim.y * blockDim.z;
        word before = (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / 32 * 32;
        return all - before < 32 ? all - before : 32;
    }
    static SHMEMX_FN void sync() { __syncwarp(); }
};
struct Block {
    static SHMEMX_FN word rank() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
    static SHMEMX_FN word size() { return blockDim.x * blockDim.y * blockDim.z; }
    static SHMEMX_FN void sync() { __syncthreads(); }
};

#endif

/* The bits of a value of up to 8 bytes, and back. */
template <class T>
union Bits {
    T value;
    word all;
};
template <class T>
SHMEMX_FN word bits(T value)
{
    static_assert(sizeof(T) <= 8, "a value of up to 8 bytes");
    Bits<T> both;
    both.all = 0;
    both.value = value;
    return both.all;
}
template <class T>
SHMEMX_FN T value(word bits)
{
    Bits<T> both;
    both.all = bits;
    return both.value;
}

/* Copies the units from `i` on that are `step` apart, four of them at a time. */
template <class Unit>
SHMEMX_FN void copy_units(char *to, const char *from, word count, word i, word step)
{
    Unit *dest = (Unit *)to;
    const Unit *source = (const Unit *)from;
    for (; i + 3 * step < count; i += 4 * step) {
        Unit a = source[i], b = source[i + step], c = source[i + 2 * step], d = source[i + 3 * step];
        dest[i] = a;
        dest[i + step] = b;
        dest[i + 2 * step] = c;
        dest[i + 3 * step] = d;
    }
    for (; i < count; i += step)
        dest[i] = source[i];
}

/* Copies one thread's part of `n` bytes, in units of up to 16 bytes as both ends are aligned. */
SHMEMX_CALLED void copy(char *to, const char *from, word n, word rank, word size)
{
    word apart = (word)to ^ (word)from;
    word unit = !(apart & 15) ? 16 : !(apart & 7) ? 8 : !(apart & 3) ? 4 : 1;
    word head = (unit - (word)to % unit) % unit;
    head = head < n ? head : n;
    copy_units<char>(to, from, head, rank, size);
    to += head;
    from += head;
    n -= head;
    word count = n / unit;
    switch (unit) {
    case 16: copy_units<Two>(to, from, count, rank, size); break;
    case 8: copy_units<word_at>(to, from, count, rank, size); break;
    case 4: copy_units<half_at>(to, from, count, rank, size); break;
    default: copy_units<char>(to, from, count, rank, size); break;
    }
    copy_units<char>(to + count * unit, from + count * unit, n - count * unit, rank, size);
}

/* Where a PE's device memory and bell are, if this device reaches them. */
SHMEMX_FN bool reach(const shmemx_device_t &shmem, int pe, word &base, word &bell)
{
    half i = (half)(pe - shmem.first);
    if (i < (half)shmem.near) {
        base = shmem.base + i * shmem.stride;
        bell = shmem.bells + i * shmem.bell_stride;
        return true;
    }
    if (shmem.table == 0 || (half)pe >= (half)shmem.n_pes)
        return false;
    const word_at *entry = (const word_at *)shmem.table + 2 * (half)pe;
    base = entry[0];
    bell = entry[1];
    return base != 0;
}

/* A symmetric address as programs have it, which kernels may have as that of this PE's own memory. */
SHMEMX_FN word as_shown(const shmemx_device_t &shmem, word address)
{
    return address - shmem.own < shmem.len ? address - shmem.own + shmem.shown : address;
}

/* A place that this device reaches, or null, and the bell of its PE. */
SHMEMX_FN word place(const shmemx_device_t &shmem, const volatile void *symmetric, int pe, word &bell)
{
    word base, offset = as_shown(shmem, (word)symmetric) - shmem.shown;
    return offset < shmem.len && reach(shmem, pe, base, bell) ? base + offset : 0;
}

/* The same where atomic operations are atomic. */
SHMEMX_FN word atomic_place(const shmemx_device_t &shmem, const volatile void *symmetric, int pe, word &bell)
{
    return pe == shmem.me || shmem.atomics ? place(shmem, symmetric, pe, bell) : 0;
}

/* Gives a wait up. */
SHMEMX_CALLED int give_up(const shmemx_device_t &shmem, word call, word address)
{
    if (call == IN_REQUEST)
        store8(shmem.area + BROKEN, 1);
    store8(shmem.area + NOTE_ADDRESS, address);
    store8(shmem.area + NOTE_CALL, call);
    return SHMEMX_DEVICE_TIMEOUT;
}

/* Waits until a word on the host is `value`, or at least that. */
SHMEMX_CALLED int await(const shmemx_device_t &shmem, word at, word value, bool at_least, word call)
{
    if (at_least ? load8(at) >= value : load8(at) == value)
        return SHMEMX_DEVICE_OK;
    for (word begin = now();;) {
        pause();
        if (at_least ? load8(at) >= value : load8(at) == value)
            return SHMEMX_DEVICE_OK;
        if (load8(shmem.area + BROKEN))
            return SHMEMX_DEVICE_FAILED;
        if (now() - begin > shmem.timeout)
            return give_up(shmem, call, 0);
    }
}

/* A request, as the library reads it. */
struct Asked {
    word what, dest, source, len, value, cond;
};

/* Asks the host for something. With WAITS, waits for the answer, and `result` is what was fetched. Data that travels in
 * the slot's room comes from `from`, or goes to `to`. */
SHMEMX_CALLED int ask(const shmemx_device_t &shmem, const Asked &asked, int pe, word *result, const char *from, char *to)
{
    word ticket = draw(shmem.area + TICKET);
    word slot = ticket % SLOTS, round = ticket / SLOTS;
    word request = shmem.area + REQUESTS + slot * REQUEST, answer = shmem.area + ANSWERS + slot * ANSWER;
    char *room = (char *)(shmem.area + ROOMS + slot * ROOM);
    int waited = await(shmem, answer + 24, round, false, IN_REQUEST);
    if (waited != SHMEMX_DEVICE_OK)
        return waited;
    if (from)
        copy(room, from, asked.len, 0, 1);
    volatile word_at *words = (volatile word_at *)request;
    words[1] = asked.what | (word)(half)pe << 32;
    words[2] = as_shown(shmem, asked.dest);
    words[3] = as_shown(shmem, asked.source);
    words[4] = asked.len;
    words[5] = asked.value;
    words[6] = asked.cond;
    store8(request, ticket + 1);
    if (!(asked.what & WAITS))
        return SHMEMX_DEVICE_OK;
    waited = await(shmem, answer, ticket + 1, false, IN_REQUEST);
    if (waited != SHMEMX_DEVICE_OK)
        return waited;
    bool failed = load8(answer + 16) != 0;
    if (result)
        *result = load8(answer + 8);
    if (to && !failed)
        copy(to, room, asked.len, 0, 1);
    store8(answer + 24, round + 1);
    return failed ? SHMEMX_DEVICE_FAILED : SHMEMX_DEVICE_OK;
}

/* Whether memory of this kernel is symmetric memory of this PE's device, which the host reaches. */
SHMEMX_FN bool is_own(const shmemx_device_t &shmem, const void *here, word len)
{
    word offset = (word)here - shmem.own;
    return offset < shmem.len && len <= shmem.len - offset;
}

/* One thread puts `n` bytes by requests. */
SHMEMX_CALLED int put_far(const shmemx_device_t &shmem, word dest, const char *source, word n, int pe)
{
    if (n > ROOM && is_own(shmem, source, n)) {
        /* So that the host sees what this thread has stored there. */
        fence_system();
        Asked asked = {PUT | WAITS, dest, (word)source, n, 0, 0};
        return ask(shmem, asked, pe, 0, 0, 0);
    }
    int status = SHMEMX_DEVICE_OK;
    for (word at = 0; at < n && status == SHMEMX_DEVICE_OK; at += ROOM) {
        word part = n - at < ROOM ? n - at : (word)ROOM;
        Asked asked = {PUT | IN_ROOM, dest + at, 0, part, 0, 0};
        status = ask(shmem, asked, pe, 0, source + at, 0);
    }
    return status;
}

/* One thread gets `n` bytes by requests. */
SHMEMX_CALLED int get_far(const shmemx_device_t &shmem, char *dest, word source, word n, int pe)
{
    if (n > ROOM && is_own(shmem, dest, n)) {
        fence_system();
        Asked asked = {GET | WAITS, (word)dest, source, n, 0, 0};
        return ask(shmem, asked, pe, 0, 0, 0);
    }
    int status = SHMEMX_DEVICE_OK;
    for (word at = 0; at < n && status == SHMEMX_DEVICE_OK; at += ROOM) {
        word part = n - at < ROOM ? n - at : (word)ROOM;
        Asked asked = {GET | WAITS | IN_ROOM, 0, source + at, part, 0, 0};
        status = ask(shmem, asked, pe, 0, 0, dest + at);
    }
    return status;
}

/* Rings every PE whose memory this device reaches. */
SHMEMX_CALLED void ring_all(const shmemx_device_t &shmem)
{
    word base, bell;
    int first = shmem.table != 0 ? 0 : shmem.first, count = shmem.table != 0 ? shmem.n_pes : shmem.near;
    for (int pe = first; pe < first + count; pe++)
        if (reach(shmem, pe, base, bell))
            ring(bell);
}

/* Orders requests: those that follow begin when those before are over. */
SHMEMX_CALLED int fence_requests(const shmemx_device_t &shmem)
{
    if (load8(shmem.area + BEFORE) >= load8(shmem.area + TICKET))
        return SHMEMX_DEVICE_OK;
    Asked asked = {FENCE, 0, 0, 0, 0, 0};
    return ask(shmem, asked, shmem.me, 0, 0, 0);
}

template <class Group, class T>
SHMEMX_FN int put(const shmemx_device_t &shmem, T *dest, const T *source, size_t n, int pe)
{
    word bell, to = place(shmem, dest, pe, bell);
    int status = SHMEMX_DEVICE_OK;
    if (to != 0)
        copy((char *)to, (const char *)source, n * sizeof(T), Group::rank(), Group::size());
    Group::sync();
    if (to == 0) {
        if (Group::rank() == 0)
            status = put_far(shmem, (word)dest, (const char *)source, n * sizeof(T), pe);
        Group::sync();
    }
    return status;
}

template <class Group, class T>
SHMEMX_FN int get(const shmemx_device_t &shmem, T *dest, const T *source, size_t n, int pe)
{
    word bell, from = place(shmem, source, pe, bell);
    int status = SHMEMX_DEVICE_OK;
    /* Nothing is read that this multiprocessor has loaded before. */
    if (from != 0 && Group::rank() == 0)
        fence_system();
    Group::sync();
    if (from != 0)
        copy((char *)dest, (const char *)from, n * sizeof(T), Group::rank(), Group::size());
    else if (Group::rank() == 0)
        status = get_far(shmem, (char *)dest, (word)source, n * sizeof(T), pe);
    Group::sync();
    return status;
}

/* An atomic operation on a word of 4 or 8 bytes. */
template <class T>
SHMEMX_FN int atomic(const shmemx_device_t &shmem, T *at, Kind kind, T operand, T cond, int pe, T *before)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomic operations are on words of 4 or 8 bytes");
    word bell, to = atomic_place(shmem, at, pe, bell), found;
    int status = SHMEMX_DEVICE_OK;
    if (to != 0) {
        if (sizeof(T) == 8)
            found = apply<word>((word *)to, kind, bits(operand), bits(cond));
        else
            found = apply<half>((half *)to, kind, (half)bits(operand), (half)bits(cond));
        if (kind != FETCH) {
            fence_system();
            ring(bell);
        }
    } else {
        Asked asked = {ATOMIC | (word)kind << 8 | (word)sizeof(T) << 16 | (before ? (word)WAITS : 0),
                       (word)at, 0, 0, bits(operand), bits(cond)};
        found = 0;
        status = ask(shmem, asked, pe, before ? &found : 0, 0, 0);
    }
    if (before)
        *before = value<T>(found);
    return status;
}

template <class T>
SHMEMX_FN T fetching(const shmemx_device_t &shmem, T *at, Kind kind, T operand, T cond, int pe)
{
    T before;
    atomic<T>(shmem, at, kind, operand, cond, pe, &before);
    return before;
}

template <class T>
SHMEMX_FN bool compare(T a, int cmp, T b)
{
    switch (cmp) {
    case SHMEM_CMP_EQ: return a == b;
    case SHMEM_CMP_NE: return a != b;
    case SHMEM_CMP_LT: return a < b;
    case SHMEM_CMP_LE: return a <= b;
    case SHMEM_CMP_GT: return a > b;
    default: return a >= b;
    }
}

/* So that operands convert to the type of the word alone. */
template <class T>
struct Same {
    typedef T type;
};

} /* namespace impl */

/* This PE's number. */
SHMEMX_FN int my_pe(const shmemx_device_t &shmem) { return shmem.me; }

/* How many PEs the job has. */
SHMEMX_FN int n_pes(const shmemx_device_t &shmem) { return shmem.n_pes; }

/* Where this device loads and stores PE `pe`'s object, or null where it does not reach it. */
template <class T>
SHMEMX_FN T *ptr(const shmemx_device_t &shmem, T *symmetric, int pe)
{
    impl::word bell;
    return (T *)impl::place(shmem, symmetric, pe, bell);
}

/* Puts a value. */
template <class T>
SHMEMX_FN int p(const shmemx_device_t &shmem, T *dest, typename impl::Same<T>::type value, int pe)
{
    impl::word bell, to = impl::place(shmem, dest, pe, bell);
    if (to == 0)
        return impl::put_far(shmem, (impl::word)dest, (const char *)&value, sizeof(T), pe);
    *(T *)to = value;
    return SHMEMX_DEVICE_OK;
}

/* Gets a value. */
template <class T>
SHMEMX_FN T g(const shmemx_device_t &shmem, const T *source, int pe)
{
    impl::word bell, from = impl::place(shmem, source, pe, bell);
    if (from != 0)
        return *(const volatile T *)from;
    T value = T();
    impl::get_far(shmem, (char *)&value, (impl::word)source, sizeof(T), pe);
    return value;
}

/* Puts `n` elements. When it returns, `source` may be used again. */
template <class T>
SHMEMX_FN int put(const shmemx_device_t &shmem, T *dest, const T *source, size_t n, int pe)
{
    return impl::put<impl::One>(shmem, dest, source, n, pe);
}
template <class T>
SHMEMX_FN int put_warp(const shmemx_device_t &shmem, T *dest, const T *source, size_t n, int pe)
{
    return impl::put<impl::Warp>(shmem, dest, source, n, pe);
}
template <class T>
SHMEMX_FN int put_block(const shmemx_device_t &shmem, T *dest, const T *source, size_t n, int pe)
{
    return impl::put<impl::Block>(shmem, dest, source, n, pe);
}

/* Gets `n` elements. When it returns, they are there. */
template <class T>
SHMEMX_FN int get(const shmemx_device_t &shmem, T *dest, const T *source, size_t n, int pe)
{
    return impl::get<impl::One>(shmem, dest, source, n, pe);
}
template <class T>
SHMEMX_FN int get_warp(const shmemx_device_t &shmem, T *dest, const T *source, size_t n, int pe)
{
    return impl::get<impl::Warp>(shmem, dest, source, n, pe);
}
template <class T>
SHMEMX_FN int get_block(const shmemx_device_t &shmem, T *dest, const T *source, size_t n, int pe)
{
    return impl::get<impl::Block>(shmem, dest, source, n, pe);
}

/* Updates a signal, which is an unsigned integer of 8 bytes: `op` is SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD. */
template <class S>
SHMEMX_FN int signal_op(const shmemx_device_t &shmem, S *signal, unsigned long long value, int op, int pe)
{
    static_assert(sizeof(S) == 8, "a signal has 8 bytes");
    impl::Kind kind = op == SHMEM_SIGNAL_ADD ? impl::ADD : impl::SET;
    return impl::atomic<S>(shmem, signal, kind, (S)value, S(), pe, 0);
}

namespace impl {

template <class Group, class T, class S>
SHMEMX_FN int put_signal(const shmemx_device_t &shmem, T *dest, const T *source, size_t n, S *signal, word value,
                         int op, int pe)
{
    word bell, to = place(shmem, dest, pe, bell);
    int status = SHMEMX_DEVICE_OK;
    if (to != 0)
        copy((char *)to, (const char *)source, n * sizeof(T), Group::rank(), Group::size());
    Group::sync();
    if (Group::rank() == 0) {
        if (to != 0)
            fence_system();
        else
            status = put_far(shmem, (word)dest, (const char *)source, n * sizeof(T), pe);
        if (to == 0 && status == SHMEMX_DEVICE_OK)
            status = fence_requests(shmem);
        if (status == SHMEMX_DEVICE_OK)
            status = signal_op(shmem, signal, value, op, pe);
    }
    if (to == 0)
        Group::sync();
    return status;
}

} /* namespace impl */

/* Puts `n` elements, and then updates a signal on the same PE: a PE that sees that, sees them. */
template <class T, class S>
SHMEMX_FN int put_signal(const shmemx_device_t &shmem, T *dest, const T *source, size_t n, S *signal,
                         unsigned long long value, int op, int pe)
{
    return impl::put_signal<impl::One>(shmem, dest, source, n, signal, value, op, pe);
}
template <class T, class S>
SHMEMX_FN int put_signal_warp(const shmemx_device_t &shmem, T *dest, const T *source, size_t n, S *signal,
                              unsigned long long value, int op, int pe)
{
    return impl::put_signal<impl::Warp>(shmem, dest, source, n, signal, value, op, pe);
}
template <class T, class S>
SHMEMX_FN int put_signal_block(const shmemx_device_t &shmem, T *dest, const T *source, size_t n, S *signal,
                               unsigned long long value, int op, int pe)
{
    return impl::put_signal<impl::Block>(shmem, dest, source, n, signal, value, op, pe);
}

/* Atomic operations on words of 4 and 8 bytes: integers, and for fetch, set and swap also float and double. */
template <class T>
SHMEMX_FN T atomic_fetch(const shmemx_device_t &shmem, const T *at, int pe)
{
    return impl::fetching<T>(shmem, (T *)at, impl::FETCH, T(), T(), pe);
}
template <class T>
SHMEMX_FN int atomic_set(const shmemx_device_t &shmem, T *at, typename impl::Same<T>::type value, int pe)
{
    return impl::atomic<T>(shmem, at, impl::SET, value, T(), pe, 0);
}
template <class T>
SHMEMX_FN T atomic_swap(const shmemx_device_t &shmem, T *at, typename impl::Same<T>::type value, int pe)
{
    return impl::fetching<T>(shmem, at, impl::SWAP, value, T(), pe);
}
template <class T>
SHMEMX_FN T atomic_compare_swap(const shmemx_device_t &shmem, T *at, typename impl::Same<T>::type cond,
                                typename impl::Same<T>::type value, int pe)
{
    return impl::fetching<T>(shmem, at, impl::COMPARE_SWAP, value, cond, pe);
}
#define SHMEMX_ATOMIC(name, kind)                                                                                     \
    template <class T>                                                                                                \
    SHMEMX_FN int atomic_##name(const shmemx_device_t &shmem, T *at, typename impl::Same<T>::type value, int pe)      \
    {                                                                                                                 \
        return impl::atomic<T>(shmem, at, impl::kind, value, T(), pe, 0);                                             \
    }                                                                                                                 \
    template <class T>                                                                                                \
    SHMEMX_FN T atomic_fetch_##name(const shmemx_device_t &shmem, T *at, typename impl::Same<T>::type value, int pe)  \
    {                                                                                                                 \
        return impl::fetching<T>(shmem, at, impl::kind, value, T(), pe);                                              \
    }
SHMEMX_ATOMIC(add, ADD)
SHMEMX_ATOMIC(and, AND)
SHMEMX_ATOMIC(or, OR)
SHMEMX_ATOMIC(xor, XOR)
#undef SHMEMX_ATOMIC

/* Whether this PE's object compares so to a value: an integer of 4 or 8 bytes, such as a signal. */
template <class T>
SHMEMX_FN bool test(const shmemx_device_t &shmem, const T *object, int cmp, typename impl::Same<T>::type value)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "words of 4 or 8 bytes are waited for");
    impl::word bell, at = impl::place(shmem, object, shmem.me, bell);
    if (at == 0)
        return impl::compare<T>(atomic_fetch(shmem, object, shmem.me), cmp, value);
    impl::word found = sizeof(T) == 8 ? impl::load8(at) : impl::load4(at);
    return impl::compare<T>(impl::value<T>(found), cmp, value);
}

/* Waits until it does, and no longer than SHMEM_GPU_KERNEL_TIMEOUT says. What was put before the object was changed can
 * be read then. */
template <class T>
SHMEMX_FN int wait_until(const shmemx_device_t &shmem, const T *object, int cmp, typename impl::Same<T>::type value)
{
    for (impl::word begin = impl::now(); !test(shmem, object, cmp, value); impl::pause())
        if (impl::now() - begin > shmem.timeout)
            return impl::give_up(shmem, impl::IN_WAIT, (impl::word)object);
    return SHMEMX_DEVICE_OK;
}

/* Orders what this thread has put to each PE before what it puts after. */
SHMEMX_FN int fence(const shmemx_device_t &shmem)
{
    impl::fence_system();
    return impl::fence_requests(shmem);
}

/* Waits until everything that this thread has put or updated before is complete, and all that the PE's kernels have
 * asked the host for. An error if any of that has failed since the last handle was made. */
SHMEMX_FN int quiet(const shmemx_device_t &shmem)
{
    impl::fence_system();
    impl::ring_all(shmem);
    impl::word asked = impl::load8(shmem.area + impl::TICKET);
    if (asked == 0)
        return SHMEMX_DEVICE_OK;
    int status = impl::await(shmem, shmem.area + impl::BEFORE, asked, true, impl::IN_QUIET);
    if (status == SHMEMX_DEVICE_OK && impl::load8(shmem.area + impl::FAILED) != 0)
        status = SHMEMX_DEVICE_FAILED;
    return status;
}

} /* namespace shmemx */

#endif
