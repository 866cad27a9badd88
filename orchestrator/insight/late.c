/* late.c - decide who is late, all along or in parts of the run. */
#include "orchestrator/insight/late.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/collective.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/late_measure.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/stats.h"

/* --- what excuses a rank --- */

static uint64_t ops_of(const struct late *l, size_t rank)
{
    return l->r->ranks[rank].timed_ops;
}

/* Does x explain why `led` is late? x is no outlier, but it is surely late in
 * the communicator where the other process waits for it, and by enough. The
 * excess of `led` may count such waits several times, if gradients are reduced
 * beside the computation. */
static bool leads(const struct jp_lateness *x, const struct jp_lateness *led)
{
    return x->judged &&
           x->excess_us > limits_get(JP_LIMIT_LATE_LED) * led->excess_us &&
           x->arrival_us > limits_get(JP_LIMIT_LATE_LED) * led->excess_us &&
           x->excess_us > limits_get(JP_LIMIT_LATE_ERRORS) * x->error_us;
}

/* Is the rank's process late by far less in a communicator that synchronises
 * more often, and not enough there to be named? Then overlap has counted that
 * small lateness several times. */
static bool is_trifle(const struct late *l, size_t rank)
{
    const struct jp_process *who = &l->p->list[l->p->of_rank[rank]];

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t own = l->p->by_process[i];
        const struct jp_lateness *x = &l->out[own];

        if (own != rank && ops_of(l, own) > ops_of(l, rank) && x->judged &&
            !x->late && x->arrival_us > x->excess_us / 4 &&
            x->excess_us >
                limits_get(JP_LIMIT_LATE_ELSEWHERE) * l->out[rank].excess_us &&
            x->excess_us > limits_get(JP_LIMIT_LATE_ERRORS) * x->error_us &&
            !late_is_much(l, x->excess_us, x->peers_us))
            return true;
    }
    return false;
}

/* Does the rank's process wait for a late rank in a communicator that
 * synchronises more often? The late one need not be an outlier there. */
static bool is_victim(const struct late *l, size_t rank, const double *worst)
{
    const struct jp_process *who = &l->p->list[l->p->of_rank[rank]];

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t own = l->p->by_process[i], c = l->r->ranks[own].comm;
        bool waits;

        if (own == rank || !l->out[own].judged || l->out[own].late ||
            ops_of(l, own) <= ops_of(l, rank))
            continue;
        /* the late ones may be most there: it waits for longer than they do */
        waits = l->out[own].excess_us <
                -limits_get(JP_LIMIT_LATE_LED) * l->out[rank].excess_us;
        for (size_t k = l->p->comm_start[c]; k < l->p->comm_start[c + 1]; k++)
            if (l->out[k].late ||
                (waits && worst[l->p->of_rank[k]] > l->out[rank].excess_us) ||
                (k != own && leads(&l->out[k], &l->out[rank])))
                return true;
    }
    return false;
}

/* Does rank k, who is late, too, wait less in an AlltoAll of both? */
static bool is_grouped_later(const struct late *l, size_t k, size_t rank,
                             const double *worst)
{
    double own = worst[l->p->of_rank[rank]];

    return l->grouped_us[k] > 0 &&
           worst[l->p->of_rank[k]] > limits_get(JP_LIMIT_LATE_LED) * own &&
           l->grouped_us[rank] - l->grouped_us[k] >
               limits_get(JP_LIMIT_LATE_LED) * own;
}

/* A node's stages are late by unlike amounts, each by its own doing. */
static bool is_far_later(const struct late *l, size_t k, size_t rank,
                         const double *worst)
{
    if (l->out[rank].with_node && late_host_of(l, k) == late_host_of(l, rank))
        return false;
    return worst[l->p->of_rank[k]] >
           limits_get(JP_LIMIT_LATE_FAR) * worst[l->p->of_rank[rank]];
}

/* Does the rank's process exchange Send and Recv with one that is far later?
 * Waits for messages are known as a sum only, which overlap may hide. */
static bool is_led(const struct late *l, size_t rank, const double *worst)
{
    size_t own = l->p->of_rank[rank];
    const struct jp_process *who = &l->p->list[own];

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

/* Of a communicator's other ranks: on other nodes, on its own, and how many of
 * them are as late. */
struct likes {
    size_t away, away_late, home, home_late;
};

/* false: some rank of communicator c has none in the rank's own. */
static bool count_likes(const struct late *l, size_t rank, size_t c,
                        struct likes *likes)
{
    *likes = (struct likes){0};
    for (size_t k = l->p->comm_start[c]; k < l->p->comm_start[c + 1]; k++) {
        size_t there = processes_rank_in(l->p, l->r, l->p->of_rank[k],
                                         l->r->ranks[rank].comm);
        bool as_late;

        if (there == SIZE_MAX)
            return false;
        if (there == rank)
            continue;
        as_late = l->out[there].excess_us >
                  limits_get(JP_LIMIT_LATE_AS) * l->out[rank].excess_us;
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
            if (k != rank && processes_rank_in(l->p, l->r, l->p->of_rank[k],
                                               comm) != SIZE_MAX)
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
    const struct jp_process *who = &l->p->list[l->p->of_rank[rank]];
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

static int excuse(struct late *l)
{
    bool *excused = calloc(l->r->n_ranks + 1, sizeof(*excused));
    double *worst = calloc(l->p->n + 1, sizeof(*worst));
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

/* --- late in some parts of the run only --- */

/* A rank's parts in two: late and not. */
struct split {
    unsigned n, kept;   /* late ones, of all */
    unsigned spells;    /* stretches of them */
    bool is[JP_SLICES]; /* late */
    double high, low;   /* means of the two */
    double within;      /* deviation from these */
};

static const float *parts_of(const struct late *l, size_t rank)
{
    return l->parts + rank * JP_SLICES;
}

/* In order, but for the first, in which programs warm up. */
static unsigned sort_parts(const float *parts, double v[JP_SLICES])
{
    unsigned n = 0;

    for (unsigned s = 1; s < JP_SLICES; s++)
        if (isfinite(parts[s]))
            v[n++] = (double) parts[s];
    stats_sort(v, n);
    return n;
}

/* A single part between two others is as these. */
static void smooth(bool is[JP_SLICES])
{
    for (unsigned s = 2; s + 1 < JP_SLICES; s++)
        if (is[s - 1] == is[s + 1])
            is[s] = is[s - 1];
}

/* Is it the part in which lateness begins or ends, of two the one in between?
 */
static bool is_edge(const float *parts, const struct split *split, unsigned s)
{
    double middle = (split->high + split->low) / 2;
    double own = fabs((double) parts[s] - middle);

    if (s > 1 && split->is[s] != split->is[s - 1] &&
        own < fabs((double) parts[s - 1] - middle))
        return true;
    return s + 1 < JP_SLICES && split->is[s] != split->is[s + 1] &&
           own < fabs((double) parts[s + 1] - middle);
}

/* What parts differ by from the mean of their kind, but for edges. */
static double within(const float *parts, const struct split *split)
{
    double squares = 0;
    unsigned n = 0;

    for (unsigned s = 1; s < JP_SLICES; s++) {
        double mean = split->is[s] ? split->high : split->low;

        if (!isfinite(parts[s]) || is_edge(parts, split, s))
            continue;
        squares += ((double) parts[s] - mean) * ((double) parts[s] - mean);
        n++;
    }
    return n > 2 ? sqrt(squares / (n - 2)) : INFINITY;
}

/* The cut that leaves least between the two (2-means, which in one dimension is
 * a cut of the sorted values: Fisher 1958). */
static struct split split_parts(const float *parts)
{
    double v[JP_SLICES], best = INFINITY;
    struct split split = {.kept = sort_parts(parts, v)};
    unsigned n = split.kept, at = 0;

    for (unsigned i = 1; i < n; i++) {
        double rest = stats_squares(v, 0, i) + stats_squares(v, i, n);

        if (rest < best) {
            best = rest;
            at = i;
        }
    }
    if (!at)
        return split;
    split.n = n - at;
    split.high = stats_mean(v, at, n);
    split.low = stats_mean(v, 0, at);
    for (unsigned s = 1; s < JP_SLICES; s++)
        split.is[s] = isfinite(parts[s]) &&
                      (double) parts[s] > (split.high + split.low) / 2;
    smooth(split.is);
    for (unsigned s = 1; s < JP_SLICES; s++)
        split.spells += split.is[s] && !split.is[s - 1];
    split.within = within(parts, &split);
    return split;
}

/* The mean of a rank's n largest parts: of one that is not late, what luck
 * makes of so many. */
static double largest(const float *parts, unsigned n)
{
    double v[JP_SLICES];
    unsigned kept = sort_parts(parts, v);

    return stats_mean(v, kept > n ? kept - n : 0, kept);
}

/* Are the late parts more than what other ranks' largest ones differ by? */
static bool is_outlier(struct late *l, size_t class, size_t rank,
                       const struct split *split)
{
    size_t n = 0;
    double usual, spread;

    for (size_t i = 0; i < l->r->n_ranks; i++)
        if (i != rank && l->out[i].judged &&
            l->class_of[l->r->ranks[i].comm] == class)
            l->scratch[n++] = largest(parts_of(l, i), split->n);
    if (n < limits_get(JP_LIMIT_PART_RANKS))
        return false;
    usual = stats_median(l->scratch, n);
    spread = stats_spread(l->scratch, n);
    for (size_t i = 0; i < n; i++)
        l->scratch[i] -= usual;
    spread = fmax(
        spread, limits_get(JP_LIMIT_LATE_REST) *
                    late_deviation(l->scratch, n,
                                   limits_get(JP_LIMIT_LATE_SPREAD) * spread));
    return split->high - fmax(usual, 0) > late_times_of(n) * spread;
}

/* Its arrival in late parts. */
static double arrival_of(const struct jp_lateness *x, const struct split *split)
{
    double us = 0;

    for (unsigned s = 0; s < JP_SLICES; s++)
        if (split->is[s] && isfinite(x->parts_us[s]))
            us += (double) x->parts_us[s];
    return us;
}

/* In these parts, is it late by as much as would be told of the whole run, and
 * by what the run as a whole feels? */
static bool is_much(const struct late *l, const struct jp_lateness *x,
                    const struct split *split, double us)
{
    double part = (double) split->n / split->kept;
    double least = fmax(late_much(l, x->peers_us),
                        limits_get(JP_LIMIT_LATE_SHARE) * x->peers_us);

    return us > part * fmax(least, x->hidden_us) &&
           us > limits_get(JP_LIMIT_LATE_LEAST) * l->run_us &&
           arrival_of(x, split) > us / 4;
}

static bool is_clear(const struct split *split)
{
    return 2 * split->n >= 3 * split->spells && split->spells > 0 &&
           (split->n >= limits_get(JP_LIMIT_PART_LENGTH) ||
            (split->n >= 2 && split->is[JP_SLICES - 1])) &&
           split->n + 2 < split->kept &&
           split->high - split->low > limits_get(JP_LIMIT_PART_CLEAR) *
                                          (1 + 1.0 / split->n) *
                                          split->within &&
           split->low < limits_get(JP_LIMIT_PART_REST) * split->high;
}

/* Only at the very begin: programs warm up by unlike times. */
static bool is_warmup(const struct split *split)
{
    for (unsigned s = JP_SLICES / 5; s < JP_SLICES; s++)
        if (split->is[s])
            return false;
    return true;
}

/* What it is late by, in its late parts; 0 where that is not so of the run as a
 * whole: waits for messages are known as a sum only, which is taken from all
 * parts alike. */
static double late_sum(const float *parts, const struct split *split)
{
    double us = 0, all = 0;

    for (unsigned s = 1; s < JP_SLICES; s++) {
        all += isfinite(parts[s]) ? (double) parts[s] : 0;
        us += split->is[s] ? (double) parts[s] : 0;
    }
    return all > limits_get(JP_LIMIT_PART_OWN) * us ? us : 0;
}

/* How much of part s is late. */
static double late_of(const float *parts, const struct split *split, int s)
{
    double share;

    if (s < 0 || s >= JP_SLICES || !isfinite(parts[s]))
        return 0;
    share = ((double) parts[s] - split->low) / (split->high - split->low);
    return fmax(0, fmin(1, share));
}

/* When it began, when it ended, and how often. */
static void say_when(const struct late *l, size_t rank,
                     const struct split *split)
{
    struct jp_lateness *x = &l->out[rank];
    const float *parts = parts_of(l, rank);
    int first = -1, last = 0;

    x->spells = split->spells;
    for (int s = 1; s < JP_SLICES; s++) {
        first = split->is[s] && first < 0 ? s : first;
        last = split->is[s] ? s : last;
    }
    x->late_share = (double) split->n / split->kept;
    x->from_share = (first + 1 - late_of(parts, split, first) -
                     late_of(parts, split, first - 1)) /
                    JP_SLICES;
    x->to_share =
        (last + late_of(parts, split, last) + late_of(parts, split, last + 1)) /
        JP_SLICES;
}

/* What its process waited for messages more than others of the communicator. */
static double waited(const struct late *l, size_t rank)
{
    size_t c = l->r->ranks[rank].comm, from = l->p->comm_start[c], n = 0;

    for (size_t k = from; k < l->p->comm_start[c + 1]; k++)
        if (k != rank)
            l->scratch[n++] = l->messages[l->p->of_rank[k]];
    return l->messages[l->p->of_rank[rank]] - stats_median(l->scratch, n);
}

static void judge_parts(struct late *l, size_t class)
{
    for (size_t i = 0; i < l->r->n_ranks; i++) {
        struct jp_lateness *x = &l->out[i];
        struct split split;
        double us;

        if (!x->judged || x->with_node || l->short_run[l->r->ranks[i].comm] ||
            l->class_of[l->r->ranks[i].comm] != class)
            continue;
        split = split_parts(parts_of(l, i));
        if (!is_clear(&split) || is_warmup(&split))
            continue;
        us = late_sum(parts_of(l, i), &split);
        if (!is_much(l, x, &split, us) || !is_outlier(l, class, i, &split) ||
            waited(l, i) > limits_get(JP_LIMIT_PART_WAITED) * split.n *
                               (split.high - split.low))
            continue;
        if (!x->late) {
            x->excess_us = us;
            /* of the late parts alone: those of the run differ by the onset */
            x->error_us = split.within * sqrt(split.n);
        }
        x->late = true;
        say_when(l, i, &split);
    }
}

/* --- who is late --- */

/* Does the rank arrive late by its excess? The slack of a pipeline may hide a
 * part: the rest must be much of the excess, or much by itself. */
static bool arrives_late(const struct late *l, const struct jp_lateness *x)
{
    return x->ahead_us > x->excess_us / 4 ||
           l->grouped_late[l->p->of_rank[x - l->out]] > x->excess_us / 4 ||
           late_is_much(l, x->ahead_us, x->peers_us);
}

static bool is_proved(const struct late *l, const struct jp_lateness *x)
{
    return x->judged && late_last_chance(l, (size_t) (x - l->out)) <
                            limits_get(JP_LIMIT_LATE_PROVED);
}

/* The largest of what an excess must be above to be named, but for its error.
 */
static double least_of(const struct late *l, const struct jp_lateness *x,
                       const struct late_spread *spread)
{
    double least = fmax(x->hidden_us, late_much(l, x->peers_us));
    double us = (size_t) (x - l->out) == spread->first
                    ? fmin(spread->us, spread->rest_us)
                    : spread->us;
    double times = is_proved(l, x) ? spread->proved : spread->times;

    least = fmax(least, times * us);
    return fmax(least, limits_get(JP_LIMIT_LATE_SHARE) * x->peers_us);
}

static double least_by_error(const struct late *l, const struct jp_lateness *x)
{
    return limits_get(JP_LIMIT_LATE_ERRORS) *
           (is_proved(l, x) ? limits_get(JP_LIMIT_LATE_PROVED_LUCK) : 1) *
           x->error_us;
}

/* More of its own than its peers, and by an amount that matters. */
static bool is_apart(const struct late *l, const struct jp_lateness *x)
{
    return x->judged && x->excess_us > x->least_us &&
           late_chance(l, (size_t) (x - l->out)) <
               limits_get(JP_LIMIT_LATE_CHANCE) &&
           x->excess_us > limits_get(JP_LIMIT_LATE_OWN) * x->arrival_us;
}

/* The same, and it also arrives late by that. */
static bool is_later(const struct late *l, const struct jp_lateness *x)
{
    return is_apart(l, x) && arrives_late(l, x);
}

/* Of a communicator where all ranks arrive together, as they have waited for
 * each other in smaller ones: in one of these the process is late by what it is
 * an outlier by among all. */
static void late_where_it_arrives(struct late *l, size_t rank)
{
    const struct jp_process *who = &l->p->list[l->p->of_rank[rank]];
    double excess = l->out[rank].excess_us;

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t at = l->p->by_process[i];
        struct jp_lateness *x = &l->out[at];

        x->late |= x->judged &&
                   x->ahead_us > limits_get(JP_LIMIT_LATE_AS) * excess &&
                   x->excess_us > limits_get(JP_LIMIT_LATE_AS) * excess &&
                   x->excess_us > x->hidden_us &&
                   late_chance(l, at) < limits_get(JP_LIMIT_LATE_CHANCE);
    }
}

/* Ranks of one node in communicators of a class that span nodes. */
struct node {
    size_t n, later;
    bool short_run; /* parts go two by two */
    double sum, squares, peers, arrival;
    double parts[JP_SLICES]; /* of excess; NAN: not known of all ranks */
    double least; /* what its mean must be above; 0: there are too few */
};

static bool spans_nodes(const struct late *l, size_t rank, size_t class)
{
    size_t c = l->r->ranks[rank].comm;

    return l->class_of[c] == class && l->r->comms[c].n_hosts > 1 &&
           l->out[rank].judged;
}

/* The error of the mean excess of a node's ranks, by the parts of the run:
 * ranks that wait for each other share what moves them, and others do not. */
static double node_error(const struct node *node)
{
    double v[JP_SLICES];
    size_t n = 0;

    for (unsigned s = 0; s < JP_SLICES; s += node->short_run ? 2 : 1)
        if (isfinite(node->parts[s]))
            v[n++] = node->parts[s] / (double) node->n;
    return n < limits_get(JP_LIMIT_LATE_SLICES) / (node->short_run ? 2 : 1)
               ? INFINITY
               : stats_trim(v, n).error * JP_SLICES;
}

/* What the mean of a node's ranks must be above; 0: there are too few. */
static double node_least(struct late *l, size_t class, size_t host,
                         const struct node *node, double spread_us)
{
    double n = (double) node->n, mean = node->sum / n, error, least;

    if (node->n < 3)
        return 0;
    error = sqrt(fmax(node->squares / n - mean * mean, 0) / (n - 1));
    least = fmax(limits_get(JP_LIMIT_LATE_SHARE) * node->peers / n,
                 limits_get(JP_LIMIT_LATE_ERRORS) * node_error(node));
    least = fmax(least, limits_get(JP_LIMIT_LATE_NODE_ERRORS) *
                            (1 + 4 / (n - 1)) * error);
    if (mean > least && mean <= limits_get(JP_LIMIT_LATE_NODE) * spread_us)
        spread_us = fmin(spread_us, late_spread_without(l, class, host));
    return fmax(least, limits_get(JP_LIMIT_LATE_NODE) * spread_us);
}

/* All of them later, and alike: by far more than they differ. */
static bool is_node_late(const struct late *l, const struct node *node,
                         double least)
{
    double n = (double) node->n, mean = node->sum / n;

    return node->n >= 3 && node->later == node->n && mean > least &&
           late_is_much(l, fmax(mean, node->arrival / n), node->peers / n);
}

static int judge_nodes(struct late *l, size_t class,
                       const struct late_spread *spread)
{
    struct node *nodes = calloc(l->p->n_hosts + 1, sizeof(*nodes));

    if (!nodes)
        return -1;
    for (size_t i = 0; i < l->r->n_ranks; i++) {
        struct node *node = &nodes[late_host_of(l, i)];

        if (!spans_nodes(l, i, class))
            continue;
        node->n++;
        node->later += l->out[i].excess_us > 2 * l->out[i].error_us &&
                       l->out[i].excess_us > l->out[i].hidden_us &&
                       arrives_late(l, &l->out[i]) &&
                       late_chance(l, i) < limits_get(JP_LIMIT_LATE_CHANCE);
        node->arrival += l->out[i].arrival_us;
        node->peers += l->out[i].peers_us;
        node->short_run |= l->short_run[l->r->ranks[i].comm];
        for (unsigned s = 0; s < JP_SLICES; s++)
            node->parts[s] += (double) parts_of(l, i)[s];
        node->sum += l->out[i].excess_us;
        node->squares += l->out[i].excess_us * l->out[i].excess_us;
    }
    for (size_t h = 0; h < l->p->n_hosts; h++)
        if (nodes[h].n)
            nodes[h].least =
                node_least(l, class, h, &nodes[h], spread->half_us);
    for (size_t i = 0; i < l->r->n_ranks; i++) {
        const struct node *node = &nodes[late_host_of(l, i)];
        double least = node->least;

        if (!spans_nodes(l, i, class))
            continue;
        if (least > 0)
            l->out[i].node_us =
                fmax(least, late_much(l, node->peers / (double) node->n));
        if (is_node_late(l, node, least))
            l->out[i].late = l->out[i].with_node = true;
    }
    free(nodes);
    return 0;
}

static int judge_class(struct late *l, size_t class)
{
    struct late_spread spread = late_class_spread(l, class);

    for (size_t i = 0; i < l->r->n_ranks; i++)
        if (l->class_of[l->r->ranks[i].comm] == class) {
            struct jp_lateness *x = &l->out[i];

            x->least_us = least_of(l, x, &spread);
            x->likely = is_later(l, x) && is_proved(l, x);
            x->least_us = fmax(x->least_us, least_by_error(l, x));
            x->late = is_later(l, x);
            x->run_us = l->run_us;
        }
    if (judge_nodes(l, class, &spread) < 0)
        return -1;
    judge_parts(l, class);
    return 0;
}

/* A program may give each of 100,000 communicators a name of its own. Most
 * classes then have nothing to judge. */
static bool *find_judged(const struct late *l)
{
    bool *judged = calloc(l->classes + 1, sizeof(*judged));

    for (size_t i = 0; judged && i < l->r->n_ranks; i++)
        judged[l->class_of[l->r->ranks[i].comm]] |= l->out[i].judged;
    return judged;
}

static int decide(struct late *l)
{
    bool *judged;
    int rc = 0;

    judged = find_judged(l);
    if (!judged)
        return -1;
    for (size_t k = 0; rc == 0 && k < l->classes; k++)
        if (judged[k])
            rc = judge_class(l, k);
    for (size_t i = 0; rc == 0 && i < l->r->n_ranks; i++)
        if (!l->out[i].late && is_apart(l, &l->out[i]))
            late_where_it_arrives(l, i);
    free(judged);
    return rc < 0 ? -1 : excuse(l);
}

/* Waits of a process can be summed up only where it is known. */
static bool is_possible(const struct jp_result *r, const struct jp_processes *p)
{
    return r->slices && !r->quality.waits_unknown && p->known;
}

int late_judge(const struct jp_result *r, const struct jp_processes *p,
               const struct jp_netserieses *series, struct jp_lateness *out)
{
    struct late l = {.r = r, .p = p, .series = series, .out = out};
    int rc;

    memset(out, 0, r->n_ranks * sizeof(*out));
    for (size_t i = 0; i < r->n_ranks; i++)
        out[i].fewest = series->fewest[r->ranks[i].comm];
    if (!is_possible(r, p))
        return 0;
    rc = late_measure(&l) < 0 ? -1 : decide(&l);
    late_measure_fini(&l);
    return rc;
}
