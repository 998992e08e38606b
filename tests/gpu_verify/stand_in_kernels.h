/* The kernels that run on the stand-in for the driver: part of stand_in_streams.h. */
/* Pattern `how` ('r'educe, 'i'nclusive and 'e'xclusive scan, 'c'opy) of `len` elements. */
#define COMBINE(T, OP)                                                                                       \
    for (uint64_t i = 0; i < len; i++) {                                                                     \
        T acc = 0;                                                                                           \
        for (unsigned j = 0; j < nf; j++) {                                                                  \
            T v = ((T *)from[j])[i];                                                                         \
            if (how == 'e')                                                                                  \
                ((T *)to[j])[i] = acc;                                                                       \
            acc = j && how != 'c' ? (T)(OP) : v;                                                             \
            if (how == 'i' || how == 'c')                                                                    \
                ((T *)to[j])[i] = acc;                                                                       \
        }                                                                                                    \
        for (unsigned j = 0; how == 'r' && j < nt; j++)                                                      \
            ((T *)to[j])[i] = acc;                                                                           \
    }
/* `name` is PATTERN_OPERATION_TYPE, with _wide behind it where units have 16 bytes. */
static void combine(char *name, uint64_t *from, unsigned nf, uint64_t *to, unsigned nt, uint64_t units) {
    char pattern[8], op[8], type[8], wide[8] = "", what[20];
    if (sscanf(name, "%7[a-z]_%7[a-z]_%7[a-z0-9]_%7s", pattern, op, type, wide) < 3)
        DIE("no kernel %s", name);
    int how = *pattern, size = atoi(type + 1) / 8 * (*type == 'c' ? 2 : 1);
    uint64_t len = *wide ? units * (16 / size) : units, align = *wide ? 16 : size / (*type == 'c' ? 2 : 1);
    if (nf > MOST || nt > MOST || !nf || (how != 'r' && nt != nf))
        DIE("lists of %u and %u", nf, nt);
    for (unsigned j = 0; j < nf + nt; j++)
        if ((j < nf ? from[j] : to[j - nf]) % align)
            DIE("misaligned");
    snprintf(what, sizeof what, "%s_%s", op, type);
#define AS(NAME, T, OP)                                                                                      \
    if (!strcmp(what, NAME)) {                                                                               \
        COMBINE(T, OP)                                                                                       \
        return;                                                                                              \
    }
#define BITS(S, T)                                                                                           \
    AS("and_b" S, T, acc & v) AS("or_b" S, T, acc | v) AS("xor_b" S, T, acc ^ v) AS("any_b" S, T, v)
#define ORDER(S, T) AS("min_" S, T, acc < v ? acc : v) AS("max_" S, T, acc > v ? acc : v)
#define ARITHMETIC(S, T) AS("sum_" S, T, acc + v) AS("prod_" S, T, acc * v)
    BITS("8", uint8_t) BITS("16", uint16_t) BITS("32", uint32_t) BITS("64", uint64_t)
    ORDER("s8", int8_t) ORDER("s16", int16_t) ORDER("s32", int32_t) ORDER("s64", int64_t)
    ORDER("u8", uint8_t) ORDER("u16", uint16_t) ORDER("u32", uint32_t) ORDER("u64", uint64_t)
    ORDER("f32", float) ORDER("f64", double)
    /* Two short factors are an int, which overflows. */
    ARITHMETIC("u8", uint8_t) AS("sum_u16", uint16_t, acc + v) AS("prod_u16", uint16_t, (unsigned)acc * v)
    ARITHMETIC("u32", uint32_t) ARITHMETIC("u64", uint64_t) ARITHMETIC("f32", float) ARITHMETIC("f64", double)
    AS("prod_c32", float _Complex, acc * v) AS("prod_c64", double _Complex, acc * v)
    DIE("no kernel %s", name);
}
/* That of examples/heat_gpu. */
static void heat(uint64_t *a) {
    const double *from = (double *)a[0];
    double *to = (double *)a[1];
    uint64_t start = a[2], count = a[3], columns = a[4], first = a[5], rows = a[6];
    for (uint64_t i = start; i < start + count; i++) {
        uint64_t row = first + i / columns, column = i % columns;
        to[i] = from[i];
        if (row && row + 1 != rows && column && column + 1 != columns) {
            double around = from[i - columns] + from[i + columns];
            around = around + from[i - 1] + from[i + 1];
            to[i] = 0.5 * from[i] + 0.125 * around;
        }
    }
}
static void kernel(struct op *o) {
    uint64_t *a = o->a;
    if (!strcmp(o->name, "heat")) {
        heat(a);
        return;
    }
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
        case 2:                                                                                              \
            old = __atomic_exchange_n(w, v, 5);                                                              \
            break;                                                                                           \
        case 3:                                                                                              \
            __atomic_compare_exchange_n(w, &c, v, 0, 5, 5);                                                  \
            old = c;                                                                                         \
            break;                                                                                           \
        case 4:                                                                                              \
            old = __atomic_fetch_add(w, v, 5);                                                               \
            break;                                                                                           \
        case 5:                                                                                              \
            old = __atomic_fetch_and(w, v, 5);                                                               \
            break;                                                                                           \
        case 6:                                                                                              \
            old = __atomic_fetch_or(w, v, 5);                                                                \
            break;                                                                                           \
        case 7:                                                                                              \
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
    combine(o->name, a, a[MOST], a + MOST + 1, a[2 * MOST + 1], a[2 * MOST + 2]);
}
