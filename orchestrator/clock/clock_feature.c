/* clock_feature.c - the nodes' clocks as a feature of reports: the tables, and
 * their part of each file.
 *
 * The clocks are compared with the operations (aggregate/clocks.h), so this
 * feature reads nothing itself. It has data if clocks of several nodes were
 * compared. */
#include "orchestrator/clock/clock_feature.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "orchestrator/aggregate/clocks.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/identity/processes.h"
#include "orchestrator/insight/verdict.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/report.h"
#include "orchestrator/report/sections.h"
#include "orchestrator/report/summary_file.h"
#include "orchestrator/report/tables.h"
#include "plugins/clock/clock_launch.h"
#include "plugins/clock/clock_read.h"

/* Returns the clocks, or NULL if there are fewer than two. */
static const struct jp_clocks *clocks_of(const struct jp_report *report)
{
    const struct jp_clocks *c = report->result ? report->result->clocks : NULL;

    return c && c->map.n_nodes > 1 ? c : NULL;
}

/* A single clock needs no table. */
static size_t count_clocks(const struct jp_report *report)
{
    const struct jp_clocks *c = clocks_of(report);

    return c ? c->map.n_nodes : 0;
}

static void find_clock(struct jp_row *row)
{
    row->at = &row->report->result->clocks->nodes[row->index];
}

/* of a node that could not be aligned: unknown */
JP_GETTER(clock_offset, jp_clock,
          value_finite(v, at->aligned ? at->offset_us : NAN))
JP_GETTER(clock_drift, jp_clock,
          value_finite(v, at->aligned ? at->drift_ppm : NAN))
JP_GETTER(clock_unc, jp_clock, value_finite(v, at->aligned ? at->unc_us : NAN))

/* The clock farthest from the reference comes first. */
static double distance(const struct jp_result *result, size_t row)
{
    return fabs(result->clocks->nodes[row].offset_us);
}

#define FIELD(member) JP_FIELD(struct jp_clock, member)
/* the reference has offset 0 */
static const struct jp_column clock_columns[] = {
    {"host", JP_COL_TEXT, JP_CSV, 1, 1, 1, "Node", "node with this clock",
     FIELD(host)},
    {"reference", JP_COL_BOOL, JP_CSV, 2, 2, .title = "Reference",
     .help = "this is the reference clock of the other nodes",
     FIELD(reference)},
    {"aligned", JP_COL_BOOL, JP_CSV | JP_TIP, 3, 3, 2, "Aligned",
     "probes of other nodes, or operations with them, connect it to the "
     "reference",
     FIELD(aligned)},
    {"offset_us", JP_COL_NUMBER, JP_CSV | JP_MAYBE, 4, 4, 3, "Ahead, us",
     "lead over the reference in the middle of the run; negative: it lags",
     .get = get_clock_offset},
    {"drift_ppm", JP_COL_NUMBER, JP_CSV | JP_MAYBE, 5, 5, 4, "Drift, ppm",
     "relative speed: microseconds gained per second", .get = get_clock_drift},
    {"uncertainty_us", JP_COL_NUMBER, JP_CSV | JP_MAYBE | JP_TIP, 6, 6, 5,
     "Uncertainty, us",
     "possible error of this node's times after the correction: the largest "
     "value of the run",
     .brief = "within", .get = get_clock_unc},
};
#undef FIELD

static const struct jp_table table_clock = {
    .name = "clock",
    .json = "clock.nodes",
    .help = "one row per node, if the step ran on several",
    JP_COLUMNS(clock_columns),
    .count = count_clocks,
    .find = find_clock,
    .weight = distance,
    .by_weight = true,
    .max_json = 4096,
    .max_html = 100,
    .max_text = 8,
    .title = "Clocks of the nodes",
};

/* --- the processes that arrived last, by starts and by times --- */

/* No rows unless the clocks of several nodes could be compared. */
static size_t count_arrivals(const struct jp_report *report)
{
    const struct jp_clocks *c = clocks_of(report);

    return c ? c->n_arrivals : 0;
}

static void find_arrival(struct jp_row *row)
{
    row->at = &row->report->result->clocks->arrivals[row->index];
}

JP_GETTER(arrival_late, clocks_arrival,
          value_real(v, (double) at->late_ns / 1000))

/* Returns the rank of the row's process in the job; -1 if it has none. */
static int64_t rank_of(const struct jp_row *row)
{
    const struct clocks_arrival *a = row->at;
    const struct jp_process *p =
        row->report->processes ? processes_find(row->report->processes, a->host,
                                                a->pid, a->instance)
                               : NULL;

    return p ? p->world_rank : -1;
}

static void get_arrival_rank(const struct jp_row *row, struct jp_value *v)
{
    value_signed(v, rank_of(row));
}

/* The process that was latest over all operations comes first. */
static double lateness(const struct jp_result *result, size_t row)
{
    return (double) result->clocks->arrivals[row].late_ns;
}

#define FIELD(member) JP_FIELD(struct clocks_arrival, member)
/* two independent signs of being last: the latest start and the shortest time
 */
static const struct jp_column arrival_columns[] = {
    {"world_rank", JP_COL_RANK, JP_CSV | JP_MAYBE, 1, 1,
     .help = "rank of the job, as processes[] has it", .get = get_arrival_rank},
    {"host", JP_COL_TEXT, JP_CSV, 2, 2, .help = "of the process", FIELD(host)},
    {"pid", JP_COL_PID, JP_CSV, 3, 3, .help = "process id", FIELD(pid)},
    {"operations", JP_COL_COUNT, JP_CSV, 4, 4,
     .help = "operations of ranks on several nodes, with all records",
     FIELD(operations)},
    {"last_by_start", JP_COL_COUNT, JP_CSV, 5, 5,
     .help = "of them, operations that it began last, by more than three "
             "times the uncertainty of the clocks",
     FIELD(last)},
    {"last_by_time", JP_COL_COUNT, JP_CSV, 6, 6,
     .help = "of them, operations in which its time was the shortest, by more "
             "than the resolution of the time stamps: the last rank to arrive "
             "waits least",
     FIELD(quick)},
    {"last_by_both", JP_COL_COUNT, JP_CSV, 7, 7,
     .help = "of them, operations in which it was last by its start and by "
             "its time",
     FIELD(both)},
    {"late_us", JP_COL_NUMBER, JP_CSV, 8, 8,
     .help = "delay after the previous rank's start, summed over "
             "last_by_start",
     .get = get_arrival_late},
};
#undef FIELD

static const struct jp_table table_arrivals = {
    .name = "arrivals",
    .json = "clock.arrivals",
    .help = "one row per process, if clocks of several nodes could be compared",
    JP_COLUMNS(arrival_columns),
    .count = count_arrivals,
    .find = find_arrival,
    .weight = lateness,
    .by_weight = true,
    .max_json = 4096,
};

/* Writes how often an order that must hold was violated: no rank leaves a
 * barrier-like operation before the last one enters it. */
static void put_check(struct jp_json_stream *s, const char *name,
                      const struct clocks_check *check)
{
    json_stream_object(s, name);
    json_stream_count(s, "operations", check->operations);
    json_stream_count(s, "violations", check->violations);
    json_stream_real(s, "worst_us", (double) check->worst_ns / 1000);
    json_stream_end_object(s);
}

/* Writes the probes between nodes and, if both methods gave a result, how far
 * they are apart. */
static void put_probes(struct jp_json_stream *s, const struct jp_clocks *c)
{
    const struct clocks_probes *p = &c->probes;

    json_stream_object(s, "probes");
    json_stream_count(s, "files", p->files);
    json_stream_count(s, "bad_files", p->bad_files);
    json_stream_count(s, "windows", p->windows);
    json_stream_count(s, "bad_windows", p->bad_windows);
    json_stream_count(s, "exchanges", p->exchanges);
    json_stream_count(s, "failures", p->failures);
    json_stream_count(s, "wanted_cadence_us", p->wanted_us);
    json_stream_count(s, "cadence_us", p->cadence_us);
    json_stream_count(s, "cpu_permille", p->cpu_permille);
    json_stream_count(s, "nodes", p->nodes);
    json_stream_bool(s, "used", p->used);
    json_stream_bool(s, "by_xla", p->by_xla);
    json_stream_end_object(s);
    /* the collectives gave no clocks to compare with */
    if (!p->check.done)
        return;
    json_stream_object(s, "probes_and_collectives");
    json_stream_count(s, "compared", p->check.compared);
    json_stream_count(s, "apart", p->check.apart);
    json_stream_text(s, "host", c->nodes[p->check.worst].host);
    json_stream_real(s, "apart_us", p->check.apart_us);
    json_stream_real(s, "allowed_us", p->check.allowed_us);
    json_stream_end_object(s);
}

static void put_json(struct jp_json_stream *s, const char *key,
                     const struct jp_report *report)
{
    const struct jp_clocks *c = clocks_of(report);
    char text[CLOCKS_TEXT];

    json_stream_object(s, key);
    if (c) {
        /* {} without clocks to compare */
        json_stream_text(s, "method", clockmap_method_name(c->map.method));
        json_stream_text(s, "text", clocks_text(c, text));
        if (c->probes.files || c->probes.bad_files)
            put_probes(s, c);
        /* before and after the correction, so that its effect can be seen */
        put_check(s, "as_recorded", &c->before);
        put_check(s, "aligned", &c->after);
        json_stream_count(s, "left_out", c->before.left_out);
        json_stream_object(s, "last_by_start_and_time");
        json_stream_count(s, "operations", c->compared);
        json_stream_count(s, "disagreed", c->disagreed);
        json_stream_end_object(s);
        table_json(s, &table_clock, report, NULL);
        table_json(s, &table_arrivals, report, NULL);
    }
    json_stream_end_object(s);
}

/* Writes whether times of different nodes are comparable. */
static void put_lines(const struct jp_report *report, FILE *out)
{
    char text[CLOCKS_TEXT];

    text_out_fact(out, "Clocks", clocks_text(report->result->clocks, text));
}

static int put_text(const struct jp_report *report, FILE *out)
{
    return table_text(&table_clock, report, out);
}

/* "3 nodes" */
static bool put_figure(const struct jp_report *report, char *buf)
{
    size_t n = count_clocks(report);

    snprintf(buf, DRAWER_FIGURE, "%s node%s", FIG_COUNT(n), plural(n));
    return n > 0;
}

static bool is_present(const struct jp_report *report)
{
    return clocks_of(report) != NULL;
}

/* The section is the answer where nothing was profiled. */
static bool is_answer(const struct jp_report *report)
{
    return !quality_has_nccl(report) && !feature_first(report->features);
}

static size_t put_tiles(const struct jp_report *report,
                        struct first_screen_tile *tiles, size_t room)
{
    char figure[DRAWER_FIGURE];

    if (!room || !put_figure(report, figure))
        return 0;
    tiles->label = "Clocks compared";
    SAY(tiles->value, "%.60s", figure);
    return 1;
}

static const struct jp_html_section sections[] = {
    {.id = "clocks",
     .title = "Clocks",
     .note = "How far the nodes&#39; clocks are apart: by probes between the "
             "nodes, or else by the collectives: no rank leaves an AllReduce "
             "before all ranks have entered it. Times in the tables and charts "
             "above are on the clock of the reference.",
     .kind = JP_HTML_WIDE,
     .open = is_answer,
     .table = &table_clock,
     .figure = put_figure,
     .before = "operations",
     .order = 4},
    {.id = NULL},
};

/* --- verdict -------------------------------------------------------------- */

/* Whether a node has left probes of clocks. */
static bool has_probes(const struct verdict_input *in)
{
    bool found = false;

    for (size_t i = 0; in->nodes && !found && i < in->nodes->n_nodes; i++) {
        char *path =
            text_format("nodes/%s/clock.jsonl", in->nodes->nodes[i].name);

        found = path && stepdir_has(in->step_dir, path);
        free(path);
    }
    return found;
}

static void put_figures(const void *data, const struct verdict_input *in,
                        struct feature_figures *figures)
{
    (void) data;
    figures->noun = "clocks";
    figures->of = "probes of clocks";
    figures->asked = in->conf &&
                     in->conf->sides[OPTION_CLOCK].numbers[CLOCK_CADENCE_US];
    figures->there = figures->asked && has_probes(in);
}

/* --- the card ------------------------------------------------------------- */

/* What summary.json has of the clocks. */
struct reported {
    struct {
        const char *clock_request;
    } job;
    struct {
        const char *text;
        struct {
            uint64_t windows;
        } probes;
    } clock;
};
static const struct json_field reported_fields[] = {
    JSON_FIELD(struct reported, job.clock_request),
    JSON_FIELD(struct reported, clock.text),
    JSON_FIELD(struct reported, clock.probes.windows),
};
static const struct json_fields reported_read =
    JSON_FIELDS(struct reported, reported_fields);

/* Prints how far the nodes' clocks are apart, of a step that asked for this
 * alone. */
static void put_card(const struct summary_file *summary, unsigned columns,
                     FILE *out)
{
    char text[CLOCKS_TEXT], *end;
    struct reported r;

    summary_file_own(summary, &reported_read, &r);
    if (!summary_file_without_nccl(summary) ||
        !strcmp(r.job.clock_request, "off"))
        return;
    clean_text(r.clock.text, JP_CLEAN_ASCII, text, sizeof(text));
    if (!*text)
        return;
    /* the first sentence is the answer */
    end = strstr(text, ". ");
    if (end)
        end[1] = '\0';
    fputs("  clocks   ", out);
    text_out_wrap_fit(out, columns, 11, 11, text);
}

static const char *find_missing(const struct summary_file *summary)
{
    struct reported r;
    bool several = summary->job.nodes > 1 && summary->job.nodes != JSON_UNKNOWN;
    bool none;

    summary_file_own(summary, &reported_read, &r);
    none = !r.clock.probes.windows || r.clock.probes.windows == JSON_UNKNOWN;
    return *r.job.clock_request && strcmp(r.job.clock_request, "off") != 0 &&
                   several && none
               ? "--clock-profile left no probes: log.txt of the step says why"
               : NULL;
}

/* --- the feature ---------------------------------------------------------- */

static const struct jp_table *const clock_tables[] = {&table_clock,
                                                      &table_arrivals, NULL};

static const char *const own_files[] = {CLOCK_FILE, NULL};

const struct feature feature_clock = {
    .name = "clock",
    .title = "clocks",
    .role = FEATURE_FIGURES,
    .present = is_present,
    .own_files = own_files,
    .figures = put_figures,
    .tables = clock_tables,
    .json = put_json,
    .lines = put_lines,
    .text = put_text,
    .sections = sections,
    .further_tiles = put_tiles,
    .card = put_card,
    .missing = find_missing,
    .show_nodes = clock_show,
    .shows_nothing = "no agent wrote nodes/*/clock.jsonl in this directory",
    .shows_no_row = "the agents' files have no window of two nodes",
};
