/* ops_pack.c - columns of operations at the width that they need. */
#include "orchestrator/aggregate/ops_pack.h"

#include <string.h>

/* In a packed chunk's order. */
enum column {
    SN,
    BYTES,
    N,
    UNTIMED,  /* n - n_exec */
    NO_BUSBW, /* n - n_busbw */
    N_START,
    RANK,      /* min_rank + 1, so that none is 0 */
    EXEC_MIN,  /* shortest */
    SECOND,    /* - shortest */
    EXEC_MAX,  /* - shortest */
    EXEC_SUM,  /* - n_exec * shortest */
    BUSBW_MIN, /* least */
    BUSBW_MAX, /* - least */
    BUSBW_SUM, /* - n_busbw * least */
    DUMP_MIN,  /* first */
    DUMP_MAX,  /* - first */
    START_MIN, /* first */
    START_MAX, /* - first */
    END_MAX,   /* - first start */
};
_Static_assert(END_MAX + 1 == OPS_COLUMNS, "a column is missing");

/* The parts that need a column, for themselves or to follow from it. */
static const unsigned parts_of[OPS_COLUMNS] = {
    [SN] = OPS_SN,
    [BYTES] = OPS_BYTES,
    [N] = OPS_N | OPS_N_EXEC | OPS_N_BUSBW | OPS_EXEC_OTHERS | OPS_BUSBW_SUM,
    [UNTIMED] = OPS_N_EXEC | OPS_EXEC_OTHERS,
    [NO_BUSBW] = OPS_N_BUSBW | OPS_BUSBW_SUM,
    [N_START] = OPS_N_START,
    [RANK] = OPS_RANK,
    [EXEC_MIN] = OPS_EXEC,
    [SECOND] = OPS_EXEC_OTHERS,
    [EXEC_MAX] = OPS_EXEC_MAX,
    [EXEC_SUM] = OPS_EXEC_OTHERS,
    [BUSBW_MIN] = OPS_BUSBW,
    [BUSBW_MAX] = OPS_BUSBW_MAX,
    [BUSBW_SUM] = OPS_BUSBW_SUM,
    [DUMP_MIN] = OPS_DUMP,
    [DUMP_MAX] = OPS_DUMP_MAX,
    [START_MIN] = OPS_STARTS,
    [START_MAX] = OPS_STARTS,
    [END_MAX] = OPS_STARTS,
};

static uint64_t load(const uint8_t *from)
{
    uint64_t v;

    memcpy(&v, from, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

/* Writes eight bytes, of which width count. */
static inline uint8_t *put(uint8_t *out, uint64_t v, unsigned width)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    memcpy(out, &v, sizeof(v));
    return out + width;
}

static unsigned width_of(uint64_t v)
{
    return v ? (71 - (unsigned) __builtin_clzll(v)) / 8 : 0;
}

static uint64_t mask_of(unsigned width)
{
    return width == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * width) - 1;
}

static uint8_t *put_column(uint8_t *out, const uint64_t *v, size_t n)
{
    uint64_t least = v[0], bits = 0;
    unsigned width, shift;

    for (size_t i = 1; i < n; i++)
        bits |= v[i] ^ least;
    if (bits) { /* most columns are of one number */
        for (size_t i = 1; i < n; i++)
            least = v[i] < least ? v[i] : least;
        bits = 0;
        for (size_t i = 0; i < n; i++)
            bits |= v[i] - least;
    }
    shift = bits ? (unsigned) __builtin_ctzll(bits) : 0;
    width = width_of(bits >> shift);
    *out++ = (uint8_t) (width | width_of(least) << 4);
    *out++ = (uint8_t) shift;
    out = put(out, least, width_of(least));
    for (size_t i = 0; i < n && width; i++)
        out = put(out, (v[i] - least) >> shift, width);
    return out;
}

/* A column as it is packed. */
struct view {
    const uint8_t *at;
    uint64_t least, mask;
    unsigned width, shift;
};

/* The column's end. */
static const uint8_t *view_column(const uint8_t *in, size_t n,
                                  struct view *view)
{
    unsigned width = *in & 15, base = *in >> 4;

    *view = (struct view){.at = in + 2 + base,
                          .least = load(in + 2) & mask_of(base),
                          .mask = mask_of(width),
                          .width = width,
                          .shift = in[1]};
    return view->at + n * width;
}

void ops_pack_put(struct ops_columns *columns, size_t i, const struct jp_op *o)
{
    uint64_t(*c)[OPS_CHUNK] = columns->values;

    c[SN][i] = o->sn;
    c[BYTES][i] = o->bytes;
    c[N][i] = o->n;
    c[UNTIMED][i] = (uint32_t) (o->n - o->n_exec);
    c[NO_BUSBW][i] = (uint32_t) (o->n - o->n_busbw);
    c[N_START][i] = o->n_start;
    c[RANK][i] = (uint32_t) (o->min_rank + 1);
    c[EXEC_MIN][i] = o->exec_min_us;
    c[SECOND][i] = o->exec_second_us - o->exec_min_us;
    c[EXEC_MAX][i] = o->exec_max_us - o->exec_min_us;
    c[EXEC_SUM][i] = o->exec_sum_us - o->n_exec * o->exec_min_us;
    c[BUSBW_MIN][i] = o->busbw_min_micro;
    c[BUSBW_MAX][i] = o->busbw_max_micro - o->busbw_min_micro;
    c[BUSBW_SUM][i] = o->busbw_sum_micro - o->n_busbw * o->busbw_min_micro;
    c[DUMP_MIN][i] = o->dump_min_us;
    c[DUMP_MAX][i] = o->dump_max_us - o->dump_min_us;
    c[START_MIN][i] = o->start_min_us;
    c[START_MAX][i] = o->start_max_us - o->start_min_us;
    c[END_MAX][i] = o->end_max_us - o->start_min_us;
}

size_t ops_pack(const struct ops_columns *columns, size_t n, uint8_t *out)
{
    uint8_t *const from = out;

    for (unsigned k = 0; k < OPS_COLUMNS; k++)
        out = put_column(out, columns->values[k], n);
    return (size_t) (out - from);
}

/* What one column says of n operations, once those before it are there. Most
 * columns of a chunk hold one number. */
static void take_column(enum column column, const struct view *view, size_t n,
                        struct jp_op *o)
{
    const struct view c = *view;

#define TAKE(name, member, value)                                              \
    case name:                                                                 \
        for (size_t i = 0; !c.width && i < n; i++) {                           \
            const uint64_t V = c.least;                                        \
                                                                               \
            o[i].member = (value);                                             \
        }                                                                      \
        for (size_t i = 0; c.width && i < n; i++) {                            \
            const uint64_t V =                                                 \
                c.least + ((load(c.at + i * c.width) & c.mask) << c.shift);    \
                                                                               \
            o[i].member = (value);                                             \
        }                                                                      \
        break

    switch (column) {
        TAKE(SN, sn, V);
        TAKE(BYTES, bytes, V);
        TAKE(N, n, (uint32_t) V);
        TAKE(UNTIMED, n_exec, o[i].n - (uint32_t) V);
        TAKE(NO_BUSBW, n_busbw, o[i].n - (uint32_t) V);
        TAKE(N_START, n_start, (uint32_t) V);
        TAKE(RANK, min_rank, (uint32_t) V - 1);
        TAKE(EXEC_MIN, exec_min_us, V);
        TAKE(SECOND, exec_second_us, V + o[i].exec_min_us);
        TAKE(EXEC_MAX, exec_max_us, V + o[i].exec_min_us);
        TAKE(EXEC_SUM, exec_sum_us, V + o[i].n_exec * o[i].exec_min_us);
        TAKE(BUSBW_MIN, busbw_min_micro, V);
        TAKE(BUSBW_MAX, busbw_max_micro, V + o[i].busbw_min_micro);
        TAKE(BUSBW_SUM, busbw_sum_micro,
             V + o[i].n_busbw * o[i].busbw_min_micro);
        TAKE(DUMP_MIN, dump_min_us, V);
        TAKE(DUMP_MAX, dump_max_us, V + o[i].dump_min_us);
        TAKE(START_MIN, start_min_us, V);
        TAKE(START_MAX, start_max_us, V + o[i].start_min_us);
        TAKE(END_MAX, end_max_us, V + o[i].start_min_us);
    }
#undef TAKE
}

void ops_unpack_rows(const uint8_t *bytes, size_t n, unsigned parts,
                     struct jp_op *ops)
{
    for (unsigned k = 0; k < OPS_COLUMNS; k++) {
        struct view view;

        bytes = view_column(bytes, n, &view);
        if (!parts || parts & parts_of[k])
            take_column((enum column) k, &view, n, ops);
    }
}
