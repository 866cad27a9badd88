/* util_charts.c - utilisation over the run: a line and a band for all members,
 * the members that stand out, and a map of GPUs or nodes over time.
 *
 * A member is a task, a GPU, a port or a node, by the metric's scope. For each
 * metric, the page gets the spread of all members that do not stand out, and a
 * curve for each one that does. A node that stands out as a whole is drawn as a
 * band of its own. */
#include "orchestrator/util/util_feature.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/sorted.h"
#include "orchestrator/report/chart.h"

/* Most members with a line of their own, and most rows of a map, that can be
 * distinguished. */
#define MAX_OUT 4
#define MAX_NODES 3
#define MAX_ROWS 64
/* A member stands out if its distance from the median is at least this multiple
 * of the others' distance, and this share of their value. */
#define OUT_TIMES 5
#define OUT_SHARE 0.05
#define NAME_LEN 128 /* a host name and an id, cut if longer */

/* One column of a scope. */
struct metric {
    const struct samples *s;
    enum jp_util_scope scope;
    unsigned column; /* of the scope's table of samples */
    size_t n;        /* members with a value */
    size_t *members; /* n indices of members */
    double *off;     /* n distances from the median of all, over the run */
    double *sorted;  /* scratch for n values */
    double least, most;
};

/* Returns member i's mean in a slice; NaN if it was not sampled then. */
static double value_at(const struct metric *m, size_t i, unsigned slice)
{
    return (double) m->s->at[m->members[i]].slices[m->column][slice];
}

static void metric_fini(struct metric *m)
{
    free(m->members);
    free(m->off);
    free(m->sorted);
}

/* Puts the known values of a slice into m->sorted, ascending, without the
 * members flagged in `without` (NULL: with all). Returns their number. */
static size_t sort_slice(const struct metric *m, unsigned slice,
                         const bool *without)
{
    size_t n = 0;

    for (size_t i = 0; i < m->n; i++) {
        double v = value_at(m, i, slice);

        if (isfinite(v) && !(without && without[i]))
            m->sorted[n++] = v;
    }
    qsort(m->sorted, n, sizeof(*m->sorted), sorted_ascending);
    return n;
}

/* Computes each member's mean distance from the median of all. The sum is
 * divided by the number of all slices, so a member that was present for a
 * moment only cannot be far off. */
static void measure(struct metric *m)
{
    m->least = INFINITY;
    m->most = -INFINITY;
    for (unsigned k = 0; k < m->s->n_slices; k++) {
        size_t n = sort_slice(m, k, NULL);
        double median = n ? sorted_quantile(m->sorted, n, 0.5) : NAN;

        for (size_t i = 0; i < m->n; i++) {
            double v = value_at(m, i, k);

            /* the member was not sampled in this slice */
            if (!isfinite(v))
                continue;
            m->off[i] += fabs(v - median) / m->s->n_slices;
            m->least = fmin(m->least, v);
            m->most = fmax(m->most, v);
        }
    }
}

/* Collects the members that have the metric. Returns 1; 0 if no member has it
 * or it never changes; -1 when out of memory. Free with metric_fini only after
 * 1. */
static int metric_make(const struct samples *s, enum jp_util_scope scope,
                       unsigned column, struct metric *m)
{
    size_t all = s->first[scope + 1] - s->first[scope];

    *m = (struct metric){.s = s, .scope = scope, .column = column};
    m->members = calloc(all + 1, sizeof(*m->members));
    m->off = calloc(all + 1, sizeof(*m->off));
    m->sorted = calloc(all + 1, sizeof(*m->sorted));
    if (!m->members || !m->off || !m->sorted) {
        metric_fini(m);
        return -1;
    }
    for (size_t i = s->first[scope]; i < s->first[scope + 1]; i++)
        /* NULL: the member was never sampled for this metric */
        if (s->at[i].slices[column])
            m->members[m->n++] = i;
    measure(m);
    if (m->n && m->most > m->least)
        return 1;
    metric_fini(m);
    return 0;
}

/* --- names and numbers ---------------------------------------------------- */

/* "rank 3 (n2)", "GPU 22:00 of n2", "n2", "mlx5_0/1 of n2". */
static const char *name_of(const struct metric *m, size_t i, char out[NAME_LEN])
{
    const struct sampled *at = &m->s->at[m->members[i]];
    const char *node = m->s->nodes[at->node].name;

    const char *worker = strchr(at->id, '/');

    if (m->scope == JP_UTIL_TASK && worker)
        snprintf(out, NAME_LEN, "worker %.20s of task %.*s (%.64s)", worker + 1,
                 (int) (worker - at->id), at->id, node);
    else if (m->scope == JP_UTIL_TASK)
        snprintf(out, NAME_LEN, "rank %.20s (%.64s)", at->id, node);
    else if (m->scope == JP_UTIL_GPU)
        snprintf(out, NAME_LEN, "GPU %.20s of %.64s",
                 strncmp(at->id, "0000:", 5) == 0 ? at->id + 5 : at->id, node);
    else if (m->scope == JP_UTIL_PORT)
        snprintf(out, NAME_LEN, "%.41s of %.64s", at->id, node);
    else
        snprintf(out, NAME_LEN, "%.64s", node);
    return out;
}

/* Names a map's row with the node first, because the ends of long names are
 * cut. */
static const char *row_name(const struct metric *m, size_t from, size_t to,
                            char out[NAME_LEN])
{
    const struct sampled *at = &m->s->at[m->members[from]];
    const char *node = m->s->nodes[at->node].name;

    if (to - from > 1 || m->scope != JP_UTIL_GPU)
        snprintf(out, NAME_LEN, "%.64s", node);
    else
        snprintf(out, NAME_LEN, "%.64s %.20s", node,
                 strncmp(at->id, "0000:", 5) == 0 ? at->id + 5 : at->id);
    return out;
}

/* Writes four significant digits, more than a screen shows, to keep the page
 * small. */
static void put_number(struct jp_json_stream *json, double v)
{
    double unit;

    if (!isfinite(v)) {
        json_stream_null(json, NULL);
        return;
    }
    /* the value of the fourth digit */
    unit = v == 0 ? 1 : pow(10, floor(log10(fabs(v))) - 3);
    json_stream_real(json, NULL, round(v / unit) * unit);
}

/* Writes the keys that name a metric. */
static void put_head(const struct metric *m, struct jp_json_stream *json)
{
    const struct util_column *column =
        &util_tables[samples_kind(m->scope)].columns[m->column];

    json_stream_text(json, "scope", util_scope_name(m->scope));
    json_stream_text(json, "name", column->name);
    json_stream_text(json, "unit", util_unit_name(column->unit));
    json_stream_text(json, "help", column->help);
    json_stream_count(json, "of", m->n);
}

static void put_time(const struct samples *s, struct jp_json_stream *json)
{
    json_stream_count(json, "from", s->from_us);
    json_stream_count(json, "width", s->slice_us);
    json_stream_count(json, "slices", s->n_slices);
}

/* --- lines ---------------------------------------------------------------- */

/* Picks at most `room` of n distances that stand out, except those flagged in
 * `without`, the farthest first. Returns how far the first one stands out, as a
 * share of the values' range; 0: none does. */
static double pick_out(const struct metric *m, const double *off, size_t n,
                       const bool *without, size_t *out, size_t room,
                       size_t *found)
{
    double span = fmax(fabs(m->least), fabs(m->most)), usual, least;

    *found = 0;
    /* of two members, neither is the odd one */
    if (n < 3)
        return 0;
    memcpy(m->sorted, off, n * sizeof(*off));
    qsort(m->sorted, n, sizeof(*m->sorted), sorted_ascending);
    usual = sorted_quantile(m->sorted, n, 0.5);
    /* far from the others' distances, and not only a tiny fraction of the value
     */
    least = fmax(OUT_TIMES * usual, OUT_SHARE * span);
    for (; *found < room; ++*found) {
        size_t best = SIZE_MAX;

        for (size_t i = 0; i < n; i++) {
            /* not far enough, left out before, or picked already */
            bool taken = off[i] <= least || (without && without[i]);

            for (size_t k = 0; k < *found; k++)
                taken |= out[k] == i;
            if (!taken && (best == SIZE_MAX || off[i] > off[best]))
                best = i;
        }
        if (best == SIZE_MAX)
            break;
        out[*found] = best;
    }
    return *found ? off[out[0]] / span : 0;
}

/* --- nodes ---------------------------------------------------------------- */

/* A node's members [from, to). */
struct node_range {
    size_t from, to;
};

/* Groups the members by node; they are sorted so. Returns the number of nodes,
 * or 0 if each has one member: then a node is no more than its member. */
static size_t find_nodes(const struct metric *m, struct node_range *nodes)
{
    size_t n = 0;

    for (size_t i = 0; i < m->n; i++) {
        if (n &&
            m->s->at[m->members[i]].node == m->s->at[m->members[i - 1]].node)
            nodes[n - 1].to = i + 1;
        else
            nodes[n++] = (struct node_range){i, i + 1};
    }
    return n < m->n ? n : 0;
}

/* Returns the median of a node's members in a slice; NaN without values. */
static double node_median(const struct metric *m, const struct node_range *node,
                          unsigned slice)
{
    size_t n = 0;

    for (size_t i = node->from; i < node->to; i++) {
        double v = value_at(m, i, slice);

        if (isfinite(v))
            m->sorted[n++] = v;
    }
    qsort(m->sorted, n, sizeof(*m->sorted), sorted_ascending);
    return n ? sorted_quantile(m->sorted, n, 0.5) : NAN;
}

/* Computes each node's mean distance from the median of all nodes' medians. */
static void measure_nodes(const struct metric *m,
                          const struct node_range *nodes, size_t n_nodes,
                          double *medians, double *off)
{
    for (unsigned k = 0; k < m->s->n_slices; k++) {
        double median;
        size_t n = 0;

        for (size_t i = 0; i < n_nodes; i++)
            medians[i] = node_median(m, &nodes[i], k);
        for (size_t i = 0; i < n_nodes; i++)
            if (isfinite(medians[i]))
                m->sorted[n++] = medians[i];
        qsort(m->sorted, n, sizeof(*m->sorted), sorted_ascending);
        median = n ? sorted_quantile(m->sorted, n, 0.5) : NAN;
        for (size_t i = 0; i < n_nodes; i++)
            if (isfinite(medians[i]))
                off[i] += fabs(medians[i] - median) / m->s->n_slices;
    }
}

/* Finds the nodes that stand out as a whole. Their members are flagged in
 * `without`, so they are not named one by one. Returns 0, or -1 when out of
 * memory. */
static int find_out_nodes(const struct metric *m, bool *without,
                          struct node_range out[MAX_NODES], size_t *n,
                          double *score)
{
    struct node_range *nodes = calloc(m->n + 1, sizeof(*nodes));
    double *medians = calloc(m->n + 1, sizeof(*medians));
    double *off = calloc(m->n + 1, sizeof(*off));
    size_t picked[MAX_NODES], n_nodes;
    int rc = -1;

    *n = 0;
    *score = 0;
    if (nodes && medians && off) {
        n_nodes = find_nodes(m, nodes);
        measure_nodes(m, nodes, n_nodes, medians, off);
        *score = pick_out(m, off, n_nodes, NULL, picked, MAX_NODES, n);
        for (size_t i = 0; i < *n; i++) {
            out[i] = nodes[picked[i]];
            /* from now on, the node stands for its members */
            for (size_t k = out[i].from; k < out[i].to; k++)
                without[k] = true;
        }
        rc = 0;
    }
    free(nodes);
    free(medians);
    free(off);
    return rc;
}

/* Writes one quantile of the members that are not left out, a value per slice.
 */
static void put_quantile(const struct metric *m, const bool *without,
                         const char *key, double quantile,
                         struct jp_json_stream *json)
{
    json_stream_array(json, key);
    for (unsigned k = 0; k < m->s->n_slices; k++) {
        size_t n = sort_slice(m, k, without);

        put_number(json, n ? sorted_quantile(m->sorted, n, quantile) : NAN);
    }
    json_stream_end_array(json);
}

/* Writes the band of the members that are not left out. With few members, 5 %
 * would be less than one, so the band has all of them. */
static void put_band(const struct metric *m, const bool *without, size_t n,
                     struct jp_json_stream *json)
{
    put_quantile(m, without, "low", n > 20 ? 0.05 : 0, json);
    put_quantile(m, without, "mid", 0.5, json);
    put_quantile(m, without, "high", n > 20 ? 0.95 : 1, json);
}

/* Writes a node of several members as a band of its own. */
static void put_node(const struct metric *m, const struct node_range *node,
                     bool *others, struct jp_json_stream *json)
{
    const struct sampled *first = &m->s->at[m->members[node->from]];

    for (size_t i = 0; i < m->n; i++)
        others[i] = i < node->from || i >= node->to;
    json_stream_object(json, NULL);
    json_stream_text(json, "name", m->s->nodes[first->node].name);
    json_stream_count(json, "of", node->to - node->from);
    put_band(m, others, node->to - node->from, json);
    json_stream_end_object(json);
}

/* Writes the curve of one member. */
static void put_member(const struct metric *m, size_t i,
                       struct jp_json_stream *json)
{
    char name[NAME_LEN];

    json_stream_object(json, NULL);
    json_stream_text(json, "name", name_of(m, i, name));
    json_stream_array(json, "values");
    for (unsigned k = 0; k < m->s->n_slices; k++)
        put_number(json, value_at(m, i, k));
    json_stream_end_array(json);
    json_stream_end_object(json);
}

/* Writes a metric: spread of the usual members, nodes and members that stand
 * out. Returns 0, or -1 when out of memory. */
static int put_lines(const struct metric *m, struct jp_json_stream *json)
{
    bool *without = calloc(m->n + 1, sizeof(*without));
    bool *others = calloc(m->n + 1, sizeof(*others));
    struct node_range nodes[MAX_NODES];
    size_t out[MAX_OUT], n, n_nodes;
    double score, node_score;
    int rc = -1;

    if (!without || !others ||
        find_out_nodes(m, without, nodes, &n_nodes, &node_score) < 0)
        goto out;
    /* nodes first: their members are left out here */
    score = pick_out(m, m->off, m->n, without, out, MAX_OUT, &n);
    for (size_t i = 0; i < n; i++)
        without[out[i]] = true;
    json_stream_object(json, NULL);
    put_head(m, json);
    json_stream_real(json, "score", fmax(score, node_score));
    put_band(m, without, m->n, json);
    json_stream_array(json, "nodes");
    for (size_t i = 0; i < n_nodes; i++)
        put_node(m, &nodes[i], others, json);
    json_stream_end_array(json);
    json_stream_array(json, "out");
    for (size_t i = 0; i < n; i++)
        put_member(m, out[i], json);
    json_stream_end_array(json);
    json_stream_end_object(json);
    rc = 0;
out:
    free(without);
    free(others);
    return rc;
}

/* Opens a chart's object with its times. Returns false after writing null if
 * utilisation was not sampled. */
static bool begin(const struct samples *s, struct jp_json_stream *json)
{
    if (!s || !s->n_slices) {
        json_stream_null(json, NULL);
        return false;
    }
    json_stream_object(json, NULL);
    put_time(s, json);
    return true;
}

/* Writes every metric that varies, by scope. Returns 0, or -1 when out of
 * memory. */
static int put_util(const struct jp_chart_view *view, void *state,
                    struct jp_json_stream *json)
{
    /* in the order in which readers look */
    static const enum jp_util_scope scopes[] = {
        JP_UTIL_GPU, JP_UTIL_TASK, JP_UTIL_STEP, JP_UTIL_NODE, JP_UTIL_PORT};
    const struct samples *s = samples_of(view->features);
    int rc = 0;

    (void) state;
    if (!begin(s, json))
        return 0;
    json_stream_array(json, "metrics");
    for (size_t i = 0; i < sizeof(scopes) / sizeof(*scopes); i++)
        for (unsigned c = 0;
             rc == 0 && c < util_tables[samples_kind(scopes[i])].n; c++) {
            struct metric m;
            /* most metrics do not vary, and the page leaves them out */
            int found = metric_make(s, scopes[i], c, &m);

            rc = found > 0 ? put_lines(&m, json) : found;
            if (found > 0)
                metric_fini(&m);
        }
    json_stream_end_array(json);
    json_stream_end_object(json);
    return rc;
}

/* {from, width, slices, metrics: [{scope, name, unit, help, of, score, low,
 * mid, high, out: [{name, values}]}]}; null if utilisation was not sampled. of:
 * number of members. out: members that stand out. score: how far the first of
 * them stands out. low, mid, high: spread of the other members, one value or
 * null per slice. */
static const struct jp_chart chart_util = {
    .name = "util",
    .caption =
        "Over the run: the median, a band of the others, and by name the "
        "nodes and members that stand out",
    .put = put_util};

/* --- maps ----------------------------------------------------------------- */

/* A row of the map: the mean of the members [from, to). */
struct map_row {
    size_t from, to;
    double off; /* the greatest distance of its members */
};

/* Sorts by distance; of equal ones, the first member first. */
static int most_off_first(const void *a, const void *b)
{
    const struct map_row *x = a, *y = b;

    if (x->off != y->off)
        return x->off > y->off ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

static int by_place(const void *a, const void *b)
{
    const struct map_row *x = a, *y = b;

    return x->from < y->from ? -1 : x->from > y->from;
}

/* Makes one row per member; one per node if there are too many members; and
 * only the nodes that are off most if there are too many nodes. Returns the
 * number of rows before that limit. */
static size_t make_rows(const struct metric *m, struct map_row *rows, size_t *n)
{
    bool nodes = m->n > MAX_ROWS;
    size_t all;

    *n = 0;
    for (size_t i = 0; i < m->n; i++) {
        if (nodes && *n &&
            m->s->at[m->members[i]].node == m->s->at[m->members[i - 1]].node) {
            rows[*n - 1].to = i + 1;
            /* a node is as far off as its farthest member */
            rows[*n - 1].off = fmax(rows[*n - 1].off, m->off[i]);
            continue;
        }
        rows[(*n)++] = (struct map_row){i, i + 1, m->off[i]};
    }
    all = *n;
    qsort(rows, all, sizeof(*rows), most_off_first);
    if (*n > MAX_ROWS)
        *n = MAX_ROWS;
    qsort(rows, *n, sizeof(*rows), by_place);
    return all;
}

/* Returns the mean of the row's members in a slice; NaN if none was sampled. */
static double row_value(const struct metric *m, const struct map_row *row,
                        unsigned slice)
{
    double sum = 0;
    size_t n = 0;

    for (size_t i = row->from; i < row->to; i++) {
        double v = value_at(m, i, slice);

        if (isfinite(v)) {
            sum += v;
            n++;
        }
    }
    return n ? sum / (double) n : NAN;
}

/* Writes a heat map: names, then row, slice and value per known cell. Returns
 * 0, or -1 when out of memory. */
static int put_map(const struct metric *m, struct jp_json_stream *json)
{
    struct map_row *rows = calloc(m->n + 1, sizeof(*rows));
    char name[NAME_LEN];
    size_t n, all;

    if (!rows)
        return -1;
    all = make_rows(m, rows, &n);
    json_stream_object(json, NULL);
    put_head(m, json);
    json_stream_count(json, "rows", all);
    json_stream_array(json, "names");
    for (size_t i = 0; i < n; i++)
        json_stream_text(json, NULL,
                         row_name(m, rows[i].from, rows[i].to, name));
    json_stream_end_array(json);
    json_stream_array(json, "cells");
    for (size_t i = 0; i < n; i++)
        /* cells without a sample are left out */
        for (unsigned k = 0; k < m->s->n_slices; k++) {
            double v = row_value(m, &rows[i], k);

            if (!isfinite(v))
                continue;
            json_stream_count(json, NULL, i);
            json_stream_count(json, NULL, k);
            put_number(json, v);
        }
    json_stream_end_array(json);
    json_stream_end_object(json);
    free(rows);
    return 0;
}

/* Writes the heat maps of a few metrics. Returns 0, or -1 when out of memory.
 */
static int put_maps(const struct jp_chart_view *view, void *state,
                    struct jp_json_stream *json)
{
    static const struct {
        enum jp_util_scope scope;
        unsigned column;
    } maps[] = {{JP_UTIL_GPU, GPU_SM},          {JP_UTIL_GPU, GPU_SM_CLOCK},
                {JP_UTIL_GPU, GPU_POWER},       {JP_UTIL_GPU, GPU_TEMPERATURE},
                {JP_UTIL_GPU, GPU_MEMORY_BUSY}, {JP_UTIL_STEP, TASK_USER},
                {JP_UTIL_NODE, NODE_BUSY}};
    const struct samples *s = samples_of(view->features);
    int rc = 0;

    (void) state;
    if (!begin(s, json))
        return 0;
    json_stream_array(json, "maps");
    for (size_t i = 0; rc == 0 && i < sizeof(maps) / sizeof(*maps); i++) {
        struct metric m;
        int found = metric_make(s, maps[i].scope, maps[i].column, &m);

        rc = found > 0 ? put_map(&m, json) : found;
        if (found > 0)
            metric_fini(&m);
    }
    json_stream_end_array(json);
    json_stream_end_object(json);
    return rc;
}

/* {from, width, slices, maps: [{scope, name, unit, help, of, rows: in all,
 * names, cells: [row, slice, value, ...]}]} */
static const struct jp_chart chart_util_time = {
    .name = "util-time", .caption = "Who did what when", .put = put_maps};

const struct jp_chart *const util_charts[] = {&chart_util, &chart_util_time,
                                              NULL};
