/* report_csv.c - csv/: one table a file, for spreadsheets and scripts.
 *
 * The header row is always there. Columns and units: docs/report-format.md.
 */
#include "orchestrator/report/report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/fileio.h"
#include "orchestrator/report/clean.h"
#include "orchestrator/report/csv_ops.h"
#include "orchestrator/report/csv_out.h"
#include "orchestrator/report/overhead.h"
#include "orchestrator/report/quality.h"
#include "orchestrator/report/report_copper.h"
#include "orchestrator/report/report_csv_busy.h"
#include "orchestrator/report/rows.h"

/* mean,p50,p95,p99,min,max; empty where there is no value. */
static void put_dist(struct jp_csv *csv, const struct jp_dist *d)
{
    const double values[] = {d->mean, d->p50, d->p95, d->p99, d->min, d->max};

    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        if (d->n)
            csv_out_real(csv, values[i]);
        else
            csv_out_empty(csv);
    }
}

static void put_p5(struct jp_csv *csv, const struct jp_dist *d)
{
    if (d->n)
        csv_out_real(csv, d->p5);
    else
        csv_out_empty(csv);
}

static void put_comm(struct jp_csv *csv, const struct jp_result *r, size_t comm)
{
    csv_out_text(csv, rows_comm(r, comm)->id);
    csv_out_text(csv, rows_comm(r, comm)->name);
}

static void cells(struct jp_csv *csv, const struct jp_result *r)
{
    for (size_t i = 0; i < r->n_cells; i++) {
        const struct jp_cell *c = &r->cells[i];

        csv_out_text(csv, comm_type_name(c->type));
        csv_out_text(csv, c->coll);
        csv_out_count(csv, c->bytes);
        csv_out_count(csv, c->ops);
        csv_out_count(csv, c->records);
        put_dist(csv, &c->busbw);
        csv_out_real(csv, c->time_weighted_gbs);
        put_dist(csv, &c->exec);
        csv_out_count(csv, c->net_busbw.n);
        put_dist(csv, &c->net_busbw);
        put_p5(csv, &c->busbw);
        put_p5(csv, &c->exec);
        put_p5(csv, &c->net_busbw);
        csv_out_text(csv, c->rounded ? "rounded" : "exact");
        csv_out_end(csv);
    }
}

static void put_if(struct jp_csv *csv, bool known, uint64_t value)
{
    if (known)
        csv_out_count(csv, value);
    else
        csv_out_empty(csv);
}

/* Not known is empty. */
static void put_word(struct jp_csv *csv, const char *word)
{
    if (word && *word)
        csv_out_text(csv, word);
    else
        csv_out_empty(csv);
}

static void comms(struct jp_csv *csv, const struct jp_result *r)
{
    for (size_t i = 0; i < r->n_comms; i++) {
        const struct jp_comm *c = &r->comms[i];

        csv_out_text(csv, c->id);
        csv_out_text(csv, c->name);
        csv_out_text(csv, comm_type_name(c->type));
        csv_out_count(csv, c->n_ranks);
        csv_out_count(csv, c->nnodes);
        csv_out_count(csv, c->ranks_seen);
        csv_out_count(csv, c->n_hosts);
        csv_out_count(csv, c->ops);
        csv_out_count(csv, c->ops_complete);
        csv_out_count(csv, c->records);
        csv_out_count(csv, c->bytes);
        csv_out_count(csv, c->time_us);
        csv_out_text(csv, c->evidence);
        csv_out_text(csv, c->why);
        csv_out_count(csv, c->p2p_records);
        csv_out_list(csv, c->hosts, c->n_hosts);
        put_if(csv, c->counted, c->produced);
        put_if(csv, c->counted, c->lost);
        put_if(csv, c->counted, c->capped);
        put_word(csv, c->fabric);
        put_word(csv, c->inter);
        put_word(csv, c->rail);
        put_word(csv, c->hca_path);
        put_if(csv, c->fabric != NULL, c->n_warnings);
        csv_out_end(csv);
    }
}

static void ranks(struct jp_csv *csv, const struct jp_result *r)
{
    for (size_t i = 0; i < r->n_ranks; i++) {
        const struct jp_rank *k = &r->ranks[i];

        put_comm(csv, r, k->comm);
        csv_out_count(csv, k->rank);
        csv_out_text(csv, k->host);
        csv_out_int(csv, k->pid);
        csv_out_count(csv, k->records);
        csv_out_count(csv, k->timed_ops);
        csv_out_count(csv, k->last_ops);
        csv_out_real(csv, k->last_share);
        put_if(csv, !r->quality.waits_unknown, k->exec_us);
        put_if(csv, !r->quality.waits_unknown, k->wait_us);
        csv_out_count(csv, k->caused_us);
        csv_out_count(csv, k->p2p_records);
        csv_out_end(csv);
    }
}

static void p2p(struct jp_csv *csv, const struct jp_result *r)
{
    for (size_t i = 0; i < r->n_p2p; i++) {
        const struct jp_p2p *p = &r->p2p[i];

        put_comm(csv, r, p->comm);
        csv_out_count(csv, p->src);
        csv_out_count(csv, p->dst);
        csv_out_text(csv, p->func);
        csv_out_count(csv, p->count);
        csv_out_count(csv, p->bytes);
        csv_out_count(csv, p->exec_us);
        csv_out_real(csv, p->busbw_mean);
        csv_out_end(csv);
    }
}

static void p2p_nodes(struct jp_csv *csv, const struct jp_result *r)
{
    for (size_t i = 0; i < r->n_p2p_nodes; i++) {
        const struct jp_p2p_node *p = &r->p2p_nodes[i];

        csv_out_text(csv, p->src_host);
        csv_out_text(csv, p->dst_host);
        csv_out_text(csv, p->func);
        csv_out_count(csv, p->pairs);
        csv_out_count(csv, p->count);
        csv_out_count(csv, p->bytes);
        csv_out_count(csv, p->exec_us);
        if (p->n_busbw)
            csv_out_real(csv, p->busbw_mean);
        else
            csv_out_empty(csv);
        csv_out_end(csv);
    }
}

static void windows(struct jp_csv *csv, const struct jp_result *r)
{
    for (size_t i = 0; i < r->n_windows; i++) {
        const struct jp_window *w = &r->windows[i];

        csv_out_count(csv, w->t0_us);
        csv_out_count(csv, w->t1_us);
        put_comm(csv, r, w->comm);
        csv_out_text(csv, w->coll);
        csv_out_count(csv, w->ops);
        csv_out_count(csv, w->bytes);
        csv_out_count(csv, w->time_us);
        csv_out_real(csv, w->busbw_mean);
        csv_out_end(csv);
    }
}

/* Bad lines by kind, those that there are. */
static void bad_kinds(struct jp_csv *csv, const struct jp_quality *q)
{
    for (unsigned i = 0; i < JP_BAD_KINDS; i++) {
        char item[64], note[JP_CLEAN_MAX + 64];

        if (!q->bad[i].n)
            continue;
        snprintf(item, sizeof(item), "bad_lines.%s",
                 badkind_key((enum jp_bad) i));
        snprintf(note, sizeof(note), "%s; first %s:%" PRIu64,
                 badkind_text((enum jp_bad) i), q->bad[i].path, q->bad[i].line);
        csv_out_text(csv, item);
        csv_out_count(csv, q->bad[i].n);
        csv_out_text(csv, note);
        csv_out_end(csv);
    }
}

/* The profiler's own share of the processes' time. */
static void overhead(struct jp_csv *csv, const struct jp_result *r)
{
    static const struct jp_quality none;
    const struct jp_quality *q = r ? &r->quality : &none;
    char text[JP_OVERHEAD_TEXT];

    overhead_text(q, text);
    csv_out_text(csv, "overhead");
    if (q->overhead.recordings)
        csv_out_real(csv, overhead_share(&q->overhead));
    else
        csv_out_empty(csv);
    csv_out_text(csv, text);
    csv_out_end(csv);
}

/* Unlike the others, this table has rows without a result too. */
static int quality(struct jp_csv *csv, const struct jp_report *report)
{
    const struct jp_result *r = report->result;
    const char *kind = quality_expected_kind(report);

    for (size_t i = 0; i < quality_n_items; i++) {
        uint64_t value = 0;

        csv_out_text(csv, quality_items[i].key);
        if (quality_items[i].get(report, &value))
            csv_out_count(csv, value);
        else
            csv_out_empty(csv);
        csv_out_text(csv, quality_items[i].help);
        csv_out_end(csv);
    }
    if (r)
        bad_kinds(csv, &r->quality);
    overhead(csv, r);
    csv_out_text(csv, "coverage");
    if (report->verdict->coverage >= 0)
        csv_out_real(csv, report->verdict->coverage);
    else
        csv_out_empty(csv);
    csv_out_text(csv, kind ? kind : "unknown");
    csv_out_end(csv);
    for (size_t i = 0; r && i < r->quality.n_notes; i++) {
        char note[2 * JP_CLEAN_MAX];

        snprintf(note, sizeof(note), "%s: %s", r->quality.notes[i].path,
                 r->quality.notes[i].what);
        csv_out_text(csv, "note");
        csv_out_empty(csv);
        csv_out_text(csv, note);
        csv_out_end(csv);
    }
    return 0;
}

static int network(struct jp_csv *csv, const struct jp_report *report)
{
    static const double quantiles[] = {0.05, 0.5, 0.95};
    const struct jp_insight *x = report->insight;

    for (size_t i = 0; x && i < x->network.n; i++) {
        const struct jp_netcell *c = &x->network.at[i];
        const struct jp_expected_bw *e = &x->expected[i];

        csv_out_text(csv, c->key.fabric);
        csv_out_text(csv, c->key.inter);
        csv_out_text(csv, comm_type_name(c->key.type));
        csv_out_count(csv, c->key.n_ranks);
        csv_out_count(csv, c->key.n_hosts);
        csv_out_text(csv, c->key.gpu);
        csv_out_text(csv, c->key.coll);
        csv_out_count(csv, netcells_bytes(c->key.size));
        csv_out_count(csv, netcells_bytes(c->key.size + 1));
        csv_out_count(csv, c->gbs.total);
        csv_out_real(csv, c->time_us);
        for (size_t k = 0; k < 3; k++)
            csv_out_real(csv, bwhist_quantile(&c->gbs, quantiles[k]));
        csv_out_text(csv, expectation_word(e->against));
        csv_out_real(csv, e->gbs);
        csv_out_real(csv, e->least_gbs);
        csv_out_real(csv, e->low_gbs);
        csv_out_real(csv, e->high_gbs);
        if (e->against == JP_AGAINST_BASELINE)
            csv_out_count(csv, e->reports);
        else
            csv_out_empty(csv);
        csv_out_end(csv);
    }
    return 0;
}

static int ops(struct jp_csv *csv, const struct jp_report *report)
{
    if (report->result)
        csv_ops_write(csv, report->result, report->threads);
    return 0;
}

static const struct sheet {
    const char *name;
    const char *header;
    void (*rows)(struct jp_csv *, const struct jp_result *);
    int (*made)(struct jp_csv *, const struct jp_report *); /* in its place */
} sheets[] = {
    {"cells",
     "comm_type,coll,msg_size_bytes,ops,records,mean,p50,p95,p99,min,max,"
     "time_weighted,exec_mean_us,exec_p50_us,exec_p95_us,exec_p99_us,"
     "exec_min_us,exec_max_us,net_ops,net_mean,net_p50,net_p95,net_p99,"
     "net_min,net_max,p5,exec_p5_us,net_p5,percentiles",
     cells, NULL},
    {"comms",
     "id,name,comm_type,n_ranks,nnodes,ranks_seen,n_hosts,ops,"
     "ops_complete,records,bytes,time_us,evidence,why,p2p_records,hosts,"
     "produced,lost,capped,fabric,inter,rail,hca_path,warnings",
     comms, NULL},
    {"ranks",
     "comm,comm_name,rank,host,pid,records,timed_ops,last_ops,"
     "last_share,exec_us,wait_us,caused_us,p2p_records",
     ranks, NULL},
    {"ops", CSV_OPS_HEADER, NULL, ops},
    {"p2p", "comm,comm_name,src,dst,func,count,bytes,exec_us,mean", p2p, NULL},
    {"p2p_nodes", "src_host,dst_host,func,pairs,count,bytes,exec_us,mean",
     p2p_nodes, NULL},
    {"windows", "t0_us,t1_us,comm,comm_name,coll,ops,bytes,time_us,mean",
     windows, NULL},
    {"busy", "rank,host,pid,timed,untimed,from_us,to_us,busy_us,share,why",
     NULL, report_csv_busy},
    {"busy_windows", "t0_us,t1_us,rank,host,pid,busy_us,share", NULL,
     report_csv_busy_windows},
    {"network",
     "fabric,inter,comm_type,n_ranks,n_hosts,gpu,coll,size_from_bytes,"
     "size_to_bytes,ops,time_us,net_p5,net_p50,net_p95,against,expected,least,"
     "low,high,reports",
     NULL, network},
    {"quality", "item,value,note", NULL, quality},
};

static int put_rows(struct jp_csv *csv, const struct jp_report *report,
                    const struct sheet *sheet)
{
    if (sheet->made)
        return sheet->made(csv, report);
    if (report->result)
        sheet->rows(csv, report->result);
    return 0;
}

static int write_sheet(const struct jp_report *report, const char *dir,
                       const struct sheet *sheet, struct jp_error *err)
{
    char *path = fileio_path("%s/%s.csv", dir, sheet->name);
    struct jp_tempfile file;
    struct jp_csv csv = {0};
    int rc = -1;

    if (!path) {
        error_set(err, "out of memory");
        goto out;
    }
    if (fileio_temp_open(&file, path, err) < 0)
        goto out;
    csv.out = file.stream;
    fprintf(csv.out, "%s\n", sheet->header);
    rc = put_rows(&csv, report, sheet);
    csv_out_flush(&csv);
    if (rc == 0) {
        rc = fileio_temp_commit(&file, err);
    } else {
        fileio_temp_abort(&file);
        error_set(err, "out of memory");
    }
out:
    free(path);
    return rc;
}

int report_write_csvs(const struct jp_report *report, const char *csv_dir,
                      struct jp_error *err)
{
    if (fileio_mkdir(csv_dir, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(sheets) / sizeof(*sheets); i++)
        if (write_sheet(report, csv_dir, &sheets[i], err) < 0)
            return -1;
    return report_copper_csvs(report->copper, csv_dir, err);
}
