/*
 * Streams that are captured, and graphs: part of stand_in.c. A graph is the list of what was captured, in the
 * order of the calls, and is carried out in that order.
 */
struct graph {
    struct op *head, **tail;
    uint64_t count;
    struct stream *origin;
    int mode, broken;
    pthread_t thread;
    struct graph *next;
};
/* Those whose capture is not over. */
static struct graph *captures;
static __thread int thread_mode;
#define UNSUPPORTED 900
#define INVALIDATED 901
#define RELAXED 2
/* Calls that may wait for what is captured, or change what exists, are not allowed on a thread that captures,
   nor on any while another captures globally, unless the thread or the capture is relaxed about it. */
static R unsafe_call(void) {
    R refused = OK;
    if (!captures || thread_mode == RELAXED)
        return OK;
    pthread_mutex_lock(&big);
    for (struct graph *g = captures; g; g = g->next) {
        int own = pthread_equal(g->thread, pthread_self());
        if (g->mode != RELAXED && (own || (g->mode == 0 && thread_mode == 0))) {
            g->broken = 1;
            refused = UNSUPPORTED;
        }
    }
    pthread_mutex_unlock(&big);
    return refused;
}
R cuThreadExchangeStreamCaptureMode(int *mode) {
    HOST();
    int before = thread_mode;
    if (*mode < 0 || *mode > RELAXED)
        return INVALID;
    thread_mode = *mode;
    *mode = before;
    return OK;
}
static int capture(struct stream *s, struct op *o) {
    pthread_mutex_lock(&big);
    struct graph *g = s->graph;
    if (g) {
        *g->tail = o;
        g->tail = &o->next;
        s->added = ++g->count;
    }
    pthread_mutex_unlock(&big);
    return g != 0;
}
static R captured(struct stream *s) {
    if (!s->graph)
        return OK;
    s->graph->broken = 1;
    return UNSUPPORTED;
}
static R captured_event(struct event *e) {
    if (e->s->graph == e->graph)
        e->graph->broken = 1;
    return 907;
}
static R wait_captured(struct stream *s, struct event *e) {
    struct graph *g = s->graph;
    if (g && g != e->graph) {
        g->broken = 1;
        return e->graph ? 902 : 905;
    }
    if (e->s->graph != e->graph)
        return 907;
    if (s == legacy[s->ctx - ctxs])
        return 906;
    if (e->s == s)
        return OK;
    if (!g) {
        s->graph = e->graph;
        s->added = s->joined = e->at;
    } else
        /* What was captured there is waited for with this stream. */
        s->added = g->count;
    if (e->s->joined < e->at)
        e->s->joined = e->at;
    return OK;
}
R cuStreamBeginCapture_v2(struct stream *s, int mode) {
    NEED();
    if ((uintptr_t)s <= 2)
        return UNSUPPORTED;
    s = meant(s);
    if (s->graph || mode < 0 || mode > RELAXED)
        return INVALID;
    struct graph *g = calloc(1, sizeof *g);
    g->tail = &g->head;
    g->origin = s;
    g->mode = mode;
    g->thread = pthread_self();
    pthread_mutex_lock(&big);
    s->graph = g;
    s->added = s->joined = 0;
    g->next = captures;
    captures = g;
    pthread_mutex_unlock(&big);
    return OK;
}
R cuStreamEndCapture(struct stream *s, struct graph **out) {
    NEED();
    s = meant(s);
    struct graph *g = s->graph;
    *out = 0;
    if (!g)
        return INVALID;
    if (g->mode != RELAXED && !pthread_equal(g->thread, pthread_self()))
        return 908;
    if (g->origin != s)
        return 903;
    R ended = g->broken ? INVALIDATED : OK;
    pthread_mutex_lock(&big);
    for (struct stream *it = streams; it; it = it->next)
        if (it->graph == g) {
            if (it != s && it->added > it->joined && !ended)
                ended = 904;
            it->graph = 0;
        }
    for (struct graph **it = &captures; *it; it = &(*it)->next)
        if (*it == g) {
            *it = g->next;
            break;
        }
    pthread_mutex_unlock(&big);
    if (!ended)
        *out = g;
    return ended;
}
R cuStreamIsCapturing(struct stream *s, int *status) {
    NEED();
    s = meant(s);
    *status = !s->graph ? 0 : s->graph->broken ? 2 : 1;
    return OK;
}
/* One that can be launched is a graph too. */
R cuGraphInstantiateWithFlags(struct graph **out, struct graph *from, unsigned long long flags) {
    NEED();
    struct graph *g = calloc(1, sizeof *g);
    g->tail = &g->head;
    for (struct op *o = from->head; o; o = o->next) {
        struct op *copy = malloc(sizeof *copy);
        *copy = *o;
        copy->next = 0;
        *g->tail = copy;
        g->tail = &copy->next;
        g->count++;
    }
    *out = g;
    return OK;
}
R cuGraphUpload(struct graph *g, struct stream *s) {
    NEED();
    return OK;
}
R cuGraphLaunch(struct graph *g, struct stream *s) {
    NEED();
    for (struct op *o = g->head; o; o = o->next) {
        struct op *copy = malloc(sizeof *copy);
        *copy = *o;
        copy->next = 0;
        give(s, copy);
    }
    return OK;
}
R cuGraphDestroy(struct graph *g) {
    NEED();
    for (struct op *o = g->head; o;) {
        struct op *next = o->next;
        free(o);
        o = next;
    }
    free(g);
    return OK;
}
R cuGraphExecDestroy(struct graph *g) {
    return cuGraphDestroy(g);
}
R cuGraphGetNodes(struct graph *g, void **nodes, size_t *count) {
    NEED();
    if (nodes)
        return 801;
    *count = g->count;
    return OK;
}
