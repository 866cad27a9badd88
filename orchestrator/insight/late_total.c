/* late_total.c - each process' time in communication, part by part. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/insight/late_parts.h"

#define GROUPED 4       /* rows at least that are one kernel's */
#define GROUPED_BY 1.02 /* and differ by less */

/* Send and Recv of one rank. */
struct sums {
    double all, least, most;
    size_t rows;
    uint64_t count;
    bool even; /* all rows of one count */
};

static void add_row(struct sums *sums, const struct jp_p2p *p)
{
    double us = (double) p->exec_us;

    sums->even = !sums->rows || (sums->even && sums->count == p->count);
    sums->count = p->count;
    sums->least = sums->rows ? fmin(sums->least, us) : us;
    sums->most = sums->rows ? fmax(sums->most, us) : us;
    sums->all += us;
    sums->rows++;
}

/* An AlltoAll is a Send and a Recv a peer, all of one kernel, and each of them
 * lasts as long as it. */
static double time_of(const struct sums *s)
{
    if (s->rows >= GROUPED && s->even && s->most <= GROUPED_BY * s->least)
        return s->all / (double) s->rows;
    return s->all;
}

/* Time of Send and Recv, which is known for the run as a whole only. */
static int add_p2p(struct late *l)
{
    struct sums *sums = calloc(l->r->n_ranks + 1, sizeof(*sums));

    if (!sums)
        return -1;
    for (size_t i = 0; i < l->r->n_p2p; i++) {
        const struct jp_p2p *p = &l->r->p2p[i];
        size_t rank = people_find(l->p, l->r, p->comm,
                                  strcmp(p->func, "Send") ? p->dst : p->src);

        if (rank != SIZE_MAX)
            add_row(&sums[rank], p);
    }
    for (size_t i = 0; i < l->r->n_ranks; i++)
        for (unsigned s = 0; sums[i].rows && s < JP_SLICES; s++)
            l->total[l->p->of_rank[i] * JP_SLICES + s] += time_of(&sums[i]) /
                                                          JP_SLICES;
    free(sums);
    return 0;
}

int late_add_up(struct late *l)
{
    for (size_t i = 0; i < l->r->n_ranks; i++) {
        double *total = l->total + l->p->of_rank[i] * JP_SLICES;

        for (unsigned s = 0; s < JP_SLICES; s++)
            total[s] += (double) l->r->ranks[i].slice_us[s];
    }
    return add_p2p(l);
}
