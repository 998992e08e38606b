/*
 * A stand-in for the NVIDIA driver, for tests where there is none: the calls that oxshmem makes, with host
 * memory as the devices' and a thread as each stream. It is strict where the driver is: contexts must be
 * entered and belong to what they are used with, sizes must be multiples, copies must not cross the ends of
 * registered memory. What no driver would forgive ends the process. Memory begins with rubbish.
 *
 * FAKE_CUDA_DEVICES says how many devices there are (2), FAKE_CUDA_PEERS whether they reach each other (1),
 * FAKE_CUDA_VMM whether memory and addresses are apart (1), FAKE_CUDA_DELAY how many microseconds an
 * operation takes (20).
 */
#define _GNU_SOURCE
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
#define DIE(...)                                                                                             \
    do {                                                                                                     \
        fprintf(stderr, "FAKE DRIVER: " __VA_ARGS__);                                                        \
        fprintf(stderr, "\n");                                                                               \
        abort();                                                                                             \
    } while (0)
static int ndev(void) {
    char *e = getenv("FAKE_CUDA_DEVICES");
    return e ? atoi(e) : 2;
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
#define NEED()                                                                                               \
    do {                                                                                                     \
        if (!depth)                                                                                          \
            return NOCTX;                                                                                    \
    } while (0)
R cuInit(unsigned f) {
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
    *bytes = (size_t)3 << 29;
    return OK;
}
R cuDeviceGetUuid_v2(char *u, int d) {
    memset(u, 0x10 + d, 16);
    return OK;
}
R cuDeviceGetAttribute(int *v, int a, int d) {
    *v = a == 75 ? 9 : a == 76 ? 0 : a == 16 ? 4 : (a == 102 || a == 103) ? vmm() : 1;
    return OK;
}
R cuDeviceCanAccessPeer(int *c, int a, int b) {
    *c = peers();
    return OK;
}
R cuDevicePrimaryCtxRetain(struct ctx **c, int d) {
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
R cuMemHostAlloc(void **p, size_t len, unsigned f) {
    NEED();
    *p = aligned_alloc(4096, (len + 4095) / 4096 * 4096);
    memset(*p, 0xcd, len);
    add(*p, len, 0);
    return OK;
}
R cuMemFreeHost(void *p) {
    NEED();
    del(p, 0);
    free(p);
    return OK;
}
R cuMemHostGetDevicePointer_v2(P *d, void *p, unsigned f) {
    *d = (P)p;
    return OK;
}
R cuMemHostRegister_v2(void *p, size_t len, unsigned f) {
    NEED();
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
    NEED();
    del(p, 1);
    return OK;
}
/* memory */
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
R cuMemCreate(P *h, size_t len, void *prop, unsigned long long f) {
    if (len % (2 << 20))
        return INVALID;
    int fd = memfd_create("fake", MFD_CLOEXEC);
    if (ftruncate(fd, len))
        return OOM;
    char *m = mmap(0, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    memset(m, 0xab, len);
    munmap(m, len);
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
    return mmap((void *)p, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
                   MAP_FAILED
               ? INVALID
               : OK;
}
R cuMemSetAccess(P p, size_t len, int *desc, size_t n) {
    if (n != 1 || desc[0] != 1 || desc[2] != 3)
        return INVALID;
    return mprotect((void *)p, len, PROT_READ | PROT_WRITE) ? INVALID : OK;
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
    return q->p;
}
static R unplain(P p) {
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
    NEED();
    int fd = memfd_create("fakeplain", MFD_CLOEXEC);
    if (ftruncate(fd, len))
        return OOM;
    *p = plain(fd, len);
    memset((void *)*p, 0xab, len);
    return *p ? OK : OOM;
}
R cuMemFree_v2(P p) {
    NEED();
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
/* streams */
enum { COPY, FILL, KERNEL };
struct op {
    int kind;
    P to, from;
    size_t len;
    void *staged;
    char name[32];
    uint64_t a[40];
    struct op *next;
};
struct stream {
    struct ctx *ctx;
    pthread_t t;
    pthread_mutex_t m;
    pthread_cond_t c;
    struct op *head, **tail;
    uint64_t given, done;
    int end;
};
struct event {
    struct ctx *ctx;
    struct stream *s;
    uint64_t at;
};
static void nap(int us) {
    struct timespec t = {0, us * 1000L};
    nanosleep(&t, 0);
}
#define LIST(T, OP)                                                                                          \
    for (uint64_t i = 0; i < len; i++) {                                                                     \
        T acc = ((T *)from[0])[i];                                                                           \
        for (unsigned j = 1; j < nf; j++) {                                                                  \
            T v = ((T *)from[j])[i];                                                                         \
            acc = (OP);                                                                                      \
        }                                                                                                    \
        for (unsigned j = 0; j < nt; j++)                                                                    \
            ((T *)to[j])[i] = acc;                                                                           \
    }
static void kernel(struct op *o) {
    uint64_t *a = o->a;
    if (!strncmp(o->name, "amo", 3)) {
        uint64_t old = 0;
#define AMO(T)                                                                                               \
    {                                                                                                        \
        T *w = (T *)a[0];                                                                                    \
        T v = a[2], c = a[3];                                                                                \
        switch ((unsigned)a[1]) {                                                                            \
        case 0:                                                                                              \
            old = __atomic_load_n(w, 5);                                                                     \
            break;                                                                                           \
        case 1:                                                                                              \
            old = __atomic_exchange_n(w, v, 5);                                                              \
            break;                                                                                           \
        case 2:                                                                                              \
            __atomic_compare_exchange_n(w, &c, v, 0, 5, 5);                                                  \
            old = c;                                                                                         \
            break;                                                                                           \
        case 3:                                                                                              \
            old = __atomic_fetch_add(w, v, 5);                                                               \
            break;                                                                                           \
        case 4:                                                                                              \
            old = __atomic_fetch_and(w, v, 5);                                                               \
            break;                                                                                           \
        case 5:                                                                                              \
            old = __atomic_fetch_or(w, v, 5);                                                                \
            break;                                                                                           \
        case 6:                                                                                              \
            old = __atomic_fetch_xor(w, v, 5);                                                               \
            break;                                                                                           \
        default:                                                                                             \
            DIE("amo %u", (unsigned)a[1]);                                                                   \
        }                                                                                                    \
    }
        if (!strcmp(o->name, "amo32"))
            AMO(uint32_t) else AMO(uint64_t) * (uint64_t *)a[4] = old;
        return;
    }
    if (!strncmp(o->name, "blocks", 6)) {
        int u = atoi(o->name + 6);
        for (uint64_t i = 0; i < a[5]; i++) {
            uint64_t b = i / a[4], w = i % a[4];
            P f = a[0] + b * a[2] + w * u, t = a[1] + b * a[3] + w * u;
            if (f % u || t % u)
                DIE("misaligned");
            memcpy((void *)t, (void *)f, u);
        }
        return;
    }
    uint64_t *from = a, *to = a + 17, len = a[34];
    unsigned nf = a[16], nt = a[33];
    if (nf > 16 || nt > 16 || !nf)
        DIE("lists");
#define NUM(S, T)                                                                                            \
    if (!strcmp(o->name, "sum_" S)) {                                                                        \
        LIST(T, acc + v) return;                                                                             \
    }                                                                                                        \
    if (!strcmp(o->name, "prod_" S)) {                                                                       \
        LIST(T, acc * v) return;                                                                             \
    }                                                                                                        \
    if (!strcmp(o->name, "min_" S)) {                                                                        \
        LIST(T, acc < v ? acc : v) return;                                                                   \
    }                                                                                                        \
    if (!strcmp(o->name, "max_" S)) {                                                                        \
        LIST(T, acc > v ? acc : v) return;                                                                   \
    }
    NUM("s32", int32_t)
    NUM("u32", uint32_t) NUM("s64", int64_t) NUM("u64", uint64_t) NUM("f32", float) NUM("f64", double)
#define BIT(S, T)                                                                                            \
    if (!strcmp(o->name, "and_" S)) {                                                                        \
        LIST(T, acc & v) return;                                                                             \
    }                                                                                                        \
    if (!strcmp(o->name, "or_" S)) {                                                                         \
        LIST(T, acc | v) return;                                                                             \
    }                                                                                                        \
    if (!strcmp(o->name, "xor_" S)) {                                                                        \
        LIST(T, acc ^ v) return;                                                                             \
    }
        BIT("b32", uint32_t) BIT("b64", uint64_t) DIE("no kernel %s", o->name);
}
static void *work(void *p) {
    struct stream *s = p;
    pthread_mutex_lock(&s->m);
    for (;;) {
        while (!s->head && !s->end)
            pthread_cond_wait(&s->c, &s->m);
        if (!s->head)
            break;
        struct op *o = s->head;
        pthread_mutex_unlock(&s->m);
        if (delay())
            nap(delay());
        if (o->kind == COPY)
            memcpy((void *)o->to, o->staged ? o->staged : (void *)o->from, o->len);
        else if (o->kind == FILL)
            memset((void *)o->to, (int)o->from, o->len);
        else
            kernel(o);
        free(o->staged);
        pthread_mutex_lock(&s->m);
        s->head = o->next;
        if (!s->head)
            s->tail = &s->head;
        s->done++;
        free(o);
        pthread_cond_broadcast(&s->c);
    }
    pthread_mutex_unlock(&s->m);
    return 0;
}
R cuStreamCreate(struct stream **out, unsigned f) {
    NEED();
    if (f != 1)
        return INVALID;
    struct stream *s = calloc(1, sizeof *s);
    s->ctx = stack[depth - 1];
    s->tail = &s->head;
    pthread_mutex_init(&s->m, 0);
    pthread_cond_init(&s->c, 0);
    pthread_create(&s->t, 0, work, s);
    *out = s;
    return OK;
}
R cuStreamDestroy_v2(struct stream *s) {
    NEED();
    pthread_mutex_lock(&s->m);
    s->end = 1;
    pthread_cond_broadcast(&s->c);
    pthread_mutex_unlock(&s->m);
    pthread_join(s->t, 0); /* kept for events */
    return OK;
}
static R give(struct stream *s, struct op *o) {
    if (!depth || stack[depth - 1] != s->ctx)
        DIE("a stream is used in another context");
    pthread_mutex_lock(&s->m);
    *s->tail = o;
    s->tail = &o->next;
    s->given++;
    pthread_cond_broadcast(&s->c);
    pthread_mutex_unlock(&s->m);
    return OK;
}
R cuStreamSynchronize(struct stream *s) {
    NEED();
    pthread_mutex_lock(&s->m);
    while (s->done < s->given)
        pthread_cond_wait(&s->c, &s->m);
    pthread_mutex_unlock(&s->m);
    return OK;
}
static struct op *op(int kind, P to, P from, size_t len) {
    struct op *o = calloc(1, sizeof *o);
    o->kind = kind;
    o->to = to;
    o->from = from;
    o->len = len;
    return o;
}
R cuMemcpyHtoDAsync_v2(P to, const void *from, size_t len, struct stream *s) {
    NEED();
    if (!len)
        return INVALID;
    struct op *o = op(COPY, to, (P)from, len);
    if (!pinned(from, len)) {
        o->staged = malloc(len);
        memcpy(o->staged, from, len);
    }
    return give(s, o);
}
R cuMemcpyDtoHAsync_v2(void *to, P from, size_t len, struct stream *s) {
    NEED();
    if (!len)
        return INVALID;
    int p = pinned(to, len);
    give(s, op(COPY, (P)to, from, len));
    if (!p)
        cuStreamSynchronize(s);
    return OK;
}
R cuMemcpyDtoDAsync_v2(P to, P from, size_t len, struct stream *s) {
    NEED();
    if (!len)
        return INVALID;
    return give(s, op(COPY, to, from, len));
}
R cuMemsetD8Async(P to, unsigned char v, size_t len, struct stream *s) {
    NEED();
    if (!len)
        return INVALID;
    return give(s, op(FILL, to, v, len));
}
R cuEventCreate(struct event **e, unsigned f) {
    NEED();
    *e = calloc(1, sizeof **e);
    (*e)->ctx = stack[depth - 1];
    return OK;
}
R cuEventDestroy_v2(struct event *e) {
    NEED();
    free(e);
    return OK;
}
R cuEventRecord(struct event *e, struct stream *s) {
    NEED();
    if (e->ctx != s->ctx)
        DIE("event of another context");
    pthread_mutex_lock(&s->m);
    e->s = s;
    e->at = s->given;
    pthread_mutex_unlock(&s->m);
    return OK;
}
R cuEventQuery(struct event *e) {
    NEED();
    if (!e->s)
        return OK;
    pthread_mutex_lock(&e->s->m);
    int over = e->s->done >= e->at;
    pthread_mutex_unlock(&e->s->m);
    return over ? OK : NOTREADY;
}
/* kernels */
struct module {
    struct ctx *ctx;
    char *text;
};
struct function {
    struct ctx *ctx;
    char name[32];
};
R cuModuleLoadData(struct module **m, const char *text) {
    NEED();
    *m = malloc(sizeof **m);
    (*m)->ctx = stack[depth - 1];
    (*m)->text = strdup(text);
    return OK;
}
R cuModuleUnload(struct module *m) {
    NEED();
    free(m->text);
    free(m);
    return OK;
}
R cuModuleGetFunction(struct function **f, struct module *m, const char *name) {
    NEED();
    char want[64];
    snprintf(want, 64, ".entry %s(", name);
    if (!strstr(m->text, want))
        return 500;
    *f = malloc(sizeof **f);
    (*f)->ctx = m->ctx;
    snprintf((*f)->name, 32, "%s", name);
    return OK;
}
R cuLaunchKernel(struct function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                 unsigned bz, unsigned sh, struct stream *s, void **params, void **extra) {
    NEED();
    if (f->ctx != s->ctx)
        DIE("kernel of another context");
    if (!gx || !bx || bx > 1024)
        return INVALID;
    struct op *o = op(KERNEL, 0, 0, 0);
    strcpy(o->name, f->name);
    if (!strncmp(f->name, "amo", 3)) {
        for (int i = 0; i < 5; i++)
            o->a[i] = i == 1 ? *(uint32_t *)params[i] : *(uint64_t *)params[i];
        if (gx * bx != 1)
            DIE("amo threads");
    } else if (!strncmp(f->name, "blocks", 6))
        for (int i = 0; i < 6; i++)
            o->a[i] = *(uint64_t *)params[i];
    else {
        memcpy(o->a, params[0], 128);
        o->a[16] = *(uint32_t *)params[1];
        memcpy(o->a + 17, params[2], 128);
        o->a[33] = *(uint32_t *)params[3];
        o->a[34] = *(uint64_t *)params[4];
    }
    return give(s, o);
}
