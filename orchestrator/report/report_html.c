/* report_html.c - report.html: one page that needs nothing but itself. */
#include "orchestrator/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "orchestrator/insight/pools.h"
#include "orchestrator/insight/expected.h"
#include "common/figure.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/report/html_out.h"
#include "orchestrator/report/html_tables.h"
#include "orchestrator/report/quality.h"
#include "orchestrator/report/version.h"

#define MAX_NOTES 20
#define FACT_MAX 400 /* bytes shown of a fact */

static void begin_section(FILE *out, const char *title)
{
    fprintf(out, "<section><h2>%s</h2>\n", title);
}

static void put_fact(FILE *out, const char *name, const char *value)
{
    fprintf(out, "<dt>%s</dt><dd>", name);
    html_out_short(out, value && *value ? value : "-", FACT_MAX);
    fputs("</dd>\n", out);
}

static void put_fact_count(FILE *out, const char *name, uint64_t value)
{
    put_fact(out, name, value ? FIG_COUNT(value) : "unknown");
}

static void put_banner(FILE *out, const struct jp_report *report)
{
    const char *word = verdict_word_name(report->verdict->word);

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
    fputs("</p></div>\n", out);
}

static void put_job(FILE *out, const struct jp_report *report)
{
    const struct jp_jobconf *c = report->conf;
    const struct jp_nodes *nodes = report->nodes;

    begin_section(out, "Job");
    fputs("<dl>\n", out);
    if (c) {
        put_fact(out, "Command", c->command);
        put_fact(out, "User", c->user);
        put_fact(out, "Account", c->account);
        put_fact(out, "Partition", c->partition);
        put_fact(out, "Submitted from", c->submit_host);
        put_fact(out, "Working directory", c->submit_dir);
        put_fact(out, "Started", FIG_UTC(c->created_us));
        put_fact(out, "Slurm", c->slurm_version);
        put_fact(out, "Profiler asked for", c->nccl_request);
        put_fact(out, "Profiler used", c->nccl_mode);
    } else {
        put_fact(out, "Input", "a folder of logs, without a job's settings");
    }
    put_fact_count(out, "Nodes", expected_nodes(c, nodes));
    put_fact_count(out, "Tasks", expected_tasks(c, nodes));
    if (nodes) {
        put_fact(out, "Node list", nodes->step_nodelist);
        put_fact(out, "Tasks ended with an error",
                 FIG_COUNT(nodes->tasks_failed));
    }
    fputs("</dl></section>\n", out);
}

static void put_notes(FILE *out, const struct jp_quality *q)
{
    uint64_t all = q->n_notes + q->notes_left_out;

    if (!all)
        return;
    fputs("<details><summary>Notes on files</summary><ul>\n", out);
    for (size_t i = 0; i < q->n_notes && i < MAX_NOTES; i++) {
        fputs("<li><code>", out);
        html_out_short(out, q->notes[i].path, 400);
        fputs("</code>: ", out);
        html_out_short(out, q->notes[i].what, 400);
        fputs("</li>\n", out);
    }
    fputs("</ul>", out);
    if (all > MAX_NOTES)
        fprintf(out, "<p class=\"note\">and %s more</p>",
                FIG_COUNT(all - MAX_NOTES));
    fputs("</details>\n", out);
}

static const char *explain_kind(const char *kind)
{
    if (!kind)
        return "Nothing says how many records there should be.";
    if (!strcmp(kind, "counted"))
        return "Expected is what the recorder counted as produced.";
    return "Expected is what the sequence numbers imply: a tail lost by all "
           "ranks would not show.";
}

static void put_quality(FILE *out, const struct jp_report *report)
{
    double coverage = report->verdict->coverage;
    char share[128];

    begin_section(out, "Data quality");
    fputs("<dl>\n", out);
    snprintf(share, sizeof(share), "%s%s",
             coverage < 0 ? "unknown" : FIG_SHARE(coverage),
             coverage < 0 ? "" : quality_coverage_of(report));
    put_fact(out, "Coverage", share);
    for (size_t i = 0; i < quality_n_items; i++) {
        uint64_t value = 0;
        bool known = quality_items[i].get(report, &value);

        if (quality_items[i].always || value)
            put_fact(out, quality_items[i].label,
                     known ? FIG_COUNT(value) : "unknown");
    }
    for (size_t i = 0; report->conf && i < report->conf->n_settings; i++)
        if (expected_is_filter(report->conf, &report->conf->settings[i]))
            put_fact(out, "Left out by", report->conf->settings[i].key);
    if (pools_planned_loss(report->conf))
        put_fact(out, "As planned, the plugin",
                 pools_planned_loss(report->conf));
    fprintf(out, "</dl><p class=\"note\">%s</p>\n",
            explain_kind(quality_expected_kind(report)));
    if (report->result)
        put_notes(out, &report->result->quality);
    fputs("</section>\n", out);
}

/* A section that is left out where its table would be empty. */
struct table_section {
    const char *title;
    const char *note;
    size_t n;
    int (*put)(const struct jp_result *, FILE *);
};

static int put_tables(FILE *out, const struct jp_result *r)
{
    const struct table_section sections[] = {
        {"Communicators", "Most time first.", r->n_comms, html_tables_comms},
        {"Collective operations",
         "By type of communicator, function and message size. Bus bandwidth "
         "in GB/s (1e9 bytes a second) is the mean over an operation's ranks; "
         "percentiles are over operations.",
         r->n_cells, html_tables_cells},
        {"Ranks",
         "Most wait caused first. The rank that arrives last has the shortest "
         "time in an operation, as the others wait in it. That it arrived "
         "late does not say why: computing, input, host or network may be the "
         "cause.",
         r->n_ranks, html_tables_ranks},
        {"Send and Recv",
         "Most data first. AlltoAll, Gather and Scatter appear here too, as "
         "NCCL makes them of Send and Recv.",
         r->n_p2p, html_tables_p2p},
    };

    for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
        if (!sections[i].n)
            continue;
        begin_section(out, sections[i].title);
        fprintf(out, "<p class=\"note\">%s</p>", sections[i].note);
        if (sections[i].put(r, out) < 0)
            return -1;
        fputs("</section>\n", out);
    }
    return 0;
}

static void put_settings(FILE *out, const struct jp_jobconf *conf)
{
    if (conf->n_settings || conf->n_copper_settings) {
        begin_section(out, "Settings");
        html_tables_settings(conf, out);
        fputs("</section>\n", out);
    }
    if (conf->n_env) {
        begin_section(out, "Environment set for the tasks");
        html_tables_env(conf, out);
        fputs("</section>\n", out);
    }
}

static void put_files(FILE *out, const struct jp_report *report)
{
    static const char *const files[] = {
        "summary.txt",     "summary.json", "csv/cells.csv", "csv/comms.csv",
        "csv/ranks.csv",   "csv/ops.csv",  "csv/p2p.csv",   "csv/windows.csv",
        "csv/quality.csv", "plots/",
    };
    static const char *const job_files[] = {"job.conf", "../index.html"};

    begin_section(out, "Files");
    fputs("<ul class=\"files\">\n", out);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        fprintf(out, "<li><a href=\"%s\">%s</a></li>\n", files[i], files[i]);
    for (size_t i = 0;
         report->conf && i < sizeof(job_files) / sizeof(*job_files); i++)
        fprintf(out, "<li><a href=\"%s\">%s</a></li>\n", job_files[i],
                job_files[i]);
    fputs("</ul></section>\n", out);
}

static void put_footer(FILE *out, const struct jp_report *report)
{
    fputs("<footer><details><summary>How the verdict is decided</summary><ul>",
          out);
    for (size_t i = 0; i < JP_N_LIMITS; i++)
        fprintf(out, "<li>%s than %s: %s.</li>\n", limits_table[i].text,
                limits_table[i].is_time ? FIG_US(limits_table[i].value)
                                        : FIG_SHARE(limits_table[i].value),
                limits_table[i].reason);
    fputs("</ul></details>\n<p>This version judges hangs and completeness "
          "only: OK does not mean fast. Late ranks and slow networks are not "
          "judged yet.</p>"
          "\n<p>Written by jobprof " JP_VERSION " (",
          out);
    html_out_text(out, report->reporter);
    fprintf(out, ") in %s.</p></footer>\n",
            FIG_US((double) report->duration_us));
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
    fputs("<main>\n", out);
    put_banner(out, report);
    fputs("<div class=\"pair\">\n", out);
    put_quality(out, report);
    put_job(out, report);
    fputs("</div>\n", out);
    if (report->result && put_tables(out, report->result) < 0)
        return error_set(err, "out of memory");
    if (report->conf)
        put_settings(out, report->conf);
    put_files(out, report);
    put_footer(out, report);
    fputs("</main>\n", out);
    html_out_end(out);
    if (fflush(out) || ferror(out))
        return error_set(err, "%s",
                         errno ? strerror(errno) : "cannot be written");
    return 0;
}
