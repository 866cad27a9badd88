/* report_copper_tables.c - the tables of Copper's part of report.html. */
#include <inttypes.h>
#include <math.h>

#include "common/figure.h"
#include "orchestrator/report/html_out.h"
#include "orchestrator/report/report_copper.h"

#define MAX_ROWS 200

#define COLUMNS(columns) (columns), sizeof(columns) / sizeof(*(columns))

static void begin(FILE *out, const char *title, const char *note,
                  const struct jp_html_column *columns, size_t n)
{
    fprintf(out, "<h3>%s</h3>\n", title);
    if (note)
        fprintf(out, "<p class=\"note\">%s</p>\n", note);
    html_out_table(out, columns, n, true);
}

static void end(FILE *out, size_t columns, size_t n, const char *where)
{
    html_out_table_end(out, columns, n > MAX_ROWS ? n - MAX_ROWS : 0, where);
}

static void count(FILE *out, uint64_t n)
{
    html_out_figure(out, FIG_COUNT(n), (double) n);
}

static void time(FILE *out, double us)
{
    html_out_figure(out, FIG_US(us), us);
}

static void known(FILE *out, bool is, uint64_t n)
{
    if (is)
        count(out, n);
    else
        html_out_figure(out, "-", NAN);
}

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
    begin(out, "operations", NULL, COLUMNS(columns));
    for (size_t i = 0; i <= COPPER_N_OPS; i++) {
        const struct copper_op *op = &c->op[i];

        if (!op->calls)
            continue;
        html_out_row(out);
        html_out_id(out, copper_op_names[i]);
        html_out_bar(out, FIG_COUNT(op->calls), (double) op->calls,
                     (double) op->calls / (double) calls);
        count(out, op->hits);
        count(out, op->misses);
        count(out, op->negatives);
        time(out, (double) op->time_us / (double) op->calls);
        html_out_bar(out, FIG_US((double) op->time_us), (double) op->time_us,
                     i == copper_op_find("init", 4) || !us
                         ? 0
                         : (double) op->time_us / (double) us);
        html_out_row_end(out);
    }
    end(out, sizeof(columns) / sizeof(*columns), 0, NULL);
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

    begin(out, "stability across ranks", NULL, COLUMNS(columns));
    for (size_t i = 0; i < JP_COPPER_N_SPREADS; i++) {
        const struct jp_copper_range *r = &c->range[i];

        if (!r->n)
            continue;
        html_out_row(out);
        html_out_cell(out, r->name);
        count(out, r->n);
        if (r->seconds) {
            time(out, (double) r->min);
            time(out, (double) r->max);
            time(out, r->mean);
            time(out, r->median);
        } else {
            count(out, r->min);
            count(out, r->max);
            count(out, (uint64_t) llround(r->mean));
            count(out, (uint64_t) llround(r->median));
        }
        html_out_figure(out, FIG_SHARE(r->cv), r->cv);
        html_out_id(out, c->ranks[r->min_rank].host);
        html_out_id(out, c->ranks[r->max_rank].host);
        html_out_row_end(out);
    }
    end(out, sizeof(columns) / sizeof(*columns), 0, NULL);
}

static void put_rank(const struct jp_copper_rank *r, double most, FILE *out)
{
    const struct copper_op *init = &r->op[copper_op_find("init", 4)];
    const struct copper_op *getattr = &r->op[copper_op_find("getattr", 7)];
    double us = (double) r->value[COPPER_LATENCY_US] - (double) init->time_us;

    html_out_row(out);
    html_out_id(out, r->host);
    known(out, r->pid > 0, (uint64_t) r->pid);
    html_out_cell(out, copper_state_names[r->state]);
    html_out_cell(out, *r->source ? r->source : "-");
    known(out, r->level >= 0, (uint64_t) r->level);
    known(out, r->has_counts, r->value[COPPER_OPERATIONS]);
    known(out, r->has_counts, r->value[COPPER_HITS]);
    known(out, r->has_counts, r->value[COPPER_MISSES]);
    known(out, r->has_counts, r->value[COPPER_NEGATIVES]);
    known(out, r->has_ttl, r->value[COPPER_TTL_SERVES]);
    if (r->has_ops)
        html_out_bar(out, FIG_US(us), us, most > 0 ? us / most : 0);
    else
        html_out_figure(out, "-", NAN);
    time(out, r->has_ops && getattr->calls
                  ? (double) getattr->time_us / (double) getattr->calls
                  : NAN);
    time(out,
         r->log.registration_us >= 0 ? (double) r->log.registration_us : NAN);
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

    begin(out, "ranks", NULL, COLUMNS(columns));
    for (size_t i = 0; i < c->n_ranks && i < MAX_ROWS; i++)
        put_rank(&c->ranks[i], most, out);
    end(out, sizeof(columns) / sizeof(*columns), c->n_ranks,
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

    begin(out, "ranks unlike their tree level",
          "A rank is compared with those of its level only, at least four; the "
          "root and its children are unlike the others by nature.",
          COLUMNS(columns));
    for (size_t i = 0; i < c->n_outliers && i < MAX_ROWS; i++) {
        const struct jp_copper_outlier *o = &c->outliers[i];
        char value[32], median[32], z[32];

        snprintf(value, sizeof(value), "%.6g", o->value);
        snprintf(median, sizeof(median), "%.6g", o->median);
        snprintf(z, sizeof(z), "%.1f", o->z);
        html_out_row(out);
        html_out_id(out, c->ranks[o->rank].host);
        html_out_cell(out, o->metric);
        count(out, (uint64_t) o->level);
        count(out, o->of);
        html_out_figure(out, value, o->value);
        html_out_figure(out, median, o->median);
        html_out_figure(out, z, o->z);
        html_out_cell(out, o->slow ? "yes" : "no");
        html_out_row_end(out);
    }
    end(out, sizeof(columns) / sizeof(*columns), c->n_outliers,
        "csv/copper_outliers.csv");
}

static void classes(const struct jp_copper *c, FILE *out)
{
    static const struct jp_html_column columns[] = {
        {"Class", NULL, false},
        {"Top rows", "rows of top_paths.csv, one a rank", true},
        {"Top events", "a lower bound; as Copper's own tool counts", true},
        {"Paths", "distinct, by full tables", true},
        {"Events", "exact, by full tables", true},
        {"Example", NULL, false}};

    begin(out, "path classes", NULL, COLUMNS(columns));
    for (size_t i = 0; i < JP_COPPER_N_CLASSES; i++) {
        const struct jp_copper_class_sum *s = &c->classes[i];

        if (!s->top_rows && !s->paths)
            continue;
        html_out_row(out);
        html_out_cell(out, copper_class_names[s->class]);
        known(out, c->n_top, s->top_rows);
        known(out, c->n_top, s->top_events);
        known(out, c->n_tables, s->paths);
        known(out, c->n_tables, s->events);
        html_out_code(out, s->example ? s->example : s->top_example);
        html_out_row_end(out);
    }
    end(out, sizeof(columns) / sizeof(*columns), 0, NULL);
}

static void hot(const struct jp_copper *c, enum copper_category category,
                FILE *out)
{
    static const struct jp_html_column columns[] = {{"Path", NULL, false},
                                                    {"Events", NULL, true},
                                                    {"Ranks", NULL, true},
                                                    {"Class", NULL, false}};
    static const char *const titles[COPPER_N_CATEGORIES] = {
        "hot metadata paths", "hot data paths", "hot directories",
        "hot absent paths"};
    size_t from = c->path_from[category], to = c->path_from[category + 1];

    if (from == to)
        return;
    begin(out, titles[category],
          c->n_tables < c->n_counted
              ? "By the busiest paths of each rank: lower bounds."
              : NULL,
          COLUMNS(columns));
    for (size_t i = from; i < to && i < from + JP_COPPER_HOT; i++) {
        const struct jp_copper_path *p = &c->paths[i];

        html_out_row(out);
        html_out_code(out, p->path);
        html_out_bar(out, FIG_COUNT(p->events), (double) p->events,
                     (double) p->events / (double) c->paths[from].events);
        count(out, p->ranks);
        html_out_cell(out, copper_class_names[p->class]);
        html_out_row_end(out);
    }
    html_out_table_end(out, sizeof(columns) / sizeof(*columns),
                       to - from > JP_COPPER_HOT ? to - from - JP_COPPER_HOT
                                                 : 0,
                       "csv/copper_paths.csv");
}

static void vain(const struct jp_copper *c, FILE *out)
{
    static const struct jp_html_column columns[] = {
        {"Folder", NULL, false},
        {"Lookups", "that ended in ENOENT", true},
        {"Names", "distinct", true},
        {"Never read", "no file below it was read", false},
        {"Mostly", NULL, false},
        {"Example", NULL, false}};

    begin(out, "folders searched in vain", NULL, COLUMNS(columns));
    for (size_t i = 0; i < c->n_vain && i < MAX_ROWS; i++) {
        const struct jp_copper_vain *v = &c->vain[i];

        html_out_row(out);
        html_out_code(out, v->folder);
        count(out, v->events);
        count(out, v->names);
        html_out_cell(out, v->wholly ? "yes" : "no");
        html_out_cell(out, copper_class_names[v->class]);
        html_out_code(out, v->example);
        html_out_row_end(out);
    }
    end(out, sizeof(columns) / sizeof(*columns), c->n_vain,
        "csv/copper_vain.csv");
}

static void share(FILE *out, bool is, uint64_t part, uint64_t all)
{
    double value = is && all ? (double) part / (double) all : NAN;

    html_out_figure(out, isfinite(value) ? FIG_SHARE(value) : "-", value);
}

static void roots(const struct jp_copper *c, FILE *out)
{
    static const struct jp_html_column columns[] = {
        {"Root", NULL, false},
        {"Observed", NULL, true},
        {"Files observed", NULL, true},
        {"of", NULL, true},
        {"Share", NULL, true},
        {"Folders observed", NULL, true},
        {"of", NULL, true},
        {"Share", NULL, true},
        {"Absent", "looked up, not there", true}};

    begin(out, "coverage of roots",
          "What exists was looked up when this report was made. That a file "
          "was not observed does not prove that it can go.",
          COLUMNS(columns));
    for (size_t i = 0; i < c->n_used_roots; i++) {
        const struct jp_copper_root *r = &c->used_roots[i];
        bool all = r->exists && !r->cut;

        html_out_row(out);
        html_out_code(out, r->path);
        count(out, r->observed);
        known(out, r->exists, r->observed_files);
        known(out, all, r->files);
        share(out, all, r->observed_files, r->files);
        known(out, r->exists, r->observed_dirs);
        known(out, all, r->dirs);
        share(out, all, r->observed_dirs, r->dirs);
        known(out, r->exists, r->missing);
        html_out_row_end(out);
    }
    end(out, sizeof(columns) / sizeof(*columns), 0, NULL);
}

static void cache(const struct jp_copper *c, FILE *out)
{
    static const struct jp_html_column columns[] = {{"Cache", NULL, false},
                                                    {"Ranks", NULL, true},
                                                    {"Used", NULL, true},
                                                    {"Entries", NULL, true}};

    begin(out, "cache use", "When an ioctl asked for it.", COLUMNS(columns));
    for (size_t i = 0; i < JP_COPPER_N_CACHES; i++) {
        const struct jp_copper_cache_sum *s = &c->cache[i];

        html_out_row(out);
        html_out_cell(out, s->table);
        count(out, s->files_found);
        html_out_figure(out, s->files_found ? FIG_BYTES(s->used_bytes) : "-",
                        (double) s->used_bytes);
        known(out, s->files_found, s->entries);
        html_out_row_end(out);
    }
    end(out, sizeof(columns) / sizeof(*columns), 0, NULL);
}

static void launches(const struct jp_copper *c, FILE *out)
{
    static const struct jp_html_column columns[] = {
        {"Launch", NULL, true},  {"Ranks", NULL, true},
        {"Counted", NULL, true}, {"Operations", NULL, true},
        {"Hits", NULL, true},    {"Latency", NULL, true}};

    begin(out, "launches in the same folder",
          "The daemons were started more than once; all other figures are the "
          "last launch's.",
          COLUMNS(columns));
    for (size_t i = 0; i < c->n_launches && i < MAX_ROWS; i++) {
        const struct jp_copper_launch *l = &c->launches[i];

        html_out_row(out);
        count(out, i + 1);
        count(out, l->ranks);
        count(out, l->counted);
        count(out, l->value[COPPER_OPERATIONS]);
        count(out, l->value[COPPER_HITS]);
        time(out, (double) l->value[COPPER_LATENCY_US]);
        html_out_row_end(out);
    }
    end(out, sizeof(columns) / sizeof(*columns), c->n_launches,
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
    if (c->n_paths)
        classes(c, out);
    for (unsigned k = 0; k < COPPER_N_CATEGORIES; k++)
        hot(c, k, out);
    if (c->n_vain)
        vain(c, out);
    if (c->n_used_roots)
        roots(c, out);
    if (c->cache[JP_COPPER_CACHE_COMBINED].files_found)
        cache(c, out);
}
