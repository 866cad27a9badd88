/* util_feature.c - samples of utilisation as a feature of reports: reads them,
 * and names their part of each file. */
#include "orchestrator/util/util_feature.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/json_stream.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/sections.h"
#include "orchestrator/report/summary_file.h"
#include "orchestrator/report/tables.h"

/* --- data ----------------------------------------------------------------- */

static void destroy(void *data)
{
    struct util_data *d = data;

    if (!d)
        return;
    util_destroy(d->util);
    samples_fini(&d->samples);
    free(d);
}

static int read_nodes(const char *dir, const struct jp_nodes *nodes,
                      void **data, struct jp_error *err)
{
    struct util_data *d = calloc(1, sizeof(*d));

    if (!d)
        return error_set(err, "out of memory");
    if (util_load(dir, nodes, &d->util, err) < 0) {
        destroy(d);
        return -1;
    }
    if (!d->util) {
        destroy(d);
        return 0;
    }
    /* without the course, the sums are still shown */
    (void) samples_load(&d->samples, dir, nodes, d->util, &d->over_time);
    *data = d;
    return 0;
}

static void
put_notes(const void *data,
          void (*note)(void *arg, const char *path, const char *why), void *arg)
{
    const struct util_data *d = data;

    if (*d->util->trouble)
        note(arg, "utilisation", d->util->trouble);
    if (*d->over_time.text)
        note(arg, "no utilisation over time", d->over_time.text);
}

/* The site's util.default. */
static bool is_wanted_of_all(const struct jp_jobconf *conf)
{
    const char *request = conf->sides[OPTION_UTIL].request;

    return request && *request && strcmp(request, "off") != 0;
}

/* --- verdict -------------------------------------------------------------- */

/* Returns the largest number of samples of any series. */
static uint64_t samples_of_any(const struct jp_util *util)
{
    uint64_t most = 0;

    for (size_t i = 0; util && i < util->n_rows; i++)
        if (util->rows[i].samples > most)
            most = util->rows[i].samples;
    return most;
}

static void put_figures(const void *data, const struct verdict_input *in,
                        struct feature_figures *figures)
{
    const struct util_data *d = data;
    const struct jp_util *util = d ? d->util : NULL;

    figures->noun = "utilisation";
    figures->of = "samples of utilisation";
    figures->asked = in->conf && in->conf->policy.period_ms > 0;
    figures->there = samples_of_any(util) > 0;
    figures->trouble = util && *util->trouble ? util->trouble : NULL;
    if (util && (util->bad_files || util->cut_files))
        snprintf(figures->gaps, sizeof(figures->gaps),
                 "%s of %s files of samples are not whole",
                 FIG_COUNT(util->bad_files + util->cut_files),
                 FIG_COUNT(util->files));
}

/* --- tables --------------------------------------------------------------- */

static size_t count_util(const struct jp_report *report)
{
    return util_of(report) ? util_of(report)->n_rows : 0;
}

static void find_util(struct jp_row *row)
{
    row->at = &util_of(row->report)->rows[row->index];
}

/* Counts the rows for all members together, which come first and have no node.
 */
static size_t count_util_totals(const struct jp_report *report)
{
    size_t n = 0;

    /* the first row of a node ends them */
    while (n < count_util(report) && !*util_of(report)->rows[n].node)
        n++;
    return n;
}

JP_GETTER(util_scope, jp_util_row, value_text(v, util_scope_name(at->scope)))
JP_GETTER(util_node, jp_util_row, value_name(v, at->node))
JP_GETTER(util_id, jp_util_row, value_name(v, at->id))
JP_GETTER(util_metric, jp_util_row, value_text(v, at->column->name))
JP_GETTER(util_unit, jp_util_row,
          value_text(v, util_unit_name(at->column->unit)))
JP_GETTER(util_help, jp_util_row, value_text(v, at->column->help))
JP_GETTER(util_mean, jp_util_row, value_measure(v, at->column->unit, at->mean))
JP_GETTER(util_p50, jp_util_row, value_measure(v, at->column->unit, at->p50))
JP_GETTER(util_p95, jp_util_row, value_measure(v, at->column->unit, at->p95))
JP_GETTER(util_min, jp_util_row, value_measure(v, at->column->unit, at->min))
JP_GETTER(util_max, jp_util_row, value_measure(v, at->column->unit, at->max))
JP_GETTER(util_imbalance, jp_util_row, value_finite(v, at->imbalance))

static const char *const scopes[] = {"step", "node", "task", "gpu", "port"};

#define FIELD(member) JP_FIELD(struct jp_util_row, member)
/* mean to max are in the unit of the row; the page has it with each figure */
static const struct jp_column series[] = {
    {"scope", JP_COL_WORD, JP_CSV, 1, 1, 1, "Of", "what was sampled",
     JP_WORDS(scopes), .get = get_util_scope},
    {"node", JP_COL_TEXT, JP_CSV | JP_MAYBE, 2,
     .help = "empty: all members together", .get = get_util_node},
    {"id", JP_COL_TEXT, JP_CSV | JP_MAYBE, 3,
     .help = "a task's rank, a GPU's bus id, a port", .get = get_util_id},
    {"metric", JP_COL_WORD, JP_CSV, 4, 2, 2, "Metric",
     "a column of the samples", .width = 18, .get = get_util_metric},
    {"unit", JP_COL_TEXT, JP_CSV, 5, 0, 3, "Unit", "of the figures behind it",
     .width = 6, .get = get_util_unit},
    {"members", JP_COL_COUNT, JP_CSV, 6, 4, 0, "Members",
     "nodes, tasks, GPUs or ports", FIELD(members)},
    {"samples", JP_COL_COUNT, JP_CSV, 7, 5, 0, "Samples", "of all members",
     FIELD(samples)},
    {"mean", JP_COL_NUMBER, JP_CSV, 8, 0, 4, "Mean", "of all samples",
     FIELD(mean)},
    {"p50", JP_COL_NUMBER, JP_CSV, 9, 0, 5, "Median",
     "of samples; of all members: of their means", FIELD(p50)},
    {"p95", JP_COL_NUMBER, JP_CSV, 10, 0, 6, "95 %",
     "95th percentile, likewise", FIELD(p95)},
    {"min", JP_COL_NUMBER, JP_CSV, 11, 0, 7, "Least", "sample", FIELD(min)},
    {"max", JP_COL_NUMBER, JP_CSV, 12, 0, 8, "Most", "sample", FIELD(max)},
    {"mean", JP_COL_FIGURE, 0, 0, 6, 0, "Mean", "of all samples",
     .get = get_util_mean},
    {"p50", JP_COL_FIGURE, 0, 0, 7, 0, "Median",
     "of samples; of all members: of their means", .get = get_util_p50},
    {"p95", JP_COL_FIGURE, 0, 0, 8, 0, "95 %", "95th percentile, likewise",
     .get = get_util_p95},
    {"min", JP_COL_FIGURE, 0, 0, 9, 0, "Least", "sample", .get = get_util_min},
    {"max", JP_COL_FIGURE, 0, 0, 10, 0, "Most", "sample", .get = get_util_max},
    {"imbalance", JP_COL_NUMBER, JP_CSV | JP_MAYBE | JP_TIP, 13, 11, 9,
     "Imbalance", "the largest mean of a member over the mean of all",
     .get = get_util_imbalance},
    {"first_us", JP_COL_CLOCK, JP_CSV, 14, .help = "first sample",
     FIELD(first_us)},
    {"last_us", JP_COL_CLOCK, JP_CSV, 15, .help = "last sample",
     FIELD(last_us)},
    {"help", JP_COL_PROSE, 0, 0, 12, 0, "What it is", "of the metric",
     .get = get_util_help},
};
#undef FIELD

static const struct jp_table table_util = {
    .name = "util",
    .json = "util.series",
    .help = "one row per metric of all nodes, tasks, GPUs or ports together, "
            "then one per metric of each",
    JP_COLUMNS(series),
    .count = count_util,
    .find = find_util,
    .max_json = 2000,
};

/* The rows for all members together, which readers see first. */
static const struct jp_table table_util_totals = {
    .name = "util",
    .help = "a row a metric of all nodes, tasks, GPUs or ports together",
    JP_COLUMNS(series),
    .count = count_util_totals,
    .find = find_util,
    .max_html = 200,
    .max_text = 60,
    .title = "Utilisation",
};

static const struct jp_table *const util_tables_list[] = {&table_util, NULL};

/* --- files of a report ---------------------------------------------------- */

/* Writes the cost of sampling. */
static void put_agents(struct jp_json_stream *s, const struct jp_report *report)
{
    const struct jp_agents *a = report->agents;
    char text[JP_AGENTS_TEXT], unwatched[UNWATCHED_TEXT];

    if (!a || !a->nodes)
        return;
    json_stream_object(s, "agents");
    json_stream_text(s, "text", agents_text(a, text, sizeof(text)));
    json_stream_count(s, "nodes", a->nodes);
    json_stream_count(s, "cpu_us", a->cpu_us);
    json_stream_count(s, "lived_us", a->lived_us);
    json_stream_count(s, "max_rss_bytes", a->max_rss);
    json_stream_count(s, "bytes", a->bytes);
    json_stream_count(s, "wakeups", a->wakeups);
    json_stream_count(s, "slowed_nodes", a->slowed);
    json_stream_count(s, "slowest_period_ms", a->slowest_ms);
    json_stream_count(s, "troubled_nodes", a->troubled);
    json_stream_text(s, "trouble", *a->trouble ? a->trouble : NULL);
    json_stream_text(s, "unwatched",
                     *unwatched_text(report, unwatched, sizeof(unwatched))
                         ? unwatched
                         : NULL);
    json_stream_end_object(s);
}

/* Writes what the nodes' agents sampled; {} without samples. */
static void put_json(struct jp_json_stream *s, const char *key,
                     const struct jp_report *report)
{
    const struct jp_util *util = util_of(report);
    char text[JP_UTIL_TEXT];
    size_t left_out;

    json_stream_object(s, key);
    if (util) {
        json_stream_text(s, "text", util_text(util, text, sizeof(text)));
        json_stream_count(s, "nodes", util->n_nodes);
        json_stream_count(s, "files", util->files);
        json_stream_count(s, "cut_files", util->cut_files);
        json_stream_count(s, "bad_files", util->bad_files);
        json_stream_count(s, "bad_lines", util->bad_lines);
        json_stream_text(s, "trouble", *util->trouble ? util->trouble : NULL);
        left_out = table_json(s, &table_util, report, NULL);
        /* rows beyond the limit of JSON, and rows that were never made */
        json_stream_count(s, "left_out", left_out + util->left_out);
        put_agents(s, report);
    }
    json_stream_end_object(s);
}

/* Writes what was sampled. */
static void put_lines(const struct jp_report *report, FILE *out)
{
    const struct jp_util *util = util_of(report);
    char text[JP_UTIL_TEXT];

    if (*util_text(util, text, sizeof(text))) {
        text_out_fact(out, "Utilisation", text);
    }
    /* name unreadable input: it explains figures that are too low */
    if (util->bad_files || util->cut_files || util->bad_lines)
        text_out_line(out,
                      "  note: utilisation: %s bad and %s cut files of %s, %s "
                      "bad lines",
                      FIG_COUNT(util->bad_files), FIG_COUNT(util->cut_files),
                      FIG_COUNT(util->files), FIG_COUNT(util->bad_lines));
}

static int put_text(const struct jp_report *report, FILE *out)
{
    return table_text(&table_util_totals, report, out);
}

/* The first clause of the sentence on utilisation: "GPUs 90 % busy". */
static bool put_figure(const struct jp_report *report, char *buf)
{
    char text[JP_UTIL_TEXT];

    if (!*util_text(util_of(report), text, sizeof(text)))
        return false;
    snprintf(buf, DRAWER_FIGURE, "%.*s", (int) strcspn(text, ";"), text);
    return true;
}

/* The section is the answer where there is no NCCL, or nothing of it. */
static bool is_answer(const struct jp_report *report)
{
    return !quality_has_nccl(report) ||
           report->verdict->word == JP_VERDICT_NODATA;
}

static const struct jp_html_section sections[] = {
    {.id = UTIL_FEATURE,
     .title = "Utilisation",
     .note = "Samples of nodes, of the step&#39;s tasks, GPUs and ports while "
             "it ran; csv/util.csv has each node, task, GPU and port. Figures "
             "of nodes and ports include other jobs.",
     .kind = JP_HTML_WIDE,
     .open = is_answer,
     .table = &table_util_totals,
     .charts = {"util", "util-time"},
     .figure = put_figure,
     .before = "operations",
     .order = 2},
    {.id = NULL},
};

/* --- the first screen, and the card --------------------------------------- */

/* One clause of the sentence on utilisation, by its first word: "CPU 0.3 of 8
 * cores" becomes "0.3", "of 8 cores". */
static bool put_clause(const struct jp_report *report, const char *first,
                       const char *label, struct first_screen_tile *t)
{
    char text[JP_UTIL_TEXT];
    const char *at;
    size_t n, word;

    if (!*util_text(util_of(report), text, sizeof(text)))
        return false;
    /* at the beginning of a clause: "GPU memory" is not "memory" */
    for (at = text; at && strncmp(at, first, strlen(first)) != 0;) {
        at = strstr(at, "; ");
        at = at ? at + 2 : NULL;
    }
    if (!at)
        return false;
    n = strcspn(at, ";");
    at += strlen(first);
    n -= strlen(first);
    word = strcspn(at, " ");
    /* a number and its unit */
    if (at[word] == ' ' && strncmp(at + word, " of ", 4) != 0)
        word += 1 + strcspn(at + word + 1, " ;");
    if (word > n)
        word = n;
    t->label = label;
    SAY(t->value, "%.*s", (int) (word < 60 ? word : 60), at);
    if (n > word)
        SAY(t->note, "%.*s", (int) (n - word - 1), at + word + 1);
    return true;
}

/* What was sampled: processors, GPUs, memory. The last tile is left to what
 * limits the job, or to the clocks. */
static size_t put_tiles(const struct jp_report *report,
                        struct first_screen_tile *tiles, size_t room)
{
    static const struct {
        const char *first, *label;
    } clauses[] = {{"CPU ", "Processors"},
                   {"GPUs ", "GPUs"},
                   {"GPU memory ", "GPU memory"},
                   {"memory ", "Memory"}};
    size_t n = 0;

    for (size_t i = 0; i < sizeof(clauses) / sizeof(*clauses) && n + 1 < room;
         i++)
        n += put_clause(report, clauses[i].first, clauses[i].label, &tiles[n]);
    return n;
}

/* Prints how busy nodes and GPUs were. */
static void put_card(const struct summary_file *summary, unsigned columns,
                     FILE *out)
{
    char text[JP_UTIL_TEXT];

    clean_text(summary->samples.text, JP_CLEAN_ASCII, text, sizeof(text));
    if (*text)
        text_out_clauses(out, columns, "used", text);
}

/* --- the job -------------------------------------------------------------- */

/* The metrics whose maximum a job's page shows, in its order. */
static const struct {
    enum jp_util_scope scope;
    enum util_kind kind;
    unsigned column;
} kept[] = {
    {JP_UTIL_GPU, UTIL_GPU, GPU_SM},
    {JP_UTIL_GPU, UTIL_GPU, GPU_MEMORY_BUSY},
    {JP_UTIL_GPU, UTIL_GPU, GPU_MEMORY_USED},
    {JP_UTIL_GPU, UTIL_GPU, GPU_PCIE_IN},
    {JP_UTIL_GPU, UTIL_GPU, GPU_PCIE_OUT},
    {JP_UTIL_GPU, UTIL_GPU, GPU_POWER},
    {JP_UTIL_GPU, UTIL_GPU, GPU_TEMPERATURE},
    {JP_UTIL_STEP, UTIL_TASK, TASK_USER},
    {JP_UTIL_STEP, UTIL_TASK, TASK_SYSTEM},
    {JP_UTIL_STEP, UTIL_TASK, TASK_MEMORY},
    {JP_UTIL_STEP, UTIL_TASK, TASK_READ},
    {JP_UTIL_STEP, UTIL_TASK, TASK_WRITE},
    {JP_UTIL_NODE, UTIL_NODE, NODE_BUSY},
    {JP_UTIL_NODE, UTIL_NODE, NODE_MEMORY_USED},
    {JP_UTIL_NODE, UTIL_NODE, NODE_NET_IN},
    {JP_UTIL_NODE, UTIL_NODE, NODE_NET_OUT},
    {JP_UTIL_NODE, UTIL_NODE, NODE_DISK_READ},
    {JP_UTIL_NODE, UTIL_NODE, NODE_DISK_WRITE},
    {JP_UTIL_PORT, UTIL_PORT, PORT_IN},
    {JP_UTIL_PORT, UTIL_PORT, PORT_OUT},
};

/* Returns the description of the i-th kept metric. */
static const struct util_column *kept_column(size_t i)
{
    return &util_tables[kept[i].kind].columns[kept[i].column];
}

static bool find_kept(size_t i, struct feature_kept *out)
{
    if (i >= sizeof(kept) / sizeof(*kept))
        return false;
    *out = (struct feature_kept){
        util_scope_name(kept[i].scope), kept_column(i)->name,
        util_unit_name(kept_column(i)->unit), kept_column(i)->help};
    return true;
}

static char *kept_figure(size_t i, double value, char *buf)
{
    return util_figure(kept_column(i)->unit, value, buf);
}

/* --- the feature ---------------------------------------------------------- */

const struct feature feature_util = {
    .name = UTIL_FEATURE,
    .title = "utilisation",
    .role = FEATURE_FIGURES,
    .samples = true,
    .usual = "The samples of utilisation show nothing unusual there.",
    .unsampled = "Utilisation was not sampled. --util-profile would show what "
                 "happens at the same time.",
    .offer = "--util-profile samples CPU, GPU and network",
    .kept = find_kept,
    .kept_figure = kept_figure,
    .read_nodes = read_nodes,
    .notes = put_notes,
    .destroy = destroy,
    .wanted_of_all = is_wanted_of_all,
    .figures = put_figures,
    .tables = util_tables_list,
    .charts = util_charts,
    .json = put_json,
    .lines = put_lines,
    .text = put_text,
    .sections = sections,
    .further_tiles = put_tiles,
    .card = put_card,
};
