/* copper_report.c - Copper's part of csv/, summary.json, summary.txt and
 * plots/.
 *
 * Tables with rows are described in copper_tables*.c; this file has the rest,
 * one section per file of the report. */
#include "orchestrator/copper/copper_feature.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "orchestrator/report/chart.h"
#include "orchestrator/report/gnuplot.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/tables.h"

/* Returns true for the counters of remembered ENOENTs, which older daemons
 * do not have. */
static bool is_ttl(size_t metric)
{
    return metric >= COPPER_TTL_STORES && metric <= COPPER_TTL_AVOIDED;
}

/* --- csv/copper_totals.csv ------------------------------------------------ */

/* Writes a row of a time, in seconds. ranks 0: the time is unknown. */
static void put_seconds(struct jp_csv *csv, const char *name, uint64_t us,
                        uint32_t ranks)
{
    csv_out_text(csv, name);
    if (ranks)
        csv_out_micro(csv, us);
    else
        csv_out_empty(csv);
    csv_out_count(csv, ranks);
    csv_out_end(csv);
}

int copper_report_totals(struct jp_csv *csv, const struct jp_report *report,
                         const struct jp_table *table)
{
    const struct jp_copper *c = copper_of(report);

    (void) table;
    for (size_t i = 0; i < COPPER_N_METRICS; i++) {
        /* the number of daemons that report this counter */
        uint32_t n = is_ttl(i) ? c->n_ttl : c->n_counted;

        /* Copper's own tool prints this one in seconds */
        if (i == COPPER_LATENCY_US) {
            put_seconds(csv, copper_metric_names[i], c->total[i], n);
            continue;
        }
        csv_out_text(csv, copper_metric_names[i]);
        if (n)
            csv_out_count(csv, c->total[i]);
        else
            csv_out_empty(csv);
        csv_out_count(csv, n);
        csv_out_end(csv);
    }
    put_seconds(csv, "init_latency_seconds", c->init_us, c->n_ops);
    put_seconds(csv, "latency_without_init_seconds", c->without_init_us,
                c->n_ops);
    return 0;
}

/* --- copper_paths/: observed paths against the files ---------------------- */

/* Writes one path per line. Characters that would break the line or a terminal
 * are escaped. */
static void put_line(FILE *out, const char *path)
{
    for (; *path; path++) {
        unsigned char c = (unsigned char) *path;

        /* a path may contain a newline, which would look like two paths */
        if (c < 0x20 || c == 0x7f)
            fprintf(out, "\\x%02x", c);
        else
            putc_unlocked(c, out);
    }
    putc_unlocked('\n', out);
}

/* The lists of observed paths against existing ones. */
enum list { ALL, USED, UNUSED, MISSING };

/* Returns true if the path is in the list. Files are missing only if their root
 * exists on this host: else nothing was looked up there. */
static bool belongs(const struct jp_copper *c, const struct jp_copper_used *u,
                    enum list list)
{
    switch (list) {
    case ALL:
        return u->walked;
    case USED:
        return u->exists && u->observed;
    case UNUSED:
        return u->walked && !u->observed;
    default:
        return !u->exists && u->observed && c->used_roots[u->root].exists;
    }
}

/* Writes one list by temp + rename. */
static int write_list(const struct jp_copper *c, const char *dir,
                      const char *name, enum list list, struct jp_error *err)
{
    char *path = text_format("%s/copper_paths/%s", dir, name);
    struct jp_tempfile file;
    int rc = path ? fileio_temp_open(&file, path, err)
                  : error_set(err, "out of memory");

    free(path);
    if (rc < 0)
        return -1;
    for (size_t i = 0; i < c->n_used; i++)
        if (belongs(c, &c->used[i], list))
            put_line(file.stream, c->used[i].path);
    return fileio_temp_commit(&file, err);
}

int copper_report_lists(const struct jp_report *report, const char *dir,
                        struct jp_error *err)
{
    const struct jp_copper *c = copper_of(report);
    static const char *const names[] = {
        [ALL] = "all_possible_existing_paths.txt",
        [USED] = "used_paths_existing.txt",
        [UNUSED] = "same_run_candidate_not_observed_existing_paths.txt",
        [MISSING] = "missing_probe_paths.txt"};
    char *folder;
    int rc;

    /* no roots were given, so nothing was compared */
    if (!c || !c->n_used)
        return 0;
    folder = text_format("%s/copper_paths", dir);
    rc = folder ? fileio_mkdir(folder, err) : error_set(err, "out of memory");
    free(folder);
    for (unsigned i = 0; i < sizeof(names) / sizeof(*names) && rc == 0; i++)
        rc = write_list(c, dir, names[i], i, err);
    return rc;
}

/* --- summary.json --------------------------------------------------------- */

/* Writes a number, or null if it is below 0. */
static void put_signed(struct jp_json_stream *s, const char *key, int64_t value)
{
    json_stream_known(s, key, value >= 0, value < 0 ? 0 : (uint64_t) value);
}

/* Writes the daemons' settings; null for those that no profile contains. */
static void settings(struct jp_json_stream *s, const struct jp_copper *c)
{
    const struct copper_settings *of = &c->settings;

    json_stream_text(s, "mode", *of->mode ? of->mode : NULL);
    put_signed(s, "md_enoent_ttl_ms", of->ttl_ms);
    put_signed(s, "top_n", of->top_n);
    /* below 0: unknown */
    if (of->full < 0)
        json_stream_null(s, "paths_full");
    else
        json_stream_bool(s, "paths_full", of->full);
    json_stream_bool(s, "differ", c->settings_differ);
}

/* Writes how many daemons left which of their files. */
static void coverage(struct jp_json_stream *s, const struct jp_copper *c)
{
    json_stream_count(s, "ranks", c->n_ranks);
    for (unsigned i = 0; i < JP_COPPER_N_STATES; i++)
        json_stream_count(s, copper_state_names[i], c->n_state[i]);
    json_stream_count(s, "counted", c->n_counted);
    json_stream_count(s, "with_ttl", c->n_ttl);
    json_stream_count(s, "with_operations", c->n_ops);
    json_stream_count(s, "with_full_tables", c->n_tables);
    json_stream_count(s, "with_top_paths", c->n_top);
    /* of daemons with both kinds of files */
    json_stream_count(s, "pre_destroy_compared", c->compared);
    json_stream_count(s, "pre_destroy_equal", c->equal);
    json_stream_count(s, "damaged_path_files", c->notes_bad);
    json_stream_count(s, "path_rows_left_out", c->left_out_rows);
    json_stream_count(s, "files", c->files);
    json_stream_count(s, "bytes_read", c->bytes_read);
}

/* Writes the sums over daemons, null for counters that no daemon reports. The
 * names are Copper's, except for the unit of the latency. */
static void totals(struct jp_json_stream *s, const struct jp_copper *c)
{
    for (size_t i = 0; i < COPPER_N_METRICS; i++)
        json_stream_known(s,
                          i == COPPER_LATENCY_US ? "total_measured_latency_us"
                                                 : copper_metric_names[i],
                          is_ttl(i) ? c->n_ttl : c->n_counted, c->total[i]);
    json_stream_known(s, "init_us", c->n_ops, c->init_us);
    json_stream_known(s, "latency_without_init_us", c->n_ops,
                      c->without_init_us);
}

/* Writes the answers to fixed questions, and what could be pruned. */
static void advice(struct jp_json_stream *s, const struct jp_copper *c)
{
    json_stream_array(s, "answers");
    for (size_t i = 0; i < JP_COPPER_QUESTIONS; i++) {
        json_stream_object(s, NULL);
        json_stream_text(s, "question", c->answers[i].question);
        json_stream_text(s, "answer", c->answers[i].answer);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
    json_stream_array(s, "guidance");
    for (size_t i = 0; i < c->n_advice; i++) {
        const struct jp_copper_advice *a = &c->advice[i];

        json_stream_object(s, NULL);
        json_stream_text(s, "text", a->text);
        json_stream_texts(s, "paths", a->paths, a->n_paths, a->n_paths);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
}

/* Writes an object whose members a function adds. */
static void
put_object(struct jp_json_stream *s, const char *key, const struct jp_copper *c,
           void (*put)(struct jp_json_stream *, const struct jp_copper *))
{
    json_stream_object(s, key);
    put(s, c);
    json_stream_end_object(s);
}

/* Writes the members of summary.json's copper{}. */
static void put_members(struct jp_json_stream *s,
                        const struct jp_report *report)
{
    const struct jp_copper *c = copper_of(report);
    size_t launches, ranks, outliers, series, searches;

    json_stream_texts(s, "log_dirs", c->roots, c->n_roots, 100);
    put_object(s, "settings", c, settings);
    put_object(s, "coverage", c, coverage);
    put_object(s, "totals", c, totals);
    table_json(s, &table_copper_operations, report, NULL);
    /* all metrics, also those that no daemon reports */
    table_json(s, &table_copper_ranges, report, NULL);
    /* the numbers of rows left out are written together at the end */
    launches = table_json(s, &table_copper_launches, report, NULL);
    ranks = table_json(s, &table_copper_ranks, report, NULL);
    outliers = table_json(s, &table_copper_outliers, report, NULL);
    json_stream_count(s, "ranks_not_judged", c->unjudged);
    table_json(s, &table_copper_classes, report, NULL);
    json_stream_object(s, "hot_paths");
    for (unsigned k = 0; k < COPPER_N_CATEGORIES; k++)
        table_json(s, tables_copper_hot[k], report, NULL);
    json_stream_end_object(s);
    searches = table_json(s, &table_copper_searches, report, NULL);
    table_json(s, &table_copper_roots, report, NULL);
    table_json(s, &table_copper_cache, report, NULL);
    series = table_json(s, &table_copper_series, report, NULL);
    json_stream_bool(s, "series_timed", !c->times_lost);
    advice(s, c);
    table_json(s, &table_copper_notes, report, NULL);
    json_stream_count(s, "notes_left_out", c->notes_left_out);
    json_stream_object(s, "left_out");
    json_stream_count(s, "launches", launches);
    json_stream_count(s, "ranks", ranks);
    json_stream_count(s, "outliers", outliers);
    json_stream_count(s, "series", series);
    json_stream_count(s, "searched_in_vain", searches);
    json_stream_end_object(s);
}

void copper_report_json(struct jp_json_stream *s, const char *key,
                        const struct jp_report *report)
{
    json_stream_object(s, key);
    if (copper_of(report))
        put_members(s, report);
    json_stream_end_object(s);
}

void copper_report_findings(struct jp_json_stream *s,
                            const struct jp_report *report)
{
    const struct jp_copper *c = copper_of(report);

    for (size_t i = 0; c && i < c->n_findings; i++) {
        const struct jp_copper_finding *f = &c->findings[i];
        const struct jp_copper_rank *r = &c->ranks[f->rank];

        json_stream_object(s, NULL);
        /* from and to of a slow daemon: the median of its level, and its own
         * figure */
        tables_finding(
            s, &(struct tables_finding){.kind = f->kind,
                                        .host = r->host,
                                        .pid = r->pid,
                                        .from = &f->from,
                                        .to = &f->to,
                                        .cost_us = &f->cost_us,
                                        .text = f->text,
                                        .next = "see that daemon in "
                                                "csv/copper_ranks.csv"});
        json_stream_end_object(s);
    }
}

/* --- summary.txt ---------------------------------------------------------- */

#define MAX_NOTES 10    /* in summary.txt */
#define MAX_FINDINGS 10 /* in summary.txt */
#define MAX_HOT 5       /* example paths of a piece of advice */

#define ASCII(text)                                                            \
    clean_text((text), JP_CLEAN_ASCII, (char[256]){0}, sizeof(char[256]))

/* Writes the figures of the first lines. Without counters, only the states of
 * the daemons. */
static void put_head(const struct jp_copper *c, FILE *out)
{
    uint64_t latency = c->total[COPPER_LATENCY_US];

    text_out_line(out, "Copper cache");
    text_out_line(out, "  ranks      %s of %s counted%s%s",
                  FIG_COUNT(c->n_counted), FIG_COUNT(c->n_ranks),
                  c->n_launches > 1 ? ", launch " : "",
                  c->n_launches > 1 ? FIG_COUNT(c->n_launches) : "");
    /* state 0 is good */
    for (unsigned i = 1; i < JP_COPPER_N_STATES; i++)
        if (c->n_state[i])
            text_out_line(out, "             %s %s", FIG_COUNT(c->n_state[i]),
                          copper_state_names[i]);
    if (!c->n_counted)
        return;
    text_out_line(out, "  operations %s: %s hits, %s misses, %s negative",
                  FIG_COUNT(c->total[COPPER_OPERATIONS]),
                  FIG_COUNT(c->total[COPPER_HITS]),
                  FIG_COUNT(c->total[COPPER_MISSES]),
                  FIG_COUNT(c->total[COPPER_NEGATIVES]));
    text_out_line(out, "  latency    %s, start-up %s of it, operations %s",
                  FIG_US((double) latency), FIG_US((double) c->init_us),
                  FIG_US((double) c->without_init_us));
    if (c->n_ttl)
        text_out_line(out,
                      "  ENOENT     %s remembered, %s lookups saved, %s "
                      "expired",
                      FIG_COUNT(c->total[COPPER_TTL_STORES]),
                      FIG_COUNT(c->total[COPPER_TTL_SERVES]),
                      FIG_COUNT(c->total[COPPER_TTL_EXPIRES]));
    if (c->compared)
        text_out_line(out,
                      "  check      pre-destroy equals final on %s of %s ranks",
                      FIG_COUNT(c->equal), FIG_COUNT(c->compared));
}

/* Writes the first findings, marked by "!". */
static void put_findings(const struct jp_copper *c, FILE *out)
{
    for (size_t i = 0; i < c->n_findings && i < MAX_FINDINGS; i++) {
        fputs("  ! ", out);
        text_out_wrap(out, 4, 4, ASCII(c->findings[i].text));
    }
    if (c->n_findings > MAX_FINDINGS)
        text_out_line(out, "  ... and %s more findings in summary.json",
                      FIG_COUNT(c->n_findings - MAX_FINDINGS));
}

/* Writes each question with its answer below. */
static void put_answers(const struct jp_copper *c, FILE *out)
{
    fputc('\n', out);
    for (size_t i = 0; i < JP_COPPER_QUESTIONS; i++) {
        char text[1024];

        text_out_line(out, "  %s", c->answers[i].question);
        clean_text(c->answers[i].answer, JP_CLEAN_ASCII, text, sizeof(text));
        fputs("    ", out);
        text_out_wrap(out, 4, 4, text);
    }
}

/* Writes what could be pruned, with a few paths for each piece of advice. */
static void put_guidance(const struct jp_copper *c, FILE *out)
{
    if (!c->n_advice)
        return;
    fputc('\n', out);
    text_out_line(out, "  Pruning");
    for (size_t i = 0; i < c->n_advice; i++) {
        char text[1024];

        clean_text(c->advice[i].text, JP_CLEAN_ASCII, text, sizeof(text));
        fputs("  - ", out);
        text_out_wrap(out, 4, 4, text);
        /* a few examples; summary.json has all */
        for (size_t k = 0; k < c->advice[i].n_paths && k < MAX_HOT; k++)
            text_out_line(out, "      %s", ASCII(c->advice[i].paths[k]));
    }
}

/* Writes the first notes on files that were damaged or odd. */
static void put_notes(const struct jp_copper *c, FILE *out)
{
    uint64_t all = c->n_notes + c->notes_left_out;

    for (size_t i = 0; i < c->n_notes && i < MAX_NOTES; i++)
        text_out_line(out, "  note: %s: %s", ASCII(c->notes[i].path),
                      ASCII(c->notes[i].what));
    if (all > MAX_NOTES)
        text_out_line(out, "  ... and %s more in csv/copper_notes.csv",
                      FIG_COUNT(all - MAX_NOTES));
}

/* Order: figures, findings, tables, answers, advice, notes. */
int copper_report_text(const struct jp_report *report, FILE *out)
{
    const struct jp_copper *c = copper_of(report);

    if (!c)
        return 0;
    fputc('\n', out);
    put_head(c, out);
    put_findings(c, out);
    if (c->n_ops && table_text(&table_copper_operations, report, out) < 0)
        return -1;
    /* a spread needs two daemons */
    if (c->n_counted > 1 &&
        table_text(&table_copper_known_ranges, report, out) < 0)
        return -1;
    put_answers(c, out);
    put_guidance(c, out);
    put_notes(c, out);
    return 0;
}

/* --- plots/copper_* ------------------------------------------------------- */

#define MAX_PLOT_RANKS 20000 /* points of a plot */
#define MAX_POINTS 20000     /* snapshots of a plot */
#define MAX_PAGE 4096        /* points of a chart in the page */

/* Returns a part of all as percent; 0 if there is nothing. */
static struct jp_chart_value percent(uint64_t part, uint64_t all)
{
    return chart_real(all ? 100.0 * (double) part / (double) all : 0);
}

/* A bar per operation. init is left out, as its time would hide the others. */
static int ops_build(const struct jp_chart_view *view,
                     struct jp_chart_figures *f)
{
    const struct jp_copper *c = feature_data_of(view->features, COPPER_FEATURE);
    size_t init = copper_op_find("init", 4);
    uint64_t calls = 0, us = 0;

    /* the last index counts operations of unknown names */
    for (size_t i = 0; c && i <= COPPER_N_OPS; i++) {
        calls += c->op[i].calls;
        us += i == init ? 0 : c->op[i].time_us;
    }
    for (size_t i = 0; c && i <= COPPER_N_OPS; i++)
        if (c->op[i].calls && i != init)
            chart_row(
                f, JP_CHART_PLOT,
                (const struct jp_chart_value[]){chart_text(copper_op_names[i]),
                                                percent(c->op[i].calls, calls),
                                                percent(c->op[i].time_us, us)});
    return 0;
}

static const struct jp_chart_column ops_columns[] = {
    JP_CHART_COL(PLOT, "operation"), JP_CHART_COL(PLOT, "requests_percent"),
    JP_CHART_COL(PLOT, "time_percent")};

static const struct jp_chart chart_copper_ops = {
    .build = ops_build,
    JP_CHART_ROWS(ops_columns),
    .plot = &(const struct jp_chart_plot){
        .name = "copper_ops",
        .title = "Copper: share of requests and of time (start-up left out)",
        .x = "percent",
        .nothing = "no table of operations",
        .style = JP_PLOT_PERCENTS,
        .bars = {"requests", "time"}}};

/* Returns true if the rank is a slow outlier by any metric. */
static bool is_slow(const struct jp_copper *c, size_t rank)
{
    for (size_t i = 0; i < c->n_outliers; i++)
        if (c->outliers[i].rank == rank && c->outliers[i].slow)
            return true;
    return false;
}

/* One point per rank: its level, and the time of a getattr. The page has every
 * few of many ranks, and all slow ones. */
static int ranks_build(const struct jp_chart_view *view,
                       struct jp_chart_figures *f)
{
    const struct jp_copper *c = feature_data_of(view->features, COPPER_FEATURE);
    size_t getattr = copper_op_find("getattr", 7);
    size_t start = copper_op_find("init", 4), n = 0;

    for (size_t i = 0; c && i < c->n_ranks; i++)
        f->of += c->ranks[i].has_ops && c->ranks[i].op[getattr].calls;
    for (size_t i = 0; c && i < c->n_ranks; i++) {
        const struct jp_copper_rank *r = &c->ranks[i];
        const struct copper_op *op = &r->op[getattr];
        /* the latency without start-up */
        double us = (double) r->value[COPPER_LATENCY_US] -
                    (double) r->op[start].time_us;
        bool slow = is_slow(c, i);
        unsigned faces = n < MAX_PLOT_RANKS ? JP_CHART_PLOT : 0;
        char host[64];

        if (!r->has_ops || !op->calls)
            continue;
        if (slow || n % (f->of / MAX_PAGE + 1) == 0)
            faces |= JP_CHART_PAGE;
        n++;
        if (faces)
            chart_row(
                f, faces,
                (const struct jp_chart_value[]){
                    chart_text(r->host), chart_real(r->level),
                    chart_real((double) op->time_us / (double) op->calls),
                    chart_real(us),
                    chart_text(plot_script_name(r->host, host, sizeof(host))),
                    chart_real(r->level), chart_count(slow)});
    }
    return 0;
}

static const struct jp_chart_column ranks_columns[] = {
    JP_CHART_COL(PAGE, "host"),
    JP_CHART_COL(PLOT, "level"),
    JP_CHART_COL(BOTH, "getattr_us"),
    JP_CHART_COL_IN(PLOT, "latency_without_init_s", 1e6),
    JP_CHART_COL(PLOT, "host"),
    JP_CHART_COL(PAGE, "level"),
    JP_CHART_COL(PAGE, "slow")};

/* {rows: [[host, us, level, slow], ...], of} */
const struct jp_chart chart_copper_ranks = {
    .name = "levels",
    .caption = "What a getattr takes on each rank, by level in Copper&#39;s "
               "tree",
    .build = ranks_build,
    JP_CHART_ROWS(ranks_columns),
    .plot = &(const struct jp_chart_plot){
        .name = "copper_ranks",
        .title = "Copper: what a getattr takes, by level in the tree",
        .x = "level in the tree (root 0; -1 unknown)",
        .y = "us",
        .nothing = "no rank with a getattr",
        .style = JP_PLOT_LEVELS}};

/* A bar per class of paths, by the busiest paths and by all paths. */
static int classes_build(const struct jp_chart_view *view,
                         struct jp_chart_figures *f)
{
    const struct jp_copper *c = feature_data_of(view->features, COPPER_FEATURE);
    uint64_t top = 0, all = 0;

    for (size_t i = 0; c && i < JP_COPPER_N_CLASSES; i++) {
        top += c->classes[i].top_events;
        all += c->classes[i].events;
    }
    for (size_t i = 0; c && i < JP_COPPER_N_CLASSES; i++) {
        const struct jp_copper_class_sum *s = &c->classes[i];

        if (s->top_rows || s->paths)
            chart_row(f, JP_CHART_PLOT,
                      (const struct jp_chart_value[]){
                          chart_text(copper_class_names[s->class]),
                          percent(s->top_events, top),
                          percent(s->events, all)});
    }
    return 0;
}

static const struct jp_chart_column classes_columns[] = {
    JP_CHART_COL(PLOT, "class"), JP_CHART_COL(PLOT, "top_percent"),
    JP_CHART_COL(PLOT, "full_percent")};

static const struct jp_chart chart_copper_classes = {
    .build = classes_build,
    JP_CHART_ROWS(classes_columns),
    .plot = &(const struct jp_chart_plot){
        .name = "copper_classes",
        .title = "Copper: events by class of path",
        .x = "percent",
        .nothing = "no paths were recorded",
        .style = JP_PLOT_PERCENTS,
        .bars = {"busiest paths of each rank", "all paths"}}};

/* One line per rank: its counter at each snapshot. */
static int series_build(const struct jp_chart_view *view,
                        struct jp_chart_figures *f)
{
    const struct jp_copper *c = feature_data_of(view->features, COPPER_FEATURE);
    int64_t first, last;
    bool in_page;

    if (!c || c->n_points < 2 || c->times_lost) {
        f->why = c && c->times_lost
                     ? "the files were copied without their times"
                     : "fewer than two snapshots";
        return 0;
    }
    /* points are sorted by rank, so the first in time may be anywhere */
    first = last = c->points[0].time_us;
    for (size_t i = 0; i < c->n_points; i++) {
        first = c->points[i].time_us < first ? c->points[i].time_us : first;
        last = c->points[i].time_us > last ? c->points[i].time_us : last;
    }
    /* the snapshots final and pre-destroy are seconds apart; alone they are no
     * series */
    in_page = c->n_points >= 3 * c->n_ranks && last > first;
    for (size_t i = 0; i < c->n_points && i < MAX_POINTS; i++) {
        const struct jp_copper_point *p = &c->points[i];

        /* a line per daemon: points are sorted by rank */
        if (!i || p->rank != p[-1].rank)
            chart_line(f, c->ranks[p->rank].host, NULL);
        chart_row(f, in_page && i < MAX_PAGE ? JP_CHART_BOTH : JP_CHART_PLOT,
                  (const struct jp_chart_value[]){
                      chart_real((double) (p->time_us - first)),
                      chart_count(p->value[COPPER_OPERATIONS]),
                      chart_count(p->value[COPPER_LATENCY_US]),
                      chart_count(p->rank)});
    }
    return 0;
}

static const struct jp_chart_column series_columns[] = {
    JP_CHART_COL_IN(BOTH, "seconds", 1e6), JP_CHART_COL(BOTH, "operations"),
    JP_CHART_COL_IN(PLOT, "latency_s", 1e6), JP_CHART_COL(PLOT, "rank")};

/* {series: [{host, points: [us, operations, ...]}]} */
const struct jp_chart chart_copper_series = {
    .name = "snapshots",
    .caption = "Operations of each rank so far, at each snapshot",
    .labels = {"host"},
    .build = series_build,
    JP_CHART_ROWS(series_columns),
    .plot = &(const struct jp_chart_plot){
        .name = "copper_series",
        .title = "Copper: counted operations at each snapshot",
        .x = "seconds since the first snapshot",
        .y = "operations of a rank so far",
        .nothing = "fewer than two snapshots",
        .style = JP_PLOT_SNAPSHOTS}};

const struct jp_chart *const copper_charts[] = {
    &chart_copper_ops, &chart_copper_ranks, &chart_copper_classes,
    &chart_copper_series, NULL};
