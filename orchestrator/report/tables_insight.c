/* tables_insight.c - the columns of judgements: the network and its
 * expectation, findings, hypotheses. See tables.c. */
#include <math.h>
#include <inttypes.h>

#include "common/figure.h"
#include "orchestrator/insight/netcells.h"
#include "orchestrator/insight/plain.h"
#include "orchestrator/report/baseline_file.h"
#include "orchestrator/report/tables.h"

/* --- quality: rows that report_csv.c writes ------------------------------- */

static const struct jp_column quality[] = {
    {"item", JP_COL_TEXT, JP_CSV,
     .help = "a figure of summary.json's quality; bad_lines.KIND; overhead (a "
             "share); coverage; note"},
    {"value", JP_COL_COUNT, JP_CSV | JP_MAYBE | JP_REAL, .help = "of it"},
    {"note", JP_COL_PROSE, JP_CSV,
     .help = "what it means; where the first bad line stands; a note on a "
             "file"},
};
const struct jp_table table_quality = {
    .name = "quality",
    .help = "a row a figure on the data",
    JP_COLUMNS(quality),
};

/* --- network: extra is NULL, or the cells' order (size_t) ----------------- */

static size_t count_network(const struct jp_report *report)
{
    return report->insight ? report->insight->network.n : 0;
}

static void find_network(struct jp_row *row)
{
    const size_t *order = row->extra;

    if (order)
        row->index = order[row->index];
    row->at = &row->report->insight->network.at[row->index];
}

static const struct jp_expected_bw *expected_of(const struct jp_row *row)
{
    return &row->report->insight->expected[row->index];
}

static const char *const net_against[] = {"peaks", "baseline", "own"};

static double quantile(const struct jp_row *row, double q)
{
    const struct jp_netcell *cell = row->at;

    return bwhist_quantile(&cell->gbs, q);
}

/* Formats "80 to 95", with another value to sort by; "-" if unknown. */
static void value_range(struct jp_value *v, double low, double high, double by)
{
    snprintf(v->buf, sizeof(v->buf), "%s to %s", FIG_GBS(low), FIG_GBS(high));
    if (!isfinite(low) || !isfinite(high))
        snprintf(v->buf, sizeof(v->buf), "-");
    value_text(v, v->buf);
    v->real = by;
}

JP_GETTER(net_fabric, jp_netcell, value_text(v, at->key.fabric))
JP_GETTER(net_inter, jp_netcell, value_text(v, at->key.inter))
JP_GETTER(net_type, jp_netcell, value_text(v, comm_type_name(at->key.type)))
JP_GETTER(net_gpu, jp_netcell, value_text(v, at->key.gpu))
JP_GETTER(net_coll, jp_netcell, value_text(v, at->key.coll))
JP_GETTER(net_from, jp_netcell, value_count(v, netcells_bytes(at->key.size)))
JP_GETTER(net_to, jp_netcell, value_count(v, netcells_bytes(at->key.size + 1)))
JP_GETTER(net_p5, jp_netcell, (void) at; value_real(v, quantile(row, 0.05)))
JP_GETTER(net_p50, jp_netcell, (void) at; value_real(v, quantile(row, 0.5)))
JP_GETTER(net_p95, jp_netcell, (void) at; value_real(v, quantile(row, 0.95)))
JP_GETTER(net_hist, jp_netcell, v->type = JP_VALUE_HIST; v->hist = &at->gbs)
JP_GETTER(net_link, jp_netcell, value_text(v, netnames_link(&at->key, v->buf)))
JP_GETTER(net_shape, jp_netcell,
          value_text(v, netnames_shape(&at->key, v->buf)))
JP_GETTER(net_range, jp_netcell, (void) at;
          value_range(v, quantile(row, 0.05), quantile(row, 0.95),
                      quantile(row, 0.5)))

/* Getters for the cell's expectation. */
#define EXPECTED_GETTER(name, value)                                           \
    static void get_expected_##name(const struct jp_row *row,                  \
                                    struct jp_value *v)                        \
    {                                                                          \
        const struct jp_expected_bw *e = expected_of(row);                     \
                                                                               \
        value;                                                                 \
    }
EXPECTED_GETTER(against, value_text(v, expectation_word(e->against)))
EXPECTED_GETTER(gbs, value_real(v, e->gbs))
EXPECTED_GETTER(least, value_real(v, e->least_gbs))
EXPECTED_GETTER(low, value_real(v, e->low_gbs))
EXPECTED_GETTER(high, value_real(v, e->high_gbs))
EXPECTED_GETTER(reports,
                value_known(v, e->against == JP_AGAINST_BASELINE, e->reports))
EXPECTED_GETTER(band, value_range(v, e->low_gbs, e->high_gbs, e->low_gbs))
EXPECTED_GETTER(share,
                value_real(v, e->gbs > 0 ? quantile(row, 0.5) / e->gbs : NAN))

static void get_expected_by(const struct jp_row *row, struct jp_value *v)
{
    const struct jp_expected_bw *e = expected_of(row);

    if (e->against == JP_AGAINST_BASELINE)
        snprintf(v->buf, sizeof(v->buf), "baseline, %s steps",
                 FIG_COUNT(e->reports));
    else if (e->against == JP_AGAINST_PEAKS)
        snprintf(v->buf, sizeof(v->buf),
                 row->report->expectation &&
                         row->report->expectation->peaks_path
                     ? "the site's peaks"
                     : "the adapters' rates");
    else
        snprintf(v->buf, sizeof(v->buf), "its own best");
    value_text(v, v->buf);
}

#define FIELD(member) JP_FIELD(struct jp_netcell, member)
static const struct jp_column network[] = {
    {"fabric", JP_COL_WORD, JP_CSV, 1, .help = "inside NVLink domains",
     .get = get_net_fabric},
    {"inter", JP_COL_WORD, JP_CSV, 2, .help = "between NVLink domains",
     .get = get_net_inter},
    {"comm_type", JP_COL_WORD, JP_CSV, 3, .help = "NCCL's",
     .get = get_net_type},
    {"n_ranks", JP_COL_COUNT, JP_CSV, 4, .help = "of the communicator",
     FIELD(key.n_ranks)},
    {"n_hosts", JP_COL_COUNT, JP_CSV, 5, .help = "of the communicator",
     FIELD(key.n_hosts)},
    {"gpu", JP_COL_TEXT, JP_CSV, 6, .help = "model; empty: unknown, or several",
     .get = get_net_gpu},
    {"coll", JP_COL_TEXT, JP_CSV, 7, 3, 0, "Function", "NCCL's function",
     .get = get_net_coll},
    {"size_from_bytes", JP_COL_BYTES, JP_CSV, 8,
     .help = "least size of the class (baseline-format.md)",
     .get = get_net_from},
    {"size_to_bytes", JP_COL_BYTES, JP_CSV, 9, .help = "sizes are below it",
     .get = get_net_to},
    {"ops", JP_COL_COUNT, JP_CSV, 10, 5, 0, "Ops",
     "complete ones, without the warm-up", FIELD(gbs.total)},
    {"time_us", JP_COL_US, JP_CSV | JP_ROUND, 11,
     .help = "of the network, sum over operations; rounded in JSON",
     FIELD(time_us)},
    {"net_p5", JP_COL_GBS, JP_CSV, 12, .help = "5th percentile",
     .path = "net_busbw_gbs.p5", .get = get_net_p5},
    {"net_p50", JP_COL_GBS, JP_CSV | JP_TIP, 13, 6, 0, "GB/s",
     "median over operations", .path = "net_busbw_gbs.p50", .get = get_net_p50},
    {"net_p95", JP_COL_GBS, JP_CSV, 14, .help = "95th percentile",
     .path = "net_busbw_gbs.p95", .get = get_net_p95},
    {"against", JP_COL_WORD, JP_CSV, 15,
     .help = "where the expected bandwidth comes from; own: neither peaks nor "
             "a baseline is known, and the cell's own p95 is used",
     .path = "expected.against", .get = get_expected_against,
     JP_WORDS(net_against)},
    {"expected", JP_COL_GBS, JP_CSV | JP_TIP, 16, 8, 0, "Expected",
     "the median that is expected", .path = "expected.busbw_gbs",
     .get = get_expected_gbs},
    {"least", JP_COL_GBS, JP_CSV, 17,
     .help = "a communicator whose median is below it is slow",
     .path = "expected.least_gbs", .get = get_expected_least},
    {"low", JP_COL_GBS, JP_CSV, 18,
     .help = "start of the expected range: the least of peaks, or p5 of the "
             "baseline's operations",
     .path = "expected.low_gbs", .get = get_expected_low},
    {"high", JP_COL_GBS, JP_CSV, 19,
     .help = "end of the expected range: the peak, or p95 of the baseline's "
             "operations",
     .path = "expected.high_gbs", .get = get_expected_high},
    {"reports", JP_COL_COUNT, JP_CSV | JP_MAYBE, 20,
     .help = "number of reports in the baseline", .path = "expected.reports",
     .get = get_expected_reports},
    {"histogram", JP_COL_HIST, 0, 21,
     .help = "[bucket, operations], docs/baseline-format.md",
     .max = BWHIST_BUCKETS, .get = get_net_hist},
    {"link", JP_COL_TEXT, JP_TIP, 0, 1, 0, "Runs over",
     "by the label, else NCCL's type", .get = get_net_link},
    {"shape", JP_COL_TEXT, 0, 0, 2, 0, "Communicators", NULL,
     .get = get_net_shape},
    {"size", JP_COL_BYTES, JP_TIP, 0, 4, 0, "Size",
     "of the message, the least of its class", FIELD(bytes)},
    {"range", JP_COL_FIGURE, JP_TIP, 0, 7, 0, "p5 to p95", "over operations",
     .get = get_net_range},
    {"band", JP_COL_FIGURE, JP_TIP, 0, 9, 0, "Band",
     "least and peak, or p5 to p95 of the baseline", .get = get_expected_band},
    {"share", JP_COL_SHARE, JP_TIP | JP_BAR, 0, 10, 0, "Share",
     "of what is expected", .get = get_expected_share},
    {"by", JP_COL_TEXT, JP_TIP, 0, 11, 0, "By", "who expects it",
     .get = get_expected_by},
};
#undef FIELD
const struct jp_table table_network = {
    .name = "network",
    .json = "network",
    .help = "a row for a kind of communicator, function and class of sizes: "
            "the network's own bandwidth, from the last arriver's time of "
            "complete barrier-like operations without the warm-up",
    JP_COLUMNS(network),
    .count = count_network,
    .find = find_network,
    .max_json = NETCELLS_MAX,
    .max_html = 200,
};

/* --- findings ------------------------------------------------------------- */

static size_t count_findings(const struct jp_report *report)
{
    return report->insight && report->result ? report->insight->findings.n : 0;
}

static void find_finding(struct jp_row *row)
{
    row->at = &row->report->insight->findings.at[row->index];
}

static const char *const against[] = {"peaks", "baseline", "likes", "own"};
static const char *const gain_kinds[] = {"replayed", "part", "bound"};

static const struct jp_comm *comm_of(const struct jp_row *row)
{
    const struct jp_finding *f = row->at;

    return f->comm >= 0 && (uint64_t) f->comm < row->result->n_comms
               ? &row->result->comms[f->comm]
               : NULL;
}

/* "rank 19 (gpu-node-0312, pid 4711), in TP1", as far as known. */
static void get_finding_where(const struct jp_row *row, struct jp_value *v)
{
    const struct jp_finding *f = row->at;
    const struct jp_comm *comm = comm_of(row);
    const char *in = !comm                       ? ""
                     : comm->name && *comm->name ? comm->name
                                                 : comm->id;
    char rank[80] = "", place[140] = "";

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

static void get_finding_since(const struct jp_row *row, struct jp_value *v)
{
    const struct jp_finding *f = row->at;

    value_text(v, isfinite(f->from_us) && f->from_us > 0
                      ? figure_utc((uint64_t) f->from_us, v->buf)
                      : NULL);
}

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
JP_GETTER(finding_cost, jp_finding,
          value_signed(v, isfinite(at->cost_us) && at->cost_us < 1e18
                              ? (int64_t) at->cost_us
                              : -1))
JP_GETTER(finding_gpu_time, jp_finding, value_positive(v, at->cost_us))
JP_GETTER(finding_gain, jp_finding, value_positive(v, at->gain))
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
JP_GETTER(finding_next, jp_finding, value_text(v, at->next))

static void get_finding_looked_at(const struct jp_row *row, struct jp_value *v)
{
    const struct jp_cause_look *look =
        causes_look(row->report->causes, row->index);

    v->type = JP_VALUE_LIST;
    v->n = look ? look->n_list : 0;
    v->list = look ? look->list : NULL;
}

static void get_finding_why(const struct jp_row *row, struct jp_value *v)
{
    const struct jp_cause_look *look =
        causes_look(row->report->causes, row->index);

    value_text(v, look ? look->why : NULL);
}

#define FIELD(member) JP_FIELD(struct jp_finding, member)
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
     .help = "SLURM_PROCID, else the rank in a communicator of all processes",
     .get = get_finding_world_rank},
    {"host", JP_COL_TEXT, JP_MAYBE, 7, .help = "where it ran",
     .get = get_finding_host},
    {"pid", JP_COL_PID, JP_MAYBE, 8, .help = "its number on the host",
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
     .help = "GPU time that is lost: the waits of the others, or the network's "
             "additional time",
     .get = get_finding_cost},
    {"gain", JP_COL_SHARE, JP_MAYBE, 16,
     .help = "share of the run's time that a repair would save, by a replay of "
             "the recorded run without the fault; null: not replayed",
     .get = get_finding_gain},
    {"gain_kind", JP_COL_WORD, JP_MAYBE, 17,
     .help = "how much of the run was replayed: all of it (replayed), its "
             "start, to which gain then refers (part), or nothing, so that "
             "only cost_us is known (bound)",
     .get = get_finding_gain_kind, JP_WORDS(gain_kinds)},
    {"against", JP_COL_WORD, JP_MAYBE, 18,
     .help = "what a slow network is compared with: the site's peaks or the "
             "rates of the nodes' adapters (peaks), earlier steps (baseline), "
             "communicators of the same shape (likes), or the same "
             "communicators earlier in the step (own)",
     .get = get_finding_against, JP_WORDS(against)},
    {"text", JP_COL_PROSE, 0, 19, 2, 0, "What", "who, where, how much",
     .get = get_finding_text},
    {"next", JP_COL_PROSE, 0, 20, 9, 0, "What to do", "what to do",
     .get = get_finding_next},
    {"why", JP_COL_PROSE, JP_MAYBE, 21,
     .help = "what the samples of utilisation show at the same time, in one "
             "sentence; null: they were not examined",
     .get = get_finding_why},
    {"looked_at", JP_COL_LIST, 0, 22,
     .help = "the kinds of causes that the samples could have shown",
     .max = JP_CAUSES, .get = get_finding_looked_at},
    {"plain", JP_COL_PROSE, 0, 23,
     .help = "the same as text, in short sentences for people; the wording may "
             "change",
     .get = get_finding_plain},
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
    .json_more = tables_cause_json,
};

/* --- hypotheses: what was looked for -------------------------------------- */

static size_t count_hypotheses(const struct jp_report *report)
{
    return report->insight ? JP_N_HYPOTHESES : 0;
}

static void find_hypothesis(struct jp_row *row)
{
    row->at = &hypotheses_table[row->index];
}

static const struct jp_judgement *judgement_of(const struct jp_row *row)
{
    return &row->report->insight->hypotheses.of[row->index];
}

/* The page's word for a state. */
static const char *say_state(enum jp_hypothesis_state state)
{
    switch (state) {
    case JP_HYPOTHESIS_FOUND:
        return "found";
    case JP_HYPOTHESIS_NOT_FOUND:
        return "not found";
    default:
        return "not judged";
    }
}

JP_GETTER(hypothesis_state, jp_hypothesis, (void) at;
          value_text(v, hypotheses_states[judgement_of(row)->state]))
JP_GETTER(hypothesis_answer, jp_hypothesis, (void) at;
          value_text(v, say_state(judgement_of(row)->state)))
JP_GETTER(hypothesis_least, jp_hypothesis, (void) at; value_positive(
              v, judgement_of(row)->least > 0 ? judgement_of(row)->least : NAN))
JP_GETTER(hypothesis_unit, jp_hypothesis,
          value_text(v, hypotheses_units[at->unit]))
JP_GETTER(hypothesis_why, jp_hypothesis, (void) at;
          value_name(v, judgement_of(row)->state == JP_HYPOTHESIS_NOT_JUDGED
                            ? hypothesis_why(&row->report->insight->hypotheses,
                                             (enum jp_hypothesis_id) row->index)
                            : judgement_of(row)->text))
JP_GETTER(hypothesis_todo, jp_hypothesis,
          value_text(v, judgement_of(row)->state != JP_HYPOTHESIS_NOT_JUDGED
                            ? NULL
                        : judgement_of(row)->todo ? judgement_of(row)->todo
                                                  : at->todo))

/* "1.2 % of the run's time" */
static void get_hypothesis_effect(const struct jp_row *row, struct jp_value *v)
{
    const struct jp_hypothesis *h = row->at;
    char least[JP_HYPOTHESIS_LEN];

    hypothesis_least(&row->report->insight->hypotheses,
                     (enum jp_hypothesis_id) row->index, least);
    snprintf(v->buf, sizeof(v->buf), "%s %s", least, h->of);
    value_name(v, *least ? v->buf : NULL);
}

#define FIELD(member) JP_FIELD(struct jp_hypothesis, member)
static const struct jp_column hypotheses[] = {
    {"key", JP_COL_WORD, 0, 1, .help = "its short name", FIELD(key)},
    {"title", JP_COL_TEXT, 0, 2, 1, 0, "Looked for", "what was looked for",
     FIELD(title)},
    {"question", JP_COL_PROSE, 0, 3, 2, 0, "Question", "in one sentence",
     FIELD(question)},
    {"state", JP_COL_WORD, 0, 4, .help = "the answer",
     .get = get_hypothesis_state, .words = hypotheses_states,
     .n_words = JP_HYPOTHESIS_STATES},
    {"least", JP_COL_NUMBER, JP_MAYBE, 5,
     .help = "the smallest effect that would have been seen, in unit",
     .get = get_hypothesis_least},
    {"unit", JP_COL_WORD, 0, 6, .help = "unit of least; a share is from 0 to 1",
     .get = get_hypothesis_unit, .words = hypotheses_units,
     .n_words = JP_HYPOTHESIS_UNITS},
    {"of", JP_COL_TEXT, 0, 7, .help = "what least is a share or a number of",
     FIELD(of)},
    {"why", JP_COL_PROSE, JP_MAYBE, 8, 5, 0, "Why",
     "why it was not judged; else a remark", .get = get_hypothesis_why},
    {"todo", JP_COL_PROSE, JP_MAYBE, 9, 6, 0, "What to do",
     "what makes it possible to judge; null: it was judged",
     .get = get_hypothesis_todo},
    {"answer", JP_COL_TEXT, 0, 0, 3, 0, "Answer", NULL,
     .get = get_hypothesis_answer},
    {"effect", JP_COL_TEXT, JP_TIP | JP_MAYBE, 0, 4, 0, "Smallest effect",
     "a smaller one would not have been seen", .get = get_hypothesis_effect},
};
#undef FIELD
const struct jp_table table_hypotheses = {
    .name = "hypotheses",
    .json = "hypotheses",
    .help = "what was looked for, each with its answer; none where nothing "
            "was analysed",
    JP_COLUMNS(hypotheses),
    .count = count_hypotheses,
    .find = find_hypothesis,
    .max_json = JP_N_HYPOTHESES,
    .max_html = JP_N_HYPOTHESES,
    .unsorted = true,
};
