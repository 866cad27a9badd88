/* late.c - decide who is late, all along or in parts of the run. */
#include "orchestrator/insight/late.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/bandwidth.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/late_measure.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/stats.h"

/* --- what excuses a rank ------------------------------------------------- */

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

/* Is its process as late of its own where the other one leads? */
static bool is_late_itself(const struct jp_lateness *own,
                           const struct jp_lateness *led)
{
    return own->excess_us > limits_get(JP_LIMIT_LATE_SAME) * led->excess_us &&
           own->excess_us > limits_get(JP_LIMIT_LATE_ERRORS) * own->error_us;
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
                (k != own && !is_late_itself(&l->out[own], &l->out[rank]) &&
                 leads(&l->out[k], &l->out[rank])))
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

/* Does rank k wait, in a communicator of some of all ranks, for one that is far
 * later than the other rank: where it synchronises more often than that one is
 * late, or by much of that one's excess? */
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

/* Does the rank's process exchange Send and Recv with one that is far later, or
 * that waits for such a one?
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
                is_grouped_later(l, k, at, worst) ||
                (k != at && !(l->grouped_us[at] > 0) &&
                 waits_for_far_later(l, k, rank, worst)))
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

/* --- who is late --------------------------------------------------------- */

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
    bool arrives; /* some rank of it arrives late */
    bool asked, late;
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
static double node_least(const struct node *node, double spread_us)
{
    double n = (double) node->n, mean = node->sum / n, error, least;

    if (node->n < 3)
        return 0;
    error = sqrt(fmax(node->squares / n - mean * mean, 0) / (n - 1));
    least = fmax(limits_get(JP_LIMIT_LATE_SHARE) * node->peers / n,
                 limits_get(JP_LIMIT_LATE_ERRORS) * node_error(node));
    least = fmax(least, limits_get(JP_LIMIT_LATE_NODE_ERRORS) *
                            (1 + 4 / (n - 1)) * error);
    return fmax(least, limits_get(JP_LIMIT_LATE_NODE) * spread_us);
}

/* All of them later, and alike: by far more than they differ. */
static bool is_node_late(const struct late *l, const struct node *node)
{
    double n = (double) node->n, mean = node->sum / n;

    return node->n >= 3 && node->later == node->n && mean > node->least &&
           late_is_much(l, fmax(mean, node->arrival / n), node->peers / n);
}

/* The node of the largest mean excess that was not asked; n_hosts: none. */
static size_t next_node(const struct late *l, const struct node *nodes)
{
    size_t best = l->p->n_hosts;
    double most = 0;

    for (size_t h = 0; h < l->p->n_hosts; h++)
        if (!nodes[h].asked && nodes[h].arrives && nodes[h].n >= 2 &&
            nodes[h].sum / (double) nodes[h].n > most) {
            most = nodes[h].sum / (double) nodes[h].n;
            best = h;
        }
    return best;
}

/* Its mates moved the median that its ranks were compared with. */
static void move_excess(struct late *l, size_t class, size_t host,
                        const double *later)
{
    for (size_t i = 0; i < l->r->n_ranks; i++) {
        struct jp_lateness *x = &l->out[i];

        if (!spans_nodes(l, i, class) || late_host_of(l, i) != host ||
            !(later[i] > x->excess_us))
            continue;
        x->arrival_us += later[i] - x->excess_us;
        x->excess_us = later[i];
    }
}

/* Those that may be late, by the ranks of others alone: a few of the class.
 * later: n_ranks. */
static int judge_apart(struct late *l, size_t class, struct node *nodes,
                       double *later)
{
    for (unsigned i = 0; i < limits_get(JP_LIMIT_LATE_MANY); i++) {
        size_t h = next_node(l, nodes);
        double us = 0, peers;

        if (h == l->p->n_hosts)
            break;
        nodes[h].asked = true;
        if (nodes[h].late)
            continue;
        for (size_t k = 0; k < l->r->n_ranks; k++)
            later[k] = NAN;
        if (late_node_apart(l, class, h, later, &us) < 0)
            return -1;
        peers = nodes[h].peers / (double) nodes[h].n;
        nodes[h].late = us > limits_get(JP_LIMIT_LATE_SHARE) * peers &&
                        late_is_much(l, us, peers);
        if (nodes[h].late)
            move_excess(l, class, h, later);
    }
    return 0;
}

static int judge_nodes(struct late *l, size_t class,
                       const struct late_spread *spread)
{
    struct node *nodes = calloc(l->p->n_hosts + 1, sizeof(*nodes));
    double *later = calloc(l->r->n_ranks + 1, sizeof(*later));
    int rc;

    if (!nodes || !later) {
        free(later);
        free(nodes);
        return -1;
    }
    for (size_t i = 0; i < l->r->n_ranks; i++) {
        struct node *node = &nodes[late_host_of(l, i)];

        if (!spans_nodes(l, i, class))
            continue;
        node->n++;
        node->later += l->out[i].excess_us > 2 * l->out[i].error_us &&
                       l->out[i].excess_us > l->out[i].hidden_us &&
                       arrives_late(l, &l->out[i]) &&
                       late_chance(l, i) < limits_get(JP_LIMIT_LATE_CHANCE);
        node->arrives |= arrives_late(l, &l->out[i]) &&
                         late_chance(l, i) < limits_get(JP_LIMIT_LATE_CHANCE);
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
    rc = judge_apart(l, class, nodes, later);
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
    free(later);
    free(nodes);
    return rc;
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
    late_judge_parts(l, class);
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

/* Judges from the start. */
static int judge(struct late *l)
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

int late_judge(const struct jp_result *r, const struct jp_processes *p,
               const struct jp_netserieses *series, struct jp_lateness *out)
{
    struct late l = {.r = r, .p = p, .series = series, .out = out};
    struct late even = {.r = r, .p = p, .series = series, .evenly = true};
    int rc = judge(&l);

    if (rc < 0 || !l.numbered || any_late(&l))
        return rc;
    /* A node that is late from some time on has parts of two kinds. Their
     * error hides it, unless messages are taken from all parts alike. */
    even.out = calloc(r->n_ranks + 1, sizeof(*even.out));
    rc = even.out ? judge(&even) : -1;
    if (rc == 0 && any_late(&even))
        memcpy(out, even.out, r->n_ranks * sizeof(*out));
    free(even.out);
    return rc;
}
