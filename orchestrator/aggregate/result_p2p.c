/* result_p2p.c - Send and Recv between pairs of ranks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/join_parts.h"
#include "orchestrator/aggregate/result_build.h"

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_pair(const void *a, const void *b)
{
    const struct jp_p2p *x = a, *y = b;
    int order = compare(x->comm, y->comm);

    if (!order)
        order = compare(x->src, y->src);
    if (!order)
        order = compare(x->dst, y->dst);
    return order ? order : strcmp(x->func, y->func);
}

/* What the ranks' own counters of Send and Recv say. Nobody else can know such
 * a record, so a gap is lost or filtered - unless the pair's two sides differ
 * in number, which no filter on sizes does. */
static void expect(struct build *b)
{
    const struct jp_result *r = b->result;

    for (uint32_t i = 0; i < b->join->n_members; i++) {
        const struct join_member *m = b->join->members[i];

        if (m->p2p_last > m->p2p_records)
            b->unseen = join_sum(b->unseen, m->p2p_last - m->p2p_records);
    }
    for (size_t i = 0; i < r->n_p2p; i++) {
        const struct jp_p2p *one = &r->p2p[i], *other = one + 1;
        bool paired = i + 1 < r->n_p2p && one->comm == other->comm &&
                      one->src == other->src && one->dst == other->dst;

        b->ragged |= !paired || one->count != other->count;
        i += paired;
    }
}

int result_p2p(struct build *b)
{
    struct jp_result *r = b->result;

    double fast;

    r->p2p = calloc((size_t) b->join->n_p2p + 1, sizeof(*r->p2p));
    if (!r->p2p)
        return -1;
    for (uint32_t i = 0; i < b->join->n_p2p; i++) {
        const struct join_p2p *p = b->join->p2p[i];
        double mean = p->n_busbw
                          ? (double) p->busbw_sum / ((double) p->n_busbw * 1e6)
                          : 0;

        fast = join_p2p_has_rates(b->join, p) ? join_rates_fast(&p->rates)
                                              : NAN;
        r->p2p[r->n_p2p++] = (struct jp_p2p){.comm = b->comm_at[p->comm],
                                             .src = p->src,
                                             .dst = p->dst,
                                             .func = p->recv ? "Recv" : "Send",
                                             .count = p->count,
                                             .bytes = p->bytes,
                                             .exec_us = p->exec_us,
                                             .busbw_mean = mean,
                                             .fast_gbs = fast};
    }
    if (r->n_p2p)
        qsort(r->p2p, r->n_p2p, sizeof(*r->p2p), by_pair);
    expect(b);
    return 0;
}
