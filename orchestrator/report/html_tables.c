/* html_tables.c - sections: communicators, operations, ranks, pairs. */
#include "orchestrator/report/html_sections.h"

#include <inttypes.h>
#include <math.h>

#include "common/figure.h"
#include "orchestrator/report/html_out.h"
#include "orchestrator/report/medium.h"
#include "orchestrator/report/rows.h"

#define MAX_ROWS 200
#define COLUMNS(list) (sizeof(list) / sizeof(*(list)))

static void put_count(FILE *out, uint64_t n)
{
    html_out_figure(out, FIG_COUNT(n), (double) n);
}

static void put_bytes(FILE *out, uint64_t n)
{
    html_out_figure(out, FIG_BYTES(n), (double) n);
}

static void put_us(FILE *out, double us)
{
    html_out_figure(out, FIG_US(us), us);
}

static void put_gbs(FILE *out, double gbs)
{
    html_out_figure(out, FIG_GBS(gbs), gbs);
}

static const char *or_dash(const char *text)
{
    return text && *text ? text : "-";
}

/* The greatest weight of the rows shown: what a full bar stands for. */
static double full_bar(const struct jp_result *r, const struct jp_rows *rows,
                       jp_row_weight *weight)
{
    double most = 0;

    for (size_t i = 0; i < rows->n; i++)
        if (weight(r, rows->index[i]) > most)
            most = weight(r, rows->index[i]);
    return most > 0 ? most : 1;
}

/* Without a topology: what the type rests on. */
static const char *type_by(const struct jp_comm *c, char *buf, size_t size)
{
    snprintf(buf, size, "not known (evidence: %s)", or_dash(c->evidence));
    return buf;
}

static void comm_row(FILE *out, const struct jp_comm *c, double full)
{
    char ranks[32], medium[120];

    snprintf(ranks, sizeof(ranks), "%" PRIu32 " of %" PRIu32, c->ranks_seen,
             c->n_ranks);
    html_out_row(out);
    html_out_id(out, c->id);
    html_out_cell(out, or_dash(c->name));
    html_out_cell(out, comm_type_name(c->type));
    html_out_figure(out, ranks, c->ranks_seen);
    put_count(out, c->nnodes);
    put_count(out, c->n_hosts);
    put_count(out, c->ops);
    put_bytes(out, c->bytes);
    html_out_bar(out, FIG_US((double) c->time_us), (double) c->time_us,
                 (double) c->time_us / full);
    if (c->fabric)
        html_out_more(out, medium_text(c, medium, sizeof(medium)), c->why);
    else
        html_out_more(out, type_by(c, medium, sizeof(medium)), c->why);
    html_out_row_end(out);
}

bool html_comms_present(const struct jp_report *report)
{
    return report->result && report->result->n_comms;
}

int html_comms_put(const struct jp_report *report, FILE *out)
{
    const struct jp_result *result = report->result;
    static const struct jp_html_column columns[] = {
        {"Id", NULL, false},
        {"Name", "as the program named it", false},
        {"Type", "by NCCL's own rule on ranks and NVLink domains", false},
        {"Ranks", "that left records, of the communicator's size", true},
        {"Domains", "NVLink domains, as NCCL counts nodes", true},
        {"Hosts", "of the ranks seen", true},
        {"Operations", NULL, true},
        {"Data", "sum of message sizes", true},
        {"Time", "sum over operations of the longest rank's time", true},
        {"Runs over",
         "inside NVLink domains + between them, by the nodes' topologies; (!): "
         "see the warnings above; a click tells why. Without a topology, the "
         "evidence for the type",
         false},
    };
    struct jp_rows rows;
    double full;

    if (rows_pick(result, result->n_comms, MAX_ROWS, rows_comm_time, true,
                  &rows) < 0)
        return -1;
    full = full_bar(result, &rows, rows_comm_time);
    html_out_table(out, columns, COLUMNS(columns), true);
    for (size_t i = 0; i < rows.n; i++)
        comm_row(out, &result->comms[rows.index[i]], full);
    html_out_table_end(out, COLUMNS(columns), rows.left_out, "csv/comms.csv");
    rows_fini(&rows);
    return 0;
}

static void cell_row(FILE *out, const struct jp_cell *c)
{
    html_out_row(out);
    html_out_cell(out, comm_type_name(c->type));
    html_out_cell(out, c->coll);
    put_bytes(out, c->bytes);
    put_count(out, c->ops);
    put_gbs(out, c->busbw.p5);
    put_gbs(out, c->busbw.p50);
    put_gbs(out, c->busbw.p95);
    put_gbs(out, c->busbw.p99);
    put_gbs(out, c->busbw.min);
    put_gbs(out, c->busbw.max);
    if (c->net_busbw.n)
        put_gbs(out, c->net_busbw.p50);
    else
        html_out_figure(out, "-", -1);
    put_us(out, c->exec.p50);
    put_us(out, c->exec.p95);
    put_us(out, c->exec.p99);
    html_out_row_end(out);
}

bool html_cells_present(const struct jp_report *report)
{
    return report->result && report->result->n_cells;
}

int html_cells_put(const struct jp_report *report, FILE *out)
{
    const struct jp_result *result = report->result;
    static const struct jp_html_column columns[] = {
        {"Type", NULL, false},
        {"Function", NULL, false},
        {"Size", "of the message", true},
        {"Ops", "operations joined over their ranks", true},
        {"GB/s p5", "bus bandwidth, 5th percentile over operations", true},
        {"p50", "bus bandwidth, median over operations", true},
        {"p95", "bus bandwidth, 95th percentile", true},
        {"p99", "bus bandwidth, 99th percentile", true},
        {"least", "bus bandwidth of the slowest operation", true},
        {"most", "bus bandwidth of the fastest operation", true},
        {"last in p50",
         "bus bandwidth from the time of the rank that came "
         "last: without the others' waiting",
         true},
        {"Time p50", "longest rank's time, median over operations", true},
        {"p95", "longest rank's time, 95th percentile", true},
        {"p99", "longest rank's time, 99th percentile", true},
    };
    struct jp_rows rows;

    if (rows_pick(result, result->n_cells, MAX_ROWS, rows_cell_time, false,
                  &rows) < 0)
        return -1;
    html_out_chart(out, "busbw-size",
                   "Bus bandwidth by message size: median, 5th to 95th "
                   "percentile");
    html_out_table(out, columns, COLUMNS(columns), true);
    for (size_t i = 0; i < rows.n; i++)
        cell_row(out, &result->cells[rows.index[i]]);
    html_out_table_end(out, COLUMNS(columns), rows.left_out, "csv/cells.csv");
    rows_fini(&rows);
    return 0;
}

static void rank_row(FILE *out, const struct jp_result *r,
                     const struct jp_rank *k, double full)
{
    const struct jp_comm *comm = rows_comm(r, k->comm);
    char pid[24];

    snprintf(pid, sizeof(pid), "%" PRId64, k->pid);
    html_out_row(out);
    put_count(out, k->rank);
    html_out_cell(out, or_dash(k->host));
    html_out_figure(out, pid, (double) k->pid);
    html_out_id(out, comm->id);
    html_out_cell(out, or_dash(comm->name));
    put_count(out, k->timed_ops);
    html_out_figure(out, FIG_SHARE(k->last_share), k->last_share);
    html_out_bar(out, FIG_US((double) k->caused_us), (double) k->caused_us,
                 (double) k->caused_us / full);
    put_us(out, r->quality.waits_unknown ? NAN : (double) k->wait_us);
    put_us(out, r->quality.waits_unknown ? NAN : (double) k->exec_us);
    html_out_row_end(out);
}

bool html_ranks_present(const struct jp_report *report)
{
    return report->result && report->result->n_ranks;
}

int html_ranks_put(const struct jp_report *report, FILE *out)
{
    const struct jp_result *result = report->result;
    static const struct jp_html_column columns[] = {
        {"Rank", "in its communicator", true},
        {"Host", NULL, false},
        {"Process", "pid on its host", true},
        {"Communicator", NULL, false},
        {"Name", NULL, false},
        {"Timed ops",
         "AllReduce, AllGather and ReduceScatter with records of "
         "all ranks",
         true},
        {"Last in", "share of these in which it arrived last", true},
        {"Wait caused",
         "what the other ranks waited for it, summed over "
         "ranks and operations",
         true},
        {"Own wait", "what it waited for others", true},
        {"In operations", "its time in these operations", true},
    };
    struct jp_rows rows;
    double full;

    if (rows_pick(result, result->n_ranks, MAX_ROWS, rows_rank_caused, true,
                  &rows) < 0)
        return -1;
    full = full_bar(result, &rows, rows_rank_caused);
    html_out_chart(out, "waits",
                   "Wait caused and suffered, by rank of the largest "
                   "communicator");
    html_out_chart(out, "waits-time", "When the others waited for which rank");
    html_out_table(out, columns, COLUMNS(columns), true);
    for (size_t i = 0; i < rows.n; i++)
        rank_row(out, result, &result->ranks[rows.index[i]], full);
    html_out_table_end(out, COLUMNS(columns), rows.left_out, "csv/ranks.csv");
    rows_fini(&rows);
    return 0;
}

static void pair_row(FILE *out, const struct jp_result *r,
                     const struct jp_p2p *p, double full)
{
    html_out_row(out);
    html_out_id(out, rows_comm(r, p->comm)->id);
    html_out_cell(out, or_dash(rows_comm(r, p->comm)->name));
    put_count(out, p->src);
    put_count(out, p->dst);
    html_out_cell(out, p->func);
    put_count(out, p->count);
    html_out_bar(out, FIG_BYTES(p->bytes), (double) p->bytes,
                 (double) p->bytes / full);
    put_us(out, (double) p->exec_us);
    put_gbs(out, p->busbw_mean);
    html_out_row_end(out);
}

bool html_p2p_present(const struct jp_report *report)
{
    return report->result && report->result->n_p2p;
}

int html_p2p_put(const struct jp_report *report, FILE *out)
{
    const struct jp_result *result = report->result;
    static const struct jp_html_column columns[] = {
        {"Communicator", NULL, false},
        {"Name", NULL, false},
        {"From rank", NULL, true},
        {"To rank", NULL, true},
        {"Recorded by", "Send: by the sender, Recv: by the receiver", false},
        {"Count", NULL, true},
        {"Data", NULL, true},
        {"Time", "sum", true},
        {"GB/s mean", NULL, true},
    };
    struct jp_rows rows;
    double full;

    if (rows_pick(result, result->n_p2p, MAX_ROWS, rows_p2p_bytes, true,
                  &rows) < 0)
        return -1;
    full = full_bar(result, &rows, rows_p2p_bytes);
    html_out_chart(out, "p2p", "Who sends how much to whom");
    html_out_table(out, columns, COLUMNS(columns), true);
    for (size_t i = 0; i < rows.n; i++)
        pair_row(out, result, &result->p2p[rows.index[i]], full);
    html_out_table_end(out, COLUMNS(columns), rows.left_out, "csv/p2p.csv");
    rows_fini(&rows);
    return 0;
}

static void node_pair_row(FILE *out, const struct jp_p2p_node *p, double full)
{
    html_out_row(out);
    html_out_cell(out, *p->src_host ? p->src_host : "unknown");
    html_out_cell(out, *p->dst_host ? p->dst_host : "unknown");
    html_out_cell(out, p->func);
    put_count(out, p->pairs);
    put_count(out, p->count);
    html_out_bar(out, FIG_BYTES(p->bytes), (double) p->bytes,
                 (double) p->bytes / full);
    put_us(out, (double) p->exec_us);
    put_gbs(out, p->n_busbw ? p->busbw_mean : NAN);
    html_out_row_end(out);
}

bool html_p2p_nodes_present(const struct jp_report *report)
{
    return report->result && report->result->n_p2p_nodes;
}

int html_p2p_nodes_put(const struct jp_report *report, FILE *out)
{
    const struct jp_result *result = report->result;
    static const struct jp_html_column columns[] = {
        {"From host", "of the ranks' own records", false},
        {"To host", NULL, false},
        {"Recorded by", "Send: by the sender, Recv: by the receiver", false},
        {"Pairs", "of ranks", true},
        {"Count", NULL, true},
        {"Data", NULL, true},
        {"Time", "sum", true},
        {"GB/s mean", "bus bandwidth over the records", true},
    };
    struct jp_rows rows;
    double full;

    if (rows_pick(result, result->n_p2p_nodes, MAX_ROWS, rows_p2p_node_bytes,
                  true, &rows) < 0)
        return -1;
    full = full_bar(result, &rows, rows_p2p_node_bytes);
    html_out_table(out, columns, COLUMNS(columns), true);
    for (size_t i = 0; i < rows.n; i++)
        node_pair_row(out, &result->p2p_nodes[rows.index[i]], full);
    html_out_table_end(out, COLUMNS(columns), rows.left_out,
                       "csv/p2p_nodes.csv");
    rows_fini(&rows);
    return 0;
}
