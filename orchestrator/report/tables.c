/* tables.c - the list of all tables of a report, and the columns of most; those
 * of judgements are in tables_findings.c and tables_insight.c.
 *
 * Each row here describes one column. The rows are in the order of the CSV
 * file, so new columns come last. .json, .html and .text are positions in the
 * other media; JP_LAST is the end. After a change, `make tables` updates
 * docs/dev/report-format.md and docs/summary.schema.json.
 */
#include "orchestrator/report/tables.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/report/out.h"
#include "orchestrator/topo/label.h"
#include "orchestrator/topo/topo.h"

/* --- what a communicator runs over, in a few words */

/* Returns true for a known word that equals `what`. */
static bool is(const char *word, const char *what)
{
    return word && strcmp(word, what) == 0;
}

/* Returns true if some part of the label is known, within domains or between
 * them. */
static bool medium_known(const struct jp_comm *comm)
{
    bool inside = !is(comm->fabric, "unknown") && !is(comm->fabric, "none");
    bool between = !is(comm->inter, "unknown") && !is(comm->inter, "none");

    return comm->fabric && comm->inter && (inside || between);
}

/* Formats "nvswitch + ib, rail aligned, HCA PIX (!)", or "-" without a label.
 * "(!)" marks warnings. Returns buf. */
static char *medium_text(const struct jp_comm *comm, char *buf, size_t size)
{
    bool inside = !is(comm->fabric, "none");
    bool between = !is(comm->inter, "none");
    int n;

    if (!comm->fabric || !comm->inter) {
        snprintf(buf, size, "-");
        return buf;
    }
    /* each part may be absent: a single node has nothing between nodes */
    n = snprintf(buf, size, "%s%s%s", inside ? comm->fabric : "",
                 inside && between ? " + " : "", between ? comm->inter : "");
    /* neither within nor between domains: a single rank */
    if (!n)
        n = snprintf(buf, size, "none");
    if (comm->rail && !is(comm->rail, "n/a") && (size_t) n < size)
        n += snprintf(buf + n, size - (size_t) n, ", rail %s", comm->rail);
    if (comm->hca_path && *comm->hca_path && (size_t) n < size)
        n += snprintf(buf + n, size - (size_t) n, ", HCA %s", comm->hca_path);
    if (comm->n_warnings && (size_t) n < size)
        snprintf(buf + n, size - (size_t) n, " (!)");
    return buf;
}

/* --- the columns of every table of a report */

/* --- what several tables have --------------------------------------------- */

static const char *const comm_types[] = {"single-rank", "nvlink-only",
                                         "hca-only", "mixed"};

static void get_index(const struct jp_row *row, struct jp_value *v)
{
    value_count(v, row->index);
}

/* Getters for a row's communicator. Two communicators may have the same id, so
 * programs get the index. */
#define COMM_GETTERS(row_type)                                                 \
    JP_GETTER(row_type##_comm, jp_##row_type,                                  \
              value_text(v, rows_comm(row->result, at->comm)->id))             \
    JP_GETTER(row_type##_name, jp_##row_type,                                  \
              value_text(v, rows_comm(row->result, at->comm)->name))
COMM_GETTERS(rank)
COMM_GETTERS(op)
COMM_GETTERS(p2p)
COMM_GETTERS(window)
COMM_GETTERS(algo)

/* from the closest to the farthest */
static const char *const hca_paths[] = {"PIX", "PXB",  "P2C",
                                        "PHB", "NODE", "SYS"};

/* --- communicators -------------------------------------------------------- */

JP_GETTER(comm_id, jp_comm, value_text(v, at->id))
JP_GETTER(comm_type, jp_comm, value_text(v, comm_type_name(at->type)))
/* a sum over some of the operations would be too small */
JP_GETTER(comm_bytes, jp_comm, value_known(v, !at->sizeless, at->bytes))
JP_GETTER(comm_hosts, jp_comm, v->type = JP_VALUE_LIST; v->list = at->hosts;
          v->n = at->n_hosts)
JP_GETTER(comm_hca_path, jp_comm, value_name(v, at->hca_path))
JP_GETTER(comm_nvls, jp_comm, value_name(v, at->carriers.nvls))
JP_GETTER(comm_collnet, jp_comm,
          value_name(v, *at->carriers.collnet ? at->carriers.collnet : NULL))
JP_GETTER(comm_warnings, jp_comm, v->type = JP_VALUE_LIST;
          v->list = at->warnings; v->n = at->n_warnings)
JP_GETTER(comm_n_warnings, jp_comm,
          value_known(v, at->fabric != NULL, at->n_warnings))

/* Formats the ranks that left records and the communicator's size; sorted by
 * the first. */
static void put_seen(const struct jp_row *row, const char *of,
                     struct jp_value *v)
{
    const struct jp_comm *c = row->at;

    snprintf(v->buf, sizeof(v->buf), "%" PRIu32 "%s%" PRIu32, c->ranks_seen, of,
             c->n_ranks);
    value_text(v, v->buf);
    v->real = c->ranks_seen;
}

/* "6 of 8" */
static void get_comm_seen(const struct jp_row *row, struct jp_value *v)
{
    put_seen(row, " of ", v);
}

/* The same for the narrow column in text. */
static void get_comm_seen_short(const struct jp_row *row, struct jp_value *v)
{
    put_seen(row, "/", v);
}

/* Formats "NVLS, SHARP, GDRDMA 87.5 %, PXN"; "" without a log of NCCL. */
static char *carriers_text(const struct jp_carriers *c, char *buf, size_t size)
{
    const char *nvls = "", *between = "", *collnet = "";
    char gdr[32] = "";

    /* each part begins with ", " */
    if (is(c->nvls, "yes"))
        nvls = ", NVLS";
    else if (is(c->nvls, "ready"))
        nvls = ", NVLS ready";
    if (*c->collnet && !is(c->collnet, "no")) {
        between = ", ";
        collnet = is(c->collnet, "yes") ? "CollNet" : c->collnet;
    }
    /* all channels, or none of them, need no percentage */
    if (c->has_net && c->gdr_share > 0 && c->gdr_share < 1)
        snprintf(gdr, sizeof(gdr), ", GDRDMA %.3g %%", 100 * c->gdr_share);
    else if (c->has_net)
        snprintf(gdr, sizeof(gdr), ", %sGDRDMA", c->gdr_share > 0 ? "" : "no ");
    snprintf(buf, size, "%s%s%s%s%s", nvls, between, collnet, gdr,
             c->pxn ? ", PXN" : "");
    /* drop the first ", " */
    if (*buf)
        memmove(buf, buf + 2, strlen(buf + 2) + 1);
    return buf;
}

/* Unknown without a log of NCCL, and without any carrier. */
static void get_comm_carriers(const struct jp_row *row, struct jp_value *v)
{
    const struct jp_comm *c = row->at;

    value_name(v, *carriers_text(&c->carriers, v->buf, 120) ? v->buf : NULL);
}

/* Shows what the communicator runs over, with the rule behind a click. Without
 * a topology, shows the evidence for the type. */
static void get_comm_medium(const struct jp_row *row, struct jp_value *v)
{
    const struct jp_comm *c = row->at;

    if (c->fabric)
        medium_text(c, v->buf, 120);
    else
        snprintf(v->buf, 120, "not known (evidence: %s)",
                 c->evidence && *c->evidence ? c->evidence : "-");
    value_text(v, v->buf);
    v->more = c->why;
}

/* Writes lines of text below a communicator's row: its medium and what carries
 * it, as far as known. */
static void put_medium(const struct jp_row *row, FILE *out)
{
    const struct jp_comm *c = row->at;
    char medium[80], carriers[120];

    if (medium_known(c))
        text_out_line(out, "  %-18s over %s; evidence %s", "",
                      medium_text(c, medium, sizeof(medium)), c->evidence);
    if (*carriers_text(&c->carriers, carriers, sizeof(carriers)))
        text_out_line(out, "  %-18s carried by %s", "", carriers);
}

/* Maps a time to a weight in (-1, 0], in the order of times. Rows of such
 * weights are folded in the page, the one of most time first. */
static double fold_time(double time)
{
    return -1 / (1 + time);
}

/* Folds communicators that show nothing: of one rank, or without operations. */
static double weigh_comm(const struct jp_result *result, size_t row)
{
    const struct jp_comm *c = &result->comms[row];
    double time = rows_comm_time(result, row);

    return c->n_ranks > 1 && (c->ops || c->p2p_records) ? time
                                                        : fold_time(time);
}

#define FIELD(member) JP_FIELD(struct jp_comm, member)
/* key, kind, flags, position in JSON, page and text, title, help */
static const struct jp_column comms[] = {
    {"id", JP_COL_ID, JP_CSV, 2, 1, 1, "Id",
     "as in the records; two communicators may have the same id",
     .get = get_comm_id},
    {"name", JP_COL_TEXT, JP_CSV | JP_TIP, 3, 2, 2, "Name",
     "as the program named it", .width = 14, FIELD(name)},
    {"comm_type", JP_COL_WORD, JP_CSV | JP_TIP, 9, 3, 3, "Type",
     "by NCCL's own rule on ranks and NVLink domains", .get = get_comm_type,
     JP_WORDS(comm_types)},
    {"n_ranks", JP_COL_COUNT, JP_CSV, 4, 0, 0, NULL, "its size",
     FIELD(n_ranks)},
    {"nnodes", JP_COL_COUNT, JP_CSV | JP_TIP, 5, 5, 0, "Domains",
     "NVLink domains, as NCCL counts nodes", FIELD(nnodes)},
    {"ranks_seen", JP_COL_COUNT, JP_CSV, 6, 0, 0, NULL,
     "ranks that left records", FIELD(ranks_seen)},
    {"n_hosts", JP_COL_COUNT, JP_CSV | JP_TIP, 7, 6, 5, "Hosts",
     "of the ranks seen", .width = 5, FIELD(n_hosts)},
    {"ops", JP_COL_COUNT, JP_CSV, 15, 7, 6, "Operations",
     "joined over their ranks", .width = 10, FIELD(ops)},
    {"ops_complete", JP_COL_COUNT, JP_CSV, 16, 0, 0, NULL,
     "with records of all ranks", FIELD(ops_complete)},
    {"records", JP_COL_COUNT, JP_CSV, 17, 0, 0, NULL, "of collectives",
     FIELD(records)},
    {"bytes", JP_COL_BYTES, JP_CSV | JP_MAYBE | JP_TIP, 19, 8, 7, "Data",
     "sum of message sizes; unknown: of an operation none is recorded",
     .get = get_comm_bytes},
    {"time_us", JP_COL_US, JP_CSV | JP_TIP | JP_BAR, 20, 9, 8, "Time",
     "sum over operations of the longest rank's time", FIELD(time_us)},
    {"evidence", JP_COL_TEXT, JP_CSV | JP_MAYBE, 13, 0, 0, NULL,
     "evidence for fabric, or for inter where there is none: observed, nvml, "
     "rccl, nccl, hwloc, inferred, assumed; where neither is known, the "
     "evidence for comm_type: records, records+hosts, contradicted, hosts, "
     "ranks",
     FIELD(evidence)},
    {"why", JP_COL_TEXT, JP_CSV | JP_MAYBE, 14, 0, 0, NULL,
     "the rule and the numbers it was applied to", FIELD(why)},
    {"p2p_records", JP_COL_COUNT, JP_CSV, 18, 0, 0, NULL, "of Send and Recv",
     FIELD(p2p_records)},
    {"hosts", JP_COL_LIST, JP_CSV, 8, 0, 0, NULL, "of the ranks seen",
     .max = 64, .get = get_comm_hosts},
    {"produced", JP_COL_COUNT, JP_CSV | JP_MAYBE, 21, 0, 0, NULL,
     "operations its ranks have begun, Send and Recv among them, by the "
     "recorder's counters; unknown: it has none",
     FIELD(produced), JP_IF(struct jp_comm, counted)},
    {"lost", JP_COL_COUNT, JP_CSV | JP_MAYBE, 22, 0, 0, NULL,
     "of these by the recorder", FIELD(lost), JP_IF(struct jp_comm, counted)},
    {"capped", JP_COL_COUNT, JP_CSV | JP_MAYBE, 23, 0, 0, NULL,
     "of these left out on purpose, at the recorder's cap (disk=)",
     FIELD(capped), JP_IF(struct jp_comm, counted)},
    {"fabric", JP_COL_WORD, JP_CSV | JP_MAYBE, 10, 0, 0, NULL,
     "inside NVLink domains (measuring.md); unknown: the nodes left no records",
     FIELD(fabric), .words = label_fabric_word, .n_words = JP_N_FABRICS},
    {"inter", JP_COL_WORD, JP_CSV | JP_MAYBE, 11, 0, 0, NULL,
     "between NVLink domains", FIELD(inter), .words = label_inter_word,
     .n_words = JP_N_INTERS},
    {"rail", JP_COL_WORD, JP_CSV | JP_MAYBE, 12, 0, 0, NULL,
     "whether domains meet on the same HCAs, by PCI position", FIELD(rail),
     .words = label_rail_word, .n_words = JP_N_RAILS},
    {"hca_path", JP_COL_WORD, JP_CSV | JP_MAYBE, 24, 0, 0, NULL,
     "the worst rank's way to its HCA; unknown: also none",
     .get = get_comm_hca_path, JP_WORDS(hca_paths)},
    {"warnings", JP_COL_COUNT, JP_CSV | JP_MAYBE, 0, 0, 0, NULL,
     "their number (measuring.md)", .get = get_comm_n_warnings},
    {"nvls", JP_COL_WORD, JP_CSV | JP_MAYBE, 26, 0, 0, NULL,
     "NVLink SHARP, by NCCL's log: no; ready: it has channels for it; yes: its "
     "buffers were made",
     .get = get_comm_nvls, JP_WORDS(label_nvls_word)},
    {"collnet", JP_COL_TEXT, JP_CSV | JP_MAYBE, 27, 0, 0, NULL,
     "reduction in the network, by NCCL's log: no, or the plugin's name "
     "(SHARP); yes: without a name",
     .get = get_comm_collnet},
    {"gdr_share", JP_COL_SHARE, JP_CSV | JP_MAYBE, 28, 0, 0, NULL,
     "of its channels over a network, those with GPUDirect RDMA, by NCCL's log",
     FIELD(carriers.gdr_share), JP_IF(struct jp_comm, carriers.has_net)},
    {"pxn", JP_COL_BOOL, JP_CSV | JP_MAYBE, 29, 0, 0, NULL,
     "some channels go over another rank's adapter, by NCCL's log",
     FIELD(carriers.pxn), JP_IF(struct jp_comm, carriers.has_net)},
    {"index", JP_COL_RANK, 0, 1, 0, 0, NULL,
     "row number that comm_index of other tables refers to", .get = get_index},
    {"warnings", JP_COL_LIST, 0, 25, 0, 0, NULL, "\"kind: text\"", .max = 24,
     .get = get_comm_warnings},
    {"ranks", JP_COL_FIGURE, JP_TIP, 0, 4, 0, "Ranks",
     "that left records, of the communicator's size", .get = get_comm_seen},
    {"ranks", JP_COL_FIGURE, 0, 0, 0, 4, "Ranks", NULL,
     .get = get_comm_seen_short},
    {"medium", JP_COL_MORE, JP_TIP, 0, 10, 0, "Runs over",
     "inside NVLink domains + between them, by the nodes' topologies; (!): "
     "see the warnings above; a click shows the reason. Without a topology, "
     "the evidence for the type",
     .get = get_comm_medium},
    {"carriers", JP_COL_TEXT, JP_TIP | JP_MAYBE, 0, 11, 0, "Carried by",
     "what NCCL's log names: NVLS, CollNet (SHARP), GPUDirect RDMA, PXN",
     .get = get_comm_carriers},
};
#undef FIELD
const struct jp_table table_comms = {
    .name = "comms",
    .json = "comms",
    .help = "a row a communicator",
    JP_COLUMNS(comms),
    .title = "Communicators, most time first",
    JP_ROWS(comms),
    .weight = weigh_comm,
    .by_weight = true,
    .folded = {"communicator of one rank or without operations is",
               "communicators of one rank or without operations are"},
    .max_json = 2000,
    .max_html = 200,
    .max_text = 20,
    .below = put_medium,
};

/* --- cells ---------------------------------------------------------------- */

static const char *const percentiles[] = {"exact", "rounded"};
JP_GETTER(cell_type, jp_cell, value_text(v, comm_type_name(at->type)))
/* Folds the operations of single ranks, which use no network. */
static double weigh_cell(const struct jp_result *result, size_t row)
{
    const struct jp_cell *cell = &result->cells[row];
    double time = (double) cell->exec.n * cell->exec.mean;

    return cell->type == JP_COMM_SINGLE_RANK ? fold_time(time) : time;
}

JP_GETTER(cell_percentiles, jp_cell, value_text(v, percentiles[at->rounded]))

#define FIELD(member) JP_FIELD(struct jp_cell, member)
/* A figure of a distribution, which is unknown if the distribution is empty. */
#define DIST(dist, member)                                                     \
    JP_FIELD(struct jp_cell, dist.member), JP_IF(struct jp_cell, dist.n)
#define READERS (JP_CSV | JP_MAYBE | JP_TIP | JP_LOWEST)
/* the first columns are the key of the row */
static const struct jp_column cells[] = {
    {"comm_type", JP_COL_WORD, JP_CSV, 1, 1, 1, "Type", "of the communicator",
     .get = get_cell_type, JP_WORDS(comm_types)},
    {"coll", JP_COL_TEXT, JP_CSV, 2, 2, 2, "Function", "NCCL's function",
     .width = 13, FIELD(coll)},
    {"msg_size_bytes", JP_COL_BYTES, JP_CSV | JP_MAYBE | JP_TIP, 3, 3, 3,
     "Size", "of the message; unknown: it is not recorded", FIELD(bytes),
     JP_IF(struct jp_cell, bytes)},
    {"ops", JP_COL_COUNT, JP_CSV | JP_TIP, 4, 4, 4, "Ops",
     "operations joined over their ranks", FIELD(ops)},
    {"records", JP_COL_COUNT, JP_CSV, 5, 0, 0, NULL, "of these operations",
     FIELD(records)},
    {"mean", JP_COL_GBS, JP_CSV | JP_MAYBE, 7, 0, 0, NULL,
     "bus bandwidth, mean over operations' means over their records",
     .path = "busbw_gbs.mean", DIST(busbw, mean)},
    {"p50", JP_COL_GBS, READERS, 10, 6, 5, "p50",
     "bus bandwidth, median over operations", .path = "busbw_gbs.p50",
     DIST(busbw, p50)},
    {"p95", JP_COL_GBS, READERS, 11, 7, 6, "p95",
     "bus bandwidth, 95th percentile", .path = "busbw_gbs.p95",
     DIST(busbw, p95)},
    {"p99", JP_COL_GBS, READERS, 12, 8, 7, "p99",
     "bus bandwidth, 99th percentile", .path = "busbw_gbs.p99",
     DIST(busbw, p99)},
    {"min", JP_COL_GBS, READERS, 8, 9, 8, "least",
     "bus bandwidth of the slowest operation", .path = "busbw_gbs.min",
     .brief = "min", DIST(busbw, min)},
    {"max", JP_COL_GBS, READERS, 13, 10, 0, "most",
     "bus bandwidth of the fastest operation", .path = "busbw_gbs.max",
     DIST(busbw, max)},
    {"time_weighted", JP_COL_GBS, JP_CSV | JP_MAYBE, 30, 0, 0, NULL,
     "bus bandwidth, mean weighted by the operations' times",
     .path = "time_weighted_gbs", FIELD(time_weighted_gbs)},
    {"exec_mean_us", JP_COL_US, JP_CSV | JP_MAYBE, 15, 0, 0, NULL,
     "longest rank's time, mean over operations", .path = "exec_us.mean",
     DIST(exec, mean)},
    {"exec_p50_us", JP_COL_US, READERS, 18, 12, 9, "Time p50",
     "longest rank's time, median over operations", .path = "exec_us.p50",
     .brief = "p50", DIST(exec, p50)},
    {"exec_p95_us", JP_COL_US, READERS, 19, 13, 10, "p95",
     "longest rank's time, 95th percentile", .path = "exec_us.p95",
     DIST(exec, p95)},
    {"exec_p99_us", JP_COL_US, READERS, 20, 14, 0, "p99",
     "longest rank's time, 99th percentile", .path = "exec_us.p99",
     DIST(exec, p99)},
    {"exec_min_us", JP_COL_US, JP_CSV | JP_MAYBE, 16, 0, 0, NULL,
     "longest rank's time, shortest operation", .path = "exec_us.min",
     DIST(exec, min)},
    {"exec_max_us", JP_COL_US, JP_CSV | JP_MAYBE, 21, 0, 0, NULL,
     "longest rank's time, longest operation", .path = "exec_us.max",
     DIST(exec, max)},
    {"net_ops", JP_COL_COUNT, JP_CSV, 22, 0, 0, NULL,
     "operations with a known bandwidth of the network",
     .path = "net_busbw_gbs.n", FIELD(net_busbw.n)},
    {"net_mean", JP_COL_GBS, JP_CSV | JP_MAYBE, 23, 0, 0, NULL,
     "network's bandwidth, mean", .path = "net_busbw_gbs.mean",
     DIST(net_busbw, mean)},
    {"net_p50", JP_COL_GBS, JP_CSV | JP_MAYBE | JP_TIP | JP_LOWEST, 26, 11, 0,
     "last in p50",
     "bus bandwidth from the time of the rank that came last: without the "
     "waits of the others",
     .path = "net_busbw_gbs.p50", DIST(net_busbw, p50)},
    {"net_p95", JP_COL_GBS, JP_CSV | JP_MAYBE, 27, 0, 0, NULL,
     "network's bandwidth, 95th percentile", .path = "net_busbw_gbs.p95",
     DIST(net_busbw, p95)},
    {"net_p99", JP_COL_GBS, JP_CSV | JP_MAYBE, 28, 0, 0, NULL,
     "network's bandwidth, 99th percentile", .path = "net_busbw_gbs.p99",
     DIST(net_busbw, p99)},
    {"net_min", JP_COL_GBS, JP_CSV | JP_MAYBE, 24, 0, 0, NULL,
     "network's bandwidth, slowest operation", .path = "net_busbw_gbs.min",
     DIST(net_busbw, min)},
    {"net_max", JP_COL_GBS, JP_CSV | JP_MAYBE, 29, 0, 0, NULL,
     "network's bandwidth, fastest operation", .path = "net_busbw_gbs.max",
     DIST(net_busbw, max)},
    {"p5", JP_COL_GBS, READERS, 9, 5, 0, "GB/s p5",
     "bus bandwidth, 5th percentile over operations", .path = "busbw_gbs.p5",
     DIST(busbw, p5)},
    {"exec_p5_us", JP_COL_US, JP_CSV | JP_MAYBE, 17, 0, 0, NULL,
     "longest rank's time, 5th percentile", .path = "exec_us.p5",
     DIST(exec, p5)},
    {"net_p5", JP_COL_GBS, JP_CSV | JP_MAYBE, 25, 0, 0, NULL,
     "network's bandwidth, 5th percentile", .path = "net_busbw_gbs.p5",
     DIST(net_busbw, p5)},
    {"percentiles", JP_COL_WORD, JP_CSV, 31, 0, 0, NULL,
     "rounded: the cell has too many operations to keep them all; p5, p50, p95 "
     "and p99 are from a histogram, within 0.3 %",
     .get = get_cell_percentiles, JP_WORDS(percentiles)},
    {"busbw_n", JP_COL_COUNT, 0, 6, 0, 0, NULL,
     "operations with a bus bandwidth", .path = "busbw_gbs.n", FIELD(busbw.n)},
    {"exec_n", JP_COL_COUNT, 0, 14, 0, 0, NULL, "operations with a time",
     .path = "exec_us.n", FIELD(exec.n)},
};
#undef FIELD
#undef DIST
#undef READERS
const struct jp_table table_cells = {
    .name = "cells",
    .json = "cells",
    .help = "one row per communicator type, function and size of operations",
    JP_COLUMNS(cells),
    .title = "Operations by type, function and size, most time first",
    .banner = "                                                "
              "bus bandwidth, GB/s             time, longest rank",
    JP_ROWS(cells),
    .weight = weigh_cell,
    .by_weight = true,
    .folded = {"kind of operation of single ranks is",
               "kinds of operations of single ranks are"},
    .max_json = 5000,
    .max_html = 200,
    .max_text = 40,
};

/* --- ranks ---------------------------------------------------------------- */

JP_GETTER(rank_exec, jp_rank,
          value_known(v, !row->result->quality.waits_unknown, at->exec_us))
JP_GETTER(rank_wait, jp_rank,
          value_known(v, !row->result->quality.waits_unknown, at->wait_us))

/* Formats a rank of a communicator by the one name that ranks have everywhere:
 * "19 (3)" is rank 19 of the job, which is rank 3 there; "3": both are the
 * same;
 * "(3)": its rank in the job is unknown. Sorted by the first. */
static void put_rank(const struct jp_row *row, size_t comm, uint32_t rank,
                     struct jp_value *v)
{
    const struct jp_processes *p = row->report ? row->report->processes : NULL;
    const struct jp_result *r = row->result;
    const struct jp_process *who = NULL;
    int64_t world = -1;
    size_t at;

    /* the index of a damaged report may be out of range */
    if (p && p->comm_start && comm < r->n_comms) {
        at = processes_rank(p, r, comm, rank);
        if (at < r->n_ranks)
            who = &p->list[p->of_rank[at]];
    }
    if (who)
        world = who->world_rank;
    if (world < 0)
        snprintf(v->buf, sizeof(v->buf), "(%" PRIu32 ")", rank);
    else if (world == rank)
        snprintf(v->buf, sizeof(v->buf), "%" PRId64, world);
    else
        snprintf(v->buf, sizeof(v->buf), "%" PRId64 " (%" PRIu32 ")", world,
                 rank);
    value_text(v, v->buf);
    v->real = world < 0 ? (double) rank : (double) world;
}

/* The process of a row of ranks; NULL: unknown. */
static const struct jp_process *process_of_rank(const struct jp_row *row,
                                                const struct jp_rank *at)
{
    const struct jp_processes *p = row->report ? row->report->processes : NULL;
    size_t i = (size_t) (at - row->result->ranks);

    return p && p->of_rank && i < row->result->n_ranks ? &p->list[p->of_rank[i]]
                                                       : NULL;
}

static void get_rank_world(const struct jp_row *row, struct jp_value *v)
{
    const struct jp_process *who = process_of_rank(row, row->at);

    value_signed(v, who ? who->world_rank : -1);
}

/* Its GPU, as NCCL or the recorder names it. */
static void get_rank_gpu(const struct jp_row *row, struct jp_value *v)
{
    const struct jp_step_labels *labels = row->report ? row->report->labels
                                                      : NULL;
    const struct jp_rank *at = row->at;
    size_t i = (size_t) (at - row->result->ranks);

    value_name(v, labels && labels->places && i < row->result->n_ranks
                      ? labels->places[i].busid
                      : NULL);
}

JP_GETTER(rank_restarts, jp_rank, value_signed(v, at->restarts))
JP_GETTER(rank_name_of, jp_rank, put_rank(row, at->comm, at->rank, v))
JP_GETTER(src_name_of, jp_p2p, put_rank(row, at->comm, at->src, v))
JP_GETTER(dst_name_of, jp_p2p, put_rank(row, at->comm, at->dst, v))

/* Folds ranks for which no other rank waited. */
static double weigh_rank(const struct jp_result *result, size_t row)
{
    uint64_t caused_us = result->ranks[row].caused_us;

    return caused_us ? (double) caused_us : -1;
}

#define FIELD(member) JP_FIELD(struct jp_rank, member)
/* times are sums over the operations that were timed on all ranks */
static const struct jp_column ranks[] = {
    {"comm", JP_COL_ID, JP_CSV, 1, 4, 3, "Communicator", "its id",
     .get = get_rank_comm},
    {"comm_name", JP_COL_TEXT, JP_CSV, 0, 5, 4, "Name",
     "the communicator's, as the program named it", .width = 10,
     .get = get_rank_name},
    {"rank", JP_COL_RANK, JP_CSV, 3, 0, 0, NULL, "in its communicator",
     FIELD(rank)},
    {"rank", JP_COL_FIGURE, JP_TIP, 0, 1, 1, "Rank",
     "in the job; in brackets, if it differs, in the communicator", .width = 8,
     .get = get_rank_name_of},
    {"host", JP_COL_TEXT, JP_CSV | JP_MAYBE, 4, 2, 2, "Host", "on which it ran",
     FIELD(host)},
    {"pid", JP_COL_PID, JP_CSV | JP_TIP, 5, 3, 0, "Process", "pid on its host",
     FIELD(pid)},
    {"records", JP_COL_COUNT, JP_CSV, 6, 0, 0, NULL, "of collectives",
     FIELD(records)},
    {"timed_ops", JP_COL_COUNT, JP_CSV | JP_TIP, 7, 6, 6, "Timed ops",
     "AllReduce, AllGather, ReduceScatter and AlltoAll with records of all "
     "ranks",
     .brief = "of ops", FIELD(timed_ops)},
    {"last_ops", JP_COL_COUNT, JP_CSV, 8, 0, 0, NULL,
     "of these, in which it arrived last", FIELD(last_ops)},
    {"last_share", JP_COL_SHARE, JP_CSV | JP_MAYBE | JP_TIP, 9, 7, 5, "Last in",
     "share of these in which it arrived last", FIELD(last_share)},
    {"exec_us", JP_COL_US, JP_CSV | JP_MAYBE | JP_TIP, 12, 10, 0,
     "In operations", "its time in these operations", .get = get_rank_exec},
    {"wait_us", JP_COL_US, JP_CSV | JP_MAYBE | JP_TIP, 13, 9, 8, "Own wait",
     "time that it waited for others", .brief = "waited", .get = get_rank_wait},
    {"caused_us", JP_COL_US, JP_CSV | JP_TIP | JP_BAR, 11, 8, 7, "Wait caused",
     "time that the other ranks waited for it, summed over ranks and "
     "operations",
     .brief = "caused", FIELD(caused_us)},
    {"p2p_records", JP_COL_COUNT, JP_CSV, 10, 0, 0, NULL, "of Send and Recv",
     FIELD(p2p_records)},
    {"kernel_cpu", JP_COL_COUNT, JP_CSV, 14, 0, 0, NULL,
     "records with a time by a CPU's clock, of the kernel's events",
     FIELD(kernel_cpu)},
    {"call_cpu", JP_COL_COUNT, JP_CSV, 15, 0, 0, NULL,
     "records with a time by a CPU's clock, from the call to the last event",
     FIELD(call_cpu)},
    {"restarts", JP_COL_COUNT, JP_CSV | JP_MAYBE, 16, 0, 0, NULL,
     "how often the job's processes had been started anew before its own; "
     "unknown: nobody tells",
     .get = get_rank_restarts},
    {"world_rank", JP_COL_RANK, JP_CSV | JP_MAYBE, 17, 0, 0, NULL,
     "in the job; unknown: nothing tells", .get = get_rank_world},
    {"gpu", JP_COL_TEXT, JP_CSV | JP_MAYBE, 18, 0, 0, NULL,
     "PCI bus id of its GPU, on its host; unknown: nothing tells",
     .get = get_rank_gpu},
    {"comm_index", JP_COL_RANK, 0, 2, 0, 0, NULL,
     "index of the communicator in comms", FIELD(comm)},
};
#undef FIELD
const struct jp_table table_ranks = {
    .name = "ranks",
    .json = "ranks",
    .help = "one row per rank of a communicator",
    JP_COLUMNS(ranks),
    .title = "Ranks that arrived last, most wait caused first (AllReduce, "
             "AllGather, ReduceScatter, AlltoAll)",
    JP_ROWS(ranks),
    .weight = weigh_rank,
    .by_weight = true,
    .folded = {"rank without waits of others is",
               "ranks without waits of others are"},
    .max_json = 10000,
    .max_html = 200,
    .max_text = 10,
};

/* --- operations ----------------------------------------------------------- */

/* an index out of range names no function */
JP_GETTER(op_coll, jp_op,
          value_text(v, at->coll < row->result->n_coll_names
                            ? row->result->coll_names[at->coll]
                            : ""))
JP_GETTER(op_phase, jp_op, value_text(v, result_phase(row->result, at->phase)))
JP_GETTER(window_bytes, jp_window, value_known(v, !at->sizeless, at->bytes))
JP_GETTER(window_phase, jp_window,
          value_text(v, result_phase(row->result, at->phase)))
/* Tables with tens of millions of rows use these direct writers. */
#define OP_WRITER(name, known, ...)                                            \
    static void csv_op_##name(struct jp_csv *csv, const struct jp_row *row)    \
    {                                                                          \
        const struct jp_op *at = row->at;                                      \
                                                                               \
        if (known)                                                             \
            __VA_ARGS__;                                                       \
        else                                                                   \
            csv_out_empty(csv);                                                \
    }
OP_WRITER(n_ranks, true,
          csv_out_count(csv, rows_comm(row->result, at->comm)->n_ranks))
/* sums are in millionths of GB/s, hence 6 decimals */
OP_WRITER(mean, at->n_busbw,
          csv_out_mean(csv, at->busbw_sum_micro, at->n_busbw, 6))
OP_WRITER(exec_mean, at->n_exec,
          csv_out_mean(csv, at->exec_sum_us, at->n_exec, 0))
OP_WRITER(last_rank, at->min_rank != UINT32_MAX,
          csv_out_count(csv, at->min_rank))
OP_WRITER(second, at->n_exec > 1, csv_out_count(csv, at->exec_second_us))

#define FIELD(member) JP_FIELD(struct jp_op, member)
#define IF(member) JP_IF(struct jp_op, member)
/* JSON and the page have no operations: there are too many */
static const struct jp_column ops[] = {
    {"comm", JP_COL_ID, JP_CSV, .help = "the communicator's id",
     .get = get_op_comm},
    {"comm_name", JP_COL_TEXT, JP_CSV, .help = "as the program named it",
     .get = get_op_name},
    {"coll", JP_COL_TEXT, JP_CSV, .help = "NCCL's function",
     .get = get_op_coll},
    {"sn", JP_COL_RANK, JP_CSV, .help = "sequence number", FIELD(sn)},
    {"msg_size_bytes", JP_COL_BYTES, JP_CSV | JP_MAYBE,
     .help = "of the message; unknown: it is not recorded", FIELD(bytes),
     IF(bytes)},
    {"n_ranks", JP_COL_COUNT, JP_CSV, .help = "the communicator's size",
     .csv = csv_op_n_ranks},
    {"records", JP_COL_COUNT, JP_CSV, .help = "one a rank", FIELD(n)},
    {"mean", JP_COL_GBS, JP_CSV | JP_MAYBE,
     .help = "bus bandwidth, mean over its records", .csv = csv_op_mean},
    {"min", JP_COL_GBS, JP_CSV | JP_MAYBE,
     .help = "bus bandwidth, least of its records", .field = JP_FIELD_MICRO,
     .offset = offsetof(struct jp_op, busbw_min_micro), IF(n_busbw)},
    {"max", JP_COL_GBS, JP_CSV | JP_MAYBE,
     .help = "bus bandwidth, greatest of its records", .field = JP_FIELD_MICRO,
     .offset = offsetof(struct jp_op, busbw_max_micro), IF(n_busbw)},
    {"exec_min_us", JP_COL_US, JP_CSV | JP_MAYBE,
     .help = "shortest time of the records that have one", FIELD(exec_min_us),
     IF(n_exec)},
    {"exec_max_us", JP_COL_US, JP_CSV | JP_MAYBE, .help = "longest time",
     FIELD(exec_max_us), IF(n_exec)},
    {"exec_mean_us", JP_COL_US, JP_CSV | JP_MAYBE | JP_REAL,
     .help = "mean time", .csv = csv_op_exec_mean},
    {"last_rank", JP_COL_RANK, JP_CSV | JP_MAYBE,
     .help = "with the shortest time, and so the last to arrive; unknown: a "
             "tie, or a record without a time",
     .csv = csv_op_last_rank},
    {"dump_min_us", JP_COL_CLOCK, JP_CSV,
     .help = "first record: when the operation ended, by the recorder's files; "
             "when the record was written, by Inspector's logs; 0 for traces",
     FIELD(dump_min_us)},
    {"dump_max_us", JP_COL_CLOCK, JP_CSV, .help = "likewise, last record",
     FIELD(dump_max_us)},
    {"exec_second_us", JP_COL_US, JP_CSV | JP_MAYBE,
     .help = "second-shortest time; unknown below two: with n records, (n - "
             "1) x (exec_second_us - exec_min_us) is the time that the others "
             "waited only for the last one",
     .csv = csv_op_second},
    {"starts", JP_COL_COUNT, JP_CSV,
     .help = "records with the start of their rank", FIELD(n_start)},
    {"start_first_us", JP_COL_CLOCK, JP_CSV | JP_MAYBE,
     .help = "when the first of these began", FIELD(start_min_us), IF(n_start)},
    {"start_last_us", JP_COL_CLOCK, JP_CSV | JP_MAYBE,
     .help = "when the last of these began", FIELD(start_max_us), IF(n_start)},
    {"end_us", JP_COL_CLOCK, JP_CSV | JP_MAYBE,
     .help = "when the last one ended", FIELD(end_max_us), IF(end_max_us)},
    {"phase", JP_COL_TEXT, JP_CSV,
     .help = "of the training step, as the program says: an annotation, a tag "
             "of NCCL's call; \"several\": its ranks differ",
     .get = get_op_phase},
};
#undef FIELD
#undef IF
const struct jp_table table_ops = {
    .name = "ops",
    .help = "one row per operation",
    JP_COLUMNS(ops),
};

void tables_op_csv(struct jp_csv *csv, const struct jp_row *row)
{
/* The array is constant, so the unrolled loop has no branches on columns. */
#pragma GCC unroll 32
    for (size_t i = TABLES_OP_BEGINNING; i < sizeof(ops) / sizeof(*ops); i++)
        table_csv_column(csv, &ops[i], row);
}

/* --- pairs ---------------------------------------------------------------- */

/* Pairs of most data come first; those of hosts, below, do too. */
static double weigh_pair(const struct jp_result *result, size_t row)
{
    return (double) result->p2p[row].bytes;
}

#define FIELD(member) JP_FIELD(struct jp_p2p, member)
/* a message can occur twice: as Send of its sender and as Recv of its receiver
 */
static const struct jp_column pairs[] = {
    {"comm", JP_COL_ID, JP_CSV, 1, 1, 0, "Communicator", "its id",
     .get = get_p2p_comm},
    {"comm_name", JP_COL_TEXT, JP_CSV, 0, 2, 0, "Name",
     "the communicator's, as the program named it", .get = get_p2p_name},
    {"src", JP_COL_RANK, JP_CSV, 3, 0, 0, NULL, "rank that sends", FIELD(src)},
    {"src", JP_COL_FIGURE, 0, 0, 3, 0, "From rank",
     "rank in the job that sends; in brackets, if it differs, in the "
     "communicator",
     .get = get_src_name_of},
    {"dst", JP_COL_RANK, JP_CSV, 4, 0, 0, NULL, "rank that receives",
     FIELD(dst)},
    {"dst", JP_COL_FIGURE, 0, 0, 4, 0, "To rank", "likewise, that receives",
     .get = get_dst_name_of},
    {"func", JP_COL_TEXT, JP_CSV | JP_TIP, 5, 5, 0, "Recorded by",
     "Send: by the sender, Recv: by the receiver", FIELD(func)},
    {"count", JP_COL_COUNT, JP_CSV, 6, 6, 0, "Count", "messages", FIELD(count)},
    {"bytes", JP_COL_BYTES, JP_CSV | JP_BAR, 7, 7, 0, "Data", "of them",
     FIELD(bytes)},
    {"exec_us", JP_COL_US, JP_CSV | JP_TIP, 8, 8, 0, "Time", "sum",
     FIELD(exec_us)},
    {"mean", JP_COL_GBS, JP_CSV | JP_MAYBE, 9, 9, 0, "GB/s mean",
     "bus bandwidth over the records", .path = "busbw_gbs", FIELD(busbw_mean)},
    {"comm_index", JP_COL_RANK, 0, 2, 0, 0, NULL,
     "index of the communicator in comms", FIELD(comm)},
};
#undef FIELD
const struct jp_table table_pairs = {
    .name = "p2p",
    .json = "pairs",
    .help = "one row per pair of ranks of a communicator and direction (Send "
            "or Recv)",
    JP_COLUMNS(pairs),
    JP_ROWS(p2p),
    .weight = weigh_pair,
    .by_weight = true,
    .max_json = 10000,
    .max_html = 200,
};

JP_GETTER(src_host, jp_p2p_node, value_name(v, at->src_host))
JP_GETTER(dst_host, jp_p2p_node, value_name(v, at->dst_host))

static double weigh_node_pair(const struct jp_result *result, size_t row)
{
    return (double) result->p2p_nodes[row].bytes;
}

#define FIELD(member) JP_FIELD(struct jp_p2p_node, member)
/* the same, summed over ranks and communicators */
static const struct jp_column node_pairs[] = {
    {"src_host", JP_COL_TEXT, JP_CSV | JP_MAYBE | JP_TIP, 1, 1, 1, "From host",
     "of the ranks' own records", .brief = "from", .width = 24,
     .none = "unknown", .get = get_src_host},
    {"dst_host", JP_COL_TEXT, JP_CSV | JP_MAYBE, 2, 2, 2, "To host",
     "unknown: the rank left no record of its own", .brief = "to", .width = 24,
     .none = "unknown", .get = get_dst_host},
    {"func", JP_COL_TEXT, JP_CSV | JP_TIP, 3, 3, 3, "Recorded by",
     "Send: by the sender, Recv: by the receiver", .brief = "by", .width = 5,
     FIELD(func)},
    {"pairs", JP_COL_COUNT, JP_CSV | JP_TIP, 4, 4, 4, "Pairs", "of ranks",
     .width = 7, FIELD(pairs)},
    {"count", JP_COL_COUNT, JP_CSV, 5, 5, 5, "Count", "messages", FIELD(count)},
    {"bytes", JP_COL_BYTES, JP_CSV | JP_BAR, 6, 6, 6, "Data", "of them",
     FIELD(bytes)},
    {"exec_us", JP_COL_US, JP_CSV | JP_TIP, 7, 7, 0, "Time", "sum",
     FIELD(exec_us)},
    {"mean", JP_COL_GBS, JP_CSV | JP_MAYBE | JP_TIP, 8, 8, 7, "GB/s mean",
     "bus bandwidth over the records", .path = "busbw_gbs", .brief = "GB/s",
     FIELD(busbw_mean), JP_IF(struct jp_p2p_node, n_busbw)},
};
#undef FIELD
const struct jp_table table_node_pairs = {
    .name = "p2p_nodes",
    .json = "node_pairs",
    .help = "one row per pair of hosts and direction (Send or Recv), over all "
            "communicators and pairs of ranks; each message may appear in two "
            "rows, under Send and under Recv",
    JP_COLUMNS(node_pairs),
    .title = "Send and Recv between hosts, most data first (each row by the "
             "side that recorded it)",
    JP_ROWS(p2p_nodes),
    .weight = weigh_node_pair,
    .by_weight = true,
    .max_json = 10000,
    .max_html = 200,
    .max_text = 10,
};

/* --- algorithms ----------------------------------------------------------- */

JP_GETTER(algo_algo, jp_algo, value_text(v, record_algo_word(at->algo)))
JP_GETTER(algo_proto, jp_algo,
          value_name(v, *record_proto_word(at->proto)
                            ? record_proto_word(at->proto)
                            : NULL))

static double weigh_algo(const struct jp_result *result, size_t row)
{
    return (double) result->algos[row].records;
}

#define FIELD(member) JP_FIELD(struct jp_algo, member)
static const struct jp_column algorithms[] = {
    {"comm", JP_COL_ID, JP_CSV, 1, 1, 0, "Communicator", "its id",
     .get = get_algo_comm},
    {"comm_name", JP_COL_TEXT, JP_CSV, 0, 2, 0, "Name",
     "the communicator's, as the program named it", .get = get_algo_name},
    {"coll", JP_COL_TEXT, JP_CSV, 3, 3, 0, "Function", "NCCL's function",
     FIELD(func)},
    {"algorithm", JP_COL_TEXT, JP_CSV | JP_TIP, 4, 4, 0, "Algorithm",
     "NCCL's word: RING, TREE, NVLS ...; other: one that is not known here",
     .get = get_algo_algo},
    {"protocol", JP_COL_TEXT, JP_CSV | JP_MAYBE | JP_TIP, 5, 5, 0, "Protocol",
     "NCCL's word: LL, LL128, SIMPLE", .get = get_algo_proto},
    {"records", JP_COL_COUNT, JP_CSV | JP_BAR, 6, 6, 0, "Records", "of them",
     FIELD(records)},
    {"bytes_min", JP_COL_BYTES, JP_CSV | JP_MAYBE, 7, 7, 0, "From",
     "smallest message", FIELD(bytes_min), JP_IF(struct jp_algo, bytes_min)},
    {"bytes_max", JP_COL_BYTES, JP_CSV | JP_MAYBE, 8, 8, 0, "To",
     "largest message", FIELD(bytes_max), JP_IF(struct jp_algo, bytes_max)},
    {"comm_index", JP_COL_RANK, 0, 2, 0, 0, NULL,
     "index of the communicator in comms", FIELD(comm)},
};
#undef FIELD
const struct jp_table table_algorithms = {
    .name = "algorithms",
    .json = "algorithms",
    .help =
        "one row per communicator, function, algorithm and protocol, of "
        "records that name them (Inspector from v4.2 on); at most 64 rows a "
        "communicator",
    JP_COLUMNS(algorithms),
    JP_ROWS(algos),
    .weight = weigh_algo,
    .by_weight = true,
    .max_json = 10000,
    .max_html = 200,
};

/* --- windows -------------------------------------------------------------- */

static double weigh_window(const struct jp_result *result, size_t row)
{
    return (double) result->windows[row].time_us;
}

#define FIELD(member) JP_FIELD(struct jp_window, member)
/* only in JSON and CSV */
static const struct jp_column windows[] = {
    {"t0_us", JP_COL_CLOCK, JP_CSV, 1, .help = "begin of the slice",
     FIELD(t0_us)},
    {"t1_us", JP_COL_CLOCK, JP_CSV, 2, .help = "its end", FIELD(t1_us)},
    {"comm", JP_COL_ID, JP_CSV, 3, .help = "the communicator's id",
     .get = get_window_comm},
    {"comm_name", JP_COL_TEXT, JP_CSV, .help = "as the program named it",
     .get = get_window_name},
    {"coll", JP_COL_TEXT, JP_CSV, 5, .help = "NCCL's function", FIELD(coll)},
    {"ops", JP_COL_COUNT, JP_CSV, 6, .help = "by dump_min_us", FIELD(ops)},
    {"bytes", JP_COL_BYTES, JP_CSV | JP_MAYBE, 7,
     .help = "sum of message sizes; unknown: of an operation none is recorded",
     .get = get_window_bytes},
    {"time_us", JP_COL_US, JP_CSV, 8,
     .help = "sum over operations of the longest rank's time", FIELD(time_us)},
    {"mean", JP_COL_GBS, JP_CSV | JP_MAYBE, 9, .help = "bus bandwidth",
     .path = "busbw_gbs", FIELD(busbw_mean)},
    {"comm_index", JP_COL_RANK, 0, 4,
     .help = "index of the communicator in comms", FIELD(comm)},
    {"phase", JP_COL_TEXT, JP_CSV, 10,
     .help = "of the training step, as in ops.csv", .get = get_window_phase},
};
#undef FIELD
const struct jp_table table_windows = {
    .name = "windows",
    .json = "windows",
    .help =
        "one row per communicator, function, phase and slice of time: at most "
        "200 slices of equal length (fewer, but at least 10, where that "
        "could make more than 50,000 rows); none of traces",
    JP_COLUMNS(windows),
    JP_ROWS(windows),
    .weight = weigh_window,
    .max_json = 10000,
};

/* All tables of csv/ that every report has. Those of a hang and of
 * features have lists of their own. */
const struct jp_table *const tables[] = {
    &table_comms,    &table_cells,      &table_ranks,
    &table_ops,      &table_pairs,      &table_node_pairs,
    &table_windows,  &table_busy,       &table_network,
    &table_findings, &table_hypotheses, &table_busy_windows,
    &table_quality,  &table_algorithms, NULL};
