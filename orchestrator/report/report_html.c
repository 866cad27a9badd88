/* report_html.c - report.html: one page that needs no other file.
 *
 * html_sections lists all sections in the order of the page; read it first. A
 * section is a described table with charts above it, or a function that writes
 * its body. report_write_html makes all bodies, then writes the contents, the
 * first screen, the sections, and the data of the charts. */
#include "orchestrator/report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/figure.h"
#include "common/fileio.h"
#include "common/vector.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/identity/processes.h"
#include "orchestrator/report/busy.h"
#include "orchestrator/report/chart.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/sections.h"
#include "orchestrator/report/tables.h"
#include "orchestrator/report/summary_file.h"
#include "orchestrator/report/timeline_page.h"

void html_put_chart(FILE *out, const char *name)
{
    if (html_out_has_charts())
        fprintf(out,
                "<figure class=\"chart\" data-chart=\"%s\">"
                "<figcaption>%s</figcaption></figure>\n",
                name, chart_find(name)->caption);
}

/* --- section: how much of the time processes communicated */

/* Writes a sentence on all processes, the chart, and the table of processes. */
static int html_busy_put(const struct jp_report *report, FILE *out)
{
    const struct jp_result *r = report->result;
    struct jp_busy_rows rows;
    char text[JP_BUSY_TEXT];
    int rc;

    if (!r || !(r->n_busy || r->quality.records))
        return 0;
    if (busy_rows_make(r, report->processes, &rows) < 0)
        return -1;
    busy_text(r, &rows, report->verdict->coverage, text);
    fputs("<p>", out);
    html_out_text(out, text);
    fputs(".</p>\n", out);
    if (rows.n_told)
        html_put_chart(out, "busy");
    /* without processes, the sentence has the reason */
    rc = r->n_busy ? table_html(&table_busy, report, &rows, out) : 0;
    busy_rows_fini(&rows);
    return rc;
}

/* --- section: what the network did, and what was expected */

/* Sorts indices of network cells: most time first. */
static int by_time(const void *a, const void *b, void *arg)
{
    const struct jp_netcell *cells = arg;
    size_t x = *(const size_t *) a, y = *(const size_t *) b;

    if (cells[x].time_us != cells[y].time_us)
        return cells[x].time_us > cells[y].time_us ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Writes the network's cells, heaviest first, beside what was expected. */
static int html_network_put(const struct jp_report *report, FILE *out)
{
    const struct jp_netcells *cells;
    size_t *order;
    int rc;

    if (!report->insight || !report->insight->network.n)
        return 0;
    cells = &report->insight->network;
    order = calloc(cells->n, sizeof(*order));
    if (!order)
        return -1;
    for (size_t i = 0; i < cells->n; i++)
        order[i] = i;
    qsort_r(order, cells->n, sizeof(*order), by_time, cells->at);
    html_put_chart(out, "network-size");
    rc = table_html(&table_network, report, order, out);
    free(order);
    return rc;
}

/* --- section: for which nodes the others waited */

#define MAX_ROWS 200 /* nodes; csv/ranks.csv has all */

/* Returns true if the ranks ran on more than one host. */
static bool has_nodes(const struct jp_report *report)
{
    const struct jp_result *r = report->result;

    for (size_t i = 1; r && i < r->n_ranks; i++)
        if (r->ranks[i].host && r->ranks[0].host &&
            strcmp(r->ranks[i].host, r->ranks[0].host))
            return true;
    return false;
}

/* The nodes' places, sorted by the wait that they caused, are the rows' extra
 * data. */
static void find_node(struct jp_row *row)
{
    const uint32_t *places = row->extra;

    row->at = &row->report->processes->hosts[places[row->index]];
}

JP_GETTER(node_host, jp_process_host, value_name(v, at->host))
JP_GETTER(node_processes, jp_process_host, value_count(v, at->n_processes))
/* without timed operations, the share is unknown */
JP_GETTER(node_last, jp_process_host,
          value_finite(v, at->timed_ops
                              ? (double) at->last_ops / (double) at->timed_ops
                              : NAN))
JP_GETTER(node_caused, jp_process_host, {
    const uint32_t *places = row->extra;

    value_count(v, at->caused_us);
    value_fill(v, (double) row->report->processes->hosts[places[0]].caused_us);
})
JP_GETTER(node_wait, jp_process_host,
          value_known(v, !row->result->quality.waits_unknown, at->wait_us))

static const struct jp_column node_columns[] = {
    /* in CSV: the rows left out are in ranks.csv */
    {"host", JP_COL_TEXT, JP_CSV, 0, 1, 0, "Node", .get = get_node_host},
    {"processes", JP_COL_COUNT, JP_TIP, 0, 2, 0, "Processes",
     "that left records", .get = get_node_processes},
    {"last", JP_COL_SHARE, JP_TIP, 0, 3, 0, "Last in",
     "share of its processes' operations in which one of them arrived last",
     .get = get_node_last},
    {"caused", JP_COL_US, JP_TIP | JP_BAR, 0, 4, 0, "Wait caused",
     "time that other ranks waited for its processes, summed over ranks and "
     "operations",
     .get = get_node_caused},
    {"wait", JP_COL_US, JP_TIP, 0, 5, 0, "Own wait",
     "time that its processes waited for others", .get = get_node_wait},
};
static const struct jp_table node_table = {.name = "ranks",
                                           JP_COLUMNS(node_columns),
                                           .find = find_node,
                                           .max_html = MAX_ROWS};

/* Writes a row for each node; nothing for a single node, which could not be
 * compared. */
static int html_nodes_put(const struct jp_report *report, FILE *out)
{
    const struct jp_processes *procs = report->processes;
    struct table_source source;
    uint32_t *places;
    size_t n = 0;
    int rc = -1;

    if (!has_nodes(report))
        return 0;
    places = processes_heaviest_hosts(procs, MAX_ROWS, &n);
    if (places) {
        html_put_chart(out, "nodes");
        source = table_of(report, places);
        source.n = n;
        source.left_out = procs->n_hosts - n;
        rc = table_write_html(&node_table, &source, out);
    }
    free(places);
    return rc;
}

/* --- section: operations by message size */

enum { BINS = 64 }; /* bins at powers of two */

/* Operations whose size is in [2^i, 2^(i+1)), over all cells. */
struct bin {
    uint64_t ops;
    double bytes, us;
};

/* Sorts the cells into bins and adds them up. A cell has operations of one size
 * only, so it falls into one bin. */
static void add_up(const struct jp_result *r, struct bin *bins,
                   struct bin *total)
{
    for (size_t i = 0; i < r->n_cells; i++) {
        const struct jp_cell *c = &r->cells[i];
        double bytes = (double) c->bytes * (double) c->ops;
        /* the total time of the cell's operations */
        double us = c->exec.n ? c->exec.mean * (double) c->exec.n : 0;
        /* a size of 0 goes into the first bin, with 1 */
        struct bin *bin = &bins[c->bytes ? 63 - __builtin_clzll(c->bytes) : 0];

        bin->ops += c->ops;
        bin->bytes += bytes;
        bin->us += us;
        total->ops += c->ops;
        total->bytes += bytes;
        total->us += us;
    }
}

/* Returns part / all, or 0 if there is nothing to share. */
static double share(double part, double all)
{
    return all > 0 ? part / all : 0;
}

/* A row of the table of sizes. */
struct size_row {
    unsigned exponent; /* the power of two at which the bin starts */
    struct bin bin;
};

JP_GETTER(size_range, size_row, {
    uint64_t from = UINT64_C(1) << at->exponent;

    if (at->exponent == BINS - 1)
        snprintf(v->buf, sizeof(v->buf), "%s and more", FIG_BYTES(from));
    else
        snprintf(v->buf, sizeof(v->buf), "%s to %s",
                 FIG_BYTES(at->exponent ? from : 0), FIG_BYTES(2 * from));
    value_text(v, v->buf);
    v->real = at->exponent;
})
/* the extra data are the sums of all bins */
JP_GETTER(size_ops_share, size_row, {
    const struct bin *total = row->extra;

    value_real(v, share((double) at->bin.ops, (double) total->ops));
})
JP_GETTER(size_bytes_share, size_row, {
    const struct bin *total = row->extra;

    value_real(v, share(at->bin.bytes, total->bytes));
})
JP_GETTER(size_us_share, size_row, {
    const struct bin *total = row->extra;

    value_real(v, share(at->bin.us, total->us));
})

#define FIELD(member) JP_FIELD(struct size_row, member)
static const struct jp_column size_columns[] = {
    {"size", JP_COL_FIGURE, JP_TIP, 0, 1, 0, "Size",
     "of the message: from, and less than", .get = get_size_range},
    {"ops", JP_COL_COUNT, 0, 0, 2, 0, "Operations", FIELD(bin.ops)},
    {"ops_share", JP_COL_SHARE, JP_BAR, 0, 3, 0, "of them",
     .get = get_size_ops_share},
    {"bytes_share", JP_COL_SHARE, JP_BAR | JP_TIP, 0, 4, 0, "of the data",
     "share of the sum of message sizes", .get = get_size_bytes_share},
    {"us", JP_COL_US, JP_TIP, 0, 5, 0, "Time",
     "sum over operations of the longest rank's time", FIELD(bin.us)},
    {"us_share", JP_COL_SHARE, JP_BAR, 0, 6, 0, "of the time",
     .get = get_size_us_share},
};
#undef FIELD
static const struct jp_table size_table = {JP_COLUMNS(size_columns),
                                           .row_size = sizeof(struct size_row),
                                           .max_html = BINS};

/* Writes the bins that have operations. */
static int html_sizes_put(const struct jp_report *report, FILE *out)
{
    struct bin bins[BINS] = {{0}}, total = {0};
    struct size_row rows[BINS];
    struct table_source source = {.extra = &total, .rows = rows};

    if (!report->result || !report->result->n_cells)
        return 0;
    add_up(report->result, bins, &total);
    for (unsigned i = 0; i < BINS; i++)
        if (bins[i].ops)
            rows[source.n++] = (struct size_row){i, bins[i]};
    html_put_chart(out, "sizes");
    return table_write_html(&size_table, &source, out);
}

/* "3 classes of sizes" */
static bool sizes_figure(const struct jp_report *report, char *buf)
{
    struct bin bins[BINS] = {{0}}, total = {0};
    unsigned n = 0;

    if (!report->result)
        return false;
    add_up(report->result, bins, &total);
    for (unsigned i = 0; i < BINS; i++)
        n += bins[i].ops != 0;
    snprintf(buf, DRAWER_FIGURE, "%u class%s of sizes", n, n == 1 ? "" : "es");
    return n > 0;
}

/* Whether there is a finding that the first screen does not have. */
static bool has_more_findings(const struct jp_report *report)
{
    return report->insight && report->insight->findings.n > 1;
}

/* --- sections that are charts only, and the charts' half of the page */

/* Only operations with a time make windows; traces have none. */
static int html_time_put(const struct jp_report *report, FILE *out)
{
    if (!report->result || !report->result->n_windows)
        return 0;
    html_put_chart(out, "busbw-time");
    html_put_chart(out, "drift");
    return 0;
}

/* Needs cells, as each chart shows the operations of one cell. */
static int html_spread_put(const struct jp_report *report, FILE *out)
{
    if (!report->result || !report->result->n_cells)
        return 0;
    html_put_chart(out, "spread");
    html_put_chart(out, "numbers");
    return 0;
}

/* Writes the charts' figures as packed JSON, because they are most of the
 * page's size. */
static int put_chart_data(const struct jp_report *report, FILE *out)
{
    char *json = NULL;
    size_t len = 0;
    FILE *text = open_memstream(&json, &len);
    int rc;

    if (!text)
        return -1;
    /* into memory first: the text is deflated as one block */
    rc = chart_data_write(report->result, report->processes, report->insight,
                          report->features, text);
    /* the buffer is valid only after the stream is closed */
    if (fclose(text) != 0)
        rc = -1;
    if (rc == 0)
        rc = timeline_put_packed((unsigned char *) json, len, out);
    free(json);
    return rc;
}

/* Writes the charts' figures and their script after all sections, so the page
 * can be read before they are parsed. */
static int html_charts_put(const struct jp_report *report, FILE *out)
{
    if (!html_out_has_charts())
        return 0;
    fputs("<script type=\"text/plain\" id=\"chart-data\">", out);
    if (put_chart_data(report, out) < 0)
        return -1;
    fprintf(out, "</script>\n<script>\n%s</script>\n", html_assets_charts);
    return 0;
}

/* --- section: gnuplot's pictures, in a page without charts */

/* In a program without charts: leaves the mark where report_draw inserts
 * gnuplot's pictures. */
static int html_pictures_put(const struct jp_report *report, FILE *out)
{
    if (html_out_has_charts() || !report->result)
        return 0;
    fprintf(out,
            "<p class=\"note\">This jobprof was built without charts. "
            "<code>--png</code> puts gnuplot&#39;s pictures here; "
            "<code>cd plots; gnuplot -d *.gp</code> draws them by hand.</p>\n"
            "%s\n",
            HTML_PICTURES);
    return 0;
}

/* "6 in plots/" */
static bool pictures_figure(const struct jp_report *report, char *buf)
{
    const struct jp_chart *chart;
    const struct feature *of;
    size_t n = 0;

    for (size_t i = 0; report->folder && (chart = charts_at(i, &of)); i++) {
        char *path = chart->plot ? text_format("%s/plots/%s.gp", report->folder,
                                               chart->plot->name)
                                 : NULL;

        n += path && access(path, R_OK) == 0;
        free(path);
    }
    snprintf(buf, DRAWER_FIGURE, "%s in plots/", FIG_COUNT(n));
    return n > 0;
}

/* --- the page's foot: limits with their reasons, the writer */

/* Writes a limit: what it decides, with its value, and why it has that value.
 */
static void put_limit(const struct jp_limit *limit, FILE *out)
{
    const char *value = limit->unit == JP_LIMIT_IS_US ? FIG_US(limit->value)
                        : limit->unit == JP_LIMIT_IS_SHARE
                            ? FIG_SHARE(limit->value)
                        : limit->unit == JP_LIMIT_IS_BYTES
                            ? FIG_BYTES((uint64_t) limit->value)
                            : FIG_EXACT(limit->value);
    const char *place = strstr(limit->text, "{}");

    fprintf(out, "<li>%.*s%s%s: %s.</li>\n", (int) (place - limit->text),
            limit->text, value, place + 2, limit->reason);
}

/* Writes how the verdict is decided and which program wrote the page. The list
 * is made from the tables of limits, so it cannot differ from what is
 * applied. */
static void html_footer_put(const struct jp_report *report, FILE *out)
{
    fputs("<footer><details><summary>How the verdict is decided</summary><ul>",
          out);
    for (size_t i = 0; i < JP_N_LIMITS; i++)
        put_limit(&limits_table[i], out);
    for (const struct jp_limit *limit = report_limits; limit->name; limit++)
        put_limit(limit, out);
    for (size_t i = 0; feature_registry[i]; i++)
        for (const struct jp_limit *limit = feature_registry[i]->limits;
             limit && limit->name; limit++)
            put_limit(limit, out);
    fputs("</ul></details>\n<p>Written by jobprof " JP_VERSION " (", out);
    html_out_text(out, report->reporter);
    fprintf(out, ") in %s.</p>\n", FIG_US((double) report->duration_us));
    for (size_t i = 0; i < report->n_undone; i++) {
        fputs("<p>Not done: ", out);
        html_out_text(out, report->undone[i].text);
        fputs(": <code>", out);
        html_out_text(out, report->undone[i].command);
        fputs("</code></p>\n", out);
    }
    fputs("</footer>\n", out);
}

/* Without records, every question would have the same answer: not judged. */
static bool html_hypotheses_present(const struct jp_report *report)
{
    char text[JP_HYPOTHESES_LINE];

    return quality_judged(report, text) != NULL;
}

/* --- section: the report's other files */

/* A file of csv/. Names are those of tables, so they need no quotes. */
struct listed {
    char name[80];
    uint64_t bytes;
};

struct listing {
    struct listed *at;
    size_t n, room;
    uint64_t bytes;
};

/* A callback of type treewalk_see. */
static int add_listed(void *arg, const struct treewalk_entry *entry)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    struct listing *l = arg;
    size_t len = strlen(entry->name);
    struct listed *file;

    if (entry->what != TREEWALK_FILE || len >= sizeof(file->name) ||
        strcmp(entry->name + strspn(entry->name, plain), ".csv") != 0)
        return 0;
    file = VECTOR_ADD(l->at, l->n, l->room);
    if (!file)
        return -1;
    memcpy(file->name, entry->name, len + 1);
    file->bytes = (uint64_t) entry->st->st_size;
    l->bytes += file->bytes;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct listed *) a)->name,
                  ((const struct listed *) b)->name);
}

/* Lists csv/, which is written before the page. Empty if that is not known.
 * Returns -1 without memory. */
static int list_csv(const struct jp_report *report, struct listing *l)
{
    char *path = report->folder ? text_format("%s/csv", report->folder) : NULL;
    int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int rc = report->folder && !path ? -1 : 0;

    *l = (struct listing){0};
    if (fd >= 0)
        rc = treewalk(fd, path, 0, add_listed, l);
    if (l->n)
        qsort(l->at, l->n, sizeof(*l->at), by_name);
    free(path);
    return rc;
}

/* "12 tables in csv/, 412 KiB" */
static bool files_figure(const struct jp_report *report, char *buf)
{
    struct listing csv;
    int rc = list_csv(report, &csv);

    free(csv.at);
    if (rc < 0 || !csv.n)
        return false;
    snprintf(buf, DRAWER_FIGURE, "%s table%s in csv/, %s", FIG_COUNT(csv.n),
             plural(csv.n), FIG_BYTES(csv.bytes));
    return true;
}

/* Links the report's files. A folder of logs has no job.conf and no index. */
static int html_files_put(const struct jp_report *report, FILE *out)
{
    static const char *const files[] = {"summary.txt", JP_SUMMARY_NAME,
                                        "plots/", "job.conf", "../index.html"};
    size_t n = report->conf ? 5 : 3;
    struct listing csv;

    if (list_csv(report, &csv) < 0) {
        free(csv.at);
        return -1;
    }
    fputs("<ul class=\"files\">\n", out);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "<li><a href=\"%s\">%s</a></li>\n", files[i], files[i]);
    for (size_t i = 0; i < csv.n; i++)
        fprintf(out, "<li><a href=\"csv/%s\">csv/%s</a>, %s</li>\n",
                csv.at[i].name, csv.at[i].name, FIG_BYTES(csv.at[i].bytes));
    fputs("</ul>\n", out);
    free(csv.at);
    return 0;
}

/* --- which sections report.html has, in which order */

static const struct jp_html_section html_sections[] = {
    {"findings", "Findings",
     "Worst first. Findings on the nodes' topologies and on data of other "
     "kinds have their own sections.",
     JP_HTML_WIDE, .open = has_more_findings, .table = &table_findings,
     .figure = drawer_findings},
    {"timeline", "Timeline", NULL, JP_HTML_CHARTS, .put = timeline_html,
     .open = timeline_html_proves, .figure = drawer_timeline},
    {"hypotheses", "What was looked for",
     "Each question has one of three answers: found; not found, with the "
     "smallest effect that would have been seen; not judged, with the reason.",
     JP_HTML_WIDE, .present = html_hypotheses_present,
     .table = &table_hypotheses, .figure = drawer_hypotheses},
    {"communicators", "Communicators", "Most time first.", JP_HTML_WIDE,
     .table = &table_comms, .figure = drawer_comms},
    {"time", "Over the run",
     "By the time at which records were written. csv/windows.csv has the "
     "figures by communicator.",
     JP_HTML_CHARTS, .put = html_time_put, .figure = drawer_run},
    {"pictures", "Pictures", NULL, JP_HTML_WIDE, .put = html_pictures_put,
     .figure = pictures_figure},
    {"ranks", "Waits",
     "Most wait caused first. The rank that arrives last has the shortest "
     "time in an operation, as the others wait in it. Its lateness has a "
     "cause in computing, input, host or network, which this table does not "
     "show. A rank that waited for a late rank is late at its next operation, "
     "so waits spread. The findings name the ranks that were late on their "
     "own.",
     JP_HTML_WIDE, .table = &table_ranks, .charts = {"waits", "waits-time"},
     .figure = drawer_waits},
    {"nodes", "Nodes", "Sums over a node&#39;s processes and communicators.",
     JP_HTML_WIDE, .put = html_nodes_put, .figure = drawer_nodes},
    {"busy", "Communication-busy share",
     "The share of its wall time, from its first operation&#39;s start to its "
     "last one&#39;s end, in which a process had at least one collective, "
     "Send or Recv in flight. Computing may continue at the same time: the "
     "share is neither lost time nor a measure of overlap.",
     JP_HTML_WIDE, .put = html_busy_put, .figure = drawer_busy},
    {"attempts", "Attempts",
     "The ranks were started anew, or the tasks ran several programs one "
     "after the other. Each attempt or program has processes and "
     "communicators of its own, which are judged on their own.",
     JP_HTML_WIDE, .table = &table_attempts, .figure = drawer_attempts},
    {"operations", "Operations",
     "By type of communicator, function and message size, most time first. Bus "
     "bandwidth in "
     "GB/s (1e9 bytes a second) is the mean over an operation's ranks; "
     "percentiles are over operations.",
     JP_HTML_WIDE, .table = &table_cells, .charts = {"busbw-size"},
     .figure = drawer_operations},
    {"network", "Network",
     "The network&#39;s own bandwidth in GB/s, from the time of the rank that "
     "came last, by kind of communicator, function and size, most time first. "
     "The expected bandwidth comes from the site&#39;s peaks, or else from "
     "earlier steps (jobprof baseline), or else from the best twentieth of "
     "the same operations. Warm-up is left out.",
     JP_HTML_WIDE, .put = html_network_put, .figure = drawer_network},
    {"spread", "Spread",
     "Bus bandwidth of the operations of one kind: those of most time.",
     JP_HTML_CHARTS, .put = html_spread_put, .figure = drawer_spread},
    {"sizes", "Message sizes", NULL, JP_HTML_WIDE, .put = html_sizes_put,
     .figure = sizes_figure},
    {"algorithms", "Algorithms",
     "What NCCL chose for each function and size, by the records that name it.",
     JP_HTML_WIDE, .table = &table_algorithms},
    {"p2p", "Send and Recv",
     "Most data first. AlltoAll, Gather and Scatter appear here too, as NCCL "
     "makes them of Send and Recv.",
     JP_HTML_WIDE, .table = &table_pairs, .charts = {"p2p"},
     .figure = drawer_p2p},
    {"p2p-hosts", "Send and Recv between hosts",
     "Most data first. Each message may appear in two rows, one recorded by "
     "its sender and one by its receiver. A row with the same host on both "
     "sides counts messages within that host.",
     JP_HTML_WIDE, .table = &table_node_pairs},
    {.of_features = true},
    /* the first section of the bookkeeping, below a line */
    {"quality", "Data quality", NULL, JP_HTML_BOOKS, .put = quality_html,
     .figure = drawer_quality},
    {"job", "Job", NULL, JP_HTML_BOOKS, .put = job_html_facts,
     .figure = drawer_job},
    {"settings", "Settings", NULL, JP_HTML_BOOKS, .put = job_html_settings,
     .figure = drawer_settings},
    {"environment", "Environment", "Set for the tasks.", JP_HTML_BOOKS,
     .put = job_html_env, .figure = drawer_env},
    {"command", "Commands", NULL, JP_HTML_BOOKS, .put = job_html_command,
     .figure = drawer_commands},
    {"files", "Files", NULL, JP_HTML_BOOKS, .put = html_files_put,
     .figure = files_figure},
};
enum {
    HTML_ROWS = sizeof(html_sections) / sizeof(*html_sections),
    HTML_SECTIONS = HTML_ROWS + 2 * FEATURES_MAX
};

/* --- report.html: one page that needs nothing but itself */

/* The part of a section below its heading, as HTML. */
struct body {
    struct jp_html_section section;
    char *text; /* "": the section is left out */
    size_t len;
};

/* Whether a section of a feature stands before (or after) the one called id;
 * id NULL: with those of other features. */
static bool is_place(const struct jp_html_section *section, const char *id,
                     bool before)
{
    const char *place = before ? section->before : section->after;

    if (id)
        return place && !strcmp(place, id);
    return !before && !section->before && !section->after;
}

/* Adds the sections of features that have this place and order. */
static void list_features(const struct jp_report *report, const char *id,
                          bool before, unsigned order, struct body *bodies,
                          size_t *n)
{
    for (size_t k = 0; feature_registry[k]; k++) {
        const struct jp_html_section *section = feature_registry[k]->sections;

        if (!section || !report_has(report, feature_registry[k]))
            continue;
        for (; section->id && *n < HTML_SECTIONS; section++)
            if (section->order == order && is_place(section, id, before))
                bodies[(*n)++].section = *section;
    }
}

/* Lists the sections of this report. Returns their number. */
static size_t list_sections(const struct jp_report *report, struct body *bodies)
{
    size_t n = 0;

    for (size_t i = 0; i < HTML_ROWS; i++) {
        for (unsigned order = 0; order <= HTML_LAST; order++)
            list_features(report, html_sections[i].id, true, order, bodies, &n);
        if (!html_sections[i].of_features)
            bodies[n++].section = html_sections[i];
        for (unsigned order = 0; order <= HTML_LAST; order++)
            list_features(report, html_sections[i].id, false, order, bodies,
                          &n);
    }
    return n;
}

/* Writes a section that is a described table, with its charts above; nothing if
 * the table has no rows. */
static int html_put_table(const struct jp_html_section *section,
                          const struct jp_report *report, FILE *out)
{
    if (section->present ? !section->present(report)
                         : !table_count(section->table, report))
        return 0;
    for (size_t i = 0; i < sizeof(section->charts) / sizeof(*section->charts);
         i++)
        if (section->charts[i])
            html_put_chart(out, section->charts[i]);
    return table_html(section->table, report, NULL, out);
}

/* Writes a section into memory. Returns 0, or -1 when out of memory. */
static int make_body(const struct jp_report *report, struct body *body)
{
    const struct jp_html_section *section = &body->section;
    FILE *out = open_memstream(&body->text, &body->len);
    int rc = 0;

    if (!out)
        return -1;
    if (section->kind != JP_HTML_CHARTS || html_out_has_charts())
        rc = section->put ? section->put(report, out)
                          : html_put_table(section, report, out);
    return fclose(out) == 0 ? rc : -1;
}

/* Returns a class that hides the section where charts cannot be shown. */
static const char *class_of(const struct jp_html_section *section)
{
    return section->kind == JP_HTML_CHARTS ? " class=\"charts\"" : "";
}

/* Writes links to the sections: beside them if there is room, else below a
 * button. page.js marks the current section, and adds the switch between light
 * and dark. */
static void put_top(const struct body *bodies, FILE *out)
{
    fputs("<a class=\"skip\" href=\"#main\">To the report</a>\n"
          "<header class=\"top\"><details class=\"toc\" open><summary>"
          "Contents<span id=\"here\"></span></summary>"
          "<nav aria-label=\"Sections\"><ul>\n<li><a href=\"#main\">Answer"
          "</a></li>\n",
          out);
    for (size_t i = 0; i < HTML_SECTIONS; i++)
        /* a section without a body has no entry */
        if (bodies[i].len)
            fprintf(out, "<li%s><a href=\"#%s\">%s</a></li>\n",
                    class_of(&bodies[i].section), bodies[i].section.id,
                    bodies[i].section.title);
    fputs("</ul></nav></details></header>\n", out);
    /* without JavaScript, sections that have only charts are hidden, and the
     * places of pictures are empty */
    fputs("<noscript><p class=\"note\">Charts and pictures need JavaScript; "
          "text and tables do not.</p></noscript>\n",
          out);
}

/* The sections that are open where no finding is the answer: what is known of a
 * step that went well, that left nothing, or that was profiled for something
 * else. */
static bool is_answer(const struct jp_html_section *section,
                      const struct jp_report *report)
{
    static const char *const fine[] = {"operations", "network", "busy", NULL};
    static const char *const nothing[] = {"quality", "job", NULL};
    const struct feature *feature = feature_first(report->features);
    const char *const alone[] = {
        feature && feature->sections ? feature->sections->id : "job", "job",
        NULL};
    const char *const *ids = NULL;
    char figure[DRAWER_FIGURE];

    /* a section that has nothing to say is no answer */
    if (section->figure && quality_has_nccl(report) &&
        report->verdict->word == JP_VERDICT_OK &&
        !section->figure(report, figure))
        return false;
    if (!quality_has_nccl(report))
        ids = feature ? alone : NULL;
    else if (report->verdict->word == JP_VERDICT_OK)
        ids = fine;
    else if (report->verdict->word == JP_VERDICT_NODATA)
        ids = nothing;
    for (int i = 0; ids && ids[i]; i++)
        if (!strcmp(section->id, ids[i]))
            return true;
    return false;
}

/* Writes what a closed section shows beside its heading: its figure, that it is
 * not known, or of a table without a figure its rows. */
static void put_figure(const struct jp_html_section *section,
                       const struct jp_report *report, FILE *out)
{
    char figure[DRAWER_FIGURE] = "not known";

    if (section->figure) {
        char known[DRAWER_FIGURE];

        if (section->figure(report, known))
            memcpy(figure, known, sizeof(figure));
    } else if (section->table) {
        size_t n = table_count(section->table, report);

        snprintf(figure, sizeof(figure), "%s row%s", FIG_COUNT(n), plural(n));
    } else {
        return;
    }
    fputs("<span class=\"figure\">", out);
    html_out_text(out, figure);
    fputs("</span>", out);
}

/* Writes a section with its heading. It is folded unless its kind or this
 * report opens it. */
static void put_section(const struct jp_html_section *section,
                        const struct jp_report *report, const struct body *body,
                        FILE *out)
{
    fprintf(out, "<section id=\"%s\"%s><details%s><summary><h2>%s</h2>",
            section->id, class_of(section),
            (section->open && section->open(report)) ||
                    is_answer(section, report)
                ? " open"
                : "",
            section->title);
    put_figure(section, report, out);
    fputs("</summary>\n", out);
    if (section->note)
        fprintf(out, "<p class=\"note\">%s</p>\n", section->note);
    /* not fputs: the length is known */
    fwrite(body->text, 1, body->len, out);
    fputs("</details></section>\n", out);
}

/* Writes the line above the bookkeeping. */
static void put_books(const struct jp_report *report, FILE *out)
{
    const struct jp_result *r = report->result;

    fputs("<p class=\"books\">Bookkeeping", out);
    if (r && quality_has_nccl(report) && !quality_in_place(report))
        fprintf(out, ": %s record%s in %s file%s",
                FIG_COUNT(r->quality.records), plural(r->quality.records),
                FIG_COUNT(r->quality.files), plural(r->quality.files));
    fprintf(out, "; analysed in %s.</p>\n",
            FIG_US((double) report->duration_us));
}

/* Writes the sections that have a body. */
static void put_sections(const struct jp_report *report,
                         const struct body *bodies, FILE *out)
{
    bool in_books = false;

    for (size_t i = 0; i < HTML_SECTIONS; i++) {
        const struct jp_html_section *section = &bodies[i].section;

        if (!bodies[i].len)
            continue;
        /* the line stands once, above the first section of the bookkeeping */
        if (section->kind == JP_HTML_BOOKS && !in_books)
            put_books(report, out);
        in_books |= section->kind == JP_HTML_BOOKS;
        put_section(section, report, &bodies[i], out);
    }
}

/* The contents come first and list the sections that have something to show. So
 * all sections are made before anything is written. */
static int put_page(const struct jp_report *report, struct body *bodies,
                    FILE *out)
{
    size_t n = list_sections(report, bodies);

    for (size_t i = 0; i < n; i++)
        if (make_body(report, &bodies[i]) < 0)
            return -1;
    put_top(bodies, out);
    fputs("<main id=\"main\">\n", out);
    if (first_screen_write(report, out) < 0)
        return -1;
    put_sections(report, bodies, out);
    html_footer_put(report, out);
    fputs("</main>\n", out);
    return html_charts_put(report, out);
}

int report_write_html(const struct jp_report *report, FILE *out,
                      struct jp_error *err)
{
    char name[JP_JOBCONF_NAME_LEN];
    struct body bodies[HTML_SECTIONS] = {{.text = NULL}};
    char title[128] = "jobprof report";
    int rc;

    /* a write that fails later sets it */
    errno = 0;
    if (report->conf)
        snprintf(title, sizeof(title), "%s %s - jobprof",
                 verdict_word_name(report->verdict->word),
                 jobconf_step_name(report->conf, name));
    html_out_begin(out, title);
    rc = put_page(report, bodies, out);
    for (size_t i = 0; i < HTML_SECTIONS; i++)
        free(bodies[i].text);
    if (rc < 0)
        return error_set(err, "out of memory");
    html_out_end(out);
    if (fflush(out) || ferror(out))
        return error_set(err, "%s",
                         errno ? strerror(errno) : "cannot be written");
    return 0;
}
