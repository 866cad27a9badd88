/* trial_print.c - show a trial as text and as a page.
 *
 * trial_print makes trial.txt and the output of `jobprof trial`; trial_page
 * makes trial.html with report/out.h, in the look of a report: the answer,
 * intervals, tables, and how it was compared. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "common/quote.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/picture.h"
#include "orchestrator/trial/trial.h"

#define LABEL_MAX 400
#define COLUMNS(list) (sizeof(list) / sizeof(*(list)))

/* Returns why the trial has ended, for people. */
static const char *end_text(const struct trial *t)
{
    static const char *const texts[TRIAL_ENDS] = {
        /* also after a crash of the job */
        [TRIAL_OPEN] = "not finished yet",
        [TRIAL_DONE] = "all runs done",
        [TRIAL_SETTLED] = "ended early, because the rest is clearly slower",
        [TRIAL_TIME_UP] = "ended by its time limit",
        [TRIAL_INTERRUPTED] = "interrupted",
        [TRIAL_GAVE_UP] = "ended, because too few configurations run",
    };

    return texts[t->end];
}

/* Returns the width of the column of configurations, at most 60. */
static unsigned label_width(const struct trial *t)
{
    char label[LABEL_MAX];
    size_t width = strlen("Configuration");

    for (size_t i = 0; i < t->n_configs; i++) {
        size_t n = strlen(trial_label(t, i, label, sizeof(label)));

        width = n > width ? n : width;
    }
    return width > 60 ? 60 : (unsigned) width;
}

/* Prints the row of a configuration. */
static void print_arm(const struct trial *t, size_t i, unsigned width,
                      FILE *out)
{
    const struct trial_arm *arm = &t->arms[i];
    char label[LABEL_MAX], verdicts[200], mean[JP_FIGURE_LEN] = "-";
    char interval[2 * JP_FIGURE_LEN + 8] = "-", slower[JP_FIGURE_LEN] = "-";

    if (!isnan(arm->mean_us))
        figure_us(arm->mean_us, mean);
    if (!isnan(arm->low_us))
        snprintf(interval, sizeof(interval), "%s to %s", FIG_US(arm->low_us),
                 FIG_US(arm->high_us));
    /* the best one has no difference to itself */
    if (arm->standing == TRIAL_EVEN || arm->standing == TRIAL_WORSE)
        figure_share(arm->slower, slower);
    quote_printf(out, "%-*s %4zu %9s  %-20s %8s  %-8s %s\n", (int) width,
                 trial_label(t, i, label, sizeof(label)), arm->n, mean,
                 interval, slower, trial_standing(t, i),
                 trial_verdicts(t, i, verdicts, sizeof(verdicts)));
}

/* The last run of a configuration; NULL: none. */
static const struct trial_run *last_run(const struct trial *t, size_t config)
{
    const struct trial_run *last = NULL;

    for (size_t i = 0; i < t->n_runs; i++)
        if (t->runs[i].config == config)
            last = &t->runs[i];
    return last;
}

/* Prints where the configurations ran, as far as it is known. */
static void print_over(const struct trial *t, FILE *out)
{
    char label[LABEL_MAX];
    bool any = false;

    for (size_t i = 0; i < t->n_configs; i++) {
        const struct trial_run *run = last_run(t, i);

        if (!run || !*run->over)
            continue;
        if (!any)
            fputs("\nNodes and links of the runs:\n", out);
        any = true;
        quote_printf(out, "  %s: %s\n", trial_label(t, i, label, sizeof(label)),
                     run->over);
    }
}

/* Prints the runs that failed, and why. */
static void print_failures(const struct trial *t, FILE *out)
{
    char label[LABEL_MAX];
    bool any = false;

    for (size_t i = 0; i < t->n_runs; i++) {
        const struct trial_run *run = &t->runs[i];

        if (run->status == TRIAL_OK)
            continue;
        /* the heading comes with the first row */
        if (!any)
            fputs("\nSteps that failed; their configurations are not "
                  "compared:\n",
                  out);
        any = true;
        quote_printf(out, "  %s, round %zu, exit status %d: %s\n",
                     trial_label(t, run->config, label, sizeof(label)),
                     run->round + 1, run->exit_status, run->why);
    }
}

/* Prints a line for the script. A callback of trial_lines. */
static void print_line(void *arg, const char *line)
{
    quote_printf(arg, "    %s\n", line);
}

/* Prints the result, and what to write into a script. */
static void print_choice(const struct trial *t, FILE *out)
{
    size_t choice = trial_choice(t);
    char **words;

    fputc('\n', out);
    text_out_wrap(out, 0, 0, t->text);
    if (choice == t->n_configs)
        return;
    fputs("\nFor the script:\n", out);
    trial_lines(t, print_line, out);
    /* the same as one command line */
    words = trial_words(t, choice, NULL);
    fputs("or:\n   ", out);
    /* quoted for a shell where needed */
    for (size_t i = 0; words && words[i]; i++) {
        char *quoted = trial_quote(words[i]);

        fputc(' ', out);
        quote_print(out, quoted ? quoted : words[i]);
        free(quoted);
    }
    fputc('\n', out);
    trial_free_words(words);
}

void trial_print(const struct trial *t, FILE *out)
{
    unsigned width = label_width(t);

    fprintf(out, "%zu configurations, %" PRIu64 " rounds, %zu run%s; %s.\n",
            t->n_configs, t->rounds, t->n_runs, plural(t->n_runs), end_text(t));
    fputs("Compared: ", out);
    text_out_wrap(out, 10, 10, trial_measure_text(t));
    fprintf(out, "\n%-*s %4s %9s  %-20s %8s  %-8s %s\n", (int) width,
            "Configuration", "Runs", "Mean", "95 %", "Longer", "Judged",
            "Verdicts");
    /* in the order of the plan, so that tables of one plan look alike */
    for (size_t i = 0; i < t->n_configs; i++)
        print_arm(t, i, width, out);
    print_over(t, out);
    print_failures(t, out);
    print_choice(t, out);
}

/* --- the page: the answer, its lines, intervals, runs ----------------------
 */

/* Writes a line for the script. A callback of trial_lines. */
static void put_line(void *arg, const char *line)
{
    FILE *out = arg;

    fputs("<p class=\"command\"><code>", out);
    html_out_text(out, line);
    fputs("</code></p>\n", out);
}

/* srun's complete command line for the choice. */
static void put_command(const struct trial *t, size_t choice, FILE *out)
{
    char **words = trial_words(t, choice, NULL);

    fputs("<p>Or as one line:</p>\n<p class=\"command\"><code>", out);
    for (size_t i = 0; words && words[i]; i++) {
        char *quoted = trial_quote(words[i]);

        if (i)
            fputc(' ', out);
        html_out_text(out, quoted ? quoted : words[i]);
        free(quoted);
    }
    fputs("</code></p>\n", out);
    trial_free_words(words);
}

/* Writes the result at the top of the page. The class names are those of a
 * report's verdicts. */
static void put_answer(const struct trial *t, FILE *out)
{
    static const char *const words[TRIAL_FINDINGS][2] = {
        [TRIAL_TOO_LITTLE] = {"NODATA", "Too little to compare"},
        [TRIAL_NO_DIFFERENCE] = {"OK", "No difference"},
        [TRIAL_SEVERAL] = {"OK", "Several are best"},
        [TRIAL_WINNER] = {"OK", "A winner"},
    };
    size_t choice = trial_choice(t);

    fprintf(out,
            "<div id=\"answer\" class=\"%s\">\n<div class=\"verdict\">"
            "<strong>%s</strong><p>",
            words[t->look.finding][0], words[t->look.finding][1]);
    html_out_text(out, t->text);
    fputs("</p></div>\n", out);
    if (choice < t->n_configs) {
        fputs("<h2>For the script</h2>\n", out);
        trial_lines(t, put_line, out);
        put_command(t, choice, out);
    }
    fputs("</div>\n", out);
}

/* --- intervals ------------------------------------------------------------ */

/* The times that the scale of intervals covers, in us. */
struct range {
    double low, high;
};

/* Returns the range of all runs and intervals. Without any, low is greater than
 * high. */
static struct range range_of(const struct trial *t)
{
    struct range r = {INFINITY, -INFINITY};

    for (size_t i = 0; i < t->n_configs; i++) {
        const struct trial_arm *arm = &t->arms[i];

        for (size_t k = 0; k < arm->n; k++) {
            r.low = fmin(r.low, arm->us[k]);
            r.high = fmax(r.high, arm->us[k]);
        }
        /* an interval may be wider than its runs */
        if (!isnan(arm->low_us)) {
            r.low = fmin(r.low, arm->low_us);
            r.high = fmax(r.high, arm->high_us);
        }
    }
    return r;
}

/* Draws one configuration: the interval as a bar, each run as a line. */
static void put_interval(const struct trial *t, size_t i,
                         const struct range *range, FILE *out)
{
    const struct trial_arm *arm = &t->arms[i];
    struct jp_json_stream figures;
    char label[LABEL_MAX];

    fputs("<div class=\"row\"><span class=\"who\"><strong>", out);
    html_out_text(out, trial_label(t, i, label, sizeof(label)));
    fprintf(out, "</strong> %s</span>", trial_standing(t, i));
    /* all digits: runs may differ by little */
    picture_begin(&figures, "interval", out);
    json_stream_fixed(&figures, "from", range->low, 3);
    json_stream_fixed(&figures, "to", range->high, 3);
    json_stream_fixed(&figures, "low", arm->low_us, 3);
    json_stream_fixed(&figures, "high", arm->high_us, 3);
    json_stream_array(&figures, "at");
    for (size_t k = 0; k < arm->n; k++)
        json_stream_fixed(&figures, NULL, arm->us[k], 3);
    json_stream_end_array(&figures);
    picture_end(&figures);
    fprintf(out, "<span class=\"num\">%s</span></div>\n",
            isnan(arm->mean_us) ? "-" : FIG_US(arm->mean_us));
}

/* Draws all configurations on one scale. */
static void put_intervals(const struct trial *t, FILE *out)
{
    struct range range = range_of(t);

    /* no run has a time yet */
    if (!(range.high >= range.low))
        return;
    html_out_proof(out, "trial",
                   "Each run's time (dark), and the 95 % interval of the mean");
    for (size_t i = 0; i < t->n_configs; i++)
        put_interval(t, i, &range, out);
    fprintf(out, "<div class=\"scale\"><span>%s</span><span>%s</span></div>\n",
            FIG_US(range.low), FIG_US(range.high));
    html_out_proof_end(out, "The scale does not begin at 0.");
}

/* --- tables --------------------------------------------------------------- */

/* Writes a cell with a share, or "-" if it is unknown. */
static void put_share(FILE *out, double share)
{
    html_out_figure(out, isnan(share) ? "-" : FIG_SHARE(share), share);
}

/* Writes the table of configurations. */
static void put_configurations(const struct trial *t, FILE *out)
{
    static const struct jp_html_column columns[] = {
        {"Configuration", NULL, false},
        {"Judged", NULL, false},
        {"Runs", "those that count", true},
        {"Mean", "geometric", true},
        {"From", "95 % interval of the mean", true},
        {"To", "95 % interval of the mean", true},
        {"Longer", "compared with the fastest", true},
        {"p", "adjusted for all pairs and rounds; slower below trial_alpha",
         true},
        {"Verdicts", "of the runs' reports", false},
        {"Ran over", "nodes and the communicators of most time", false},
    };
    char label[LABEL_MAX], verdicts[200];

    html_out_table(out, columns, COLUMNS(columns), true);
    for (size_t i = 0; i < t->n_configs; i++) {
        const struct trial_arm *arm = &t->arms[i];
        const struct trial_run *run = last_run(t, i);
        const double times[] = {arm->mean_us, arm->low_us, arm->high_us};

        html_out_row(out);
        html_out_prose(out, trial_label(t, i, label, sizeof(label)));
        html_out_cell(out, trial_standing(t, i));
        html_out_figure(out, FIG_COUNT(arm->n), (double) arm->n);
        for (size_t k = 0; k < COLUMNS(times); k++)
            html_out_figure(out, isnan(times[k]) ? "-" : FIG_US(times[k]),
                            times[k]);
        /* the best one is not longer than itself */
        put_share(out, arm->standing == TRIAL_BEST ? NAN : arm->slower);
        html_out_figure(out, isnan(arm->p) ? "-" : FIG_REAL(arm->p), arm->p);
        html_out_cell(out, trial_verdicts(t, i, verdicts, sizeof(verdicts)));
        html_out_prose(out, run ? run->over : "");
        html_out_row_end(out);
    }
    html_out_table_end(out, COLUMNS(columns), 0, NULL);
}

/* Writes the row of a run, with a link to its report. */
static void put_run(const struct trial *t, size_t number,
                    const struct trial_run *run, FILE *out)
{
    double us = t->measure == TRIAL_BY_ITERATION ? run->iteration_us
                                                 : run->operation_us;
    char label[LABEL_MAX];

    html_out_row(out);
    html_out_figure(out, FIG_COUNT(number), (double) number);
    html_out_figure(out, FIG_COUNT(run->round + 1), (double) run->round + 1);
    html_out_prose(out, trial_label(t, run->config, label, sizeof(label)));
    html_out_cell(out, trial_statuses[run->status]);
    html_out_figure(out, isnan(us) ? "-" : FIG_US(us), us);
    html_out_figure(out, isnan(run->wall_s) ? "-" : FIG_US(run->wall_s * 1e6),
                    run->wall_s);
    html_out_cell(out, run->verdict);
    html_out_prose(out, run->why);
    /* the page is in the trial's folder, so the path is relative */
    if (*run->dir) {
        fputs("<td><a href=\"", out);
        html_out_text(out, run->dir);
        fprintf(out, "/report.html\">report of run %zu</a></td>", number);
    } else {
        html_out_cell(out, "-");
    }
    html_out_row_end(out);
}

/* Writes the table of runs in their order. */
static void put_runs(const struct trial *t, FILE *out)
{
    static const struct jp_html_column columns[] = {
        {"Run", "in order of start", true},
        {"Round", NULL, true},
        {"Configuration", NULL, false},
        {"Status", NULL, false},
        {"Time", "the compared time", true},
        {"Step", "from srun's start to its end", true},
        {"Verdict", NULL, false},
        {"Why not", NULL, false},
        {"Report", NULL, false},
    };

    html_out_table(out, columns, COLUMNS(columns), true);
    for (size_t i = 0; i < t->n_runs; i++)
        put_run(t, i + 1, &t->runs[i], out);
    html_out_table_end(out, COLUMNS(columns), 0, NULL);
}

/* --- how it was done ------------------------------------------------------ */

/* Writes how the result was found: plan, order, test and limits. */
static void put_method(const struct trial *t, FILE *out)
{
    char text[200] = "";

    fputs("<dl>\n", out);
    html_out_fact(out, "Compared", trial_measure_text(t));
    snprintf(text, sizeof(text), "%zu configurations, %" PRIu64 " rounds, %s",
             t->n_configs, t->rounds, trial_ends[t->end]);
    html_out_fact(out, "Plan", text);
    /* with the seed, the same plan gives the same order */
    snprintf(text, sizeof(text), "shuffled in each round, by the seed %" PRIu64,
             t->seed);
    html_out_fact(out, "Order", text);
    html_out_fact(out, "A run varies by",
                  isnan(t->look.noise) ? NULL : FIG_SHARE(t->look.noise));
    html_out_fact(out, "Smallest detectable difference",
                  isnan(t->look.detectable) ? NULL
                                            : FIG_SHARE(t->look.detectable));
    html_out_fact(
        out, "Test",
        "t tests of the logarithms, corrected for the pairs of configurations "
        "(Holm) and for the tests after each round (Lan and DeMets)");
    for (size_t i = 0; i < TRIAL_LIMITS; i++) {
        snprintf(text, sizeof(text), "%s: %s", FIG_REAL(trial_limits[i].value),
                 trial_limits[i].reason);
        html_out_fact(out, trial_limits[i].name, text);
    }
    fputs("</dl>\n", out);
}

void trial_page(const struct trial *t, FILE *out)
{
    /* the style and scripts of a report's page */
    html_out_begin(out, "jobprof: trial of configurations");
    fputs("<main class=\"job\">\n<h1>jobprof &middot; trial</h1>\n", out);
    put_answer(t, out);
    fputs("<section id=\"configurations\"><h2>Configurations</h2>\n", out);
    put_intervals(t, out);
    put_configurations(t, out);
    fputs("</section>\n<section id=\"runs\"><h2>Runs</h2>\n", out);
    put_runs(t, out);
    fputs("</section>\n<section id=\"method\"><h2>How it was compared</h2>\n",
          out);
    put_method(t, out);
    fputs("</section>\n</main>\n", out);
    html_out_end(out);
}

/* --- files ---------------------------------------------------------------- */

/* Writes one file by rename, so that a reader never sees a part of it. */
static int write_one(const struct trial *t, const char *dir, const char *name,
                     void (*show)(const struct trial *t, FILE *out),
                     struct jp_error *err)
{
    char *path = text_format("%s/%s", dir, name);
    struct jp_tempfile file;
    int rc = path ? fileio_temp_open(&file, path, err)
                  : error_set(err, "out of memory");

    if (rc == 0) {
        show(t, file.stream);
        rc = fileio_temp_commit(&file, err);
    }
    free(path);
    return rc;
}

int trial_write_pages(const struct trial *t, const char *dir,
                      struct jp_error *err)
{
    return write_one(t, dir, "trial.txt", trial_print, err) < 0
               ? -1
               : write_one(t, dir, "trial.html", trial_page, err);
}
