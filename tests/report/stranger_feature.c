/* stranger_feature.c - the smallest whole feature: one file in raw/, a table, a
 * section of the page, a metric, a limit, a finding with its sentence, and a
 * reason of a verdict. stranger.test links it into jobprof by the two lines of
 * registry.c that docs/dev/internals.md names. Copy it to begin a feature.
 *
 * The file is power.csv: "host,watts" and one line a node.
 */
#include "orchestrator/feature/feature.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "common/json_stream.h"
#include "common/num.h"
#include "common/vector.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/verdict.h"
#include "orchestrator/metrics/metrics.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/report.h"
#include "orchestrator/report/sections.h"
#include "orchestrator/report/tables.h"

#define POWER_FEATURE "power"   /* its name */
enum { POWER_BYTES = 1 << 20 }; /* a larger file is none of ours */

struct power_node {
    char host[65];
    uint64_t watts;
};

/* The feature's data; only this file knows what is in it. */
struct power {
    struct power_node *nodes;
    size_t n;
    uint64_t bad_lines;
};

/* --- data ----------------------------------------------------------------- */

static void destroy_power(void *data)
{
    struct power *power = data;

    if (power)
        free(power->nodes);
    free(power);
}

/* Adds the node of a line, or counts the line as bad. -1: no memory. */
static int add_line(struct power *power, char *line)
{
    struct power_node *node;
    char *comma = strchr(line, ',');
    uint64_t watts;

    if (!comma || comma == line ||
        (size_t) (comma - line) >= sizeof(node->host) ||
        num_parse_u64(comma + 1, 0, 1000000, &watts, NULL) < 0) {
        power->bad_lines++;
        return 0;
    }
    node = VECTOR_DOUBLE_ADD(power->nodes, power->n);
    if (!node)
        return -1;
    *comma = '\0';
    snprintf(node->host, sizeof(node->host), "%s", line);
    node->watts = watts;
    return 0;
}

/* Reads one file. A missing one is no error: then there is no data. A file that
 * may be large is read by common/lines.h, in bounded memory and time. */
static int read_file(const char *path, struct power **out, struct jp_error *err)
{
    struct power *power;
    char *text, *rest, *line;
    int rc = 0;

    if (fileio_read(path, false, POWER_BYTES, &text, NULL, NULL) < 0)
        return 0;
    power = calloc(1, sizeof(*power));
    rest = text;
    strsep(&rest, "\n"); /* the headings */
    while (power && rc == 0 && (line = strsep(&rest, "\n")))
        if (*line)
            rc = add_line(power, line);
    free(text);
    if (power && rc == 0) {
        *out = power;
        return 0;
    }
    destroy_power(power);
    return error_set(err, "out of memory");
}

/* Reads the first of the inputs' files. */
static int read_power(const struct feature_input *in, void **data,
                      struct jp_error *err)
{
    struct power *power = NULL;

    for (size_t i = 0; i < in->n && !power; i++) {
        char *path = text_format("%s/power.csv", in->inputs[i]);
        int rc = path ? read_file(path, &power, err)
                      : error_set(err, "out of memory");

        free(path);
        if (rc < 0)
            return -1;
    }
    *data = power;
    return 0;
}

static const struct power *power_of(const struct jp_report *report)
{
    return feature_data_of(report->features, POWER_FEATURE);
}

/* --- the finding, its limit and the verdict ------------------------------- */

enum { LIMIT_LOW, N_LIMITS };
static const struct jp_limit limits[N_LIMITS + 1] = {
    [LIMIT_LOW] = {"power_low", 0.8, JP_LIMIT_IS_SHARE,
                   "low_power where a node takes less than {} of the median",
                   "nodes of one kind differ by a few percent"},
};

enum { REASON_BAD, N_REASONS };
static const struct jp_reason_row reasons[N_REASONS + 1] = {
    [REASON_BAD] = {JP_REASON_OF("power_bad", INCOMPLETE),
                    .situation = "lines about power cannot be read",
                    .checks = {"Who wrote power.csv?"}},
};

static int by_watts(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Returns the node with the least power if that is unusually low, else NULL;
 * text says so. Fewer than three nodes do not show what is usual. */
static const struct power_node *find_low(const struct power *power,
                                         char text[200])
{
    const struct power_node *low = power->n > 2 ? power->nodes : NULL;
    uint64_t *watts = low ? calloc(power->n, sizeof(*watts)) : NULL, median;

    if (!watts)
        return NULL;
    for (size_t i = 0; i < power->n; i++) {
        watts[i] = power->nodes[i].watts;
        if (watts[i] < low->watts)
            low = &power->nodes[i];
    }
    qsort(watts, power->n, sizeof(*watts), by_watts);
    median = watts[power->n / 2];
    free(watts);
    if ((double) low->watts >= limits[LIMIT_LOW].value * (double) median)
        return NULL;
    snprintf(text, 200, "%s takes %s W, the median node %s W", low->host,
             FIG_COUNT(low->watts), FIG_COUNT(median));
    return low;
}

static void judge_power(const void *data, const struct verdict_input *in,
                        bool alone, struct jp_verdict *verdict)
{
    const struct power *power = data;
    char text[200];

    (void) in;
    (void) alone;
    if (power && find_low(power, text)) /* OK: a finding, and no fault */
        verdict_worsen(verdict, JP_VERDICT_OK, text, NULL);
    if (!power || !power->bad_lines)
        return;
    snprintf(text, sizeof(text), "power.csv has %s bad line%s",
             FIG_COUNT(power->bad_lines), plural(power->bad_lines));
    verdict_worsen(verdict, JP_VERDICT_INCOMPLETE, text, &reasons[REASON_BAD]);
}

static const char *const finding_kinds[] = {"low_power", NULL};

/* A row of findings[] in summary.json. */
static void put_finding(struct jp_json_stream *s,
                        const struct jp_report *report)
{
    char text[200];
    const struct power_node *low = find_low(power_of(report), text);

    if (!low)
        return;
    json_stream_object(s, NULL);
    tables_finding(s, &(struct tables_finding){
                          .kind = "low_power",
                          .host = low->host,
                          .text = text,
                          .next = "compare its power limits with the others'"});
    json_stream_end_object(s);
}

/* --- the table ------------------------------------------------------------ */

static size_t count_nodes(const struct jp_report *report)
{
    return power_of(report) ? power_of(report)->n : 0;
}

static void find_node(struct jp_row *row)
{
    row->at = &power_of(row->report)->nodes[row->index];
}

JP_GETTER(power_host, power_node, value_text(v, at->host))

/* Places in summary.json, on the page and in summary.txt; heading and help. A
 * column in CSV may be a label or a metric for Prometheus, too. */
static const struct jp_column columns[] = {
    {"host", JP_COL_TEXT, JP_CSV, 1, 1, 1, "Node", "its name",
     .get = get_power_host, .label = "node"},
    {"watts", JP_COL_COUNT, JP_CSV, 2, 2, 2, "Power, W",
     "of the whole node, on average", JP_FIELD(struct power_node, watts),
     METRICS_OF("jobprof_power_watts", METRICS_GAUGE, "watts", METRICS_REPORT,
                "Power of the whole node, on average.")},
};

static const struct jp_table table_power = {
    .name = "power",
    .json = POWER_FEATURE ".nodes",
    .help = "one row per node: its power",
    JP_COLUMNS(columns),
    .count = count_nodes,
    .find = find_node,
    .max_json = 10000,
    .max_html = 100,
    .max_text = 10,
    .title = "Power of the nodes",
};
static const struct jp_table *const tables_power[] = {&table_power, NULL};

/* --- files of a report ---------------------------------------------------- */

static void put_json(struct jp_json_stream *s, const char *key,
                     const struct jp_report *report)
{
    json_stream_object(s, key);
    if (power_of(report)) { /* {} without data */
        json_stream_count(s, "bad_lines", power_of(report)->bad_lines);
        tables_json(s, tables_power, report, 0);
    }
    json_stream_end_object(s);
}

static int put_text(const struct jp_report *report, FILE *out)
{
    return tables_text(tables_power, report, out);
}

static const struct jp_html_section sections[] = {
    {.id = POWER_FEATURE,
     .title = "Power of the nodes",
     .table = &table_power,
     .before = "operations"},
    {.id = NULL},
};

const struct feature feature_power = {
    .name = POWER_FEATURE,
    .title = "power",
    .role = FEATURE_FIGURES,
    .read = read_power,
    .destroy = destroy_power,
    .judge = judge_power,
    .limits = limits,
    .reasons = reasons,
    .tables = tables_power,
    .json = put_json,
    .findings = put_finding,
    .finding_kinds = finding_kinds,
    .text = put_text,
    .sections = sections,
};
