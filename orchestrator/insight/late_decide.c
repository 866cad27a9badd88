/* late_decide.c - decide who is late. */
#include "orchestrator/insight/late_decide.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/stats.h"

static uint64_t ops_of(const struct late *l, size_t rank)
{
    return l->r->ranks[rank].timed_ops;
}

/* Is x, though no outlier, surely late where the other's process waits for it,
 * and by enough to explain that? Waits of gradients reduced beside the
 * computation count several times in the other's excess. */
static bool leads(const struct jp_lateness *x, const struct jp_lateness *led)
{
    return x->judged &&
           x->excess_us > limits_get(JP_LIMIT_LATE_LED) * led->excess_us &&
           x->arrival_us > limits_get(JP_LIMIT_LATE_LED) * led->excess_us &&
           x->excess_us > limits_get(JP_LIMIT_LATE_ERRORS) * x->error_us;
}

/* Is it late by far less in a communicator that synchronises more often, and
 * not enough there to be named? Then overlap has counted that several times. */
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

/* Does its process, in a communicator that synchronises more often, wait for
 * somebody who is late, or as late as that, though no outlier there? */
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

/* Does its process exchange Send and Recv with one that is far later? Its waits
 * there are known as a sum only, which overlap may hide. */
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

/* The result's rank of k's process in that communicator; SIZE_MAX: none. */
static size_t rank_in(const struct late *l, size_t k, size_t comm)
{
    const struct jp_process *who = &l->p->list[l->p->of_rank[k]];

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

int late_excuse(struct late *l)
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

/* ----------------------------------------------------- decide who is late */

/* Those of one shape and purpose have about as many operations. */
static int by_shape(const void *a, const void *b, void *arg)
{
    const struct jp_comm *comms = arg;
    const struct jp_comm *x = &comms[*(const size_t *) a],
                         *y = &comms[*(const size_t *) b];
    int x_ops = stats_magnitude(x->ops), y_ops = stats_magnitude(y->ops);

    if (x->n_ranks != y->n_ranks)
        return x->n_ranks < y->n_ranks ? -1 : 1;
    if (x->nnodes != y->nnodes)
        return x->nnodes < y->nnodes ? -1 : 1;
    if (x_ops != y_ops)
        return x_ops < y_ops ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Numbers communicators of one shape alike. */
static int classify(struct late *l)
{
    size_t n = l->r->n_comms;
    size_t *order = calloc(n + 1, sizeof(*order));

    if (!order)
        return -1;
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    if (n)
        qsort_r(order, n, sizeof(*order), by_shape, l->r->comms);
    for (size_t i = 0; i < n; i++) {
        if (i && by_shape(&order[i - 1], &order[i], l->r->comms))
            l->classes++;
        l->class_of[order[i]] = l->classes;
    }
    l->classes++;
    free(order);
    return 0;
}

/* What ranks of communicators of one shape differ by anyway. */
struct spread {
    double half_us; /* by the closest half, which no outlier moves */
    double us;      /* as half of few ranks may be close by luck: or, where that
                       is more, by all that are no outliers then */
    double times;   /* how many of it make an outlier */
    double proved;  /* ... where it is proved to come last */
    size_t first;   /* rank of the largest excess */
    double rest_us; /* deviation of all but that one */
};

/* Fewer ranks tell their spread worse: of n independent ones that many more
 * spreads are asked for. */
static double times_of(size_t n)
{
    return limits_get(JP_LIMIT_LATE_SPREAD) * (1 + 6 / (double) n);
}

/* Of a rank that is proved to come last: it may still be the slowest of n that
 * differ anyway, the largest of n normal values. */
static double times_of_proved(size_t n)
{
    double largest = sqrt(2 * log((double) (n > 1 ? n : 2)));

    return fmin(times_of(n),
                fmax(limits_get(JP_LIMIT_LATE_PROVED_LUCK) * times_of(n),
                     largest + limits_get(JP_LIMIT_LATE_PROVED_ABOVE)));
}

/* Deviation from 0, about the others' median, of those who are no outliers. */
static double deviation(const double *v, size_t n, double outlier)
{
    double squares = 0;
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (fabs(v[i]) < outlier) {
            squares += v[i] * v[i];
            kept++;
        }
    return kept ? sqrt(squares / (double) kept) : 0;
}

/* One late rank makes the spread of few larger: it is judged by the others'. */
static void leave_out_first(struct spread *spread, double *v, size_t n)
{
    double most = -INFINITY, squares = 0;

    for (size_t i = 0; i < n; i++) {
        most = fmax(most, v[i]);
        squares += v[i] * v[i];
    }
    spread->rest_us = sqrt(fmax(squares - most * most, 0) / (double) (n - 1));
}

/* Of two ranks, one is as much later as the other is earlier: one value. */
static struct spread class_spread(struct late *l, size_t class)
{
    size_t n = 0, pairs = 0;
    struct spread spread = {0};

    for (size_t i = 0; i < l->r->n_ranks; i++) {
        const struct jp_rank *rank = &l->r->ranks[i];

        if (!l->out[i].judged || l->class_of[rank->comm] != class)
            continue;
        if (!n || l->out[i].excess_us > l->out[spread.first].excess_us)
            spread.first = i;
        l->scratch[n++] = l->out[i].excess_us;
        pairs += l->r->comms[rank->comm].n_ranks == 2;
    }
    if (n < 2)
        return spread;
    leave_out_first(&spread, l->scratch, n);
    spread.half_us = stats_spread(l->scratch, n);
    spread.times = times_of(n - pairs / 2);
    spread.proved = times_of_proved(n - pairs / 2);
    spread.us =
        fmax(spread.half_us,
             limits_get(JP_LIMIT_LATE_REST) *
                 deviation(l->scratch, n, spread.times * spread.half_us));
    return spread;
}

/* Of what it spends more on its own a pipeline's slack hides a part: what is
 * left is much of that, or much itself. */
static bool arrives_late(const struct late *l, const struct jp_lateness *x)
{
    return x->ahead_us > x->excess_us / 4 ||
           l->grouped_late[l->p->of_rank[x - l->out]] > x->excess_us / 4 ||
           late_is_much(l, x->ahead_us, x->peers_us);
}

/* The largest of what an excess must be above to be named. */
static double least_of(const struct late *l, const struct jp_lateness *x,
                       const struct spread *spread)
{
    double least = fmax(x->hidden_us, late_much(l, x->peers_us));
    double us = (size_t) (x - l->out) == spread->first
                    ? fmin(spread->us, spread->rest_us)
                    : spread->us;
    bool proved = x->judged && late_last_chance(l, (size_t) (x - l->out)) <
                                   limits_get(JP_LIMIT_LATE_PROVED);
    double errors = limits_get(JP_LIMIT_LATE_ERRORS) *
                    (proved ? limits_get(JP_LIMIT_LATE_PROVED_LUCK) : 1);

    least = fmax(least, errors * x->error_us);
    least = fmax(least, (proved ? spread->proved : spread->times) * us);
    return fmax(least, limits_get(JP_LIMIT_LATE_SHARE) * x->peers_us);
}

/* More of its own than its peers, and by an amount that matters. */
static bool is_apart(const struct late *l, const struct jp_lateness *x)
{
    return x->judged && x->excess_us > x->least_us &&
           late_chance(l, (size_t) (x - l->out)) <
               limits_get(JP_LIMIT_LATE_CHANCE) &&
           x->excess_us > limits_get(JP_LIMIT_LATE_OWN) * x->arrival_us;
}

/* And there it is late by that. */
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
    double sum, squares, peers, errors, arrival;
};

static bool spans_nodes(const struct late *l, size_t rank, size_t class)
{
    size_t c = l->r->ranks[rank].comm;

    return l->class_of[c] == class && l->r->comms[c].n_hosts > 1 &&
           l->out[rank].judged;
}

/* What the mean of a node's ranks must be above; 0: there are too few. */
static double node_least(const struct node *node, const struct spread *spread)
{
    double n = (double) node->n, mean = node->sum / n, error, least;

    if (node->n < 3)
        return 0;
    error = sqrt(fmax(node->squares / n - mean * mean, 0) / (n - 1));
    least = fmax(limits_get(JP_LIMIT_LATE_SHARE) * node->peers / n,
                 limits_get(JP_LIMIT_LATE_ERRORS) * node->errors / n);
    least = fmax(least, limits_get(JP_LIMIT_LATE_NODE) * spread->half_us);
    return fmax(least, limits_get(JP_LIMIT_LATE_NODE_ERRORS) *
                           (1 + 4 / (n - 1)) * error);
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
                       const struct spread *spread)
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
                       arrives_late(l, &l->out[i]);
        node->arrival += l->out[i].arrival_us;
        node->peers += l->out[i].peers_us;
        node->errors += l->out[i].error_us; /* mates share theirs */
        node->sum += l->out[i].excess_us;
        node->squares += l->out[i].excess_us * l->out[i].excess_us;
    }
    for (size_t i = 0; i < l->r->n_ranks; i++) {
        const struct node *node = &nodes[late_host_of(l, i)];
        double least = node_least(node, spread);

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
    struct spread spread = class_spread(l, class);

    for (size_t i = 0; i < l->r->n_ranks; i++)
        if (l->class_of[l->r->ranks[i].comm] == class) {
            l->out[i].least_us = least_of(l, &l->out[i], &spread);
            l->out[i].late = is_later(l, &l->out[i]);
            l->out[i].run_us = l->run_us;
        }
    if (judge_nodes(l, class, &spread) < 0)
        return -1;
    late_in_parts(l, class);
    return 0;
}

/* Programs may name each of 100,000 communicators otherwise: most classes have
 * nothing to judge then. */
static bool *find_judged(const struct late *l)
{
    bool *judged = calloc(l->classes + 1, sizeof(*judged));

    for (size_t i = 0; judged && i < l->r->n_ranks; i++)
        judged[l->class_of[l->r->ranks[i].comm]] |= l->out[i].judged;
    return judged;
}

int late_decide(struct late *l)
{
    bool *judged;
    int rc = 0;

    if (classify(l) < 0)
        return -1;
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
    return rc < 0 ? -1 : late_excuse(l);
}
