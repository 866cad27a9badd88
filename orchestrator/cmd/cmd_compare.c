/* cmd_compare.c - `jobprof compare`: show whether a step is slower than another
 * step, or than a baseline.
 *
 * report/compare.c compares and prints; this file loads the two reports and
 * turns the result into an exit status. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/figure.h"
#include "common/num.h"
#include "common/plan.h"
#include "common/quote.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_compare.h"
#include "orchestrator/cmd/cmd_inputs.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/report/baseline_file.h"
#include "orchestrator/report/compare.h"
#include "orchestrator/report/summary_file.h"

#define THRESHOLD                                                              \
    10 /* percent; normal variation between runs on a shared fabric */
#define MAX_THRESHOLD 10000

struct arguments {
    const char *words[2]; /* A and B */
    const char *config;
    uint64_t threshold; /* in percent */
    bool json, week, best;
    struct earlier_found found; /* of B alone: what A is */
};

static int fail(int status, const char *what, const char *why)
{
    quote_printf(stderr, "jobprof: compare: %s%s%s\n", what, *what ? ": " : "",
                 why);
    return status;
}

/* "10" or "10%" */
static int take_threshold(void *arguments, const struct cmd_option *row,
                          char *text, struct jp_error *err)
{
    struct arguments *a = arguments;
    size_t n = strlen(text);

    if (n && text[n - 1] == '%')
        text[n - 1] = '\0';
    return num_parse_u64(text, row->min, row->max, &a->threshold, err);
}

static const struct cmd_option rows[] = {
    {"threshold", "PCT", "a larger difference counts as slower or faster (10)",
     OPT_TAKE(take_threshold), .min = 1, .max = MAX_THRESHOLD},
    {"last-week", NULL,
     "compare B with the report of the same job name, ranks and nodes of a "
     "week "
     "before (4 to 10 days)",
     OPT_FLAG(week)},
    {"best", NULL,
     "compare B with the fastest earlier report of the same job name, ranks "
     "and "
     "nodes (by the time of a step of the program's loop); also without A",
     OPT_FLAG(best)},
    {"json", NULL, "print JSON", OPT_FLAG(json)},
    {"config", "FILE", "the site's settings", OPT_TEXT(config)},
};

static const struct cmd_options command_line = {
    .command = "compare",
    .about = "usage: jobprof compare [options] [A] B\n\n"
             "Compare the report of step B with that of A: the median time of "
             "each type of communicator, function and size, and the findings. "
             "A and B are step directories, or JOBID.STEP; both have a report. "
             "A may be a file of jobprof baseline: then the network's "
             "bandwidth is compared. Without A, an earlier report is looked "
             "for beside B's job and in the user's lines of the site's "
             "history.\n",
    CMD_ROWS(rows),
    .end =
        "Exit status: 0 not slower, 1 something is slower or a finding is new, "
        "2 usage, 3 a report's data is incomplete: nothing counts as slower, "
        "and only a new hang gives status 1, 4 a report has no data, or the "
        "reports have nothing in common, 5 input or output failed.\n",
    .least = 1,
    .most = 2,
    .need = "takes two reports, A and B, or B alone",
};

/* Loads the summary of the step that word means, which must be a single one.
 * Returns an exit status. Free *summary, zeros before, with summary_file_fini.
 */
static int load(const char *word, const char *config,
                struct summary_file *summary)
{
    struct jp_error err = {""};
    char **dirs = NULL;
    size_t n = 0;
    int rc = JP_EXIT_OK;

    if (cmd_inputs_steps(word, config, &dirs, &n, &err) < 0)
        /* err already names the argument */
        return fail(JP_EXIT_USAGE, "", err.text);
    if (n != 1)
        rc = fail(JP_EXIT_USAGE, word, "the job has several steps; name one");
    else if (summary_file_read(dirs[0], SUMMARY_WITHOUT_TABLES, summary, &err) <
             0)
        rc = fail(JP_EXIT_IO, word, err.text);
    nodelist_free(dirs, n);
    return rc;
}

/* Something slower or a new finding takes precedence over missing data. */
static int exit_status(const struct jp_comparison *what,
                       const struct jp_compared *done)
{
    if (done->slower || done->slower_answer || done->n_fresh)
        return JP_EXIT_FINDINGS;
    if ((what->a && summary_file_is(what->a, "NODATA")) ||
        summary_file_is(what->b, "NODATA") || done->has_nothing)
        return JP_EXIT_NODATA;
    return done->incomplete ? JP_EXIT_INCOMPLETE : JP_EXIT_OK;
}

/* Compares and prints. baseline: replaces A's summary, or NULL. Returns an exit
 * status. */
static int compare(const struct arguments *a,
                   const struct summary_file sides[2],
                   const struct jp_baseline *baseline)
{
    const struct jp_comparison what = {.a = baseline ? NULL : &sides[0],
                                       .baseline = baseline,
                                       .b = &sides[1],
                                       .threshold = (double) a->threshold / 100,
                                       .names = {a->words[0], a->words[1]},
                                       .json = a->json};
    struct jp_compared done;
    struct jp_error err;

    /* reports of early releases lack these rows */
    if (baseline && !sides[1].network)
        return fail(
            JP_EXIT_IO, a->words[1],
            "its report has no cells of the network; run jobprof report again");
    return compare_print(&what, stdout, &done, &err) < 0
               ? fail(JP_EXIT_IO, "", err.text)
               : exit_status(&what, &done);
}

/* Whether the word names a file, which must be a baseline. */
static bool is_file(const char *word)
{
    struct stat st;

    return stat(word, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* Returns an exit status after printing the error. */
static int load_baseline(const char *word, struct jp_baseline *baseline)
{
    struct jp_error err;

    return baseline_file_read(word, false, baseline, &err) < 0
               ? fail(JP_EXIT_IO, "", err.text)
               : JP_EXIT_OK;
}

/* Prints on stderr which report A is. */
static void tell_earlier(const struct arguments *a)
{
    const struct earlier_found *f = &a->found;

    if (a->week)
        quote_printf(stderr, "jobprof: compared with %s, of %s\n", f->dir,
                     f->when);
    else
        quote_printf(stderr,
                     "jobprof: compared with %s, of %s: the fastest of %s "
                     "earlier report%s of \"%s\" with %s ranks (%s a step)\n",
                     f->dir, f->when, FIG_COUNT(f->of), plural(f->of), f->name,
                     FIG_COUNT(f->n_ranks), FIG_US(f->period_us));
}

/* Finds A for B alone. Returns an exit status. */
static int find_earlier(struct arguments *a)
{
    struct jp_sitefile site = {0};
    struct jp_error err = {""};
    char **dirs = NULL;
    size_t n = 0;
    int rc;

    if (cmd_inputs_steps(a->words[1], a->config, &dirs, &n, &err) < 0)
        return fail(JP_EXIT_USAGE, "", err.text);
    if (n != 1) {
        nodelist_free(dirs, n);
        return fail(JP_EXIT_USAGE, a->words[1],
                    "the job has several steps; name one");
    }
    /* without a site file there is no history */
    if (plan_load_site(a->config, &site, NULL) < 0)
        site = (struct jp_sitefile){0};
    rc = earlier_find(dirs[0], a->config, &site,
                      a->week ? EARLIER_WEEK : EARLIER_BEST, &a->found, &err);
    nodelist_free(dirs, n);
    sitefile_fini(&site);
    if (rc <= 0)
        return fail(rc < 0 ? JP_EXIT_IO : JP_EXIT_NODATA, a->words[1],
                    err.text);
    a->words[0] = a->found.dir;
    tell_earlier(a);
    return JP_EXIT_OK;
}

int cmd_compare(int argc, char **argv)
{
    struct arguments a = {.threshold = THRESHOLD};
    struct summary_file sides[2] = {0};
    struct jp_baseline baseline = {0};
    int rc = cmd_options_parse(&command_line, argc, argv, &a);
    bool based;

    if (rc >= 0)
        return rc;
    if (a.week && a.best)
        return cmd_options_usage(&command_line,
                                 "give either --last-week or --best");
    if (argc - optind == 2 && (a.week || a.best))
        return cmd_options_usage(&command_line,
                                 "--last-week and --best take B alone");
    a.words[1] = argv[argc - 1];
    a.words[0] = argv[optind];
    if (argc - optind == 1) {
        rc = find_earlier(&a);
        if (rc != JP_EXIT_OK)
            return rc;
    }
    /* only A may be a baseline: B is the step in question */
    based = is_file(a.words[0]);
    rc = based ? load_baseline(a.words[0], &baseline)
               : load(a.words[0], a.config, &sides[0]);
    if (rc == JP_EXIT_OK)
        rc = load(a.words[1], a.config, &sides[1]);
    if (rc == JP_EXIT_OK)
        rc = compare(&a, sides, based ? &baseline : NULL);
    baseline_fini(&baseline);
    summary_file_fini(&sides[0]);
    summary_file_fini(&sides[1]);
    free(a.found.dir);
    return rc;
}
