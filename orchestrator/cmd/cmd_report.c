/* cmd_report.c - the command line of `jobprof report`, and the output in the
 * formats of other tools. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>

#include "common/defaults.h"
#include "common/figure.h"
#include "common/fileio.h"
#include "common/num.h"
#include "common/quote.h"
#include "orchestrator/agent/confine.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_args.h"
#include "orchestrator/cmd/cmd_inputs.h"
#include "orchestrator/cmd/cmd_report.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/export/export.h"
#include "orchestrator/report/report.h"
#include "orchestrator/report/report_jobs.h"
#include "orchestrator/report/summary_file.h"

static const char help[] =
    "usage: jobprof report [options] DIR|JOBID[.STEP]\n"
    "\n"
    "Write the report of a step (DIR is its directory), or of all steps of a\n"
    "job, from the files of its nodes, at any time and as often as needed.\n"
    "JOBID is looked up by the site's and your dir setting, in the current\n"
    "folder, and in the job's working directory as Slurm knows it. If DIR has\n"
    "the folders of several jobs, jobprof-index.html is written too: one\n"
    "page over their reports, the worst job first.\n"
    "\n"
    "  --json           print summary.json on standard output\n"
    "  --png            also render the plots (needs gnuplot)\n"
    "  --exporter-layout  also write JOBID-insp/, the tree of NCCL\n"
    "                   Inspector's exporter (pictures need gnuplot)\n"
    "  --parquet        also write parquet/, the tables of csv/ as Apache\n"
    "                   Parquet; with --exporter-layout also its\n"
    "                   parquet_files/\n"
    "  --paths          print your absolute paths: command, working\n"
    "                   directory, settings (by default only their last\n"
    "                   part)\n"
    "  --fail-on WORD   exit 1 if the verdict is WORD or worse: UNJUDGED,\n"
    "                   NODATA, INCOMPLETE, DEGRADED, SLOW, FAILED, HANG\n"
    "  --baseline FILE  compare the network with this baseline (jobprof\n"
    "                   baseline) instead of the site's\n"
    "  --config FILE    the site's settings\n"
    "  -q, --quiet      print no verdict\n"
    "  -v, --verbose    print what is being done\n"
    "  -h, --help       this text\n"
    "\n"
    "Exit status: 0 ok, 1 verdict at or over --fail-on, 2 usage, 3\n"
    "incomplete data or not yet analysed, 4 no data, 5 input or output\n"
    "failed. At the end of a step srun runs `report --at-exit DIR`. Its last\n"
    "node runs `report --watch DIR` in case srun does not. Both pass --hash\n"
    "SUM of job.conf, and --site FILE for the limits.\n";

enum {
    OPT_JSON = 256,
    OPT_PNG,
    OPT_EXPORTER,
    OPT_PARQUET,
    OPT_PATHS,
    OPT_FAIL_ON,
    OPT_CONFIG,
    OPT_BASELINE,
    OPT_AT_EXIT,
    OPT_HASH,
    OPT_SITE,
    OPT_WATCH
};

static const struct option long_options[] = {
    {"json", no_argument, NULL, OPT_JSON},
    {"png", no_argument, NULL, OPT_PNG},
    {"exporter-layout", no_argument, NULL, OPT_EXPORTER},
    {"parquet", no_argument, NULL, OPT_PARQUET},
    {"paths", no_argument, NULL, OPT_PATHS},
    {"fail-on", required_argument, NULL, OPT_FAIL_ON},
    {"config", required_argument, NULL, OPT_CONFIG},
    {"baseline", required_argument, NULL, OPT_BASELINE},
    {"at-exit", required_argument, NULL, OPT_AT_EXIT},
    {"watch", required_argument, NULL, OPT_WATCH},
    {"hash", required_argument, NULL, OPT_HASH},
    {"site", required_argument, NULL, OPT_SITE},
    {"quiet", no_argument, NULL, 'q'},
    {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {0}};

static int parse_fail_on(const char *word)
{
    for (int i = JP_VERDICT_HANG; i < JP_VERDICT_OK; i++)
        if (strcasecmp(word, verdict_word_name((enum jp_verdict_word) i)) == 0)
            return i;
    quote_printf(
        stderr,
        "jobprof: --fail-on=%s: not a verdict that can fail a run (HANG, "
        "FAILED, SLOW, DEGRADED, INCOMPLETE, NODATA, UNJUDGED)\n",
        word);
    return -1;
}

/* Sets *word to the step named by --at-exit, --watch or the argument. Returns
 * -1 to continue, otherwise an exit status. */
static int parse(int argc, char **argv, struct report_options *options,
                 const char **word)
{
    int c;

    optind = 0;
    while ((c = getopt_long(argc, argv, "qvh", long_options, NULL)) != -1) {
        switch (c) {
        case OPT_JSON:
            options->json = true;
            break;
        case OPT_PNG:
            options->png = true;
            break;
        case OPT_EXPORTER:
            options->exporter = true;
            break;
        case OPT_PARQUET:
            options->parquet = true;
            break;
        case OPT_PATHS:
            options->paths = true;
            break;
        case OPT_CONFIG:
            options->config = optarg;
            break;
        case OPT_BASELINE:
            options->baseline = optarg;
            break;
        case OPT_HASH:
        case OPT_SITE:
            *(c == OPT_HASH ? &options->hash : &options->site) = optarg;
            break;
        case 'q':
            options->quiet = true;
            break;
        case 'v':
            options->verbose = true;
            break;
        case OPT_FAIL_ON:
            options->fail_on = parse_fail_on(optarg);
            if (options->fail_on < 0)
                return JP_EXIT_USAGE;
            break;
        case OPT_AT_EXIT:
        case OPT_WATCH:
            options->kind = c == OPT_WATCH ? REPORT_WATCHER : REPORT_SRUN;
            *word = optarg;
            break;
        case 'h':
            fputs(help, stdout);
            return JP_EXIT_OK;
        default:
            return JP_EXIT_USAGE;
        }
    }
    if (!*word && optind < argc)
        *word = argv[optind++];
    if (*word && optind == argc)
        return -1;
    fprintf(stderr, "jobprof: report needs one DIR or JOBID[.STEP] "
                    "(jobprof report --help)\n");
    return JP_EXIT_USAGE;
}

/* Whether the step used NCCL; if not, known issues of NCCL do not matter. */
static bool has_used_nccl(const char *dir)
{
    json_t *root = summary_file_read(dir, SUMMARY_WITHOUT_TABLES, NULL);
    const json_t *quality = json_object_get(root, "quality");
    uint64_t records = 0, in_flight = 0;
    bool used;

    summary_file_count(quality, "records", &records);
    summary_file_count(quality, "in_flight", &in_flight);
    used = records || in_flight;
    json_decref(root);
    return used;
}

static void tell_known_issues(const struct report_session *session)
{
    const char *line = session->has_conf ? session->conf.known_issues : NULL;

    if (line && *line && has_used_nccl(session->dir))
        quote_printf(stderr, "jobprof: %s\n", line);
}

/* Prints the parts of a finished report that the caller sees. */
static int show(const struct report_session *session)
{
    const struct report_options *options = session->options;
    enum jp_summary how = JP_SUMMARY_AUTO;
    struct jp_error err;

    if (session->has_conf)
        how = session->conf.summary;
    if (options->kind == REPORT_USER && how == JP_SUMMARY_OFF)
        how = JP_SUMMARY_AUTO; /* off concerns only srun's own line */
    if (options->kind == REPORT_SRUN && session->told)
        return JP_EXIT_OK;
    if (options->kind != REPORT_WATCHER && !options->quiet &&
        stepdir_has(session->dir, JP_SUMMARY_NAME)) {
        if (report_print_line(session->dir, how, stderr, &err) < 0)
            quote_printf(stderr, "jobprof: %s\n", err.text);
        else if (options->kind == REPORT_SRUN && how != JP_SUMMARY_OFF)
            tell_known_issues(session);
    }
    return options->json && cmd_args_print_summary(session->dir) < 0
               ? JP_EXIT_IO
               : JP_EXIT_OK;
}

/* Draws pictures last and without the claim, so that no process waits for
 * them. */
static int draw(const struct report_session *session)
{
    struct jp_error err;

    if (!session->options->png || !session->written ||
        report_draw(session->dir, &err) == 0)
        return JP_EXIT_OK;
    quote_printf(stderr, "jobprof: %s\n", err.text);
    return JP_EXIT_IO;
}

/* --- after a report: the formats of other tools, if requested --- */

/* Upper bound of the bytes of Inspector's lines per byte of the recorder's
 * compressed files: 447 bytes for 9 were measured (docs/measurements.md). */
#define GROWTH 64

static void warn(const struct report_session *session, const char *what,
                 const char *why)
{
    stepdir_log(session->dir, "%s: %s", what, why);
    if (session->options->kind != REPORT_WATCHER && !session->options->quiet)
        quote_printf(stderr, "jobprof: %s: %s\n", what, why);
}

static bool wants_parquet(const struct report_session *session)
{
    return session->options->parquet || report_session_asks(session, "parquet");
}

static int write_exporter(const struct report_session *session)
{
    uint64_t job = session->has_conf ? session->conf.job_id : 0;
    bool quiet = session->options->quiet ||
                 session->options->kind != REPORT_USER;
    char *dir = job ? fileio_path("%s/%" PRIu64 "-insp", session->dir, job)
                    : fileio_path("%s/insp", session->dir);
    struct jp_error err = {"out of memory"};
    char *raw = fileio_path("%s/raw", session->dir);
    const char *inputs[] = {raw};
    int rc = raw && dir && fileio_mkdirs(dir, &err) == 0
                 ? cmd_args_exporter(session->result, dir, 0, quiet)
                 : -1;

    if (rc == 0 && wants_parquet(session) && stepdir_has(session->dir, "raw"))
        rc = cmd_args_exporter_logs(inputs, 1, dir, &err);

    if (rc < 0)
        warn(session, "no exporter tree", dir ? err.text : "out of memory");
    free(raw);
    free(dir);
    return rc;
}

/* Writes the tables of csv/ to parquet/. */
static int write_parquet(const struct report_session *session)
{
    char *csv = fileio_path("%s/csv", session->dir);
    char *dir = fileio_path("%s/parquet", session->dir);
    struct export_parquet_done done = {0};
    struct jp_error err = {"out of memory"};
    int rc = csv && dir
                 ? export_parquet(csv, dir, parquet_codec_best(), &done, &err)
                 : -1;

    if (rc < 0)
        warn(session, "not all tables were written as Parquet", err.text);
    free(csv);
    free(dir);
    return rc;
}

/* Reports of srun and the watcher are killed at their time limit. */
static int is_over(void *arg)
{
    const struct report_session *session = arg;

    return session->deadline_ms && clock_mono_ms() > session->deadline_ms;
}

static int check_room(const struct report_session *session,
                      const struct jp_recwalk *walk, struct jp_error *err)
{
    const char *text =
        session->has_conf ? jobconf_find(&session->conf, "min_free") : NULL;
    uint64_t keep = 0, wanted = num_mul(walk->walk.bytes, GROWTH);
    struct statvfs fs;

    num_parse_size(text, 0, UINT64_MAX, &keep, NULL);
    if (statvfs(session->dir, &fs) < 0 ||
        num_add(wanted, keep) <=
            num_mul((uint64_t) fs.f_bavail, (uint64_t) fs.f_frsize))
        return 0;
    return error_set(err, "they may take %s, but min_free= must stay free",
                     FIG_BYTES(wanted));
}

static int write_logs(struct report_session *session)
{
    char *raw = fileio_path("%s/raw", session->dir);
    char *dir = fileio_path("%s/inspector-logs", session->dir);
    const char *inputs[] = {raw};
    struct export_done done = {0};
    struct jp_recwalk walk = {.look = is_over, .look_arg = session};
    struct jp_error err = {"out of memory"};
    int rc = -1;

    if (raw && dir && recwalk_init(&walk, inputs, 1, &err) == 0) {
        rc = check_room(session, &walk, &err);
        if (rc == 0)
            rc = export_inspector(&walk, dir, NULL, &done, &err);
        if (rc == 0 && walk.stopped)
            rc = error_set(&err,
                           "time ran out after %" PRIu64
                           " files; jobprof export inspector writes all",
                           done.files);
        recwalk_fini(&walk);
    }
    if (rc < 0)
        warn(session, "not all Inspector logs were written", err.text);
    free(raw);
    free(dir);
    return rc;
}

/* Writes the requested formats of other tools, after the verdict and without
 * the claim. step-ID/JOBID-insp/ is the exporter's tree,
 * step-ID/inspector-logs/ has the recorder's files as Inspector's logs, and
 * step-ID/parquet/ has the tables as Parquet. Errors are printed and logged;
 * they never change the report. Returns -1 if something is missing. */
static int write_more(struct report_session *session)
{
    int rc = 0;

    if (wants_parquet(session) && write_parquet(session) < 0)
        rc = -1;
    if (report_session_asks(session, "inspector_logs") &&
        stepdir_has(session->dir, "raw") && write_logs(session) < 0)
        rc = -1;
    if (session->result && write_exporter(session) < 0)
        rc = -1;
    return rc;
}

/* --- report one step, or all that the argument means --- */

static int make_and_show(struct report_session *session)
{
    int rc;

    report_turn_await_nodes(session);
    report_session_set_budget(session);
    if (session->options->verbose)
        quote_printf(stderr, "jobprof: reading %s/raw\n", session->dir);
    rc = report_make(session);
    /* the reader of our output may be slow or gone */
    claim_release(session->claim);
    session->claim = NULL;
    if (rc != REPORT_LOST && rc != JP_EXIT_IO &&
        (show(session) != JP_EXIT_OK || draw(session) != JP_EXIT_OK))
        rc = JP_EXIT_IO;
    if (session->written)
        cmd_history_start(session->dir, session->options->site
                                            ? session->options->site
                                            : session->options->config);
    if (session->written && write_more(session) < 0 &&
        session->options->kind == REPORT_USER)
        rc = JP_EXIT_IO;
    if (session->written && session->options->kind != REPORT_USER)
        cmd_upload_start(session->dir, session->options->site
                                           ? session->options->site
                                           : session->options->config);
    return rc;
}

static int run_session(struct report_session *session)
{
    bool silent = session->options->kind == REPORT_WATCHER;
    struct jp_error err;
    int rc = REPORT_LOST;

    while (rc == REPORT_LOST) {
        switch (report_turn_wait(session, &err)) {
        case REPORT_OURS:
            rc = make_and_show(session);
            break;
        case REPORT_DONE:
            rc = show(session);
            break;
        case REPORT_GONE:
            rc = JP_EXIT_OK;
            break;
        case REPORT_LATE:
            if (!silent)
                quote_printf(stderr,
                             "jobprof: %s: its report is still being "
                             "written by another process\n",
                             session->dir);
            rc = JP_EXIT_INCOMPLETE;
            break;
        case REPORT_FAILED:
            if (!silent)
                quote_printf(stderr, "jobprof: %s\n", err.text);
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

static int report_dir(const char *dir, const struct report_options *options)
{
    struct report_session session;
    struct jp_error err;
    int rc = report_session_init(&session, dir, options, &err);

    if (rc < 0) {
        bool quiet = options->kind == REPORT_WATCHER ||
                     (options->kind == REPORT_SRUN && was_hidden(dir));

        if (!quiet)
            quote_printf(stderr, "jobprof: %s\n", err.text);
        report_session_fini(&session);
        return options->kind == REPORT_USER ? JP_EXIT_USAGE : JP_EXIT_IO;
    }
    if (rc > 0 && options->kind != REPORT_WATCHER)
        quote_printf(stderr, "jobprof: %s (the report is made without it)\n",
                     err.text);
    if (rc > 0)
        stepdir_log(session.dir, "%s", err.text);
    if (options->kind != REPORT_USER &&
        confine_self(options->kind == REPORT_WATCHER ? CONFINE_WATCHER
                                                     : CONFINE_REPORT,
                     &session.policy, &err) < 0)
        stepdir_log(session.dir, "%s", err.text);
    rc = run_session(&session);
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

static bool is_folder_of_jobs(const char *word)
{
    return !stepdir_has(word, JP_JOBCONF_NAME) && !stepdir_has(word, "raw") &&
           !stepdir_has(word, "job.json") && report_jobs_is_folder(word);
}

/* Reports all steps that word means. Returns the worst exit status; findings
 * take precedence over all others. */
static int report_word(const char *word, const struct report_options *options)
{
    struct jp_error err;
    char **dirs = NULL;
    size_t n = 0;
    int rc = JP_EXIT_OK;

    /* prevents tracing, as in cmd_finish.c */
    if (options->kind == REPORT_WATCHER)
        prctl(PR_SET_DUMPABLE, 0);
    if (options->kind != REPORT_USER)
        return report_dir(word, options);
    if (is_folder_of_jobs(word))
        return report_folder(word, options);
    if (cmd_inputs_steps(word, options->config, &dirs, &n, &err) < 0) {
        quote_printf(stderr, "jobprof: %s\n", err.text);
        return JP_EXIT_USAGE;
    }
    for (size_t i = 0; i < n; i++) {
        int one = report_dir(dirs[i], options);

        if (rc != JP_EXIT_FINDINGS && (one == JP_EXIT_FINDINGS || one > rc))
            rc = one;
    }
    nodelist_free(dirs, n);
    return rc;
}

int cmd_report(int argc, char **argv)
{
    struct report_options options = {.kind = REPORT_USER, .fail_on = -1};
    struct cmd_expect expect;
    const char *word = NULL;
    struct jp_error err;
    int rc = parse(argc, argv, &options, &word);

    if (rc >= 0)
        return rc;
    if (cmd_expect_load(options.config, options.baseline, &expect, &err) < 0) {
        quote_printf(stderr, "jobprof: %s\n", err.text);
        rc = JP_EXIT_USAGE;
    } else {
        if (*expect.trouble.text && options.kind == REPORT_USER)
            quote_printf(
                stderr,
                "jobprof: %s (the site's expected bandwidths are incomplete)\n",
                expect.trouble.text);
        options.expect = &expect;
        rc = report_word(word, &options);
    }
    cmd_expect_fini(&expect);
    return rc;
}
