/* history_make.c - make a line of the history from a step's report, and send it
 * to the site's sinks.
 *
 * A line takes the few figures of summary.json that can be compared between
 * steps. They are copied as they are, so a line is valid even if the report's
 * meaning is refined later. */
#include "orchestrator/history/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/report/summary_file.h"

/* Borrows a string of the JSON tree. */
static struct history_text text_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    struct history_text text = {"", 0};

    if (json_is_string(value)) {
        size_t n = json_string_length(value);

        text.at = json_string_value(value);
        if (n > HISTORY_TEXT) /* do not cut a character in half */
            for (n = HISTORY_TEXT; n && (text.at[n] & 0xc0) == 0x80; n--)
                ;
        /* a longer text is truncated; 0: missing or not a text */
        text.len = (uint32_t) n;
    }
    return text;
}

static bool is_text(struct history_text text, const char *word)
{
    return text.len == strlen(word) && memcmp(text.at, word, text.len) == 0;
}

/* Returns a count, or UINT64_MAX if it is missing. */
static uint64_t count_of(const json_t *object, const char *key)
{
    uint64_t value = UINT64_MAX;

    summary_file_count(object, key, &value);
    return value;
}

/* Negative values are invalid: a line has none. */
static double real_of(const json_t *object, const char *key)
{
    double value = summary_file_real(object, key);

    return value >= 0 ? value : NAN;
}

/* --- findings ------------------------------------------------------------- */

/* Adds a finding, and its wait to that of the step. Findings are sorted, the
 * worst first. */
static void add_finding(struct history_step *step, const json_t *row)
{
    const json_t *cause = json_array_get(summary_file_at(row, "causes"), 0);
    double wait = real_of(row, "cost_us") / 1e6;
    struct history_finding *f;

    if (step->n_findings == HISTORY_FINDINGS)
        return;
    f = &step->findings[step->n_findings++];
    *f = (struct history_finding){.kind = text_of(row, "kind"),
                                  .node = text_of(row, "host"),
                                  .rank = count_of(row, "world_rank"),
                                  .wait_s = wait,
                                  .share = real_of(row, "share"),
                                  .cause = text_of(cause, "what"),
                                  .coll = text_of(row, "coll")};
    /* other kinds of findings have a cost, but no waiting ranks */
    if (isfinite(wait) &&
        (is_text(f->kind, "late_rank") || is_text(f->kind, "late_node") ||
         is_text(f->kind, "stall")))
        step->wait_s = isfinite(step->wait_s) ? step->wait_s + wait : wait;
}

/* Adds all findings, and whether late ranks were looked for. */
static void add_findings(struct history_step *step, const json_t *summary)
{
    const json_t *list = summary_file_at(summary, "findings");
    const json_t *end = summary_file_at(summary, "end");
    const json_t *questions = summary_file_at(summary, "hypotheses");
    bool crash = false;

    for (size_t i = 0; i < json_array_size(list); i++) {
        add_finding(step, json_array_get(list, i));
        crash |= !strcmp(summary_file_text(json_array_get(list, i), "kind"),
                         "crash");
    }
    /* the end of the step may be a fault although no finding exists */
    if (!crash && json_is_true(summary_file_at(end, "fault")) &&
        step->n_findings < HISTORY_FINDINGS)
        step->findings[step->n_findings++] =
            (struct history_finding){.kind = {"crash", 5},
                                     .node = text_of(end, "node"),
                                     .rank = count_of(end, "world_rank"),
                                     .wait_s = NAN,
                                     .share = NAN,
                                     .cause = text_of(end, "cause"),
                                     .coll = {"", 0}};
    for (size_t i = 0; i < json_array_size(questions); i++) {
        /* whether the question of late ranks had enough data */
        const json_t *one = json_array_get(questions, i);

        if (!strcmp(summary_file_text(one, "key"), "late_rank"))
            step->judged =
                strcmp(summary_file_text(one, "state"), "not_judged") != 0;
    }
}

/* --- bandwidth ------------------------------------------------------------ */

/* The network of a cell: between domains if there are several. */
static struct history_text over(const json_t *row)
{
    struct history_text inter = text_of(row, "inter");

    /* the slower link decides */
    return inter.len && !is_text(inter, "none") && !is_text(inter, "unknown")
               ? inter
               : text_of(row, "fabric");
}

/* Whether both texts are equal. */
static bool same(struct history_text a, struct history_text b)
{
    return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

/* Adds, for each network and function, the size class that took most time. */
static void add_nets(struct history_step *step, const json_t *summary)
{
    const json_t *list = summary_file_at(summary, "network");
    double most[HISTORY_NETS] = {0};

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        const json_t *rate = summary_file_at(row, "net_busbw_gbs");
        struct history_net net = {
            .over = over(row),
            .coll = text_of(row, "coll"),
            .size_bytes = count_of(row, "size_from_bytes"),
            .ops = count_of(row, "ops"),
            .busbw_gbs = real_of(rate, "p50")};
        double time = real_of(row, "time_us");
        size_t n = 0;

        /* the entry of this network and function */
        while (n < step->n_nets && (!same(step->nets[n].over, net.over) ||
                                    !same(step->nets[n].coll, net.coll)))
            n++;
        if (n == HISTORY_NETS || !isfinite(net.busbw_gbs) || !isfinite(time) ||
            (n < step->n_nets && time <= most[n]))
            continue;
        step->n_nets += n == step->n_nets;
        step->nets[n] = net;
        most[n] = time;
    }
}

/* Adds pairs of nodes, those with most data first. Only Send counts: Recv is
 * the other side of the same messages. */
static void add_pairs(struct history_step *step, const json_t *summary)
{
    const json_t *list = summary_file_at(summary, "p2p.node_pairs");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        struct history_pair pair = {.from = text_of(row, "src_host"),
                                    .to = text_of(row, "dst_host"),
                                    .bytes = count_of(row, "bytes"),
                                    .busbw_gbs = real_of(row, "busbw_gbs")};

        if (step->n_pairs < HISTORY_PAIRS && pair.from.len && pair.to.len &&
            !same(pair.from, pair.to) && isfinite(pair.busbw_gbs) &&
            !strcmp(summary_file_text(row, "func"), "Send"))
            step->pairs[step->n_pairs++] = pair;
    }
}

/* --- utilisation ---------------------------------------------------------- */

/* The row of util.series, over all members, that each figure comes from. */
static const struct {
    const char *scope, *metric, *value;
    size_t at;
} samples[] = {
#define FROM(scope, metric, value, member)                                     \
    {                                                                          \
        scope, metric, value, offsetof(struct history_step, member)            \
    }
    FROM("gpu", "sm", "mean", gpu_busy),
    FROM("gpu", "sm", "max", gpu_busy_max),
    FROM("gpu", "memory_used", "max", gpu_memory_max_bytes),
    FROM("gpu", "power", "mean", gpu_power_w),
    FROM("step", "cpu_user", "mean", cpu_cores),
    FROM("step", "cpu_user", "max", cpu_cores_max),
    FROM("step", "memory", "max", memory_max_bytes),
    FROM("node", "cpu_busy", "mean", node_busy),
    FROM("node", "net_in", "max", net_in_max_bps),
    FROM("node", "net_out", "max", net_out_max_bps),
#undef FROM
};

/* Adds the samples over all nodes. */
static void add_util(struct history_step *step, const json_t *summary)
{
    const json_t *list = summary_file_at(summary, "util.series");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        const char *scope = summary_file_text(row, "scope");
        const char *metric = summary_file_text(row, "metric");
        uint64_t first = count_of(row, "first_us");
        uint64_t last = count_of(row, "last_us");

        /* of one node; the row over all nodes has no name */
        if (*summary_file_text(row, "node"))
            continue;
        for (size_t k = 0; k < sizeof(samples) / sizeof(*samples); k++)
            if (!strcmp(samples[k].scope, scope) &&
                !strcmp(samples[k].metric, metric))
                *(double *) (void *) ((char *) step + samples[k].at) =
                    real_of(row, samples[k].value);
        if (!strcmp(scope, "gpu") && !strcmp(metric, "sm")) {
            /* GPU time: how long all GPUs were sampled */
            step->gpus = count_of(row, "members");
            if (step->gpus != UINT64_MAX && last != UINT64_MAX && first <= last)
                step->gpu_s = (double) step->gpus * (double) (last - first) /
                              1e6;
        }
    }
}

/* --- the step ------------------------------------------------------------- */

/* Returns the version of NCCL or RCCL that the tasks have loaded. */
static struct history_text nccl_of(const json_t *job)
{
    const json_t *list = summary_file_at(job, "frameworks");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *name = summary_file_text(one, "name");

        if (!strcmp(name, "nccl") || !strcmp(name, "rccl"))
            return text_of(one, "version");
    }
    return (struct history_text){"", 0};
}

/* Adds what the tasks had loaded, the user's labels, and what the communicators
 * show of the program. */
static void add_program(struct history_step *step, const json_t *job)
{
    const json_t *loaded = summary_file_at(job, "frameworks");
    const json_t *parallel = summary_file_at(job, "parallel");
    const json_t *axes = summary_file_at(parallel, "axes");
    json_t *labels = json_object_get(job, "labels");
    const char *key;
    json_t *value;

    for (size_t i = 0; i < json_array_size(loaded); i++)
        if (step->n_loaded < HISTORY_LOADED)
            step->loaded[step->n_loaded++] = (struct history_named){
                text_of(json_array_get(loaded, i), "name"),
                text_of(json_array_get(loaded, i), "version")};
    json_object_foreach(labels, key, value)
    {
        if (step->n_labels < HISTORY_LABELS && strlen(key) <= HISTORY_TEXT)
            step->labels[step->n_labels++] = (struct history_named){
                {key, (uint32_t) strlen(key)}, text_of(labels, key)};
    }
    step->world_size = count_of(parallel, "world_size");
    for (size_t i = 0; i < json_array_size(axes); i++)
        if (step->n_axes < HISTORY_AXES)
            step->axes[step->n_axes++] = (struct history_axis){
                text_of(json_array_get(axes, i), "axis"),
                count_of(json_array_get(axes, i), "ranks")};
}

/* Fills the step from summary.json. The step borrows its strings. */
static void fill(struct history_step *step, const json_t *summary)
{
    const json_t *job = summary_file_at(summary, "job");
    const json_t *quality = summary_file_at(summary, "quality");
    const json_t *list = summary_file_at(job, "nodelist");

    step->time_us = count_of(job, "created_us");
    step->written_us = count_of(summary, "written_us");
    step->job = count_of(job, "id");
    step->restart = count_of(job, "restart");
    step->step = text_of(job, "step");
    step->user = text_of(job, "user");
    step->account = text_of(job, "account");
    step->partition = text_of(job, "partition");
    step->name = text_of(job, "name");
    /* longer lists are left out, because a part would be wrong */
    if (json_is_string(list) && json_string_length(list) <= HISTORY_LIST)
        step->nodelist = (struct history_text){
            json_string_value(list), (uint32_t) json_string_length(list)};
    step->nodes = count_of(job, "nodes");
    step->tasks = count_of(job, "ntasks");
    step->verdict = text_of(summary_file_at(summary, "verdict"), "word");
    step->coverage = real_of(quality, "coverage");
    step->mode = text_of(job, "nccl_mode");
    step->nccl = nccl_of(job);
    step->slurm = text_of(job, "slurm_version");
    step->jobprof = text_of(summary_file_at(summary, "generator"), "version");
    step->overhead = real_of(summary_file_at(quality, "overhead"), "share");
    step->report_s = real_of(summary, "analysis_us") / 1e6;
    add_program(step, job);
    add_findings(step, summary);
    add_nets(step, summary);
    add_pairs(step, summary);
    add_util(step, summary);
}

/* Makes a line, with its line break, from a step's report. Caller frees *line.
 * Returns -1 and err if there is no report, or the report is not of a job. */
static int make_line(const char *step_dir, char **line, size_t *len,
                     struct jp_error *err)
{
    json_t *summary = summary_file_read(step_dir, SUMMARY_WITHOUT_TABLES, err);
    struct history_step *step = calloc(1, sizeof(*step));
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    int rc = -1;

    /* err is set if summary is missing */
    if (!summary || !step || !out) {
        if (summary)
            error_set(err, "out of memory");
    } else {
        history_step_init(step);
        fill(step, summary);
        /* a report of `jobprof aggregate` */
        if (step->job == UINT64_MAX || step->time_us == UINT64_MAX)
            error_set(err, "%s: does not belong to a job", step_dir);
        else
            rc = history_line_put(step, out, err);
    }
    if (out && fclose(out) != 0 && rc == 0)
        rc = error_set(err, "out of memory");
    /* readers of lines rely on this limit */
    if (rc == 0 && n > HISTORY_LINE)
        rc = error_set(err, "%s: a line of %zu bytes is too long", step_dir, n);
    if (rc == 0) {
        *line = text;
        *len = n;
    } else {
        free(text);
    }
    free(step);
    json_decref(summary);
    return rc;
}

int history_add(const struct history_sink *sink, const char *dir,
                struct jp_error *err)
{
    struct stat st;
    char *line = NULL;
    size_t len = 0;
    int rc;

    if (stat(dir, &st) < 0)
        return error_set(err, "%s: %m", dir);
    /* readers trust a line only in the folder of the step's user */
    if (st.st_uid != geteuid())
        return error_set(err,
                         "%s: belongs to user %lu, who has to add its line",
                         dir, (unsigned long) st.st_uid);
    if (make_line(dir, &line, &len, err) < 0)
        return -1;
    rc = history_sink_write(sink, line, len, err);
    free(line);
    return rc;
}
