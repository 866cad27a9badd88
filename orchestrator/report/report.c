/* report.c - summary.txt, the order in which the files of a report appear, and
 * gnuplot's pictures.
 *
 * Start with report_write at the end of the second part: it names every writer.
 * report_write_text lists the parts of summary.txt, which is ASCII of at most
 * 100 columns with the verdict's word first. report_draw runs later, because
 * pictures take time and nothing waits for them. */
#include "orchestrator/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/figure.h"
#include "common/fileio.h"
#include "common/ownplace.h"
#include "orchestrator/insight/expected.h"
#include "orchestrator/identity/parallel.h"
#include "orchestrator/identity/processes.h"
#include "orchestrator/report/busy.h"
#include "orchestrator/report/chart.h"
#include "orchestrator/report/gnuplot.h"
#include "orchestrator/report/out.h"
#include "orchestrator/insight/plain.h"
#include "orchestrator/report/sections.h"
#include "orchestrator/report/tables.h"

/* --- summary.txt: the report for a terminal or a mail -------------------- */

/* limits of the lists in summary.txt; summary.json has more */
#define MAX_NOTES 10
#define MAX_FINDINGS 20

/* Returns the text, cleaned and cut to the column's width. The buffer is a
 * compound literal, so it lives until the end of the enclosing block. */
#define COLUMN(text, width)                                                    \
    clean_text((text), JP_CLEAN_ASCII, (char[(width) + 1]){0}, (width) + 1)

/* Writes the verdict as on the page's first screen and the card, then with
 * every figure. */
static void put_verdict(FILE *out, const struct jp_report *report)
{
    const char *word = verdict_word_name(report->verdict->word);
    const char *const *checks = first_screen_checks(report);
    char text[JP_PLAIN_TEXT], command[FIRST_SCREEN_TYPED];

    fprintf(out, "%s ", word);
    text_out_wrap(
        out, (unsigned) strlen(word) + 1, 4,
        plain_verdict(report->verdict, report->result, report->insight, text));
    /* the label stands once, before the first of several checks */
    for (int i = 0; checks && i < JP_PLAIN_CHECKS && checks[i]; i++)
        text_out_line(out, "  %s  %s", i ? "      " : "check:", checks[i]);
    text_out_line(out, "  type:   %s", first_screen_type(report, command));
    fputs("  in full: ", out);
    text_out_wrap(out, 11, 10, report->verdict->text);
}

/* Writes how small an effect would have been detected. */
static void put_judged(FILE *out, const struct jp_report *report)
{
    char text[JP_HYPOTHESES_LINE];

    if (!quality_judged(report, text))
        return;
    fputs("  judged: ", out);
    text_out_wrap(out, 10, 10, text);
}

/* Returns "-" for a missing or empty text, so that columns stay aligned. */
static const char *or_dash(const char *text)
{
    return text && *text ? text : "-";
}

/* Writes the libraries that the tasks loaded, such as torch, with versions. */
static void put_frameworks(FILE *out, const struct jp_agents *agents)
{
    char text[JP_AGENTS_TEXT];

    if (agents && *agents_loaded(agents, text, sizeof(text)))
        text_out_line(out, "  loaded     %s", text);
}

/* Writes what the communicators show of the job's parallelism. */
static void put_parallel(FILE *out, const struct jp_report *report)
{
    struct parallel parallel;
    char text[PARALLEL_TEXT];

    if (parallel_find(&parallel, report->result, report->processes,
                      expected_tasks(report->conf, report->nodes)) == 0 &&
        *parallel_text(&parallel, text))
        text_out_line(out, "  parallel   %s", text);
}

/* Writes the labels that the user gave to the run. */
static void put_labels(FILE *out, const struct jp_jobconf *conf)
{
    const char *labels = jobconf_labels(conf);

    if (labels)
        text_out_line(out, "  labels     %s", labels);
}

/* Writes the work that is left to the user, with its commands. */
static void put_undone(FILE *out, const struct jp_report *report)
{
    for (size_t i = 0; i < report->n_undone; i++)
        text_out_line(out, "  not done   %s: %s", report->undone[i].text,
                      report->undone[i].command);
}

/* Writes the attempts of a job whose ranks were started anew. -1: no memory. */
static int put_attempts(const struct jp_report *report, FILE *out)
{
    const struct jp_attempts *a = report->insight ? &report->insight->attempts
                                                  : NULL;

    if (!a || !*a->text)
        return 0;
    fputc('\n', out);
    fputs(a->programs ? "Programs: " : "Attempts: ", out);
    text_out_wrap(out, 10, 2, a->text);
    if (!a->n)
        return 0;
    for (size_t i = 0; i < a->n; i++)
        if (*a->list[i].found)
            text_out_line(out, "  %" PRIu32 " found    %s", a->list[i].number,
                          a->list[i].found);
    return table_text(&table_attempts, report, out);
}

/* Writes how many tasks failed, and how many were ended from outside. */
static void put_ends(FILE *out, const struct jp_report *report)
{
    const struct jp_crash *crash = report->insight ? &report->insight->crash
                                                   : NULL;
    uint32_t failed, killed;

    if (!report->nodes)
        return;
    failed = crash_count(report->nodes, crash, JP_CRASH_SELF);
    killed = crash_count(report->nodes, crash, JP_CRASH_KILL);
    if (failed)
        text_out_line(out, "  failed     %s task%s ended with an error",
                      FIG_COUNT(failed), plural(failed));
    if (killed)
        text_out_line(out, "  ended      %s task%s from outside",
                      FIG_COUNT(killed), plural(killed));
}

/* Writes the facts about the job. A folder of logs has no job.conf, so most
 * facts are unknown then. */
static void put_job(FILE *out, const struct jp_report *report)
{
    const struct jp_jobconf *c = report->conf;
    const struct jp_nodes *nodes = report->nodes;
    char name[JP_JOBCONF_NAME_LEN];

    fprintf(out, "\nJob\n");
    if (c) {
        text_out_line(out, "  step       %s  %s", jobconf_step_name(c, name),
                      COLUMN(c->job_name, 60));
        text_out_line(out, "  submitted  by %s (account %s) to %s, from %s",
                      or_dash(c->user), or_dash(c->account),
                      or_dash(c->partition), or_dash(c->submit_host));
        text_out_line(out, "  started    %s", FIG_UTC(c->created_us));
        text_out_line(out, "  command    %s", or_dash(c->command));
        text_out_line(out, "  profiler   %s, requested as %s",
                      or_dash(c->nccl_mode), or_dash(c->nccl_request));
        /* why another one ran; auto is none, and has chosen */
        if (strcmp(c->nccl_mode, c->nccl_request) != 0 &&
            strcmp(c->nccl_request, "auto") != 0 && c->n_settings)
            text_out_line(out, "             %s", c->settings[0].reason);
        put_labels(out, c);
        put_frameworks(out, report->agents);
    } else {
        text_out_line(out, "  input      a folder of logs, without a job");
    }
    /* 0 nodes or tasks: unknown */
    if (expected_nodes(c, nodes) || expected_tasks(c, nodes))
        text_out_line(out, "  size       %s node%s, %s task%s  %s",
                      FIG_COUNT(expected_nodes(c, nodes)),
                      plural(expected_nodes(c, nodes)),
                      FIG_COUNT(expected_tasks(c, nodes)),
                      plural(expected_tasks(c, nodes)),
                      nodes ? nodes->step_nodelist : "");
    put_parallel(out, report);
    put_ends(out, report);
    put_undone(out, report);
}

/* Writes the number of bad lines of each kind that occurred. */
static void put_bad(FILE *out, const struct jp_quality *q)
{
    for (unsigned i = 0; i < JP_BAD_KINDS; i++)
        if (q->bad[i].n)
            text_out_line(out, "    %-24s %s, first %s:%" PRIu64,
                          badkind_text((enum jp_bad) i), FIG_COUNT(q->bad[i].n),
                          q->bad[i].path, q->bad[i].line);
}

/* Writes how complete the data is: the table of figures, then what is known
 * only for some inputs (bad lines, overhead, warm-up, planned losses), then
 * notes on files. */
static void put_quality(FILE *out, const struct jp_report *report)
{
    const char *kind = quality_expected_kind(report);
    const struct jp_quality *q = report->result ? &report->result->quality
                                                : NULL;
    char text[JP_OVERHEAD_TEXT], warmup[JP_WARMUP_TEXT], tags[JP_TAGS_TEXT];
    char coverage[80] = "unknown", by[80] = "";

    if (report->verdict->coverage >= 0)
        snprintf(coverage, sizeof(coverage), "%s%s",
                 FIG_SHARE(report->verdict->coverage),
                 quality_coverage_of(report));
    if (kind)
        snprintf(by, sizeof(by), " (%s)", kind);
    text_out_line(out, "  %-26s %s%s", "Coverage", coverage, by);
    for (size_t i = 0; i < quality_n_items; i++) {
        uint64_t value = 0;
        bool known = quality_items[i].get(report, &value);

        /* a counter of problems is worth a line only if it is not 0 */
        if (quality_items[i].always || value)
            text_out_line(out, "  %-26s %s", quality_items[i].label,
                          known ? FIG_COUNT(value) : "unknown");
    }
    if (q)
        put_bad(out, q);
    if (q) {
        quality_overhead_text(q, text);
        text_out_fact(out, "Recorder's own cost", text);
        if (quality_phases_text(q, text)) {
            text_out_fact(out, "Symmetric kernels", text);
        }
        if (quality_tags_text(q, tags)) {
            text_out_fact(out, "The program's tags", tags);
        }
    }
    if (quality_warmup(report, warmup)) {
        text_out_fact(out, "Warm-up", warmup);
    }
    if (expected_planned_loss(report->conf)) {
        text_out_fact(out, "As planned, the plugin",
                      expected_planned_loss(report->conf));
    }
    for (size_t i = 0; q && i < q->n_notes && i < MAX_NOTES; i++)
        text_out_line(out, "  note: %s: %s", q->notes[i].path,
                      q->notes[i].what);
    if (q && q->n_notes + q->notes_left_out > MAX_NOTES)
        text_out_line(out, "  ... and %s more notes",
                      FIG_COUNT(q->n_notes + q->notes_left_out - MAX_NOTES));
}

/* Writes the share of time that processes spent communicating. */
static int put_busy(FILE *out, const struct jp_report *report)
{
    struct jp_busy_rows rows;
    char text[JP_BUSY_TEXT];

    /* the sentence would only repeat that there are no records */
    if (!report->result || !report->result->quality.records)
        return 0;
    if (busy_rows_make(report->result, report->processes, &rows) < 0)
        return -1;
    busy_text(report->result, &rows, report->verdict->coverage, text);
    text_out_fact(out, "Communication-busy share", text);
    busy_rows_fini(&rows);
    return 0;
}

/* Writes what the nodes' agents cost, and what they did not watch. */
static void put_agents(FILE *out, const struct jp_report *report)
{
    char text[JP_AGENTS_TEXT], unwatched[UNWATCHED_TEXT];

    if (report->agents && *agents_text(report->agents, text, sizeof(text))) {
        text_out_fact(out, "Sampling", text);
    }
    if (*unwatched_text(report, unwatched, sizeof(unwatched))) {
        text_out_fact(out, "Not watched for hangs", unwatched);
    }
}

/* Writes that n rows more are in the file `where`; nothing if n is 0. */
static void put_left_out(FILE *out, size_t n, const char *where)
{
    if (n)
        text_out_line(out, "  ... and %s more in %s", FIG_COUNT(n), where);
}

/* Writes each finding with its cause and its advice. */
static void put_findings(FILE *out, const struct jp_report *report)
{
    const struct jp_insight *insight = report->insight;

    if (!insight || !insight->findings.n)
        return;
    fprintf(out, "\nFindings\n");
    for (size_t i = 0; i < insight->findings.n && i < MAX_FINDINGS; i++) {
        const struct jp_finding *f = &insight->findings.at[i];
        struct feature_coincidence with;

        fprintf(out, "  %-15s ", finding_kind_name(f->kind));
        text_out_wrap(out, 18, 18, f->text);
        /* what was sampled at the same time */
        if (feature_coincides(report->features, i, &with)) {
            fprintf(out, "  %-15s ", "  why");
            text_out_wrap(out, 18, 18, with.why);
        }
        if (*f->next) {
            fprintf(out, "  %-15s ", "  next");
            text_out_wrap(out, 18, 18, f->next);
        }
    }
    put_left_out(out,
                 insight->findings.n > MAX_FINDINGS
                     ? insight->findings.n - MAX_FINDINGS
                     : 0,
                 JP_SUMMARY_NAME);
}

/* Writes the lines of features in the block of data. samples: of those that
 * have samples, whose lines follow the cost of sampling. */
static void put_feature_lines(FILE *out, const struct jp_report *report,
                              enum feature_role role, bool samples)
{
    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->role == role &&
            feature_registry[i]->samples == samples &&
            report_has(report, feature_registry[i]) &&
            feature_registry[i]->lines)
            feature_registry[i]->lines(report, out);
}

/* Writes the tables of features without a part of their own. Returns -1 without
 * memory. */
static int put_feature_tables(const struct jp_report *report, FILE *out)
{
    for (size_t i = 0; feature_registry[i]; i++)
        for (size_t k = 0;
             report_has(report, feature_registry[i]) &&
             !feature_registry[i]->text && feature_registry[i]->tables[k];
             k++)
            if (table_count(feature_registry[i]->tables[k], report) &&
                table_text(feature_registry[i]->tables[k], report, out) < 0)
                return -1;
    return 0;
}

/* Writes the parts of features with this role. Returns -1 without memory. */
static int features_text(const struct jp_report *report, FILE *out,
                         enum feature_role role)
{
    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->role == role &&
            report_has(report, feature_registry[i]) &&
            feature_registry[i]->text &&
            feature_registry[i]->text(report, out) < 0)
            return -1;
    return 0;
}

int report_write_text(const struct jp_report *report, FILE *out,
                      struct jp_error *err)
{
    const struct jp_result *r = report->result;

    errno = 0;
    /* the answer first, then what supports it, then the tables */
    put_verdict(out, report);
    put_judged(out, report);
    put_findings(out, report);
    put_job(out, report);
    fputs("\nData\n", out);
    if (quality_has_nccl(report) && !quality_in_place(report))
        put_quality(out, report);
    put_feature_lines(out, report, FEATURE_FIGURES, false);
    put_feature_lines(out, report, FEATURE_OPERATIONS, false);
    if (put_attempts(report, out) < 0 || put_feature_tables(report, out) < 0 ||
        features_text(report, out, FEATURE_OPERATIONS) < 0 ||
        put_busy(out, report) < 0)
        return error_set(err, "out of memory");
    put_agents(out, report);
    put_feature_lines(out, report, FEATURE_FIGURES, true);
    if ((r && r->n_comms && table_text(&table_comms, report, out) < 0) ||
        features_text(report, out, FEATURE_HARDWARE) < 0 ||
        (r && r->n_cells && table_text(&table_cells, report, out) < 0) ||
        (r && r->n_ranks && table_text(&table_ranks, report, out) < 0) ||
        (r && r->n_p2p_nodes &&
         table_text(&table_node_pairs, report, out) < 0) ||
        features_text(report, out, FEATURE_FIGURES) < 0 ||
        features_text(report, out, FEATURE_PROFILE) < 0)
        return error_set(err, "out of memory");
    /* errno was cleared above, so it belongs to a failed write */
    if (fflush(out) || ferror(out))
        return error_set(err, "%s",
                         errno ? strerror(errno) : "cannot be written");
    return 0;
}

/* --- the order in which a report's files appear -------------------------- */

/* Writers of a file and of a folder. They return 0, or -1 and err. */
typedef int write_stream(const struct jp_report *, FILE *, struct jp_error *);
typedef int write_folder(const struct jp_report *, const char *,
                         struct jp_error *);

/* Writes dir/name by temp + rename. On failure, an earlier file of that name
 * stays. */
static int write_file(const struct jp_report *report, const char *dir,
                      const char *name, write_stream *write,
                      struct jp_error *err)
{
    char *path = text_format("%s/%s", dir, name);
    struct jp_tempfile file;
    int rc = -1;

    if (!path) {
        error_set(err, "out of memory");
        goto out;
    }
    if (fileio_temp_open(&file, path, err) < 0)
        goto out;
    if (write(report, file.stream, err) < 0) {
        error_wrap(err, "%s", path);
        fileio_temp_abort(&file);
        goto out;
    }
    /* Readers take summary.json as the sign that the report is complete, and
     * raw files may be deleted after that. So only this file is synced. */
    rc = strcmp(name, JP_SUMMARY_NAME) == 0
             ? fileio_temp_commit_synced(&file, JP_DEF_SYNC_MS, err)
             : fileio_temp_commit(&file, err);
out:
    free(path);
    return rc;
}

/* Calls a writer for the folder dir/name. */
static int write_below(const struct jp_report *report, const char *dir,
                       const char *name, write_folder *write,
                       struct jp_error *err)
{
    char *path = text_format("%s/%s", dir, name);
    int rc = path ? write(report, path, err) : error_set(err, "out of memory");

    free(path);
    return rc;
}

/* Writes timeline.js, or removes the one of an earlier report: the page would
 * load it and show operations of other data. */
static int write_timeline(const struct jp_report *report, const char *dir,
                          struct jp_error *err)
{
    char *path;

    if (html_out_has_charts() && timeline_html_present(report))
        return write_file(report, dir, "timeline.js", report_write_timeline,
                          err);
    path = text_format("%s/timeline.js", dir);
    if (path)
        ownplace_unlink(path);
    free(path);
    return 0;
}

/* Writes the files that features have of their own. */
static int write_features(const struct jp_report *report, const char *dir,
                          struct jp_error *err)
{
    for (size_t i = 0; feature_registry[i]; i++)
        if (report_has(report, feature_registry[i]) &&
            feature_registry[i]->files &&
            feature_registry[i]->files(report, dir, err) < 0)
            return -1;
    return 0;
}

/* The order matters: report.html links to csv/ and plots/, and summary.json
 * comes last because it says that the report is complete. */
int report_write(const struct jp_report *report, const char *dir,
                 struct jp_error *err)
{
    struct jp_report own = *report;

    own.folder = dir;
    if (write_below(&own, dir, "csv", report_write_csvs, err) < 0 ||
        write_below(&own, dir, "plots", report_write_plots, err) < 0 ||
        write_features(&own, dir, err) < 0 ||
        write_file(&own, dir, "summary.txt", report_write_text, err) < 0 ||
        write_timeline(&own, dir, err) < 0 ||
        write_file(&own, dir, "report.html", report_write_html, err) < 0)
        return -1;
    return write_file(&own, dir, JP_SUMMARY_NAME, report_write_json, err);
}

/* --- gnuplot's pictures, in plots/ and in a page without charts ----------- */

#define RENDER_LIMIT_MS 5000 /* a picture takes about 0.3 s */
#define PAGE_MAX (64 << 20)
#define PICTURE_MAX (1 << 20) /* a larger picture is left out */

/* Draws NAME.gp if it exists. Returns 0, or what gnuplot_run returns. */
static int render_one(const char *dir, const char *name, struct jp_error *err)
{
    char *path = text_format("%s/%s.gp", dir, name);
    int rc;

    if (!path)
        return error_set(err, "out of memory");
    rc = access(path, R_OK) < 0
             ? 0
             : gnuplot_run(dir, &name, 1, RENDER_LIMIT_MS, err);
    free(path);
    /* gnuplot may have left half a picture */
    if (rc != 0)
        gnuplot_remove(dir, name, "png");
    return rc;
}

/* Draws all scripts of plots/. Pictures are optional: if gnuplot is absent or
 * fails, plots/NOTE has the reason, and the report is still complete. Stops at
 * the first failure, because all later ones would fail alike. */
static int plots_render(const char *dir, struct jp_error *err)
{
    struct jp_error why = {""};
    char *note = text_format("%s/NOTE", dir);
    const struct jp_chart *chart;
    const struct feature *of;
    int rc = 0;

    if (!note)
        return error_set(err, "out of memory");
    for (size_t i = 0; rc == 0 && (chart = charts_at(i, &of)); i++)
        if (chart->plot)
            rc = render_one(dir, chart->plot->name, &why);
    if (rc != 0) {
        error_wrap(&why, "no pictures (render them by: gnuplot -d *.gp)");
        rc = fileio_write(note, why.text, strlen(why.text), err);
    } else {
        /* a note of an earlier attempt is no longer true */
        ownplace_unlink(note);
    }
    free(note);
    return rc;
}

/* Writes a picture as a data URL, because the page must not need other files. A
 * picture that was not drawn is left out. */
static void put_picture(FILE *out, const char *dir, const char *name,
                        const char *caption)
{
    char *path = text_format("%s/plots/%s.png", dir, name), *data = NULL;
    size_t len = 0;

    if (path && fileio_read(path, false, PICTURE_MAX, &data, &len, NULL) == 0) {
        fprintf(out,
                "<figure><figcaption>%s</figcaption><img alt=\"%s\" "
                "src=\"data:image/png;base64,",
                caption, caption);
        html_out_base64(out, (const unsigned char *) data, len);
        fputs("\"></figure>\n", out);
    }
    free(data);
    free(path);
}

/* Inserts the pictures of dir/plots into dir/report.html (temp + rename) if
 * that page has no charts. */
static int embed_files(const char *dir, struct jp_error *err)
{
    char *path = text_format("%s/report.html", dir), *page = NULL, *at;
    const struct jp_chart *chart;
    const struct feature *of;
    struct jp_tempfile file;
    size_t len = 0;
    int rc = -1;

    if (!path) {
        error_set(err, "out of memory");
        goto out;
    }
    if (fileio_read(path, false, PAGE_MAX, &page, &len, err) < 0)
        goto out;
    at = strstr(page, HTML_PICTURES);
    if (!at) { /* the page has charts, or already the pictures */
        rc = 0;
        goto out;
    }
    if (fileio_temp_open(&file, path, err) < 0)
        goto out;
    /* copy the page up to the mark, then the pictures, then the rest */
    fwrite(page, 1, (size_t) (at - page), file.stream);
    for (size_t i = 0; (chart = charts_at(i, &of)); i++)
        if (chart->plot && chart->plot->caption)
            put_picture(file.stream, dir, chart->plot->name,
                        chart->plot->caption);
    at += strlen(HTML_PICTURES);
    fwrite(at, 1, len - (size_t) (at - page), file.stream);
    rc = fileio_temp_commit(&file, err);
out:
    free(page);
    free(path);
    return rc;
}

int report_draw(const char *dir, struct jp_error *err)
{
    char *plots_dir = text_format("%s/plots", dir);
    int rc = plots_dir ? plots_render(plots_dir, err)
                       : error_set(err, "out of memory");

    free(plots_dir);
    return rc < 0 ? -1 : embed_files(dir, err);
}
