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

/* Borrows a text of the summary; a long one is cut. */
static struct history_text text_of(const char *at)
{
    size_t n = strlen(at);

    if (n > HISTORY_TEXT) /* do not cut a character in half */
        for (n = HISTORY_TEXT; n && (at[n] & 0xc0) == 0x80; n--)
            ;
    return (struct history_text){at, (uint32_t) n};
}

static bool is_text(struct history_text text, const char *word)
{
    return text.len == strlen(word) && memcmp(text.at, word, text.len) == 0;
}

/* Negative values are invalid: a line has none. */
static double real_of(double value)
{
    return value >= 0 ? value : NAN;
}

/* --- findings ------------------------------------------------------------- */

/* Adds a finding, and its wait to that of the step. Findings are sorted, the
 * worst first. */
static void add_finding(struct history_step *step,
                        const struct summary_finding *row)
{
    double wait = real_of(row->cost_us) / 1e6;
    struct history_finding *f;

    if (step->n_findings == HISTORY_FINDINGS)
        return;
    f = &step->findings[step->n_findings++];
    *f = (struct history_finding){
        .kind = text_of(row->kind),
        .node = text_of(row->host),
        .rank = row->world_rank,
        .wait_s = wait,
        .share = real_of(row->share),
        .cause = text_of(row->n_causes ? row->causes[0].what : ""),
        .coll = text_of(row->coll)};
    /* other kinds of findings have a cost, but no waiting ranks */
    if (isfinite(wait) &&
        (is_text(f->kind, "late_rank") || is_text(f->kind, "late_node") ||
         is_text(f->kind, "stall")))
        step->wait_s = isfinite(step->wait_s) ? step->wait_s + wait : wait;
}

/* Adds all findings, and whether late ranks were looked for. */
static void add_findings(struct history_step *step,
                         const struct summary_file *s)
{
    bool crash = false;

    for (size_t i = 0; i < s->n_findings; i++) {
        add_finding(step, &s->findings[i]);
        crash |= !strcmp(s->findings[i].kind, "crash");
    }
    /* the end of the step may be a fault although no finding exists */
    if (!crash && s->end.fault && step->n_findings < HISTORY_FINDINGS)
        step->findings[step->n_findings++] =
            (struct history_finding){.kind = {"crash", 5},
                                     .node = text_of(s->end.node),
                                     .rank = s->end.world_rank,
                                     .wait_s = NAN,
                                     .share = NAN,
                                     .cause = text_of(s->end.cause),
                                     .coll = {"", 0}};
    /* whether the question of late ranks had enough data */
    for (size_t i = 0; i < s->n_hypotheses; i++)
        if (!strcmp(s->hypotheses[i].key, "late_rank"))
            step->judged = strcmp(s->hypotheses[i].state, "not_judged") != 0;
}

/* --- bandwidth ------------------------------------------------------------ */

/* The network of a cell: between domains if there are several. */
static struct history_text over(const struct summary_network *row)
{
    struct history_text inter = text_of(row->inter);

    /* the slower link decides */
    return inter.len && !is_text(inter, "none") && !is_text(inter, "unknown")
               ? inter
               : text_of(row->fabric);
}

/* Whether both texts are equal. */
static bool is_same_text(struct history_text a, struct history_text b)
{
    return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

/* Adds, for each network and function, the size class that took most time. */
static void add_nets(struct history_step *step, const struct summary_file *s)
{
    double most[HISTORY_NETS] = {0};

    for (size_t i = 0; i < s->n_network; i++) {
        const struct summary_network *row = &s->network[i];
        struct history_net net = {.over = over(row),
                                  .coll = text_of(row->coll),
                                  .size_bytes = row->size_from_bytes,
                                  .ops = row->ops,
                                  .busbw_gbs = real_of(row->net_busbw_gbs.p50)};
        double time = real_of(row->time_us);
        size_t n = 0;

        /* the entry of this network and function */
        while (n < step->n_nets &&
               (!is_same_text(step->nets[n].over, net.over) ||
                !is_same_text(step->nets[n].coll, net.coll)))
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
static void add_pairs(struct history_step *step, const struct summary_file *s)
{
    for (size_t i = 0; i < s->p2p.n_node_pairs; i++) {
        const struct summary_pair *row = &s->p2p.node_pairs[i];
        struct history_pair pair = {.from = text_of(row->src_host),
                                    .to = text_of(row->dst_host),
                                    .bytes = row->bytes,
                                    .busbw_gbs = real_of(row->busbw_gbs)};

        if (step->n_pairs < HISTORY_PAIRS && pair.from.len && pair.to.len &&
            !is_same_text(pair.from, pair.to) && isfinite(pair.busbw_gbs) &&
            !strcmp(row->func, "Send"))
            step->pairs[step->n_pairs++] = pair;
    }
}

/* --- utilisation ---------------------------------------------------------- */

/* The row of the samples' series, over all members, that each figure comes
 * from.
 */
static const struct {
    const char *scope, *metric;
    size_t value; /* in the row */
    size_t at;
} samples[] = {
#define FROM(scope, metric, value, member)                                     \
    {                                                                          \
        scope, metric, offsetof(struct summary_series, value),                 \
            offsetof(struct history_step, member)                              \
    }
    FROM("gpu", "sm", mean, gpu_busy),
    FROM("gpu", "sm", max, gpu_busy_max),
    FROM("gpu", "memory_used", max, gpu_memory_max_bytes),
    FROM("gpu", "power", mean, gpu_power_w),
    FROM("step", "cpu_user", mean, cpu_cores),
    FROM("step", "cpu_user", max, cpu_cores_max),
    FROM("step", "memory", max, memory_max_bytes),
    FROM("node", "cpu_busy", mean, node_busy),
    FROM("node", "net_in", max, net_in_max_bps),
    FROM("node", "net_out", max, net_out_max_bps),
#undef FROM
};

/* Adds the samples over all nodes. */
static void add_samples(struct history_step *step, const struct summary_file *s)
{
    for (size_t i = 0; i < s->samples.n_series; i++) {
        const struct summary_series *row = &s->samples.series[i];

        /* of one node; the row over all nodes has no name */
        if (*row->node)
            continue;
        for (size_t k = 0; k < sizeof(samples) / sizeof(*samples); k++)
            if (!strcmp(samples[k].scope, row->scope) &&
                !strcmp(samples[k].metric, row->metric))
                *(double *) (void *) ((char *) step + samples[k].at) = real_of(
                    *(const double *) (const void *) ((const char *) row +
                                                      samples[k].value));
        if (!strcmp(row->scope, "gpu") && !strcmp(row->metric, "sm")) {
            /* GPU time: how long all GPUs were sampled */
            step->gpus = row->members;
            if (step->gpus != JSON_UNKNOWN && row->last_us != JSON_UNKNOWN &&
                row->first_us <= row->last_us)
                step->gpu_s = (double) step->gpus *
                              (double) (row->last_us - row->first_us) / 1e6;
        }
    }
}

/* --- the step ------------------------------------------------------------- */

/* Returns the version of NCCL or RCCL that the tasks have loaded. */
static struct history_text nccl_of(const struct summary_file *s)
{
    for (size_t i = 0; i < s->job.n_frameworks; i++) {
        const struct summary_framework *one = &s->job.frameworks[i];

        if (!strcmp(one->name, "nccl") || !strcmp(one->name, "rccl"))
            return text_of(one->version);
    }
    return (struct history_text){"", 0};
}

/* Adds what the tasks had loaded, the user's labels, and what the communicators
 * show of the program. */
static void add_program(struct history_step *step, const struct summary_file *s)
{
    for (size_t i = 0; i < s->job.n_frameworks; i++)
        if (step->n_loaded < HISTORY_LOADED)
            step->loaded[step->n_loaded++] =
                (struct history_named){text_of(s->job.frameworks[i].name),
                                       text_of(s->job.frameworks[i].version)};
    for (size_t i = 0; i < s->job.n_labels; i++)
        if (step->n_labels < HISTORY_LABELS &&
            strlen(s->job.labels[i].key) <= HISTORY_TEXT)
            step->labels[step->n_labels++] = (struct history_named){
                text_of(s->job.labels[i].key), text_of(s->job.labels[i].value)};
    step->world_size = s->job.parallel.world_size;
    for (size_t i = 0; i < s->job.parallel.n_axes; i++)
        if (step->n_axes < HISTORY_AXES)
            step->axes[step->n_axes++] =
                (struct history_axis){text_of(s->job.parallel.axes[i].axis),
                                      s->job.parallel.axes[i].ranks};
}

/* Fills the step from summary.json. The step borrows its strings. */
static void fill_step(struct history_step *step, const struct summary_file *s)
{
    size_t len = strlen(s->job.nodelist);

    step->time_us = s->job.created_us;
    step->written_us = s->written_us;
    step->job = s->job.id;
    step->restart = s->job.restart;
    step->step = text_of(s->job.step);
    step->user = text_of(s->job.user);
    step->account = text_of(s->job.account);
    step->partition = text_of(s->job.partition);
    step->name = text_of(s->job.name);
    /* longer lists are left out, because a part would be wrong */
    if (len <= HISTORY_LIST)
        step->nodelist = (struct history_text){s->job.nodelist, (uint32_t) len};
    step->nodes = s->job.nodes;
    step->tasks = s->job.ntasks;
    step->verdict = text_of(s->verdict.word);
    step->coverage = real_of(s->quality.coverage);
    step->mode = text_of(s->job.nccl_mode);
    step->nccl = nccl_of(s);
    step->slurm = text_of(s->job.slurm_version);
    step->jobprof = text_of(s->generator.version);
    step->overhead = real_of(s->quality.overhead.share);
    step->report_s = real_of(s->analysis_us) / 1e6;
    add_program(step, s);
    add_findings(step, s);
    add_nets(step, s);
    add_pairs(step, s);
    add_samples(step, s);
}

/* Makes a line, with its line break, from a step's report. Caller frees *line.
 * Returns -1 and err if there is no report, or the report is not of a job. */
static int make_line(const char *step_dir, char **line, size_t *len,
                     struct jp_error *err)
{
    struct summary_file summary;
    bool read =
        summary_file_read(step_dir, SUMMARY_WITHOUT_TABLES, &summary, err) == 0;
    struct history_step *step = calloc(1, sizeof(*step));
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    int rc = -1;

    /* err is set if it cannot be read */
    if (!read || !step || !out) {
        if (read)
            error_set(err, "out of memory");
    } else {
        history_step_init(step);
        fill_step(step, &summary);
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
    summary_file_fini(&summary);
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
