/* copper_run.c - run all parts of the analysis, from the folders to the result;
 * sums over the ranks, and ranks that differ from their level.
 *
 * copper_run at the end calls the parts in order (run); each works on struct
 * copper_build and leaves its results in struct jp_copper. The two parts in
 * this file are totals (sums, and the spread of metrics over ranks) and
 * outliers. copper_destroy frees everything. */
#include "orchestrator/copper/copper_build.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/num.h"
#include "common/sorted.h"
#include "common/vector.h"

/* --- sums and outliers --- */

/* Whether the metric is a TTL counter, which only the aggregate has. */
static bool is_ttl(size_t metric)
{
    return (metric >= COPPER_TTL_STORES && metric <= COPPER_TTL_AVOIDED);
}

/* Microseconds of the operation init: the start of the daemon. */
static uint64_t init_of(const struct jp_copper_rank *rank)
{
    return rank->op[copper_op_find("init", 4)].time_us;
}

/* Copper counts the start as latency. Most figures are without it. */
static uint64_t without_init(const struct jp_copper_rank *rank)
{
    /* rounding may make the start longer than the total */
    uint64_t init = init_of(rank), all = rank->value[COPPER_LATENCY_US];

    return all > init ? all - init : 0;
}

/* Adds a rank to the sums for which it has values. */
static void add_rank(struct jp_copper *c, const struct jp_copper_rank *rank)
{
    c->n_counted += rank->has_counts;
    c->n_ttl += rank->has_ttl;
    c->n_ops += rank->has_ops;
    c->compared += rank->pre_destroy != JP_COPPER_NOT_COMPARED;
    c->equal += rank->pre_destroy == JP_COPPER_EQUAL;
    for (size_t i = 0; i < COPPER_N_METRICS; i++)
        if (is_ttl(i) ? rank->has_ttl : rank->has_counts)
            c->total[i] = num_add(c->total[i], rank->value[i]);
    if (!rank->has_ops)
        return;
    c->init_us = num_add(c->init_us, init_of(rank));
    c->without_init_us = num_add(c->without_init_us, without_init(rank));
    for (size_t i = 0; i <= COPPER_N_OPS; i++) {
        const struct copper_op *op = &rank->op[i];
        struct copper_op *sum = &c->op[i];

        sum->calls = num_add(sum->calls, op->calls);
        sum->hits = num_add(sum->hits, op->hits);
        sum->misses = num_add(sum->misses, op->misses);
        sum->negatives = num_add(sum->negatives, op->negatives);
        sum->time_us = num_add(sum->time_us, op->time_us);
    }
}

/* Times from a log are -1 if unknown. */
static bool is_known(int64_t us, uint64_t *value)
{
    *value = us < 0 ? 0 : (uint64_t) us;
    return us >= 0;
}

/* The rank's value of a spread; false: it has none. */
static bool spread_value(const struct jp_copper_rank *rank, unsigned spread,
                         uint64_t *value)
{
    /* the spreads that are counters, in the order of enum jp_copper_spread */
    static const enum copper_metric metrics[] = {
        COPPER_OPERATIONS, COPPER_HITS,       COPPER_MISSES,
        COPPER_NEGATIVES,  COPPER_TTL_STORES, COPPER_TTL_SERVES,
        COPPER_LATENCY_US};

    switch (spread) {
    case JP_COPPER_SPREAD_NO_INIT:
        *value = without_init(rank);
        return rank->has_ops;
    case JP_COPPER_SPREAD_INIT:
        *value = init_of(rank);
        return rank->has_ops && *value;
    case JP_COPPER_SPREAD_REGISTRATION:
        return is_known(rank->log.registration_us, value);
    case JP_COPPER_SPREAD_PARENT:
        return is_known(rank->log.parent_us, value);
    case JP_COPPER_SPREAD_FIRST_RPC:
        return is_known(rank->log.first_rpc_us, value);
    default:
        break;
    }
    *value = rank->value[metrics[spread]];
    return is_ttl(metrics[spread]) ? rank->has_ttl : rank->has_counts;
}

/* For qsort of uint64_t. */
static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Sorts the values. */
static double median(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), sorted_ascending);
    return sorted_median(values, n);
}

/* Mean, deviation and median of r->n values, which are sorted afterwards. */
static void measure(struct jp_copper_range *r, uint64_t *values)
{
    double sum = 0, squares = 0;

    for (uint32_t i = 0; i < r->n; i++)
        sum += (double) values[i];
    r->mean = sum / r->n;
    for (uint32_t i = 0; i < r->n; i++)
        squares += ((double) values[i] - r->mean) *
                   ((double) values[i] - r->mean);
    r->stddev = sqrt(squares / r->n);
    /* without a mean there is no relation */
    r->cv = r->mean > 0 ? r->stddev / r->mean : NAN;
    qsort(values, r->n, sizeof(*values), by_number);
    r->median = ((double) values[(r->n - 1) / 2] + (double) values[r->n / 2]) /
                2;
}

/* Computes a spread. values: room for a value of each rank. */
static void spread(struct jp_copper *c, unsigned s, uint64_t *values)
{
    static const char *const names[JP_COPPER_N_SPREADS] = {
        "counted_operations",
        "cache_hits",
        "cache_misses",
        "negative_results",
        "ttl_stores",
        "ttl_serves",
        "latency",
        "latency_without_init",
        "init",
        "registration",
        "parent_confirmed",
        "first_parent_rpc"};
    struct jp_copper_range *r = &c->range[s];

    *r = (struct jp_copper_range){
        .name = names[s], .seconds = s >= JP_COPPER_SPREAD_LATENCY, .cv = NAN};
    for (size_t i = 0; i < c->n_ranks; i++) {
        uint64_t value;

        if (!spread_value(&c->ranks[i], s, &value))
            continue;
        /* of equal values, the first rank is named */
        if (!r->n || value < r->min) {
            r->min = value;
            r->min_rank = i;
        }
        if (!r->n || value > r->max) {
            r->max = value;
            r->max_rank = i;
        }
        values[r->n++] = value;
    }
    if (r->n)
        measure(r, values);
}

/* Sums over the ranks, and all spreads. Returns -1 without memory. */
static int totals(struct copper_build *b)
{
    struct jp_copper *c = b->copper;
    uint64_t *values = calloc(c->n_ranks ? c->n_ranks : 1, sizeof(*values));

    if (!values)
        return -1;
    for (size_t i = 0; i < c->n_ranks; i++)
        add_rank(c, &c->ranks[i]);
    for (unsigned s = 0; s < JP_COPPER_N_SPREADS; s++)
        spread(c, s, values);
    free(values);
    return 0;
}

/* --- ranks that differ from the others of their level in the tree --- */
/* A parent answers requests of its children. So counters and times depend on
 * the level in the tree, and the root always differs from all other ranks. Only
 * ranks of one level are compared, by the median and the median absolute
 * deviation, which a single bad rank does not change. */

/* Fewer ranks have no usual value. */
#define LEAST_OF_LEVEL 4
/* By Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993. */
#define Z_LIMIT 3.5
/* Standard deviation of a normal distribution, relative to its median absolute
 * deviation. If more than half of the values are equal, the mean absolute
 * deviation is used instead. */
#define OF_MEDIAN (1 / 0.6745)
#define OF_MEAN 1.253314
/* Least ratio of a value to the median. On a very even level, even a small
 * difference has a large z. */
#define WORTH_SHARE 1.1
#define LEAST_CALLS 20 /* an average over fewer calls is meaningless */

enum metric {
    GETATTR_US,
    READ_US,
    READDIR_US,
    LATENCY_S,
    INIT_S,
    OPERATIONS,
    MISSES,
    NEGATIVES,
    TTL_EXPIRES,
    N_OUTLIER_METRICS
};

static const struct {
    const char *name;
    const char *op; /* the metric is an average of this operation */
    bool latency;   /* higher means slower */
} metrics[N_OUTLIER_METRICS] = {
    [GETATTR_US] = {"getattr_us", "getattr", true},
    [READ_US] = {"read_us", "read", true},
    [READDIR_US] = {"readdir_us", "readdir", true},
    [LATENCY_S] = {"latency_without_init_s", NULL, true},
    [INIT_S] = {"init_s", NULL, true},
    [OPERATIONS] = {"counted_operations", NULL, false},
    [MISSES] = {"cache_misses", NULL, false},
    [NEGATIVES] = {"negative_results", NULL, false},
    [TTL_EXPIRES] = {"ttl_expires", NULL, false},
};

/* Microseconds per operation; NAN: unknown, or too few operations. */
static double average(const struct jp_copper_rank *rank, const char *name)
{
    const struct copper_op *op = &rank->op[copper_op_find(name, strlen(name))];

    return rank->has_ops && op->calls >= LEAST_CALLS
               ? (double) op->time_us / (double) op->calls
               : NAN;
}

/* A rank's value of a metric; NAN: unknown. */
static double value_of(const struct jp_copper_rank *rank, enum metric m)
{
    const double init = (double) rank->op[copper_op_find("init", 4)].time_us;

    if (metrics[m].op)
        return average(rank, metrics[m].op);
    switch (m) {
    case LATENCY_S:
        return rank->has_ops
                   ? ((double) rank->value[COPPER_LATENCY_US] - init) / 1e6
                   : NAN;
    case INIT_S:
        return rank->has_ops && init > 0 ? init / 1e6 : NAN;
    case OPERATIONS:
        return rank->has_counts ? (double) rank->value[COPPER_OPERATIONS] : NAN;
    case MISSES:
        return rank->has_counts ? (double) rank->value[COPPER_MISSES] : NAN;
    case NEGATIVES:
        return rank->has_counts ? (double) rank->value[COPPER_NEGATIVES] : NAN;
    default:
        return rank->has_ttl ? (double) rank->value[COPPER_TTL_EXPIRES] : NAN;
    }
}

/* Microseconds of the rank for one unit of the metric: its number of
 * operations, or a second. The cost of a deviation is its value times this. */
static double weight_of(const struct jp_copper_rank *rank, enum metric m)
{
    size_t len = metrics[m].op ? strlen(metrics[m].op) : 0;

    return len ? (double) rank->op[copper_op_find(metrics[m].op, len)].calls
               : 1e6;
}

/* Appends an outlier. Returns -1 without memory. */
static int keep_outlier(struct jp_copper *c,
                        const struct jp_copper_outlier *outlier)
{
    if (VECTOR_DOUBLE(c->outliers, c->n_outliers) < 0)
        return -1;
    c->outliers[c->n_outliers++] = *outlier;
    return 0;
}

/* Whether the value is far from the level's median and the difference
 * matters. */
static bool is_far(const struct jp_copper_options *options, enum metric m,
                   double value, double scale, double weight,
                   struct jp_copper_outlier *o)
{
    double mid = o->median;
    double least = fabs(mid) * (WORTH_SHARE - 1);

    /* too close, or a few operations where there are usually none */
    if (fabs(value - mid) <= least || (mid == 0 && value < LEAST_CALLS))
        return false;
    o->z = (value - mid) / scale;
    o->cost_us = metrics[m].latency ? (value - mid) * weight : 0;
    o->slow = metrics[m].latency && mid > 0 && options->slow_share > 0 &&
              value >= options->slow_share * mid &&
              o->cost_us >= options->slow_cost_us;
    return fabs(o->z) > Z_LIMIT;
}

/* Finds the outliers of one level and metric. values: room for a value of each
 * rank. Returns -1 without memory. */
static int find_outliers(struct copper_build *b, int level, enum metric m,
                         double *values)
{
    struct jp_copper *c = b->copper;
    double mid, scale, sum = 0;
    size_t n = 0;

    for (size_t i = 0; i < c->n_ranks; i++) {
        double v = c->ranks[i].level == level ? value_of(&c->ranks[i], m) : NAN;

        /* ranks of this level that have the metric */
        if (isfinite(v))
            values[n++] = v;
    }
    if (n < LEAST_OF_LEVEL)
        return 0;
    mid = median(values, n);
    for (size_t i = 0; i < n; i++)
        /* the values become deviations */
        sum += values[i] = fabs(values[i] - mid);
    if (sum == 0) /* all ranks are equal */
        return 0;
    /* the usual deviation of this level */
    scale = OF_MEDIAN * median(values, n);
    /* more than half of the ranks are equal */
    if (scale == 0)
        scale = OF_MEAN * sum / (double) n;
    for (size_t i = 0; i < c->n_ranks; i++) {
        struct jp_copper_outlier o = {.rank = i,
                                      .metric = metrics[m].name,
                                      .level = level,
                                      .of = (uint32_t) n,
                                      .median = mid};

        o.value = c->ranks[i].level == level ? value_of(&c->ranks[i], m) : NAN;
        if (isfinite(o.value) &&
            is_far(b->options, m, o.value, scale, weight_of(&c->ranks[i], m),
                   &o) &&
            keep_outlier(c, &o) < 0)
            return -1;
    }
    return 0;
}

/* Slow ranks first, then the largest deviation. */
static int by_z(const void *a, const void *b)
{
    const struct jp_copper_outlier *x = a, *y = b;

    if (x->slow != y->slow)
        return x->slow ? -1 : 1;
    if (fabs(x->z) != fabs(y->z))
        return fabs(x->z) > fabs(y->z) ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int outliers(struct copper_build *b)
{
    struct jp_copper *c = b->copper;
    double *values = calloc(c->n_ranks ? c->n_ranks : 1, sizeof(*values));
    int deepest = -1, rc = values ? 0 : -1;

    for (size_t i = 0; i < c->n_ranks; i++)
        /* levels are numbered from 0, the root */
        if (c->ranks[i].level > deepest)
            deepest = c->ranks[i].level;
    for (int level = 0; level <= deepest && rc == 0; level++)
        for (unsigned m = 0; m < N_OUTLIER_METRICS && rc == 0; m++)
            rc = find_outliers(b, level, m, values);
    /* count ranks that could not be judged, for the report to say so */
    for (size_t i = 0; i < c->n_ranks && rc == 0; i++) {
        uint32_t n = 0;

        for (size_t k = 0; k < c->n_ranks && n < LEAST_OF_LEVEL; k++)
            n += c->ranks[k].level == c->ranks[i].level &&
                 c->ranks[k].has_counts;
        c->unjudged += c->ranks[i].has_counts &&
                       (c->ranks[i].level < 0 || n < LEAST_OF_LEVEL);
    }
    free(values);
    if (rc == 0 && c->n_outliers)
        qsort(c->outliers, c->n_outliers, sizeof(*c->outliers), by_z);
    return rc;
}

/* --- all parts --- */

/* Sums of the cache sizes over all ranks. */
static void sum_caches(struct jp_copper *c)
{
    static const char *const names[JP_COPPER_N_CACHES] = {
        "data", "tree", "metadata", "combined"};

    for (unsigned k = 0; k < JP_COPPER_N_CACHES; k++) {
        c->cache[k].table = names[k];
        for (size_t i = 0; i < c->n_ranks; i++) {
            c->cache[k].files_found += c->ranks[i].has_cache[k];
            c->cache[k].used_bytes += c->ranks[i].cache[k].bytes;
            c->cache[k].entries += c->ranks[i].cache[k].entries;
        }
    }
}

/* Runs the parts in order; each needs what the ones before have found. */
static int run_parts(struct copper_build *b)
{
    static int (*const parts[])(struct copper_build *) = {
        copper_daemons, copper_ranks, totals,        outliers,
        copper_paths,   copper_usage, copper_advice,
    };

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (parts[i](b) < 0)
            return -1;
    sum_caches(b->copper);
    return 0;
}

int copper_run(const char *const *inputs, size_t n_inputs,
               const struct jp_copper_options *options, struct jp_copper **out,
               struct jp_error *err)
{
    struct jp_error own = {""};
    struct copper_build b = {.options = options, .err = err ? err : &own};
    int rc = -1;

    *out = NULL;
    if (copper_find(inputs, n_inputs, &b.found, b.err) < 0)
        return -1;
    /* nothing of Copper's, or only a list of nodes that nobody expected */
    if (!b.found.profiles && !b.found.logs &&
        !(options->expected && b.found.lists)) {
        copper_daemons_fini(&b);
        return 0;
    }
    *b.err->text = '\0';
    /* another user's data, or root's view: files are not looked up freely */
    b.guarded = b.found.foreign || geteuid() == 0;
    b.copper = calloc(1, sizeof(*b.copper));
    if (b.copper)
        rc = run_parts(&b);
    /* parts set an error unless they ran out of memory */
    if (rc < 0 && !*b.err->text)
        error_set(b.err, "out of memory");
    copper_daemons_fini(&b);
    if (rc < 0)
        copper_destroy(b.copper);
    else
        *out = b.copper;
    return rc;
}

static void free_ranks(struct jp_copper *c)
{
    for (size_t i = 0; i < c->n_ranks; i++) {
        free(c->ranks[i].host);
        free(c->ranks[i].why);
    }
    free(c->ranks);
}

/* Answers, advice, findings and notes. */
static void free_words(struct jp_copper *c)
{
    for (size_t i = 0; i < JP_COPPER_QUESTIONS; i++)
        free(c->answers[i].answer);
    for (size_t i = 0; i < c->n_advice; i++) {
        for (size_t k = 0; k < c->advice[i].n_paths; k++)
            free(c->advice[i].paths[k]);
        free(c->advice[i].paths);
        free(c->advice[i].text);
    }
    free(c->advice);
    for (size_t i = 0; i < c->n_findings; i++)
        free(c->findings[i].text);
    free(c->findings);
    for (size_t i = 0; i < c->n_notes; i++) {
        free(c->notes[i].path);
        free(c->notes[i].what);
    }
    free(c->notes);
}

void copper_destroy(struct jp_copper *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n_roots; i++)
        free(c->roots[i]);
    free(c->roots);
    free_ranks(c);
    free_words(c);
    for (size_t i = 0; i < JP_COPPER_N_CLASSES; i++) {
        free(c->classes[i].top_example);
        free(c->classes[i].example);
    }
    for (size_t i = 0; i < c->n_used_roots; i++)
        free(c->used_roots[i].path);
    free(c->used_roots);
    free(c->used);
    for (size_t i = 0; i < c->n_failed_lookups; i++) {
        free(c->failed_lookups[i].folder);
        free(c->failed_lookups[i].example);
    }
    free(c->failed_lookups);
    free(c->launches);
    free(c->outliers);
    free(c->points);
    free(c->paths);
    /* paths are borrowed from these */
    copper_pathset_free(c->memory);
    copper_pathset_free(c->used_memory);
    free(c);
}
