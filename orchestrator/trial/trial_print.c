/* trial_print.c - a trial's table on a terminal, and its files. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "common/quote.h"
#include "orchestrator/report/out.h"
#include "orchestrator/trial/trial.h"

#define LABEL_MAX 400

static const char *end_text(const struct trial *t)
{
    static const char *const texts[TRIAL_ENDS] = {
        [TRIAL_OPEN] = "not finished yet",
        [TRIAL_DONE] = "all runs done",
        [TRIAL_SETTLED] = "ended early, because the rest is clearly slower",
        [TRIAL_TIME_UP] = "ended by its time limit",
        [TRIAL_INTERRUPTED] = "interrupted",
        [TRIAL_GAVE_UP] = "ended, because too few configurations run",
    };

    return texts[t->end];
}

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
    if (arm->standing == TRIAL_EVEN || arm->standing == TRIAL_WORSE)
        figure_share(arm->slower, slower);
    quote_printf(out, "%-*s %4zu %9s  %-20s %8s  %-8s %s\n", (int) width,
                 trial_label(t, i, label, sizeof(label)), arm->n, mean,
                 interval, slower, trial_standing(t, i),
                 trial_verdicts(t, i, verdicts, sizeof(verdicts)));
}

static void print_over(const struct trial *t, FILE *out)
{
    char label[LABEL_MAX];
    bool any = false;

    for (size_t i = 0; i < t->n_configs; i++) {
        const struct trial_run *run = trial_last_run(t, i);

        if (!run || !*run->over)
            continue;
        if (!any)
            fputs("\nNodes and links of the runs:\n", out);
        any = true;
        quote_printf(out, "  %s: %s\n", trial_label(t, i, label, sizeof(label)),
                     run->over);
    }
}

static void print_failures(const struct trial *t, FILE *out)
{
    char label[LABEL_MAX];
    bool any = false;

    for (size_t i = 0; i < t->n_runs; i++) {
        const struct trial_run *run = &t->runs[i];

        if (run->status == TRIAL_OK)
            continue;
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

static void print_line(void *arg, const char *line)
{
    quote_printf(arg, "    %s\n", line);
}

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
    words = trial_words(t, choice, NULL);
    fputs("or:\n   ", out);
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
    for (size_t i = 0; i < t->n_configs; i++)
        print_arm(t, i, width, out);
    print_over(t, out);
    print_failures(t, out);
    print_choice(t, out);
}

static int write_one(const struct trial *t, const char *dir, const char *name,
                     void (*show)(const struct trial *t, FILE *out),
                     struct jp_error *err)
{
    char *path = fileio_path("%s/%s", dir, name);
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
