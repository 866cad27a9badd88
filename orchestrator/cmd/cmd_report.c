/* cmd_report.c - the command line of `jobprof report`, and the output in the
 * formats of other tools.
 *
 * The way through it: report_word finds the steps, report_dir opens a session
 * for one of them, run_session waits for its turn, and make_and_show makes the
 * report and what follows it. cmd_report.h describes the other two files. Three
 * kinds of callers share this code: a user, srun at the end of a step, and a
 * watcher on a node in case srun was killed. Messages are for users; srun
 * and the watcher write theirs to the step's log. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/statvfs.h>

#include "common/defaults.h"
#include "common/figure.h"
#include "common/fileio.h"
#include "common/num.h"
#include "common/quote.h"
#include "common/sitelog.h"
#include "orchestrator/agent/agent.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_args.h"
#include "orchestrator/cmd/cmd_inputs.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/cmd/cmd_report.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/collect/slurmask.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/export/export.h"
#include "orchestrator/feature/feature.h"
#include "orchestrator/report/report.h"
#include "orchestrator/report/summary_file.h"

struct arguments {
    struct report_options report;
    const char *word; /* the step, or the job */
};

static int take_fail_on(void *arguments, const struct cmd_option *row,
                        char *word, struct jp_error *err)
{
    struct arguments *a = arguments;

    (void) row;
    /* the words are in order, the worst first */
    for (int i = JP_VERDICT_HANG; i < JP_VERDICT_OK; i++)
        if (strcasecmp(word, verdict_word_name((enum jp_verdict_word) i)) ==
            0) {
            a->report.fail_on = i;
            return 0;
        }
    return error_set(err,
                     "%s is not a verdict that can fail a run (HANG, FAILED, "
                     "SLOW, DEGRADED, INCOMPLETE, NODATA, UNJUDGED)",
                     QUOTE(word));
}

/* For --at-exit and --watch, whose kind of caller is row->min. */
static int take_step(void *arguments, const struct cmd_option *row, char *dir,
                     struct jp_error *err)
{
    struct arguments *a = arguments;

    (void) err;
    a->report.kind = (enum report_kind) row->min;
    a->word = dir;
    return 0;
}

/* For a format of other tools; row->max is its bit. */
static int take_format(void *arguments, const struct cmd_option *row,
                       char *value, struct jp_error *err)
{
    (void) value;
    (void) err;
    ((struct arguments *) arguments)->report.formats |= (uint32_t) row->max;
    return 0;
}

static const struct cmd_option first_rows[] = {
    {"json", NULL, "print summary.json on standard output",
     OPT_FLAG(report.json)},
    {"png", NULL, "also render the plots (needs gnuplot)",
     OPT_FLAG(report.png)},
    {"exporter-layout", NULL,
     "also write JOBID-insp/, the tree of NCCL Inspector's exporter (pictures "
     "need gnuplot)",
     OPT_FLAG(report.exporter)},
};
static const struct cmd_option last_rows[] = {
    {"paths", NULL,
     "print your absolute paths: command, working directory, settings (by "
     "default only their last part)",
     OPT_FLAG(report.paths)},
    {"missing", NULL,
     "for a site's epilog: only steps without a report, and no other program "
     "is started, such as gnuplot or the history's command; uploads wait",
     OPT_FLAG(report.missing)},
    {"fail-on", "WORD",
     "exit 1 if the verdict is WORD or worse: UNJUDGED, NODATA, INCOMPLETE, "
     "DEGRADED, SLOW, FAILED, HANG",
     OPT_TAKE(take_fail_on)},
    {"baseline", "FILE",
     "compare the network with this baseline (jobprof baseline) instead of the "
     "site's",
     OPT_TEXT(report.baseline)},
    {"config", "FILE", "the site's settings", OPT_TEXT(report.config)},
    {"at-exit", "DIR", NULL, OPT_TAKE(take_step), .min = REPORT_SRUN},
    {"watch", "DIR", NULL, OPT_TAKE(take_step), .min = REPORT_WATCHER},
    {"hash", "SUM", NULL, OPT_TEXT(report.hash)},
    {"site", "FILE", NULL, OPT_TEXT(report.site)},
    {"quiet", NULL, "print no verdict", OPT_FLAG(report.quiet), .letter = 'q'},
    {"verbose", NULL, "print what is being done", OPT_FLAG(report.verbose),
     .letter = 'v'},
};

enum {
    FIRST_ROWS = sizeof(first_rows) / sizeof(*first_rows),
    LAST_ROWS = sizeof(last_rows) / sizeof(*last_rows)
};
static struct cmd_option rows[FIRST_ROWS + FEATURES_MAX + LAST_ROWS];

/* Its rows are complete after list_rows. */
static struct cmd_options command_line = {
    .command = "report",
    .about =
        "usage: jobprof report [options] DIR|JOBID[.STEP]\n\n"
        "Write the report of a step (DIR is its directory), or of all steps of "
        "a job, from the files of its nodes, at any time and as often as "
        "needed. JOBID is looked up by the site's and your dir setting, in the "
        "current folder, and in the job's working directory as Slurm knows it. "
        "If DIR has the folders of several jobs, jobprof-index.html is written "
        "too: one page over their reports, the worst job first.\n",
    .rows = rows,
    .end = "Exit status: 0 ok, 1 verdict at or over --fail-on, 2 usage, 3 "
           "incomplete data or not yet analysed, 4 no data, 5 input or output "
           "failed. At the end of a step srun runs `report --at-exit DIR`. Its "
           "last node runs `report --watch DIR` in case srun does not. Both "
           "pass --hash SUM of job.conf, and --site FILE for the limits.\n",
    .most = 1,
    .need = "needs one DIR or JOBID[.STEP]",
};

/* Lists the options of the command and of formats. */
static void list_rows(void)
{
    size_t n = FIRST_ROWS;

    memcpy(rows, first_rows, sizeof(first_rows));
    n += cmd_args_format_rows(&rows[n], FEATURES_MAX, take_format);
    memcpy(&rows[n], last_rows, sizeof(last_rows));
    command_line.n_rows = n + LAST_ROWS;
}

/* Returns -1 to continue, otherwise an exit status. */
static int parse_arguments(int argc, char **argv, struct arguments *a)
{
    int rc;

    list_rows();
    rc = cmd_options_parse(&command_line, argc, argv, a);
    if (rc >= 0)
        return rc;
    /* the step is either a word or the value of --at-exit or --watch */
    if ((argc - optind == 1) == (a->word != NULL))
        return cmd_options_usage(&command_line, command_line.need);
    if (!a->word)
        a->word = argv[optind];
    else if (a->report.missing)
        return cmd_options_usage(&command_line, command_line.need);
    a->report.outside = a->report.missing || a->report.kind == REPORT_WATCHER;
    if (a->report.missing) /* root's epilog names it */
        a->report.site = a->report.config;
    return -1;
}

/* Whether the step used NCCL; if not, known issues of NCCL do not matter. */
static bool has_used_nccl(const char *dir)
{
    struct summary_file s;
    bool used;

    summary_file_read(dir, SUMMARY_WITHOUT_TABLES, &s, NULL);
    used = json_count_or(s.quality.records, 0) ||
           json_count_or(s.quality.in_flight, 0);
    summary_file_fini(&s);
    return used;
}

/* Prints the known issues of the NCCL release that srun has found at the step's
 * start. */
static void tell_known_issues(const struct report_session *session)
{
    const char *line = session->has_conf ? session->conf.known_issues : NULL;

    if (line && *line && has_used_nccl(session->dir))
        quote_printf(stderr, "jobprof: %s\n", line);
}

/* Tells what went wrong: the user, or the site under whose default the step was
 * profiled. A watcher has no terminal; it writes to the step's log. */
static void tell_caller(const struct report_session *session,
                        const char *format, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    if (session->options->kind == REPORT_SRUN && session->has_conf &&
        !session->conf.explicit_request)
        sitelog("%s", text);
    else if (session->options->kind != REPORT_WATCHER)
        quote_printf(stderr, "jobprof: %s\n", text);
}

/* Prints the parts of a finished report that the caller sees. */
static int show_report(const struct report_session *session)
{
    const struct report_options *options = session->options;
    /* srun's reader stands in the folder of the job, this process does not */
    bool by_id = options->kind == REPORT_SRUN && session->has_conf &&
                 first_screen_by_id(&session->conf);
    enum jp_summary how = JP_SUMMARY_AUTO;
    struct jp_error err;

    /* another process is about to remove it (remember) */
    if (options->kind != REPORT_USER && session->has_conf &&
        session->conf.hidden && *session->conf.final_dir &&
        strcmp(session->dir, session->conf.final_dir) != 0)
        return JP_EXIT_OK;
    if (session->has_conf)
        how = session->conf.summary;
    if (options->kind == REPORT_USER && how == JP_SUMMARY_OFF)
        how = JP_SUMMARY_AUTO; /* off concerns only srun's own line */
    /* the nodes have printed the reason at the step's start */
    if (options->kind == REPORT_SRUN && session->told)
        return JP_EXIT_OK;
    /* a watcher has no terminal */
    if (options->kind != REPORT_WATCHER && !options->quiet &&
        stepdir_has(session->dir, JP_SUMMARY_NAME)) {
        if (report_print_line(session->dir, how, by_id, stderr, &err) < 0)
            tell_caller(session, "%s", err.text);
        else if (options->kind == REPORT_SRUN && how != JP_SUMMARY_OFF)
            tell_known_issues(session);
    }
    return options->json && cmd_args_print_summary(session->dir) < 0
               ? JP_EXIT_IO
               : JP_EXIT_OK;
}

/* Draws pictures last and without the claim, so that no process waits for
 * them. */
static int draw_plots(const struct report_session *session)
{
    struct jp_error err;

    /* a report of another process has its own pictures */
    if (!session->options->png || !session->written ||
        report_draw(session->dir, &err) == 0)
        return JP_EXIT_OK;
    quote_printf(stderr, "jobprof: %s\n", err.text);
    return JP_EXIT_IO;
}

/* --- after a report: the formats of other tools, if requested ------------ */

/* Upper bound of the bytes of Inspector's lines per byte of the recorder's
 * compressed files: 469 bytes for 11 were measured (docs/dev/measurements.md).
 */
#define GROWTH 64

/* Logs that a format is missing, and prints it if a user waits for it. */
static void warn_of_format(const struct report_session *session,
                           const char *what, const char *why)
{
    stepdir_log(session->dir, "%s: %s", what, why);
    if (!session->options->quiet)
        tell_caller(session, "%s: %s", what, why);
}

/* The formats of other tools that the tables also get, by option or by
 * setting. */
static uint32_t wanted_formats(const struct report_session *session)
{
    uint32_t formats = session->options->formats;

    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->format &&
            report_session_enabled(session, feature_registry[i]->name))
            formats |= UINT32_C(1) << i;
    return formats;
}

/* Writes the exporter's tree from the result in memory. */
static int write_exporter(const struct report_session *session)
{
    uint64_t job = session->has_conf ? session->conf.job_id : 0;
    /* srun's lines should not be pushed away by details */
    const struct cmd_exporter how = {
        .quiet = session->options->quiet ||
                 session->options->kind != REPORT_USER,
        .no_pictures = session->options->outside
                           ? "gnuplot does not run outside of the job"
                           : NULL};
    char *dir = job ? text_format("%s/%" PRIu64 "-insp", session->dir, job)
                    : text_format("%s/insp", session->dir);
    struct jp_error err = {"out of memory"};
    char *raw = text_format("%s/raw", session->dir);
    const char *inputs[] = {raw};
    int rc = raw && dir && fileio_mkdirs(dir, &err) == 0
                 ? cmd_args_exporter(session->result, dir, &how)
                 : -1;

    /* these files are made from the logs, which gc may have removed; reading
     * them once more is too long for a report that somebody waits for, unless
     * such a format was asked for */
    if (rc == 0 &&
        (session->options->kind == REPORT_USER || wanted_formats(session)) &&
        stepdir_has(session->dir, "raw"))
        rc = feature_write_logs(inputs, 1, dir, &err);

    if (rc < 0)
        warn_of_format(session, "no exporter tree",
                       dir ? err.text : "out of memory");
    free(raw);
    free(dir);
    return rc;
}

/* Writes the tables of csv/ in other formats, too. */
static int write_formats(const struct report_session *session)
{
    const struct feature *failed = NULL;
    struct jp_error err;
    char what[96];
    int rc = feature_write_formats(wanted_formats(session), session->dir,
                                   &failed, &err);

    if (rc < 0) {
        snprintf(what, sizeof(what), "not all tables were written as %s",
                 failed->title);
        warn_of_format(session, what, err.text);
    }
    return rc;
}

/* Whether the time limit has run out: reports of srun and the watcher are
 * killed soon after it. */
static int is_over(void *arg)
{
    const struct report_session *session = arg;

    return session->deadline_ms && clock_mono_ms() > session->deadline_ms;
}

/* Checks that the logs leave min_free= bytes on the file system. Returns -1 and
 * err if not; without an answer of the file system, 0. */
static int check_room(const struct report_session *session,
                      const struct jp_recwalk *walk, struct jp_error *err)
{
    const char *text =
        session->has_conf ? jobconf_find(&session->conf, "min_free") : NULL;
    uint64_t keep = 0, wanted = num_mul(walk->walk.bytes, GROWTH);
    struct statvfs fs;

    /* keep stays 0 without the setting */
    num_parse_size(text, 0, UINT64_MAX, &keep, NULL);
    if (statvfs(session->dir, &fs) < 0 ||
        num_add(wanted, keep) <=
            num_mul((uint64_t) fs.f_bavail, (uint64_t) fs.f_frsize))
        return 0;
    return error_set(err, "they may take %s, but min_free= must stay free",
                     FIG_BYTES(wanted));
}

/* Writes the recorder's files as logs of Inspector. */
static int write_logs(struct report_session *session)
{
    char *raw = text_format("%s/raw", session->dir);
    char *dir = text_format("%s/inspector-logs", session->dir);
    const char *inputs[] = {raw};
    struct export_done done = {0};
    struct jp_recwalk walk = {.look = is_over, .look_arg = session};
    struct jp_error err = {"out of memory"};
    int rc = -1;

    if (raw && dir && recwalk_init(&walk, inputs, 1, &err) == 0) {
        rc = check_room(session, &walk, &err);
        if (rc == 0)
            rc = export_inspector(&walk, dir, NULL, &done, &err);
        /* the files written so far stay */
        if (rc == 0 && walk.stopped)
            rc = error_set(&err,
                           "time ran out after %" PRIu64
                           " files; jobprof export inspector writes all",
                           done.files);
        recwalk_fini(&walk);
    }
    if (rc < 0)
        warn_of_format(session, "not all Inspector logs were written",
                       err.text);
    free(raw);
    free(dir);
    return rc;
}

/* Writes the requested formats of other tools, after the verdict and without
 * the claim. step-ID/JOBID-insp/ is the exporter's tree,
 * step-ID/inspector-logs/ has the recorder's files as Inspector's logs, and
 * step-ID/NAME/ has the tables in the format of that name. Errors are printed
 * and logged; they never change the report. Returns -1 if something is
 * missing. */
static int write_more(struct report_session *session)
{
    int rc = 0;

    if (write_formats(session) < 0)
        rc = -1;
    if (report_session_enabled(session, "inspector_logs") &&
        stepdir_has(session->dir, "raw") && write_logs(session) < 0)
        rc = -1;
    /* the result is kept only if the exporter's tree is wanted */
    if (session->result && write_exporter(session) < 0)
        rc = -1;
    return rc;
}

/* --- report one step, or all that the argument means --------------------- */

/* Starts what follows the report at this time. */
static void start_following(const struct report_session *session,
                            const char *site, enum command_when when)
{
    for (size_t i = 0; command_registry[i]; i++)
        if (command_registry[i]->follow && command_registry[i]->when == when)
            command_registry[i]->follow(session->dir, site,
                                        session->options->outside);
}

/* Adds the line of a step that leaves nothing else, then removes its directory.
 * Nothing is printed. Returns an exit status. */
static int report_to_history(struct report_session *session, const char *site)
{
    struct jp_error err;

    start_following(session, site, COMMAND_AT_ONCE);
    if (report_settle_remove(session, &err) < 0)
        stepdir_log(session->dir, "cannot be removed: %s", err.text);
    return JP_EXIT_NODATA;
}

/* Makes the report while holding the claim, then everything that needs no
 * claim. Returns an exit status, or REPORT_LOST. */
static int make_and_show(struct report_session *session)
{
    const struct report_options *options = session->options;
    const char *site = options->site ? options->site : options->config;
    int rc;

    if (options->verbose)
        quote_printf(stderr, "jobprof: reading %s/raw\n", session->dir);
    rc = report_make(session);
    if (session->passing && session->written)
        return report_to_history(session, site);
    /* the reader of our output may be slow or gone */
    claim_release(session->claim);
    session->claim = NULL;
    if (rc != REPORT_LOST && rc != JP_EXIT_IO &&
        (show_report(session) != JP_EXIT_OK ||
         draw_plots(session) != JP_EXIT_OK))
        rc = JP_EXIT_IO;
    /* before the other formats, because Slurm may end this process with the job
     */
    if (session->written)
        start_following(session, site, COMMAND_AT_ONCE);
    if (session->written && write_more(session) < 0 &&
        options->kind == REPORT_USER)
        rc = JP_EXIT_IO;
    /* a user sends a report with `jobprof upload` */
    if (session->written && options->kind != REPORT_USER)
        start_following(session, site, COMMAND_AT_END);
    return rc;
}

/* Waits for the session's turn until there is a result. Returns an exit status.
 */
static int run_session(struct report_session *session)
{
    struct jp_error err;
    int rc = REPORT_LOST;

    /* after a stolen claim, wait again: the thief may be stopped as well */
    while (rc == REPORT_LOST) {
        switch (report_turn_wait(session, &err)) {
        case REPORT_OURS:
            rc = make_and_show(session);
            break;
        case REPORT_DONE:
            rc = show_report(session);
            break;
        case REPORT_GONE:
            rc = JP_EXIT_OK;
            break;
        case REPORT_LATE:
            tell_caller(
                session,
                "%s: its report is still being written by another process",
                session->dir);
            rc = JP_EXIT_INCOMPLETE;
            break;
        case REPORT_FAILED:
            tell_caller(session, "%s", err.text);
            rc = JP_EXIT_IO;
            break;
        }
    }
    return rc;
}

/* Whether it was a hidden step without records, which the watcher may
 * remove. */
static bool was_hidden(const char *dir)
{
    char *job = stepdir_job_dir(dir);
    const char *base = job ? strrchr(job, '/') : NULL;
    bool hidden = base && base[1] == '.';

    free(job);
    return hidden;
}

/* Reports one step. Returns an exit status. */
static int report_dir(const char *dir, const struct report_options *options)
{
    struct report_session session;
    struct jp_error err;
    int rc = report_session_init(&session, dir, options, &err);

    if (rc < 0) {
        /* a hidden step may be removed at any time, which is no error */
        bool quiet = options->kind == REPORT_WATCHER ||
                     (options->kind == REPORT_SRUN && was_hidden(dir));

        if (!quiet)
            quote_printf(stderr, "jobprof: %s\n", err.text);
        report_session_fini(&session);
        return options->kind == REPORT_USER ? JP_EXIT_USAGE : JP_EXIT_IO;
    }
    if (rc > 0)
        tell_caller(&session, "%s (the report is made without it)", err.text);
    if (rc > 0)
        stepdir_log(session.dir, "%s", err.text);
    /* a helper of a job must not use more than its share of the node */
    if (options->kind != REPORT_USER &&
        confine_self(options->kind == REPORT_WATCHER ? CONFINE_WATCHER
                                                     : CONFINE_REPORT,
                     &session.policy, &err) < 0)
        stepdir_log(session.dir, "%s", err.text);
    rc = run_session(&session);
    /* a user's report of several steps does this once, in the end */
    if (options->kind != REPORT_USER && session.written && session.has_kin) {
        char *job = stepdir_job_dir(session.dir);

        if (job)
            (void) report_job(job, &session, options);
        free(job);
    }
    report_session_fini(&session);
    return rc;
}

/* Makes an overview page for a folder of jobs. */
static int report_folder(const char *folder,
                         const struct report_options *options)
{
    struct report_jobs_done done;
    struct jp_error err;

    if (report_jobs(folder, &done, &err) < 0) {
        quote_printf(stderr, "jobprof: %s\n", err.text);
        return JP_EXIT_IO;
    }
    if (!options->quiet)
        quote_printf(stderr, "jobprof: %zu job%s, the worst is %s: %s/%s\n",
                     done.jobs, plural(done.jobs),
                     verdict_word_name(done.worst), folder, REPORT_JOBS_NAME);
    return (int) done.worst <= options->fail_on ? JP_EXIT_FINDINGS : JP_EXIT_OK;
}

/* Whether the word is a folder of several jobs, none of whose steps it names.
 */
static bool is_folder_of_jobs(const char *word)
{
    return !stepdir_has(word, JP_JOBCONF_NAME) && !stepdir_has(word, "raw") &&
           !stepdir_has(word, "job.json") && report_jobs_is_folder(word);
}

/* Whether Slurm says that the step's job still runs. A job that is being ended
 * does not: an epilog belongs to its end. */
static bool is_job_running(const char *dir)
{
    struct jp_jobconf conf;
    struct slurmjob job;
    bool runs = false;

    if (jobconf_read_step(dir, NULL, &conf, NULL) == 0) {
        runs =
            conf.job_id <= UINT32_MAX &&
            slurmjob_get((uint32_t) conf.job_id, JP_SLURMJOB_LAUNCH_MS, &job) &&
            job.uid == conf.uid && job.state == SLURMJOB_RUNNING;
        jobconf_fini(&conf);
    }
    return runs;
}

/* Reports a step as the watcher does: it leaves a living srun the time for its
 * own report. */
static int report_missing(const char *dir, const struct report_options *options)
{
    struct report_options watcher = *options;

    watcher.kind = REPORT_WATCHER;
    if (stepdir_has(dir, JP_SUMMARY_NAME))
        return JP_EXIT_OK;
    if (is_job_running(dir)) {
        if (!options->quiet)
            quote_printf(stderr, "jobprof: %s: its job still runs\n", dir);
        return JP_EXIT_INCOMPLETE;
    }
    return report_dir(dir, &watcher);
}

/* Reports all steps that word means. Returns the worst exit status; findings
 * take precedence over all others. */
static int report_word(const char *word, const struct report_options *options)
{
    struct jp_error err;
    char **dirs = NULL, *job = NULL;
    size_t n = 0;
    int rc = JP_EXIT_OK;

    if (options->kind != REPORT_USER)
        return report_dir(word, options);
    if (!options->missing && is_folder_of_jobs(word))
        return report_folder(word, options);
    if (cmd_inputs_steps(word, options->config, &dirs, &n, &err) < 0) {
        quote_printf(stderr, "jobprof: %s\n", err.text);
        return JP_EXIT_USAGE;
    }
    if (n)
        job = stepdir_job_dir(dirs[0]);
    for (size_t i = 0; i < n; i++) {
        int one = options->missing ? report_missing(dirs[i], options)
                                   : report_dir(dirs[i], options);

        if (rc != JP_EXIT_FINDINGS && (one == JP_EXIT_FINDINGS || one > rc))
            rc = one;
    }
    if (job && !options->missing && stepdir_has(job, "job.json"))
        (void) report_job(job, NULL, options);
    free(job);
    nodelist_free(dirs, n);
    return rc;
}

int cmd_report(int argc, char **argv)
{
    struct arguments a = {.report = {.kind = REPORT_USER, .fail_on = -1}};
    struct cmd_expect expect;
    struct jp_error err;
    int rc = parse_arguments(argc, argv, &a);

    if (rc >= 0)
        return rc;
    if (a.report.outside && outside_begin(&err) < 0) {
        quote_printf(stderr, "jobprof: %s\n", err.text);
        return JP_EXIT_IO;
    }
    /* a kernel without seccomp: this program starts none all the same */
    if (a.report.outside)
        outside_forbid_programs(NULL);
    /* the files are read once for all steps */
    if (cmd_expect_load(a.report.config, a.report.baseline, &expect, &err) <
        0) {
        quote_printf(stderr, "jobprof: %s\n", err.text);
        rc = JP_EXIT_USAGE;
    } else {
        if (*expect.trouble.text && a.report.kind == REPORT_USER)
            quote_printf(
                stderr,
                "jobprof: %s (the site's expected bandwidths are incomplete)\n",
                expect.trouble.text);
        a.report.expect = &expect;
        rc = report_word(a.word, &a.report);
    }
    cmd_expect_fini(&expect);
    return rc;
}
