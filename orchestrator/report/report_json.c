/* report_json.c - summary.json, the stable machine interface.
 *
 * docs/summary.schema.json describes it field by field.
 */
#include "orchestrator/report/report.h"

#include <inttypes.h>
#include <string.h>
#include <math.h>
#include <time.h>

#include "orchestrator/insight/expected.h"
#include "orchestrator/report/json_busy.h"
#include "orchestrator/report/json_findings.h"
#include "orchestrator/report/json_network.h"
#include "orchestrator/report/json_out.h"
#include "orchestrator/report/json_tables.h"
#include "orchestrator/report/overhead.h"
#include "orchestrator/report/quality.h"
#include "orchestrator/report/report_copper.h"
#include "orchestrator/report/topology.h"
#include "orchestrator/report/version.h"

#define JP_SUMMARY_SCHEMA 1
#define MAX_NAMES 1000 /* of missing nodes, of notes on nodes */

static json_t *setting_list(struct jp_json *j, const struct jp_setting *list,
                            size_t n)
{
    json_t *array = json_out_array(j);

    for (size_t i = 0; i < n; i++) {
        json_t *row = json_out_object(j);

        json_out_text(j, row, "key", list[i].key);
        json_out_text(j, row, "value", list[i].value);
        json_out_text(j, row, "source", list[i].source);
        json_out_text(j, row, "where", list[i].where);
        json_out_text(j, row, "reason", list[i].reason);
        json_out_append(j, array, row);
    }
    return array;
}

/* What job.conf says; a folder of logs has none. */
static void put_conf(struct jp_json *j, json_t *job,
                     const struct jp_jobconf *conf)
{
    const struct {
        const char *key;
        const char *text;
    } texts[] = {
        {"step", conf->step_id},
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
        {"copper_request", conf->copper_request},
        {"launched_by", conf->version},
    };

    json_out_count(j, job, "id", conf->job_id);
    json_out_count(j, job, "restart", conf->restart);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        json_out_text(j, job, texts[i].key, texts[i].text);
    json_out_count(j, job, "created_us", conf->created_us);
    json_out_put(j, job, "settings",
                 setting_list(j, conf->settings, conf->n_settings));
    json_out_put(
        j, job, "copper_settings",
        setting_list(j, conf->copper_settings, conf->n_copper_settings));
}

static void put_count_or_null(struct jp_json *j, json_t *object,
                              const char *key, bool known, uint64_t value)
{
    if (known)
        json_out_count(j, object, key, value);
    else
        json_out_null(j, object, key);
}

static json_t *job_object(struct jp_json *j, const struct jp_report *report)
{
    const struct jp_nodes *nodes = report->nodes;
    uint32_t n_nodes = expected_nodes(report->conf, nodes);
    uint32_t n_tasks = expected_tasks(report->conf, nodes);
    json_t *job = json_out_object(j);

    if (report->conf) {
        put_conf(j, job, report->conf);
    } else {
        json_out_null(j, job, "id");
        json_out_null(j, job, "step");
    }
    put_count_or_null(j, job, "nodes", n_nodes > 0, n_nodes);
    put_count_or_null(j, job, "ntasks", n_tasks > 0, n_tasks);
    json_out_text(j, job, "nodelist", nodes ? nodes->step_nodelist : NULL);
    put_count_or_null(j, job, "tasks_failed", nodes != NULL,
                      nodes ? nodes->tasks_failed : 0);
    return job;
}

static json_t *verdict_object(struct jp_json *j,
                              const struct jp_verdict *verdict)
{
    json_t *object = json_out_object(j);

    json_out_text(j, object, "word", verdict_word_name(verdict->word));
    json_out_text(j, object, "text", verdict->text);
    return object;
}

static json_t *filter_list(struct jp_json *j, const struct jp_jobconf *conf)
{
    json_t *array = json_out_array(j);

    for (size_t i = 0; conf && i < conf->n_settings; i++) {
        json_t *row;

        if (!expected_is_filter(conf, &conf->settings[i]))
            continue;
        row = json_out_object(j);
        json_out_text(j, row, "key", conf->settings[i].key);
        json_out_text(j, row, "value", conf->settings[i].value);
        json_out_append(j, array, row);
    }
    return array;
}

static json_t *note_list(struct jp_json *j, const struct jp_result *result)
{
    json_t *array = json_out_array(j);

    for (size_t i = 0; result && i < result->quality.n_notes; i++) {
        json_t *row = json_out_object(j);

        json_out_text(j, row, "path", result->quality.notes[i].path);
        json_out_text(j, row, "what", result->quality.notes[i].what);
        json_out_append(j, array, row);
    }
    return array;
}

/* Bad lines by kind, those that there are. */
static json_t *bad_list(struct jp_json *j, const struct jp_result *result)
{
    json_t *array = json_out_array(j);

    for (unsigned i = 0; result && i < JP_BAD_KINDS; i++) {
        const struct jp_bad_lines *bad = &result->quality.bad[i];
        json_t *row;

        if (!bad->n)
            continue;
        row = json_out_object(j);
        json_out_text(j, row, "kind", badkind_key((enum jp_bad) i));
        json_out_count(j, row, "count", bad->n);
        json_out_text(j, row, "path", bad->path);
        json_out_count(j, row, "line", bad->line);
        json_out_append(j, array, row);
    }
    return array;
}

static json_t *overhead_object(struct jp_json *j, const struct jp_overhead *o)
{
    json_t *object;

    if (!o || !o->recordings)
        return json_null();
    object = json_out_object(j);
    json_out_count(j, object, "recordings", o->recordings);
    json_out_count(j, object, "events", o->events);
    json_out_real(j, object, "ns_per_event",
                  o->events ? o->callbacks_ns / (double) o->events : NAN);
    json_out_real(j, object, "callbacks_us", o->callbacks_ns / 1e3);
    json_out_real(j, object, "init_finalize_us", o->life_ns / 1e3);
    json_out_real(j, object, "writer_cpu_us", o->writer_ns / 1e3);
    json_out_count(j, object, "bytes_written", o->bytes);
    json_out_real(j, object, "wall_us", o->wall_ns / 1e3);
    json_out_real(j, object, "share", overhead_share(o));
    json_out_real(j, object, "worst_share", o->worst_share);
    return object;
}

static json_t *quality_object(struct jp_json *j, const struct jp_report *report)
{
    const struct jp_result *result = report->result;
    const struct jp_nodes *nodes = report->nodes;
    json_t *object = json_out_object(j);
    double coverage = report->verdict->coverage;

    for (size_t i = 0; i < quality_n_items; i++) {
        uint64_t value = 0;
        bool known = quality_items[i].get(report, &value);

        put_count_or_null(j, object, quality_items[i].key, known, value);
    }
    put_count_or_null(j, object, "partial_nodes", result != NULL,
                      result ? result->quality.partial_nodes : 0);
    json_out_text(j, object, "expected_kind", quality_expected_kind(report));
    if (coverage >= 0)
        json_out_real(j, object, "coverage", coverage);
    else
        json_out_null(j, object, "coverage");
    json_out_put(j, object, "filters", filter_list(j, report->conf));
    json_out_put(j, object, "overhead",
                 overhead_object(j, result ? &result->quality.overhead : NULL));
    json_out_put(j, object, "nodes_missing",
                 json_out_strings(j, nodes ? nodes->missing : NULL,
                                  nodes ? nodes->n_missing : 0, MAX_NAMES));
    json_out_put(j, object, "node_notes",
                 json_out_strings(j, nodes ? nodes->notes : NULL,
                                  nodes ? nodes->n_notes : 0, MAX_NAMES));
    json_out_put(j, object, "bad_kinds", bad_list(j, result));
    json_out_put(j, object, "notes", note_list(j, result));
    json_out_count(j, object, "notes_left_out",
                   result ? result->quality.notes_left_out : 0);
    return object;
}

static json_t *warmup_object(struct jp_json *j, const struct jp_report *report)
{
    const struct jp_warmup *w;
    char text[JP_WARMUP_TEXT];
    json_t *object;

    if (!quality_warmup(report, text))
        return json_null();
    w = &report->insight->warmup;
    object = json_out_object(j);
    json_out_text(j, object, "text", text);
    json_out_count(j, object, "ops", w->ops);
    json_out_count(j, object, "kinds", w->kinds);
    json_out_count(j, object, "of_kinds", w->of_kinds);
    json_out_known(j, object, "until_us", w->ops && isfinite(w->until_us),
                   w->until_us > 0 ? (uint64_t) w->until_us : 0);
    json_out_real(j, object, "times", w->ops ? w->times : 1);
    json_out_real(j, object, "longer_us", w->took_us);
    return object;
}

static json_t *generator_object(struct jp_json *j,
                                const struct jp_report *report)
{
    json_t *object = json_out_object(j);

    json_out_text(j, object, "name", "jobprof");
    json_out_text(j, object, "version", JP_VERSION);
    json_out_text(j, object, "reporter", report->reporter);
    return object;
}

/* What stands before the tables. */
static json_t *head_object(struct jp_json *j, const struct jp_report *report)
{
    json_t *root = json_out_object(j), *findings = json_out_array(j);
    struct timespec now = {0};

    clock_gettime(CLOCK_REALTIME, &now);
    json_out_count(j, root, "schema_version", JP_SUMMARY_SCHEMA);
    json_out_put(j, root, "generator", generator_object(j, report));
    json_out_count(j, root, "written_us",
                   (uint64_t) now.tv_sec * 1000000 +
                       (uint64_t) now.tv_nsec / 1000);
    json_out_count(j, root, "analysis_us", report->duration_us);
    json_out_count(j, root, "insight_us",
                   report->insight ? report->insight->duration_us : 0);
    json_out_put(j, root, "verdict", verdict_object(j, report->verdict));
    json_out_put(j, root, "job", job_object(j, report));
    json_out_put(j, root, "quality", quality_object(j, report));
    json_findings_put(j, findings, report->result, report->insight);
    topology_findings(j, findings, report->labels, report->result);
    report_copper_findings(j, findings, report->copper);
    json_out_put(j, root, "findings", findings);
    json_findings_lateness(j, root, report->result, report->insight);
    json_out_put(j, root, "warmup", warmup_object(j, report));
    json_network_put(j, root, report);
    return root;
}

int report_write_json(const struct jp_report *report, FILE *out,
                      struct jp_error *err)
{
    struct jp_json j = {0};
    struct jp_json_stream stream;
    json_t *tail = json_out_object(&j);

    json_out_put(&j, tail, "busy",
                 json_busy(&j, report->result, report->verdict->coverage));
    json_out_put(&j, tail, "copper", report_copper_json(&j, report->copper));
    json_stream_open(&stream, out);
    json_stream_members(&stream, &j, head_object(&j, report));
    json_tables_put(&stream, report->result);
    json_stream_members(&stream, &j, tail);
    return json_stream_close(&stream, err);
}
