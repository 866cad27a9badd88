/* result_p2p.c - Send and Recv between pairs of ranks. */
#include <stdlib.h>
#include <string.h>

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

int result_p2p(struct build *b)
{
    struct jp_result *r = b->result;

    r->p2p = calloc((size_t) b->join->n_p2p + 1, sizeof(*r->p2p));
    if (!r->p2p)
        return -1;
    for (uint32_t i = 0; i < b->join->n_p2p; i++) {
        const struct join_p2p *p = b->join->p2p[i];
        double mean = p->n_busbw
                          ? (double) p->busbw_sum / ((double) p->n_busbw * 1e6)
                          : 0;

        r->p2p[r->n_p2p++] = (struct jp_p2p){.comm = b->comm_at[p->comm],
                                             .src = p->src,
                                             .dst = p->dst,
                                             .func = p->recv ? "Recv" : "Send",
                                             .count = p->count,
                                             .bytes = p->bytes,
                                             .exec_us = p->exec_us,
                                             .busbw_mean = mean};
    }
    if (r->n_p2p)
        qsort(r->p2p, r->n_p2p, sizeof(*r->p2p), by_pair);
    return 0;
}
