/* The streams of the stand-in for the driver: part of stand_in.c. */
enum { COPY, FILL, KERNEL, CALL, WAIT, WAIT_VALUE, WRITE_VALUE };
/* The arguments of a kernel that combines: two lists with their lengths, and how many units. */
enum { MOST = 64, LISTS = 2 * MOST + 3 };
struct op {
    int kind;
    P to, from;
    size_t len;
    void *staged;
    char name[32];
    uint64_t a[LISTS];
    struct op *next;
};
struct stream {
    struct ctx *ctx;
    int flags, priority;
    struct stream *next;
    pthread_t t;
    pthread_mutex_t m;
    pthread_cond_t c;
    struct op *head, **tail;
    uint64_t given, done;
    int end;
    /* The graph that it is captured into, and how many of its operations were there when the stream's last
       was added, and when another stream last waited for it. */
    struct graph *graph;
    uint64_t added, joined;
};
struct event {
    struct ctx *ctx;
    struct stream *s;
    uint64_t at;
    struct graph *graph;
    int gone;
};
static void sleep_us(int us) {
    struct timespec t = {0, us * 1000L};
    nanosleep(&t, 0);
}
/* Waits for values that are under way. A driver may wait for them where it makes something, and
   this one always does. */
static int waits_given;
static void after_waits(void) {
    while (__atomic_load_n(&waits_given, 5))
        sleep_us(50);
}
#include "stand_in_kernels.h"
static int holds(struct op *o) {
    uint64_t v = o->from, is, mask = o->len == 4 ? UINT32_MAX : UINT64_MAX;
    if (o->len == 4)
        is = __atomic_load_n((uint32_t *)o->to, 5);
    else
        is = __atomic_load_n((uint64_t *)o->to, 5);
    switch (o->a[0]) {
    case 0:
        return o->len == 4 ? (int32_t)(uint32_t)(is - v) >= 0 : (int64_t)(is - v) >= 0;
    case 1:
        return is == v;
    case 2:
        return (is & v) != 0;
    default:
        return (~(is | v) & mask) != 0;
    }
}
static void perform(struct op *o) {
    struct stream *other = (struct stream *)o->to;
    if (delay() && o->kind < CALL)
        sleep_us(delay());
    switch (o->kind) {
    case COPY:
        memmove((void *)o->to, o->staged ? o->staged : (void *)o->from, o->len);
        break;
    case FILL:
        if (o->a[0] == 4)
            for (size_t i = 0; i < o->len; i++)
                ((uint32_t *)o->to)[i] = o->from;
        else
            memset((void *)o->to, (int)o->from, o->len);
        break;
    case CALL:
        called_back = 1;
        ((void (*)(void *))o->to)((void *)o->from);
        called_back = 0;
        break;
    case WAIT:
        pthread_mutex_lock(&other->m);
        while (other->done < o->from)
            pthread_cond_wait(&other->c, &other->m);
        pthread_mutex_unlock(&other->m);
        break;
    case WAIT_VALUE:
        while (!holds(o))
            sleep_us(5);
        __atomic_fetch_sub(&waits_given, 1, 5);
        break;
    case WRITE_VALUE:
        if (o->len == 4)
            __atomic_store_n((uint32_t *)o->to, o->from, 5);
        else
            __atomic_store_n((uint64_t *)o->to, o->from, 5);
        break;
    default:
        kernel(o);
    }
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
        perform(o);
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
/* All there ever were: they are kept for events. */
static struct stream *streams;
/* The default stream of each context. */
static struct stream *legacy[16];
static struct stream *stream(struct ctx *ctx, int flags, int priority) {
    struct stream *s = calloc(1, sizeof *s);
    s->ctx = ctx;
    s->flags = flags;
    s->priority = priority;
    s->tail = &s->head;
    pthread_mutex_init(&s->m, 0);
    pthread_cond_init(&s->c, 0);
    pthread_create(&s->t, 0, work, s);
    pthread_detach(s->t);
    pthread_mutex_lock(&big);
    s->next = streams;
    streams = s;
    pthread_mutex_unlock(&big);
    return s;
}
/* The stream that is meant: null and 1 are the default one of the current context. */
static struct stream *meant(struct stream *s) {
    if ((uintptr_t)s > 2) {
        if (s->end)
            DIE("a destroyed stream is used");
        return s;
    }
    if ((uintptr_t)s == 2)
        DIE("the default stream of a thread is not made up");
    struct ctx *ctx = stack[depth - 1];
    static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&making);
    if (!legacy[ctx - ctxs])
        legacy[ctx - ctxs] = stream(ctx, 0, 0);
    pthread_mutex_unlock(&making);
    return legacy[ctx - ctxs];
}
R cuStreamCreateWithPriority(struct stream **out, unsigned f, int priority) {
    NEED();
    after_waits();
    if (f > 1)
        return INVALID;
    *out = stream(stack[depth - 1], f, priority < -5 ? -5 : priority > 0 ? 0 : priority);
    return OK;
}
R cuStreamCreate(struct stream **out, unsigned f) {
    return cuStreamCreateWithPriority(out, f, 0);
}
R cuStreamGetPriority(struct stream *s, int *priority) {
    NEED();
    *priority = meant(s)->priority;
    return OK;
}
R cuStreamGetFlags(struct stream *s, unsigned *flags) {
    NEED();
    *flags = meant(s)->flags;
    return OK;
}
R cuStreamGetCtx(struct stream *s, struct ctx **c) {
    NEED();
    *c = meant(s)->ctx;
    return OK;
}
/* What is under way goes on. */
R cuStreamDestroy_v2(struct stream *s) {
    NEED();
    if ((uintptr_t)s <= 2)
        return 400;
    s = meant(s);
    pthread_mutex_lock(&s->m);
    s->end = 1;
    pthread_cond_broadcast(&s->c);
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
static void append(struct stream *s, struct op *o) {
    if (o->kind == WAIT_VALUE)
        __atomic_fetch_add(&waits_given, 1, 5);
    pthread_mutex_lock(&s->m);
    *s->tail = o;
    s->tail = &o->next;
    s->given++;
    pthread_cond_broadcast(&s->c);
    pthread_mutex_unlock(&s->m);
}
static uint64_t given(struct stream *s) {
    pthread_mutex_lock(&s->m);
    uint64_t n = s->given;
    pthread_mutex_unlock(&s->m);
    return n;
}
/* In a graph instead, if the stream is captured. */
static int capture(struct stream *s, struct op *o);
static R give(struct stream *s, struct op *o) {
    s = meant(s);
    if (!depth || stack[depth - 1] != s->ctx)
        DIE("a stream is used in another context");
    if (capture(s, o))
        return OK;
    /* The default stream and those that wait for it follow each other. */
    struct stream *first = legacy[s->ctx - ctxs];
    if (s == first) {
        for (struct stream *it = streams; it; it = it->next)
            if (it != s && it->ctx == s->ctx && !it->flags && given(it))
                append(s, op(WAIT, (P)it, given(it), 0));
    } else if (!s->flags && first && given(first))
        append(s, op(WAIT, (P)first, given(first), 0));
    append(s, o);
    return OK;
}
static void drain(struct stream *s) {
    pthread_mutex_lock(&s->m);
    while (s->done < s->given)
        pthread_cond_wait(&s->c, &s->m);
    pthread_mutex_unlock(&s->m);
}
/* The error if it is captured, in which case that fails. */
static R captured(struct stream *s);
R cuStreamSynchronize(struct stream *s) {
    SAFE();
    s = meant(s);
    R refused = captured(s);
    if (!refused)
        drain(s);
    return refused;
}
R cuStreamQuery(struct stream *s) {
    SAFE();
    s = meant(s);
    R refused = captured(s);
    if (refused)
        return refused;
    pthread_mutex_lock(&s->m);
    int over = s->done >= s->given;
    pthread_mutex_unlock(&s->m);
    return over ? OK : NOTREADY;
}
R cuCtxSynchronize(void) {
    SAFE();
    for (struct stream *s = streams; s; s = s->next)
        if (s->ctx == stack[depth - 1])
            drain(s);
    return OK;
}
R cuMemcpyHtoDAsync_v2(P to, const void *from, size_t len, struct stream *s) {
    NEED();
    if (!len)
        return INVALID;
    struct op *o = op(COPY, to, (P)from, len);
    if (!pinned(from, len) && !meant(s)->graph) {
        o->staged = malloc(len);
        memcpy(o->staged, from, len);
    }
    return give(s, o);
}
R cuMemcpyDtoHAsync_v2(void *to, P from, size_t len, struct stream *s) {
    NEED();
    if (!len)
        return INVALID;
    int wait = !pinned(to, len) && !meant(s)->graph;
    give(s, op(COPY, (P)to, from, len));
    if (wait)
        drain(meant(s));
    return OK;
}
R cuMemcpyDtoDAsync_v2(P to, P from, size_t len, struct stream *s) {
    NEED();
    if (!len)
        return INVALID;
    return give(s, op(COPY, to, from, len));
}
/* Which is which, the driver finds out by the addresses. */
R cuMemcpyAsync(P to, P from, size_t len, struct stream *s) {
    NEED();
    if (word_of_device(from, 1) && !pinned((void *)from, 1))
        return word_of_device(to, 1) ? cuMemcpyDtoDAsync_v2(to, from, len, s)
                                     : cuMemcpyDtoHAsync_v2((void *)to, from, len, s);
    return cuMemcpyHtoDAsync_v2(to, (void *)from, len, s);
}
R cuMemcpyHtoD_v2(P to, const void *from, size_t len) {
    SAFE();
    R given = cuMemcpyHtoDAsync_v2(to, from, len, 0);
    drain(meant(0));
    return given;
}
R cuMemcpyDtoH_v2(void *to, P from, size_t len) {
    SAFE();
    R given = cuMemcpyDtoHAsync_v2(to, from, len, 0);
    drain(meant(0));
    return given;
}
R cuMemcpyDtoD_v2(P to, P from, size_t len) {
    SAFE();
    return cuMemcpyDtoDAsync_v2(to, from, len, 0);
}
R cuMemsetD8Async(P to, unsigned char v, size_t len, struct stream *s) {
    NEED();
    if (!len)
        return INVALID;
    return give(s, op(FILL, to, v, len));
}
R cuMemsetD32Async(P to, unsigned v, size_t n, struct stream *s) {
    NEED();
    if (!n || to % 4)
        return INVALID;
    struct op *o = op(FILL, to, v, n);
    o->a[0] = 4;
    return give(s, o);
}
R cuMemAllocAsync(P *p, size_t len, struct stream *s) {
    NEED();
    return cuMemAlloc_v2(p, len);
}
/* When all is over that was given before: sooner would be allowed, but not by that stream. */
R cuMemFreeAsync(P p, struct stream *s) {
    NEED();
    drain(meant(s));
    return unplain(p);
}
R cuLaunchHostFunc(struct stream *s, void (*function)(void *), void *data) {
    NEED();
    return give(s, op(CALL, (P)function, (P)data, 0));
}
static R value(struct stream *s, int kind, P at, uint64_t v, size_t len, unsigned flags) {
    NEED();
    if (flags & 1u << 30)
        return 801;
    if (flags > (kind == WAIT_VALUE ? 3 : 1) || at % len || !word_of_device(at, len))
        return INVALID;
    struct op *o = op(kind, at, v, len);
    o->a[0] = flags;
    return give(s, o);
}
#define VALUES(NAME)                                                                                         \
    R cuStreamWaitValue32##NAME(struct stream *s, P at, uint32_t v, unsigned f) {                            \
        return value(s, WAIT_VALUE, at, v, 4, f);                                                            \
    }                                                                                                        \
    R cuStreamWaitValue64##NAME(struct stream *s, P at, uint64_t v, unsigned f) {                            \
        return value(s, WAIT_VALUE, at, v, 8, f);                                                            \
    }                                                                                                        \
    R cuStreamWriteValue32##NAME(struct stream *s, P at, uint32_t v, unsigned f) {                           \
        return value(s, WRITE_VALUE, at, v, 4, f);                                                           \
    }                                                                                                        \
    R cuStreamWriteValue64##NAME(struct stream *s, P at, uint64_t v, unsigned f) {                           \
        return value(s, WRITE_VALUE, at, v, 8, f);                                                           \
    }
VALUES()
VALUES(_v2)
R cuEventCreate(struct event **e, unsigned f) {
    NEED();
    *e = calloc(1, sizeof **e);
    (*e)->ctx = stack[depth - 1];
    return OK;
}
static struct event *there(struct event *e) {
    if (e->gone)
        DIE("a destroyed event is used");
    return e;
}
/* Kept, so that a later use is seen. */
R cuEventDestroy_v2(struct event *e) {
    NEED();
    there(e)->gone = 1;
    return OK;
}
R cuEventRecord(struct event *e, struct stream *s) {
    NEED();
    s = meant(s);
    if (there(e)->ctx != s->ctx)
        DIE("event of another context");
    e->s = s;
    e->graph = s->graph;
    e->at = s->graph ? s->added : given(s);
    return OK;
}
/* What is asked about an event of a capture ends the capture. */
static R captured_event(struct event *e);
R cuEventQuery(struct event *e) {
    SAFE();
    if (there(e)->graph)
        return captured_event(e);
    if (!e->s)
        return OK;
    pthread_mutex_lock(&e->s->m);
    int over = e->s->done >= e->at;
    pthread_mutex_unlock(&e->s->m);
    return over ? OK : NOTREADY;
}
R cuEventSynchronize(struct event *e) {
    SAFE();
    if (there(e)->graph)
        return captured_event(e);
    if (e->s)
        perform(&(struct op){.kind = WAIT, .to = (P)e->s, .from = e->at});
    return OK;
}
/* A captured stream may wait for what is captured with it alone. */
static R wait_captured(struct stream *s, struct event *e);
R cuStreamWaitEvent(struct stream *s, struct event *e, unsigned f) {
    NEED();
    s = meant(s);
    if (f)
        return INVALID;
    if (s->graph || there(e)->graph)
        return wait_captured(s, e);
    if (e->s)
        append(s, op(WAIT, (P)e->s, e->at, 0));
    return OK;
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
    SAFE();
    after_waits();
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
    if (f->ctx != meant(s)->ctx)
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
    else if (!strcmp(f->name, "heat"))
        for (int i = 0; i < 7; i++)
            o->a[i] = *(uint64_t *)params[i];
    else {
        memcpy(o->a, params[0], MOST * 8);
        o->a[MOST] = *(uint32_t *)params[1];
        memcpy(o->a + MOST + 1, params[2], MOST * 8);
        o->a[2 * MOST + 1] = *(uint32_t *)params[3];
        o->a[2 * MOST + 2] = *(uint64_t *)params[4];
    }
    return give(s, o);
}
