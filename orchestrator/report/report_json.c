/* report_json.c - summary.json, the stable machine interface.
 *
 * docs/summary.schema.json describes it field by field; a field that exists
 * never changes its meaning. report_write_json is the list of the top-level
 * keys. Tables come from their descriptions (tables*.c); this file writes the
 * rest. Nothing is kept in memory: the stream writes each value at once and
 * remembers a failure. */
#include "orchestrator/report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "common/grammar.h"
#include "common/knob.h"
#include "orchestrator/identity/parallel.h"
#include "orchestrator/insight/expected.h"
#include "orchestrator/insight/plain.h"
#include "orchestrator/insight/verdict.h"
#include "orchestrator/report/busy.h"
#include "orchestrator/report/sections.h"
#include "orchestrator/report/summary_file.h"
#include "orchestrator/report/tables.h"

#define JP_SUMMARY_SCHEMA 1 /* only a change that breaks readers raises it */
#define MAX_NAMES 1000   /* names of missing nodes, and of nodes with notes */
#define MAX_LATENESS 512 /* rows: ranks of communicators */
#define MAX_WARNINGS 50  /* findings about hardware */

/* Writes settings with their source (option, environment, file) and the reason
 * for the value. An array, because keys may occur for several sources. */
static void put_settings(struct jp_json_stream *s, const char *key,
                         const struct jp_setting *list, size_t n)
{
    json_stream_array(s, key);
    for (size_t i = 0; i < n; i++) {
        json_stream_object(s, NULL);
        json_stream_text(s, "key", list[i].key);
        json_stream_text(s, "value", list[i].value);
        json_stream_text(s, "source", list[i].source);
        json_stream_text(s, "where", list[i].where);
        json_stream_text(s, "reason", list[i].reason);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
}

/* Writes the labels that the user gave to the run, as an object. */
static void put_labels(struct jp_json_stream *s, const struct jp_jobconf *conf)
{
    const char *at = jobconf_labels(conf);
    struct userlabel label;

    json_stream_object(s, "labels");
    /* the text was checked when the option was parsed */
    while (at && *at && userlabels_next(&at, &label))
        json_stream_text(s, label.key, label.value);
    json_stream_end_object(s);
}

/* Writes the versions of the libraries that the tasks loaded. */
static void put_frameworks(struct jp_json_stream *s, const struct jp_agents *a)
{
    json_stream_array(s, "frameworks");
    for (uint32_t i = 0; a && i < a->loaded.n; i++) {
        const char *version = a->loaded.list[i].version;

        json_stream_object(s, NULL);
        json_stream_text(s, "name", a->loaded.list[i].name);
        /* null: the library was loaded, but its version is unknown */
        json_stream_text(s, "version", *version ? version : NULL);
        json_stream_count(s, "nodes", a->on[i]);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
}

/* Writes what the communicators show of the job's parallelism. */
static void put_parallel(struct jp_json_stream *s,
                         const struct jp_report *report)
{
    struct parallel parallel;

    /* unknown without memory */
    parallel_find(&parallel, report->result, report->processes,
                  expected_tasks(report->conf, report->nodes));
    json_stream_object(s, "parallel");
    json_stream_known(s, "world_size", parallel.world_size > 0,
                      parallel.world_size);
    json_stream_array(s, "axes");
    for (size_t i = 0; i < parallel.n; i++) {
        const struct parallel_axis *axis = &parallel.list[i];

        json_stream_object(s, NULL);
        json_stream_text(s, "axis", axis->axis);
        json_stream_count(s, "ranks", axis->ranks);
        json_stream_count(s, "communicators", axis->comms);
        json_stream_text(s, "comm_name", axis->comm);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
    json_stream_end_object(s);
}

/* Writes the content of job.conf; a folder of logs has none. */
static void put_conf(struct jp_json_stream *s, const struct jp_jobconf *conf)
{
    /* the plain texts of job.conf; a missing one becomes null */
    const struct {
        const char *key;
        const char *text;
    } texts[] = {
        {"step", conf->step_id},
        {"array", conf->array && *conf->array ? conf->array : NULL},
        {"name", conf->job_name},
        {"user", conf->user},
        {"account", conf->account},
        {"partition", conf->partition},
        {"command", conf->command},
        {"submit_dir", conf->submit_dir},
        {"submit_host", conf->submit_host},
        {"slurm_version", conf->slurm_version},
        {"nccl_request", conf->nccl_request},
        {"nccl_mode", conf->nccl_mode},
    };
    char key[40];

    json_stream_count(s, "id", conf->job_id);
    json_stream_count(s, "restart", conf->restart);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        json_stream_text(s, texts[i].key, texts[i].text);
    for (enum jp_option i = OPTION_NCCL + 1; i < OPTIONS; i++) {
        snprintf(key, sizeof(key), "%s_request", grammar_of(i)->group);
        json_stream_text(s, key, conf->sides[i].request);
    }
    json_stream_text(s, "launched_by", conf->version);
    json_stream_count(s, "created_us", conf->created_us);
    put_settings(s, "settings", conf->settings, conf->n_settings);
    for (enum jp_option i = OPTION_NCCL + 1; i < OPTIONS; i++) {
        snprintf(key, sizeof(key), "%s_settings", grammar_of(i)->group);
        put_settings(s, key, conf->sides[i].settings,
                     conf->sides[i].n_settings);
    }
    put_labels(s, conf);
}

/* Writes what ran. A folder of logs has no job: the id and the step are null.
 */
static void put_job(struct jp_json_stream *s, const struct jp_report *report)
{
    const struct jp_nodes *nodes = report->nodes;
    uint32_t n_nodes = expected_nodes(report->conf, nodes);
    uint32_t n_tasks = expected_tasks(report->conf, nodes);

    json_stream_object(s, "job");
    if (report->conf) {
        put_conf(s, report->conf);
    } else {
        json_stream_null(s, "id");
        json_stream_null(s, "step");
    }
    /* 0 is unknown here, which is null in JSON */
    json_stream_known(s, "nodes", n_nodes > 0, n_nodes);
    json_stream_known(s, "ntasks", n_tasks > 0, n_tasks);
    json_stream_text(s, "nodelist", nodes ? nodes->step_nodelist : NULL);
    json_stream_known(s, "tasks_failed", nodes != NULL,
                      nodes ? nodes->tasks_failed : 0);
    put_frameworks(s, report->agents);
    put_parallel(s, report);
    json_stream_end_object(s);
}

/* Writes how the step's tasks ended. */
static void put_end(struct jp_json_stream *s, const struct jp_report *report)
{
    const struct jp_nodes *nodes = report->nodes;
    const struct jp_crash *c = report->insight ? &report->insight->crash : NULL;
    bool first = c && c->task;
    char error[JP_CRASH_ERROR];

    /* unknown: nothing ended abnormally, or no node left a record */
    if (!c || !nodes || c->cause == JP_CRASH_NONE) {
        json_stream_null(s, "end");
        return;
    }
    json_stream_object(s, "end");
    json_stream_text(s, "cause", crash_causes[c->cause]);
    json_stream_bool(s, "fault", crash_is_fault(c));
    json_stream_bool(s, "sure", c->sure);
    json_stream_text(s, "text", c->text);
    /* the task that ended first; null if it could not be decided */
    json_stream_known(s, "task", first, first ? c->task->gtid : 0);
    json_stream_known(s, "world_rank", c->world_rank >= 0,
                      (uint64_t) c->world_rank);
    json_stream_text(s, "node", c->node ? c->node->name : NULL);
    json_stream_known(s, "pid", first, first ? (uint64_t) c->task->pid : 0);
    json_stream_known(s, "signal", c->signal > 0, (uint64_t) c->signal);
    json_stream_known(s, "exit_code", c->code >= 0, (uint64_t) c->code);
    json_stream_text(s, "exception", *crash_error(c, error) ? error : NULL);
    json_stream_known(s, "end_us", first && c->task->end_us,
                      first ? (uint64_t) c->task->end_us : 0);
    /* how long before the next task it ended; below 0: unknown */
    json_stream_known(s, "before_us", c->before_us >= 0,
                      (uint64_t) c->before_us);
    json_stream_text(s, "in_flight", *c->in ? c->in : NULL);
    json_stream_count(s, "ended_well", c->ended[JP_CRASH_WELL]);
    json_stream_count(s, "failed", c->ended[JP_CRASH_SELF]);
    json_stream_count(s, "killed", c->ended[JP_CRASH_KILL]);
    json_stream_text(s, "job_state", crash_job_states[nodes->job_state]);
    json_stream_known(s, "job_end_us", nodes->job_end_us > 0,
                      nodes->job_end_us);
    json_stream_end_object(s);
}

/* --- quality -------------------------------------------------------------- */

/* Writes why operations have no kernel events. */
static void put_doubts(struct jp_json_stream *s, const struct jp_result *result)
{
    json_stream_array(s, "kernel_doubts");
    for (unsigned i = 0; result && i < JP_DOUBTS; i++) {
        if (!result->quality.unsure_by[i])
            continue;
        json_stream_object(s, NULL);
        json_stream_text(s, "reason", doubts_table[i].key);
        json_stream_text(s, "text", doubts_table[i].text);
        json_stream_count(s, "operations", result->quality.unsure_by[i]);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
}

/* Writes the sums of kernels' phases; null without any. */
static void put_phases(struct jp_json_stream *s, const struct jp_phases *p)
{
    if (!p || !p->records) {
        json_stream_null(s, "phases");
        return;
    }
    json_stream_object(s, "phases");
    json_stream_count(s, "records", p->records);
    json_stream_real(s, "exec_us", p->exec_us);
    json_stream_real(s, "sync_us", p->sync_us);
    json_stream_real(s, "close_us", p->close_us);
    json_stream_end_object(s);
}

/* Writes the program's tags, those with most time first. */
static void put_tags(struct jp_json_stream *s, const struct jp_result *result)
{
    json_stream_array(s, "tags");
    for (size_t i = 0; result && i < result->quality.n_tags; i++) {
        const struct jp_tag *tag = &result->quality.tags[i];

        json_stream_object(s, NULL);
        json_stream_count(s, "tag", tag->tag);
        json_stream_text(s, "name", tag->name);
        json_stream_count(s, "records", tag->records);
        json_stream_real(s, "exec_us", tag->exec_us);
        json_stream_real(s, "sync_us", tag->sync_us);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
}

/* Writes when the recording was switched off. */
static void put_pauses(struct jp_json_stream *s, const struct jp_result *result)
{
    json_stream_array(s, "pauses");
    for (size_t i = 0; result && i < result->quality.n_pauses; i++) {
        const struct jp_pause *pause = &result->quality.pauses[i];

        json_stream_object(s, NULL);
        json_stream_count(s, "from_us", pause->from_us);
        json_stream_known(s, "to_us", pause->to_us > 0, pause->to_us);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
}

/* Writes the limits of recorders that left no room. */
static void put_room(struct jp_json_stream *s, const struct jp_result *result)
{
    static const char *const words[] = {"disk", "min_free", "write"};
    const struct jp_room *room = result ? &result->quality.room : NULL;

    json_stream_object(s, "no_room");
    json_stream_array(s, "limits");
    for (unsigned i = 0; room && i < sizeof(words) / sizeof(*words); i++)
        if (room->limits >> i & 1)
            json_stream_text(s, NULL, words[i]);
    json_stream_end_array(s);
    json_stream_count(s, "recordings", room ? room->recordings : 0);
    json_stream_known(s, "since_us", room && room->since_us,
                      room ? room->since_us : 0);
    json_stream_end_object(s);
}

/* Writes the settings that left out records by intent. Then fewer records than
 * usual are no loss. */
static void put_filters(struct jp_json_stream *s, const struct jp_jobconf *conf)
{
    json_stream_array(s, "filters");
    for (size_t i = 0; conf && i < conf->n_settings; i++) {
        if (!expected_is_filter(conf, &conf->settings[i]))
            continue;
        json_stream_object(s, NULL);
        json_stream_text(s, "key", conf->settings[i].key);
        json_stream_text(s, "value", conf->settings[i].value);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
}

/* Writes the recorder's own cost; null without recordings of it. The share is
 * null for short runs, in which start and end would dominate. */
static void put_overhead(struct jp_json_stream *s, const struct jp_overhead *o)
{
    /* no recording has these figures */
    if (!o || !o->recordings) {
        json_stream_null(s, "overhead");
        return;
    }
    json_stream_object(s, "overhead");
    json_stream_count(s, "recordings", o->recordings);
    json_stream_count(s, "events", o->events);
    json_stream_real(s, "ns_per_event",
                     o->events ? o->callbacks_ns / (double) o->events : NAN);
    json_stream_real(s, "callbacks_us", o->callbacks_ns / 1e3);
    json_stream_real(s, "init_finalize_us", o->life_ns / 1e3);
    json_stream_real(s, "writer_cpu_us", o->writer_ns / 1e3);
    json_stream_count(s, "bytes_written", o->bytes);
    json_stream_real(s, "wall_us", o->wall_ns / 1e3);
    json_stream_real(s, "share", quality_overhead_share(o));
    json_stream_real(s, "worst_share",
                     isfinite(quality_overhead_share(o)) ? o->worst_share
                                                         : NAN);
    json_stream_end_object(s);
}

/* Writes the number of bad lines of each kind that occurred. */
static void put_bad(struct jp_json_stream *s, const struct jp_result *result)
{
    json_stream_array(s, "bad_kinds");
    for (unsigned i = 0; result && i < JP_BAD_KINDS; i++) {
        const struct jp_bad_lines *bad = &result->quality.bad[i];

        if (!bad->n)
            continue;
        json_stream_object(s, NULL);
        json_stream_text(s, "kind", badkind_key((enum jp_bad) i));
        json_stream_count(s, "count", bad->n);
        json_stream_text(s, "path", bad->path);
        json_stream_count(s, "line", bad->line);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
}

/* Writes notes on files that were damaged or odd. */
static void put_notes(struct jp_json_stream *s, const struct jp_result *result)
{
    json_stream_array(s, "notes");
    for (size_t i = 0; result && i < result->quality.n_notes; i++) {
        json_stream_object(s, NULL);
        json_stream_text(s, "path", result->quality.notes[i].path);
        json_stream_text(s, "what", result->quality.notes[i].what);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
}

/* Writes quality{}: the table of figures, then lists with details. */
static void put_quality(struct jp_json_stream *s,
                        const struct jp_report *report)
{
    const struct jp_result *result = report->result;
    const struct jp_nodes *nodes = report->nodes;
    double coverage = report->verdict->coverage;

    json_stream_object(s, "quality");
    /* every figure of the table, 0 or not: readers rely on the keys */
    for (size_t i = 0; i < quality_n_items; i++) {
        uint64_t value = 0;
        bool known = quality_items[i].get(report, &value);

        json_stream_known(s, quality_items[i].key, known, value);
    }
    json_stream_known(s, "partial_nodes", result != NULL,
                      result ? result->quality.partial_nodes : 0);
    json_stream_text(s, "expected_kind", quality_expected_kind(report));
    json_stream_real(s, "coverage", coverage >= 0 ? coverage : NAN);
    put_doubts(s, result);
    put_filters(s, report->conf);
    put_overhead(s, result ? &result->quality.overhead : NULL);
    put_phases(s, result ? &result->quality.phases : NULL);
    put_tags(s, result);
    put_pauses(s, result);
    put_room(s, result);
    json_stream_text(s, "own_folder", nodes ? nodes->own_folder : NULL);
    /* lists of names are bounded; nodes_expected has the number */
    json_stream_texts(s, "nodes_missing", nodes ? nodes->missing : NULL,
                      nodes ? nodes->n_missing : 0, MAX_NAMES);
    json_stream_texts(s, "node_notes", nodes ? nodes->notes : NULL,
                      nodes ? nodes->n_notes : 0, MAX_NAMES);
    put_bad(s, result);
    put_notes(s, result);
    json_stream_count(s, "notes_left_out",
                      result ? result->quality.notes_left_out : 0);
    json_stream_end_object(s);
}

/* --- lateness ------------------------------------------------------------- */

/* A rank of the result, and its weight in a heat map. */
struct heat {
    size_t rank;   /* index into the result's ranks */
    double weight; /* size of its lateness, us */
};

static int by_weight(const void *a, const void *b)
{
    const struct heat *x = a, *y = b;

    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int by_rank(const void *a, const void *b)
{
    const struct heat *x = a, *y = b;

    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Picks the ranks with the largest lateness, at most MAX_LATENESS, and sorts
 * them by their index. The caller frees the list. NULL: out of memory. */
static struct heat *pick_heat(const struct jp_result *r,
                              const struct jp_insight *insight, size_t *n)
{
    struct heat *heats = calloc(r->n_ranks + 1, sizeof(*heats));

    *n = 0;
    for (size_t i = 0; heats && i < r->n_ranks; i++)
        if (insight->lateness[i].judged)
            heats[(*n)++] =
                (struct heat){i, fabs(insight->lateness[i].arrival_us)};
    if (heats && *n) {
        /* first the latest ranks, then the order of the result */
        qsort(heats, *n, sizeof(*heats), by_weight);
        *n = *n < MAX_LATENESS ? *n : MAX_LATENESS;
        qsort(heats, *n, sizeof(*heats), by_rank);
    }
    return heats;
}

/* Writes one rank of a communicator. Times are in us and rounded: the error of
 * the estimate is larger. */
static void put_late_rank(struct jp_json_stream *s, const struct jp_result *r,
                          const struct jp_insight *insight, size_t i)
{
    const struct jp_lateness *l = &insight->lateness[i];

    json_stream_object(s, NULL);
    json_stream_count(s, "comm_index", r->ranks[i].comm);
    json_stream_count(s, "rank", r->ranks[i].rank);
    json_stream_real(s, "excess_us", round(l->excess_us));
    json_stream_real(s, "error_us", round(l->error_us));
    json_stream_real(s, "arrival_us", round(l->arrival_us));
    json_stream_real(s, "peers_us", round(l->peers_us));
    json_stream_bool(s, "late", l->late);
    /* over the run, in equal parts */
    json_stream_array(s, "parts_us");
    for (unsigned k = 0; k < JP_SLICES; k++)
        json_stream_real(s, NULL, round((double) l->parts_us[k]));
    json_stream_end_array(s);
    json_stream_end_object(s);
}

/* Writes the array, empty if nothing was judged. */
static void put_lateness(struct jp_json_stream *s,
                         const struct jp_report *report)
{
    const struct jp_insight *insight = report->insight;
    const struct jp_result *r = report->result;
    struct heat *heats = NULL;
    size_t n = 0;

    if (insight && r && insight->lateness) {
        heats = pick_heat(r, insight, &n);
        /* the stream remembers it, and json_stream_close reports it */
        if (!heats)
            s->failed = true;
    }
    json_stream_array(s, "lateness");
    for (size_t i = 0; i < n; i++)
        put_late_rank(s, r, insight, heats[i].rank);
    json_stream_end_array(s);
    free(heats);
}

/* --- busy ----------------------------------------------------------------- */

/* Adds the members of a spread to the open object. */
static void put_spread(struct jp_json_stream *s,
                       const struct jp_busy_spread *spread)
{
    json_stream_count(s, "processes", spread->n);
    /* NAN, so null, without processes */
    json_stream_real(s, "least", spread->least);
    json_stream_real(s, "median", spread->median);
    json_stream_real(s, "most", spread->most);
}

/* Writes busy{}: the sentence, the spread over the run, the table of processes,
 * the spread in each slice of time. values: scratch for rows->n_told values. */
static void put_busy_rows(struct jp_json_stream *s,
                          const struct jp_report *report,
                          const struct jp_busy_rows *rows, double *values)
{
    const struct jp_result *r = report->result;
    struct jp_busy_spread spread = busy_spread(r, rows, SIZE_MAX, values);
    char text[JP_BUSY_TEXT];
    size_t left_out;

    busy_text(r, rows, report->verdict->coverage, text);
    json_stream_object(s, "busy");
    json_stream_text(s, "text", text);
    put_spread(s, &spread);
    left_out = table_json(s, &table_busy, report, rows);
    /* the spread in each slice; csv/busy_windows.csv has each process */
    json_stream_array(s, "windows");
    for (size_t k = 0; k < r->n_busy_slices; k++) {
        spread = busy_spread(r, rows, k, values);
        json_stream_object(s, NULL);
        json_stream_count(s, "t0_us", r->busy_from_us + k * r->busy_slice_us);
        json_stream_count(s, "t1_us",
                          r->busy_from_us + (k + 1) * r->busy_slice_us);
        put_spread(s, &spread);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
    json_stream_count(s, "left_out", left_out);
    json_stream_end_object(s);
}

/* Writes busy{}, or null without records. */
static void put_busy(struct jp_json_stream *s, const struct jp_report *report)
{
    struct jp_busy_rows rows;
    double *values;

    if (!report->result) {
        json_stream_null(s, "busy");
        return;
    }
    if (busy_rows_make(report->result, report->processes, &rows) < 0) {
        s->failed = true;
        return;
    }
    values = calloc(rows.n_told + 1, sizeof(*values));
    if (values)
        put_busy_rows(s, report, &rows, values);
    else
        s->failed = true;
    free(values);
    busy_rows_fini(&rows);
}

/* --- the rest ------------------------------------------------------------- */

/* Writes warmup{}, or null if warm-up was not looked for. ops is 0 if none was
 * found. */
static void put_warmup(struct jp_json_stream *s, const struct jp_report *report)
{
    const struct jp_warmup *w;
    char text[JP_WARMUP_TEXT];

    if (!quality_warmup(report, text)) {
        json_stream_null(s, "warmup");
        return;
    }
    w = &report->insight->warmup;
    json_stream_object(s, "warmup");
    json_stream_text(s, "text", text);
    json_stream_count(s, "ops", w->ops);
    json_stream_count(s, "kinds", w->kinds);
    json_stream_count(s, "of_kinds", w->of_kinds);
    /* unknown if no warm-up was found */
    json_stream_known(s, "until_us", w->ops && isfinite(w->until_us),
                      w->until_us > 0 ? (uint64_t) w->until_us : 0);
    json_stream_real(s, "times", w->ops ? w->times : 1);
    json_stream_real(s, "longer_us", w->took_us);
    json_stream_end_object(s);
}

/* Writes what the network was compared with. x may be NULL. */
static void put_expectation(struct jp_json_stream *s,
                            const struct jp_expectation *x)
{
    json_stream_object(s, "expectation");
    json_stream_text(s, "peaks", x && x->peaks ? x->peaks_path : NULL);
    json_stream_text(s, "baseline", x && x->baseline ? x->baseline_path : NULL);
    json_stream_known(s, "baseline_reports", x && x->baseline,
                      x && x->baseline ? x->baseline->n_reports : 0);
    json_stream_end_object(s);
}

/* Writes a finding of kind "topology" for each warning about what communicators
 * run over. */
static void put_warnings(struct jp_json_stream *s,
                         const struct jp_report *report)
{
    const struct jp_step_labels *l = report->labels;
    const struct jp_result *r = report->result;

    for (size_t i = 0; l && r && i < l->n_warnings && i < MAX_WARNINGS; i++) {
        const struct jp_step_warning *w = &l->warnings[i];

        json_stream_object(s, NULL);
        tables_finding(
            s, &(struct tables_finding){
                   .kind = "topology",
                   .comm = w->n_comms ? rows_comm(r, w->comm)->id : NULL,
                   .comm_index = w->comm,
                   .text = w->text,
                   .next = label_warning_advice[w->kind]});
        json_stream_text(s, "topology", label_warning_word[w->kind]);
        json_stream_end_object(s);
    }
}

/* All findings are one array for readers, although three rooms make them. */
static void put_findings(struct jp_json_stream *s,
                         const struct jp_report *report)
{
    table_json_rows(s, &table_findings, report, NULL);
    put_warnings(s, report);
    for (size_t i = 0; feature_registry[i]; i++)
        if (report_has(report, feature_registry[i]) &&
            feature_registry[i]->findings)
            feature_registry[i]->findings(s, report);
}

/* Writes the keys before the tables. */
static void put_head(struct jp_json_stream *s, const struct jp_report *report)
{
    char judged[JP_HYPOTHESES_LINE], plain[JP_PLAIN_TEXT];
    char command[FIRST_SCREEN_COMMAND];
    const char *const *checks = first_screen_checks(report);
    struct timespec now = {0};

    /* the time of writing; same-output.py leaves it out of comparisons */
    clock_gettime(CLOCK_REALTIME, &now);
    json_stream_count(s, "schema_version", JP_SUMMARY_SCHEMA);
    json_stream_object(s, "generator");
    json_stream_text(s, "name", "jobprof");
    json_stream_text(s, "version", JP_VERSION);
    json_stream_text(s, "reporter", report->reporter);
    json_stream_end_object(s);
    json_stream_count(s, "written_us",
                      (uint64_t) now.tv_sec * 1000000 +
                          (uint64_t) now.tv_nsec / 1000);
    json_stream_count(s, "analysis_us", report->duration_us);
    json_stream_count(s, "insight_us",
                      report->insight ? report->insight->duration_us : 0);
    json_stream_object(s, "verdict");
    json_stream_text(s, "word", verdict_word_name(report->verdict->word));
    json_stream_text(s, "text", report->verdict->text);
    json_stream_text(
        s, "plain",
        plain_verdict(report->verdict, report->result, report->insight, plain));
    json_stream_text(s, "command", first_screen_command(report, command));
    json_stream_array(s, "checks");
    for (int i = 0; checks && i < JP_PLAIN_CHECKS && checks[i]; i++)
        json_stream_text(s, NULL, checks[i]);
    json_stream_end_array(s);
    json_stream_text(s, "judged", quality_judged(report, judged));
    json_stream_end_object(s);
    put_job(s, report);
    put_end(s, report);
    put_quality(s, report);
    /* three tables in one array */
    json_stream_array(s, table_findings.json);
    put_findings(s, report);
    json_stream_end_array(s);
    table_json(s, &table_hypotheses, report, NULL);
    table_json(s, &table_attempts, report, NULL);
    put_lateness(s, report);
    put_warmup(s, report);
    put_expectation(s, report->expectation);
    table_json(s, &table_network, report, NULL);
}

/* Writes the tables of summary.json outside of p2p{}, and the number of rows
 * that each left out. */
static void put_tables(struct jp_json_stream *s, const struct jp_report *report)
{
    static const struct jp_table *const list[] = {
        &table_comms,      &table_cells, &table_ranks,     &table_windows,
        &table_algorithms, &table_pairs, &table_node_pairs};
    /* the last two are those of p2p{} */
    enum { N = sizeof(list) / sizeof(*list), PAIRS = N - 2 };
    const struct jp_result *r = report->result;
    uint64_t count = 0, bytes = 0;
    size_t left_out[N];

    /* the key of a table is its own; left_out uses the same keys */
    for (size_t i = 0; i < PAIRS; i++)
        left_out[i] = table_json(s, list[i], report, NULL);
    /* sums over all pairs, also those that the limit leaves out */
    for (size_t i = 0; r && i < r->n_p2p; i++) {
        count += r->p2p[i].count;
        bytes += r->p2p[i].bytes;
    }
    json_stream_object(s, "p2p");
    json_stream_count(s, "records", count);
    json_stream_count(s, "bytes", bytes);
    for (size_t i = PAIRS; i < N; i++)
        left_out[i] = table_json(s, list[i], report, NULL);
    json_stream_end_object(s);
    json_stream_object(s, "left_out");
    for (size_t i = 0; i < N; i++)
        json_stream_count(s, list[i]->json, left_out[i]);
    json_stream_end_object(s);
}

/* Writes the work that is left to the user. */
static void put_undone(struct jp_json_stream *s, const struct jp_report *report)
{
    json_stream_array(s, "undone");
    for (size_t i = 0; i < report->n_undone; i++) {
        json_stream_object(s, NULL);
        json_stream_text(s, "kind", report->undone[i].kind);
        json_stream_text(s, "text", report->undone[i].text);
        json_stream_text(s, "command", report->undone[i].command);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
}

/* Writes the objects of features with this role. */
static void put_features(struct jp_json_stream *s,
                         const struct jp_report *report, enum feature_role role)
{
    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->role == role)
            feature_registry[i]->json(s, feature_registry[i]->name, report);
}

int report_write_json(const struct jp_report *report, FILE *out,
                      struct jp_error *err)
{
    struct jp_json_stream stream;

    json_stream_open(&stream, JSON_FILE, out);
    put_head(&stream, report);
    put_tables(&stream, report);
    put_busy(&stream, report);
    put_features(&stream, report, FEATURE_PROFILE);
    put_features(&stream, report, FEATURE_FIGURES);
    put_features(&stream, report, FEATURE_OPERATIONS);
    put_undone(&stream, report);
    return json_stream_close(&stream, err);
}
