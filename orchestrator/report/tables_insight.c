/* tables_insight.c - the columns of judgements: the network and its
 * expectation, hypotheses; also those of quality.csv. See tables.c. */
#include <math.h>

#include "common/figure.h"
#include "orchestrator/insight/netcells.h"
#include "orchestrator/report/baseline_file.h"
#include "orchestrator/report/tables.h"

/* --- quality: rows that report_csv.c writes ------------------------------- */

static const struct jp_column quality[] = {
    {"item", JP_COL_TEXT, JP_CSV,
     .help = "a figure of summary.json's quality; bad_lines.KIND; overhead (a "
             "share); coverage; note"},
    {"value", JP_COL_COUNT, JP_CSV | JP_MAYBE | JP_REAL, .help = "of it"},
    {"note", JP_COL_PROSE, JP_CSV,
     .help = "meaning; place of the first bad line; a note on a file"},
};
const struct jp_table table_quality = {
    .name = "quality",
    .help = "one row per figure on the data",
    JP_COLUMNS(quality),
};

/* --- network: extra is NULL, or the cells' order (size_t) ----------------- */

/* The cells of the network, as the analysis found them. */
static size_t count_network(const struct jp_report *report)
{
    return report->insight ? report->insight->network.n : 0;
}

static void find_network(struct jp_row *row)
{
    const size_t *order = row->extra;

    /* the page shows the cells by time, the files in their own order */
    if (order)
        row->index = order[row->index];
    row->at = &row->report->insight->network.at[row->index];
}

/* Returns the expectation of the row's cell. The list is parallel to the cells.
 */
static const struct jp_expected_bw *expected_of(const struct jp_row *row)
{
    return &row->report->insight->expected[row->index];
}

/* the words of the schema for expectation_word */
static const char *const net_against[] = {"peaks", "baseline", "own"};

/* Returns a quantile of the cell's bandwidths, GB/s. */
static double quantile(const struct jp_row *row, double q)
{
    const struct jp_netcell *cell = row->at;

    return bwhist_quantile(&cell->gbs, q);
}

/* Formats "80 to 95", or "-" if a bound is unknown. by: the value to sort by.
 */
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
/* the key has the number of a class of sizes; readers need its bounds */
JP_GETTER(net_from, jp_netcell, value_count(v, netcells_bytes(at->key.size)))
JP_GETTER(net_to, jp_netcell, value_count(v, netcells_bytes(at->key.size + 1)))
JP_GETTER(net_p5, jp_netcell, (void) at; value_real(v, quantile(row, 0.05)))
JP_GETTER(net_p50, jp_netcell, (void) at; value_real(v, quantile(row, 0.5)))
JP_GETTER(net_p95, jp_netcell, (void) at; value_real(v, quantile(row, 0.95)))

static void put_hist(struct jp_json_stream *s, const char *key,
                     const void *hist)
{
    netkey_put_hist(s, key, hist);
}

JP_GETTER(net_hist, jp_netcell, v->type = JP_VALUE_HIST; v->hist = &at->gbs;
          v->put_hist = put_hist)
JP_GETTER(net_link, jp_netcell,
          value_text(v, netkey_name(&at->key, NETKEY_LINK, v->buf)))
JP_GETTER(net_shape, jp_netcell,
          value_text(v, netkey_name(&at->key, NETKEY_SHAPE, v->buf)))
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

/* Formats where the expectation comes from, with its basis. */
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
/* the first nine columns are the cell's key, as in a baseline */
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
    {"size_to_bytes", JP_COL_BYTES, JP_CSV, 9, .help = "upper end of the class",
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
     .help = "[bucket, operations], docs/dev/baseline-format.md",
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
    {"by", JP_COL_TEXT, JP_TIP, 0, 11, 0, "By", "source of the expectation",
     .get = get_expected_by},
};
#undef FIELD
const struct jp_table table_network = {
    .name = "network",
    .json = "network",
    .help = "one row per kind of communicator, function and class of sizes: "
            "the network's own bandwidth, from the last arriver's time of "
            "complete barrier-like operations without the warm-up",
    JP_COLUMNS(network),
    .count = count_network,
    .find = find_network,
    .max_json = NETCELLS_MAX,
    .max_html = 200,
};

/* --- hypotheses: what was looked for -------------------------------------- */

/* All questions or none: an analysed step has an answer to each. */
static size_t count_hypotheses(const struct jp_report *report)
{
    return report->insight ? JP_N_HYPOTHESES : 0;
}

static void find_hypothesis(struct jp_row *row)
{
    row->at = &hypotheses_table[row->index];
}

/* Returns the answer to the row's question. */
static const struct jp_judgement *judgement_of(const struct jp_row *row)
{
    return &row->report->insight->hypotheses.of[row->index];
}

/* Returns the page's word for a state; summary.json has its own. */
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
/* 0: the smallest effect is unknown */
JP_GETTER(hypothesis_least, jp_hypothesis, (void) at; value_finite(
              v, judgement_of(row)->least > 0 ? judgement_of(row)->least : NAN))
JP_GETTER(hypothesis_unit, jp_hypothesis,
          value_text(v, hypotheses_units[at->unit]))
/* of an answered question: a remark, if there is one */
JP_GETTER(hypothesis_why, jp_hypothesis, (void) at;
          value_name(v, judgement_of(row)->state == JP_HYPOTHESIS_NOT_JUDGED
                            ? hypothesis_why(&row->report->insight->hypotheses,
                                             (enum jp_hypothesis_id) row->index)
                            : judgement_of(row)->text))
/* the judgement may have advice that fits better than the question's own */
JP_GETTER(hypothesis_todo, jp_hypothesis,
          value_text(v, judgement_of(row)->state != JP_HYPOTHESIS_NOT_JUDGED
                            ? NULL
                        : judgement_of(row)->todo ? judgement_of(row)->todo
                                                  : at->todo))

/* Formats "1.2 % of the run's time"; unknown if the question was not judged. */
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
/* a row per question, in the order of hypotheses_table */
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
     .help = "smallest detectable effect, in unit; null: unknown, or less "
             "was found",
     .get = get_hypothesis_least},
    {"unit", JP_COL_WORD, 0, 6, .help = "unit of least; a share is from 0 to 1",
     .get = get_hypothesis_unit, .words = hypotheses_units,
     .n_words = JP_HYPOTHESIS_UNITS},
    {"of", JP_COL_TEXT, 0, 7, .help = "quantity that least refers to",
     FIELD(of)},
    {"why", JP_COL_PROSE, JP_MAYBE, 8, 5, 0, "Why",
     "why it was not judged; otherwise a remark", .get = get_hypothesis_why},
    {"todo", JP_COL_PROSE, JP_MAYBE, 9, 6, 0, "What to do",
     "what would allow a judgement; null: it was judged",
     .get = get_hypothesis_todo},
    {"answer", JP_COL_TEXT, 0, 0, 3, 0, "Answer", NULL,
     .get = get_hypothesis_answer},
    {"effect", JP_COL_PROSE, JP_TIP | JP_MAYBE, 0, 4, 0, "Smallest effect",
     "a smaller one would not have been detected",
     .get = get_hypothesis_effect},
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
