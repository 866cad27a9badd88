/* chart_rows.c - charts of rows: bandwidth by size and over the run, the
 * network and its expectation, waits of processes and nodes.
 *
 * A builder adds lines (one per function, communicator or other group) and the
 * rows of each line. The same rows feed the page and plots/; a row and a column
 * name the writers that show them. Each chart's description follows its
 * builder.
 */
#include "orchestrator/report/chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/report/baseline_file.h"
#include "orchestrator/report/gnuplot.h"

/* --- bus bandwidth by message size ---------------------------------------- */

#define MAX_CELLS 400 /* in the page: number of heaviest cells */

/* Returns true if the cell can stand on the plot's logarithmic axes. */
static int is_plottable(const struct jp_cell *cell)
{
    return cell->bytes > 0 && cell->busbw.n > 0 && cell->busbw.p50 > 0;
}

/* Returns a flag per cell: whether the page draws it. The caller frees the
 * list; NULL: out of memory. A cell of a single rank has no bandwidth. */
static bool *heaviest(const struct jp_result *r)
{
    bool *is_heavy = calloc(r->n_cells + 1, sizeof(*is_heavy));
    struct jp_rows rows;

    if (!is_heavy || rows_pick(r, r->n_cells, MAX_CELLS, rows_cell_busbw, false,
                               &rows) < 0) {
        free(is_heavy);
        return NULL;
    }
    /* a cell without a bandwidth may have been picked to fill up */
    for (size_t i = 0; i < rows.n; i++)
        is_heavy[rows.index[i]] = r->cells[rows.index[i]].busbw.max > 0;
    rows_fini(&rows);
    return is_heavy;
}

/* Adds a cell to the current line. The values are in the order of
 * busbw_columns. */
static void busbw_row(struct jp_chart_figures *f, const struct jp_cell *c,
                      bool is_heavy)
{
    const struct jp_chart_value values[] = {
        chart_count(c->bytes),
        chart_count(c->ops),
        chart_real(c->busbw.p5),
        chart_real(c->busbw.min),
        chart_real(c->busbw.p50),
        chart_real(c->busbw.p95),
        chart_real(c->busbw.p99),
        chart_real(c->busbw.max),
        chart_real(c->net_busbw.n ? c->net_busbw.p50 : NAN)};
    bool plottable = is_plottable(c);

    chart_row(f,
              (is_heavy ? JP_CHART_PAGE : 0) | (plottable ? JP_CHART_PLOT : 0),
              values);
    /* not 0, so that a line without times is still heavier than none */
    if (plottable && !f->failed)
        f->lines[f->n_lines - 1].weight += (double) c->exec.n * c->exec.mean +
                                           1e-9;
}

/* Cells are sorted by type and function, so the cells of a line are neighbours.
 */
static int busbw_build(const struct jp_chart_view *view,
                       struct jp_chart_figures *f)
{
    const struct jp_result *r = view->result;
    const struct jp_cell *before = NULL;
    bool *is_heavy = heaviest(r);

    for (size_t i = 0; is_heavy && i < r->n_cells; i++) {
        const struct jp_cell *c = &r->cells[i];

        /* neither the page nor the plot shows it */
        if (!is_heavy[i] && !is_plottable(c))
            continue;
        if (!before || c->type != before->type || strcmp(c->coll, before->coll))
            chart_line(f, comm_type_name(c->type), c->coll);
        busbw_row(f, c, is_heavy[i]);
        before = c;
    }
    free(is_heavy);
    return is_heavy ? 0 : -1;
}

static const struct jp_chart_column busbw_columns[] = {
    JP_CHART_COL(BOTH, "msg_size_bytes"),
    JP_CHART_COL(BOTH, "ops"),
    JP_CHART_COL(PAGE, "p5"),
    JP_CHART_COL(PLOT, "min"),
    JP_CHART_COL(BOTH, "p50"),
    JP_CHART_COL(BOTH, "p95"),
    JP_CHART_COL(PLOT, "p99"),
    JP_CHART_COL(PLOT, "max (GB/s)"),
    JP_CHART_COL(PAGE, "network p50")};

const struct jp_chart chart_busbw = {
    .name = "busbw-size",
    .caption = "Bus bandwidth by message size: median, 5th to 95th percentile",
    .build = busbw_build,
    JP_CHART_ROWS(busbw_columns),
    .labels = {"type", "coll"},
    .plot = &(const struct jp_chart_plot){
        .name = "busbw",
        .title = "Bus bandwidth by message size: median, bars from least to "
                 "95th percentile",
        .x = "message size (bytes, powers of 1024)",
        .y = "bus bandwidth (GB/s)",
        .nothing = "no operation with a bandwidth",
        .caption = "Bus bandwidth by message size",
        .style = JP_PLOT_SIZES,
        .using = "1:4:3:5 with yerrorlines",
        .from = 3,
        .to = 5,
        .max_lines = 12,
        .label_size = 25,
    }};

/* --- mean bus bandwidth over the run -------------------------------------- */

#define MAX_WINDOW_LINES 8 /* also on the plot */

/* One communicator and function, and its time over all windows, us. */
struct windows_series {
    size_t comm; /* index into the result's communicators */
    const char *coll;
    double time; /* us */
};

/* Sorts by communicator and function, which no two series share. */
static int by_owner(const void *a, const void *b)
{
    const struct windows_series *x = a, *y = b;

    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    return strcmp(x->coll, y->coll);
}

static int by_time(const void *a, const void *b)
{
    const struct windows_series *x = a, *y = b;

    if (x->time != y->time)
        return x->time > y->time ? -1 : 1;
    return by_owner(a, b);
}

/* Adds a window's time to its windows_series. Returns 0, or -1 when out of
 * memory. */
static int add_window(struct windows_series *list, size_t *n,
                      struct keymap *map, const struct jp_window *w)
{
    /* the result stores each name once, so its address is a key */
    uint64_t coll = (uintptr_t) w->coll;
    uint32_t at = keymap_find(map, w->comm, coll);

    /* the first window of this communicator and function */
    if (at == KEYMAP_NONE) {
        at = (uint32_t) *n;
        if (keymap_add(map, w->comm, coll, at) < 0)
            return -1;
        list[(*n)++] = (struct windows_series){w->comm, w->coll, 0};
    }
    list[at].time += (double) w->time_us;
    return 0;
}

/* Returns all windows_series, most time first. The caller frees them. NULL: out
 * of memory. */
static struct windows_series *list_series(const struct jp_result *r, size_t *n)
{
    struct windows_series *list = calloc(r->n_windows + 1, sizeof(*list));
    struct keymap map = {0};
    int rc = list ? 0 : -1;

    for (size_t i = 0; i < r->n_windows && rc == 0; i++)
        rc = add_window(list, n, &map, &r->windows[i]);
    keymap_fini(&map);
    if (rc == 0) {
        /* most time first; equal times in a fixed order */
        qsort(list, *n, sizeof(*list), by_time);
        return list;
    }
    free(list);
    return NULL;
}

/* "NAME ..1a2b": the name and the end of the id, since names may be shared;
 * without a name the id. Returns buf. */
static char *plot_comm(const struct jp_comm *comm, char *buf, size_t size)
{
    size_t len = strlen(comm->id);
    char name[20], id[20];

    plot_script_name(comm->id, id, sizeof(id));
    if (!comm->name || !*comm->name)
        snprintf(buf, size, "%s", id);
    else
        snprintf(buf, size, "%s ..%s",
                 plot_script_name(comm->name, name, sizeof(name)),
                 len > 4 ? id + len - 4 : id);
    return buf;
}

/* Adds a line with the series' windows, which are sorted by start. */
static void window_rows(const struct jp_result *r,
                        const struct windows_series *s,
                        struct jp_chart_figures *f)
{
    uint64_t start = r->windows[0].t0_us;
    char name[32];

    chart_line(f, plot_comm(rows_comm(r, s->comm), name, sizeof(name)),
               s->coll);
    for (size_t i = 0; i < r->n_windows; i++) {
        const struct jp_window *w = &r->windows[i];
        /* seconds since the start, in the middle of the window */
        double middle =
            ((double) (w->t0_us - start) + (double) (w->t1_us - start)) / 2e6;
        const struct jp_chart_value values[] = {
            chart_real(middle), chart_real(w->busbw_mean), chart_count(w->ops),
            chart_count(w->bytes)};

        /* of all windows, those of the series */
        if (w->comm == s->comm && !strcmp(w->coll, s->coll))
            chart_row(f, JP_CHART_PLOT, values);
    }
}

/* The series of most time, the heaviest first. f->of counts all of them. */
static int windows_build(const struct jp_chart_view *view,
                         struct jp_chart_figures *f)
{
    struct windows_series *list = list_series(view->result, &f->of);

    if (!list)
        return -1;
    for (size_t i = 0; i < f->of && i < MAX_WINDOW_LINES; i++)
        window_rows(view->result, &list[i], f);
    free(list);
    return 0;
}

static const struct jp_chart_column windows_columns[] = {
    JP_CHART_COL(PLOT, "seconds"), JP_CHART_COL(PLOT, "busbw_gbs"),
    JP_CHART_COL(PLOT, "ops"), JP_CHART_COL(PLOT, "bytes")};

const struct jp_chart chart_windows = {
    .build = windows_build,
    JP_CHART_ROWS(windows_columns),
    .labels = {"comm", "coll"},
    .plot = &(const struct jp_chart_plot){
        .name = "windows",
        .title = "Bus bandwidth over the run",
        .x = "time since the first record was written (s)",
        .y = "mean bus bandwidth (GB/s)",
        .nothing = "no operation with a time",
        .caption = "Bus bandwidth over the run",
        .style = JP_PLOT_TIME,
        .using = "1:2 with linespoints",
        .from = 2,
        .to = 2,
        .max_lines = MAX_WINDOW_LINES,
        .label_size = 32,
    }};

/* --- the network's bandwidth by message size, beside what was expected ---- */

/* Adds a network cell with what was expected of it. A cell that is only
 * compared with itself has no expectation to draw. */
static void network_row(const struct jp_netcell *c,
                        const struct jp_expected_bw *e,
                        struct jp_chart_figures *f)
{
    bool told = e->against != JP_AGAINST_OWN;
    const struct jp_chart_value values[] = {
        chart_count(c->bytes),
        chart_count(c->gbs.total),
        chart_real(bwhist_quantile(&c->gbs, 0.05)),
        chart_real(bwhist_quantile(&c->gbs, 0.5)),
        chart_real(bwhist_quantile(&c->gbs, 0.95)),
        chart_real(told ? e->low_gbs : NAN),
        chart_real(told ? e->gbs : NAN),
        chart_real(told ? e->high_gbs : NAN)};

    chart_row(f, JP_CHART_PAGE, values);
    if (!f->failed)
        f->lines[f->n_lines - 1].weight += c->time_us;
}

/* Cells are sorted so that those of a line, which differ only in size, are
 * neighbours. */
static int network_build(const struct jp_chart_view *view,
                         struct jp_chart_figures *f)
{
    const struct jp_insight *x = view->insight;

    for (size_t i = 0; x && i < x->network.n; i++) {
        struct jp_netkey like = x->network.at[i].key;
        char name[NETKEY_NAME];

        /* compare without the size, which is part of the key */
        if (i)
            like.size = x->network.at[i - 1].key.size;
        if (!i || netkey_compare(&like, &x->network.at[i - 1].key))
            chart_line(f, netkey_name(&like, NETKEY_SERIES, name), like.coll);
        network_row(&x->network.at[i], &x->expected[i], f);
    }
    return 0;
}

static const struct jp_chart_column network_columns[] = {
    JP_CHART_COL(PAGE, "msg_size_bytes"),
    JP_CHART_COL(PAGE, "ops"),
    JP_CHART_COL(PAGE, "p5"),
    JP_CHART_COL(PAGE, "p50"),
    JP_CHART_COL(PAGE, "p95"),
    JP_CHART_COL(PAGE, "expected at least"),
    JP_CHART_COL(PAGE, "expected"),
    JP_CHART_COL(PAGE, "expected at most (GB/s)"),
};

const struct jp_chart chart_network = {
    .name = "network-size",
    .caption = "The network&#39;s bandwidth by message size, and what was "
               "expected",
    .build = network_build,
    JP_CHART_ROWS(network_columns),
    .labels = {"name", "coll"},
    .max_lines = 12};

/* --- for which processes and nodes the others waited ---------------------- */

/* bars that fit on a page, and on a plot */
enum { MAX_BARS = 32, MAX_PLOT_BARS = 24 };

/* Returns part / all; unknown if there is nothing to share. */
static struct jp_chart_value share(uint64_t part, uint64_t all)
{
    return chart_real(all ? (double) part / (double) all : NAN);
}

/* Returns a rank's own wait, unless the input cannot show it. */
static struct jp_chart_value waited(const struct jp_result *r, uint64_t us)
{
    return r->quality.waits_unknown ? chart_text(NULL) : chart_count(us);
}

/* Returns true if a finding names the process as late by its own fault. pid <
 * 0: the whole node. */
static bool is_named(const struct jp_insight *insight, const char *host,
                     int64_t pid)
{
    enum jp_finding_kind kind = pid < 0 ? JP_FINDING_LATE_NODE
                                        : JP_FINDING_LATE_RANK;

    for (size_t i = 0; insight && i < insight->findings.n; i++) {
        const struct jp_finding *f = &insight->findings.at[i];

        /* a finding on a node names no process */
        if (f->kind == kind && !strcmp(f->host, host) &&
            (pid < 0 || f->pid == pid))
            return true;
    }
    return false;
}

/* "rank 3 on host", with only the characters that gnuplot accepts. */
static const char *plot_name(const char *rank, const char *place, char buf[80])
{
    char cleaned[32];

    snprintf(buf, 80, "%s%s%s", *rank ? "rank " : "",
             plot_script_name(rank, cleaned, sizeof(cleaned)),
             *rank ? " on " : "");
    /* the rest of the buffer, which is enough for a host and a pid */
    plot_script_name(place, buf + strlen(buf), 36);
    return buf;
}

/* Adds a process. It counts as named if it or its node is. */
static void wait_row(const struct jp_chart_view *view,
                     const struct jp_process *p, bool plotted,
                     struct jp_chart_figures *f)
{
    char rank[JP_PROCESS_NAME_LEN], place[JP_PROCESS_NAME_LEN], label[80];

    processes_rank_name(view->processes, view->result, p, rank);
    processes_place(p, place);
    chart_row(f, JP_CHART_PAGE | (plotted ? JP_CHART_PLOT : 0),
              (const struct jp_chart_value[]){
                  p->world_rank >= 0 ? chart_count((uint64_t) p->world_rank)
                                     : chart_text(*rank ? rank : NULL),
                  chart_text(place), chart_text(plot_name(rank, place, label)),
                  chart_count(p->caused_us), waited(view->result, p->wait_us),
                  share(p->last_ops, p->timed_ops),
                  chart_count(is_named(view->insight, p->host, p->pid) ||
                              is_named(view->insight, p->host, -1))});
}

/* The processes with the most wait caused; fewer of them on the plot than in
 * the page. */
static int waits_build(const struct jp_chart_view *view,
                       struct jp_chart_figures *f)
{
    const struct jp_processes *procs = view->processes;
    size_t n = 0;
    uint32_t *places = processes_heaviest(procs, MAX_BARS, &n);

    f->of = procs->n;
    for (size_t i = 0; places && i < n; i++) {
        /* a bar of length 0 is of no use on the plot */
        const struct jp_process *p = &procs->list[places[i]];

        wait_row(view, p, i < MAX_PLOT_BARS && (p->caused_us || p->wait_us), f);
    }
    free(places);
    return places ? 0 : -1;
}

static const struct jp_chart_column waits_columns[] = {
    JP_CHART_COL(PAGE, "rank"),
    JP_CHART_COL(PAGE, "host"),
    JP_CHART_COL(PLOT, "process"),
    JP_CHART_COL_IN(BOTH, "caused_s", 1e6),
    JP_CHART_COL_IN(BOTH, "waited_s", 1e6),
    JP_CHART_COL(BOTH, "last_share"),
    JP_CHART_COL(PAGE, "named")};

const struct jp_chart chart_waits = {
    .name = "waits",
    .caption = "Wait caused and suffered, by process",
    .build = waits_build,
    JP_CHART_ROWS(waits_columns),
    .plot = &(const struct jp_chart_plot){
        .name = "waits",
        .title = "Ranks that arrived last: how long the others waited for them",
        .x = "time, summed over operations",
        .nothing = "no operation in which a rank waited",
        .caption = "Ranks that arrived last",
        .style = JP_PLOT_SECONDS,
        .bars = {"the others waited for it", "it waited for others"},
    }};

/* The nodes with the most wait caused; only in the page. */
static int nodes_build(const struct jp_chart_view *view,
                       struct jp_chart_figures *f)
{
    const struct jp_processes *procs = view->processes;
    size_t n = 0;
    uint32_t *places = processes_heaviest_hosts(procs, MAX_BARS, &n);

    f->of = procs->n_hosts;
    for (size_t i = 0; places && i < n; i++) {
        const struct jp_process_host *h = &procs->hosts[places[i]];
        const struct jp_chart_value values[] = {
            chart_text(h->host),
            chart_count(h->n_processes),
            chart_count(h->caused_us),
            waited(view->result, h->wait_us),
            share(h->last_ops, h->timed_ops),
            chart_count(is_named(view->insight, h->host, -1))};

        chart_row(f, JP_CHART_PAGE, values);
    }
    free(places);
    return places ? 0 : -1;
}

static const struct jp_chart_column nodes_columns[] = {
    JP_CHART_COL(PAGE, "host"),       JP_CHART_COL(PAGE, "ranks"),
    JP_CHART_COL(PAGE, "caused_us"),  JP_CHART_COL(PAGE, "waited_us"),
    JP_CHART_COL(PAGE, "last_share"), JP_CHART_COL(PAGE, "named")};

const struct jp_chart chart_nodes = {
    .name = "nodes",
    .caption = "Wait caused and suffered, by node",
    .build = nodes_build,
    JP_CHART_ROWS(nodes_columns)};
