/* report_html.c - report.html: one page that needs nothing but itself. */
#include "orchestrator/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/defaults.h"
#include "common/figure.h"
#include "common/fileio.h"
#include "orchestrator/insight/expected.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/processes.h"
#include "orchestrator/report/busy.h"
#include "orchestrator/report/chart.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/sections.h"
#include "orchestrator/report/tables.h"
#include "orchestrator/report/summary_file.h"

/* Where a chart stands that chart.h has the figures for. Nothing in a program
 * without charts; not seen without JavaScript. */
static void put_chart(FILE *out, const char *name)
{
    if (html_out_has_charts())
        fprintf(out,
                "<figure class=\"chart\" data-chart=\"%s\">"
                "<figcaption>%s</figcaption></figure>\n",
                name, chart_find(name)->caption);
}

/* 0 is "unknown". */
static void put_fact_count(FILE *out, const char *name, uint64_t value)
{
    html_out_fact(out, name, value ? FIG_COUNT(value) : "unknown");
}

/* --- section: how much of the time processes communicated */

static bool html_busy_present(const struct jp_report *report)
{
    return report->result &&
           (report->result->n_busy || report->result->quality.records);
}

static int html_busy_put(const struct jp_report *report, FILE *out)
{
    const struct jp_result *r = report->result;
    struct jp_busy_rows rows;
    char text[JP_BUSY_TEXT];
    int rc;

    if (busy_rows_make(r, report->processes, &rows) < 0)
        return -1;
    busy_text(r, &rows, report->verdict->coverage, text);
    fputs("<p>", out);
    html_out_text(out, text);
    fputs(".</p>\n", out);
    if (rows.n_told)
        put_chart(out, "busy");
    rc = r->n_busy ? table_html(&table_busy, report, &rows, out) : 0;
    busy_rows_fini(&rows);
    return rc;
}

/* --- section: the commands that run and report this again */

#define WORD_MAX 400 /* bytes of one word shown */

/* Text as one word of a shell: in quotes where it needs them. */
static void put_word(FILE *out, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./:=,%+@-";

    if (*text && !text[strspn(text, plain)]) {
        html_out_short(out, text, WORD_MAX);
        return;
    }
    fputs("&#39;", out);
    for (size_t n; *text; text += n) {
        char part[WORD_MAX];

        if (*text == '\'') {
            fputs("&#39;\\&#39;&#39;", out);
            n = 1;
            continue;
        }
        n = strcspn(text, "'");
        if (n >= sizeof(part))
            n = sizeof(part) - 1;
        memcpy(part, text, n);
        part[n] = '\0';
        html_out_text(out, part);
    }
    fputs("&#39;", out);
}

/* What the user gave as srun's option; other sources still hold. */
static void put_option(FILE *out, const struct jp_jobconf *conf)
{
    fputs(" --nccl-profile=", out);
    put_word(out, conf->nccl_request);
    for (size_t i = 0; i < conf->n_settings; i++) {
        const struct jp_setting *s = &conf->settings[i];

        if (strcmp(s->source, "option") || !strcmp(s->key, "mode"))
            continue;
        fputc(',', out);
        put_word(out, s->key);
        fputc('=', out);
        put_word(out, s->value);
    }
}

static bool html_command_present(const struct jp_report *report)
{
    const struct jp_jobconf *conf = report->conf;

    return conf && conf->nccl_request && conf->command && conf->step_id;
}

static int html_command_put(const struct jp_report *report, FILE *out)
{
    const struct jp_jobconf *conf = report->conf;

    fputs("<dl class=\"commands\"><dt>Run it again</dt><dd><code>srun", out);
    if (conf->nnodes)
        fprintf(out, " -N%" PRIu32, conf->nnodes);
    if (conf->ntasks)
        fprintf(out, " -n%" PRIu32, conf->ntasks);
    put_option(out, conf);
    fputc(' ', out);
    put_word(out, conf->command);
    fputs(" ...</code></dd>\n<dt>Size the next run by this "
          "one</dt><dd><code>jobprof plan "
          "--from ",
          out);
    fprintf(out, "%" PRIu64 ".", conf->job_id);
    put_word(out, conf->step_id);
    fputs("</code></dd>\n<dt>Make this report anew</dt><dd><code>jobprof "
          "report ",
          out);
    fprintf(out, "%" PRIu64 ".", conf->job_id);
    put_word(out, conf->step_id);
    fputs("</code></dd></dl>\n<p class=\"note\">The program&#39;s arguments "
          "are not recorded: they stand for the dots.</p>\n",
          out);
    return 0;
}

/* --- section: the report's other files */

static int html_files_put(const struct jp_report *report, FILE *out)
{
    static const char *const files[] = {
        "summary.txt",          JP_SUMMARY_NAME,
        "csv/cells.csv",        "csv/comms.csv",
        "csv/ranks.csv",        "csv/ops.csv",
        "csv/p2p.csv",          "csv/p2p_nodes.csv",
        "csv/windows.csv",      "csv/busy.csv",
        "csv/busy_windows.csv", "csv/network.csv",
        "csv/quality.csv",      "plots/",
    };
    static const char *const job_files[] = {"job.conf", "../index.html"};

    fputs("<ul class=\"files\">\n", out);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        fprintf(out, "<li><a href=\"%s\">%s</a></li>\n", files[i], files[i]);
    for (size_t i = 0;
         report->conf && i < sizeof(job_files) / sizeof(*job_files); i++)
        fprintf(out, "<li><a href=\"%s\">%s</a></li>\n", job_files[i],
                job_files[i]);
    fputs("</ul>\n", out);
    return 0;
}

/* --- section: what ran, where, by whom */

static int html_job_put(const struct jp_report *report, FILE *out)
{
    const struct jp_jobconf *c = report->conf;
    const struct jp_nodes *nodes = report->nodes;
    char loaded[JP_AGENTS_TEXT];

    fputs("<dl>\n", out);
    if (c) {
        html_out_fact(out, "Command", c->command);
        html_out_fact(out, "User", c->user);
        html_out_fact(out, "Account", c->account);
        html_out_fact(out, "Partition", c->partition);
        html_out_fact(out, "Submitted from", c->submit_host);
        html_out_fact(out, "Working directory", c->submit_dir);
        html_out_fact(out, "Started", FIG_UTC(c->created_us));
        html_out_fact(out, "Slurm", c->slurm_version);
        html_out_fact(out, "Profiler asked for", c->nccl_request);
        html_out_fact(out, "Profiler used", c->nccl_mode);
        if (jobconf_util(c, "labels"))
            html_out_fact(out, "Labels", jobconf_util(c, "labels"));
    } else {
        html_out_fact(out, "Input",
                      "a folder of logs, without a job's settings");
    }
    if (report->agents &&
        *util_agents_loaded(report->agents, loaded, sizeof(loaded)))
        html_out_fact(out, "Loaded by tasks", loaded);
    put_fact_count(out, "Nodes", expected_nodes(c, nodes));
    put_fact_count(out, "Tasks", expected_tasks(c, nodes));
    if (nodes) {
        html_out_fact(out, "Node list", nodes->step_nodelist);
        html_out_fact(out, "Tasks ended with an error",
                      FIG_COUNT(nodes->tasks_failed));
    }
    fputs("</dl>\n", out);
    return 0;
}

/* --- section: what the network did, and what was expected */

static bool html_network_present(const struct jp_report *report)
{
    return report->insight && report->insight->network.n;
}

/* Most time first. */
static int by_time(const void *a, const void *b, void *arg)
{
    const struct jp_netcell *cells = arg;
    size_t x = *(const size_t *) a, y = *(const size_t *) b;

    if (cells[x].time_us != cells[y].time_us)
        return cells[x].time_us > cells[y].time_us ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int html_network_put(const struct jp_report *report, FILE *out)
{
    const struct jp_netcells *cells = &report->insight->network;
    size_t *order = calloc(cells->n + 1, sizeof(*order));
    int rc;

    if (!order)
        return -1;
    for (size_t i = 0; i < cells->n; i++)
        order[i] = i;
    qsort_r(order, cells->n, sizeof(*order), by_time, cells->at);
    put_chart(out, "network-size");
    rc = table_html(&table_network, report, order, out);
    free(order);
    return rc;
}

/* --- section: for which nodes the others waited */

#define MAX_ROWS 200

static bool html_nodes_present(const struct jp_report *report)
{
    const struct jp_result *r = report->result;

    for (size_t i = 1; r && i < r->n_ranks; i++)
        if (r->ranks[i].host && r->ranks[0].host &&
            strcmp(r->ranks[i].host, r->ranks[0].host))
            return true;
    return false;
}

static void put_row(FILE *out, const struct jp_result *r,
                    const struct jp_process_host *node, double full)
{
    double share = node->timed_ops
                       ? (double) node->last_ops / (double) node->timed_ops
                       : NAN;

    html_out_row(out);
    html_out_cell(out, *node->host ? node->host : "-");
    html_out_figure(out, FIG_COUNT(node->n_processes), node->n_processes);
    html_out_figure(out, FIG_SHARE(share), share);
    html_out_bar(out, FIG_US((double) node->caused_us),
                 (double) node->caused_us, (double) node->caused_us / full);
    if (r->quality.waits_unknown)
        html_out_figure(out, "-", NAN);
    else
        html_out_figure(out, FIG_US((double) node->wait_us),
                        (double) node->wait_us);
    html_out_row_end(out);
}

static void put_table(FILE *out, const struct jp_result *r,
                      const struct jp_processes *procs, const uint32_t *places,
                      size_t n)
{
    static const struct jp_html_column columns[] = {
        {"Node", NULL, false},
        {"Processes", "that left records", true},
        {"Last in",
         "share of its processes' operations in which one of them "
         "arrived last",
         true},
        {"Wait caused",
         "what other ranks waited for its processes, summed over ranks and "
         "operations",
         true},
        {"Own wait", "what its processes waited for others", true},
    };
    double full = n ? (double) procs->hosts[places[0]].caused_us : 0;

    html_out_table(out, columns, sizeof(columns) / sizeof(*columns), true);
    for (size_t i = 0; i < n; i++)
        put_row(out, r, &procs->hosts[places[i]], full > 0 ? full : 1);
    html_out_table_end(out, sizeof(columns) / sizeof(*columns),
                       procs->n_hosts - n, "csv/ranks.csv");
}

static int html_nodes_put(const struct jp_report *report, FILE *out)
{
    const struct jp_processes *procs = report->processes;
    uint32_t *places;
    size_t n = 0;
    int rc = -1;

    places = processes_heaviest_hosts(procs, MAX_ROWS, &n);
    if (places) {
        put_chart(out, "nodes");
        put_table(out, report->result, procs, places, n);
        rc = 0;
    }
    free(places);
    return rc;
}

/* --- sections: settings with their sources, variables */

#define COLUMNS(list) (sizeof(list) / sizeof(*(list)))

static void setting_rows(FILE *out, const char *area,
                         const struct jp_setting *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        html_out_row(out);
        html_out_cell(out, area);
        html_out_id(out, list[i].key);
        html_out_code(out, list[i].value);
        html_out_cell(out, list[i].source);
        html_out_cell(out, list[i].where);
        html_out_prose(out, list[i].reason);
        html_out_row_end(out);
    }
}

static bool html_settings_present(const struct jp_report *report)
{
    return report->conf &&
           report->conf->n_settings + report->conf->n_copper_settings;
}

static int html_settings_put(const struct jp_report *report, FILE *out)
{
    const struct jp_jobconf *conf = report->conf;
    static const struct jp_html_column columns[] = {
        {"For", NULL, false},  {"Setting", NULL, false}, {"Value", NULL, false},
        {"From", NULL, false}, {"Where", NULL, false},   {"Why", NULL, false},
    };

    html_out_table(out, columns, COLUMNS(columns), true);
    setting_rows(out, "NCCL", conf->settings, conf->n_settings);
    setting_rows(out, "Copper", conf->copper_settings, conf->n_copper_settings);
    html_out_table_end(out, COLUMNS(columns), 0, NULL);
    return 0;
}

static bool html_env_present(const struct jp_report *report)
{
    return report->conf && report->conf->n_env;
}

static int html_env_put(const struct jp_report *report, FILE *out)
{
    const struct jp_jobconf *conf = report->conf;
    static const struct jp_html_column columns[] = {
        {"Variable", NULL, false},
        {"Value", "%N stands for the node's name", false},
        {"If the user has set it", NULL, false},
    };

    html_out_table(out, columns, COLUMNS(columns), false);
    for (size_t i = 0; i < conf->n_env; i++) {
        html_out_row(out);
        html_out_id(out, conf->env[i].name);
        html_out_code(out, conf->env[i].value);
        html_out_cell(out, conf->env[i].soft ? "the user's stays" : "replaced");
        html_out_row_end(out);
    }
    html_out_table_end(out, COLUMNS(columns), 0, NULL);
    return 0;
}

/* --- section: operations by message size */

enum { BINS = 64 }; /* powers of two */

struct bin {
    uint64_t ops;
    double bytes, us;
};

static bool html_sizes_present(const struct jp_report *report)
{
    return report->result && report->result->n_cells;
}

static void add_up(const struct jp_result *r, struct bin *bins,
                   struct bin *total)
{
    for (size_t i = 0; i < r->n_cells; i++) {
        const struct jp_cell *c = &r->cells[i];
        double bytes = (double) c->bytes * (double) c->ops;
        double us = c->exec.n ? c->exec.mean * (double) c->exec.n : 0;
        struct bin *bin = &bins[c->bytes ? 63 - __builtin_clzll(c->bytes) : 0];

        bin->ops += c->ops;
        bin->bytes += bytes;
        bin->us += us;
        total->ops += c->ops;
        total->bytes += bytes;
        total->us += us;
    }
}

static double share(double part, double all)
{
    return all > 0 ? part / all : 0;
}

static void sizes_put_row(FILE *out, unsigned exponent, const struct bin *bin,
                          const struct bin *total)
{
    char range[2 * JP_FIGURE_LEN];
    double ops = share((double) bin->ops, (double) total->ops);
    double bytes = share(bin->bytes, total->bytes);
    double us = share(bin->us, total->us);

    if (exponent == BINS - 1)
        snprintf(range, sizeof(range), "%s and more",
                 FIG_BYTES(UINT64_C(1) << exponent));
    else
        snprintf(range, sizeof(range), "%s to %s",
                 FIG_BYTES(exponent ? UINT64_C(1) << exponent : 0),
                 FIG_BYTES(UINT64_C(2) << exponent));
    html_out_row(out);
    html_out_figure(out, range, exponent);
    html_out_figure(out, FIG_COUNT(bin->ops), (double) bin->ops);
    html_out_bar(out, FIG_SHARE(ops), ops, ops);
    html_out_bar(out, FIG_SHARE(bytes), bytes, bytes);
    html_out_figure(out, FIG_US(bin->us), bin->us);
    html_out_bar(out, FIG_SHARE(us), us, us);
    html_out_row_end(out);
}

static int html_sizes_put(const struct jp_report *report, FILE *out)
{
    static const struct jp_html_column columns[] = {
        {"Size", "of the message: from, and less than", true},
        {"Operations", NULL, true},
        {"of them", NULL, true},
        {"of the data", "share of the sum of message sizes", true},
        {"Time", "sum over operations of the longest rank's time", true},
        {"of the time", NULL, true},
    };
    struct bin bins[BINS] = {{0}}, total = {0};

    add_up(report->result, bins, &total);
    put_chart(out, "sizes");
    html_out_table(out, columns, sizeof(columns) / sizeof(*columns), true);
    for (unsigned i = 0; i < BINS; i++)
        if (bins[i].ops)
            sizes_put_row(out, i, &bins[i], &total);
    html_out_table_end(out, sizeof(columns) / sizeof(*columns), 0, NULL);
    return 0;
}

/* --- sections that are charts only, and the charts' half of the page */

/* Operations with a time make windows; traces have none. */
static bool html_time_present(const struct jp_report *report)
{
    return report->result && report->result->n_windows;
}

static int html_time_put(const struct jp_report *report, FILE *out)
{
    (void) report;
    put_chart(out, "busbw-time");
    put_chart(out, "drift");
    return 0;
}

static bool html_spread_present(const struct jp_report *report)
{
    return report->result && report->result->n_cells;
}

static int html_spread_put(const struct jp_report *report, FILE *out)
{
    (void) report;
    put_chart(out, "spread");
    put_chart(out, "numbers");
    return 0;
}

/* Below all sections: the charts' figures and their script. */
static int html_charts_put(const struct jp_report *report, FILE *out)
{
    if (!html_out_has_charts())
        return 0;
    fputs("<script type=\"application/json\" id=\"chart-data\">", out);
    if (chart_data_write(report->result, report->processes, report->insight,
                         report->samples, out) < 0)
        return -1;
    fprintf(out, "</script>\n<script>\n%s</script>\n", html_assets_charts);
    return 0;
}

/* --- the page's foot: limits with their reasons, the writer */

/* How the verdict is decided, who wrote the page: below all sections. */
static void html_footer_put(const struct jp_report *report, FILE *out)
{
    fputs("<footer><details><summary>How the verdict is decided</summary><ul>",
          out);
    for (size_t i = 0; i < JP_N_LIMITS; i++)
        fprintf(out, "<li>%s than %s: %s.</li>\n", limits_table[i].text,
                limits_table[i].unit == JP_LIMIT_IS_US
                    ? FIG_US(limits_table[i].value)
                : limits_table[i].unit == JP_LIMIT_IS_SHARE
                    ? FIG_SHARE(limits_table[i].value)
                : limits_table[i].unit == JP_LIMIT_IS_BYTES
                    ? FIG_BYTES((uint64_t) limits_table[i].value)
                    : FIG_EXACT(limits_table[i].value),
                limits_table[i].reason);
    fputs("</ul></details>\n<p>Written by jobprof " JP_VERSION " (", out);
    html_out_text(out, report->reporter);
    fprintf(out, ") in %s.</p></footer>\n",
            FIG_US((double) report->duration_us));
}

/* Without a record every answer is the same. */
static bool html_hypotheses_present(const struct jp_report *report)
{
    char text[JP_HYPOTHESES_LINE];

    return report_judged(report, text) != NULL;
}

/* --- which sections report.html has, in which order */

static const struct jp_html_section html_sections[] = {
    {"findings", "Findings",
     "Worst first. What nodes' topologies and Copper's profiles tell stands in "
     "their own sections.",
     JP_HTML_WIDE, .table = &table_findings},
    {"causes", "Why",
     "What was sampled at the time of a finding that is unlike its peers, or "
     "unlike before, strongest first. It coincides with the finding; that it "
     "is its cause is not proved.",
     JP_HTML_WIDE, .table = &table_causes},
    {"hypotheses", "What was looked for",
     "Each question has an answer: found; not found, with the smallest effect "
     "that would have been seen; or not judged, and why.",
     JP_HTML_WIDE, .present = html_hypotheses_present,
     .table = &table_hypotheses},
    {"quality", "Data quality", NULL, JP_HTML_HALF, .present = report_has_nccl,
     .put = html_quality_put},
    {"job", "Job", NULL, JP_HTML_HALF, .put = html_job_put},
    {"topology", "Topology",
     "What the nodes have, by their own records; how a communicator's label "
     "follows from it stands in its row below.",
     JP_HTML_WIDE, .present = html_topology_present, .put = html_topology_put},
    {"communicators", "Communicators", "Most time first.", JP_HTML_WIDE,
     .table = &table_comms},
    {"time", "Over the run",
     "By the time at which records were written. csv/windows.csv has the "
     "figures by communicator.",
     JP_HTML_CHARTS, .present = html_time_present, .put = html_time_put},
    {"pictures", "Pictures", NULL, JP_HTML_WIDE,
     .present = html_pictures_present, .put = html_pictures_put},
    {"ranks", "Waits",
     "Most wait caused first. The rank that arrives last has the shortest "
     "time in an operation, as the others wait in it. That it arrived late "
     "does not say why: computing, input, host or network may be the cause. "
     "Who waited for a late rank comes late to its next operation, so waits "
     "travel on: the findings name who was late on its own.",
     JP_HTML_WIDE, .table = &table_ranks, .charts = {"waits", "waits-time"}},
    {"nodes", "Nodes", "Sums over a node&#39;s processes and communicators.",
     JP_HTML_WIDE, .present = html_nodes_present, .put = html_nodes_put},
    {"busy", "Communication-busy share",
     "The share of its wall time, from its first operation&#39;s start to its "
     "last one&#39;s end, in which a process had at least one collective, Send "
     "or Recv in flight. Computing may go on beside it: this is neither time "
     "lost nor a measure of overlap.",
     JP_HTML_WIDE, .present = html_busy_present, .put = html_busy_put},
    {"pace", "Pace",
     "How long a step of the program&#39;s loop takes: by operations that "
     "repeat themselves in the same order, else by samples of utilisation.",
     JP_HTML_WIDE, .table = &table_iteration},
    {"bottlenecks", "What the job is bound by",
     "Of all nodes together, over the whole run; several may hold.",
     JP_HTML_WIDE, .table = &table_bottlenecks},
    {"util", "Utilisation",
     "Samples of nodes, of the step&#39;s tasks, GPUs and ports while it ran; "
     "csv/util.csv has each node, task, GPU and port. Figures of nodes and "
     "ports count what other jobs did there, too.",
     JP_HTML_WIDE, .table = &table_util_totals,
     .charts = {"util", "util-time"}},
    {"nsys", "GPUs by Nsight Systems",
     "What calls of CUDA, kernels, copies and NVTX ranges of the profiled "
     "ranks add up to; csv/nsys_sums.csv, nsys_ranks.csv and nsys_gaps.csv "
     "have all rows.",
     JP_HTML_WIDE, .present = html_nsys_present, .put = html_nsys_put},
    {"clocks", "Clocks",
     "How far the nodes&#39; clocks are apart: by probes between the nodes, "
     "else by the collectives, as nobody leaves an AllReduce before all have "
     "entered it. Times in the tables and charts above are on the clock of "
     "the reference.",
     JP_HTML_WIDE, .table = &table_clock},
    {"operations", "Operations",
     "By type of communicator, function and message size. Bus bandwidth in "
     "GB/s (1e9 bytes a second) is the mean over an operation's ranks; "
     "percentiles are over operations.",
     JP_HTML_WIDE, .table = &table_cells, .charts = {"busbw-size"}},
    {"network", "Network",
     "The network&#39;s own bandwidth in GB/s, from the time of the rank that "
     "came last, by kind of communicator, function and size, most time first; "
     "what is expected is said by the site&#39;s peaks, else by earlier steps "
     "(jobprof baseline), else it is the best twentieth of the same "
     "operations. Warm-up is left out.",
     JP_HTML_WIDE, .present = html_network_present, .put = html_network_put},
    {"spread", "Spread",
     "Bus bandwidth of the operations of one kind: those of most time.",
     JP_HTML_CHARTS, .present = html_spread_present, .put = html_spread_put},
    {"sizes", "Message sizes", NULL, JP_HTML_WIDE,
     .present = html_sizes_present, .put = html_sizes_put},
    {"p2p", "Send and Recv",
     "Most data first. AlltoAll, Gather and Scatter appear here too, as NCCL "
     "makes them of Send and Recv.",
     JP_HTML_WIDE, .table = &table_pairs, .charts = {"p2p"}},
    {"p2p-hosts", "Send and Recv between hosts",
     "Most data first. Each message may stand twice, as its sender and its "
     "receiver recorded it; with both one host it stayed within.",
     JP_HTML_WIDE, .table = &table_node_pairs},
    {"copper", "Copper cache", NULL, JP_HTML_WIDE,
     .present = html_copper_present, .put = html_copper_put},
    {"settings", "Settings", NULL, JP_HTML_WIDE,
     .present = html_settings_present, .put = html_settings_put},
    {"environment", "Environment", "Set for the tasks.", JP_HTML_WIDE,
     .present = html_env_present, .put = html_env_put},
    {"command", "Commands", NULL, JP_HTML_WIDE, .present = html_command_present,
     .put = html_command_put},
    {"files", "Files", NULL, JP_HTML_WIDE, .put = html_files_put},
};
static const size_t html_n_sections = sizeof(html_sections) /
                                      sizeof(*html_sections);

/* --- report.html: one page that needs nothing but itself */

static void put_banner(FILE *out, const struct jp_report *report)
{
    const char *word = verdict_word_name(report->verdict->word);
    char judged[JP_HYPOTHESES_LINE];

    fputs("<h1>jobprof", out);
    if (report->conf) {
        fprintf(out, " &middot; step %" PRIu64 ".", report->conf->job_id);
        html_out_text(out, report->conf->step_id);
        fputs(" &middot; ", out);
        html_out_text(out, report->conf->job_name);
    }
    fprintf(out, "</h1>\n<div class=\"verdict %s\"><strong>%s</strong><p>",
            word, word);
    html_out_text(out, report->verdict->text);
    fputs("</p>", out);
    if (report_judged(report, judged)) {
        fputs("<p class=\"judged\"><a href=\"#hypotheses\">Judged</a>: ", out);
        html_out_text(out, judged);
        fputs("</p>", out);
    }
    fputs("</div>\n", out);
}

static bool is_shown(const struct jp_html_section *section,
                     const struct jp_report *report)
{
    if (section->kind == JP_HTML_CHARTS && !html_out_has_charts())
        return false;
    if (section->present)
        return section->present(report);
    return !section->table || table_count(section->table, report);
}

/* What is to be seen only where charts are. */
static const char *class_of(const struct jp_html_section *section)
{
    return section->kind == JP_HTML_CHARTS ? " class=\"charts\"" : "";
}

/* Links to the sections; page.js adds the switch between light and dark. */
static void put_top(const struct jp_report *report, FILE *out)
{
    fputs("<a class=\"skip\" href=\"#main\">To the report</a>\n"
          "<header class=\"top\"><nav aria-label=\"Sections\"><ul>\n",
          out);
    for (size_t i = 0; i < html_n_sections; i++)
        if (is_shown(&html_sections[i], report))
            fprintf(out, "<li%s><a href=\"#%s\">%s</a></li>\n",
                    class_of(&html_sections[i]), html_sections[i].id,
                    html_sections[i].title);
    fputs("</ul></nav></header>\n", out);
    if (html_out_has_charts())
        fputs("<noscript><p class=\"note\">The charts need JavaScript; text "
              "and tables do not.</p></noscript>\n",
              out);
}

static int html_put_table(const struct jp_html_section *section,
                          const struct jp_report *report, FILE *out)
{
    for (size_t i = 0; i < sizeof(section->charts) / sizeof(*section->charts);
         i++)
        if (section->charts[i])
            put_chart(out, section->charts[i]);
    return table_html(section->table, report, NULL, out);
}

static int put_section(const struct jp_html_section *section,
                       const struct jp_report *report, FILE *out)
{
    fprintf(out, "<section id=\"%s\"%s><h2>%s</h2>\n", section->id,
            class_of(section), section->title);
    if (section->note)
        fprintf(out, "<p class=\"note\">%s</p>\n", section->note);
    if ((section->put ? section->put(report, out)
                      : html_put_table(section, report, out)) < 0)
        return -1;
    fputs("</section>\n", out);
    return 0;
}

/* Runs of half sections stand in a grid. */
static int put_sections(const struct jp_report *report, FILE *out)
{
    bool in_grid = false;

    for (size_t i = 0; i < html_n_sections; i++) {
        const struct jp_html_section *section = &html_sections[i];
        bool half = section->kind == JP_HTML_HALF;

        if (!is_shown(section, report))
            continue;
        if (half != in_grid)
            fputs(in_grid ? "</div>\n" : "<div class=\"pair\">\n", out);
        in_grid = half;
        if (put_section(section, report, out) < 0)
            return -1;
    }
    if (in_grid)
        fputs("</div>\n", out);
    return 0;
}

int report_write_html(const struct jp_report *report, FILE *out,
                      struct jp_error *err)
{
    char title[128] = "jobprof report";

    errno = 0;
    if (report->conf)
        snprintf(title, sizeof(title), "%s %" PRIu64 ".%s - jobprof",
                 verdict_word_name(report->verdict->word), report->conf->job_id,
                 report->conf->step_id ? report->conf->step_id : "");
    html_out_begin(out, title);
    put_top(report, out);
    fputs("<main id=\"main\">\n", out);
    put_banner(out, report);
    if (put_sections(report, out) < 0)
        return error_set(err, "out of memory");
    html_footer_put(report, out);
    fputs("</main>\n", out);
    if (html_charts_put(report, out) < 0)
        return error_set(err, "out of memory");
    html_out_end(out);
    if (fflush(out) || ferror(out))
        return error_set(err, "%s",
                         errno ? strerror(errno) : "cannot be written");
    return 0;
}
