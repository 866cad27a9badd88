/* late_judge.c - decide who is late. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/insight/late_parts.h"
#include "orchestrator/insight/stats.h"

/* Highest bit of how many operations it has: those of one shape and purpose
 * have about as many. */
static int magnitude(const struct jp_comm *comm)
{
    return 63 - __builtin_clzll(comm->ops | 1);
}

static int by_shape(const void *a, const void *b, void *arg)
{
    const struct jp_comm *comms = arg;
    const struct jp_comm *x = &comms[*(const size_t *) a],
                         *y = &comms[*(const size_t *) b];

    if (x->n_ranks != y->n_ranks)
        return x->n_ranks < y->n_ranks ? -1 : 1;
    if (x->nnodes != y->nnodes)
        return x->nnodes < y->nnodes ? -1 : 1;
    if (magnitude(x) != magnitude(y))
        return magnitude(x) < magnitude(y) ? -1 : 1;
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
};

/* Fewer ranks tell their spread worse: of n independent ones that many more
 * spreads are asked for. */
static double times_of(size_t n)
{
    return late_limit(JP_LIMIT_LATE_SPREAD) * (1 + 6 / (double) n);
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

#define REST 0.7 /* of the times by the closest half */

/* Of two ranks, one is as much later as the other is earlier: one value. */
static struct spread class_spread(struct late *l, size_t class)
{
    size_t n = 0, pairs = 0;
    struct spread spread = {0};

    for (size_t i = 0; i < l->r->n_ranks; i++) {
        const struct jp_rank *rank = &l->r->ranks[i];

        if (!l->out[i].judged || l->class_of[rank->comm] != class)
            continue;
        l->scratch[n++] = l->out[i].excess_us;
        pairs += l->r->comms[rank->comm].n_ranks == 2;
    }
    if (n < 2)
        return spread;
    spread.half_us = stats_spread(l->scratch, n);
    spread.times = times_of(n - pairs / 2);
    spread.us =
        fmax(spread.half_us,
             REST * deviation(l->scratch, n, spread.times * spread.half_us));
    return spread;
}

/* Of what it spends more on its own a pipeline's slack hides a part: what is
 * left is much of that, or much itself. */
static bool arrives_late(const struct late *l, const struct jp_lateness *x)
{
    return x->ahead_us > x->excess_us / 4 ||
           late_is_much(l, x->ahead_us, x->peers_us);
}

/* Later than its peers, by its own doing, and by an amount that matters. */
static bool is_later(const struct late *l, const struct jp_lateness *x)
{
    return x->judged && x->excess_us > x->hidden_us &&
           late_is_much(l, x->excess_us, x->peers_us) &&
           x->excess_us > late_limit(JP_LIMIT_LATE_SHARE) * x->peers_us &&
           x->excess_us > late_limit(JP_LIMIT_LATE_ERRORS) * x->error_us &&
           x->excess_us > late_limit(JP_LIMIT_LATE_OWN) * x->arrival_us &&
           arrives_late(l, x);
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

#define NODE_ERRORS 5 /* of many ranks' mean, and more of few */

/* All of them later, and alike: by far more than they differ. */
static bool is_node_late(const struct late *l, const struct node *node,
                         const struct spread *spread)
{
    double n = (double) node->n, mean = node->sum / n, error;

    if (node->n < 3 || node->later < node->n)
        return false;
    error = sqrt(fmax(node->squares / n - mean * mean, 0) / (n - 1));
    return mean > late_limit(JP_LIMIT_LATE_SHARE) * node->peers / n &&
           late_is_much(l, fmax(mean, node->arrival / n), node->peers / n) &&
           mean > late_limit(JP_LIMIT_LATE_ERRORS) * node->errors / n &&
           mean > late_limit(JP_LIMIT_LATE_NODE) * spread->half_us &&
           mean > NODE_ERRORS * (1 + 4 / (n - 1)) * error;
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
    for (size_t i = 0; i < l->r->n_ranks; i++)
        if (spans_nodes(l, i, class) &&
            is_node_late(l, &nodes[late_host_of(l, i)], spread))
            l->out[i].late = l->out[i].with_node = true;
    free(nodes);
    return 0;
}

static int judge_class(struct late *l, size_t class)
{
    struct spread spread = class_spread(l, class);

    for (size_t i = 0; i < l->r->n_ranks; i++)
        if (l->class_of[l->r->ranks[i].comm] == class)
            l->out[i].late = is_later(l, &l->out[i]) &&
                             l->out[i].excess_us > spread.times * spread.us;
    return judge_nodes(l, class, &spread);
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
    free(judged);
    return rc < 0 ? -1 : late_excuse(l);
}
