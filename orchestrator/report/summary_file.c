/* summary_file.c - read a step's summary.json into one struct, by tables of its
 * members. */
#include "orchestrator/report/summary_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "common/jsonload.h"
#include "common/quote.h"
#include "orchestrator/feature/feature.h"
#include "orchestrator/insight/verdict.h"

/* --- the tables ------------------------------------------------------------
 *
 * A row is a member; its name is its path in the file. */

#define MEMBER(member) JSON_FIELD(OF, member)
#define ROWS(member, count, table) JSON_FIELD_ROWS(OF, member, count, table)

#define OF struct summary_setting
static const struct json_field setting_fields[] = {
    MEMBER(key), MEMBER(value), MEMBER(source), MEMBER(reason)};
static const struct json_fields settings = JSON_FIELDS(OF, setting_fields);
#undef OF

#define OF struct summary_framework
static const struct json_field framework_fields[] = {MEMBER(name),
                                                     MEMBER(version)};
static const struct json_fields frameworks = JSON_FIELDS(OF, framework_fields);
#undef OF

#define OF struct summary_axis
static const struct json_field axis_fields[] = {MEMBER(axis), MEMBER(ranks)};
static const struct json_fields axes = JSON_FIELDS(OF, axis_fields);
#undef OF

#define OF struct summary_cause
static const struct json_field cause_fields[] = {MEMBER(what)};
static const struct json_fields causes = JSON_FIELDS(OF, cause_fields);
#undef OF

#define OF struct summary_finding
static const struct json_field finding_fields[] = {
    MEMBER(kind),
    MEMBER(host),
    MEMBER(coll),
    MEMBER(world_rank),
    MEMBER(cost_us),
    MEMBER(share),
    MEMBER(text),
    MEMBER(plain),
    MEMBER(why),
    MEMBER(next),
    ROWS(causes, n_causes, causes),
    JSON_FIELD_ROW(OF, row),
};
static const struct json_fields findings = JSON_FIELDS(OF, finding_fields);
#undef OF

#define OF struct summary_hypothesis
static const struct json_field hypothesis_fields[] = {MEMBER(key),
                                                      MEMBER(state)};
static const struct json_fields hypotheses = JSON_FIELDS(OF, hypothesis_fields);
#undef OF

#define OF struct summary_cell
static const struct json_field cell_fields[] = {
    MEMBER(comm_type),     MEMBER(coll),          MEMBER(msg_size_bytes),
    MEMBER(ops),           MEMBER(exec_us.n),     MEMBER(exec_us.mean),
    MEMBER(exec_us.p50),   MEMBER(exec_us.p99),   MEMBER(busbw_gbs.p50),
    MEMBER(busbw_gbs.min), MEMBER(busbw_gbs.max),
};
static const struct json_fields cells = JSON_FIELDS(OF, cell_fields);
#undef OF

#define OF struct summary_network
static const struct json_field network_fields[] = {
    MEMBER(fabric),
    MEMBER(inter),
    MEMBER(coll),
    MEMBER(size_from_bytes),
    MEMBER(ops),
    MEMBER(time_us),
    MEMBER(net_busbw_gbs.p50),
    JSON_FIELD_ROW(OF, row),
};
static const struct json_fields network = JSON_FIELDS(OF, network_fields);
#undef OF

#define OF struct summary_pair
static const struct json_field pair_fields[] = {
    MEMBER(src_host), MEMBER(dst_host), MEMBER(func), MEMBER(bytes),
    MEMBER(busbw_gbs)};
static const struct json_fields pairs = JSON_FIELDS(OF, pair_fields);
#undef OF

#define OF struct summary_comm
static const struct json_field comm_fields[] = {
    MEMBER(id),    MEMBER(name),       MEMBER(fabric),
    MEMBER(inter), MEMBER(n_ranks),    MEMBER(n_hosts),
    MEMBER(ops),   MEMBER(ranks_seen), MEMBER(time_us),
};
static const struct json_fields comms = JSON_FIELDS(OF, comm_fields);
#undef OF

#define OF struct summary_rank
static const struct json_field rank_fields[] = {
    JSON_FIELD_ROW(OF, row), MEMBER(host), MEMBER(pid), MEMBER(records),
    MEMBER(p2p_records)};
static const struct json_fields ranks = JSON_FIELDS(OF, rank_fields);
#undef OF

#define OF struct summary_window
static const struct json_field window_fields[] = {
    MEMBER(comm_index), MEMBER(t0_us), MEMBER(t1_us), MEMBER(ops)};
static const struct json_fields windows = JSON_FIELDS(OF, window_fields);
#undef OF

#define OF struct summary_series
static const struct json_field series_fields[] = {
    MEMBER(scope),   MEMBER(metric),  MEMBER(node), MEMBER(first_us),
    MEMBER(last_us), MEMBER(members), MEMBER(mean), MEMBER(max)};
static const struct json_fields series = JSON_FIELDS(OF, series_fields);
#undef OF

#define OF struct summary_samples
static const struct json_field samples_fields[] = {
    MEMBER(text), ROWS(series, n_series, series)};
static const struct json_fields samples = JSON_FIELDS(OF, samples_fields);
#undef OF

#define OF struct summary_file
static const struct json_field file_fields[] = {
    MEMBER(written_us),
    MEMBER(analysis_us),
    MEMBER(generator.version),
    MEMBER(verdict.word),
    MEMBER(verdict.text),
    MEMBER(verdict.plain),
    MEMBER(verdict.judged),
    MEMBER(verdict.command),
    JSON_FIELD_TEXTS(OF, verdict.checks, verdict.n_checks),
    MEMBER(end.fault),
    MEMBER(end.node),
    MEMBER(end.cause),
    MEMBER(end.job_state),
    MEMBER(end.world_rank),
    MEMBER(end.job_end_us),
    MEMBER(job.id),
    MEMBER(job.restart),
    MEMBER(job.nodes),
    MEMBER(job.ntasks),
    MEMBER(job.created_us),
    MEMBER(job.step),
    MEMBER(job.array),
    MEMBER(job.name),
    MEMBER(job.user),
    MEMBER(job.account),
    MEMBER(job.partition),
    MEMBER(job.command),
    MEMBER(job.nodelist),
    MEMBER(job.slurm_version),
    MEMBER(job.nccl_request),
    MEMBER(job.nccl_mode),
    ROWS(job.settings, job.n_settings, settings),
    ROWS(job.frameworks, job.n_frameworks, frameworks),
    JSON_FIELD_PAIRS(OF, job.labels, job.n_labels),
    MEMBER(job.parallel.world_size),
    ROWS(job.parallel.axes, job.parallel.n_axes, axes),
    MEMBER(quality.records),
    MEMBER(quality.coll_records),
    MEMBER(quality.p2p_records),
    MEMBER(quality.expected),
    MEMBER(quality.lost),
    MEMBER(quality.unseen_records),
    MEMBER(quality.in_flight),
    MEMBER(quality.files),
    MEMBER(quality.bytes_read),
    MEMBER(quality.ranks_seen),
    MEMBER(quality.ranks_expected),
    MEMBER(quality.nodes_seen),
    MEMBER(quality.nodes_expected),
    MEMBER(quality.expected_kind),
    MEMBER(quality.coverage),
    MEMBER(quality.overhead.share),
    MEMBER(warmup.ops),
    MEMBER(warmup.times),
    MEMBER(iteration.period_us),
    MEMBER(iteration.ops),
    MEMBER(iteration.source),
    MEMBER(iteration.text),
    MEMBER(left_out.ranks),
    MEMBER(left_out.comms),
    MEMBER(left_out.windows),
    ROWS(findings, n_findings, findings),
    ROWS(hypotheses, n_hypotheses, hypotheses),
    ROWS(cells, n_cells, cells),
    ROWS(network, n_network, network),
    ROWS(p2p.node_pairs, p2p.n_node_pairs, pairs),
    ROWS(comms, n_comms, comms),
    ROWS(ranks, n_ranks, ranks),
    ROWS(windows, n_windows, windows),
};
static const struct json_fields file = JSON_FIELDS(OF, file_fields);
#undef OF

/* --- reading ---------------------------------------------------------------
 */

/* The long tables, which most readers do not need. */
static const char *const tables[] = {"comms", "ranks", "windows", "busy", NULL};

/* Returns true for a verdict's word of this version. */
static bool is_known_word(const char *text)
{
    for (int word = JP_VERDICT_HANG; word <= JP_VERDICT_OK; word++)
        if (!strcmp(text, verdict_word_name((enum jp_verdict_word) word)))
            return true;
    return false;
}

static void set_unknown(struct summary_file *s)
{
    json_fields_read(&file, NULL, s, NULL);
    json_fields_read(&samples, NULL, &s->samples, NULL);
}

/* Reads the members of a tree that is a summary. */
static int read_members(const json_t *root, struct summary_file *s,
                        struct jp_error *err)
{
    const struct feature *sampler = feature_sampler();
    const json_t *verdict = json_object_get(root, "verdict");
    uint64_t schema = 0;

    if (!json_tree_count(root, "schema_version", &schema) || schema != 1)
        return error_set(err, "not a summary of schema_version 1");
    /* callers may then use the word without another check */
    if (!is_known_word(json_tree_text(verdict, "word")) ||
        !json_is_string(json_object_get(verdict, "text")))
        return error_set(err, "no verdict");
    if (json_fields_read(&file, root, s, err) < 0)
        return -1;
    if (json_fields_read(&samples,
                         sampler ? json_object_get(root, sampler->name) : NULL,
                         &s->samples, err) < 0)
        return error_wrap(err, "%s", sampler->name);
    return 0;
}

int summary_file_take(json_t *root, const char *path, struct summary_file *out,
                      struct jp_error *err)
{
    set_unknown(out);
    if (read_members(root, out, err) < 0) {
        json_decref(root);
        summary_file_fini(out);
        return path ? error_wrap(err, "%s", path) : -1;
    }
    out->root = root;
    return 0;
}

int summary_file_read(const char *step_dir, enum summary_parts parts,
                      struct summary_file *out, struct jp_error *err)
{
    enum jsonload_kind kind = parts == SUMMARY_WHOLE ? JSONLOAD_SUMMARY
                                                     : JSONLOAD_CARD;
    char *path = text_format("%s/%s", step_dir, JP_SUMMARY_NAME);
    json_t *root = NULL;
    char *text = NULL;
    size_t len;
    int rc = -1;

    set_unknown(out);
    if (!path) {
        error_set(err, "out of memory");
        goto out;
    }
    if (fileio_read(path, false, jsonload_limits[kind].bytes, &text, &len,
                    err) < 0)
        goto out;
    /* cut out of the text: parsing them would take most time and memory */
    if (parts == SUMMARY_WITHOUT_TABLES)
        len = jsonscan_drop(text, len, tables);
    /* the limits of jsonload bound the memory that a hostile file can take */
    root = jsonload(kind, path, text, len, 0, err);
    /* before the members take memory */
    free(text);
    text = NULL;
    if (root)
        rc = summary_file_take(root, path, out, err);
out:
    free(text);
    free(path);
    return rc;
}

void summary_file_fini(struct summary_file *s)
{
    json_fields_fini(&samples, &s->samples);
    json_decref(s->root);
    json_fields_fini(&file, s);
    set_unknown(s);
}

/* --- what follows from it --------------------------------------------------
 */

void summary_file_own(const struct summary_file *s,
                      const struct json_fields *table, void *own)
{
    json_fields_read(table, s->root, own, NULL);
}

const char *summary_file_sentence(const char *plain, const char *text)
{
    /* reports of older versions have no plain text */
    return *plain ? plain : text;
}

bool summary_file_without_nccl(const struct summary_file *s)
{
    return (!s->quality.files || s->quality.files == JSON_UNKNOWN) &&
           !strcmp(s->job.nccl_mode, "off");
}

bool summary_file_is(const struct summary_file *s, const char *word)
{
    return !strcmp(s->verdict.word, word);
}

double summary_cell_time(const struct summary_cell *cell)
{
    double us = cell->exec_us.mean * cell->exec_us.n;

    return isfinite(us) ? us : 0;
}
