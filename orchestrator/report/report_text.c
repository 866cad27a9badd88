/* report_text.c - summary.txt: the report for a terminal or a mail.
 *
 * ASCII, at most 100 columns; the first line starts with the verdict's word.
 */
#include "orchestrator/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "orchestrator/insight/pools.h"
#include "orchestrator/insight/expected.h"
#include "common/figure.h"
#include "orchestrator/insight/sentence.h"
#include "orchestrator/report/clean.h"
#include "orchestrator/report/medium.h"
#include "orchestrator/report/busy.h"
#include "orchestrator/report/overhead.h"
#include "orchestrator/report/quality.h"
#include "orchestrator/report/report_copper.h"
#include "orchestrator/report/rows.h"
#include "orchestrator/report/text_out.h"
#include "orchestrator/report/topology.h"

#define MAX_COMMS 20
#define MAX_CELLS 40
#define MAX_RANKS 10
#define MAX_NODE_PAIRS 10
#define MAX_NOTES 10
#define MAX_FINDINGS 20

/* Cleaned and short enough for a column; lives until the block's end. */
#define COLUMN(text, width)                                                    \
    clean_text((text), JP_CLEAN_ASCII, (char[(width) + 1]){0}, (width) + 1)

static void put_verdict(FILE *out, const struct jp_verdict *verdict)
{
    const char *word = verdict_word_name(verdict->word);

    fprintf(out, "%s ", word);
    text_out_wrap(out, (unsigned) strlen(word) + 1, 4, verdict->text);
}

static const char *or_dash(const char *text)
{
    return text && *text ? text : "-";
}

static void put_job(FILE *out, const struct jp_report *report)
{
    const struct jp_jobconf *c = report->conf;
    const struct jp_nodes *nodes = report->nodes;

    fprintf(out, "\nJob\n");
    if (c) {
        text_out_line(out, "  step       %" PRIu64 ".%s  %s", c->job_id,
                      or_dash(c->step_id), COLUMN(c->job_name, 60));
        text_out_line(out, "  submitted  by %s (account %s) to %s, from %s",
                      or_dash(c->user), or_dash(c->account),
                      or_dash(c->partition), or_dash(c->submit_host));
        text_out_line(out, "  started    %s", FIG_UTC(c->created_us));
        text_out_line(out, "  command    %s", or_dash(c->command));
        text_out_line(out, "  profiler   %s, asked for as %s",
                      or_dash(c->nccl_mode), or_dash(c->nccl_request));
    } else {
        text_out_line(out, "  input      a folder of logs, without a job");
    }
    if (expected_nodes(c, nodes) || expected_tasks(c, nodes))
        text_out_line(
            out, "  size       %" PRIu32 " node%s, %" PRIu32 " task%s  %s",
            expected_nodes(c, nodes), sentence_s(expected_nodes(c, nodes)),
            expected_tasks(c, nodes), sentence_s(expected_tasks(c, nodes)),
            nodes ? nodes->step_nodelist : "");
    if (nodes && nodes->tasks_failed)
        text_out_line(out,
                      "  failed     %" PRIu32 " task%s ended with an error",
                      nodes->tasks_failed, sentence_s(nodes->tasks_failed));
}

/* Bad lines by kind, those that there are. */
static void put_bad(FILE *out, const struct jp_quality *q)
{
    for (unsigned i = 0; i < JP_BAD_KINDS; i++)
        if (q->bad[i].n)
            text_out_line(out, "    %-24s %s, first %s:%" PRIu64,
                          badkind_text((enum jp_bad) i), FIG_COUNT(q->bad[i].n),
                          q->bad[i].path, q->bad[i].line);
}

static void put_quality(FILE *out, const struct jp_report *report)
{
    const char *kind = quality_expected_kind(report);
    const struct jp_quality *q = report->result ? &report->result->quality
                                                : NULL;
    char text[JP_OVERHEAD_TEXT], warmup[JP_WARMUP_TEXT];

    fprintf(out, "\nData\n");
    text_out_line(
        out, "  %-26s %s%s%s%s%s", "Coverage",
        report->verdict->coverage < 0 ? "unknown"
                                      : FIG_SHARE(report->verdict->coverage),
        report->verdict->coverage < 0 ? "" : quality_coverage_of(report),
        kind ? " (" : "", kind ? kind : "", kind ? ")" : "");
    for (size_t i = 0; i < quality_n_items; i++) {
        uint64_t value = 0;
        bool known = quality_items[i].get(report, &value);

        if (quality_items[i].always || value)
            text_out_line(out, "  %-26s %s", quality_items[i].label,
                          known ? FIG_COUNT(value) : "unknown");
    }
    if (q)
        put_bad(out, q);
    if (q) {
        overhead_text(q, text);
        fprintf(out, "  %-26s ", "Recorder's own cost");
        text_out_wrap(out, 29, 29, text);
    }
    if (quality_warmup(report, warmup)) {
        fprintf(out, "  %-26s ", "Warm-up");
        text_out_wrap(out, 29, 29, warmup);
    }
    if (pools_planned_loss(report->conf)) {
        fprintf(out, "  %-26s ", "As planned, the plugin");
        text_out_wrap(out, 29, 29, pools_planned_loss(report->conf));
    }
    for (size_t i = 0; q && i < q->n_notes && i < MAX_NOTES; i++)
        text_out_line(out, "  note: %s: %s", q->notes[i].path,
                      q->notes[i].what);
    if (q && q->n_notes + q->notes_left_out > MAX_NOTES)
        text_out_line(out, "  ... and %s more notes",
                      FIG_COUNT(q->n_notes + q->notes_left_out - MAX_NOTES));
}

/* How much of the time processes communicated. */
static int put_busy(FILE *out, const struct jp_report *report)
{
    struct jp_busy_rows rows;
    char text[JP_BUSY_TEXT];

    if (!report->result || !report->result->quality.records)
        return 0;
    if (busy_rows_make(report->result, &rows) < 0)
        return -1;
    busy_text(report->result, &rows, report->verdict->coverage, text);
    fprintf(out, "  %-26s ", "Communication-busy share");
    text_out_wrap(out, 29, 29, text);
    busy_rows_fini(&rows);
    return 0;
}

static void put_left_out(FILE *out, size_t n, const char *where)
{
    if (n)
        text_out_line(out, "  ... and %s more in %s", FIG_COUNT(n), where);
}

static void put_comm(FILE *out, const struct jp_comm *c)
{
    char ranks[24], medium[80];

    snprintf(ranks, sizeof(ranks), "%" PRIu32 "/%" PRIu32, c->ranks_seen,
             c->n_ranks);
    text_out_line(out, "  %-18s %-14s %-11s %9s %5zu %10s %9s %9s", c->id,
                  COLUMN(or_dash(c->name), 14), comm_type_name(c->type), ranks,
                  c->n_hosts, FIG_COUNT(c->ops), FIG_BYTES(c->bytes),
                  FIG_US((double) c->time_us));
    if (medium_known(c))
        text_out_line(out, "  %-18s over %s; evidence %s", "",
                      medium_text(c, medium, sizeof(medium)), c->evidence);
}

static int put_comms(FILE *out, const struct jp_result *r)
{
    struct jp_rows rows;

    if (rows_pick(r, r->n_comms, MAX_COMMS, rows_comm_time, true, &rows) < 0)
        return -1;
    fputc('\n', out);
    text_out_line(out, "Communicators, most time first");
    text_out_line(out, "  %-18s %-14s %-11s %9s %5s %10s %9s %9s", "id", "name",
                  "type", "ranks", "hosts", "operations", "data", "time");
    for (size_t i = 0; i < rows.n; i++)
        put_comm(out, &r->comms[rows.index[i]]);
    put_left_out(out, rows.left_out, "csv/comms.csv");
    rows_fini(&rows);
    return 0;
}

static void put_cell(FILE *out, const struct jp_cell *c)
{
    text_out_line(out, "  %-11s %-13s %9s %9s %7s %7s %7s %7s %9s %9s",
                  comm_type_name(c->type), COLUMN(c->coll, 13),
                  FIG_BYTES(c->bytes), FIG_COUNT(c->ops), FIG_GBS(c->busbw.p50),
                  FIG_GBS(c->busbw.p95), FIG_GBS(c->busbw.p99),
                  FIG_GBS(c->busbw.min), FIG_US(c->exec.p50),
                  FIG_US(c->exec.p95));
}

static int put_cells(FILE *out, const struct jp_result *r)
{
    struct jp_rows rows;

    if (rows_pick(r, r->n_cells, MAX_CELLS, rows_cell_time, false, &rows) < 0)
        return -1;
    fputc('\n', out);
    text_out_line(out, "Operations by type, function and size");
    text_out_line(out, "  %-45s %-31s %s", "", "bus bandwidth, GB/s",
                  "time, longest rank");
    text_out_line(out, "  %-11s %-13s %9s %9s %7s %7s %7s %7s %9s %9s", "type",
                  "function", "size", "ops", "p50", "p95", "p99", "min", "p50",
                  "p95");
    for (size_t i = 0; i < rows.n; i++)
        put_cell(out, &r->cells[rows.index[i]]);
    put_left_out(out, rows.left_out, "csv/cells.csv");
    rows_fini(&rows);
    return 0;
}

static void put_rank(FILE *out, const struct jp_result *r,
                     const struct jp_rank *k)
{
    const struct jp_comm *comm = rows_comm(r, k->comm);

    text_out_line(out, "  %6" PRIu32 " %-20s %-18s %-12s %8s %9s %9s %9s",
                  k->rank, COLUMN(or_dash(k->host), 20), comm->id,
                  COLUMN(or_dash(comm->name), 12), FIG_SHARE(k->last_share),
                  FIG_COUNT(k->timed_ops), FIG_US((double) k->caused_us),
                  r->quality.waits_unknown ? "-" : FIG_US((double) k->wait_us));
}

static int put_ranks(FILE *out, const struct jp_result *r)
{
    struct jp_rows rows;

    if (rows_pick(r, r->n_ranks, MAX_RANKS, rows_rank_caused, true, &rows) < 0)
        return -1;
    fputc('\n', out);
    text_out_line(out, "Ranks that arrived last, most wait caused first "
                       "(AllReduce, AllGather, ReduceScatter)");
    text_out_line(out, "  %6s %-20s %-18s %-12s %8s %9s %9s %9s", "rank",
                  "host", "communicator", "name", "last in", "of ops", "caused",
                  "waited");
    for (size_t i = 0; i < rows.n; i++)
        put_rank(out, r, &r->ranks[rows.index[i]]);
    put_left_out(out, rows.left_out, "csv/ranks.csv");
    rows_fini(&rows);
    return 0;
}

static void put_node_pair(FILE *out, const struct jp_p2p_node *p)
{
    text_out_line(out, "  %-24s %-24s %-5s %7s %9s %9s %7s",
                  COLUMN(*p->src_host ? p->src_host : "unknown", 24),
                  COLUMN(*p->dst_host ? p->dst_host : "unknown", 24), p->func,
                  FIG_COUNT(p->pairs), FIG_COUNT(p->count), FIG_BYTES(p->bytes),
                  p->n_busbw ? FIG_GBS(p->busbw_mean) : "-");
}

static int put_node_pairs(FILE *out, const struct jp_result *r)
{
    struct jp_rows rows;

    if (rows_pick(r, r->n_p2p_nodes, MAX_NODE_PAIRS, rows_p2p_node_bytes, true,
                  &rows) < 0)
        return -1;
    fputc('\n', out);
    text_out_line(out, "Send and Recv between hosts, most data first (each by "
                       "the side that recorded it)");
    text_out_line(out, "  %-24s %-24s %-5s %7s %9s %9s %7s", "from", "to", "by",
                  "pairs", "count", "data", "GB/s");
    for (size_t i = 0; i < rows.n; i++)
        put_node_pair(out, &r->p2p_nodes[rows.index[i]]);
    put_left_out(out, rows.left_out, "csv/p2p_nodes.csv");
    rows_fini(&rows);
    return 0;
}

static void put_findings(FILE *out, const struct jp_insight *insight)
{
    if (!insight || !insight->findings.n)
        return;
    fprintf(out, "\nFindings\n");
    for (size_t i = 0; i < insight->findings.n && i < MAX_FINDINGS; i++) {
        const struct jp_finding *f = &insight->findings.at[i];

        fprintf(out, "  %-15s ", finding_kind_name(f->kind));
        text_out_wrap(out, 18, 18, f->text);
        if (*f->next) {
            fprintf(out, "  %-15s ", "  next");
            text_out_wrap(out, 18, 18, f->next);
        }
    }
    put_left_out(out,
                 insight->findings.n > MAX_FINDINGS
                     ? insight->findings.n - MAX_FINDINGS
                     : 0,
                 "summary.json");
}

int report_write_text(const struct jp_report *report, FILE *out,
                      struct jp_error *err)
{
    const struct jp_result *r = report->result;

    errno = 0;
    put_verdict(out, report->verdict);
    put_findings(out, report->insight);
    put_job(out, report);
    if (report_has_nccl(report))
        put_quality(out, report);
    if (put_busy(out, report) < 0 ||
        (r && r->n_comms && put_comms(out, r) < 0) ||
        topology_text(report->labels, out) < 0 ||
        (r && r->n_cells && put_cells(out, r) < 0) ||
        (r && r->n_ranks && put_ranks(out, r) < 0) ||
        (r && r->n_p2p_nodes && put_node_pairs(out, r) < 0))
        return error_set(err, "out of memory");
    report_copper_text(report->copper, out);
    if (fflush(out) || ferror(out))
        return error_set(err, "%s",
                         errno ? strerror(errno) : "cannot be written");
    return 0;
}
