/* partial_rows_in.c - unpack the operations of a series into a join. */
#include "orchestrator/aggregate/partial_rows_in.h"

#include <stdlib.h>
#include <string.h>

struct partial_rows *partial_rows_create(void)
{
    return calloc(1, sizeof(struct partial_rows));
}

void partial_rows_destroy(struct partial_rows *rows)
{
    if (rows)
        free(rows->lanes);
    free(rows);
}

static bool get_head(struct partial_in *r, struct partial_rows *c)
{
    uint64_t comm = jpr_get_u64(&r->in), func = jpr_get_u64(&r->in);

    c->rule =
        (enum bandwidth_rule) jpr_get_bounded(&r->in, BANDWIDTH_ALL_REDUCE);
    c->n = (size_t) jpr_get_bounded(&r->in, PARTIAL_ROWS);
    if (r->in.bad || !c->n || comm >= r->join->n_comms ||
        func >= r->join->n_funcs)
        return false;
    c->comm = (uint32_t) comm;
    c->func = (uint32_t) func;
    c->series = join_series_get(r->join, r->join->comms[comm], c->func);
    return c->series != NULL;
}

static bool get_numbers(struct jpr_in *in, struct partial_rows *c)
{
    uint64_t runs = jpr_get_bounded(in, c->n), next = 0;
    size_t at = 0;

    for (; runs; runs--) {
        uint64_t sn, n, gap = partial_get(in);

        if (__builtin_add_overflow(next, gap, &sn))
            return false;
        n = jpr_get_bounded(in, c->n - at);
        /* UINT64_MAX is no sequence number */
        if (in->bad || !n || __builtin_add_overflow(sn, n, &next))
            return false;
        while (n--)
            c->sn[at++] = sn++;
    }
    return at == c->n;
}

static bool get_sizes(struct partial_in *r, struct partial_rows *c)
{
    uint32_t n_ranks = r->join->comms[c->comm]->n_ranks;
    uint64_t n = jpr_get_bounded(&r->in, c->n), size = 0;

    for (uint64_t i = 0; i < n; i++) {
        size += jpr_get_bounded(&r->in, INSPECTOR_MAX_BYTES);
        if (size > INSPECTOR_MAX_BYTES)
            return false;
        c->sizes[i] = size;
        c->work[i] = partial_work(c->rule, n_ranks, size);
    }
    if (n < 2)
        memset(c->size_at, 0, sizeof(c->size_at));
    for (size_t i = 0; n > 1 && i < c->n; i++) {
        uint64_t at = partial_get(&r->in);

        if (at >= n)
            return false;
        c->size_at[i] = (uint16_t) at;
    }
    return n > 0 && !r->in.bad;
}

static bool get_lane(struct partial_in *r, struct partial_rows *c,
                     struct lane_in *lane, uint32_t at)
{
    size_t bytes = (c->n + 7) / 8;
    struct join_member *member = r->join->members[at];

    *lane = (struct lane_in){.member = member};
    if (jpr_get_bounded(&r->in, 1)) {
        if (bytes > (size_t) (r->in.end - r->in.at))
            return false;
        lane->there = r->in.at;
        r->in.at += bytes;
    }
    lane->lane = join_lane_get(r->join, member, c->series, c->func);
    return lane->lane && !r->in.bad;
}

static bool get_lanes(struct partial_in *r, struct partial_rows *c)
{
    uint32_t at = r->first[c->comm], end = r->first[c->comm + 1];
    uint32_t n = (uint32_t) jpr_get_bounded(&r->in, end - at);

    if (n > c->n_lanes || !c->lanes) {
        struct lane_in *more =
            reallocarray(c->lanes, (size_t) n + 1, sizeof(*more));

        if (!more)
            return false;
        c->lanes = more;
    }
    c->n_lanes = n;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t gap = jpr_get_u64(&r->in);

        if (r->in.bad || gap >= end - at)
            return false;
        at += (uint32_t) gap;
        if (!get_lane(r, c, &c->lanes[i], at++))
            return false;
    }
    return true;
}

/* The block of operation i with room for all that follow in it, so that rows
 * stay where they are. NULL: no memory. */
static struct join_block *block_at(struct partial_in *r, struct partial_rows *c,
                                   size_t i)
{
    uint64_t number = c->sn[i] / JOIN_BLOCK, last = c->sn[c->n - 1];
    struct join_block *block = join_block_get(r->join, c->series, number);

    return block && join_row_get(r->join, block,
                                 last / JOIN_BLOCK == number
                                     ? (unsigned) (last % JOIN_BLOCK)
                                     : JOIN_BLOCK - 1)
               ? block
               : NULL;
}

/* Finds or makes the rows; each may be told once. */
static bool find_rows(struct partial_in *r, struct partial_rows *c)
{
    struct join_block *block = NULL;

    for (size_t i = 0; i < c->n; i++) {
        uint64_t number = c->sn[i] / JOIN_BLOCK;

        if (!block || block->number != number)
            block = block_at(r, c, i);
        if (!block || block->rows[c->sn[i] % JOIN_BLOCK].n)
            return false;
        c->blocks[i] = block;
        c->rows[i] = &block->rows[c->sn[i] % JOIN_BLOCK];
    }
    return true;
}

int partial_get_ops(struct partial_in *r)
{
    struct partial_rows *c = r->rows;

    return get_head(r, c) && get_numbers(&r->in, c) && get_sizes(r, c) &&
                   get_lanes(r, c) && find_rows(r, c) &&
                   partial_get_values(r, c)
               ? 0
               : -1;
}
