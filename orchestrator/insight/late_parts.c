/* late_parts.c - name ranks that are late in some parts of the run only.
 *
 * The run is cut into JP_SLICES parts. cut() splits a rank's parts into late
 * and other ones, in one of two ways: split_parts finds lateness that comes and
 * goes, split_end lateness that lasts from one part to the end.
 * late_judge_parts then requires that the late parts are clear, matter, are an
 * outlier among other ranks, and are not what a larger lateness of another rank
 * hides from then on. Part 0 never counts, because programs warm up in
 * it. */
#include "orchestrator/insight/late_measure.h"

#include <math.h>
#include <stdlib.h>

#include "orchestrator/insight/limits.h"
#include "common/stats.h"

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
    spread = fmax(
        spread, limits_get(JP_LIMIT_LATE_REST) *
                    late_deviation(l->scratch, n,
                                   limits_get(JP_LIMIT_LATE_SPREAD) * spread));
    return split->high - fmax(usual, 0) > late_times_of(n) * spread;
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

/* Fills when the rank's lateness began and ended, as shares of the run, and how
 * many stretches it has. */
static void say_when(const struct late *l, size_t rank,
                     const struct split *split)
{
    struct jp_lateness *x = &l->out[rank];
    const float *parts = late_parts_of(l, rank);
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
 * false if neither is, and where the recording was off for a while: in those
 * parts every rank seems to be in time. */
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

void late_judge_parts(struct late *l, size_t class)
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
