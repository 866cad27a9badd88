/* iteration.c - find the length of an iteration, in a program's operations or
 * samples.
 *
 * iteration_find is the entry: it tries the operations of a few processes
 * (iteration_of_ops), and if these show no iteration the samples of a GPU or a
 * task (iteration_of_series). cause.h describes both estimators. Both rather
 * find nothing than a wrong length: a reader compares the length with the
 * program's own figures.
 */
#include "orchestrator/util/cause.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "common/hash.h"
#include "orchestrator/aggregate/timeline.h"
#include "common/stats.h"
#include "plugins/util/util_rows.h"

enum {
    OPS_MAX = 1 << 17, /* of one process; later operations are ignored */
    FEW = 2,        /* if more kinds agree on the count, it is of iterations */
    MULTIPLES = 64, /* operations of one kind per iteration, at most */
    PROCESSES = 4,  /* processes tried; the best one counts */
    SERIES_MAX = 4096, /* samples of one member, at most */
    SERIES_LEAST = 16  /* fewer operations or samples show no repetition */
};

const char *const iteration_sources[JP_ITERATION_SOURCES] = {
    [JP_ITERATION_COLLECTIVES] = "collectives",
    [JP_ITERATION_UTILISATION] = "utilisation",
};

static const struct jp_iteration iteration_none = {.period_us = NAN,
                                                   .p5_us = NAN,
                                                   .p95_us = NAN,
                                                   .confidence = NAN,
                                                   .drift = NAN};

/* --- operations of a kind ------------------------------------------------- */

/* All operations of one kind. */
struct kind {
    uint64_t kind;
    size_t n;
    /* index of its first operation in the list sorted by kind */
    size_t first;
};

/* By kind, then in the order of the run. */
static int by_kind(const void *a, const void *b)
{
    const struct iteration_op *x = a, *y = b;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->start_us < y->start_us ? -1 : x->start_us > y->start_us;
}

/* Fewest operations first. `first` makes the order independent of qsort. */
static int by_count(const void *a, const void *b)
{
    const struct kind *x = a, *y = b;

    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Lists the kinds with more operations than the fewest iterations that count,
 * fewest first. ops is sorted by kind. Returns their number. */
static size_t list_kinds(const struct iteration_op *ops, size_t n,
                         struct kind *kinds)
{
    size_t least = (size_t) cause_limit(LIMIT_STEP_COUNT) + 1, found = 0;

    for (size_t i = 0, k; i < n; i = k) {
        for (k = i; k < n && ops[k].kind == ops[i].kind;)
            k++;
        if (k - i >= least)
            kinds[found++] = (struct kind){ops[i].kind, k - i, i};
    }
    if (found)
        qsort(kinds, found, sizeof(*kinds), by_count);
    return found;
}

/* Returns by how much counts of one number of iterations may differ: the run
 * begins and ends within an iteration, and some kinds are left out in a few. */
static size_t slack(size_t count)
{
    return count / 100 > 1 ? count / 100 : 1;
}

/* Returns the number of iterations: the count that most kinds share. Of two
 * equally frequent counts it is the smaller one, because the larger may count
 * parts of an iteration. *most: the number of kinds with this count. O(kinds^2)
 * at worst. */
static size_t count_steps(const struct kind *kinds, size_t n, size_t *most)
{
    size_t steps = 0;

    *most = 0;
    for (size_t i = 0, k; i < n; i++) {
        for (k = i; k < n && kinds[k].n - kinds[i].n <= slack(kinds[i].n);)
            k++;
        if (k - i > *most) {
            *most = k - i;
            steps = kinds[i].n;
        }
    }
    return steps;
}

/* Returns the operations per iteration: kinds that occur a whole multiple of
 * `steps` times count with that multiple. *share: their operations as a share
 * of all n, which is the confidence. */
static size_t count_ops(const struct kind *kinds, size_t n_kinds, size_t steps,
                        size_t n, double *share)
{
    size_t ops = 0, covered = 0;

    for (size_t i = 0; i < n_kinds; i++) {
        size_t times = (kinds[i].n + steps / 2) / steps;
        size_t off = times * steps > kinds[i].n ? times * steps - kinds[i].n
                                                : kinds[i].n - times * steps;

        if (!times || off > times * slack(steps))
            continue;
        ops += times;
        covered += kinds[i].n;
    }
    *share = (double) covered / (double) n;
    return ops;
}

/* Returns the autocorrelation of v (mean 0) at a lag, -1 to 1, corrected for
 * the fewer pairs at large lags. var: sum of squares. */
static double correlation(const double *v, size_t n, size_t lag, double var)
{
    double sum = 0;

    for (size_t i = 0; i + lag < n; i++)
        sum += v[i] * v[i + lag];
    return var > 0 ? sum / var * (double) n / (double) (n - lag) : 0;
}

/* Subtracts the mean. Returns the sum of squares. */
static double centre(double *v, size_t n)
{
    double mean = 0, var = 0;

    for (size_t i = 0; i < n; i++)
        mean += v[i] / (double) n;
    for (size_t i = 0; i < n; i++) {
        v[i] -= mean;
        var += v[i] * v[i];
    }
    return var;
}

/* Returns how many operations form a repeating pattern of distances; 1: each
 * repeats by itself. If only one or two kinds repeat, one kind may occur
 * several times per iteration, e.g. once per layer; then distances repeat with
 * that number. scratch: room for 2 n values. */
static size_t find_multiple(const struct iteration_op *ops, size_t n,
                            double *scratch)
{
    double var, usual, mean = 0;
    size_t most = n / (size_t) cause_limit(LIMIT_STEP_COUNT), at = 1;

    if (n < SERIES_LEAST)
        return 1;
    for (size_t i = 0; i + 1 < n; i++)
        scratch[i] = (double) (ops[i + 1].start_us - ops[i].start_us);
    /* Rare long pauses (checkpoints) would dominate the variance: cut them. */
    memcpy(scratch + n, scratch, (n - 1) * sizeof(*scratch));
    usual = stats_median(scratch + n, n - 1);
    for (size_t i = 0; i + 1 < n; i++) {
        scratch[i] = fmin(scratch[i], 100 * usual);
        mean += scratch[i] / (double) (n - 1);
    }
    var = centre(scratch, n - 1);
    /* Even distances have no pattern; correlations would be of noise. */
    if (sqrt(var / (double) (n - 1)) < cause_limit(LIMIT_STEP_UNEVEN) * mean)
        return 1;
    most = most < MULTIPLES ? most : MULTIPLES;
    for (size_t m = 2; m <= most; m++) {
        double r = correlation(scratch, n - 1, m, var);

        /* The first local maximum that is significant: independent distances
         * have correlations of about 1 / sqrt(n), so 4 of these are unlikely.
         */
        if (r > fmax(cause_limit(LIMIT_STEP_CORRELATION),
                     4 / sqrt((double) n)) &&
            r > correlation(scratch, n - 1, m - 1, var) &&
            r >= correlation(scratch, n - 1, m + 1, var)) {
            at = m;
            break;
        }
    }
    return at;
}

/* Returns the median without reordering v. scratch: room for n. */
static double median_of(const double *v, size_t n, double *scratch)
{
    memcpy(scratch, v, n * sizeof(*v));
    return stats_median(scratch, n);
}

/* Fills period, quantiles and drift from n durations in order of the run. Sorts
 * us. The drift compares the last third with the first. */
static void describe(double *us, size_t n, double *scratch,
                     struct jp_iteration *out)
{
    size_t third = n / 3;

    out->count = n;
    out->drift = n >= 9 ? median_of(us + n - third, third, scratch) /
                                  median_of(us, third, scratch) -
                              1
                        : NAN;
    stats_sort(us, n);
    out->period_us = us[n / 2];
    out->p5_us = us[n / 20];
    out->p95_us = us[n - 1 - n / 20];
}

/* Returns the spread of the distances between n operations: the width of their
 * middle 80 % as a share of the median. us: room for n. */
static double uneven(const struct iteration_op *ops, size_t n, double *us)
{
    double mid, low, high;

    for (size_t i = 0; i + 1 < n; i++)
        us[i] = (double) (ops[i + 1].start_us - ops[i].start_us);
    stats_sort(us, n - 1);
    mid = us[n / 2];
    low = us[n / 10];
    high = us[n - 2 - n / 10];
    return mid > 0 ? (high - low) / mid : INFINITY;
}

/* Returns the kind, of those that occur once per iteration, with the most even
 * distances: it stands at the same place of each iteration, unlike an operation
 * that waits for others. */
static const struct kind *find_anchor(const struct iteration_op *ops,
                                      const struct kind *kinds, size_t n,
                                      size_t steps, double *us)
{
    const struct kind *best = NULL;
    double least = INFINITY;

    for (size_t i = 0; i < n; i++) {
        double off;

        if (kinds[i].n < steps || kinds[i].n - steps > slack(steps))
            continue;
        off = uneven(ops + kinds[i].first, kinds[i].n, us);
        if (!best || off < least) {
            best = &kinds[i];
            least = off;
        }
    }
    return best;
}

/* Returns true if there is a kind that occurs about this often. */
static bool has_count(const struct kind *kinds, size_t n, size_t count)
{
    for (size_t i = 0; i < n; i++)
        if (kinds[i].n + slack(count) >= count &&
            kinds[i].n <= count + slack(count))
            return true;
    return false;
}

/* Finds the iteration in one process's operations. If there is none,
 * out->source stays UNKNOWN; out->confidence is set in either case. */
static void follow(const struct iteration_op *ops, const struct kind *kinds,
                   size_t n_kinds, size_t n, double *us,
                   struct jp_iteration *out)
{
    size_t alike, steps = count_steps(kinds, n_kinds, &alike);
    size_t multiple = 1, n_times = 0;
    const struct kind *anchor = find_anchor(ops, kinds, n_kinds, steps, us);
    size_t per_step = count_ops(kinds, n_kinds, steps, n, &out->confidence);

    if (out->confidence < cause_limit(LIMIT_STEP_LIKE))
        return;
    ops += anchor->first;
    if (alike <= FEW)
        multiple = find_multiple(ops, anchor->n, us);
    /* A pattern over several operations must show in another kind as well. */
    if (n_kinds > 1 && !has_count(kinds, n_kinds, anchor->n / multiple))
        multiple = 1;
    if (multiple > 1) /* with what occurs once in several of them */
        per_step = (n + anchor->n / 2) / anchor->n;
    for (size_t i = 0; i + multiple < anchor->n; i += multiple)
        us[n_times++] = (double) (ops[i + multiple].start_us - ops[i].start_us);
    if (n_times < (size_t) cause_limit(LIMIT_STEP_COUNT))
        return;
    describe(us, n_times, us + n_times, out);
    out->ops = per_step * multiple;
    out->source = JP_ITERATION_COLLECTIVES;
}

int iteration_of_ops(struct iteration_op *ops, size_t n,
                     struct jp_iteration *out)
{
    struct kind *kinds = NULL;
    double *us = NULL;
    size_t n_kinds;

    *out = iteration_none;
    if (n < SERIES_LEAST)
        return 0;
    kinds = calloc(n, sizeof(*kinds));
    us = calloc(2 * n + 2, sizeof(*us));
    if (kinds && us) {
        qsort(ops, n, sizeof(*ops), by_kind);
        n_kinds = list_kinds(ops, n, kinds);
        if (n_kinds)
            follow(ops, kinds, n_kinds, n, us, out);
    }
    free(kinds);
    free(us);
    return kinds && us ? 0 : -1;
}

/* --- samples -------------------------------------------------------------- */

/* Subtracts mean and slope, which would correlate at every lag. Returns the sum
 * of squares. */
static double detrend(double *v, size_t n)
{
    double mean = 0, slope = 0, var = 0, middle = ((double) n - 1) / 2, xx = 0;

    for (size_t i = 0; i < n; i++)
        mean += v[i] / (double) n;
    for (size_t i = 0; i < n; i++) {
        slope += ((double) i - middle) * (v[i] - mean);
        xx += ((double) i - middle) * ((double) i - middle);
    }
    slope /= xx;
    for (size_t i = 0; i < n; i++) {
        v[i] -= mean + slope * ((double) i - middle);
        var += v[i] * v[i];
    }
    return var;
}

/* Returns the width around a lag in which a peak must be the maximum: noise
 * splits broad peaks. */
static size_t width_of(size_t lag)
{
    return lag / 8 > 1 ? lag / 8 : 1;
}

/* Returns true if r has a peak of at least `least` at lag k, the maximum within
 * `width`. */
static bool is_peak(const double *r, size_t n, size_t k, size_t width,
                    double least)
{
    if (k < 2 || k + 1 >= n || !(r[k] > least))
        return false;
    for (size_t i = k > width ? k - width : 0; i <= k + width && i < n; i++)
        if (r[i] > r[k])
            return false;
    return true;
}

/* Returns the lag of a peak within `width` of a lag, or 0. */
static size_t peak_near(const double *r, size_t n, size_t lag, size_t width,
                        double least)
{
    for (size_t k = lag - width; k <= lag + width; k++)
        if (is_peak(r, n, k, width, least))
            return k;
    return 0;
}

/* Returns the position of a peak between samples: the vertex of a parabola
 * through three points. */
static double top_of(const double *r, size_t k)
{
    double bend = r[k - 1] - 2 * r[k] + r[k + 1];

    return (double) k + (bend < 0 ? (r[k - 1] - r[k + 1]) / (2 * bend) : 0);
}

void iteration_of_series(double *v, size_t n, double step_us,
                         struct jp_iteration *out)
{
    size_t half = n / 2, lag = 0, last, times = 1;
    double var, least, *r;

    *out = iteration_none;
    if (n < SERIES_LEAST || n > SERIES_MAX ||
        !(r = calloc(half + 2, sizeof(*r))))
        return;
    var = detrend(v, n);
    /* The null hypothesis is white noise. The maximum of n noise correlations
     * is about sqrt(2 ln n) standard deviations, each 1 / sqrt(n) wide. A peak
     * needs at least this, and one of at least half at twice the lag. */
    least = fmax(cause_limit(LIMIT_STEP_PEAK),
                 sqrt(2 * log((double) half)) / sqrt((double) n));
    /* Biased towards 0 at large lags, where values come from few pairs. */
    for (size_t k = 0; k <= half; k++)
        r[k] = correlation(v, n, k, var) * (double) (n - k) / (double) n;
    for (size_t k = 2; k < half && var > 1e-12 && !lag; k++)
        if (is_peak(r, half + 1, k, width_of(k), least) &&
            peak_near(r, half + 1, 2 * k, width_of(k), least / 2))
            lag = k;
    if (lag && n / lag >= (size_t) cause_limit(LIMIT_STEP_COUNT)) {
        double period = top_of(r, lag);

        /* A peak at a multiple of the period is as uncertain as the first one,
         * so the period from it is that many times more precise. */
        while ((last = peak_near(r, half + 1,
                                 (size_t) (period * (double) (times + 1) + 0.5),
                                 width_of(lag), least / 2))) {
            times++;
            period = top_of(r, last) / (double) times;
        }
        out->source = JP_ITERATION_UTILISATION;
        out->period_us = period * step_us;
        out->count = (uint64_t) ((double) n / period);
        out->confidence = fmin(r[lag], 1);
    }
    free(r);
}

/* --- a whole step --------------------------------------------------------- */

/* Returns the kind of an operation: its series and, if sizes is set, its size;
 * of a message also the peer. */
static uint64_t kind_of(const struct timeline *t,
                        const struct timeline_event *e, bool sizes)
{
    const struct timeline_series *s = &t->series[e->series];
    uint64_t h = hash_word(e->series + 1, sizes ? e->bytes : 0);

    return s->p2p ? hash_word(h, e->peer + 1) : h;
}

/* Finds the iteration of one timeline. ops: room for OPS_MAX. Returns 0 or -1.
 */
static int of_timeline(const struct timeline *t, bool sizes,
                       struct iteration_op *ops, struct jp_iteration *out)
{
    struct timeline_reader reader;
    struct timeline_event e;
    size_t n = 0;

    if (timeline_reader_init(&reader, t) < 0)
        return -1;
    while (n < OPS_MAX && timeline_next(&reader, &e))
        ops[n++] = (struct iteration_op){kind_of(t, &e, sizes), e.start_us};
    timeline_reader_fini(&reader);
    return iteration_of_ops(ops, n, out);
}

/* Tries a few processes, spread over the job, and takes the one with the
 * highest confidence. Returns 0 or -1. */
static int of_result(const struct jp_result *r, struct jp_iteration *out)
{
    struct iteration_op *ops = calloc(OPS_MAX, sizeof(*ops));
    size_t step = r->n_timelines / PROCESSES + 1;
    int rc = ops ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < r->n_timelines; i += step) {
        struct jp_iteration one;

        if (r->timelines[i]->mixed)
            continue;
        rc = of_timeline(r->timelines[i], true, ops, &one);
        if (rc == 0 && !one.source) /* sizes may change between iterations */
            rc = of_timeline(r->timelines[i], false, ops, &one);
        if (rc == 0 && one.source &&
            (!out->source || one.confidence > out->confidence))
            *out = one;
    }
    free(ops);
    return rc;
}

/* The samples of one member, while its file is read. */
struct series {
    double v[SERIES_MAX];
    size_t n;
    char id[UTIL_ID_MAX]; /* id of the member; "": the first */
    enum util_kind kind;
    uint64_t first_us, last_us;
};

/* Takes one row of samples: the busy share of a GPU, or the processors' time of
 * a task. */
static int take_row(void *arg, const struct util_row *row, struct jp_error *err)
{
    struct series *s = arg;
    double v = s->kind == UTIL_GPU ? row->v[GPU_SM]
                                   : row->v[TASK_USER] + row->v[TASK_SYSTEM];

    (void) err;
    if (isnan(v) || (s->kind == UTIL_TASK && strcmp(row->id, "step") == 0))
        return 0;
    if (!*s->id)
        memcpy(s->id, row->id, sizeof(s->id));
    /* One member only, and only rows of one sample: merged ones are too coarse.
     */
    if (strcmp(s->id, row->id) != 0 || row->samples != 1 || s->n == SERIES_MAX)
        return 0;
    if (!s->n)
        s->first_us = row->t_us;
    s->last_us = row->t_us;
    s->v[s->n++] = v;
    return 0;
}

/* Finds the iteration in a node's samples of one kind, if there is a file. */
static void of_samples(struct series *s, const char *step_dir, const char *node,
                       enum util_kind kind, struct jp_iteration *out)
{
    char *path = text_format("%s/nodes/%s/util-%s.csv.gz", step_dir, node,
                             util_tables[kind].name);
    struct util_head head;
    struct util_read read;

    s->n = 0;
    s->kind = kind;
    s->id[0] = '\0';
    if (path && access(path, F_OK) == 0 &&
        util_rows_read(path, kind, &head, take_row, s, &read, NULL) == 0 &&
        s->n > 1 && s->last_us > s->first_us)
        iteration_of_series(
            s->v, s->n,
            (double) (s->last_us - s->first_us) / (double) (s->n - 1), out);
    free(path);
}

/* Writes the sentence. */
static void describe_iteration(struct jp_iteration *i)
{
    char size[60] = "", drift[60] = "";

    if (i->source == JP_ITERATION_COLLECTIVES)
        snprintf(size, sizeof(size), " of %s operation%s", FIG_COUNT(i->ops),
                 plural(i->ops));
    if (fabs(i->drift) >= cause_limit(LIMIT_STEP_DRIFT))
        snprintf(drift, sizeof(drift), ", %s %s at the end",
                 FIG_SHARE(fabs(i->drift)),
                 i->drift > 0 ? "longer" : "shorter");
    snprintf(i->text, sizeof(i->text), "a step%s takes %s (%s a second%s)%s",
             size, FIG_US(i->period_us), FIG_REAL(1e6 / i->period_us),
             i->source == JP_ITERATION_UTILISATION
                 ? ", by the samples of utilisation"
                 : "",
             drift);
}

int iteration_find(const struct jp_result *result, const char *step_dir,
                   const struct jp_nodes *nodes, struct jp_iteration *out,
                   struct jp_error *err)
{
    struct series *s = NULL;

    *out = iteration_none;
    if (result && of_result(result, out) < 0)
        return error_set(err, "out of memory");
    if (!out->source && nodes && nodes->n_nodes) {
        const char *dir = nodes_step_dir(&nodes->nodes[0], step_dir);

        s = calloc(1, sizeof(*s));
        if (!s)
            return error_set(err, "out of memory");
        of_samples(s, dir, nodes->nodes[0].name, UTIL_GPU, out);
        if (!out->source)
            of_samples(s, dir, nodes->nodes[0].name, UTIL_TASK, out);
    }
    free(s);
    if (out->source && out->period_us > 0)
        describe_iteration(out);
    else
        out->source = JP_ITERATION_UNKNOWN;
    return 0;
}
