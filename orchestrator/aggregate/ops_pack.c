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

typedef uint64_t columns[OPS_COLUMNS][OPS_CHUNK];

static uint64_t load(const uint8_t *from)
{
    uint64_t v;

    memcpy(&v, from, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

static uint8_t *put(uint8_t *out, uint64_t v, unsigned width)
{
    for (unsigned i = 0; i < width; i++)
        *out++ = (uint8_t) (v >> 8 * i);
    return out;
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
        least = v[i] < least ? v[i] : least;
    for (size_t i = 0; i < n; i++)
        bits |= v[i] - least;
    shift = bits ? (unsigned) __builtin_ctzll(bits) : 0;
    width = width_of(bits >> shift);
    *out++ = (uint8_t) (width | width_of(least) << 4);
    *out++ = (uint8_t) shift;
    out = put(out, least, width_of(least));
    for (size_t i = 0; i < n && width; i++)
        out = put(out, (v[i] - least) >> shift, width);
    return out;
}

static const uint8_t *get_column(const uint8_t *in, uint64_t *v, size_t n)
{
    unsigned width = *in & 15, base = *in >> 4, shift = in[1];
    uint64_t mask = mask_of(width), least = load(in + 2) & mask_of(base);

    in += 2 + base;
    if (!width)
        for (size_t i = 0; i < n; i++)
            v[i] = least;
    else
        for (size_t i = 0; i < n; i++, in += width)
            v[i] = least + ((load(in) & mask) << shift);
    return in;
}

size_t ops_pack(const struct jp_op *ops, size_t n, uint8_t *out)
{
    uint8_t *const from = out;
    columns c;

    for (size_t i = 0; i < n; i++) {
        const struct jp_op *o = &ops[i];

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
    for (unsigned k = 0; k < OPS_COLUMNS; k++)
        out = put_column(out, c[k], n);
    return (size_t) (out - from);
}

void ops_unpack_rows(const uint8_t *bytes, size_t n, struct jp_op *ops)
{
    columns c;

    for (unsigned k = 0; k < OPS_COLUMNS; k++)
        bytes = get_column(bytes, c[k], n);
    for (size_t i = 0; i < n; i++) {
        struct jp_op *o = &ops[i];

        o->sn = c[SN][i];
        o->bytes = c[BYTES][i];
        o->n = (uint32_t) c[N][i];
        o->n_exec = o->n - (uint32_t) c[UNTIMED][i];
        o->n_busbw = o->n - (uint32_t) c[NO_BUSBW][i];
        o->n_start = (uint32_t) c[N_START][i];
        o->min_rank = (uint32_t) c[RANK][i] - 1;
        o->exec_min_us = c[EXEC_MIN][i];
        o->exec_second_us = c[SECOND][i] + o->exec_min_us;
        o->exec_max_us = c[EXEC_MAX][i] + o->exec_min_us;
        o->exec_sum_us = c[EXEC_SUM][i] + o->n_exec * o->exec_min_us;
        o->busbw_min_micro = c[BUSBW_MIN][i];
        o->busbw_max_micro = c[BUSBW_MAX][i] + o->busbw_min_micro;
        o->busbw_sum_micro = c[BUSBW_SUM][i] + o->n_busbw * o->busbw_min_micro;
        o->dump_min_us = c[DUMP_MIN][i];
        o->dump_max_us = c[DUMP_MAX][i] + o->dump_min_us;
        o->start_min_us = c[START_MIN][i];
        o->start_max_us = c[START_MAX][i] + o->start_min_us;
        o->end_max_us = c[END_MAX][i] + o->start_min_us;
    }
}
