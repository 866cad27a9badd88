/* late_total.c - each process' time in communication, part by part. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/insight/late_parts.h"

#define GROUPED 4       /* rows at least that are one kernel's */
#define GROUPED_BY 1.02 /* and differ by less */
#define MANY_RANKS 4    /* of a pipeline none meets all others */
#define ALIKE 0.8 /* of the most messages: a peer gets none now and then */

/* Send and Recv of one rank. */
struct sums {
    double all, least, most;
    size_t rows;
    uint64_t fewest, many, count; /* messages of a row, and of all */
};

static void add_row(struct sums *sums, const struct jp_p2p *p)
{
    double us = (double) p->exec_us;

    sums->fewest = sums->rows && sums->fewest < p->count ? sums->fewest
                                                         : p->count;
    sums->many = sums->many > p->count ? sums->many : p->count;
    sums->count += p->count;
    sums->least = sums->rows ? fmin(sums->least, us) : us;
    sums->most = sums->rows ? fmax(sums->most, us) : us;
    sums->all += us;
    sums->rows++;
}

/* An AlltoAll is a Send and a Recv a peer, all of one kernel, and each of them
 * has waited as long as it; where sizes are uneven some end before others. */
static bool is_grouped(const struct sums *s, uint32_t n_ranks)
{
    if (n_ranks >= MANY_RANKS && s->rows >= 2 * (size_t) (n_ranks - 1))
        return (double) s->fewest >= ALIKE * (double) s->many;
    return s->rows >= GROUPED && s->fewest == s->many &&
           s->most <= GROUPED_BY * s->least;
}

/* Adds a rank's time to its process'. */
static void add_time(struct late *l, size_t rank, const struct sums *s)
{
    double *total = l->total + l->p->of_rank[rank] * JP_SLICES, us = s->all;

    if (is_grouped(s, l->r->comms[l->r->ranks[rank].comm].n_ranks)) {
        us *= (double) s->many / (double) s->count;
        l->grouped_us[rank] = us;
    }
    for (unsigned i = 0; i < JP_SLICES; i++)
        total[i] += us / JP_SLICES;
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
        if (sums[i].count)
            add_time(l, i, &sums[i]);
    free(sums);
    return 0;
}

/* Without waits; of an AlltoAll what the last of its ranks took. */
static void add_net(struct late *l)
{
    for (size_t c = 0; c < l->r->n_comms; c++) {
        size_t from = l->p->comm_start[c], to = l->p->comm_start[c + 1];
        double least = INFINITY;

        for (size_t i = from; i < to; i++)
            least = fmin(least, l->grouped_us[i]);
        for (size_t i = from; i < to; i++) {
            l->grouped_net[l->p->of_rank[i]] += least;
            l->net[l->p->of_rank[i]] += least +
                                        (double) l->r->ranks[i].exec_us -
                                        (double) l->r->ranks[i].wait_us;
        }
    }
}

int late_add_up(struct late *l)
{
    for (size_t i = 0; i < l->r->n_ranks; i++) {
        double *total = l->total + l->p->of_rank[i] * JP_SLICES;

        for (unsigned s = 0; s < JP_SLICES; s++)
            total[s] += (double) l->r->ranks[i].slice_us[s];
    }
    if (add_p2p(l) < 0)
        return -1;
    add_net(l);
    return 0;
}
