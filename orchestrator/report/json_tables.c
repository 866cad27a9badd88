/* json_tables.c - communicators, cells, ranks, windows and pairs as JSON. */
#include "orchestrator/report/json_tables.h"

#include "orchestrator/report/rows.h"

#define MAX_HOSTS 64    /* named of one communicator */
#define MAX_WARNINGS 24 /* of one communicator */

static void put_dist(struct jp_json *j, json_t *row, const char *key,
                     const struct jp_dist *dist)
{
    json_t *object;

    if (!dist->n) {
        json_out_null(j, row, key);
        return;
    }
    object = json_out_object(j);
    json_out_count(j, object, "n", dist->n);
    json_out_real(j, object, "mean", dist->mean);
    json_out_real(j, object, "min", dist->min);
    json_out_real(j, object, "p5", dist->p5);
    json_out_real(j, object, "p50", dist->p50);
    json_out_real(j, object, "p95", dist->p95);
    json_out_real(j, object, "p99", dist->p99);
    json_out_real(j, object, "max", dist->max);
    json_out_put(j, row, key, object);
}

static void put_known(struct jp_json *j, json_t *row, const char *key,
                      bool known, uint64_t value)
{
    if (known)
        json_out_count(j, row, key, value);
    else
        json_out_null(j, row, key);
}

static json_t *comm_row(struct jp_json *j, const struct jp_result *result,
                        size_t i)
{
    const struct jp_comm *comm = &result->comms[i];
    json_t *row = json_out_object(j);

    json_out_count(j, row, "index", i);
    json_out_text(j, row, "id", comm->id);
    json_out_text(j, row, "name", comm->name);
    json_out_count(j, row, "n_ranks", comm->n_ranks);
    json_out_count(j, row, "nnodes", comm->nnodes);
    json_out_count(j, row, "ranks_seen", comm->ranks_seen);
    json_out_count(j, row, "n_hosts", comm->n_hosts);
    json_out_put(j, row, "hosts",
                 json_out_strings(j, comm->hosts, comm->n_hosts, MAX_HOSTS));
    json_out_text(j, row, "comm_type", comm_type_name(comm->type));
    json_out_text(j, row, "fabric", comm->fabric);
    json_out_text(j, row, "inter", comm->inter);
    json_out_text(j, row, "rail", comm->rail);
    json_out_text(j, row, "evidence", comm->evidence);
    json_out_text(j, row, "why", comm->why);
    json_out_count(j, row, "ops", comm->ops);
    json_out_count(j, row, "ops_complete", comm->ops_complete);
    json_out_count(j, row, "records", comm->records);
    json_out_count(j, row, "p2p_records", comm->p2p_records);
    json_out_count(j, row, "bytes", comm->bytes);
    json_out_count(j, row, "time_us", comm->time_us);
    put_known(j, row, "produced", comm->counted, comm->produced);
    put_known(j, row, "lost", comm->counted, comm->lost);
    put_known(j, row, "capped", comm->counted, comm->capped);
    json_out_text(j, row, "hca_path",
                  comm->hca_path && *comm->hca_path ? comm->hca_path : NULL);
    json_out_put(
        j, row, "warnings",
        json_out_strings(j, comm->warnings, comm->n_warnings, MAX_WARNINGS));
    return row;
}

static json_t *cell_row(struct jp_json *j, const struct jp_result *result,
                        size_t i)
{
    const struct jp_cell *cell = &result->cells[i];
    json_t *row = json_out_object(j);

    json_out_text(j, row, "comm_type", comm_type_name(cell->type));
    json_out_text(j, row, "coll", cell->coll);
    json_out_count(j, row, "msg_size_bytes", cell->bytes);
    json_out_count(j, row, "ops", cell->ops);
    json_out_count(j, row, "records", cell->records);
    put_dist(j, row, "busbw_gbs", &cell->busbw);
    put_dist(j, row, "exec_us", &cell->exec);
    put_dist(j, row, "net_busbw_gbs", &cell->net_busbw);
    json_out_real(j, row, "time_weighted_gbs", cell->time_weighted_gbs);
    json_out_text(j, row, "percentiles", cell->rounded ? "rounded" : "exact");
    return row;
}

/* Which communicator a row belongs to: its id for readers, its index for
 * programs, as two communicators may bear one id. */
static void put_comm(struct jp_json *j, json_t *row,
                     const struct jp_result *result, size_t comm)
{
    json_out_text(j, row, "comm", rows_comm(result, comm)->id);
    json_out_count(j, row, "comm_index", comm);
}

static json_t *rank_row(struct jp_json *j, const struct jp_result *result,
                        size_t i)
{
    const struct jp_rank *rank = &result->ranks[i];
    json_t *row = json_out_object(j);

    put_comm(j, row, result, rank->comm);
    json_out_count(j, row, "rank", rank->rank);
    json_out_text(j, row, "host", rank->host);
    json_out_put(j, row, "pid", json_integer(rank->pid));
    json_out_count(j, row, "records", rank->records);
    json_out_count(j, row, "timed_ops", rank->timed_ops);
    json_out_count(j, row, "last_ops", rank->last_ops);
    json_out_real(j, row, "last_share", rank->last_share);
    json_out_count(j, row, "p2p_records", rank->p2p_records);
    json_out_count(j, row, "caused_us", rank->caused_us);
    if (result->quality.waits_unknown) {
        json_out_null(j, row, "exec_us");
        json_out_null(j, row, "wait_us");
    } else {
        json_out_count(j, row, "exec_us", rank->exec_us);
        json_out_count(j, row, "wait_us", rank->wait_us);
    }
    return row;
}

static json_t *window_row(struct jp_json *j, const struct jp_result *result,
                          size_t i)
{
    const struct jp_window *window = &result->windows[i];
    json_t *row = json_out_object(j);

    json_out_count(j, row, "t0_us", window->t0_us);
    json_out_count(j, row, "t1_us", window->t1_us);
    put_comm(j, row, result, window->comm);
    json_out_text(j, row, "coll", window->coll);
    json_out_count(j, row, "ops", window->ops);
    json_out_count(j, row, "bytes", window->bytes);
    json_out_count(j, row, "time_us", window->time_us);
    json_out_real(j, row, "busbw_gbs", window->busbw_mean);
    return row;
}

static json_t *pair_row(struct jp_json *j, const struct jp_result *result,
                        size_t i)
{
    const struct jp_p2p *pair = &result->p2p[i];
    json_t *row = json_out_object(j);

    put_comm(j, row, result, pair->comm);
    json_out_count(j, row, "src", pair->src);
    json_out_count(j, row, "dst", pair->dst);
    json_out_text(j, row, "func", pair->func);
    json_out_count(j, row, "count", pair->count);
    json_out_count(j, row, "bytes", pair->bytes);
    json_out_count(j, row, "exec_us", pair->exec_us);
    json_out_real(j, row, "busbw_gbs", pair->busbw_mean);
    return row;
}

static void put_host(struct jp_json *j, json_t *row, const char *key,
                     const char *host)
{
    if (*host)
        json_out_text(j, row, key, host);
    else
        json_out_null(j, row, key);
}

static json_t *node_pair_row(struct jp_json *j, const struct jp_result *result,
                             size_t i)
{
    const struct jp_p2p_node *pair = &result->p2p_nodes[i];
    json_t *row = json_out_object(j);

    put_host(j, row, "src_host", pair->src_host);
    put_host(j, row, "dst_host", pair->dst_host);
    json_out_text(j, row, "func", pair->func);
    json_out_count(j, row, "pairs", pair->pairs);
    json_out_count(j, row, "count", pair->count);
    json_out_count(j, row, "bytes", pair->bytes);
    json_out_count(j, row, "exec_us", pair->exec_us);
    if (pair->n_busbw)
        json_out_real(j, row, "busbw_gbs", pair->busbw_mean);
    else
        json_out_null(j, row, "busbw_gbs");
    return row;
}

/* The bounds together keep summary.json under about 20 MB.
 * One table: its name, its bound, how a row is weighed and made. */
struct table {
    const char *name; /* in left_out, and the key of the array */
    size_t max;
    jp_row_weight *weight;
    json_t *(*make)(struct jp_json *, const struct jp_result *, size_t);
};
static const struct table comms_table = {"comms", 2000, rows_comm_time,
                                         comm_row};
static const struct table cells_table = {"cells", 5000, rows_cell_time,
                                         cell_row};
static const struct table ranks_table = {"ranks", 10000, rows_rank_caused,
                                         rank_row};
static const struct table windows_table = {"windows", 10000, rows_window_time,
                                           window_row};
static const struct table pairs_table = {"pairs", 10000, rows_p2p_bytes,
                                         pair_row};

static const struct table node_pairs_table = {
    "node_pairs", 10000, rows_p2p_node_bytes, node_pair_row};

/* Where tables go. */
struct target {
    struct jp_json *json;
    const struct jp_result *result;
    json_t *left_out;
};

/* Sets object's array of at most table->max of n rows. */
static void put_table(const struct target *t, json_t *object,
                      const struct table *table, size_t n)
{
    json_t *array = json_out_array(t->json);
    struct jp_rows rows;

    if (rows_pick(t->result, n, table->max, table->weight, false, &rows) < 0) {
        t->json->failed = true;
        json_decref(array);
        return;
    }
    for (size_t i = 0; i < rows.n; i++)
        json_out_append(t->json, array,
                        table->make(t->json, t->result, rows.index[i]));
    json_out_put(t->json, object, table->name, array);
    json_out_count(t->json, t->left_out, table->name, rows.left_out);
    rows_fini(&rows);
}

static json_t *p2p_object(const struct target *t)
{
    json_t *object = json_out_object(t->json);
    uint64_t count = 0, bytes = 0;

    for (size_t i = 0; i < t->result->n_p2p; i++) {
        count += t->result->p2p[i].count;
        bytes += t->result->p2p[i].bytes;
    }
    json_out_count(t->json, object, "records", count);
    json_out_count(t->json, object, "bytes", bytes);
    put_table(t, object, &pairs_table, t->result->n_p2p);
    put_table(t, object, &node_pairs_table, t->result->n_p2p_nodes);
    return object;
}

void json_tables_put(struct jp_json *json, json_t *root,
                     const struct jp_result *result)
{
    static const struct jp_result empty;
    const struct jp_result *r = result ? result : &empty;
    const struct target t = {json, r, json_out_object(json)};

    put_table(&t, root, &comms_table, r->n_comms);
    put_table(&t, root, &cells_table, r->n_cells);
    put_table(&t, root, &ranks_table, r->n_ranks);
    put_table(&t, root, &windows_table, r->n_windows);
    json_out_put(json, root, "p2p", p2p_object(&t));
    json_out_put(json, root, "left_out", t.left_out);
}
