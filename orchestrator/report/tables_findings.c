/* tables_findings.c - the columns of findings, and of attempts. See tables.c.
 *
 * In summary.json what coincides with a finding is a part of it (coincides of
 * struct feature). */
#include <inttypes.h>
#include <math.h>

#include "common/figure.h"
#include "orchestrator/feature/feature.h"
#include "orchestrator/insight/plain.h"
#include "orchestrator/report/tables.h"

/* --- findings ------------------------------------------------------------- */

static size_t count_findings(const struct jp_report *report)
{
    return report->insight && report->result ? report->insight->findings.n : 0;
}

static void find_finding(struct jp_row *row)
{
    row->at = &row->report->insight->findings.at[row->index];
}

/* the words of the schema for expectation_word */
static const char *const against[] = {"peaks", "baseline", "likes", "own"};
/* the words of the schema for finding_gains */
static const char *const gain_kinds[] = {"replayed", "part", "bound"};

/* Returns the finding's communicator; NULL if it concerns several. */
static const struct jp_comm *comm_of(const struct jp_row *row)
{
    const struct jp_finding *f = row->at;

    return f->comm >= 0 && (uint64_t) f->comm < row->result->n_comms
               ? &row->result->comms[f->comm]
               : NULL;
}

/* Formats "rank 19 (gpu-node-0312, pid 4711), in TP1", as far as it is known.
 */
static void get_finding_where(const struct jp_row *row, struct jp_value *v)
{
    const struct jp_finding *f = row->at;
    const struct jp_comm *comm = comm_of(row);
    const char *in = !comm                       ? ""
                     : comm->name && *comm->name ? comm->name
                                                 : comm->id;
    char rank[80] = "", place[140] = "";

    /* the rank in the job, else the process's own name, else the rank in its
     * communicator */
    if (f->world_rank >= 0)
        snprintf(rank, sizeof(rank), "rank %" PRId64, f->world_rank);
    else if (*f->name)
        snprintf(rank, sizeof(rank), "rank %s", f->name);
    else if (f->rank >= 0)
        snprintf(rank, sizeof(rank), "rank %" PRId64 " there", f->rank);
    if (f->pid >= 0)
        snprintf(place, sizeof(place), "%.100s%spid %" PRId64, f->host,
                 *f->host ? ", " : "", f->pid);
    else
        snprintf(place, sizeof(place), "%.100s", f->host);
    snprintf(v->buf, sizeof(v->buf), "%s%s%s%s%s%.64s", rank,
             *rank && *place ? " (" : "", place, *rank && *place ? ")" : "",
             *in && (*rank || *place) ? ", in " : "", in);
    value_text(v, v->buf);
}

/* The plain text needs a buffer of its own, because v->buf is also its result.
 */
static void get_finding_plain(const struct jp_row *row, struct jp_value *v)
{
    char text[JP_PLAIN_TEXT];

    snprintf(v->buf, sizeof(v->buf), "%s",
             plain_finding(row->at, row->result, text));
    value_text(v, v->buf);
}

static void get_finding_comm(const struct jp_row *row, struct jp_value *v)
{
    value_text(v, comm_of(row) ? comm_of(row)->id : NULL);
}

/* Formats the start of the finding; unknown if it lasted for the whole run. */
static void get_finding_since(const struct jp_row *row, struct jp_value *v)
{
    const struct jp_finding *f = row->at;

    value_text(v, isfinite(f->from_us) && f->from_us > 0
                      ? figure_utc((uint64_t) f->from_us, v->buf)
                      : NULL);
}

/* Below 0 or NaN: unknown. */
static void value_positive(struct jp_value *v, double value)
{
    value_finite(v, value >= 0 ? value : NAN);
}

JP_GETTER(finding_kind, jp_finding, value_text(v, finding_kind_name(at->kind)))
JP_GETTER(finding_comm_index, jp_finding, value_signed(v, at->comm))
JP_GETTER(finding_rank, jp_finding, value_signed(v, at->rank))
JP_GETTER(finding_world_rank, jp_finding, value_signed(v, at->world_rank))
JP_GETTER(finding_host, jp_finding, value_name(v, at->host))
JP_GETTER(finding_pid, jp_finding, value_signed(v, at->pid))
/* a double beyond int64_t must not be converted */
JP_GETTER(finding_cost, jp_finding,
          value_signed(v, isfinite(at->cost_us) && at->cost_us < 1e18
                              ? (int64_t) at->cost_us
                              : -1))
JP_GETTER(finding_gpu_time, jp_finding, value_positive(v, at->cost_us))
JP_GETTER(finding_of_run, jp_finding, value_positive(v, at->of_run))
JP_GETTER(finding_gain, jp_finding, value_positive(v, at->gain))
JP_GETTER(finding_gain_last, jp_finding, value_positive(v, at->gain_last))
JP_GETTER(finding_gain_all, jp_finding, value_positive(v, at->gain_all))
JP_GETTER(finding_gain_kind, jp_finding,
          value_text(v, finding_gains[at->gain_kind]))
JP_GETTER(finding_low, jp_finding, value_positive(v, at->low))
JP_GETTER(finding_high, jp_finding, value_positive(v, at->high))
JP_GETTER(finding_evidence, jp_finding,
          value_known(v, at->evidence > 0, at->evidence))
JP_GETTER(finding_part, jp_finding,
          value_text(v, at->share >= 0 ? finding_share(at, v->buf) : NULL);
          v->real = at->share)
JP_GETTER(finding_against, jp_finding,
          value_text(v, expectation_word(at->against)))
JP_GETTER(finding_text, jp_finding, value_text(v, at->text))
JP_GETTER(finding_phase, jp_finding,
          value_text(v, *at->phase ? at->phase : NULL))
JP_GETTER(finding_phase_share, jp_finding,
          value_finite(v, *at->phase ? at->phase_share : NAN))
JP_GETTER(finding_next, jp_finding, value_text(v, at->next))

/* Lists the kinds of causes that the samples could have shown, also without a
 * hit. */
static void get_finding_looked_at(const struct jp_row *row, struct jp_value *v)
{
    struct feature_coincidence with = {.looked = NULL};

    feature_coincides(row->report->features, row->index, &with);
    v->type = JP_VALUE_LIST;
    v->n = with.n_looked;
    v->list = with.looked;
}

/* The sentence on the strongest cause; unknown if no cause was looked for. */
static void get_finding_why(const struct jp_row *row, struct jp_value *v)
{
    struct feature_coincidence with = {.why = NULL};

    feature_coincides(row->report->features, row->index, &with);
    value_text(v, with.why);
}

#define FIELD(member) JP_FIELD(struct jp_finding, member)
/* new keys come last in JSON; where and part are for the page only */
static const struct jp_column findings[] = {
    {"kind", JP_COL_WORD, 0, 1, 1, 0, "Kind", "what is wrong",
     .get = get_finding_kind},
    {"comm", JP_COL_ID, JP_MAYBE, 2,
     .help = "id of the communicator where it begins; null: several",
     .get = get_finding_comm},
    {"comm_index", JP_COL_RANK, JP_MAYBE, 3,
     .help = "index of the communicator in comms",
     .get = get_finding_comm_index},
    {"coll", JP_COL_TEXT, JP_MAYBE, 4, .help = "NCCL's function; null: several",
     FIELD(coll)},
    {"rank", JP_COL_RANK, JP_MAYBE, 5, .help = "in that communicator",
     .get = get_finding_rank},
    {"world_rank", JP_COL_RANK, JP_MAYBE, 6,
     .help = "the number that the launcher gave the process (RANK and the "
             "like), else Slurm's task id, else the rank in a communicator of "
             "all processes",
     .get = get_finding_world_rank},
    {"host", JP_COL_TEXT, JP_MAYBE, 7, .help = "where it ran",
     .get = get_finding_host},
    {"pid", JP_COL_PID, JP_MAYBE, 8, .help = "process id on the host",
     .get = get_finding_pid},
    {"from", JP_COL_CLOCK, JP_MAYBE, 9,
     .help = "when it began, by the times of the records", FIELD(from_us)},
    {"to", JP_COL_CLOCK, JP_MAYBE, 10, .help = "when it ended, likewise",
     FIELD(to_us)},
    {"share", JP_COL_SHARE, JP_MAYBE, 11,
     .help = "of the communication time of the ranks that it affects",
     FIELD(share)},
    {"share_low", JP_COL_SHARE, JP_MAYBE, 12,
     .help = "start of share's 95 % confidence interval",
     .get = get_finding_low},
    {"share_high", JP_COL_SHARE, JP_MAYBE, 13, .help = "end of that interval",
     .get = get_finding_high},
    {"evidence", JP_COL_COUNT, JP_MAYBE | JP_TIP, 14, 5, 0, "Evidence",
     "number of operations that show it", .get = get_finding_evidence},
    {"cost_us", JP_COL_US, JP_MAYBE, 15,
     .help = "GPU time that is lost: the waits of the others, no more than the "
             "replay without a late rank, node or stall saves them (of "
             "several, its share), or the network's additional time",
     .get = get_finding_cost},
    {"gain", JP_COL_SHARE, JP_MAYBE, 16,
     .help = "share of the run's time that a repair saves if nothing else is "
             "repaired, by a replay of the recorded run without the fault; "
             "null: not replayed",
     .get = get_finding_gain},
    {"gain_kind", JP_COL_WORD, JP_MAYBE, 17,
     .help = "how much of the run was replayed: all of it (replayed), its "
             "start, to which gain then refers (part), or nothing, so that "
             "only cost_us is known (bound)",
     .get = get_finding_gain_kind, JP_WORDS(gain_kinds)},
    {"against", JP_COL_WORD, JP_MAYBE, 18,
     .help = "reference of a slow network: the site's peaks or the rates of "
             "the nodes' adapters (peaks), earlier steps (baseline), "
             "communicators of the same shape (likes), or the same "
             "communicators earlier in the step (own)",
     .get = get_finding_against, JP_WORDS(against)},
    {"text", JP_COL_PROSE, 0, 19, 2, 0, "What", "who, where, how much",
     .get = get_finding_text},
    {"next", JP_COL_PROSE, 0, 20, 9, 0, "What to do", "what to do",
     .get = get_finding_next},
    {"why", JP_COL_PROSE, JP_MAYBE, 21,
     .help = "the samples of utilisation at the same time, in one sentence; "
             "null: they were not examined",
     .get = get_finding_why},
    {"looked_at", JP_COL_LIST, 0, 22,
     .help = "the kinds of causes that the samples could have shown",
     .max = FEATURE_LOOKED_MAX, .get = get_finding_looked_at},
    {"plain", JP_COL_PROSE, 0, 23,
     .help = "the same as text, in short sentences for people; the wording may "
             "change",
     .get = get_finding_plain},
    {"of_run", JP_COL_SHARE, JP_MAYBE, 24,
     .help = "cost_us as a share of the run's GPU time: its length without "
             "pauses of the recording, times the processes that ran at the "
             "same time",
     .get = get_finding_of_run},
    {"phase", JP_COL_TEXT, JP_MAYBE, 25,
     .help = "of the training step in which the rank is late, by the program's "
             "own word; null: none stands out",
     .get = get_finding_phase},
    {"phase_share", JP_COL_SHARE, JP_MAYBE, 26,
     .help = "of its lateness that is in this phase",
     .get = get_finding_phase_share},
    {"gain_last", JP_COL_SHARE, JP_MAYBE, 27,
     .help = "what its repair saves once all other replayed findings are "
             "repaired: what it would cost alone; null: there is no other",
     .get = get_finding_gain_last},
    {"gain_all", JP_COL_SHARE, JP_MAYBE, 28,
     .help = "what a repair of all replayed findings saves, of it too; null: "
             "there is no other",
     .get = get_finding_gain_all},
    {"where", JP_COL_PROSE, JP_TIP, 0, 3, 0, "Where", "as far as it is known",
     .get = get_finding_where},
    {"part", JP_COL_FIGURE, JP_TIP | JP_MAYBE, 0, 4, 0, "Share",
     "of communication time; in brackets the 95 % confidence interval",
     .get = get_finding_part},
    {"gpu_time", JP_COL_US, JP_TIP, 0, 6, 0, "GPU time", "that is lost",
     .get = get_finding_gpu_time},
    {"win", JP_COL_SHARE, JP_TIP, 0, 7, 0, "Gain",
     "share of the run's time that a repair would save; -: not replayed",
     .get = get_finding_gain},
    {"since", JP_COL_TEXT, JP_TIP, 0, 8, 0, "Since",
     "by the times of the records", .get = get_finding_since},
};
#undef FIELD

/* A real figure, or null. */
static void put_known(struct jp_json_stream *s, const char *key,
                      const double *value)
{
    json_stream_real(s, key, value ? *value : NAN);
}

void tables_finding(struct jp_json_stream *s, const struct tables_finding *f)
{
    json_stream_text(s, "kind", f->kind);
    json_stream_text(s, "comm", f->comm);
    json_stream_known(s, "comm_index", f->comm != NULL, f->comm_index);
    json_stream_null(s, "coll");
    json_stream_null(s, "rank");
    json_stream_null(s, "world_rank");
    json_stream_text(s, "host", f->host);
    if (f->pid > 0)
        json_stream_int(s, "pid", f->pid);
    else
        json_stream_null(s, "pid");
    put_known(s, "from", f->from);
    put_known(s, "to", f->to);
    put_known(s, "share", f->share);
    if (f->cost_us && isfinite(*f->cost_us))
        json_stream_count(s, "cost_us", (uint64_t) *f->cost_us);
    else
        json_stream_null(s, "cost_us");
    json_stream_text(s, "text", f->text);
    json_stream_text(s, "next", f->next);
}

/* Writes the causes of a finding, as an array in its object; empty if there are
 * none or none were looked for. */
static void put_causes(struct jp_json_stream *s, const struct jp_row *row)
{
    struct feature_coincidence with = {.n = 0};

    feature_coincides(row->report->features, row->index, &with);
    json_stream_array(s, "causes");
    /* strongest first */
    for (size_t i = 0; i < with.n; i++)
        table_json_row(s, with.table, row->report, with.first + i);
    json_stream_end_array(s);
}

/* sorted by the analysis; the page must not sort them again */
const struct jp_table table_findings = {
    .name = "findings",
    .json = "findings",
    .help = "worst first",
    JP_COLUMNS(findings),
    .count = count_findings,
    .find = find_finding,
    .max_json = 200,
    .max_html = 50,
    .unsorted = true,
    .json_more = put_causes,
};

/* --- attempts ------------------------------------------------------------- */

static size_t count_attempts(const struct jp_report *report)
{
    return report->insight ? report->insight->attempts.n : 0;
}

static void find_attempt(struct jp_row *row)
{
    row->at = &row->report->insight->attempts.list[row->index];
}

/* 0 stands for unknown. */
JP_GETTER(attempt_from, jp_attempt,
          value_known(v, at->from_us != 0, at->from_us))
JP_GETTER(attempt_to, jp_attempt, value_known(v, at->to_us != 0, at->to_us))
JP_GETTER(attempt_lost, jp_attempt,
          value_known(v, at->lost_us != 0, at->lost_us))
JP_GETTER(attempt_rank, jp_attempt, value_signed(v, at->rank))
JP_GETTER(attempt_host, jp_attempt, value_name(v, *at->host ? at->host : NULL))
JP_GETTER(attempt_ended, jp_attempt, value_text(v, at->ended))
JP_GETTER(attempt_found, jp_attempt, value_text(v, at->found))

#define FIELD(member) JP_FIELD(struct jp_attempt, member)
static const struct jp_column attempts[] = {
    {"number", JP_COL_RANK, 0, 1, 1, 1, "Attempt", "1 is the first",
     FIELD(number), .width = 8},
    {"restarts", JP_COL_RANK, 0, 2,
     .help = "how often the launcher had started its workers anew, or how many "
             "programs the tasks had run before",
     FIELD(restarts)},
    {"processes", JP_COL_COUNT, 0, 3, 2, 2, "Processes", "with records",
     FIELD(processes), .width = 9},
    {"from_us", JP_COL_CLOCK, JP_MAYBE, 4, 3, 0, "From",
     "start of its first operation; null: unknown", .get = get_attempt_from},
    {"to_us", JP_COL_CLOCK, JP_MAYBE, 5, 4, 0, "To", "end of its last one",
     .get = get_attempt_to},
    {"lost_us", JP_COL_US, JP_MAYBE, 6, 5, 3, "Lost",
     "from there to the first operation of the next attempt; null: unknown, "
     "or the last",
     .get = get_attempt_lost, .width = 9},
    {"rank", JP_COL_RANK, JP_MAYBE, 7,
     .help = "rank of the process that died first by itself; null: none, or "
             "unknown",
     .get = get_attempt_rank},
    {"host", JP_COL_TEXT, JP_MAYBE, 8, .help = "its node",
     .get = get_attempt_host},
    {"ended", JP_COL_PROSE, 0, 9, 6, 4, "Ended",
     "how it ended; empty: well, or unknown", .get = get_attempt_ended,
     .width = 60},
    {"found", JP_COL_PROSE, 0, 10, 7, 0, "Found",
     "the worst finding about one of its processes, besides its end",
     .get = get_attempt_found},
};
#undef FIELD
const struct jp_table table_attempts = {
    .name = "attempts",
    .json = "attempts",
    .help =
        "one row per attempt of a job whose ranks were started anew, or per "
        "program that its tasks ran one after the other; none if neither",
    JP_COLUMNS(attempts),
    .count = count_attempts,
    .find = find_attempt,
    .max_json = 1000,
    .max_html = 100,
    .max_text = 20,
    .unsorted = true,
};
