/* late_course.c - when a rank is late, and whether few operations prove it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/collective.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/late_decide.h"
#include "orchestrator/insight/stats.h"

/* --- who is the last one? --- */

static size_t slot(const struct late *l, size_t rank, size_t coll)
{
    return rank * l->r->n_coll_names + coll;
}

int late_count_last(struct late *l)
{
    struct ops_reader *reader = calloc(1, sizeof(*reader));
    size_t n = l->r->n_ranks * l->r->n_coll_names;

    l->last = calloc(n + 1, sizeof(*l->last));
    l->of = calloc(n + 1, sizeof(*l->of));
    if (!reader || !l->last || !l->of) {
        free(reader);
        return -1;
    }
    reader->ops = l->r->ops;
    ops_want(reader, OPS_COUNTS | OPS_RANK);
    for (size_t i = 0; i < l->r->n_ops; i++) {
        const struct jp_op *op = ops_at(reader, i);
        uint32_t ranks = l->r->comms[op->comm].n_ranks;
        size_t from = l->p->comm_start[op->comm];

        if (op->n != ranks || op->n_exec != ranks ||
            l->p->comm_start[op->comm + 1] - from != ranks ||
            !collective_is_barrier(l->r->coll_names[op->coll]))
            continue;
        l->of[slot(l, from, op->coll)]++; /* its first rank's, for all */
        if (op->min_rank < ranks)
            l->last[slot(l, from + op->min_rank, op->coll)]++;
    }
    free(reader);
    return 0;
}

double late_last_chance(const struct late *l, size_t rank)
{
    size_t c = l->r->ranks[rank].comm, from = l->p->comm_start[c];
    double least = 1, tried = (double) l->r->n_ranks;

    for (size_t k = 0; l->last && k < l->r->n_coll_names; k++)
        if (l->of[slot(l, from, k)])
            least = fmin(least,
                         stats_binomial_tail(
                             l->last[slot(l, rank, k)], l->of[slot(l, from, k)],
                             1 / (double) l->r->comms[c].n_ranks));
    return fmin(1, least * tried);
}

double late_chance(const struct late *l, size_t rank)
{
    return l->short_run[l->r->ranks[rank].comm] ? late_last_chance(l, rank) : 0;
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

static double mean(const double *v, unsigned from, unsigned to)
{
    double sum = 0;

    for (unsigned i = from; i < to; i++)
        sum += v[i];
    return to > from ? sum / (to - from) : 0;
}

static double squares(const double *v, unsigned from, unsigned to)
{
    double m = mean(v, from, to), sum = 0;

    for (unsigned i = from; i < to; i++)
        sum += (v[i] - m) * (v[i] - m);
    return sum;
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
        double rest = squares(v, 0, i) + squares(v, i, n);

        if (rest < best) {
            best = rest;
            at = i;
        }
    }
    if (!at)
        return split;
    split.n = n - at;
    split.high = mean(v, at, n);
    split.low = mean(v, 0, at);
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

    return mean(v, kept > n ? kept - n : 0, kept);
}

/* What values differ by: by the closest half, or where that is more by all that
 * are no outliers then. */
static double spread_of(const double *v, size_t n, double usual, double half)
{
    double squares = 0;
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (fabs(v[i] - usual) < limits_get(JP_LIMIT_LATE_SPREAD) * half) {
            squares += (v[i] - usual) * (v[i] - usual);
            kept++;
        }
    return fmax(half, limits_get(JP_LIMIT_LATE_REST) *
                          (kept ? sqrt(squares / (double) kept) : 0));
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
    spread = spread_of(l->scratch, n, usual, spread);
    return split->high - fmax(usual, 0) >
           limits_get(JP_LIMIT_LATE_SPREAD) * (1 + 6 / (double) n) * spread;
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

/* First operation of (comm, coll) and behind. */
static size_t find_op(struct ops_reader *reader, size_t n, size_t comm,
                      size_t coll)
{
    size_t from = 0, to = n;

    while (from < to) {
        size_t middle = from + (to - from) / 2;
        const struct jp_op *op = ops_at(reader, middle);

        if (op->comm < comm || (op->comm == comm && op->coll < coll))
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* When that share of the communicator's operations was over; NAN: not known. */
static double time_at(const struct late *l, size_t comm, double share)
{
    struct ops_reader *reader = calloc(1, sizeof(*reader));
    size_t first = 0, most = 0;
    double us = NAN;

    if (!reader)
        return NAN;
    reader->ops = l->r->ops;
    for (size_t k = 0; k < l->r->n_coll_names; k++) {
        size_t from = find_op(reader, l->r->n_ops, comm, k);
        size_t n = find_op(reader, l->r->n_ops, comm, k + 1) - from;

        if (n > most && collective_is_barrier(l->r->coll_names[k])) {
            most = n;
            first = from;
        }
    }
    if (most) {
        size_t at = (size_t) (share * (double) most);
        const struct jp_op *op =
            ops_at(reader, first + (at < most ? at : most - 1));
        uint64_t told = op->n_start ? op->start_max_us : op->dump_min_us;

        us = told ? (double) told : NAN;
    }
    free(reader);
    return us;
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
    x->from_us = time_at(l, l->r->ranks[rank].comm, x->from_share);
    x->to_us = time_at(l, l->r->ranks[rank].comm, x->to_share);
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

void late_in_parts(struct late *l, size_t class)
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
