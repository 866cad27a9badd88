/* late_excuse.c - excuse who is late because he waited for another. */
#include <math.h>
#include <stdlib.h>

#include "orchestrator/insight/late_parts.h"

static uint64_t ops_of(const struct late *l, size_t rank)
{
    return l->r->ranks[rank].timed_ops;
}

#define LED_BY 0.4 /* of its excess, where who leads it is no outlier */

/* Is x, though no outlier, surely late where the other's process waits for it,
 * and by enough to explain that? Waits of gradients reduced beside the
 * computation count several times in the other's excess. */
static bool leads(const struct jp_lateness *x, const struct jp_lateness *led)
{
    return x->judged && x->excess_us > LED_BY * led->excess_us &&
           x->arrival_us > LED_BY * led->excess_us &&
           x->excess_us > late_limit(JP_LIMIT_LATE_ERRORS) * x->error_us;
}

#define TRIFLE 0.2 /* at least, of its excess: what it is late by elsewhere */

/* Is it late by far less in a communicator that synchronises more often, and
 * not enough there to be named? Then overlap has counted that several times. */
static bool is_trifle(const struct late *l, size_t rank)
{
    const struct jp_process *who = &l->p->processes[l->p->of_rank[rank]];

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t own = l->p->by_process[i];
        const struct jp_lateness *x = &l->out[own];

        if (own != rank && ops_of(l, own) > ops_of(l, rank) && x->judged &&
            !x->late && x->arrival_us > x->excess_us / 4 &&
            x->excess_us > TRIFLE * l->out[rank].excess_us &&
            x->excess_us > late_limit(JP_LIMIT_LATE_ERRORS) * x->error_us &&
            x->excess_us < late_limit(JP_LIMIT_LATE_COST) * l->run_us)
            return true;
    }
    return false;
}

/* Does its process, in a communicator that synchronises more often, wait for
 * somebody who is late, or as late as that, though no outlier there? */
static bool is_victim(const struct late *l, size_t rank)
{
    const struct jp_process *who = &l->p->processes[l->p->of_rank[rank]];

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t own = l->p->by_process[i], c = l->r->ranks[own].comm;

        if (own == rank || !l->out[own].judged || l->out[own].late ||
            ops_of(l, own) <= ops_of(l, rank))
            continue;
        for (size_t k = l->p->comm_start[c]; k < l->p->comm_start[c + 1]; k++)
            if (l->out[k].late ||
                (k != own && leads(&l->out[k], &l->out[rank])))
                return true;
    }
    return false;
}

#define FAR_LATER 1.5 /* times as late, to be the cause of the other */

/* Does rank k, who is late, too, wait less in an AlltoAll of both? */
static bool is_grouped_later(const struct late *l, size_t k, size_t rank,
                             const double *worst)
{
    double own = worst[l->p->of_rank[rank]];

    return l->grouped_us[k] > 0 && worst[l->p->of_rank[k]] > LED_BY * own &&
           l->grouped_us[rank] - l->grouped_us[k] > LED_BY * own;
}

/* A node's stages are late by unlike amounts, each by its own doing. */
static bool is_far_later(const struct late *l, size_t k, size_t rank,
                         const double *worst)
{
    if (l->out[rank].with_node && late_host_of(l, k) == late_host_of(l, rank))
        return false;
    return worst[l->p->of_rank[k]] > FAR_LATER * worst[l->p->of_rank[rank]];
}

/* Does its process exchange Send and Recv with one that is far later? Its waits
 * there are known as a sum only, which overlap may hide. */
static bool is_led(const struct late *l, size_t rank, const double *worst)
{
    size_t own = l->p->of_rank[rank];
    const struct jp_process *who = &l->p->processes[own];

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t at = l->p->by_process[i];
        const struct jp_rank *here = &l->r->ranks[at];

        if (!here->p2p_records)
            continue;
        for (size_t k = l->p->comm_start[here->comm];
             k < l->p->comm_start[here->comm + 1]; k++)
            if (is_far_later(l, k, rank, worst) ||
                is_grouped_later(l, k, at, worst))
                return true;
    }
    return false;
}

int late_excuse(struct late *l)
{
    bool *excused = calloc(l->r->n_ranks + 1, sizeof(*excused));
    double *worst = calloc(l->p->n_processes + 1, sizeof(*worst));
    int rc = excused && worst ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < l->r->n_ranks; i++)
        if (l->out[i].late)
            worst[l->p->of_rank[i]] =
                fmax(worst[l->p->of_rank[i]], l->out[i].excess_us);
    for (size_t i = 0; rc == 0 && i < l->r->n_ranks; i++)
        excused[i] = l->out[i].late &&
                     (is_victim(l, i) || is_led(l, i, worst) ||
                      (!l->out[i].with_node && is_trifle(l, i)));
    for (size_t i = 0; rc == 0 && i < l->r->n_ranks; i++)
        l->out[i].late &= !excused[i];
    free(excused);
    free(worst);
    return rc;
}
