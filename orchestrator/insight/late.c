/* late.c - measure each rank's own excess against its peers. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/late_parts.h"
#include "orchestrator/insight/stats.h"

#define MIN_SLICES 10 /* of JP_SLICES, that all ranks of a comm have */

#define WEIGHT 0.01 /* of a process' time without waits, to count */

/* What a rank's operations took without waits: the start of a program waits
 * for long, and says nothing of how long it ran. */
static double net_us(const struct jp_rank *rank)
{
    return (double) rank->exec_us - (double) rank->wait_us;
}

/* Of a process: does a communicator tell that the run was short? */
static bool is_thin(const struct late *l, const struct jp_process *who)
{
    double all = 0, few = 0;

    for (size_t i = who->first; i < who->first + who->n; i++) {
        const struct jp_rank *rank = &l->r->ranks[l->p->by_process[i]];

        if (l->r->comms[rank->comm].n_ranks < 2)
            continue;
        all += net_us(rank);
        if ((double) l->series->fewest[rank->comm] <
            late_limit(JP_LIMIT_LATE_OPS))
            few += net_us(rank);
    }
    return few > WEIGHT * all;
}

/* Is there enough of the communicator to judge by? */
static bool is_usable(const struct late *l, size_t c)
{
    const struct jp_comm *comm = &l->r->comms[c];
    size_t from = l->p->comm_start[c], to = l->p->comm_start[c + 1];

    if (comm->n_ranks < 2 || to - from != comm->n_ranks ||
        (double) l->series->fewest[c] < late_limit(JP_LIMIT_LATE_OPS))
        return false;
    for (size_t i = from; i < to; i++)
        if (is_thin(l, &l->p->processes[l->p->of_rank[i]]))
            return false;
    return true;
}

/* For each member, the median of the others' values less its own; of the two
 * values in the middle their mean, or the lower: one of three who waits for
 * long makes nobody late. */
static void against_others(double *v, size_t n, bool lower, double *sorted,
                           double *diff)
{
    size_t half = (n - 2) / 2; /* of n - 1 others */

    memcpy(sorted, v, n * sizeof(*v));
    stats_sort(sorted, n);
    for (size_t i = 0; i < n; i++) {
        /* leaving v[i] out moves those behind it one down */
        size_t low = v[i] <= sorted[half] ? half + 1 : half, high = low;

        if ((n - 1) % 2 == 0 && !lower)
            high = v[i] <= sorted[half + 1] ? half + 2 : half + 1;
        diff[i] = (sorted[low] + sorted[high]) / 2 - v[i];
    }
}

/* Fills excess and arrival of a communicator's ranks, [member][slice], which[]
 * of the slices that all of them have, and returns how many these are. */
static unsigned compare(struct late *l, size_t c, double *excess,
                        double *arrival, double *peers, unsigned *which)
{
    size_t from = l->p->comm_start[c], n = l->p->comm_start[c + 1] - from;
    double *v = l->scratch, *sorted = v + n, *diff = sorted + n;
    unsigned kept = 0;

    for (unsigned s = 0; s < JP_SLICES; s++) {
        bool whole = true;

        for (size_t i = 0; i < n; i++) {
            v[i] = l->total[l->p->of_rank[from + i] * JP_SLICES + s];
            whole &= isfinite(v[i]) != 0;
        }
        if (!whole)
            continue;
        against_others(v, n, true, sorted, diff);
        peers[kept] = sorted[n / 2];
        for (size_t i = 0; i < n; i++) {
            excess[i * JP_SLICES + kept] = diff[i];
            v[i] = (double) l->r->ranks[from + i].slice_us[s];
        }
        against_others(v, n, false, sorted, diff);
        for (size_t i = 0; i < n; i++)
            arrival[i * JP_SLICES + kept] = diff[i];
        which[kept++] = s;
    }
    return kept;
}

static void sum_up(struct jp_lateness *out, double *excess, double *arrival,
                   const unsigned *which, unsigned kept, double peers_us)
{
    struct stats_trimmed e, a;

    for (unsigned s = 0; s < JP_SLICES; s++)
        out->parts_us[s] = NAN;
    for (unsigned k = 0; k < kept; k++)
        out->parts_us[which[k]] = (float) arrival[k];
    e = stats_trim(excess, kept);
    a = stats_trim(arrival, kept);
    out->judged = true;
    out->excess_us = e.mean * JP_SLICES;
    out->error_us = e.error * JP_SLICES;
    out->arrival_us = a.mean * JP_SLICES;
    out->peers_us = peers_us;
}

/* Waits for somebody late travel on through a pipeline or an AlltoAll, so that
 * most may arrive late: whom did the earliest quarter wait for? */
static void compare_earliest(struct late *l, size_t c)
{
    size_t from = l->p->comm_start[c], n = l->p->comm_start[c + 1] - from;

    for (size_t i = 0; i < n; i++)
        l->scratch[i] = l->out[from + i].arrival_us;
    stats_sort(l->scratch, n);
    for (size_t i = from; i < from + n; i++)
        l->out[i].ahead_us = l->out[i].arrival_us - l->scratch[n / 4];
}

static int measure(struct late *l, size_t c)
{
    size_t from = l->p->comm_start[c], n = l->p->comm_start[c + 1] - from;
    double *excess = calloc(n * JP_SLICES, sizeof(*excess));
    double *arrival = calloc(n * JP_SLICES, sizeof(*arrival));
    double peers[JP_SLICES], usual;
    unsigned kept, which[JP_SLICES];

    if (!excess || !arrival) {
        free(excess);
        free(arrival);
        return -1;
    }
    kept = compare(l, c, excess, arrival, peers, which);
    usual = stats_median(peers, kept) * JP_SLICES;
    for (size_t i = 0; i < n && kept >= MIN_SLICES; i++)
        sum_up(&l->out[from + i], excess + i * JP_SLICES,
               arrival + i * JP_SLICES, which, kept, usual);
    compare_earliest(l, c);
    free(excess);
    free(arrival);
    return 0;
}

/* Operations of a communicator follow one another: where they took longer than
 * the clock tells (a simulation's do), they tell the run's length. */
static double run_us(const struct jp_result *r)
{
    uint64_t run = r->ops ? ops_run_us(r->ops) : 0;

    for (size_t i = 0; run && i < r->n_ranks; i++)
        if (r->ranks[i].exec_us > run)
            run = r->ranks[i].exec_us;
    return (double) run;
}

/* Waits of a process can be summed up only where it is known. */
static bool is_possible(const struct jp_result *r, const struct jp_people *p)
{
    return r->slices && !r->quality.waits_unknown && p->known;
}

int late_judge(const struct jp_result *r, const struct jp_people *p,
               const struct jp_netserieses *series, struct jp_lateness *out)
{
    struct late l = {
        .r = r, .p = p, .series = series, .out = out, .run_us = run_us(r)};
    int rc = -1;

    memset(out, 0, r->n_ranks * sizeof(*out));
    if (!is_possible(r, p))
        return 0;
    l.total = calloc(p->n_processes * JP_SLICES + 1, sizeof(*l.total));
    l.grouped_us = calloc(r->n_ranks + 1, sizeof(*l.grouped_us));
    l.net = calloc(p->n_processes + 1, sizeof(*l.net));
    l.grouped_net = calloc(p->n_processes + 1, sizeof(*l.grouped_net));
    l.least = calloc(p->n_processes + 1, sizeof(*l.least));
    l.most = calloc(p->n_processes + 1, sizeof(*l.most));
    l.scratch = calloc(3 * r->n_ranks + 1, sizeof(*l.scratch));
    l.class_of = calloc(r->n_comms + 1, sizeof(*l.class_of));
    if (!l.total || !l.net || !l.grouped_us || !l.grouped_net || !l.least ||
        !l.most || !l.scratch || !l.class_of || late_add_up(&l) < 0 ||
        late_add_hidden(&l) < 0)
        goto out;
    for (size_t c = 0; c < r->n_comms; c++)
        if (is_usable(&l, c) && measure(&l, c) < 0)
            goto out;
    for (size_t i = 0; i < r->n_ranks; i++)
        out[i].grouped_us = l.grouped_us[i];
    late_hide(&l);
    rc = late_decide(&l);
out:
    free(l.total);
    free(l.grouped_us);
    free(l.net);
    free(l.grouped_net);
    free(l.least);
    free(l.most);
    free(l.scratch);
    free(l.class_of);
    return rc;
}
