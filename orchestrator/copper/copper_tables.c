/* copper_tables.c - the columns of a Copper cache's tables. See tables.c.
 *
 * A row's `at` points into the profiles, which is not NULL. "Rank" means a
 * daemon of Copper here, usually one per node. METRICS are the columns of the
 * eleven counters that several tables share. */
#include "orchestrator/copper/copper_feature.h"

#include <math.h>

#include "common/figure.h"

#define MAX_HTML 200 /* rows in the page */

/* Returns the daemon with this index. */
static const struct jp_copper_rank *rank_at(const struct jp_row *row,
                                            size_t rank)
{
    return &copper_of(row->report)->ranks[rank];
}

/* A number that may be negative. */
static void value_int(struct jp_value *v, int64_t number)
{
    v->type = JP_VALUE_INT;
    v->number = number;
}

/* A figure with its own text. */
static void value_figure(struct jp_value *v, const char *text, double real)
{
    snprintf(v->buf, sizeof(v->buf), "%s", text);
    value_text(v, v->buf);
    v->real = real;
}

/* --- the eleven metrics of Copper's aggregate ----------------------------- */

/* clang-format off */
#define METRIC(row, at, name, json, html, title, help, ...)                    \
    {name, JP_COL_COUNT, JP_CSV | JP_MAYBE, json, html, 0, title, help,        \
     JP_FIELD(row, value[at]), __VA_ARGS__}

/* json: the position of the first column. o, h, m, n, s, l: positions in the
 * page for operations, hits, misses, negatives, served ENOENTs and latency.
 * known, ttl: JP_IF(...) for the counters and for those of remembered
 * ENOENTs, or empty. */
#define METRICS(row, json, o, h, m, n, s, l, known, ttl)                       \
    METRIC(row, COPPER_OPERATIONS, "total_counted_fuse_operations", json, o,   \
           "Operations", "requests of the kernel", known),                     \
    METRIC(row, COPPER_HITS, "total_cache_hits", json + 1, h, "Hits",          \
           "answered from memory", known),                                     \
    METRIC(row, COPPER_MISSES, "total_cache_misses", json + 2, m, "Misses",    \
           "reads that were not in this daemon's cache", known),               \
    METRIC(row, COPPER_NEGATIVES, "total_negative_results", json + 3, n,       \
           "Negative", "ENOENT or another error", known),                      \
    METRIC(row, COPPER_SAVED,                                                  \
           "estimated_cache_served_operations_saved_by_copper", json + 4, 0,   \
           NULL, "equal to total_cache_hits", known),                          \
    METRIC(row, COPPER_TTL_STORES, "metadata_enoent_ttl_stores", json + 5, 0,  \
           NULL, "absent paths remembered", ttl),                              \
    METRIC(row, COPPER_TTL_SERVES, "metadata_enoent_ttl_serves", json + 6, s,  \
           "ENOENT served", "lookups answered from that memory", ttl),         \
    METRIC(row, COPPER_TTL_EXPIRES, "metadata_enoent_ttl_expires", json + 7,   \
           0, NULL, "entries that ran out of time", ttl),                      \
    METRIC(row, COPPER_TTL_CLEARS,                                             \
           "metadata_enoent_ttl_clears_on_success_or_non_enoent", json + 8, 0, \
           NULL, "entries with a path that was found later", ttl),               \
    METRIC(row, COPPER_TTL_AVOIDED,                                            \
           "estimated_repeated_metadata_lookups_avoided_by_ttl", json + 9, 0,  \
           NULL, "equal to metadata_enoent_ttl_serves", ttl),                  \
    {"total_measured_latency_seconds", JP_COL_US, JP_CSV | JP_MAYBE,           \
     .help = "time in the daemon, with its start, in seconds",                 \
     .field = JP_FIELD_MICRO,                                                  \
     .offset = offsetof(row, value[COPPER_LATENCY_US]), known},                \
    {"total_measured_latency_us", JP_COL_US, JP_MAYBE, json + 10, l, 0,        \
     "Latency", "time in the daemon, with its start",                          \
     JP_FIELD(row, value[COPPER_LATENCY_US]), known}
/* clang-format on */

/* --- totals: rows that copper_report.c writes ----------------------------- */

static const struct jp_column totals[] = {
    {"metric", JP_COL_TEXT, JP_CSV,
     .help = "one of the eleven, init_latency_seconds, "
             "latency_without_init_seconds"},
    {"value", JP_COL_NUMBER, JP_CSV | JP_MAYBE,
     .help = "over ranks; of latencies seconds"},
    {"ranks", JP_COL_COUNT, JP_CSV, .help = "that it covers"},
};
const struct jp_table table_copper_totals = {
    .name = "copper_totals",
    .help = "a row a metric",
    JP_COLUMNS(totals),
};

/* --- operations ----------------------------------------------------------- */

JP_COPPER_SOME(operation, op, COPPER_N_OPS + 1, c->op[i].calls > 0)

/* Returns the row's operation as an index into copper_op_names. */
static size_t op_index(const struct jp_row *row)
{
    return (size_t) ((const struct copper_op *) row->at -
                     copper_of(row->report)->op);
}

static void get_operation(const struct jp_row *row, struct jp_value *v)
{
    value_text(v, copper_op_names[op_index(row)]);
}

/* Returns the mean time of a call, us; NaN without calls. */
static double mean_us(const struct copper_op *op)
{
    return op->calls ? (double) op->time_us / (double) op->calls : NAN;
}

JP_GETTER(operation_mean, copper_op, value_finite(v, mean_us(at)))

/* The full bar is all calls. */
static void get_operation_calls(const struct jp_row *row, struct jp_value *v)
{
    const struct jp_copper *c = copper_of(row->report);
    double calls = 0;

    for (size_t i = 0; i <= COPPER_N_OPS; i++)
        calls += (double) c->op[i].calls;
    value_count(v, ((const struct copper_op *) row->at)->calls);
    value_fill(v, calls);
}

/* The full bar is the time of all operations but init, whose time would hide
 * the others. */
static void get_operation_time(const struct jp_row *row, struct jp_value *v)
{
    const struct jp_copper *c = copper_of(row->report);
    uint64_t us = 0;

    for (size_t i = 0; i <= COPPER_N_OPS; i++)
        us += c->op[i].time_us;
    us -= us > c->init_us ? c->init_us : 0;
    value_count(v, ((const struct copper_op *) row->at)->time_us);
    value_fill(v, op_index(row) == copper_op_find("init", 4) ? 0 : (double) us);
}

#define FIELD(member) JP_FIELD(struct copper_op, member)
/* sums over the daemons that left a table of operations */
static const struct jp_column operations[] = {
    {"operation", JP_COL_ID, JP_CSV, 1, 1, 1, "Operation", "of FUSE",
     .width = 16, .get = get_operation},
    {"total_calls", JP_COL_COUNT, JP_CSV | JP_TIP | JP_BAR, 2, 2, 2, "Calls",
     "with their share of all calls", .width = 12, .get = get_operation_calls},
    {"cache_hits", JP_COL_COUNT, JP_CSV, 3, 3, 3, "Hits",
     "answered from memory", .width = 12, FIELD(hits)},
    {"cache_misses", JP_COL_COUNT, JP_CSV, 4, 4, 4, "Misses",
     "not in this daemon's cache", .width = 10, FIELD(misses)},
    {"negative_results", JP_COL_COUNT, JP_CSV, 5, 5, 5, "Negative",
     "ENOENT or another error", .width = 10, FIELD(negatives)},
    {"avg_latency_us", JP_COL_US, JP_CSV | JP_REAL, 6, 6, 6, "Average",
     "of a call", .width = 10, .get = get_operation_mean},
    {"total_latency_s", JP_COL_US, JP_CSV, .help = "of all calls, in seconds",
     .field = JP_FIELD_MICRO, .offset = offsetof(struct copper_op, time_us)},
    {"total_latency_us", JP_COL_US, JP_TIP | JP_BAR, 7, 7, 7, "Total",
     "with its share of all time but init's", .width = 10,
     .get = get_operation_time},
};
#undef FIELD
const struct jp_table table_copper_operations = {
    .name = "copper_operations",
    .json = "copper.operations",
    .help = "one row per operation that was called",
    JP_COLUMNS(operations),
    JP_FOUND_BY(operation),
    .max_json = COPPER_N_OPS + 1,
    .max_html = COPPER_N_OPS + 1,
    .max_text = 12,
};

/* --- metrics across ranks ------------------------------------------------- */

JP_COPPER_SOME(range, range, JP_COPPER_N_SPREADS, 1)
JP_COPPER_SOME(known_range, range, JP_COPPER_N_SPREADS, c->range[i].n > 0)

static const char *const range_units[] = {"us", "count"};

/* Names a rank by its host. */
static void value_host(const struct jp_row *row, size_t rank,
                       struct jp_value *v)
{
    const struct jp_copper_range *r = row->at;

    value_text(v, r->n ? rank_at(row, rank)->host : NULL);
}

/* Shows a figure of a range in its unit: times, or counts without decimals. */
static void value_in_unit(struct jp_value *v, const struct jp_copper_range *r,
                          double value)
{
    double whole = r->seconds ? value : round(value);

    value_figure(v, r->seconds ? FIG_US(value) : FIG_COUNT((uint64_t) whole),
                 whole);
}

JP_GETTER(range_unit, jp_copper_range, value_text(v, range_units[!at->seconds]))
JP_GETTER(range_min_host, jp_copper_range, value_host(row, at->min_rank, v))
JP_GETTER(range_max_host, jp_copper_range, value_host(row, at->max_rank, v))
JP_GETTER(range_cv, jp_copper_range, value_finite(v, at->n ? at->cv : NAN))
JP_GETTER(range_least, jp_copper_range, value_in_unit(v, at, (double) at->min))
JP_GETTER(range_most, jp_copper_range, value_in_unit(v, at, (double) at->max))
JP_GETTER(range_mean, jp_copper_range, value_in_unit(v, at, at->mean))
JP_GETTER(range_median, jp_copper_range, value_in_unit(v, at, at->median))

#define FIELD(member)                                                          \
    JP_FIELD(struct jp_copper_range, member), JP_IF(struct jp_copper_range, n)
/* the figures of the files are numbers, those for readers have units */
static const struct jp_column ranges[] = {
    {"metric", JP_COL_WORD, JP_CSV, 1, 1, 1, "Metric",
     "Copper's, or of a daemon's start", .brief = "across ranks", .width = 22,
     JP_FIELD(struct jp_copper_range, name)},
    {"unit", JP_COL_WORD, JP_CSV, 2, .help = "of what follows",
     .get = get_range_unit, JP_WORDS(range_units)},
    {"ranks", JP_COL_COUNT, JP_CSV, 3, 2, 0, "Ranks", "with this figure",
     JP_FIELD(struct jp_copper_range, n)},
    {"min", JP_COL_COUNT, JP_CSV | JP_MAYBE, 4, .help = "least", FIELD(min)},
    {"max", JP_COL_COUNT, JP_CSV | JP_MAYBE, 5, .help = "most", FIELD(max)},
    {"mean", JP_COL_COUNT, JP_CSV | JP_MAYBE, 6, .help = "over ranks",
     FIELD(mean)},
    {"median", JP_COL_COUNT, JP_CSV | JP_MAYBE, 7, .help = "over ranks",
     FIELD(median)},
    {"stddev", JP_COL_COUNT, JP_CSV | JP_MAYBE, 8,
     .help = "the population's standard deviation", FIELD(stddev)},
    {"cv", JP_COL_SHARE, JP_CSV | JP_MAYBE | JP_TIP, 9, 7, 5, "CV",
     "standard deviation over the mean", .brief = "CV", .width = 10,
     .get = get_range_cv},
    {"min_host", JP_COL_ID, JP_CSV | JP_MAYBE, 10, 8, 0, "Least on",
     "the first rank that has the least", .get = get_range_min_host},
    {"max_host", JP_COL_ID, JP_CSV | JP_MAYBE, 11, 9, 0, "Most on",
     "the first rank that has the most", .get = get_range_max_host},
    {"least", JP_COL_FIGURE, 0, 0, 3, 2, "Least", NULL, .width = 14,
     .get = get_range_least},
    {"most", JP_COL_FIGURE, 0, 0, 4, 3, "Most", NULL, .width = 14,
     .get = get_range_most},
    {"mean", JP_COL_FIGURE, 0, 0, 5, 4, "Mean", NULL, .width = 14,
     .get = get_range_mean},
    {"median", JP_COL_FIGURE, 0, 0, 6, 0, "Median", NULL,
     .get = get_range_median},
};
#undef FIELD
const struct jp_table table_copper_ranges = {
    .name = "copper_ranges",
    .json = "copper.ranges",
    .help = "one row per metric: its spread across ranks",
    JP_COLUMNS(ranges),
    JP_FOUND_BY(range),
    .max_json = JP_COPPER_N_SPREADS,
};
/* For readers: only rows that at least one rank reports. */
const struct jp_table table_copper_known_ranges = {
    .name = "copper_ranges",
    JP_COLUMNS(ranges),
    JP_FOUND_BY(known_range),
    .max_html = JP_COPPER_N_SPREADS,
    .max_text = JP_COPPER_N_SPREADS,
};

/* --- ranks ---------------------------------------------------------------- */

JP_COPPER_ARRAY(rank, ranks, n_ranks)

static const char *const compared[] = {"equal", "different"};

/* Returns the time of the daemon's start, us. */
static uint64_t init_us(const struct jp_copper_rank *r)
{
    return r->op[copper_op_find("init", 4)].time_us;
}

/* 0 or below: no file of the daemon names it */
JP_GETTER(rank_pid, jp_copper_rank, value_int(v, at->pid);
          if (at->pid <= 0) v->type = JP_VALUE_UNKNOWN)
JP_GETTER(rank_state, jp_copper_rank,
          value_text(v, copper_state_names[at->state]))
JP_GETTER(rank_source, jp_copper_rank, value_name(v, at->source))
JP_GETTER(rank_level, jp_copper_rank, value_signed(v, at->level))
JP_GETTER(rank_level_from, jp_copper_rank, value_name(v, at->level_from))
JP_GETTER(rank_init, jp_copper_rank, value_known(v, at->has_ops, init_us(at)))
JP_GETTER(rank_why, jp_copper_rank, value_name(v, at->why))
JP_GETTER(rank_pre_destroy, jp_copper_rank,
          value_text(v, at->pre_destroy == JP_COPPER_NOT_COMPARED
                            ? NULL
                            : compared[at->pre_destroy - JP_COPPER_EQUAL]))
JP_GETTER(rank_registration, jp_copper_rank,
          value_signed(v, at->log.registration_us))
JP_GETTER(rank_parent, jp_copper_rank, value_signed(v, at->log.parent_us))
JP_GETTER(rank_probes, jp_copper_rank, value_signed(v, at->log.probes))
JP_GETTER(rank_first_rpc, jp_copper_rank, value_signed(v, at->log.first_rpc_us))
JP_GETTER(rank_timeout, jp_copper_rank, value_known(v, at->has_log, 0);
          if (at->has_log) value_bool(v, at->log.timed_out))

/* The average of one operation. */
static void value_mean_us(struct jp_value *v, const struct jp_copper_rank *r,
                          size_t op)
{
    value_finite(v, r->has_ops ? mean_us(&r->op[op]) : NAN);
}

JP_GETTER(rank_getattr, jp_copper_rank,
          value_mean_us(v, at, copper_op_find("getattr", 7)))
JP_GETTER(rank_read, jp_copper_rank,
          value_mean_us(v, at, copper_op_find("read", 4)))
JP_GETTER(rank_readdir, jp_copper_rank,
          value_mean_us(v, at, copper_op_find("readdir", 7)))

/* CSV has seconds, JSON us. */
static void csv_rank_init(struct jp_csv *csv, const struct jp_row *row)
{
    const struct jp_copper_rank *r = row->at;

    if (r->has_ops)
        csv_out_micro(csv, init_us(r));
    else
        csv_out_empty(csv);
}

/* The full bar is the greatest latency without start-up. */
static void get_rank_latency(const struct jp_row *row, struct jp_value *v)
{
    const struct jp_copper_range *all =
        &copper_of(row->report)->range[JP_COPPER_SPREAD_NO_INIT];
    const struct jp_copper_rank *r = row->at;

    value_finite(v, r->has_ops ? (double) r->value[COPPER_LATENCY_US] -
                                     (double) init_us(r)
                               : NAN);
    value_fill(v, all->n ? (double) all->max : 0);
}

#define FIELD(member) JP_FIELD(struct jp_copper_rank, member)
static const struct jp_column ranks[] = {
    {"host", JP_COL_ID, JP_CSV, 1, 1, 0, "Host", "on which the daemon ran",
     FIELD(host)},
    {"pid", JP_COL_PID, JP_CSV | JP_MAYBE, 2, 2, 0, "Pid",
     "process id on the host", .get = get_rank_pid},
    {"state", JP_COL_WORD, JP_CSV, 3, 3, 0, "State", "how much of it is known",
     .get = get_rank_state, .words = copper_state_names,
     .n_words = JP_COPPER_N_STATES},
    {"source", JP_COL_TEXT, JP_CSV | JP_MAYBE | JP_TIP, 4, 4, 0, "Source",
     "which of its files the figures come from", .get = get_rank_source},
    {"level", JP_COL_RANK, JP_CSV | JP_MAYBE | JP_TIP, 6, 5, 0, "Level",
     "in Copper's tree; the root is 0", .get = get_rank_level},
    METRICS(struct jp_copper_rank, 8, 6, 7, 8, 9, 10, 0,
            JP_IF(struct jp_copper_rank, has_counts),
            JP_IF(struct jp_copper_rank, has_ttl)),
    {"init_latency_seconds", JP_COL_US, JP_CSV | JP_MAYBE | JP_REAL,
     .help = "start-up, in seconds", .csv = csv_rank_init},
    {"getattr_us", JP_COL_US, JP_CSV | JP_MAYBE | JP_TIP | JP_REAL, 0, 12, 0,
     "A getattr", "on average", .get = get_rank_getattr},
    {"read_us", JP_COL_US, JP_CSV | JP_MAYBE | JP_REAL,
     .help = "a read on average", .get = get_rank_read},
    {"readdir_us", JP_COL_US, JP_CSV | JP_MAYBE | JP_REAL,
     .help = "a readdir on average", .get = get_rank_readdir},
    {"pre_destroy", JP_COL_WORD, JP_CSV | JP_MAYBE, 20,
     .help = "these files against the final ones; unknown: not compared",
     .get = get_rank_pre_destroy, JP_WORDS(compared)},
    {"registration_us", JP_COL_US, JP_CSV | JP_MAYBE | JP_TIP, 21, 13, 0,
     "Registered after", "by its log", .path = "startup.registration_us",
     .get = get_rank_registration},
    {"parent_us", JP_COL_US, JP_CSV | JP_MAYBE, 22,
     .help = "until its parent was confirmed, by its log",
     .path = "startup.parent_us", .get = get_rank_parent},
    {"parent_probes", JP_COL_COUNT, JP_CSV | JP_MAYBE, 23,
     .help = "of its parent, by its log", .path = "startup.parent_probes",
     .get = get_rank_probes},
    {"first_rpc_us", JP_COL_US, JP_CSV | JP_MAYBE, 24,
     .help = "until its parent first answered, by its log",
     .path = "startup.first_rpc_us", .get = get_rank_first_rpc},
    {"why", JP_COL_PROSE, JP_CSV | JP_MAYBE, 5, 14, 0, "Why",
     "wrong, from final files", .none = "", .get = get_rank_why},
    {"level_from", JP_COL_TEXT, JP_MAYBE, 7, .help = "log or address book",
     .get = get_rank_level_from},
    {"init_us", JP_COL_US, JP_MAYBE, 19, .help = "start-up",
     .get = get_rank_init},
    {"parent_timeout", JP_COL_BOOL, JP_MAYBE, 25,
     .help = "it went on without its parent's answer",
     .path = "startup.parent_timeout", .get = get_rank_timeout},
    {"latency", JP_COL_US, JP_TIP | JP_BAR, 0, 11, 0, "Latency",
     "without start-up", .get = get_rank_latency},
};
#undef FIELD
const struct jp_table table_copper_ranks = {
    .name = "copper_ranks",
    .json = "copper.ranks",
    .help = "one row per daemon of the last launch",
    JP_COLUMNS(ranks),
    JP_FOUND_BY(rank),
    .max_json = 5000,
    .max_html = MAX_HTML,
};

/* --- ranks unlike their level --------------------------------------------- */

JP_COPPER_ARRAY(outlier, outliers, n_outliers)

JP_GETTER(outlier_host, jp_copper_outlier,
          value_text(v, rank_at(row, at->rank)->host))
JP_GETTER(outlier_pid, jp_copper_outlier,
          value_int(v, rank_at(row, at->rank)->pid))
JP_GETTER(outlier_level, jp_copper_outlier, value_signed(v, at->level))
JP_GETTER(outlier_slow_digit, jp_copper_outlier, value_count(v, at->slow))

/* Shows six digits, or one decimal; sorted by the value. */
static void value_short(struct jp_value *v, bool digits, double real)
{
    char text[40];

    snprintf(text, sizeof(text), digits ? "%.6g" : "%.1f", real);
    value_figure(v, text, real);
}

JP_GETTER(outlier_value, jp_copper_outlier, value_short(v, true, at->value))
JP_GETTER(outlier_median, jp_copper_outlier, value_short(v, true, at->median))
JP_GETTER(outlier_z, jp_copper_outlier, value_short(v, false, at->z))

#define FIELD(member) JP_FIELD(struct jp_copper_outlier, member)
/* the same figures twice: as numbers in the files, formatted in the page */
static const struct jp_column outliers[] = {
    {"host", JP_COL_ID, JP_CSV, 1, 1, 0, "Host", "on which the daemon ran",
     .get = get_outlier_host},
    {"pid", JP_COL_PID, JP_CSV, 2, .help = "process id on the host",
     .get = get_outlier_pid},
    {"metric", JP_COL_WORD, JP_CSV, 3, 2, 0, "Metric",
     "the metric that differs", FIELD(metric)},
    {"level", JP_COL_RANK, JP_CSV, 4, 3, 0, "Level", "in Copper's tree",
     .get = get_outlier_level},
    {"ranks_of_level", JP_COL_COUNT, JP_CSV, 5, 4, 0, "Ranks of it",
     "ranks that it is compared with", FIELD(of)},
    {"value", JP_COL_COUNT, JP_CSV, 6, .help = "its own", FIELD(value)},
    {"median", JP_COL_COUNT, JP_CSV, 7, .help = "of its level", FIELD(median)},
    {"z", JP_COL_COUNT, JP_CSV, 8,
     .help = "distance in robust standard deviations", FIELD(z)},
    {"slow", JP_COL_COUNT, JP_CSV,
     .help = "1: far above the others, at some cost: a finding",
     .get = get_outlier_slow_digit},
    {"slow", JP_COL_BOOL, 0, 9, 8, 0, "Slow",
     "far above the others, at some cost: a finding", FIELD(slow)},
    {"value", JP_COL_FIGURE, 0, 0, 5, 0, "Value", NULL,
     .get = get_outlier_value},
    {"median", JP_COL_FIGURE, 0, 0, 6, 0, "Median of its level", NULL,
     .get = get_outlier_median},
    {"z", JP_COL_FIGURE, JP_TIP, 0, 7, 0, "z",
     "distance in robust standard deviations", .get = get_outlier_z},
};
#undef FIELD
const struct jp_table table_copper_outliers = {
    .name = "copper_outliers",
    .json = "copper.outliers",
    .help = "one row per metric of a rank that is far from the median of its "
            "level in the tree",
    JP_COLUMNS(outliers),
    JP_FOUND_BY(outlier),
    .max_json = 500,
    .max_html = MAX_HTML,
};

/* --- launches ------------------------------------------------------------- */

JP_COPPER_ARRAY(launch, launches, n_launches)

/* summary.json keeps the latest ones. */
static double launch_weight(const struct jp_result *result, size_t row)
{
    (void) result;
    return (double) row;
}

static void get_launch_number(const struct jp_row *row, struct jp_value *v)
{
    value_count(v, row->index + 1);
}

JP_GETTER(launch_start, jp_copper_launch, value_signed(v, at->start_us))

#define FIELD(member) JP_FIELD(struct jp_copper_launch, member)
/* sums over the daemons of one launch */
static const struct jp_column launches[] = {
    {"launch", JP_COL_COUNT, JP_CSV, 0, 1, 0, "Launch", "from 1",
     .get = get_launch_number},
    {"start_local_us", JP_COL_CLOCK, JP_CSV | JP_MAYBE, 1,
     .help = "of its first daemon, local time", .get = get_launch_start},
    {"ranks", JP_COL_COUNT, JP_CSV, 2, 2, 0, "Ranks", "with a profile",
     FIELD(ranks)},
    {"counted", JP_COL_COUNT, JP_CSV, 3, 3, 0, "Counted", "in the sums",
     FIELD(counted)},
    METRICS(struct jp_copper_launch, 4, 4, 5, 0, 0, 0, 6,
            JP_IF(struct jp_copper_launch, counted),
            JP_IF(struct jp_copper_launch, counted)),
};
#undef FIELD
const struct jp_table table_copper_launches = {
    .name = "copper_launches",
    .json = "copper.launches",
    .help = "one row per launch of the daemons in the same folder, in order "
            "of time; all other figures are from the last launch",
    JP_COLUMNS(launches),
    JP_FOUND_BY(launch),
    .weight = launch_weight,
    .max_json = 100,
    .max_html = MAX_HTML,
};

/* --- snapshots ------------------------------------------------------------ */

JP_COPPER_ARRAY(point, points, n_points)

JP_GETTER(point_host, jp_copper_point,
          value_text(v, rank_at(row, at->rank)->host))
JP_GETTER(point_pid, jp_copper_point, value_int(v, rank_at(row, at->rank)->pid))
/* unknown if the files are a copy that did not keep their times */
JP_GETTER(point_time, jp_copper_point, value_int(v, at->time_us);
          if (copper_of(row->report)->times_lost) v->type = JP_VALUE_UNKNOWN)

/* counters since the daemon's start, not since the last snapshot */
static const struct jp_column points[] = {
    {"time_us", JP_COL_CLOCK, JP_CSV | JP_MAYBE, 1,
     .help = "time of the file; unknown: a copy did not keep it",
     .get = get_point_time},
    {"host", JP_COL_ID, JP_CSV, 2, .help = "on which the daemon ran",
     .get = get_point_host},
    {"pid", JP_COL_PID, JP_CSV, 3, .help = "process id on the host",
     .get = get_point_pid},
    {"source", JP_COL_TEXT, JP_CSV, 4, .help = "which of its files",
     JP_FIELD(struct jp_copper_point, tag)},
    {"copy", JP_COL_COUNT, JP_CSV, 5, .help = "of these; 0: the first",
     JP_FIELD(struct jp_copper_point, copy)},
    METRICS(struct jp_copper_point, 6, 0, 0, 0, 0, 0, 0, , ),
};
const struct jp_table table_copper_series = {
    .name = "copper_series",
    .json = "copper.series",
    .help = "one row per snapshot of a rank, by rank and time",
    JP_COLUMNS(points),
    JP_FOUND_BY(point),
    .max_json = 5000,
};

/* --- notes ---------------------------------------------------------------- */

JP_COPPER_ARRAY(note, notes, n_notes)

static const struct jp_column notes[] = {
    {"file", JP_COL_TEXT, JP_CSV, 1, .help = "that is damaged or odd",
     .path = "path", JP_FIELD(struct jp_file_note, path)},
    {"what", JP_COL_TEXT, JP_CSV, 2, .help = "about it",
     JP_FIELD(struct jp_file_note, what)},
};
const struct jp_table table_copper_notes = {
    .name = "copper_notes",
    .json = "copper.notes",
    .help = "one row per note on a file, in order of discovery",
    JP_COLUMNS(notes),
    JP_FOUND_BY(note),
    .max_json = JP_COPPER_MAX_NOTES,
};

const struct jp_table *const tables_copper[] = {
    &table_copper_totals,   &table_copper_operations,
    &table_copper_ranks,    &table_copper_ranges,
    &table_copper_outliers, &table_copper_classes,
    &table_copper_paths,    &table_copper_roots,
    &table_copper_cache,    &table_copper_series,
    &table_copper_launches, &table_copper_searches,
    &table_copper_notes,    NULL};
