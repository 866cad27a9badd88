/* json_tables.c - communicators, cells, ranks, windows and pairs as JSON. */
#include "orchestrator/report/json_tables.h"

#include "orchestrator/report/rows.h"

#define MAX_HOSTS 64    /* named of one communicator */
#define MAX_WARNINGS 24 /* of one communicator */

static void put_dist(struct jp_json_stream *s, const char *key,
                     const struct jp_dist *dist)
{
    if (!dist->n) {
        json_stream_null(s, key);
        return;
    }
    json_stream_object(s, key);
    json_stream_count(s, "n", dist->n);
    json_stream_real(s, "mean", dist->mean);
    json_stream_real(s, "min", dist->min);
    json_stream_real(s, "p5", dist->p5);
    json_stream_real(s, "p50", dist->p50);
    json_stream_real(s, "p95", dist->p95);
    json_stream_real(s, "p99", dist->p99);
    json_stream_real(s, "max", dist->max);
    json_stream_end_object(s);
}

static void put_comm_row(struct jp_json_stream *s,
                         const struct jp_result *result, size_t i)
{
    const struct jp_comm *comm = &result->comms[i];

    json_stream_count(s, "index", i);
    json_stream_text(s, "id", comm->id);
    json_stream_text(s, "name", comm->name);
    json_stream_count(s, "n_ranks", comm->n_ranks);
    json_stream_count(s, "nnodes", comm->nnodes);
    json_stream_count(s, "ranks_seen", comm->ranks_seen);
    json_stream_count(s, "n_hosts", comm->n_hosts);
    json_stream_texts(s, "hosts", comm->hosts, comm->n_hosts, MAX_HOSTS);
    json_stream_text(s, "comm_type", comm_type_name(comm->type));
    json_stream_text(s, "fabric", comm->fabric);
    json_stream_text(s, "inter", comm->inter);
    json_stream_text(s, "rail", comm->rail);
    json_stream_text(s, "evidence", comm->evidence);
    json_stream_text(s, "why", comm->why);
    json_stream_count(s, "ops", comm->ops);
    json_stream_count(s, "ops_complete", comm->ops_complete);
    json_stream_count(s, "records", comm->records);
    json_stream_count(s, "p2p_records", comm->p2p_records);
    json_stream_count(s, "bytes", comm->bytes);
    json_stream_count(s, "time_us", comm->time_us);
    json_stream_known(s, "produced", comm->counted, comm->produced);
    json_stream_known(s, "lost", comm->counted, comm->lost);
    json_stream_known(s, "capped", comm->counted, comm->capped);
    json_stream_text(s, "hca_path",
                     comm->hca_path && *comm->hca_path ? comm->hca_path : NULL);
    json_stream_texts(s, "warnings", comm->warnings, comm->n_warnings,
                      MAX_WARNINGS);
}

static void put_cell_row(struct jp_json_stream *s,
                         const struct jp_result *result, size_t i)
{
    const struct jp_cell *cell = &result->cells[i];

    json_stream_text(s, "comm_type", comm_type_name(cell->type));
    json_stream_text(s, "coll", cell->coll);
    json_stream_count(s, "msg_size_bytes", cell->bytes);
    json_stream_count(s, "ops", cell->ops);
    json_stream_count(s, "records", cell->records);
    put_dist(s, "busbw_gbs", &cell->busbw);
    put_dist(s, "exec_us", &cell->exec);
    put_dist(s, "net_busbw_gbs", &cell->net_busbw);
    json_stream_real(s, "time_weighted_gbs", cell->time_weighted_gbs);
    json_stream_text(s, "percentiles", cell->rounded ? "rounded" : "exact");
}

/* Which communicator a row belongs to: its id for readers, its index for
 * programs, as two communicators may bear one id. */
static void put_comm(struct jp_json_stream *s, const struct jp_result *result,
                     size_t comm)
{
    json_stream_text(s, "comm", rows_comm(result, comm)->id);
    json_stream_count(s, "comm_index", comm);
}

static void put_rank_row(struct jp_json_stream *s,
                         const struct jp_result *result, size_t i)
{
    const struct jp_rank *rank = &result->ranks[i];

    put_comm(s, result, rank->comm);
    json_stream_count(s, "rank", rank->rank);
    json_stream_text(s, "host", rank->host);
    json_stream_int(s, "pid", rank->pid);
    json_stream_count(s, "records", rank->records);
    json_stream_count(s, "timed_ops", rank->timed_ops);
    json_stream_count(s, "last_ops", rank->last_ops);
    json_stream_real(s, "last_share", rank->last_share);
    json_stream_count(s, "p2p_records", rank->p2p_records);
    json_stream_count(s, "caused_us", rank->caused_us);
    if (result->quality.waits_unknown) {
        json_stream_null(s, "exec_us");
        json_stream_null(s, "wait_us");
    } else {
        json_stream_count(s, "exec_us", rank->exec_us);
        json_stream_count(s, "wait_us", rank->wait_us);
    }
}

static void put_window_row(struct jp_json_stream *s,
                           const struct jp_result *result, size_t i)
{
    const struct jp_window *window = &result->windows[i];

    json_stream_count(s, "t0_us", window->t0_us);
    json_stream_count(s, "t1_us", window->t1_us);
    put_comm(s, result, window->comm);
    json_stream_text(s, "coll", window->coll);
    json_stream_count(s, "ops", window->ops);
    json_stream_count(s, "bytes", window->bytes);
    json_stream_count(s, "time_us", window->time_us);
    json_stream_real(s, "busbw_gbs", window->busbw_mean);
}

static void put_pair_row(struct jp_json_stream *s,
                         const struct jp_result *result, size_t i)
{
    const struct jp_p2p *pair = &result->p2p[i];

    put_comm(s, result, pair->comm);
    json_stream_count(s, "src", pair->src);
    json_stream_count(s, "dst", pair->dst);
    json_stream_text(s, "func", pair->func);
    json_stream_count(s, "count", pair->count);
    json_stream_count(s, "bytes", pair->bytes);
    json_stream_count(s, "exec_us", pair->exec_us);
    json_stream_real(s, "busbw_gbs", pair->busbw_mean);
}

static void put_host(struct jp_json_stream *s, const char *key,
                     const char *host)
{
    if (*host)
        json_stream_text(s, key, host);
    else
        json_stream_null(s, key);
}

static void put_node_pair_row(struct jp_json_stream *s,
                              const struct jp_result *result, size_t i)
{
    const struct jp_p2p_node *pair = &result->p2p_nodes[i];

    put_host(s, "src_host", pair->src_host);
    put_host(s, "dst_host", pair->dst_host);
    json_stream_text(s, "func", pair->func);
    json_stream_count(s, "pairs", pair->pairs);
    json_stream_count(s, "count", pair->count);
    json_stream_count(s, "bytes", pair->bytes);
    json_stream_count(s, "exec_us", pair->exec_us);
    if (pair->n_busbw)
        json_stream_real(s, "busbw_gbs", pair->busbw_mean);
    else
        json_stream_null(s, "busbw_gbs");
}

/* The bounds together keep summary.json under about 20 MB.
 * One table: its name, its bound, how a row is weighed and its members are
 * written. */
struct table {
    const char *name; /* in left_out, and the key of the array */
    size_t max;
    jp_row_weight *weight;
    void (*put)(struct jp_json_stream *, const struct jp_result *, size_t);
};
enum { COMMS, CELLS, RANKS, WINDOWS, PAIRS, NODE_PAIRS, N_TABLES };
static const struct table tables[N_TABLES] = {
    [COMMS] = {"comms", 2000, rows_comm_time, put_comm_row},
    [CELLS] = {"cells", 5000, rows_cell_time, put_cell_row},
    [RANKS] = {"ranks", 10000, rows_rank_caused, put_rank_row},
    [WINDOWS] = {"windows", 10000, rows_window_time, put_window_row},
    [PAIRS] = {"pairs", 10000, rows_p2p_bytes, put_pair_row},
    [NODE_PAIRS] = {"node_pairs", 10000, rows_p2p_node_bytes,
                    put_node_pair_row},
};

/* Where tables go. */
struct target {
    struct jp_json_stream *stream;
    const struct jp_result *result;
    size_t left_out[N_TABLES];
};

/* An array of at most table->max of n rows. */
static void put_table(struct target *t, unsigned which, size_t n)
{
    const struct table *table = &tables[which];
    struct jp_json_stream *s = t->stream;
    struct jp_rows rows;

    if (rows_pick(t->result, n, table->max, table->weight, false, &rows) < 0) {
        s->failed = true;
        return;
    }
    json_stream_array(s, table->name);
    for (size_t i = 0; i < rows.n; i++) {
        json_stream_object(s, NULL);
        table->put(s, t->result, rows.index[i]);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
    t->left_out[which] = rows.left_out;
    rows_fini(&rows);
}

static void put_p2p(struct target *t)
{
    struct jp_json_stream *s = t->stream;
    uint64_t count = 0, bytes = 0;

    for (size_t i = 0; i < t->result->n_p2p; i++) {
        count += t->result->p2p[i].count;
        bytes += t->result->p2p[i].bytes;
    }
    json_stream_object(s, "p2p");
    json_stream_count(s, "records", count);
    json_stream_count(s, "bytes", bytes);
    put_table(t, PAIRS, t->result->n_p2p);
    put_table(t, NODE_PAIRS, t->result->n_p2p_nodes);
    json_stream_end_object(s);
}

void json_tables_put(struct jp_json_stream *stream,
                     const struct jp_result *result)
{
    static const struct jp_result empty;
    const struct jp_result *r = result ? result : &empty;
    struct target t = {.stream = stream, .result = r};

    put_table(&t, COMMS, r->n_comms);
    put_table(&t, CELLS, r->n_cells);
    put_table(&t, RANKS, r->n_ranks);
    put_table(&t, WINDOWS, r->n_windows);
    put_p2p(&t);
    json_stream_object(stream, "left_out");
    for (unsigned i = 0; i < N_TABLES; i++)
        json_stream_count(stream, tables[i].name, t.left_out[i]);
    json_stream_end_object(stream);
}
