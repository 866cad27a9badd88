/* late.c - decide which ranks and nodes are late.
 *
 * late_judge measures (late_measure.c), then judges each class of communicators
 * of one shape: single ranks against the class's spread (is_later), nodes
 * (judge_nodes), and parts of the run (late_parts.c). Last, excuse() takes back
 * ranks whose lateness another rank explains. late.h has the idea and the
 * statistics. */
#include "orchestrator/insight/late.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/bandwidth.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/late_measure.h"
#include "orchestrator/insight/limits.h"
#include "common/stats.h"

/* --- what excuses a rank ------------------------------------------------- */

/* Operations by which excuses compare how often communicators synchronise. */
static uint64_t ops_of(const struct late *l, size_t rank)
{
    return l->r->ranks[rank].timed_ops;
}

/* True if x explains why `led` is late: x need not be an outlier, but it is
 * late by more than its error in the communicator where the other process waits
 * for it, and by enough. The excess of `led` may count such a wait several
 * times if gradients are reduced beside the computation. */
static bool leads(const struct jp_lateness *x, const struct jp_lateness *led)
{
    return x->judged &&
           x->excess_us > limits_get(JP_LIMIT_LATE_LED) * led->excess_us &&
           x->arrival_us > limits_get(JP_LIMIT_LATE_LED) * led->excess_us &&
           x->excess_us > limits_get(JP_LIMIT_LATE_ERRORS) * x->error_us;
}

/* True if the process is as late by itself in the communicator where another
 * rank might explain its lateness: then it needs no explanation. */
static bool is_late_itself(const struct jp_lateness *own,
                           const struct jp_lateness *led)
{
    return own->excess_us > limits_get(JP_LIMIT_LATE_SAME) * led->excess_us &&
           own->excess_us > limits_get(JP_LIMIT_LATE_ERRORS) * own->error_us;
}

/* True if the rank's process waits for a late rank in a communicator that
 * synchronises more often. The late rank need not be an outlier there. `worst`
 * is the largest excess of each process that is named so far. */
static bool is_victim(const struct late *l, size_t rank, const double *worst)
{
    const struct jp_process *who = &l->p->list[l->p->of_rank[rank]];

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t own = l->p->by_process[i], c = l->r->ranks[own].comm;
        bool waits;

        if (own == rank || !l->out[own].judged || l->out[own].late ||
            ops_of(l, own) <= ops_of(l, rank))
            continue;
        /* If most ranks of that communicator are late, the median is a late
         * rank: the victim then waits for longer than the others. */
        waits = l->out[own].excess_us <
                -limits_get(JP_LIMIT_LATE_LED) * l->out[rank].excess_us;
        for (size_t k = l->p->comm_start[c]; k < l->p->comm_start[c + 1]; k++)
            if (l->out[k].late ||
                (waits && worst[l->p->of_rank[k]] > l->out[rank].excess_us) ||
                (k != own && !is_late_itself(&l->out[own], &l->out[rank]) &&
                 leads(&l->out[k], &l->out[rank])))
                return true;
    }
    return false;
}

/* True if rank k is named as well and waits less than `rank` in the AlltoAll of
 * both, so that it arrives there later. */
static bool is_grouped_later(const struct late *l, size_t k, size_t rank,
                             const double *worst)
{
    double own = worst[l->p->of_rank[rank]];

    return l->grouped_us[k] > 0 &&
           worst[l->p->of_rank[k]] > limits_get(JP_LIMIT_LATE_LED) * own &&
           l->grouped_us[rank] - l->grouped_us[k] >
               limits_get(JP_LIMIT_LATE_LED) * own;
}

/* True if the process of rank k is named with a far larger excess. Ranks of one
 * late node do not excuse each other: stages on it are late by different
 * amounts, each by itself. */
static bool is_far_later(const struct late *l, size_t k, size_t rank,
                         const double *worst)
{
    if (l->out[rank].with_node && late_host_of(l, k) == late_host_of(l, rank))
        return false;
    return worst[l->p->of_rank[k]] >
           limits_get(JP_LIMIT_LATE_FAR) * worst[l->p->of_rank[rank]];
}

/* True if rank k waits for a process that is far later than `rank`. Only
 * communicators of some of the ranks count, because in one of all ranks
 * everybody waits for the latest; and only those that synchronise more often
 * than the one of `rank`, or in which k waits for much of the excess of `rank`.
 */
static bool waits_for_far_later(const struct late *l, size_t k, size_t rank,
                                const double *worst)
{
    const struct jp_process *who = &l->p->list[l->p->of_rank[k]];

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t own = l->p->by_process[i], c = l->r->ranks[own].comm;

        if (!l->out[own].judged || l->r->comms[c].n_ranks >= l->p->n ||
            (ops_of(l, own) <= ops_of(l, rank) &&
             !(l->out[own].excess_us <
               -limits_get(JP_LIMIT_LATE_LED) * l->out[rank].excess_us)))
            continue;
        for (size_t m = l->p->comm_start[c]; m < l->p->comm_start[c + 1]; m++)
            if (l->p->of_rank[m] != l->p->of_rank[rank] &&
                is_far_later(l, m, rank, worst))
                return true;
    }
    return false;
}

/* True if the rank's process exchanges Send and Recv with a process that is far
 * later, or that waits for such a process. Its wait for their messages may be
 * missing from its time in communication: only a sum is known, and overlap with
 * computation may hide a part. */
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
                is_grouped_later(l, k, at, worst) ||
                (k != at && !(l->grouped_us[at] > 0) &&
                 waits_for_far_later(l, k, rank, worst)))
                return true;
    }
    return false;
}

/* Returns the process that stands for the pipeline of this one. */
static size_t pipeline_of(const struct late *l, size_t process)
{
    while (l->pipeline[process] != process)
        process = l->pipeline[process] = l->pipeline[l->pipeline[process]];
    return process;
}

/* Joins the processes of each communicator with Send and Recv other than in an
 * AlltoAll. 0, or -1 without memory. */
static int find_pipelines(struct late *l)
{
    l->pipeline = calloc(l->p->n + 1, sizeof(*l->pipeline));
    if (!l->pipeline)
        return -1;
    for (size_t i = 0; i < l->p->n; i++)
        l->pipeline[i] = i;
    for (size_t c = 0; c < l->r->n_comms; c++) {
        size_t first = SIZE_MAX;

        for (size_t k = l->p->comm_start[c]; k < l->p->comm_start[c + 1]; k++) {
            size_t process;

            if (!l->r->ranks[k].p2p_records || l->grouped_us[k] > 0)
                continue;
            process = pipeline_of(l, l->p->of_rank[k]);
            if (first == SIZE_MAX)
                first = process;
            l->pipeline[process] = first;
        }
    }
    return 0;
}

/* Returns true if messages join all ranks of that communicator. Then they do
 * not show its stages. */
static bool is_one_pipeline(const struct late *l, size_t comm)
{
    size_t first = l->p->comm_start[comm];

    for (size_t k = first; k < l->p->comm_start[comm + 1]; k++)
        if (pipeline_of(l, l->p->of_rank[k]) !=
            pipeline_of(l, l->p->of_rank[first]))
            return false;
    return true;
}

/* Counts of a communicator's other ranks: on other nodes (away) and on the
 * rank's own node (home), and how many of each are about as late. Other stages
 * of the rank's own pipeline, on other nodes, are not among them. */
struct likes {
    size_t away, away_late, home, home_late;
};

/* Counts the ranks of communicator c by their lateness in the communicator of
 * `rank`, which joins stages of pipelines if `staged`. Returns false if one of
 * them is no member of that communicator. */
static bool count_likes(const struct late *l, size_t rank, size_t c,
                        bool staged, struct likes *likes)
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
        } else if (as_late || !staged ||
                   pipeline_of(l, l->p->of_rank[k]) !=
                       pipeline_of(l, l->p->of_rank[rank])) {
            likes->away++;
            likes->away_late += as_late;
        }
    }
    return true;
}

/* True if `comm` has ranks of several stages of the process's pipeline:
 * partners with which the process exchanges Send and Recv other than in an
 * AlltoAll. */
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

/* True if the rank is late because of its role. A communicator may join ranks
 * of different roles, such as the stages of a pipeline in a communicator of all
 * ranks. Ranks of one role are late together if they have more to do. They also
 * share a smaller communicator (a data-parallel group), so the test is whether
 * most of its ranks on other nodes are as late. If a stage lies on one node
 * completely, it cannot be distinguished from a late node: other communicators
 * of its ranks then reach other nodes only in other stages, as that of the
 * first and the last stage does, which share their embeddings. */
static bool is_role(const struct late *l, size_t rank)
{
    const struct jp_process *who = &l->p->list[l->p->of_rank[rank]];
    size_t home = l->r->ranks[rank].comm, away = 0;
    bool at_home = false, staged = !is_one_pipeline(l, home);

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t own = l->p->by_process[i], c = l->r->ranks[own].comm;
        struct likes x;

        if (l->r->comms[c].n_ranks >= l->r->comms[home].n_ranks ||
            !l->out[own].judged || !count_likes(l, rank, c, staged, &x))
            continue;
        if (2 * x.away_late > x.away)
            return true;
        away += x.away;
        at_home |= 2 * x.home_late > x.home;
    }
    return at_home && !away && joins_stages(l, who, home);
}

/* Clears `late` of ranks whose lateness has another reason. All excuses are
 * decided before any is applied, so that the result does not depend on the
 * order of ranks. 0, or -1 without memory. */
static int excuse(struct late *l)
{
    bool *excused = calloc(l->r->n_ranks + 1, sizeof(*excused));
    double *worst = calloc(l->p->n + 1, sizeof(*worst));
    int rc = excused && worst ? find_pipelines(l) : -1;

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
                     (is_victim(l, i, worst) || is_led(l, i, worst));
    for (size_t i = 0; rc == 0 && i < l->r->n_ranks; i++)
        l->out[i].late &= !excused[i];
    free(excused);
    free(worst);
    free(l->pipeline);
    l->pipeline = NULL;
    return rc;
}

/* --- who is late --------------------------------------------------------- */

/* True if the rank also arrives late by its excess. The slack of a pipeline may
 * hide a part of it: what remains must be more than a quarter of the excess, or
 * matter by itself. */
static bool arrives_late(const struct late *l, const struct jp_lateness *x)
{
    return x->ahead_us > x->excess_us / 4 ||
           l->grouped_late[l->p->of_rank[x - l->out]] > x->excess_us / 4 ||
           late_is_much(l, x->ahead_us, x->peers_us);
}

/* The probability that the rank comes last as often by chance
 * (late_last_chance) in a short run; 0 in runs that are long enough to know
 * errors. */
static double chance_if_short(const struct late *l, size_t rank)
{
    return l->short_run[l->r->ranks[rank].comm] ? late_last_chance(l, rank) : 0;
}

/* Raises what decides which excess is named. */
static void raise(struct jp_lateness *x, double us, enum jp_late_by by)
{
    if (us <= x->least_us)
        return;
    x->least_us = us;
    x->stated_by = by;
}

/* Sets the smallest excess that is named, in us, without regard to its error:
 * the largest of what may be waiting that was not recorded, what is worth a
 * search, the spread of ranks of this class, and the share of communication. */
static void set_least(const struct late *l, struct jp_lateness *x,
                      const struct late_spread *spread)
{
    /* The outlier itself must not widen the spread that it is measured by. */
    double us = (size_t) (x - l->out) == spread->first
                    ? fmin(spread->us, spread->rest_us)
                    : spread->us;

    x->least_us = 0;
    raise(x, late_much(l, x->peers_us), JP_LATE_BY_WORTH);
    raise(x, limits_get(JP_LIMIT_LATE_SHARE) * x->peers_us, JP_LATE_BY_WORTH);
    raise(x, x->hidden_us, JP_LATE_BY_HIDDEN);
    raise(x, spread->times * us, JP_LATE_BY_SPREAD);
}

/* True if the rank's own excess is an outlier and matters, and also shows in
 * its arrival. */
static bool is_later(const struct late *l, const struct jp_lateness *x)
{
    return x->judged && x->excess_us > x->least_us &&
           chance_if_short(l, (size_t) (x - l->out)) <
               limits_get(JP_LIMIT_LATE_CHANCE) &&
           arrives_late(l, x);
}

/* Sums over the ranks of one node, in communicators of one class that span
 * nodes. Times are in us over the whole run. */
struct node {
    size_t n, later;         /* ranks; those that are later than peers */
    bool short_run;          /* parts of the run are taken in pairs */
    double sum, squares;     /* of the ranks' excess */
    double peers, arrival;   /* sums of peers_us and arrival_us */
    double parts[JP_SLICES]; /* sum of excess; NAN: a rank's is not known */
    double least;            /* its mean must be above; 0: too few ranks */
    bool late;
};

/* True if the rank is judged in a communicator of that class on several nodes.
 */
static bool spans_nodes(const struct late *l, size_t rank, size_t class)
{
    size_t c = l->r->ranks[rank].comm;

    return l->class_of[c] == class && l->r->comms[c].n_hosts > 1 &&
           l->out[rank].judged;
}

/* The standard error of the mean excess of a node's ranks, from the scatter of
 * the parts of the run. Summing the ranks first keeps what they have in common:
 * ranks that wait for each other are moved by the same delays, so their errors
 * are not independent. Infinite if too few parts are known. */
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

/* The smallest mean excess, in us, with which a node is named; 0 with fewer
 * than three ranks, which do not show how far they differ. */
static double node_least(const struct node *node, double spread_us)
{
    double n = (double) node->n, mean = node->sum / n, error, least;

    if (node->n < 3)
        return 0;
    /* standard error of the mean, by how the ranks differ from each other; few
     * ranks show that worse, so more errors are required (4 / (n - 1)) */
    error = sqrt(fmax(node->squares / n - mean * mean, 0) / (n - 1));
    least = fmax(limits_get(JP_LIMIT_LATE_SHARE) * node->peers / n,
                 limits_get(JP_LIMIT_LATE_ERRORS) * node_error(node));
    least = fmax(least, limits_get(JP_LIMIT_LATE_NODE_ERRORS) *
                            (1 + 4 / (n - 1)) * error);
    return fmax(least, limits_get(JP_LIMIT_LATE_NODE) * spread_us);
}

/* True if all ranks of the node are later than their peers, and by far more
 * than they differ from each other. */
static bool is_node_late(const struct late *l, const struct node *node)
{
    double n = (double) node->n, mean = node->sum / n;

    return node->n >= 3 && node->later == node->n && mean > node->least &&
           late_is_much(l, fmax(mean, node->arrival / n), node->peers / n);
}

/* Names late nodes of a class, and sets node_us of their ranks: what the mean
 * of the node had to be above. 0, or -1 without memory. */
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
                       chance_if_short(l, i) < limits_get(JP_LIMIT_LATE_CHANCE);
        node->arrival += l->out[i].arrival_us;
        node->peers += l->out[i].peers_us;
        node->short_run |= l->short_run[l->r->ranks[i].comm];
        for (unsigned s = 0; s < JP_SLICES; s++)
            node->parts[s] += (double) late_parts_of(l, i)[s];
        node->sum += l->out[i].excess_us;
        node->squares += l->out[i].excess_us * l->out[i].excess_us;
    }
    for (size_t h = 0; h < l->p->n_hosts; h++)
        if (nodes[h].n)
            nodes[h].least = node_least(&nodes[h], spread->half_us);
    for (size_t h = 0; h < l->p->n_hosts; h++)
        nodes[h].late = nodes[h].n && is_node_late(l, &nodes[h]);
    for (size_t i = 0; i < l->r->n_ranks; i++) {
        const struct node *node = &nodes[late_host_of(l, i)];
        double least = node->least;

        if (!spans_nodes(l, i, class))
            continue;
        if (least > 0)
            l->out[i].node_us =
                fmax(least, late_much(l, node->peers / (double) node->n));
        if (node->late)
            l->out[i].late = l->out[i].with_node = true;
    }
    free(nodes);
    return 0;
}

/* Judges all ranks and nodes of one class. 0, or -1 without memory. */
static int judge_class(struct late *l, size_t class)
{
    struct late_spread spread = late_class_spread(l, class);

    for (size_t i = 0; i < l->r->n_ranks; i++)
        if (l->class_of[l->r->ranks[i].comm] == class) {
            struct jp_lateness *x = &l->out[i];

            set_least(l, x, &spread);
            raise(x, limits_get(JP_LIMIT_LATE_ERRORS) * x->error_us,
                  JP_LATE_BY_ERROR);
            x->late = is_later(l, x);
            x->stated_us = x->least_us;
            if (l->proof_us[l->r->ranks[i].comm] > x->stated_us) {
                x->stated_us = l->proof_us[l->r->ranks[i].comm];
                x->stated_by = JP_LATE_BY_PROOF;
            }
            x->run_us = l->run_us;
        }
    if (judge_nodes(l, class, &spread) < 0)
        return -1;
    late_judge_parts(l, class);
    return 0;
}

/* Marks the classes with a judged rank. A program may give each of 100,000
 * communicators its own name, so that there are as many classes, and most of
 * them have nothing to judge. Caller frees; NULL without memory. */
static bool *find_judged(const struct late *l)
{
    bool *judged = calloc(l->classes + 1, sizeof(*judged));

    for (size_t i = 0; judged && i < l->r->n_ranks; i++)
        judged[l->class_of[l->r->ranks[i].comm]] |= l->out[i].judged;
    return judged;
}

/* Judges all classes, then excuses. 0, or -1 without memory. */
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
    free(judged);
    return rc < 0 ? -1 : excuse(l);
}

/* Without parts of the run, with unknown waits, or if it is unknown which ranks
 * are one process, waits cannot be added up over a process's communicators. */
static bool is_possible(const struct jp_result *r, const struct jp_processes *p)
{
    return r->slices && !r->quality.waits_unknown && p->known;
}

/* Measures and judges, whatever l->out had before. 0, or -1 without memory. */
static int judge_lateness(struct late *l)
{
    int rc;

    memset(l->out, 0, l->r->n_ranks * sizeof(*l->out));
    for (size_t i = 0; i < l->r->n_ranks; i++)
        l->out[i].fewest = l->series->fewest[l->r->ranks[i].comm];
    if (!is_possible(l->r, l->p))
        return 0;
    rc = late_measure(l) < 0 ? -1 : decide(l);
    late_measure_fini(l);
    return rc;
}

static bool any_late(const struct late *l)
{
    bool any = false;

    for (size_t i = 0; i < l->r->n_ranks; i++)
        any |= l->out[i].late;
    return any;
}

/* Returns 1 if processes are late, each with all of its node; 0 if not, or -1
 * without memory. */
static int nodes_are_late(const struct late *l)
{
    size_t *on_time = calloc(l->p->n_hosts + 1, sizeof(*on_time));
    size_t *late = calloc(l->p->n_hosts + 1, sizeof(*late));
    int all = on_time && late ? any_late(l) : -1;

    for (size_t i = 0; all > 0 && i < l->p->n; i++) {
        const struct jp_process *who = &l->p->list[i];
        bool any = false;

        for (size_t k = who->first; k < who->first + who->n; k++)
            any |= l->out[l->p->by_process[k]].late;
        (any ? late : on_time)[who->host_at]++;
    }
    for (size_t i = 0; all > 0 && i < l->p->n_hosts; i++)
        all = !late[i] || !on_time[i];
    free(on_time);
    free(late);
    return all;
}

int late_judge(const struct jp_result *r, const struct jp_processes *p,
               const struct jp_netserieses *series, struct jp_lateness *out)
{
    struct late l = {.r = r, .p = p, .series = series, .out = out};
    struct late even = {.r = r, .p = p, .series = series, .evenly = true};
    int rc = judge_lateness(&l);

    if (rc < 0 || !l.numbered || any_late(&l))
        return rc;
    /* Nobody is late if messages are counted in the part of the run in which
     * they were sent. Judge once more with messages spread evenly over the
     * parts: the parts of a node that is late from some time on then differ
     * less, so that its error does not hide it. Of single ranks this says
     * nothing: one that sends over a slow link would be late from then on. */
    even.out = calloc(r->n_ranks + 1, sizeof(*even.out));
    rc = even.out ? judge_lateness(&even) : -1;
    if (rc == 0)
        rc = nodes_are_late(&even);
    if (rc > 0)
        memcpy(out, even.out, r->n_ranks * sizeof(*out));
    free(even.out);
    return rc < 0 ? -1 : 0;
}

bool late_has_barriers(const struct jp_result *r)
{
    for (size_t i = 0; i < r->n_coll_names; i++)
        if (collective_is_barrier(r->coll_names[i]))
            return true;
    return false;
}

/* Returns true if ranks share a communicator with collectives. */
static bool share_comms(const struct jp_result *r)
{
    for (size_t i = 0; i < r->n_comms; i++)
        if (r->comms[i].n_ranks > 1 && r->comms[i].ops)
            return true;
    return false;
}

const char *late_why_none(const struct jp_result *r)
{
    uint64_t us = 0, complete = 0;

    for (size_t i = 0; i < r->n_ranks; i++)
        us |= r->ranks[i].exec_us;
    for (size_t i = 0; i < r->n_comms; i++)
        complete |= r->comms[i].ops_complete;
    if (r->n_ops && !share_comms(r))
        return "no communicator has two ranks, so no rank waits for another";
    if (complete && !us && late_has_barriers(r))
        return "most operations have no time";
    if (late_has_barriers(r))
        return "no operation in which ranks wait for each other is complete";
    if (r->n_ops)
        return "the job has no operation in which all ranks wait for each "
               "other";
    return r->kernels
               ? "the AlltoAlls are of Send and Recv of different sizes, "
                 "by which ranks differ anyway"
               : "the job has only Send and Recv that are no AlltoAll, "
                 "which do not show who comes last";
}
