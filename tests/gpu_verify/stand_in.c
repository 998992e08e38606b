/*
 * A stand-in for the NVIDIA driver, for tests where there is none: the calls that oxshmem makes, with host
 * memory as the devices' and a thread as each stream. It is strict where the driver is: contexts must be
 * entered and belong to what they are used with, sizes must be multiples, copies must not cross the ends of
 * registered memory. What no driver would forgive ends the process: destroyed streams and events, functions
 * called by a stream that call the driver. Memory begins with rubbish.
 *
 * FAKE_CUDA_DEVICES says how many devices there are (2), FAKE_CUDA_PEERS whether they reach each other (1),
 * FAKE_CUDA_VMM whether memory and addresses are apart (1), FAKE_CUDA_DELAY how many microseconds an
 * operation takes (20). Processes with the same FAKE_CUDA_MACHINE share the memory of the devices, of which
 * each has 1.5 GiB.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
typedef int R;      /* CUresult */
typedef uint64_t P; /* CUdeviceptr */
#define OK 0
#define INVALID 1
#define OOM 2
#define NOCTX 201
#define NOTREADY 600
#define TOTAL ((size_t)3 << 29)
#define DIE(...)                                                                                             \
    do {                                                                                                     \
        fprintf(stderr, "FAKE DRIVER: " __VA_ARGS__);                                                        \
        fprintf(stderr, "\n");                                                                               \
        abort();                                                                                             \
    } while (0)
static int ndev(void) {
    char *e = getenv("FAKE_CUDA_DEVICES"), *visible = getenv("CUDA_VISIBLE_DEVICES");
    return visible && !*visible ? 0 : e ? atoi(e) : 2;
}
static int peers(void) {
    char *e = getenv("FAKE_CUDA_PEERS");
    return e ? atoi(e) : 1;
}
static int vmm(void) {
    char *e = getenv("FAKE_CUDA_VMM");
    return e ? atoi(e) : 1;
}
static int delay(void) {
    static int d = -1;
    if (d < 0) {
        char *e = getenv("FAKE_CUDA_DELAY");
        d = e ? atoi(e) : 20;
    }
    return d;
}
struct ctx {
    int dev;
    int refs;
};
static struct ctx ctxs[16];
static __thread struct ctx *stack[32];
static __thread int depth;
static pthread_mutex_t big = PTHREAD_MUTEX_INITIALIZER;
/* Set on the threads of streams, while they call a function of the program's. */
static __thread int called_back;
#define HOST()                                                                                               \
    do {                                                                                                     \
        if (called_back)                                                                                     \
            DIE("%s is called by a host function of a stream", __func__);                                    \
    } while (0)
#define NEED()                                                                                               \
    do {                                                                                                     \
        HOST();                                                                                              \
        if (!depth)                                                                                          \
            return NOCTX;                                                                                    \
    } while (0)
/* For calls that the driver refuses while a stream is captured: stand_in_graphs.h. */
static R unsafe_call(void);
#define SAFE()                                                                                               \
    do {                                                                                                     \
        NEED();                                                                                              \
        R refused = unsafe_call();                                                                           \
        if (refused)                                                                                         \
            return refused;                                                                                  \
    } while (0)
R cuInit(unsigned f) {
    HOST();
    return ndev() ? OK : 100;
}
R cuDriverGetVersion(int *v) {
    *v = 12040;
    return OK;
}
R cuDeviceGetCount(int *n) {
    *n = ndev();
    return OK;
}
R cuDeviceGet(int *d, int i) {
    if (i >= ndev())
        return 101;
    *d = i;
    return OK;
}
R cuDeviceGetName(char *n, int len, int d) {
    snprintf(n, len, "Fake device");
    return OK;
}
R cuDeviceTotalMem_v2(size_t *bytes, int d) {
    *bytes = TOTAL;
    return OK;
}
R cuDeviceGetUuid_v2(char *u, int d) {
    memset(u, 0x10 + d, 16);
    return OK;
}
R cuDeviceGetAttribute(int *v, int a, int d) {
    /* 98: waits that flush remote writes, which no device of the kind has. */
    *v = a == 75 ? 9 : a == 76 || a == 98 ? 0 : a == 16 ? 4 : (a == 102 || a == 103) ? vmm() : 1;
    return OK;
}
R cuDeviceCanAccessPeer(int *c, int a, int b) {
    *c = peers();
    return OK;
}
R cuDeviceGetP2PAttribute(int *v, int what, int a, int b) {
    *v = peers() && what == 3;
    return OK;
}
R cuDevicePrimaryCtxRetain(struct ctx **c, int d) {
    HOST();
    pthread_mutex_lock(&big);
    ctxs[d].dev = d;
    ctxs[d].refs++;
    *c = &ctxs[d];
    pthread_mutex_unlock(&big);
    return OK;
}
R cuDevicePrimaryCtxRelease_v2(int d) {
    pthread_mutex_lock(&big);
    if (--ctxs[d].refs < 0)
        DIE("context released too often");
    pthread_mutex_unlock(&big);
    return OK;
}
R cuCtxPushCurrent_v2(struct ctx *c) {
    HOST();
    if (c->refs <= 0)
        DIE("push of a context that is gone");
    if (depth >= 32)
        DIE("stack");
    stack[depth++] = c;
    return OK;
}
R cuCtxPopCurrent_v2(struct ctx **c) {
    if (!depth)
        return NOCTX;
    *c = stack[--depth];
    return OK;
}
R cuCtxGetCurrent(struct ctx **c) {
    HOST();
    *c = depth ? stack[depth - 1] : 0;
    return OK;
}
R cuCtxSetCurrent(struct ctx *c) {
    HOST();
    if (c && c->refs <= 0)
        DIE("a context that is gone becomes current");
    if (depth)
        depth--;
    if (c)
        stack[depth++] = c;
    return OK;
}
R cuCtxGetDevice(int *d) {
    NEED();
    *d = stack[depth - 1]->dev;
    return OK;
}
R cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    NEED();
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return OK;
}
R cuGetErrorName(int e, const char **s) {
    *s = "FAKE";
    return OK;
}
R cuGetErrorString(int e, const char **s) {
    *s = "fake";
    return OK;
}
/* pinned ranges */
struct range {
    char *at;
    size_t len;
    int reg;
    struct range *next;
};
static struct range *ranges;
static struct range *find(const char *p, size_t len) {
    struct range *r;
    for (r = ranges; r; r = r->next)
        if (p >= r->at && p < r->at + r->len) {
            if (p + len > r->at + r->len)
                DIE("a copy of %zu bytes leaves its registered range", len);
            return r;
        }
    return 0;
}
static int overlaps(const char *p, size_t len) {
    struct range *r;
    for (r = ranges; r; r = r->next)
        if (p < r->at + r->len && r->at < p + len)
            return 1;
    return 0;
}
static void add(char *p, size_t len, int reg) {
    struct range *r = malloc(sizeof *r);
    r->at = p;
    r->len = len;
    r->reg = reg;
    pthread_mutex_lock(&big);
    r->next = ranges;
    ranges = r;
    pthread_mutex_unlock(&big);
}
static void del(char *p, int reg) {
    pthread_mutex_lock(&big);
    struct range **r;
    for (r = &ranges; *r; r = &(*r)->next)
        if ((*r)->at == p && (*r)->reg == reg) {
            struct range *g = *r;
            *r = g->next;
            free(g);
            pthread_mutex_unlock(&big);
            return;
        }
    DIE("unknown range is freed");
}
static int pinned(const char *p, size_t len) {
    pthread_mutex_lock(&big);
    struct range *r = find(p, len);
    if (!r && overlaps(p, len))
        DIE("a copy enters a registered range");
    pthread_mutex_unlock(&big);
    return !!r;
}
/* Memory that devices reach by its address. */
struct mapped {
    P p;
    size_t len;
    struct mapped *next;
};
static struct mapped *mappeds;
static void map_add(P p, size_t len) {
    struct mapped *m = malloc(sizeof *m);
    m->p = p;
    m->len = len;
    pthread_mutex_lock(&big);
    m->next = mappeds;
    mappeds = m;
    pthread_mutex_unlock(&big);
}
static size_t map_del(P p) {
    size_t len = 0;
    pthread_mutex_lock(&big);
    for (struct mapped **m = &mappeds; *m; m = &(*m)->next)
        if ((*m)->p == p) {
            struct mapped *gone = *m;
            *m = gone->next;
            len = gone->len;
            free(gone);
            break;
        }
    pthread_mutex_unlock(&big);
    return len;
}
/* Whether a device reaches a word there. */
static int word_of_device(P p, size_t len) {
    int found = 0;
    pthread_mutex_lock(&big);
    for (struct mapped *m = mappeds; m && !found; m = m->next)
        found = p >= m->p && p + len <= m->p + m->len;
    for (struct range *r = ranges; r && !found; r = r->next)
        found = (char *)p >= r->at && (char *)p + len <= r->at + r->len;
    pthread_mutex_unlock(&big);
    return found;
}
R cuMemHostAlloc(void **p, size_t len, unsigned f) {
    SAFE();
    *p = aligned_alloc(4096, (len + 4095) / 4096 * 4096);
    memset(*p, 0xcd, len);
    add(*p, len, 0);
    return OK;
}
R cuMemFreeHost(void *p) {
    SAFE();
    del(p, 0);
    free(p);
    return OK;
}
R cuMemHostGetDevicePointer_v2(P *d, void *p, unsigned f) {
    NEED();
    if (f || !pinned(p, 1))
        return INVALID;
    *d = (P)p;
    return OK;
}
R cuMemHostRegister_v2(void *p, size_t len, unsigned f) {
    SAFE();
    pthread_mutex_lock(&big);
    int o = overlaps(p, len);
    pthread_mutex_unlock(&big);
    if (o)
        return 712;
    for (size_t i = 0; i < len; i += 4096)
        ((volatile char *)p)[i];
    add(p, len, 1);
    return OK;
}
R cuMemHostUnregister(void *p) {
    SAFE();
    del(p, 1);
    return OK;
}
/* memory */
static void memory_name(char *name, int dev) {
    char *machine = getenv("FAKE_CUDA_MACHINE");
    snprintf(name, 64, "fake-%s-%d", machine ? machine : "cuda", dev);
}
/* Bytes of a device that processes have, as their descriptors show. */
static size_t used(int dev) {
    char name[64], want[96], path[300], link[128];
    size_t bytes = 0, known = 0;
    static ino_t seen[4096];
    memory_name(name, dev);
    int length = snprintf(want, sizeof want, "/memfd:%s ", name);
    pthread_mutex_lock(&big);
    DIR *processes = opendir("/proc");
    for (struct dirent *p; processes && (p = readdir(processes));) {
        snprintf(path, sizeof path, "/proc/%s/fd", p->d_name);
        DIR *files = p->d_name[0] >= '1' && p->d_name[0] <= '9' ? opendir(path) : 0;
        for (struct dirent *f; files && (f = readdir(files));) {
            struct stat is;
            ssize_t got = readlinkat(dirfd(files), f->d_name, link, sizeof link);
            if (got < length || memcmp(link, want, length) || fstatat(dirfd(files), f->d_name, &is, 0))
                continue;
            size_t i = 0;
            while (i < known && seen[i] != is.st_ino)
                i++;
            if (i == known && known < 4096) {
                seen[known++] = is.st_ino;
                bytes += is.st_size;
            }
        }
        if (files)
            closedir(files);
    }
    if (processes)
        closedir(processes);
    pthread_mutex_unlock(&big);
    return bytes;
}
/* A descriptor of new memory full of rubbish, or none. */
static int new_memory(int dev, size_t len) {
    char name[64];
    if (len > TOTAL || used(dev) + len > TOTAL)
        return -1;
    memory_name(name, dev);
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, len)) {
        close(fd);
        return -1;
    }
    char *m = mmap(0, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    memset(m, 0xab, len);
    munmap(m, len);
    return fd;
}
R cuMemGetInfo_v2(size_t *free, size_t *total) {
    NEED();
    *total = TOTAL;
    *free = TOTAL - used(stack[depth - 1]->dev);
    return OK;
}
R cuMemGetAllocationGranularity(size_t *g, void *prop, int o) {
    *g = 2 << 20;
    return OK;
}
R cuMemAddressReserve(P *p, size_t len, size_t al, P a, unsigned long long f) {
    void *m = mmap(0, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m == MAP_FAILED)
        return OOM;
    *p = (P)m;
    return OK;
}
R cuMemAddressFree(P p, size_t len) {
    return munmap((void *)p, len) ? INVALID : OK;
}
R cuMemCreate(P *h, size_t len, int *prop, unsigned long long f) {
    if (len % (2 << 20) || prop[2] != 1 || prop[3] >= ndev())
        return INVALID;
    int fd = new_memory(prop[3], len);
    if (fd < 0)
        return OOM;
    *h = fd + 1;
    return OK;
}
R cuMemRelease(P h) {
    return close(h - 1) ? INVALID : OK;
}
R cuMemMap(P p, size_t len, size_t off, P h, unsigned long long f) {
    if (p % (2 << 20) || len % (2 << 20) || off)
        return INVALID;
    return mmap((void *)p, len, PROT_NONE, MAP_SHARED | MAP_FIXED, h - 1, 0) == MAP_FAILED ? INVALID : OK;
}
R cuMemUnmap(P p, size_t len) {
    map_del(p);
    return mmap((void *)p, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
                   MAP_FAILED
               ? INVALID
               : OK;
}
R cuMemSetAccess(P p, size_t len, int *desc, size_t n) {
    if (n != 1 || desc[0] != 1 || desc[2] != 3)
        return INVALID;
    if (mprotect((void *)p, len, PROT_READ | PROT_WRITE))
        return INVALID;
    map_del(p);
    map_add(p, len);
    return OK;
}
R cuMemExportToShareableHandle(int *out, P h, unsigned t, unsigned long long f) {
    if (t != 1)
        return INVALID;
    *out = fcntl(h - 1, F_DUPFD_CLOEXEC, 0);
    return OK;
}
R cuMemImportFromShareableHandle(P *h, void *os, unsigned t) {
    int fd = fcntl((int)(uintptr_t)os, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return INVALID;
    *h = fd + 1;
    return OK;
}
struct plain {
    P p;
    size_t len;
    int fd;
    struct plain *next;
};
static struct plain *plains;
static P plain(int fd, size_t len) {
    void *m = mmap(0, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (m == MAP_FAILED)
        return 0;
    struct plain *q = malloc(sizeof *q);
    q->p = (P)m;
    q->len = len;
    q->fd = fd;
    pthread_mutex_lock(&big);
    q->next = plains;
    plains = q;
    pthread_mutex_unlock(&big);
    map_add(q->p, len);
    return q->p;
}
static R unplain(P p) {
    map_del(p);
    pthread_mutex_lock(&big);
    struct plain **q;
    for (q = &plains; *q; q = &(*q)->next)
        if ((*q)->p == p) {
            struct plain *g = *q;
            *q = g->next;
            munmap((void *)p, g->len);
            close(g->fd);
            free(g);
            pthread_mutex_unlock(&big);
            return OK;
        }
    pthread_mutex_unlock(&big);
    return INVALID;
}
R cuMemAlloc_v2(P *p, size_t len) {
    SAFE();
    if (!len)
        return INVALID;
    int fd = new_memory(stack[depth - 1]->dev, len);
    *p = fd < 0 ? 0 : plain(fd, len);
    return *p ? OK : OOM;
}
R cuMemFree_v2(P p) {
    SAFE();
    return unplain(p);
}
struct ipc {
    int pid, fd;
    size_t len;
    char rest[48];
};
R cuIpcGetMemHandle(struct ipc *h, P p) {
    NEED();
    struct plain *q;
    for (q = plains; q && q->p != p; q = q->next)
        ;
    if (!q)
        return INVALID;
    h->pid = getpid();
    h->fd = q->fd;
    h->len = q->len;
    return OK;
}
R cuIpcOpenMemHandle_v2(P *p, struct ipc h, unsigned f) {
    NEED();
    if (h.pid == getpid())
        return INVALID;
    char n[64];
    snprintf(n, 64, "/proc/%d/fd/%d", h.pid, h.fd);
    int fd = open(n, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return INVALID;
    *p = plain(fd, h.len);
    return *p ? OK : INVALID;
}
R cuIpcCloseMemHandle(P p) {
    NEED();
    return unplain(p);
}
R cuPointerGetAttribute(unsigned *kind, int attribute, P p) {
    NEED();
    if (attribute != 2)
        return INVALID;
    int found = 0;
    pthread_mutex_lock(&big);
    for (struct mapped *m = mappeds; m; m = m->next)
        found |= p >= m->p && p < m->p + m->len ? 2 : 0;
    for (struct plain *q = plains; q; q = q->next)
        found |= p >= q->p && p < q->p + q->len ? 2 : 0;
    if (!found)
        for (struct range *r = ranges; r; r = r->next)
            found |= (char *)p >= r->at && (char *)p < r->at + r->len;
    pthread_mutex_unlock(&big);
    *kind = found;
    return found ? OK : INVALID;
}
#include "stand_in_streams.h"
#include "stand_in_graphs.h"
