/* trial_page.c - a trial as a page: the answer, its lines, intervals, runs. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "common/figure.h"
#include "orchestrator/report/out.h"
#include "orchestrator/trial/trial.h"

#define LABEL_MAX 400
#define COLUMNS(list) (sizeof(list) / sizeof(*(list)))

/* --- the answer ------------------------------------------------------------
 */

static void put_line(void *arg, const char *line)
{
    FILE *out = arg;

    fputs("<p class=\"command\"><code>", out);
    html_out_text(out, line);
    fputs("</code></p>\n", out);
}

/* srun's whole line of the choice. */
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

/* --- intervals -------------------------------------------------------------
 */

struct range {
    double low, high;
};

static struct range range_of(const struct trial *t)
{
    struct range r = {INFINITY, -INFINITY};

    for (size_t i = 0; i < t->n_configs; i++) {
        const struct trial_arm *arm = &t->arms[i];

        for (size_t k = 0; k < arm->n; k++) {
            r.low = fmin(r.low, arm->us[k]);
            r.high = fmax(r.high, arm->us[k]);
        }
        if (!isnan(arm->low_us)) {
            r.low = fmin(r.low, arm->low_us);
            r.high = fmax(r.high, arm->high_us);
        }
    }
    return r;
}

static double share_of(const struct range *r, double us)
{
    return r->high > r->low ? 100 * (us - r->low) / (r->high - r->low) : 50;
}

static void put_interval(const struct trial *t, size_t i,
                         const struct range *range, FILE *out)
{
    const struct trial_arm *arm = &t->arms[i];
    char label[LABEL_MAX];

    fputs("<div class=\"row\"><span class=\"who\"><strong>", out);
    html_out_text(out, trial_label(t, i, label, sizeof(label)));
    fprintf(out,
            "</strong> %s</span><svg class=\"cells\" viewBox=\"0 0 100 10\" "
            "preserveAspectRatio=\"none\" aria-hidden=\"true\">",
            trial_standing(t, i));
    if (!isnan(arm->low_us))
        fprintf(out,
                "<rect class=\"h2\" x=\"%.2f\" y=\"2\" width=\"%.2f\" "
                "height=\"6\"/>",
                share_of(range, arm->low_us),
                fmax(0.3, share_of(range, arm->high_us) -
                              share_of(range, arm->low_us)));
    for (size_t k = 0; k < arm->n; k++)
        fprintf(out,
                "<rect class=\"h4\" x=\"%.2f\" y=\"0\" width=\"0.4\" "
                "height=\"10\"/>",
                fmin(99.6, share_of(range, arm->us[k])));
    fprintf(out, "</svg><span class=\"num\">%s</span></div>\n",
            isnan(arm->mean_us) ? "-" : FIG_US(arm->mean_us));
}

static void put_intervals(const struct trial *t, FILE *out)
{
    struct range range = range_of(t);

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

/* --- tables ----------------------------------------------------------------
 */

static void put_share(FILE *out, double share)
{
    html_out_figure(out, isnan(share) ? "-" : FIG_SHARE(share), share);
}

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
        const struct trial_run *run = trial_last_run(t, i);
        const double times[] = {arm->mean_us, arm->low_us, arm->high_us};

        html_out_row(out);
        html_out_prose(out, trial_label(t, i, label, sizeof(label)));
        html_out_cell(out, trial_standing(t, i));
        html_out_figure(out, FIG_COUNT(arm->n), (double) arm->n);
        for (size_t k = 0; k < COLUMNS(times); k++)
            html_out_figure(out, isnan(times[k]) ? "-" : FIG_US(times[k]),
                            times[k]);
        put_share(out, arm->standing == TRIAL_BEST ? NAN : arm->slower);
        html_out_figure(out, isnan(arm->p) ? "-" : FIG_REAL(arm->p), arm->p);
        html_out_cell(out, trial_verdicts(t, i, verdicts, sizeof(verdicts)));
        html_out_prose(out, run ? run->over : "");
        html_out_row_end(out);
    }
    html_out_table_end(out, COLUMNS(columns), 0, NULL);
}

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
    if (*run->dir) {
        fputs("<td><a href=\"", out);
        html_out_text(out, run->dir);
        fprintf(out, "/report.html\">report of run %zu</a></td>", number);
    } else {
        html_out_cell(out, "-");
    }
    html_out_row_end(out);
}

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

/* --- how it was done --------------------------------------------------------
 */

static void put_method(const struct trial *t, FILE *out)
{
    char text[200] = "";

    fputs("<dl>\n", out);
    html_out_fact(out, "Compared", trial_measure_text(t));
    snprintf(text, sizeof(text), "%zu configurations, %" PRIu64 " rounds, %s",
             t->n_configs, t->rounds, trial_ends[t->end]);
    html_out_fact(out, "Plan", text);
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
