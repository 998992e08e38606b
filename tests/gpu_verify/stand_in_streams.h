/* The streams of the stand-in for the driver, and the kernels that run on them: part of stand_in.c. */
enum { COPY, FILL, KERNEL, CALL };
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
        if (delay() && o->kind != CALL)
            nap(delay());
        if (o->kind == COPY)
            memcpy((void *)o->to, o->staged ? o->staged : (void *)o->from, o->len);
        else if (o->kind == FILL)
            memset((void *)o->to, (int)o->from, o->len);
        else if (o->kind == CALL)
            ((void (*)(void *))o->to)((void *)o->from);
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
R cuLaunchHostFunc(struct stream *s, void (*function)(void *), void *data) {
    NEED();
    return give(s, op(CALL, (P)function, (P)data, 0));
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
