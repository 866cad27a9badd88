/* trial_print.c - show a trial as text and as a page.
 *
 * trial_print makes trial.txt and the output of `jobprof trial`; trial_page
 * makes trial.html in the look of a report: the answer, intervals, tables, and
 * how it was compared. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "common/quote.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/picture.h"
#include "orchestrator/table/table.h"
#include "orchestrator/trial/trial.h"

#define LABEL_MAX 400

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

/* --- tables, in trial.txt and on the page --------------------------------- */

/* The last run of a configuration; NULL: none. */
static const struct trial_run *last_run(const struct trial *t, size_t config)
{
    const struct trial_run *last = NULL;

    for (size_t i = 0; i < t->n_runs; i++)
        if (t->runs[i].config == config)
            last = &t->runs[i];
    return last;
}

/* A row is an arm, the extra data the trial, and the index the configuration.
 */
JP_GETTER(label, trial_arm, (void) at;
          value_text(v, trial_label(row->extra, row->index, v->buf, LABEL_MAX)))
JP_GETTER(standing, trial_arm, (void) at;
          value_text(v, trial_standing(row->extra, row->index)))
JP_GETTER(runs, trial_arm, value_count(v, at->n))
JP_GETTER(mean, trial_arm, value_finite(v, at->mean_us))
JP_GETTER(low, trial_arm, value_finite(v, at->low_us))
JP_GETTER(high, trial_arm, value_finite(v, at->high_us))
JP_GETTER(interval, trial_arm, {
    snprintf(v->buf, sizeof(v->buf), "%s to %s", FIG_US(at->low_us),
             FIG_US(at->high_us));
    value_text(v, isnan(at->low_us) ? NULL : v->buf);
})
/* the best one is not longer than itself */
JP_GETTER(longer, trial_arm,
          value_finite(v, at->standing == TRIAL_BEST ? NAN : at->slower))
JP_GETTER(p, trial_arm, value_finite(v, at->p))
JP_GETTER(verdicts, trial_arm, (void) at;
          value_text(v, trial_verdicts(row->extra, row->index, v->buf, 200)))
JP_GETTER(
    over, trial_arm, (void) at; {
        const struct trial_run *run = last_run(row->extra, row->index);

        value_text(v, run ? run->over : NULL);
    })

/* key, kind, flags, places in JSON (trial_state.c writes it), on the page and
 * in text */
static const struct jp_column arm_columns[] = {
    {"configuration", JP_COL_PROSE, 0, 0, 1, 1, "Configuration", .none = "",
     .get = get_label},
    {"judged", JP_COL_WORD, 0, 0, 2, 6, "Judged", .none = "",
     .get = get_standing},
    {"runs", JP_COL_COUNT, JP_TIP, 0, 3, 2, "Runs", "those that count",
     .get = get_runs},
    {"mean", JP_COL_US, JP_TIP, 0, 4, 3, "Mean", "geometric", .get = get_mean},
    {"interval", JP_COL_TEXT, 0, 0, 0, 4, "95 %", .get = get_interval},
    {"low", JP_COL_US, JP_TIP, 0, 5, 0, "From", "95 % interval of the mean",
     .get = get_low},
    {"high", JP_COL_US, JP_TIP, 0, 6, 0, "To", "95 % interval of the mean",
     .get = get_high},
    {"longer", JP_COL_SHARE, JP_TIP, 0, 7, 5, "Longer",
     "compared with the fastest", .get = get_longer},
    {"p", JP_COL_REAL, JP_TIP, 0, 8, 0, "p",
     "adjusted for all pairs and rounds; slower below trial_alpha",
     .get = get_p},
    {"verdicts", JP_COL_TEXT, JP_TIP, 0, 9, 7, "Verdicts",
     "of the runs' reports", .none = "", .get = get_verdicts},
    {"over", JP_COL_PROSE, JP_TIP, 0, 10, 0, "Ran over",
     "nodes and the communicators of most time", .none = "", .get = get_over},
};
static const struct jp_table arm_table = {JP_COLUMNS(arm_columns),
                                          .row_size = sizeof(struct trial_arm),
                                          .max_html = SIZE_MAX, .fitted = true};

/* A row is a run, and the extra data the trial. */
JP_GETTER(number, trial_run, (void) at; value_count(v, row->index + 1))
JP_GETTER(round, trial_run, value_count(v, at->round + 1))
JP_GETTER(run_label, trial_run,
          value_text(v, trial_label(row->extra, at->config, v->buf, LABEL_MAX)))
JP_GETTER(status, trial_run, value_text(v, trial_statuses[at->status]))
JP_GETTER(time, trial_run, {
    const struct trial *t = row->extra;

    value_finite(v, t->measure == TRIAL_BY_ITERATION ? at->iteration_us
                                                     : at->operation_us);
})
JP_GETTER(step, trial_run, value_finite(v, at->wall_s))
/* the page is in the trial's folder, so the path is relative */
JP_GETTER(report, trial_run, {
    size_t used = 1 + (size_t) snprintf(v->buf, sizeof(v->buf),
                                        "report of run %zu", row->index + 1);
    int n = snprintf(v->buf + used, sizeof(v->buf) - used, "%s/report.html",
                     at->dir);
    /* a path that is cut leads nowhere */
    bool fits = n > 0 && (size_t) n < sizeof(v->buf) - used;

    v->more = v->buf + used;
    value_text(v, *at->dir && fits ? v->buf : NULL);
})

#define FIELD(member) JP_FIELD(struct trial_run, member)
static const struct jp_column run_columns[] = {
    {"run", JP_COL_COUNT, JP_TIP, 0, 1, 0, "Run", "in order of start",
     .get = get_number},
    {"round", JP_COL_COUNT, 0, 0, 2, 0, "Round", .get = get_round},
    {"configuration", JP_COL_PROSE, 0, 0, 3, 0, "Configuration", .none = "",
     .get = get_run_label},
    {"status", JP_COL_WORD, 0, 0, 4, 0, "Status", .get = get_status},
    {"time", JP_COL_US, JP_TIP, 0, 5, 0, "Time", "the compared time",
     .get = get_time},
    {"step", JP_COL_SECONDS, JP_TIP, 0, 6, 0, "Step",
     "from srun's start to its end", .get = get_step},
    {"verdict", JP_COL_WORD, 0, 0, 7, 0, "Verdict", .none = "", FIELD(verdict)},
    {"why", JP_COL_PROSE, 0, 0, 8, 0, "Why not", .none = "", FIELD(why)},
    {"report", JP_COL_LINK, 0, 0, 9, 0, "Report", .get = get_report},
};
#undef FIELD
static const struct jp_table run_table = {JP_COLUMNS(run_columns),
                                          .row_size = sizeof(struct trial_run),
                                          .max_html = SIZE_MAX};

static struct table_source arms_of(const struct trial *t)
{
    return (struct table_source){
        .extra = t, .rows = t->arms, .n = t->n_configs};
}

static struct table_source runs_of(const struct trial *t)
{
    return (struct table_source){.extra = t, .rows = t->runs, .n = t->n_runs};
}

/* --- text ----------------------------------------------------------------- */

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
    struct table_source arms = arms_of(t);

    fprintf(out, "%zu configurations, %" PRIu64 " rounds, %zu run%s; %s.\n",
            t->n_configs, t->rounds, t->n_runs, plural(t->n_runs), end_text(t));
    fputs("Compared: ", out);
    text_out_wrap(out, 10, 10, trial_measure_text(t));
    fputc('\n', out);
    /* in the order of the plan, so that tables of one plan look alike */
    table_show(&arm_table, &arms, TABLE_FOR_PEOPLE, out);
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
    struct table_source arms = arms_of(t), runs = runs_of(t);

    /* the style and scripts of a report's page */
    html_out_begin(out, "jobprof: trial of configurations");
    fputs("<main class=\"job\">\n<h1>jobprof &middot; trial</h1>\n", out);
    put_answer(t, out);
    fputs("<section id=\"configurations\"><h2>Configurations</h2>\n", out);
    put_intervals(t, out);
    if (table_write_html(&arm_table, &arms, out) < 0)
        fputs("<p>out of memory</p>\n", out);
    fputs("</section>\n<section id=\"runs\"><h2>Runs</h2>\n", out);
    if (table_write_html(&run_table, &runs, out) < 0)
        fputs("<p>out of memory</p>\n", out);
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
