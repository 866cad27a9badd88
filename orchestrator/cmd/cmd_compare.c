/* cmd_compare.c - `jobprof compare`: show whether a step is slower than another
 * step, an earlier one of the same program, or a baseline.
 *
 * report/compare.c compares and prints; this file finds and loads the two
 * reports and turns the result into an exit status.
 *
 * Candidates for an earlier report are the steps of the jobs' directories that
 * lie beside the step's own, and jobs of the same name that a command has kept
 * (history). A candidate counts if its summary.json has the same job name,
 * number of ranks and nodes, and if it is older. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "common/num.h"
#include "common/plan.h"
#include "common/quote.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_inputs.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/report/baseline_file.h"
#include "orchestrator/report/compare.h"
#include "orchestrator/report/summary_file.h"

/* --- an earlier report of the same program ------------------------------- */

/* Which of the earlier reports of the same job name, number of ranks and
 * nodes. */
enum earlier {
    EARLIER_NONE,
    EARLIER_WEEK, /* 4 to 10 days before, the closest to 7 */
    EARLIER_BEST  /* the shortest step of the program's loop */
};

/* The report that was found. */
struct earlier_found {
    char *dir;        /* of its step; owned by the caller */
    size_t of;        /* comparable reports that were looked at */
    double period_us; /* of a step of its loop; NAN: unknown */
    double own_us;    /* of the step itself */
    char name[128];   /* of the jobs */
    char when[64];    /* "2026-11-21 22:13:20 UTC" */
    size_t n_ranks;
};

#define DAY_US INT64_C(86400000000)
/* Reports that are read; more would take too long. */
#define REPORTS_READ 2000
/* Jobs of the same name that are looked for elsewhere. */
#define JOBS_LOOKED 50

/* What decides whether two steps are comparable. */
struct facts {
    char name[128];
    uint64_t job, restart, n_ranks, nodes, created_us;
    char step[64];
    double period_us; /* NAN: unknown */
    bool whole;       /* its data is complete enough for a comparison */
};

struct search {
    struct facts own;
    enum earlier which;
    const char *config;
    struct earlier_found best;
    int64_t best_off_us; /* from a week before */
    size_t read;
    /* jobs of the same name that commands know of, such as the history */
    char *jobs[JOBS_LOOKED];
    size_t n_jobs;
};

/* Reads the facts of a report. Returns -1 and err if it cannot be read. */
static int read_facts(const char *dir, struct facts *f, struct jp_error *err)
{
    struct summary_file s;

    if (summary_file_read(dir, SUMMARY_WITHOUT_TABLES, &s, err) < 0)
        return -1;
    *f = (struct facts){.period_us = s.iteration.period_us,
                        .whole = !summary_file_is(&s, "INCOMPLETE") &&
                                 !summary_file_is(&s, "NODATA"),
                        .job = json_count_or(s.job.id, 0),
                        .restart = json_count_or(s.job.restart, 0),
                        .n_ranks = json_count_or(s.job.ntasks, 0),
                        .nodes = json_count_or(s.job.nodes, 0),
                        .created_us = json_count_or(s.job.created_us, 0)};
    snprintf(f->name, sizeof(f->name), "%.*s", (int) sizeof(f->name) - 1,
             s.job.name);
    snprintf(f->step, sizeof(f->step), "%.*s", (int) sizeof(f->step) - 1,
             s.job.step);
    summary_file_fini(&s);
    return 0;
}

/* Whether the report is an older one of the same program and size. */
static bool is_comparable(const struct facts *own, const struct facts *f)
{
    bool same = f->job == own->job && f->restart == own->restart &&
                !strcmp(f->step, own->step);

    return !same && f->whole && !strcmp(f->name, own->name) &&
           f->n_ranks == own->n_ranks && f->nodes == own->nodes &&
           f->created_us && f->created_us < own->created_us;
}

/* Whether it is better than the one that was found so far. */
static bool is_better(const struct search *s, const struct facts *f,
                      int64_t off_us)
{
    if (s->which == EARLIER_WEEK)
        return off_us <= 3 * DAY_US &&
               (!s->best.dir || off_us < s->best_off_us);
    return isfinite(f->period_us) && f->period_us > 0 &&
           (!s->best.dir || f->period_us < s->best.period_us);
}

/* Looks at a step's report. Without one it is skipped. Returns -1 without
 * memory. */
static int look_at_step(struct search *s, const char *dir)
{
    int64_t off_us;
    struct facts f;
    char *copy;

    if (s->read == REPORTS_READ || read_facts(dir, &f, NULL) < 0)
        return 0;
    s->read++;
    if (!is_comparable(&s->own, &f))
        return 0;
    s->best.of++;
    off_us = (int64_t) (s->own.created_us - f.created_us) - 7 * DAY_US;
    off_us = off_us < 0 ? -off_us : off_us;
    if (!is_better(s, &f, off_us))
        return 0;
    copy = strdup(dir);
    if (!copy)
        return -1;
    free(s->best.dir);
    s->best.dir = copy;
    s->best.period_us = f.period_us;
    snprintf(s->best.when, sizeof(s->best.when), "%s", FIG_UTC(f.created_us));
    s->best_off_us = off_us;
    return 0;
}

/* Looks at the steps of the jobs beside that of step_dir. */
static int look_beside(struct search *s, const char *step_dir)
{
    char *path = realpath(step_dir, NULL), **dirs = NULL;
    size_t n = 0;
    int rc = 0;

    /* the job's directory, then its folder */
    for (int i = 0; path && i < 2; i++) {
        char *slash = strrchr(path, '/');

        if (slash && slash > path)
            *slash = '\0';
    }
    if (path)
        rc = cmd_inputs_jobs(path, &dirs, &n);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = look_at_step(s, dirs[i]);
    nodelist_free(dirs, n);
    free(path);
    return rc;
}

/* Keeps a job of the same name, the last ones. A callback of
 * command.earlier. */
static int keep_job(void *arg, uint64_t id, const char *step)
{
    struct search *s = arg;
    char *word;

    if (id == s->own.job)
        return 0;
    word = text_format("%" PRIu64 ".%s", id, step);
    if (!word)
        return -1;
    free(s->jobs[s->n_jobs % JOBS_LOOKED]);
    s->jobs[s->n_jobs++ % JOBS_LOOKED] = word;
    return 0;
}

/* Looks at the jobs that commands know of. What cannot be found any more is
 * skipped. */
static int look_in_commands(struct search *s, const struct jp_sitefile *site)
{
    int rc = 0;

    for (size_t i = 0; command_registry[i] && rc == 0; i++)
        if (command_registry[i]->earlier)
            rc = command_registry[i]->earlier(site, s->own.name, keep_job, s);
    for (size_t i = 0; rc == 0 && i < JOBS_LOOKED; i++) {
        char **dirs = NULL;
        size_t n = 0;

        if (s->jobs[i] &&
            cmd_inputs_steps(s->jobs[i], s->config, &dirs, &n, NULL) == 0)
            for (size_t k = 0; rc == 0 && k < n; k++)
                rc = look_at_step(s, dirs[k]);
        nodelist_free(dirs, n);
    }
    for (size_t i = 0; i < JOBS_LOOKED; i++)
        free(s->jobs[i]);
    return rc;
}

/* Looks beside the job's directory of step_dir, and for the user's jobs that
 * commands know of (`earlier` of struct command), by their ids. Returns 1; 0
 * and why (a clause): there is none; or -1 and why: step_dir has no report that
 * can be read. */
static int search_earlier(const char *step_dir, const char *config,
                          const struct jp_sitefile *site, enum earlier which,
                          struct earlier_found *found, struct jp_error *why)
{
    struct search s = {.which = which, .config = config};
    int rc;

    if (read_facts(step_dir, &s.own, why) < 0)
        return -1;
    if (!*s.own.name)
        return error_set(why, "%s: its report names no job", step_dir);
    s.best.period_us = NAN;
    rc = look_beside(&s, step_dir);
    if (rc == 0)
        rc = look_in_commands(&s, site);
    if (rc < 0) {
        free(s.best.dir);
        return error_set(why, "out of memory");
    }
    s.best.own_us = s.own.period_us;
    s.best.n_ranks = s.own.n_ranks;
    snprintf(s.best.name, sizeof(s.best.name), "%s", s.own.name);
    *found = s.best;
    if (s.best.dir)
        return 1;
    if (!s.best.of)
        error_set(
            why,
            "no earlier report of \"%s\" with %s ranks is beside it or in "
            "the history",
            s.own.name, FIG_COUNT(s.own.n_ranks));
    else
        error_set(why, "%s earlier report%s of \"%s\" with %s ranks, none %s",
                  FIG_COUNT(s.best.of), plural(s.best.of), s.own.name,
                  FIG_COUNT(s.own.n_ranks),
                  which == EARLIER_WEEK ? "of 4 to 10 days before"
                                        : "with a known time of a step");
    return 0;
}

/* --- the command ---------------------------------------------------------- */

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
static int load_step(const char *word, const char *config,
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
static int compare_summaries(const struct arguments *a,
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
    rc = search_earlier(dirs[0], a->config, &site,
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
               : load_step(a.words[0], a.config, &sides[0]);
    if (rc == JP_EXIT_OK)
        rc = load_step(a.words[1], a.config, &sides[1]);
    if (rc == JP_EXIT_OK)
        rc = compare_summaries(&a, sides, based ? &baseline : NULL);
    baseline_fini(&baseline);
    summary_file_fini(&sides[0]);
    summary_file_fini(&sides[1]);
    free(a.found.dir);
    return rc;
}
