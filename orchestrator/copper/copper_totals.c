/* copper_totals.c - sums over the ranks, and how far ranks lie apart. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "orchestrator/copper/copper_build.h"

static bool is_ttl(size_t metric)
{
    return (metric >= COPPER_TTL_STORES && metric <= COPPER_TTL_AVOIDED);
}

static uint64_t init_of(const struct jp_copper_rank *rank)
{
    return rank->op[copper_op_find("init", 4)].time_us;
}

static uint64_t without_init(const struct jp_copper_rank *rank)
{
    uint64_t init = init_of(rank), all = rank->value[COPPER_LATENCY_US];

    return all > init ? all - init : 0;
}

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

static bool is_known(int64_t us, uint64_t *value)
{
    *value = us < 0 ? 0 : (uint64_t) us;
    return us >= 0;
}

static bool spread_value(const struct jp_copper_rank *rank, unsigned spread,
                         uint64_t *value)
{
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

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

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
    r->cv = r->mean > 0 ? r->stddev / r->mean : NAN;
    qsort(values, r->n, sizeof(*values), by_number);
    r->median = ((double) values[(r->n - 1) / 2] + (double) values[r->n / 2]) /
                2;
}

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

int copper_totals(struct copper_build *b)
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

const struct copper_op *copper_op_of(const struct jp_copper *copper,
                                     const char *name)
{
    return &copper->op[copper_op_find(name, strlen(name))];
}
