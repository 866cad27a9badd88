/* metrics.c - the table of metrics, and the output of sets as text.
 *
 * Adding a metric is one row here and one constant in metrics.h. A set is an
 * array of objects with a hash table over their labels (metrics_add_texts);
 * metrics_write prints it metric by metric, as both formats require. */
#include "orchestrator/metrics/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/utf8.h"
#include "common/vector.h"

#define STEP "jobid", "step", "node" /* labels of every metric of ours */
/* Inspector's labels in its order, then our labels step and rank. */
#define INSPECTOR(what)                                                        \
    "version", "slurm_job_id", "node", "gpu", "comm_name", "n_nodes",          \
        "nranks", what, "message_size"

const struct metrics_scope_row metrics_scopes[METRICS_N_SCOPES] = {
    [METRICS_STEP] = {"a step, as measured by a node",
                      {STEP, "user", "account", "partition"}},
    [METRICS_VERDICT] = {"a step's verdict", {STEP, "verdict"}},
    [METRICS_FINDING] = {"a kind of findings", {STEP, "kind"}},
    [METRICS_NODE] = {"a node of a step", {STEP}},
    [METRICS_STATE] = {"a state of a node's ranks", {STEP, "state"}},
    [METRICS_RANK] = {"a rank", {STEP, "rank"}},
    /* Inspector's metrics keep Inspector's labels, so that its dashboards work.
     */
    [METRICS_COLL] = {"a rank's collectives of one size",
                      {INSPECTOR("collective"), "algo_proto", "step", "rank"}},
    [METRICS_P2P] = {"a rank's Send or Recv of one size",
                     {INSPECTOR("p2p_operation"), "step", "rank"}},
    [METRICS_HISTORY_STEP] = {"steps of a verdict and an account",
                              {"verdict", "account"}},
    [METRICS_HISTORY_FINDING] = {"findings of a kind and a node",
                                 {"kind", "node"}},
    [METRICS_HISTORY_NODE] = {"a node over all steps", {"node"}},
    [METRICS_HISTORY_ACCOUNT] = {"an account", {"account"}},
    [METRICS_COLLECTOR] = {"the collector", {NULL}},
    [METRICS_LEFT_OUT] = {"what was left out of a user", {"user", "why"}},
};

#define LIVE METRICS_RUNNING
#define REPORT METRICS_REPORT
/* Metrics that a running step and its report have in common. */
#define BOTH (METRICS_RUNNING | METRICS_REPORT)

const struct metrics_row metrics_rows[METRICS_N] = {
    [METRIC_INFO] = {"jobprof_step_info", METRICS_GAUGE, NULL, METRICS_STEP,
                     BOTH, "Always 1: the step's labels."},
    [METRIC_VERDICT] = {"jobprof_verdict", METRICS_GAUGE, NULL, METRICS_VERDICT,
                        BOTH, "1 for the step's current verdict."},
    [METRIC_FINDINGS] = {"jobprof_findings", METRICS_GAUGE, NULL,
                         METRICS_FINDING, REPORT,
                         "Findings of the report, by kind."},
    [METRIC_HANGS] = {"jobprof_hangs_total", METRICS_COUNTER, NULL,
                      METRICS_NODE, BOTH,
                      "Confirmed hangs of the step; one node reports them."},
    [METRIC_ALERTS] =
        {"jobprof_alerts_total", METRICS_COUNTER, NULL, METRICS_NODE, LIVE,
         "Messages to the user about hangs of the job; one node reports them."},
    [METRIC_LATE_RANKS] =
        {"jobprof_late_ranks", METRICS_GAUGE, NULL, METRICS_NODE, BOTH,
         "Ranks that make the others wait; one node reports them."},
    [METRIC_COVERAGE] = {"jobprof_coverage_ratio", METRICS_GAUGE, "ratio",
                         METRICS_NODE, REPORT,
                         "Share of the expected records that the report has."},
    [METRIC_DURATION] =
        {"jobprof_step_duration_seconds", METRICS_GAUGE, "seconds",
         METRICS_NODE, REPORT,
         "Time from the first operation's start to the last one's end."},
    [METRIC_STATE] = {"jobprof_ranks", METRICS_GAUGE, NULL, METRICS_STATE, LIVE,
                      "Ranks of the node in a state."},
    [METRIC_LEFT_RANKS] =
        {"jobprof_left_out_ranks", METRICS_GAUGE, NULL, METRICS_NODE, LIVE,
         "Ranks of the node without metrics, because there are too many."},
    [METRIC_LEFT_SERIES] =
        {"jobprof_left_out_series", METRICS_GAUGE, NULL, METRICS_NODE, LIVE,
         "Series that were left out because of metrics.series."},
    [METRIC_AGENT_CPU] = {"jobprof_agent_cpu_seconds_total", METRICS_COUNTER,
                          "seconds", METRICS_NODE, LIVE,
                          "Processor time of jobprof's own process on the "
                          "node."},
    [METRIC_AGENT_MEMORY] =
        {"jobprof_agent_memory_bytes", METRICS_GAUGE, "bytes", METRICS_NODE,
         LIVE, "Largest memory of jobprof's own process on the node so far."},
    [METRIC_OPERATIONS] = {"jobprof_operations_total", METRICS_COUNTER, NULL,
                           METRICS_RANK, BOTH,
                           "Communication operations that have ended; in a "
                           "report, those with a record."},
    [METRIC_BYTES] = {"jobprof_operation_bytes_total", METRICS_COUNTER, "bytes",
                      METRICS_RANK, LIVE,
                      "Data of operations that have ended, estimated from the "
                      "mean size of a sample."},
    [METRIC_IN_FLIGHT] = {"jobprof_operations_in_flight", METRICS_GAUGE, NULL,
                          METRICS_RANK, LIVE,
                          "Operations that have begun and not ended."},
    [METRIC_OLDEST] = {"jobprof_oldest_operation_seconds", METRICS_GAUGE,
                       "seconds", METRICS_RANK, LIVE,
                       "Time for which the oldest of them has been in flight; "
                       "0 if there is none."},
    [METRIC_LAST_RECORD] =
        {"jobprof_last_record_seconds", METRICS_GAUGE, "seconds", METRICS_RANK,
         LIVE,
         "Time since the rank's log has grown, if the log has only ended "
         "operations (Inspector): such a log does not show what is in flight."},
    [METRIC_BUSY] =
        {"jobprof_communication_ratio", METRICS_GAUGE, "ratio", METRICS_RANK,
         BOTH,
         "Share of its time that the rank spends in operations; above 1 if "
         "they overlap. While the step runs, over the last half minute."},
    [METRIC_CAUSED] = {"jobprof_wait_caused_ratio", METRICS_GAUGE, "ratio",
                       METRICS_RANK, BOTH,
                       "Mean share of time that others wait for this rank. "
                       "While the step runs, over the last half minute and "
                       "only for late ranks; one node reports them."},
    [METRIC_WAITED] = {"jobprof_wait_seconds_total", METRICS_COUNTER, "seconds",
                       METRICS_RANK, REPORT,
                       "Time for which the rank has waited for others."},
    [METRIC_CPU] = {"jobprof_cpu_seconds_total", METRICS_COUNTER, "seconds",
                    METRICS_RANK, LIVE,
                    "Processor time of the rank's process."},
    [METRIC_GPU_BUSY] = {"jobprof_gpu_busy_ratio", METRICS_GAUGE, "ratio",
                         METRICS_RANK, LIVE,
                         "Share of time in which the rank's GPU runs kernels, "
                         "from its driver."},
    [METRIC_COLL_BUSBW] = {"nccl_bus_bandwidth_gbs", METRICS_UNTYPED, NULL,
                           METRICS_COLL, BOTH,
                           "Bus bandwidth in GB/s, geometric mean."},
    [METRIC_COLL_TIME] = {"nccl_collective_exec_time_microseconds",
                          METRICS_UNTYPED, NULL, METRICS_COLL, BOTH,
                          "Execution time, mean."},
    [METRIC_P2P_BUSBW] = {"nccl_p2p_bus_bandwidth_gbs", METRICS_UNTYPED, NULL,
                          METRICS_P2P, LIVE,
                          "Bus bandwidth in GB/s, geometric mean."},
    [METRIC_P2P_TIME] = {"nccl_p2p_exec_time_microseconds", METRICS_UNTYPED,
                         NULL, METRICS_P2P, LIVE, "Execution time, mean."},
    [METRIC_HISTORY_STEPS] = {"jobprof_history_step_total", METRICS_COUNTER,
                              NULL, METRICS_HISTORY_STEP, METRICS_HISTORY,
                              "Steps with a report."},
    [METRIC_HISTORY_FINDINGS] = {"jobprof_history_finding_total",
                                 METRICS_COUNTER, NULL, METRICS_HISTORY_FINDING,
                                 METRICS_HISTORY, "Findings of reports."},
    [METRIC_HISTORY_WAIT] = {"jobprof_history_wait_seconds_total",
                             METRICS_COUNTER, "seconds", METRICS_HISTORY_NODE,
                             METRICS_HISTORY,
                             "Time for which others have waited for the node."},
    [METRIC_HISTORY_GPU_BUSY] =
        {"jobprof_history_gpu_busy_ratio", METRICS_GAUGE, "ratio",
         METRICS_HISTORY_ACCOUNT, METRICS_HISTORY,
         "Mean share of time in which the account's GPUs run kernels."},
    [METRIC_WRITTEN] = {"jobprof_step_written_timestamp_seconds", METRICS_GAUGE,
                        "seconds", METRICS_NODE, METRICS_COLLECT,
                        "When the step's agent on this node wrote its metrics, "
                        "in seconds since 1970."},
    [METRIC_COLLECTED] = {"jobprof_collect_timestamp_seconds", METRICS_GAUGE,
                          "seconds", METRICS_COLLECTOR, METRICS_COLLECT,
                          "When the users' files were collected, in seconds "
                          "since 1970."},
    [METRIC_COLLECT_FILES] = {"jobprof_collect_files", METRICS_GAUGE, NULL,
                              METRICS_COLLECTOR, METRICS_COLLECT,
                              "Users' files that were collected."},
    [METRIC_LEFT_OUT_FILES] = {"jobprof_collect_left_out_files", METRICS_GAUGE,
                               NULL, METRICS_LEFT_OUT, METRICS_COLLECT,
                               "Files of the user that were not collected."},
    [METRIC_LEFT_OUT_LINES] = {"jobprof_collect_left_out_series", METRICS_GAUGE,
                               NULL, METRICS_LEFT_OUT, METRICS_COLLECT,
                               "Series of the user's files that were not "
                               "collected."},
};

/* --- sets ----------------------------------------------------------------- */

void metrics_init(struct metrics_set *set)
{
    *set = (struct metrics_set){.time_s = NAN};
}

/* Leaves an empty set. */
void metrics_fini(struct metrics_set *set)
{
    for (size_t i = 0; i < set->n; i++)
        free(set->objects[i]);
    free(set->objects);
    hash_fini(&set->table);
    metrics_init(set);
}

/* Copies a label's value: complete UTF-8 characters without control
 * characters. */
static void take_text(char out[METRICS_LABEL_BYTES], const char *text)
{
    size_t used = 0;

    while (text && *text) {
        uint32_t point = 0;
        /* 0: not valid UTF-8; one byte is replaced. */
        size_t n = utf8_decode(text, strlen(text), &point);
        /* Control characters of C0 and C1 would break a line, or a terminal. */
        bool good = n && point >= 0x20 && (point < 0x7f || point > 0x9f);

        /* Truncate between characters. */
        if (used + (good ? n : 1) >= METRICS_LABEL_BYTES)
            break;
        if (good)
            memcpy(out + used, text, n);
        else
            out[used] = '?';
        used += good ? n : 1;
        text += n ? n : 1;
    }
    out[used] = '\0';
}

static uint64_t hash_of(const struct metrics_object *o)
{
    uint64_t hash = hash_word(hash_start(), o->scope);

    for (size_t i = 0; i < METRICS_LABELS; i++)
        hash = hash_text(hash, o->labels[i]);
    return hash;
}

/* All labels are compared; unused ones are "". */
static bool is_same(const struct metrics_object *a,
                    const struct metrics_object *b)
{
    if (a->scope != b->scope)
        return false;
    for (size_t i = 0; i < METRICS_LABELS; i++)
        if (strcmp(a->labels[i], b->labels[i]) != 0)
            return false;
    return true;
}

/* Values are found by the labels, so that several callers may fill one object.
 */
double *metrics_add_texts(struct metrics_set *set, enum metrics_scope scope,
                          const char *const texts[METRICS_LABELS])
{
    /* Objects are allocated one by one, so that the returned pointers stay
     * valid. */
    struct metrics_object *o = calloc(1, sizeof(*o));
    uint64_t hash;
    uint32_t at;

    if (!o || VECTOR_ROOM(set->objects, set->n + 1, set->room) < 0)
        goto fail;
    /* The object is made first, because it is its own key. */
    o->scope = scope;
    o->time_s = set->time_s;
    for (size_t i = 0; i < METRICS_LABELS && metrics_scopes[scope].labels[i];
         i++)
        take_text(o->labels[i], texts[i]);
    /* An object with these labels exists: drop the new one. */
    hash = hash_of(o);
    for (size_t i = 0; (at = hash_next(&set->table, hash, &i)) != HASH_NONE;)
        if (is_same(set->objects[at], o)) {
            free(o);
            return set->objects[at]->values;
        }
    if (hash_add(&set->table, hash, (uint32_t) set->n) < 0)
        goto fail;
    for (size_t i = 0; i < METRICS_N; i++)
        /* A value that is never set is not written. */
        o->values[i] = NAN;
    set->objects[set->n++] = o;
    return o->values;
fail:
    free(o);
    return NULL;
}

/* --- sizes ---------------------------------------------------------------- */

#define UNIT 1024
#define UNITS 5

/* Returns the unit of a size, 0 to 4; *scale: its bytes. */
static unsigned unit_of(uint64_t bytes, uint64_t *scale)
{
    unsigned unit = 0;

    for (*scale = 1; unit + 1 < UNITS && bytes / *scale >= UNIT; unit++)
        *scale *= UNIT;
    return unit;
}

/* The same rule as Inspector's. */
uint64_t metrics_size_first(uint64_t bytes)
{
    uint64_t scale;

    unit_of(bytes, &scale);
    return bytes / scale * scale;
}

char *metrics_size_text(uint64_t bytes, char *buf, size_t size)
{
    /* Inspector writes KB for 1,024 bytes. */
    static const char *const units[UNITS] = {"B", "KB", "MB", "GB", "TB"};
    uint64_t scale;
    unsigned unit = unit_of(bytes, &scale);

    if (bytes)
        snprintf(buf, size, "%" PRIu64 "-%" PRIu64 "%s", bytes / scale,
                 bytes / scale + 1, units[unit]);
    /* The range is shown even if the size is its first one, as in Inspector's
     * files. */
    else
        snprintf(buf, size, "0B");
    return buf;
}

/* --- text ----------------------------------------------------------------- */

/* Whether the object has a value for the metric that can be written. */
static bool is_told(const struct metrics_object *o, enum metric metric)
{
    const struct metrics_row *row = &metrics_rows[metric];

    return o->scope == row->scope && isfinite(o->values[metric]) &&
           (row->type != METRICS_COUNTER || o->values[metric] >= 0);
}

/* Counts with the rule of metrics_write. */
size_t metrics_count(const struct metrics_set *set)
{
    size_t n = 0;

    for (size_t i = 0; i < set->n; i++)
        for (enum metric m = 0; m < METRICS_N; m++)
            n += is_told(set->objects[i], m);
    return n;
}

/* Writes the header of a metric. */
static void put_family(const struct metrics_row *row, enum metrics_format how,
                       FILE *out)
{
    /* By enum metrics_type, in OpenMetrics' words. */
    static const char *const words[] = {"gauge", "counter", "unknown"};
    size_t len = strlen(row->name);

    /* Metrics of Inspector's names have no header, see metrics.h. */
    if (how == METRICS_TEXT) {
        if (row->type != METRICS_UNTYPED)
            fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", row->name, row->help,
                    row->name, words[row->type]);
        return;
    }
    /* OpenMetrics names the family of a counter without "_total". */
    if (row->type == METRICS_COUNTER)
        len -= strlen("_total");
    fprintf(out, "# HELP %.*s %s\n# TYPE %.*s %s\n", (int) len, row->name,
            row->help, (int) len, row->name, words[row->type]);
    if (row->unit)
        fprintf(out, "# UNIT %.*s %s\n", (int) len, row->name, row->unit);
}

/* take_text has replaced line ends, so only these two characters need an
 * escape. */
static void put_label(const char *text, FILE *out)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putc('\\', out);
        putc(*text, out);
    }
}

/* Whether a double of this value is an integer that it holds exactly. */
static bool is_exact(double value)
{
    return fabs(value) < 0x1p53 && value == floor(value);
}

/* Writes exact integers with all of their digits and other numbers with nine.
 * If the nine digits are those of an exact integer, they are written as one: so
 * a number that is read and written again stays the same. */
static void put_number(double value, FILE *out)
{
    char text[32];

    if (!is_exact(value)) {
        snprintf(text, sizeof(text), "%.9g", value);
        value = strtod(text, NULL);
    }
    fprintf(out, is_exact(value) ? "%.0f" : "%.9g", value);
}

/* Writes one line. */
static void put_sample(const struct metrics_object *o, enum metric metric,
                       const struct metrics_how *how, FILE *out)
{
    const char *const *names = metrics_scopes[o->scope].labels;
    double value = o->values[metric];
    /* Empty labels are omitted; without any label there are no braces. */
    const char *before = "{";

    fputs(metrics_rows[metric].name, out);
    for (size_t i = 0; i < METRICS_LABELS && names[i]; i++) {
        if (!*o->labels[i])
            continue;
        fprintf(out, "%s%s=\"", before, names[i]);
        put_label(o->labels[i], out);
        putc('"', out);
        before = ",";
    }
    fputs(*before == ',' ? "} " : " ", out);
    put_number(value, out);
    if (how->format == METRICS_OPENMETRICS && isfinite(o->time_s))
        fprintf(out, " %.3f", o->time_s);
    putc('\n', out);
}

/* Both formats want all samples of a metric together. */
int metrics_write(const struct metrics_set *set, const struct metrics_how *how,
                  FILE *out, size_t *left, struct jp_error *err)
{
    size_t n = 0;

    for (enum metric m = 0; m < METRICS_N; m++) {
        bool began = false;

        for (size_t i = 0; i < set->n; i++) {
            /* Counting goes on beyond the limit, for *left. */
            if (!is_told(set->objects[i], m) ||
                (n++ >= how->max_series && how->max_series))
                continue;
            /* A metric without samples has no header either. */
            if (!began)
                put_family(&metrics_rows[m], how->format, out);
            began = true;
            put_sample(set->objects[i], m, how, out);
        }
    }
    /* OpenMetrics requires this last line. */
    if (how->format == METRICS_OPENMETRICS)
        fputs("# EOF\n", out);
    if (left)
        *left = how->max_series && n > how->max_series ? n - how->max_series
                                                       : 0;
    return fflush(out) != 0 || ferror(out)
               ? error_set(err, "cannot be written: %s", strerror(errno))
               : 0;
}

/* --- the tables of the documentation -------------------------------------- */

/* Prints the rows of one kind as a table in Markdown. */
static void describe(unsigned told, const char *title, FILE *out)
{
    /* By enum metrics_type, in the words of the text format. */
    static const char *const words[] = {"gauge", "counter", "untyped"};

    fprintf(
        out,
        "\n### %s\n\n| metric | type | labels | what |\n|---|---|---|---|\n",
        title);
    for (enum metric m = 0; m < METRICS_N; m++) {
        const struct metrics_row *row = &metrics_rows[m];
        const char *const *labels = metrics_scopes[row->scope].labels;

        /* A metric that occurs in several places is listed in the first one
         * only. */
        if (!(row->told & told) || (row->told & (told - 1)))
            continue;
        fprintf(out, "| `%s` | %s |", row->name, words[row->type]);
        for (size_t i = 0; i < METRICS_LABELS && labels[i]; i++)
            fprintf(out, " %s", labels[i]);
        fprintf(out, " | %s%s |\n", row->help,
                row->told == BOTH ? " (also of a report)" : "");
    }
}

/* One table for each place where metrics are written. */
void metrics_describe(FILE *out)
{
    describe(METRICS_RUNNING, "While a step runs", out);
    describe(METRICS_REPORT, "Of a report", out);
    describe(METRICS_HISTORY, "Of a site", out);
    describe(METRICS_COLLECT, "Of the collector on a node", out);
}
