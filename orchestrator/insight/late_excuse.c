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
            !late_is_much(l, x->excess_us, x->peers_us))
            return true;
    }
    return false;
}

/* Does its process, in a communicator that synchronises more often, wait for
 * somebody who is late, or as late as that, though no outlier there? */
static bool is_victim(const struct late *l, size_t rank, const double *worst)
{
    const struct jp_process *who = &l->p->processes[l->p->of_rank[rank]];

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t own = l->p->by_process[i], c = l->r->ranks[own].comm;
        bool waits;

        if (own == rank || !l->out[own].judged || l->out[own].late ||
            ops_of(l, own) <= ops_of(l, rank))
            continue;
        /* the late ones may be most there: it waits for longer than they do */
        waits = l->out[own].excess_us < -LED_BY * l->out[rank].excess_us;
        for (size_t k = l->p->comm_start[c]; k < l->p->comm_start[c + 1]; k++)
            if (l->out[k].late ||
                (waits && worst[l->p->of_rank[k]] > l->out[rank].excess_us) ||
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

#define AS_LATE 0.5 /* of its excess: who has that has as much to do */

/* Of a communicator's other ranks: on other nodes, on its own, and how many of
 * them are as late. */
struct likes {
    size_t away, away_late, home, home_late;
};

/* The result's rank of k's process in that communicator; SIZE_MAX: none. */
static size_t rank_in(const struct late *l, size_t k, size_t comm)
{
    const struct jp_process *who = &l->p->processes[l->p->of_rank[k]];

    for (size_t i = who->first; i < who->first + who->n; i++)
        if (l->r->ranks[l->p->by_process[i]].comm == comm)
            return l->p->by_process[i];
    return SIZE_MAX;
}

/* false: some rank of communicator c has none in the rank's own. */
static bool count_likes(const struct late *l, size_t rank, size_t c,
                        struct likes *likes)
{
    *likes = (struct likes){0};
    for (size_t k = l->p->comm_start[c]; k < l->p->comm_start[c + 1]; k++) {
        size_t there = rank_in(l, k, l->r->ranks[rank].comm);
        bool as_late;

        if (there == SIZE_MAX)
            return false;
        if (there == rank)
            continue;
        as_late = l->out[there].excess_us > AS_LATE * l->out[rank].excess_us;
        if (late_host_of(l, k) == late_host_of(l, rank)) {
            likes->home++;
            likes->home_late += as_late;
        } else {
            likes->away++;
            likes->away_late += as_late;
        }
    }
    return true;
}

/* Does a communicator join the stages of the process' pipeline, with which it
 * exchanges Send and Recv other than in an AlltoAll? */
static bool joins_stages(const struct late *l, const struct jp_process *who,
                         size_t comm)
{
    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t rank = l->p->by_process[i], c = l->r->ranks[rank].comm;

        if (!l->r->ranks[rank].p2p_records || l->grouped_us[rank] > 0)
            continue;
        for (size_t k = l->p->comm_start[c]; k < l->p->comm_start[c + 1]; k++)
            if (k != rank && rank_in(l, k, comm) != SIZE_MAX)
                return true;
    }
    return false;
}

/* Where a communicator joins ranks of unlike roles (a pipeline's stages, in one
 * of all ranks), those of one role are late together when they have more to do.
 * Ranks of one role are in a smaller communicator, too: is most of such a one
 * as late, on other nodes? Where a stage is all on one node, it and a late node
 * look the same. */
static bool is_role(const struct late *l, size_t rank)
{
    const struct jp_process *who = &l->p->processes[l->p->of_rank[rank]];
    size_t home = l->r->ranks[rank].comm, away = 0;
    bool at_home = false;

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t own = l->p->by_process[i], c = l->r->ranks[own].comm;
        struct likes x;

        if (l->r->comms[c].n_ranks >= l->r->comms[home].n_ranks ||
            !l->out[own].judged || !count_likes(l, rank, c, &x))
            continue;
        if (2 * x.away_late > x.away)
            return true;
        away += x.away;
        at_home |= 2 * x.home_late > x.home;
    }
    return at_home && !away && joins_stages(l, who, home);
}

int late_excuse(struct late *l)
{
    bool *excused = calloc(l->r->n_ranks + 1, sizeof(*excused));
    double *worst = calloc(l->p->n_processes + 1, sizeof(*worst));
    int rc = excused && worst ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < l->r->n_ranks; i++)
        l->out[i].with_likes = l->out[i].late && is_role(l, i);
    for (size_t i = 0; rc == 0 && i < l->r->n_ranks; i++)
        l->out[i].late &= !l->out[i].with_likes;
    for (size_t i = 0; rc == 0 && i < l->r->n_ranks; i++)
        if (l->out[i].late)
            worst[l->p->of_rank[i]] =
                fmax(worst[l->p->of_rank[i]], l->out[i].excess_us);
    for (size_t i = 0; rc == 0 && i < l->r->n_ranks; i++)
        excused[i] = l->out[i].late &&
                     (is_victim(l, i, worst) || is_led(l, i, worst) ||
                      (!l->out[i].with_node && is_trifle(l, i)));
    for (size_t i = 0; rc == 0 && i < l->r->n_ranks; i++)
        l->out[i].late &= !excused[i];
    free(excused);
    free(worst);
    return rc;
}
