/* report_copper_tables.c - the tables of Copper's part of report.html. */
#include <inttypes.h>
#include <math.h>

#include "common/figure.h"
#include "orchestrator/report/copper_html.h"
#include "orchestrator/report/report_copper.h"

static void operations(const struct jp_copper *c, FILE *out)
{
    static const struct jp_html_column columns[] = {
        {"Operation", NULL, false},
        {"Calls", "with their share of all calls", true},
        {"Hits", NULL, true},
        {"Misses", NULL, true},
        {"Negative", NULL, true},
        {"Average", NULL, true},
        {"Total", "with its share of all time but init's", true}};
    uint64_t calls = 0, us = 0;

    for (size_t i = 0; i <= COPPER_N_OPS; i++) {
        calls += c->op[i].calls;
        us += c->op[i].time_us;
    }
    us -= us > c->init_us ? c->init_us : 0;
    copper_html_begin(out, "Operations", NULL, COPPER_COLUMNS(columns));
    for (size_t i = 0; i <= COPPER_N_OPS; i++) {
        const struct copper_op *op = &c->op[i];

        if (!op->calls)
            continue;
        html_out_row(out);
        html_out_id(out, copper_op_names[i]);
        html_out_bar(out, FIG_COUNT(op->calls), (double) op->calls,
                     (double) op->calls / (double) calls);
        copper_html_count(out, op->hits);
        copper_html_count(out, op->misses);
        copper_html_count(out, op->negatives);
        copper_html_duration(out, (double) op->time_us / (double) op->calls);
        html_out_bar(out, FIG_US((double) op->time_us), (double) op->time_us,
                     i == copper_op_find("init", 4) || !us
                         ? 0
                         : (double) op->time_us / (double) us);
        html_out_row_end(out);
    }
    copper_html_end(out, sizeof(columns) / sizeof(*columns), 0, NULL);
}

static void ranges(const struct jp_copper *c, FILE *out)
{
    static const struct jp_html_column columns[] = {
        {"Metric", NULL, false},
        {"Ranks", NULL, true},
        {"Least", NULL, true},
        {"Most", NULL, true},
        {"Mean", NULL, true},
        {"Median", NULL, true},
        {"CV", "standard deviation over the mean", true},
        {"Least on", NULL, false},
        {"Most on", NULL, false}};

    copper_html_begin(out, "Stability across ranks", NULL,
                      COPPER_COLUMNS(columns));
    for (size_t i = 0; i < JP_COPPER_N_SPREADS; i++) {
        const struct jp_copper_range *r = &c->range[i];

        if (!r->n)
            continue;
        html_out_row(out);
        html_out_cell(out, r->name);
        copper_html_count(out, r->n);
        if (r->seconds) {
            copper_html_duration(out, (double) r->min);
            copper_html_duration(out, (double) r->max);
            copper_html_duration(out, r->mean);
            copper_html_duration(out, r->median);
        } else {
            copper_html_count(out, r->min);
            copper_html_count(out, r->max);
            copper_html_count(out, (uint64_t) llround(r->mean));
            copper_html_count(out, (uint64_t) llround(r->median));
        }
        html_out_figure(out, FIG_SHARE(r->cv), r->cv);
        html_out_id(out, c->ranks[r->min_rank].host);
        html_out_id(out, c->ranks[r->max_rank].host);
        html_out_row_end(out);
    }
    copper_html_end(out, sizeof(columns) / sizeof(*columns), 0, NULL);
}

static void put_rank(const struct jp_copper_rank *r, double most, FILE *out)
{
    const struct copper_op *init = &r->op[copper_op_find("init", 4)];
    const struct copper_op *getattr = &r->op[copper_op_find("getattr", 7)];
    double us = (double) r->value[COPPER_LATENCY_US] - (double) init->time_us;

    html_out_row(out);
    html_out_id(out, r->host);
    html_out_figure(out, r->pid > 0 ? FIG_EXACT((double) r->pid) : "-",
                    r->pid > 0 ? (double) r->pid : NAN);
    html_out_cell(out, copper_state_names[r->state]);
    html_out_cell(out, *r->source ? r->source : "-");
    copper_html_known(out, r->level >= 0, (uint64_t) r->level);
    copper_html_known(out, r->has_counts, r->value[COPPER_OPERATIONS]);
    copper_html_known(out, r->has_counts, r->value[COPPER_HITS]);
    copper_html_known(out, r->has_counts, r->value[COPPER_MISSES]);
    copper_html_known(out, r->has_counts, r->value[COPPER_NEGATIVES]);
    copper_html_known(out, r->has_ttl, r->value[COPPER_TTL_SERVES]);
    if (r->has_ops)
        html_out_bar(out, FIG_US(us), us, most > 0 ? us / most : 0);
    else
        html_out_figure(out, "-", NAN);
    copper_html_duration(out, r->has_ops && getattr->calls
                                  ? (double) getattr->time_us /
                                        (double) getattr->calls
                                  : NAN);
    copper_html_duration(out, r->log.registration_us >= 0
                                  ? (double) r->log.registration_us
                                  : NAN);
    html_out_prose(out, r->why);
    html_out_row_end(out);
}

static void ranks(const struct jp_copper *c, FILE *out)
{
    static const struct jp_html_column columns[] = {
        {"Host", NULL, false},
        {"Pid", NULL, true},
        {"State", NULL, false},
        {"Source", "which of its files the figures come from", false},
        {"Level", "in Copper's tree; the root is 0", true},
        {"Operations", NULL, true},
        {"Hits", NULL, true},
        {"Misses", NULL, true},
        {"Negative", NULL, true},
        {"ENOENT served", NULL, true},
        {"Latency", "without start-up", true},
        {"A getattr", "on average", true},
        {"Registered after", "by its log", true},
        {"Why", NULL, false}};
    double most = c->range[JP_COPPER_SPREAD_NO_INIT].n
                      ? (double) c->range[JP_COPPER_SPREAD_NO_INIT].max
                      : 0;

    copper_html_begin(out, "Ranks", NULL, COPPER_COLUMNS(columns));
    for (size_t i = 0; i < c->n_ranks && i < COPPER_HTML_ROWS; i++)
        put_rank(&c->ranks[i], most, out);
    copper_html_end(out, sizeof(columns) / sizeof(*columns), c->n_ranks,
                    "csv/copper_ranks.csv");
}

static void outliers(const struct jp_copper *c, FILE *out)
{
    static const struct jp_html_column columns[] = {
        {"Host", NULL, false},
        {"Metric", NULL, false},
        {"Level", NULL, true},
        {"Ranks of it", NULL, true},
        {"Value", NULL, true},
        {"Median of its level", NULL, true},
        {"z", "distance in robust standard deviations", true},
        {"Slow", NULL, false}};

    copper_html_begin(
        out, "Ranks unlike their tree level",
        "A rank is compared with those of its level only, at least four; the "
        "root and its children are unlike the others by nature.",
        COPPER_COLUMNS(columns));
    for (size_t i = 0; i < c->n_outliers && i < COPPER_HTML_ROWS; i++) {
        const struct jp_copper_outlier *o = &c->outliers[i];
        char value[32], median[32], z[32];

        snprintf(value, sizeof(value), "%.6g", o->value);
        snprintf(median, sizeof(median), "%.6g", o->median);
        snprintf(z, sizeof(z), "%.1f", o->z);
        html_out_row(out);
        html_out_id(out, c->ranks[o->rank].host);
        html_out_cell(out, o->metric);
        copper_html_count(out, (uint64_t) o->level);
        copper_html_count(out, o->of);
        html_out_figure(out, value, o->value);
        html_out_figure(out, median, o->median);
        html_out_figure(out, z, o->z);
        html_out_cell(out, o->slow ? "yes" : "no");
        html_out_row_end(out);
    }
    copper_html_end(out, sizeof(columns) / sizeof(*columns), c->n_outliers,
                    "csv/copper_outliers.csv");
}

static void launches(const struct jp_copper *c, FILE *out)
{
    static const struct jp_html_column columns[] = {
        {"Launch", NULL, true},  {"Ranks", NULL, true},
        {"Counted", NULL, true}, {"Operations", NULL, true},
        {"Hits", NULL, true},    {"Latency", NULL, true}};

    copper_html_begin(
        out, "Launches in the same folder",
        "The daemons were started more than once; all other figures are the "
        "last launch's.",
        COPPER_COLUMNS(columns));
    for (size_t i = 0; i < c->n_launches && i < COPPER_HTML_ROWS; i++) {
        const struct jp_copper_launch *l = &c->launches[i];

        html_out_row(out);
        copper_html_count(out, i + 1);
        copper_html_count(out, l->ranks);
        copper_html_count(out, l->counted);
        copper_html_count(out, l->value[COPPER_OPERATIONS]);
        copper_html_count(out, l->value[COPPER_HITS]);
        copper_html_duration(out, (double) l->value[COPPER_LATENCY_US]);
        html_out_row_end(out);
    }
    copper_html_end(out, sizeof(columns) / sizeof(*columns), c->n_launches,
                    "csv/copper_launches.csv");
}

void report_copper_tables(const struct jp_copper *c, FILE *out)
{
    if (c->n_ops)
        operations(c, out);
    if (c->n_counted > 1)
        ranges(c, out);
    ranks(c, out);
    if (c->n_outliers)
        outliers(c, out);
    if (c->n_launches > 1)
        launches(c, out);
    report_copper_path_tables(c, out);
}
