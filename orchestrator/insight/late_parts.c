/* late_parts.c - decide who is late in some parts of the run only. */
#include "orchestrator/insight/late_measure.h"

#include <math.h>
#include <stdlib.h>

#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/stats.h"

/* A rank's parts in two: late and not. */
struct split {
    unsigned n, kept;   /* late ones, of all */
    unsigned spells;    /* stretches of them */
    bool is[JP_SLICES]; /* late */
    double high, low;   /* means of the two */
    double within;      /* deviation from these */
    double chance; /* of late parts at the end: that luck makes them; else 1 */
};

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

/* How likely two groups of normal values of one mean are so far apart, for all
 * cuts that were tried. a, b: how many are in each. */
static double chance_of(const struct split *split, unsigned a, unsigned b)
{
    double error = split->within * sqrt(1.0 / a + 1.0 / b);

    if (!a || !b || a + b < 3 || !isfinite(error))
        return 1;
    return fmin(1, (JP_SLICES - 3) *
                       stats_student_tail((split->high - split->low) / error,
                                          a + b - 2));
}

/* Means and what is left of the parts but for edges, of late ones to the end.
 */
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

/* Late from one part on to the end: the cut that leaves least between the two.
 * Of sorted values another one may leave less, which cuts a few outliers off.
 */
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
           (arrival_of(x, split) > us / 4 ||
            l->grouped_late[l->p->of_rank[x - l->out]] > us / 4);
}

/* early_us: as in late_sum. */
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

/* Only at the very begin: programs warm up by unlike times. */
static bool is_warmup(const struct split *split)
{
    for (unsigned s = JP_SLICES / 5; s < JP_SLICES; s++)
        if (split->is[s])
            return false;
    return true;
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

/* What it is late by, in its late parts and those in which that begins or ends;
 * 0 where that is not so of the run as a whole. early_us: what in each of the
 * others is no lateness. */
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

/* When it began, when it ended, and how often. */
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

/* What its process waited for messages more than others of the communicator. */
static double waited(const struct late *l, size_t rank)
{
    size_t c = l->r->ranks[rank].comm, from = l->p->comm_start[c], n = 0;

    for (size_t k = from; k < l->p->comm_start[c + 1]; k++)
        if (k != rank)
            l->scratch[n++] = l->messages[l->p->of_rank[k]];
    return l->messages[l->p->of_rank[rank]] - stats_median(l->scratch, n);
}

/* Waits for messages are known as a sum only, which is taken from all parts
 * alike: who is late for a time, and waits less for them then, seems late by
 * that all along, and who waits more is early before. So of what it waited more
 * than others only what the other parts show is of the late ones: the rest was
 * so all along, as of messages that cross nodes. Who waited more has no doubt
 * on its side: as much as their mean may show by its error. */
static double waited_since(double waited_us, const struct split *split,
                           bool by_part)
{
    double shown = -split->low * JP_SLICES;
    double error = split->within / sqrt(fmax(split->kept - split->n, 1));

    if (by_part)
        return waited_us;
    if (waited_us <= 0)
        return fmin(0, fmax(waited_us, shown));
    return fmax(0, fmin(waited_us, shown + limits_get(JP_LIMIT_INTERVAL) *
                                               error * JP_SLICES));
}

/* Waits in an AlltoAll that is known one by one are those of their parts. */
static bool is_by_part(const struct late *l, size_t rank)
{
    const struct jp_process *who = &l->p->list[l->p->of_rank[rank]];

    for (size_t i = who->first; i < who->first + who->n; i++)
        if (l->kernels[l->r->ranks[l->p->by_process[i]].comm])
            return true;
    return false;
}

static double early_us(double waited_us, const struct split *split)
{
    return fmax(0, -waited_since(waited_us, split, false) / JP_SLICES);
}

/* Of the two ways to cut its parts in two the first that is clear. */
static bool cut(const struct late *l, size_t rank, double messages,
                struct split *split)
{
    const float *parts = late_parts_of(l, rank);

    *split = split_parts(parts);
    if (!is_clear(split, early_us(messages, split)))
        *split = split_end(parts);
    return is_clear(split, early_us(messages, split)) && !is_warmup(split);
}

/* The first and the last late part. */
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

/* Does its lateness end when a larger one of another rank begins, which lasts?
 * It is late by little all along then, and that one hides it. */
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

/* Is a rank later since the same part that its process exchanges messages with?
 */
static bool is_led_since(struct late *l, size_t rank, const struct split *split)
{
    const struct jp_process *who = &l->p->list[l->p->of_rank[rank]];
    int first, last, from, to;

    ends_of(split, &first, &last);
    for (size_t i = who->first; i < who->first + who->n; i++) {
        const struct jp_rank *own = &l->r->ranks[l->p->by_process[i]];
        size_t end = own->p2p_records ? l->p->comm_start[own->comm + 1] : 0;

        for (size_t k = l->p->comm_start[own->comm]; k < end; k++) {
            const struct jp_process *peer = &l->p->list[l->p->of_rank[k]];

            for (size_t m = peer->first;
                 peer != who && m < peer->first + peer->n; m++) {
                size_t at = l->p->by_process[m];
                struct split other;

                if (!l->out[at].judged || !cut(l, at, waited(l, at), &other))
                    continue;
                ends_of(&other, &from, &to);
                if (abs(from - first) <= 1 && other.high > split->high)
                    return true;
            }
        }
    }
    return false;
}

/* Did it wait for messages, more than others, by much of what it is late by?
 * Not where that was so all along, unless it waits for somebody later. */
static bool has_waited(struct late *l, size_t rank, const struct split *split,
                       double messages)
{
    double most = limits_get(JP_LIMIT_PART_WAITED) * split->n *
                  (split->high - split->low);

    return waited_since(messages, split, is_by_part(l, rank)) > most ||
           (messages > most && is_led_since(l, rank, split));
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
            has_waited(l, i, &split, messages) ||
            is_hidden_since(l, class, i, &split))
            continue;
        /* Of who is late over the run as a whole, too: its trimmed mean counts
         * late parts as those that were cut, and its error the onset. */
        x->excess_us = us;
        x->error_us = split.within * sqrt(split.n);
        x->late = true;
        say_when(l, i, &split);
    }
}
