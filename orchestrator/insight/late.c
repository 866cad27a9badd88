/* late.c - decide which ranks and nodes are late, by sums of waits.
 *
 * late_judge measures (late_measure.c), then judges each class of communicators
 * of one shape: single ranks against the class's spread (is_later), nodes
 * (judge_nodes), and parts of the run (judge_parts). Last, excuse() takes back
 * ranks whose lateness another rank explains. late.h has the idea and the
 * statistics.
 *
 * Parts. The run is cut into JP_SLICES parts. cut() splits a rank's parts into
 * late and other ones, in one of two ways: split_parts finds lateness that
 * comes and goes, split_end lateness that lasts from one part to the end.
 * judge_parts then requires that the late parts are clear, matter, are an
 * outlier among other ranks, and are not what a larger lateness of another rank
 * hides from then on. Part 0 never counts, because programs warm up in it.
 */
#include "orchestrator/insight/late.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/bandwidth.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/late_measure.h"
#include "orchestrator/insight/limits.h"
#include "common/stats.h"

/* --- by how much ranks of a kind differ anyway ---------------------------- */

/* By how much the ranks of one class differ anyway. */
struct spread {
    double half_us; /* of the closest half, which no outlier moves */
    double us;      /* the larger of half_us and the deviation of all ranks that
                       are no outliers by half_us: half of a few ranks may be
                       close by luck */
    double times;   /* an outlier is this many spreads away */
    size_t first;   /* rank of the largest excess */
    double rest_us; /* deviation of all ranks but that one */
};

/* How many spreads make an outlier among n independent ranks. More are required
 * of fewer ranks, which show their spread less well. */
static double times_of(size_t n)
{
    return limits_get(JP_LIMIT_LATE_SPREAD) * (1 + 6 / (double) n);
}

/* Root mean square of the values with |v| below `outlier`; 0 if there are none.
 * The values are differences from a median. */
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

/* Computes the deviation without the largest value: one late rank among few
 * widens the spread, so it is judged by that of the others. */
static void leave_out_first(struct spread *spread, double *v, size_t n)
{
    double most = -INFINITY, squares = 0;

    for (size_t i = 0; i < n; i++) {
        most = fmax(most, v[i]);
        squares += v[i] * v[i];
    }
    spread->rest_us = sqrt(fmax(squares - most * most, 0) / (double) (n - 1));
}

/* The spread of a class. The two ranks of a pair count as one value, because
 * one is as much later as the other is earlier. */
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
    spread.us =
        fmax(spread.half_us,
             limits_get(JP_LIMIT_LATE_REST) *
                 deviation(l->scratch, n, spread.times * spread.half_us));
    return spread;
}

/* --- who is late in some parts of the run only ---------------------------- */

/* A rank's parts of the run, split into late and other ones. Times are excess
 * in us per part. */
struct split {
    unsigned n, kept;   /* number of late parts; of known parts */
    unsigned spells;    /* contiguous stretches of late parts */
    bool is[JP_SLICES]; /* whether the part is late */
    double high, low;   /* mean of the late parts; of the other ones */
    double within;      /* standard deviation of parts from their mean */
    double chance;      /* split_end: probability by luck; split_parts: 1 */
};

/* Copies the known parts but the first into v, sorted; returns their number. */
static unsigned sort_parts(const float *parts, double v[JP_SLICES])
{
    unsigned n = 0;

    for (unsigned s = 1; s < JP_SLICES; s++)
        if (isfinite(parts[s]))
            v[n++] = (double) parts[s];
    stats_sort(v, n);
    return n;
}

/* A single part between two parts of the other kind takes their kind. */
static void smooth(bool is[JP_SLICES])
{
    for (unsigned s = 2; s + 1 < JP_SLICES; s++)
        if (is[s - 1] == is[s + 1])
            is[s] = is[s - 1];
}

/* True if lateness begins or ends within part s, so that it belongs to neither
 * mean. Of the two parts beside a change, it is the one nearer to the middle.
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

/* Standard deviation of the parts from the mean of their kind, without edges.
 * Two degrees of freedom are used by the two means; infinite if none is left.
 */
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

/* Splits the parts by value: the cut with the smallest sum of squares within
 * both groups (2-means, which in one dimension is a cut of the sorted values:
 * Fisher 1958). */
static struct split split_parts(const float *parts)
{
    double v[JP_SLICES], best = INFINITY;
    struct split split = {.kept = sort_parts(parts, v), .chance = 1};
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

/* Probability that of two groups of a and b normal values with the same mean
 * the late one is so much higher (Student's t), times an upper bound of the
 * number of cuts that were tried (Bonferroni). */
static double chance_of(const struct split *split, unsigned a, unsigned b)
{
    double error = split->within * sqrt(1.0 / a + 1.0 / b);

    if (!a || !b || a + b < 3 || !isfinite(error))
        return 1;
    return fmin(1, (JP_SLICES - 3) *
                       stats_student_tail((split->high - split->low) / error,
                                          a + b - 2));
}

/* Computes means, deviation and chance again without the edge. */
static void measure_end(const float *parts, struct split *split)
{
    double sum[2] = {0};
    unsigned n[2] = {0};

    for (unsigned s = 1; s < JP_SLICES; s++)
        if (isfinite(parts[s]) && !is_edge(parts, split, s)) {
            sum[split->is[s]] += (double) parts[s];
            n[split->is[s]]++;
        }
    if (!n[0] || !n[1])
        return;
    split->high = sum[1] / n[1];
    split->low = sum[0] / n[0];
    split->within = within(parts, split);
    split->chance = chance_of(split, n[1], n[0]);
}

/* Splits the parts by time: late from one part to the end, at the cut with the
 * smallest sum of squares. split_parts may miss such a change, because a cut of
 * the sorted values that separates a few outliers can leave less. */
static struct split split_end(const float *parts)
{
    double v[JP_SLICES], best = INFINITY;
    struct split split = {.chance = 1};
    unsigned at[JP_SLICES], n = 0, cut = 0;

    for (unsigned s = 1; s < JP_SLICES; s++)
        if (isfinite(parts[s])) {
            at[n] = s;
            v[n++] = (double) parts[s];
        }
    for (unsigned i = 2; i + 1 < n; i++) {
        double rest = stats_squares(v, 0, i) + stats_squares(v, i, n);

        if (rest < best && stats_mean(v, i, n) > stats_mean(v, 0, i)) {
            best = rest;
            cut = i;
        }
    }
    split.kept = n;
    if (!cut)
        return split;
    split.n = n - cut;
    split.spells = 1;
    split.high = stats_mean(v, cut, n);
    split.low = stats_mean(v, 0, cut);
    for (unsigned s = at[cut]; s < JP_SLICES; s++)
        split.is[s] = isfinite(parts[s]);
    measure_end(parts, &split);
    return split;
}

/* Mean of a rank's n largest parts. For a rank that is not late, this is how
 * large its n largest parts become by luck. */
static double largest(const float *parts, unsigned n)
{
    double v[JP_SLICES];
    unsigned kept = sort_parts(parts, v);

    return stats_mean(v, kept > n ? kept - n : 0, kept);
}

/* True if the late parts are an outlier among the n largest parts of the other
 * ranks of the class. False if these are too few to say. */
static bool is_outlier(struct late *l, size_t class, size_t rank,
                       const struct split *split)
{
    size_t n = 0;
    double usual, spread;

    for (size_t i = 0; i < l->r->n_ranks; i++)
        if (i != rank && l->out[i].judged &&
            l->class_of[l->r->ranks[i].comm] == class)
            l->scratch[n++] = largest(late_parts_of(l, i), split->n);
    if (n < limits_get(JP_LIMIT_PART_RANKS))
        return false;
    usual = stats_median(l->scratch, n);
    spread = stats_spread(l->scratch, n);
    for (size_t i = 0; i < n; i++)
        l->scratch[i] -= usual;
    spread =
        fmax(spread, limits_get(JP_LIMIT_LATE_REST) *
                         deviation(l->scratch, n,
                                   limits_get(JP_LIMIT_LATE_SPREAD) * spread));
    return split->high - fmax(usual, 0) > times_of(n) * spread;
}

/* By how many us the rank arrived later, summed over its late parts. */
static double arrival_of(const struct jp_lateness *x, const struct split *split)
{
    double us = 0;

    for (unsigned s = 0; s < JP_SLICES; s++)
        if (split->is[s] && isfinite(x->parts_us[s]))
            us += (double) x->parts_us[s];
    return us;
}

/* True if the lateness `us` of the late parts matters: in these parts it is as
 * much as would be named in a whole run, it is not negligible for the run, and
 * the rank arrives late by it. */
static bool is_much(const struct late *l, const struct jp_lateness *x,
                    const struct split *split, double us)
{
    double part = (double) split->n / split->kept;
    double least = fmax(late_much(l, x->peers_us),
                        limits_get(JP_LIMIT_LATE_SHARE) * x->peers_us);

    return us > part * fmax(least, x->hidden_us) &&
           us > limits_get(JP_LIMIT_LATE_LEAST) * l->run_us &&
           (arrival_of(x, split) > us / 4 ||
            l->grouped_late[l->p->of_rank[x - l->out]] > us / 4);
}

/* True if late and other parts are clearly apart, long enough, and the other
 * parts are not late too (then the rank is late all along). early_us: as in
 * late_sum. */
static bool is_clear(const struct split *split, double early_us)
{
    if (split->chance < limits_get(JP_LIMIT_LATE_CHANCE))
        return split->n >= limits_get(JP_LIMIT_PART_LENGTH) &&
               split->n + 2 < split->kept &&
               split->low - early_us <
                   limits_get(JP_LIMIT_PART_REST) * split->high;
    return 2 * split->n >= 3 * split->spells && split->spells > 0 &&
           (split->n >= limits_get(JP_LIMIT_PART_LENGTH) ||
            (split->n >= 2 && split->is[JP_SLICES - 1])) &&
           split->n + 2 < split->kept &&
           split->high - split->low > limits_get(JP_LIMIT_PART_CLEAR) *
                                          (1 + 1.0 / split->n) *
                                          split->within &&
           split->low - early_us < limits_get(JP_LIMIT_PART_REST) * split->high;
}

/* True if all late parts are in the first fifth of the run: ranks take
 * different times to warm up. */
static bool is_warmup(const struct split *split)
{
    for (unsigned s = JP_SLICES / 5; s < JP_SLICES; s++)
        if (split->is[s])
            return false;
    return true;
}

/* The share of part s that is late, 0 to 1, by where its excess lies between
 * the two means. */
static double late_of(const float *parts, const struct split *split, int s)
{
    double share;

    if (s < 0 || s >= JP_SLICES || !isfinite(parts[s]))
        return 0;
    share = ((double) parts[s] - split->low) / (split->high - split->low);
    return fmax(0, fmin(1, share));
}

/* The rank's lateness in us, over its late parts and the parts in which
 * lateness begins or ends. early_us: lateness that each other part shows
 * although it belongs to the late parts (early_us). Returns 0 if the run as
 * a whole does not show this lateness, because the rank is as much earlier in
 * other parts. */
static double late_sum(const float *parts, const struct split *split,
                       double early_us)
{
    double us = 0, all = 0;

    for (int s = 1; s < JP_SLICES; s++) {
        bool next = split->is[s - 1] || (s + 1 < JP_SLICES && split->is[s + 1]);

        if (!isfinite(parts[s]))
            continue;
        all += (double) parts[s];
        if (split->is[s])
            us += (double) parts[s];
        else
            us += early_us +
                  (next ? late_of(parts, split, s) * (split->high - split->low)
                        : 0);
    }
    return all > limits_get(JP_LIMIT_PART_OWN) * us ? us : 0;
}

/* Fills when the rank's lateness began and ended, as shares of the run, how
 * many stretches it has, and told_us. */
static void say_when(const struct late *l, size_t rank,
                     const struct split *split)
{
    struct jp_lateness *x = &l->out[rank];
    const float *parts = late_parts_of(l, rank);
    int first = -1, last = 0;
    double us = 0;
    unsigned n = 0;

    x->spells = split->spells;
    for (int s = 1; s < JP_SLICES; s++) {
        first = split->is[s] && first < 0 ? s : first;
        last = split->is[s] ? s : last;
        if (isfinite(x->parts_us[s])) {
            us += (double) x->parts_us[s];
            n++;
        }
    }
    /* as the split has it, the first part is not late: programs warm up */
    n += isfinite(x->parts_us[0]);
    x->told_us = n ? us / n * JP_SLICES : x->arrival_us;
    x->late_share = (double) split->n / split->kept;
    x->from_share = (first + 1 - late_of(parts, split, first) -
                     late_of(parts, split, first - 1)) /
                    JP_SLICES;
    x->to_share =
        (last + late_of(parts, split, last) + late_of(parts, split, last + 1)) /
        JP_SLICES;
}

/* By how many us the rank's process waited longer for messages than the median
 * of the communicator's other ranks. */
static double waited(const struct late *l, size_t rank)
{
    size_t c = l->r->ranks[rank].comm, from = l->p->comm_start[c], n = 0;

    for (size_t k = from; k < l->p->comm_start[c + 1]; k++)
        if (k != rank)
            l->scratch[n++] = l->messages[l->p->of_rank[k]];
    return l->messages[l->p->of_rank[rank]] - stats_median(l->scratch, n);
}

/* By how many us each of the other parts seems late only because the rank waits
 * less for messages while it is late: where only the sum of these waits is
 * known, it is spread evenly over all parts. What the other parts show of it is
 * the most. */
static double early_us(double waited_us, const struct split *split)
{
    return waited_us < 0 ? fmax(0, fmin(split->low, -waited_us / JP_SLICES))
                         : 0;
}

/* Splits the rank's parts by value, or by time if that is not clear. Returns
 * false if neither is, and where the recording was off for a while: who waits
 * for messages in which part is not known then, and only own times show it. */
static bool cut(const struct late *l, size_t rank, double messages,
                struct split *split)
{
    const float *parts = late_parts_of(l, rank);

    *split = split_parts(parts);
    if (l->r->quality.n_pauses)
        return false;
    if (!is_clear(split, early_us(messages, split)))
        *split = split_end(parts);
    return is_clear(split, early_us(messages, split)) && !is_warmup(split);
}

/* *first and *last late part; JP_SLICES and 0 if there is none. */
static void ends_of(const struct split *split, int *first, int *last)
{
    *first = JP_SLICES;
    *last = 0;
    for (int s = 1; s < JP_SLICES; s++)
        if (split->is[s]) {
            *first = s < *first ? s : *first;
            *last = s;
        }
}

/* True if the rank's lateness ends when a larger lateness of another rank
 * begins and lasts. The rank is then late by little all along, and the larger
 * lateness hides it from that part on. */
static bool is_hidden_since(struct late *l, size_t class, size_t rank,
                            const struct split *split)
{
    int first, last, from, to;

    ends_of(split, &first, &last);
    if (last == JP_SLICES - 1)
        return false;
    for (size_t i = 0; i < l->r->n_ranks; i++) {
        struct split other;

        if (i == rank || !l->out[i].judged ||
            l->class_of[l->r->ranks[i].comm] != class ||
            !cut(l, i, waited(l, i), &other))
            continue;
        ends_of(&other, &from, &to);
        if (to == JP_SLICES - 1 && other.spells == 1 &&
            abs(from - last - 1) <= 1 && other.high > split->high)
            return true;
    }
    return false;
}

/* Names ranks of a class that are late in some parts of the run only, and fills
 * when late ranks were late. */
static void judge_parts(struct late *l, size_t class)
{
    for (size_t i = 0; i < l->r->n_ranks; i++) {
        struct jp_lateness *x = &l->out[i];
        struct split split;
        double us, messages, early;

        if (!x->judged || x->with_node || l->short_run[l->r->ranks[i].comm] ||
            l->class_of[l->r->ranks[i].comm] != class)
            continue;
        messages = waited(l, i);
        if (!cut(l, i, messages, &split))
            continue;
        early = early_us(messages, &split);
        us = late_sum(late_parts_of(l, i), &split, early);
        if (!is_much(l, x, &split, us) || !is_outlier(l, class, i, &split) ||
            is_hidden_since(l, class, i, &split))
            continue;
        /* Also for a rank that is already late over the whole run: the trimmed
         * mean of all parts leaves out some late parts, and its error includes
         * the onset. */
        x->excess_us = us;
        x->error_us = split.within * sqrt(split.n);
        x->late = true;
        say_when(l, i, &split);
    }
}

/* --- what excuses a rank -------------------------------------------------- */

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

/* --- who is late ---------------------------------------------------------- */

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
                      const struct spread *spread)
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
    struct spread spread = class_spread(l, class);

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
    judge_parts(l, class);
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
