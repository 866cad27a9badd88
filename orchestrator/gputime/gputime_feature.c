/* gputime_feature.c - what traces of kernels show, as a feature of reports: the
 * time of each process and step, and what a process did longer than its peers.
 *
 * The traces are those of PyTorch's profiler, and what a feature gives as such
 * (operations_file). They are read with the operations (plugins/traced.h) and
 * compared by insight/ownwork.h, so this feature reads nothing itself. */
#include "orchestrator/gputime/gputime_feature.h"

#include <math.h>
#include <stdio.h>

#include "common/figure.h"
#include "orchestrator/insight/insight.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/report.h"
#include "orchestrator/report/sections.h"
#include "orchestrator/report/tables.h"

static bool is_present(const struct jp_report *report)
{
    return report->insight && report->insight->ownwork.n;
}

/* Returns the traced processes; an empty list without them. */
static const struct traced_list *list_of(const struct jp_report *report)
{
    static const struct traced_list none;

    return is_present(report) ? report->insight->ownwork.list : &none;
}

static const struct jp_ownwork_process *own_of(const struct jp_row *row)
{
    return &row->report->insight->ownwork.of[row->index];
}

/* --- processes ------------------------------------------------------------ */

static size_t count_processes(const struct jp_report *report)
{
    return list_of(report)->n;
}

static void find_process(struct jp_row *row)
{
    row->at = &list_of(row->report)->at[row->index];
}

/* Microseconds of a time of the trace, if it has times. */
#define TIME(name, member)                                                     \
    JP_GETTER(gtime_##name, traced,                                            \
              value_known(v, at->has_times, at->all.member / 1000))
TIME(length, length_ns)
TIME(own, own_ns)
TIME(comm, comm_ns)
TIME(exposed, exposed_ns)
TIME(idle, idle_ns)
#undef TIME

JP_GETTER(gtime_steps, traced, value_count(v, at->n_steps + at->left_steps))
JP_GETTER(gtime_rank, traced, value_signed(v, at->rank))
JP_GETTER(gtime_host, traced, value_name(v, at->host))
JP_GETTER(gtime_pid, traced, value_signed(v, at->pid))
JP_GETTER(gtime_source, traced, value_text(v, at->source))
JP_GETTER(gtime_share, traced,
          value_finite(v, at->has_times && at->all.length_ns
                              ? (double) at->all.exposed_ns /
                                    (double) at->all.length_ns
                              : NAN))

static void get_gtime_peers(const struct jp_row *row, struct jp_value *v)
{
    value_count(v, own_of(row)->peers);
}

static void get_gtime_more(const struct jp_row *row, struct jp_value *v)
{
    value_finite(v, own_of(row)->more_us);
}

static void get_gtime_own_more(const struct jp_row *row, struct jp_value *v)
{
    value_finite(v, own_of(row)->own_more_us);
}

static void get_gtime_idle_more(const struct jp_row *row, struct jp_value *v)
{
    value_finite(v, own_of(row)->idle_more_us);
}

#define FIELD(member) JP_FIELD(struct traced, member)
static const struct jp_column process_columns[] = {
    {"rank", JP_COL_RANK, JP_CSV | JP_MAYBE, 1, 1, 1, "Rank",
     "of the job, by the trace", .get = get_gtime_rank},
    {"host", JP_COL_TEXT, JP_CSV | JP_MAYBE, 2, 2, 2, "Host",
     "by the trace or its name", .width = 14, .get = get_gtime_host},
    {"pid", JP_COL_PID, JP_CSV | JP_MAYBE, 3, .help = "process id",
     .get = get_gtime_pid},
    {"source", JP_COL_TEXT, JP_CSV, 4, 3, 0, "Source",
     "profiler that wrote the trace; \"Kineto\": PyTorch's",
     .get = get_gtime_source},
    {"steps", JP_COL_COUNT, JP_CSV, 5, 4, 3, "Steps",
     "of the program, by its annotations; 0: the trace has none",
     .get = get_gtime_steps},
    {"kernels", JP_COL_COUNT, JP_CSV, 6, 5, 4, "Kernels", "that ran",
     FIELD(kernels)},
    {"comm_kernels", JP_COL_COUNT, JP_CSV, 7, 6, 0, "of NCCL",
     "of these, NCCL's or RCCL's", FIELD(comm_kernels)},
    {"length_us", JP_COL_US, JP_CSV | JP_MAYBE, 8, 7, 5, "Time",
     "from the start of the first step to the end of the last one; without "
     "steps: from the first to the last kernel",
     .get = get_gtime_length},
    {"own_us", JP_COL_US, JP_CSV | JP_MAYBE, 9, 8, 6, "Own",
     "of that, own kernels ran", .get = get_gtime_own},
    {"comm_us", JP_COL_US, JP_CSV | JP_MAYBE, 10, 9, 7, "In NCCL",
     "of that, kernels of communication ran; the wait for other ranks is in it",
     .get = get_gtime_comm},
    {"exposed_us", JP_COL_US, JP_CSV | JP_MAYBE, 11, 10, 8, "Exposed",
     "of that, kernels of communication ran and no own kernel did",
     .get = get_gtime_exposed},
    {"exposed_share", JP_COL_SHARE, JP_CSV | JP_MAYBE | JP_BAR, 12, 11, 9,
     "Share", "exposed_us / length_us", .get = get_gtime_share},
    {"idle_us", JP_COL_US, JP_CSV | JP_MAYBE, 13, 12, 10, "Idle",
     "of that, no kernel ran", .get = get_gtime_idle},
    {"peers", JP_COL_COUNT, JP_CSV, 14, 13, 0, "Peers",
     "other processes with as many steps and mostly the same kernels; at most "
     "64",
     .get = get_gtime_peers},
    {"more_us", JP_COL_US, JP_CSV | JP_MAYBE | JP_REAL, 15, 14, 11, "Longer",
     "own time (own kernels or idle) a step beyond the peers' median; without "
     "steps: of the whole trace",
     .get = get_gtime_more},
    {"own_more_us", JP_COL_US, JP_CSV | JP_MAYBE | JP_REAL, 16, 15, 0,
     "in kernels", "the same, of own kernels", .get = get_gtime_own_more},
    {"idle_more_us", JP_COL_US, JP_CSV | JP_MAYBE | JP_REAL, 17, 16, 0, "idle",
     "the same, without any kernel", .get = get_gtime_idle_more},
    {"left_kernels", JP_COL_COUNT, JP_CSV, 18,
     .help = "beyond the limit of a file; then all times are unknown",
     FIELD(left)},
};
#undef FIELD

const struct jp_table table_gpu_time = {
    .name = "gpu_time",
    .json = "gpu_time.processes",
    .help = "one row per process with a trace of its kernels",
    JP_COLUMNS(process_columns),
    .count = count_processes,
    .find = find_process,
    .max_json = 4096,
    .max_html = 200,
    .max_text = 16,
    .title = "GPUs' time by traces of kernels",
};

/* --- steps ---------------------------------------------------------------- */

static size_t count_steps(const struct jp_report *report)
{
    const struct traced_list *list = list_of(report);
    size_t n = 0;

    for (size_t i = 0; i < list->n; i++)
        n += list->at[i].n_steps;
    return n;
}

/* Returns the process of a row of steps, and the step. */
static const struct traced *step_at(const struct jp_report *report, size_t row,
                                    const struct traced_step **step)
{
    const struct traced *t = list_of(report)->at;

    while (row >= t->n_steps)
        row -= t++->n_steps;
    *step = &t->steps[row];
    return t;
}

static void find_step(struct jp_row *row)
{
    const struct traced_step *step;

    step_at(row->report, row->index, &step);
    row->at = step;
}

static void get_gstep_rank(const struct jp_row *row, struct jp_value *v)
{
    const struct traced_step *step;

    value_signed(v, step_at(row->report, row->index, &step)->rank);
}

static void get_gstep_pid(const struct jp_row *row, struct jp_value *v)
{
    const struct traced_step *step;

    value_signed(v, step_at(row->report, row->index, &step)->pid);
}

JP_GETTER(gstep_number, traced_step, value_signed(v, at->number))
JP_GETTER(gstep_start, traced_step, value_count(v, at->start_ns / 1000))
JP_GETTER(gstep_length, traced_step, value_count(v, at->time.length_ns / 1000))
JP_GETTER(gstep_own, traced_step, value_count(v, at->time.own_ns / 1000))
JP_GETTER(gstep_comm, traced_step, value_count(v, at->time.comm_ns / 1000))
JP_GETTER(gstep_exposed, traced_step,
          value_count(v, at->time.exposed_ns / 1000))
JP_GETTER(gstep_idle, traced_step, value_count(v, at->time.idle_ns / 1000))

static const struct jp_column step_columns[] = {
    {"rank", JP_COL_RANK, JP_CSV | JP_MAYBE, 1, 1, 0, "Rank", "of the job",
     .get = get_gstep_rank},
    {"pid", JP_COL_PID, JP_CSV | JP_MAYBE, 2, .help = "process id",
     .get = get_gstep_pid},
    {"step", JP_COL_NUMBER, JP_CSV, 3, 2, 0, "Step",
     "the number in ProfilerStep#", .get = get_gstep_number},
    {"start_us", JP_COL_COUNT, JP_CSV, 4,
     .help = "its start on the host, since 1970 if the trace says so",
     .get = get_gstep_start},
    {"length_us", JP_COL_US, JP_CSV, 5, 3, 0, "Time", "on the host",
     .get = get_gstep_length},
    {"own_us", JP_COL_US, JP_CSV, 6, 4, 0, "Own", "own kernels ran meanwhile",
     .get = get_gstep_own},
    {"comm_us", JP_COL_US, JP_CSV, 7, 5, 0, "In NCCL",
     "kernels of communication ran meanwhile", .get = get_gstep_comm},
    {"exposed_us", JP_COL_US, JP_CSV, 8, 6, 0, "Exposed",
     "kernels of communication ran and no own kernel did",
     .get = get_gstep_exposed},
    {"idle_us", JP_COL_US, JP_CSV, 9, 7, 0, "Idle", "no kernel ran meanwhile",
     .get = get_gstep_idle},
};

const struct jp_table table_gpu_steps = {
    .name = "gpu_steps",
    .json = "gpu_time.steps",
    .help = "one row per process and step that a trace of kernels names",
    JP_COLUMNS(step_columns),
    .count = count_steps,
    .find = find_step,
    .max_json = 4096,
    .max_html = 100,
    .title = "Steps by traces of kernels",
};

/* --- what took longer ----------------------------------------------------- */

static size_t count_own(const struct jp_report *report)
{
    return is_present(report) ? report->insight->ownwork.n_rows : 0;
}

static void find_own(struct jp_row *row)
{
    row->at = &row->report->insight->ownwork.rows[row->index];
}

static void get_gown_rank(const struct jp_row *row, struct jp_value *v)
{
    const struct jp_ownwork_row *at = row->at;

    value_signed(v, list_of(row->report)->at[at->process].rank);
}

static void get_gown_pid(const struct jp_row *row, struct jp_value *v)
{
    const struct jp_ownwork_row *at = row->at;

    value_signed(v, list_of(row->report)->at[at->process].pid);
}

JP_GETTER(gown_kind, jp_ownwork_row,
          value_text(v, at->kind == JP_OWNWORK_KERNEL ? "kernel" : "call"))
JP_GETTER(gown_name, jp_ownwork_row, value_text(v, at->name))
JP_GETTER(gown_n, jp_ownwork_row, value_real(v, at->n))
JP_GETTER(gown_us, jp_ownwork_row, value_real(v, at->us))
JP_GETTER(gown_peers_n, jp_ownwork_row, value_real(v, at->peers_n))
JP_GETTER(gown_peers_us, jp_ownwork_row, value_real(v, at->peers_us))
JP_GETTER(gown_more, jp_ownwork_row, value_real(v, at->us - at->peers_us))

static const struct jp_column own_columns[] = {
    {"rank", JP_COL_RANK, JP_CSV | JP_MAYBE, 1, 1, 1, "Rank", "of the job",
     .get = get_gown_rank},
    {"pid", JP_COL_PID, JP_CSV | JP_MAYBE, 2, .help = "process id",
     .get = get_gown_pid},
    {"kind", JP_COL_TEXT, JP_CSV, 3, 2, 2, "Kind",
     "\"kernel\" of its own, or \"call\" on the host, with what that called in "
     "turn",
     .width = 8, .get = get_gown_kind},
    {"name", JP_COL_TEXT, JP_CSV, 4, 3, JP_LAST, "Name",
     "of the kernel or call", .get = get_gown_name},
    {"count", JP_COL_NUMBER, JP_CSV | JP_REAL, 5, 4, 3, "Times",
     "a step; without steps: in the whole trace. The same for all others",
     .get = get_gown_n},
    {"us", JP_COL_US, JP_CSV | JP_REAL, 6, 5, 4, "Took", "on this rank",
     .get = get_gown_us},
    {"peers_count", JP_COL_NUMBER, JP_CSV | JP_REAL, 7, 6, 0, "Peers' times",
     "the median over the peers", .get = get_gown_peers_n},
    {"peers_us", JP_COL_US, JP_CSV | JP_REAL, 8, 7, 5, "Peers",
     "the median over the peers", .get = get_gown_peers_us},
    {"more_us", JP_COL_US, JP_CSV | JP_REAL, 9, 8, 6, "Longer", "us - peers_us",
     .get = get_gown_more},
};

/* The longest differences come first. */
const struct jp_table table_gpu_own = {
    .name = "gpu_own",
    .json = "gpu_time.own",
    .help = "what a process did longer than its peers, up to five kernels and "
            "five calls of each process",
    JP_COLUMNS(own_columns),
    .count = count_own,
    .find = find_own,
    .by_weight = true,
    .worst = "more_us",
    .max_json = 10000,
    .max_html = 100,
    .max_text = 10,
    .title = "What took longer than on the peers, by traces of kernels",
};

/* --- all of it ------------------------------------------------------------ */

static const struct jp_table *const gpu_tables[] = {
    &table_gpu_time, &table_gpu_steps, &table_gpu_own, NULL};

static void put_json(struct jp_json_stream *s, const char *key,
                     const struct jp_report *report)
{
    char text[2 * JP_OWNWORK_TEXT];

    json_stream_object(s, key);
    /* {} without traces */
    if (is_present(report)) {
        json_stream_text(s, "text",
                         ownwork_summary(&report->insight->ownwork, text));
        tables_json(s, gpu_tables, report, 0);
    }
    json_stream_end_object(s);
}

static void put_lines(const struct jp_report *report, FILE *out)
{
    char text[2 * JP_OWNWORK_TEXT];

    text_out_fact(out, "GPUs by traces",
                  ownwork_summary(&report->insight->ownwork, text));
}

static int put_text(const struct jp_report *report, FILE *out)
{
    static const struct jp_table *const list[] = {&table_gpu_time,
                                                  &table_gpu_own, NULL};

    return tables_text(list, report, out);
}

static int put_html(const struct jp_report *report, FILE *out)
{
    char text[2 * JP_OWNWORK_TEXT];

    fputs("<p>", out);
    html_out_text(out, ownwork_summary(&report->insight->ownwork, text));
    fputs(".</p>\n", out);
    return tables_html(gpu_tables, report, out);
}

/* "4 processes" */
static bool put_figure(const struct jp_report *report, char *buf)
{
    size_t n = count_processes(report);

    snprintf(buf, DRAWER_FIGURE, "%s process%s", FIG_COUNT(n),
             n == 1 ? "" : "es");
    return n > 0;
}

static const struct jp_html_section sections[] = {
    {.id = "gpu-time",
     .title = "GPUs by traces of kernels",
     .note = "How long own kernels and those of NCCL ran on each rank, how "
             "much communication no kernel hid, and what a rank did longer "
             "than its peers: ranks with mostly the same kernels. "
             "csv/gpu_time.csv, gpu_steps.csv and gpu_own.csv have all rows.",
     .kind = JP_HTML_WIDE,
     .put = put_html,
     .figure = put_figure,
     .before = "operations",
     .order = 3},
    {.id = NULL},
};

/* --- verdict -------------------------------------------------------------- */

/* Whether traces of kernels are all that there is, and none of their
 * collectives could be joined. */
static bool has_only_traces(const struct verdict_input *in)
{
    const struct jp_result *r = in->result;

    return in->analysed && in->insight && r && r->traced.n &&
           !r->quality.records && !r->quality.recordings &&
           r->quality.files == r->quality.kernel_traces;
}

enum { REASON_EMPTY, REASON_ALONE, N_REASONS };
static const struct jp_reason_row reasons[N_REASONS + 1] = {
    [REASON_EMPTY] =
        {JP_REASON_OF("no_events", NODATA),
         .situation = "traces of PyTorch's profiler have no event of a program",
         .checks = {"Did the profiler reach an active step? Its schedule first "
                    "waits and warms up, and prof.step() counts."},
         .command = {"jobprof aggregate --help", false, false}},
    [REASON_ALONE] = {JP_REASON_OF("traces_only", UNJUDGED),
                      .situation = "there are only traces of kernels, and "
                                   "their collectives cannot be joined"},
};

/* Whether no trace has a kernel, or an event of a process. */
static bool has_no_events(const struct traced_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->at[i].kernels || list->at[i].pid >= 0)
            return false;
    return true;
}

/* Replaces a verdict about missing records: the traces have kernels of NCCL,
 * but do not say which belong together, or they have none. */
static void judge_traces(const void *data, const struct verdict_input *in,
                         bool alone, struct jp_verdict *verdict)
{
    uint64_t kernels = 0;
    char text[2 * JP_OWNWORK_TEXT];
    struct jp_sentence s;

    (void) data;
    (void) alone;
    if (!has_only_traces(in) || verdict->word != JP_VERDICT_NODATA)
        return;
    if (has_no_events(&in->result->traced)) {
        sentence_init(&s, verdict->text, sizeof(verdict->text));
        sentence_add(&s, "the trace%s no event of a program",
                     in->result->traced.n == 1 ? " has" : "s have");
        verdict_set_reason(verdict, &reasons[REASON_EMPTY]);
        return;
    }
    for (size_t i = 0; i < in->result->traced.n; i++)
        kernels += in->result->traced.at[i].comm_kernels;
    sentence_init(&s, verdict->text, sizeof(verdict->text));
    if (kernels)
        sentence_add(&s, "no collective of the traces could be joined with "
                         "those of other ranks");
    else
        sentence_add(&s, "the traces hold no kernel of NCCL or RCCL");
    sentence_add(&s, "%s", ownwork_summary(&in->insight->ownwork, text));
    verdict->word = JP_VERDICT_UNJUDGED;
    verdict_set_reason(verdict, &reasons[REASON_ALONE]);
}

/* --- the feature ---------------------------------------------------------- */

const struct feature feature_gputime = {
    .name = "gpu_time",
    .title = "traces of kernels",
    .role = FEATURE_FIGURES,
    .present = is_present,
    .judge = judge_traces,
    .reasons = reasons,
    .tables = gpu_tables,
    .json = put_json,
    .lines = put_lines,
    .text = put_text,
    .sections = sections,
};
