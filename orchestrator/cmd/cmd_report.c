/* cmd_report.c - `jobprof report`: its command line, one step's report, and the
 * output in the formats of other tools.
 *
 * The way through it: report_word finds the steps, report_dir opens a session
 * for one of them, run_session waits for its turn (cmd_report_session.c), and
 * make_and_show makes the report (report_make) and what follows it. Three kinds
 * of callers share this code: a user, srun at the end of a step, and a watcher
 * on a node in case srun was killed. Messages are for users; srun and the
 * watcher write theirs to the step's log.
 *
 * make_report is the whole sequence of a report, in the order that the data
 * requires: figures from raw/ or partials (analyse_files), then what the
 * directory has besides them, then insight, causes and the verdict, and finally
 * the files. Each source of data is optional: its error goes to the step's log,
 * and the report is made without it. Reading is interrupted if time is up or
 * another process has stolen the claim. */
#include "orchestrator/cmd/cmd_report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/figure.h"
#include "common/fileio.h"
#include "common/num.h"
#include "common/plan.h"
#include "common/quote.h"
#include "common/sitelog.h"
#include "orchestrator/agent/agent.h"
#include "orchestrator/aggregate/clocks.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_args.h"
#include "orchestrator/cmd/cmd_inputs.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/collect/slurmask.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/export/export.h"
#include "orchestrator/feature/feature.h"
#include "orchestrator/ingest/hangs.h"
#include "orchestrator/ingest/logwalk.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/verdict.h"
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

/* --- the figures ---------------------------------------------------------- */

/* The claim was stolen: another process reports. */
#define REPORT_LOST (-1)

/* Interval of looks at the claim; shorter work prints no progress. */
#define LOOK_EVERY_MS 500
#define SAY_AFTER_MS 1000

/* The conditions checked while the figures are made. */
struct watch {
    const struct report_session *session;
    uint64_t start_ms, looked_ms;
    bool out_of_time, lost, saying;
};

/* All inputs of a report. */
struct material {
    struct jp_nodes *nodes;
    struct jp_result *result;
    struct feature_set features;
    struct jp_agents agents;
    struct jp_step_labels *labels;
    struct cmd_expect expect; /* from the step's own site file */
    struct jp_expectation expectation;
    struct jp_peaks rates; /* of the nodes' adapters; none: the site's count */
    struct jp_insight *insight;
    bool analysed;
    uint64_t duration_us;
    struct jp_error trouble; /* error of the figures; "": none */
};

/* Prints how much has been read. */
static void say_progress(struct watch *watch, uint64_t done, uint64_t total)
{
    char size[32];

    watch->saying = true;
    quote_printf(stderr, "\rjobprof: %3.0f %% of %s",
                 total ? 100.0 * (double) done / (double) total : 0.0,
                 num_format_size(total, size, sizeof(size)));
}

/* A callback of the readers. Returns true if they have to stop. */
static int on_progress(void *arg, uint64_t done, uint64_t total)
{
    struct watch *watch = arg;
    const struct report_session *session = watch->session;
    uint64_t now = clock_mono_ms();

    if (session->deadline_ms && now >= session->deadline_ms)
        watch->out_of_time = true;
    if (now - watch->looked_ms >= LOOK_EVERY_MS) {
        watch->looked_ms = now;
        watch->lost = !claim_held(session->claim);
        if (now - watch->start_ms > SAY_AFTER_MS && !session->options->quiet &&
            session->options->kind != REPORT_WATCHER && isatty(STDERR_FILENO))
            say_progress(watch, done, total);
    }
    return watch->out_of_time || watch->lost;
}

/* Makes a path relative to the step's directory, which may be moved. */
static void make_relative(char *path, const char *dir)
{
    size_t len = strlen(dir);

    if (path && !strncmp(path, dir, len) && path[len] == '/')
        memmove(path, path + len + 1, strlen(path + len + 1) + 1);
}

/* Paths in a report are relative to its directory. */
static void make_notes_relative(struct jp_quality *quality, const char *dir)
{
    for (size_t i = 0; i < quality->n_notes; i++)
        make_relative(quality->notes[i].path, dir);
    for (unsigned i = 0; i < JP_BAD_KINDS; i++)
        make_relative(quality->bad[i].path, dir);
}

/* Whether time is up, or another process writes the report. Like on_progress,
 * without printing. */
static bool must_stop(void *arg)
{
    struct watch *watch = arg;
    uint64_t now = clock_mono_ms();

    if (watch->session->deadline_ms && now >= watch->session->deadline_ms)
        watch->out_of_time = true;
    if (now - watch->looked_ms >= LOOK_EVERY_MS) {
        watch->looked_ms = now;
        watch->lost = !claim_held(watch->session->claim);
    }
    return watch->out_of_time || watch->lost;
}

/* How long programs may run that make data readable, in a report that a user
 * runs by hand. */
#define RUN_MS (600 * 1000)

/* The same otherwise: half of the time that is left. */
static uint32_t run_limit_ms(const struct report_session *session)
{
    uint64_t now = clock_mono_ms(), deadline = session->deadline_ms;

    return !deadline        ? RUN_MS
           : now < deadline ? (uint32_t) (deadline - now) / 2
                            : 0;
}

static void log_line(void *arg, const char *line)
{
    const struct report_session *session = arg;

    stepdir_log(session->dir, "%s", line);
}

/* Reads the data of features, if the step has any. An error is logged and does
 * not affect the rest of the report. */
static void read_features(const struct report_session *session, const char *raw,
                          struct watch *watch, struct material *m)
{
    const struct feature_input in = {.inputs = &raw,
                                     .n = 1,
                                     .conf = session->has_conf ? &session->conf
                                                               : NULL,
                                     .over = !m->result,
                                     .threads = session->policy.report_threads,
                                     .progress = on_progress,
                                     .progress_arg = watch,
                                     .stop = must_stop,
                                     .stop_arg = watch,
                                     /* list_undone names what is left */
                                     .may_run = !session->options->outside,
                                     .run_limit_ms = run_limit_ms(session),
                                     .log = log_line,
                                     .log_arg = (void *) (uintptr_t) session};

    feature_read(&in, &m->features);
    for (size_t i = 0; feature_registry[i]; i++) {
        const struct feature *f = feature_registry[i];

        if (*m->features.trouble[i].text)
            stepdir_log(session->dir, "no %s figures: %s", f->title,
                        m->features.trouble[i].text);
        if (m->features.data[i] && f->relative)
            f->relative(m->features.data[i], make_relative, session->dir);
    }
}

/* Logs that a feature cannot use a file. */
static void log_note(void *arg, const char *path, const char *why)
{
    const struct report_session *session = arg;

    stepdir_log(session->dir, "%s%s%s", path, why ? ": " : "", why ? why : "");
}

/* Logs that a node's partial is not used. */
static void on_note(void *arg, const char *node, const char *why)
{
    const struct report_session *session = arg;

    stepdir_log(session->dir, "%s: its partial result is not used: %s", node,
                why);
}

/* Counts of an earlier report; zeros if there is none. */
struct older {
    uint64_t records;
    uint32_t features; /* feature_reported */
};

/* Reads the counts of an earlier report. */
static struct older older_report(const struct report_session *session)
{
    struct summary_file s;
    struct older older;

    summary_file_read(session->dir, SUMMARY_WITHOUT_TABLES, &s, NULL);
    older = (struct older){.features = feature_reported(s.root),
                           .records = json_count_or(s.quality.records, 0)};
    summary_file_fini(&s);
    return older;
}

/* Whether partials may replace missing logs. Not if an earlier report has
 * figures: it was made from more data. */
static bool may_recall_partials(const struct report_session *session)
{
    struct older older = older_report(session);

    return !older.records && !older.features;
}

/* Each of a job's steps has a task 0, so that no process's rank is that of a
 * task. */
static void forget_tasks(struct jp_result *result)
{
    for (size_t i = 0; i < result->n_recorded; i++)
        result->recorded[i].launched.task_pid = -1;
}

/* Makes the figures of a job's report from the logs of all its steps. Returns
 * like analyse_files. */
static int analyse_steps(const struct report_session *session,
                         struct material *m)
{
    struct watch watch = {.session = session, .start_ms = clock_mono_ms()};
    const struct jp_aggregate_options options = {
        .threads = session->policy.report_threads,
        .progress = on_progress,
        .progress_arg = &watch,
        .processes = session->has_conf ? session->conf.ntasks : 0,
        .tags = session->has_conf ? jobconf_find(&session->conf, "tags")
                                  : NULL};
    const char **raw = calloc(session->n_steps, sizeof(*raw));
    char *job_dir = stepdir_job_dir(session->dir);
    size_t n = 0;

    watch.looked_ms = watch.start_ms;
    for (size_t i = 0; raw && i < session->n_steps; i++)
        n += (raw[n] = text_format("%s/raw", session->steps[i])) != NULL;
    if (raw && n == session->n_steps && on_progress(&watch, 0, 0) == 0)
        m->result = aggregate_run(raw, n, &options, &m->trouble);
    if (watch.saying)
        fputs("\r\033[K", stderr);
    if (m->result) {
        forget_tasks(m->result);
        if (job_dir)
            make_notes_relative(&m->result->quality, job_dir);
    } else if (watch.out_of_time) {
        error_set(&m->trouble, "the time limit ran out");
    }
    for (size_t i = 0; i < n; i++)
        free((char *) raw[i]);
    free(raw);
    free(job_dir);
    m->analysed = m->result != NULL;
    m->duration_us = (clock_mono_ms() - watch.start_ms) * 1000;
    return watch.lost ? REPORT_LOST : !m->analysed;
}

/* Makes the figures from raw/, or from the nodes' partials. Returns 0 if they
 * exist or there is no data; 1: out of time, or an error; REPORT_LOST. */
static int analyse_files(const struct report_session *session,
                         struct material *m)
{
    struct watch watch = {.session = session, .start_ms = clock_mono_ms()};
    char *raw = text_format("%s/raw", session->dir);
    char *nodes = text_format("%s/nodes", session->dir);
    const struct jp_aggregate_options options = {
        .threads = session->policy.report_threads,
        .progress = on_progress,
        .progress_arg = &watch,
        .processes = session->has_conf ? session->conf.ntasks : 0,
        .tags = session->has_conf ? jobconf_find(&session->conf, "tags") : NULL,
        .partials = nodes,
        .nodes = nodes,
        /* partials may also replace logs that are gone */
        .gone = raw && may_recall_partials(session) ? raw : NULL,
        .note = on_note,
        .note_arg = (void *) (uintptr_t) session};
    const char *inputs[] = {raw};
    bool there = raw && stepdir_is_folder(raw);
    int rc = 1;

    watch.looked_ms = watch.start_ms;
    /* no data at all, which is no error */
    if (raw && !there && !options.gone)
        rc = 0;
    else if (raw && on_progress(&watch, 0, 0) == 0)
        m->result = aggregate_run(inputs, there, &options, &m->trouble);
    if (there)
        read_features(session, raw, &watch, m);
    /* the partials were empty as well */
    if (m->result && !there && !m->result->quality.files) {
        result_destroy(m->result);
        m->result = NULL;
        rc = 0;
    }
    free(raw);
    free(nodes);
    if (watch.saying)
        fputs("\r\033[K", stderr);
    if (m->result) {
        make_notes_relative(&m->result->quality, session->dir);
        rc = 0;
    } else if (watch.out_of_time) {
        error_set(&m->trouble, "the time limit ran out");
    }
    m->analysed = rc == 0;
    /* shown in the report and in the history */
    m->duration_us = (clock_mono_ms() - watch.start_ms) * 1000;
    return watch.lost ? REPORT_LOST : rc;
}

/* Labels the networks of communicators. An error does not affect the report. */
static void label_networks(const struct report_session *session,
                           struct material *m)
{
    struct jp_error err;

    /* without labels the networks are unknown, and the report says so */
    if (steplabels_make(m->result, m->nodes, session->dir, &m->labels, &err) <
        0)
        stepdir_log(session->dir, "no topology labels: %s", err.text);
}

/* Uses the NCCL release that tasks have loaded, unless one was set. */
static void correct_release(struct jp_jobconf *conf,
                            const struct jp_agents *agents)
{
    const char *found = agents_version(agents, "nccl");

    for (size_t i = 0; i < conf->n_settings && found; i++) {
        struct jp_setting *s = &conf->settings[i];
        char *value, *reason;

        if (strcmp(s->key, "nccl") != 0)
            continue;
        value = strdup(found);
        reason = text_format("loaded by the tasks; the plan used %s", s->value);
        /* a user's or site's setting is not replaced */
        if (value && reason && strcmp(s->source, "default") == 0) {
            free(s->value);
            free(s->reason);
            s->value = value;
            s->reason = reason;
            value = reason = NULL;
        }
        free(value);
        free(reason);
    }
}

/* Logs what the features could not read since before, of which it is the
 * set. */
static void log_troubles(const struct report_session *session,
                         const struct feature_set *before,
                         const struct feature_set *now)
{
    for (size_t i = 0; feature_registry[i]; i++)
        if (*now->trouble[i].text && !*before->trouble[i].text)
            stepdir_log(session->dir, "no %s figures: %s",
                        feature_registry[i]->title, now->trouble[i].text);
}

/* Reads what was collected during a hang, if there was one: of several steps
 * that of the first one that has some. */
static void read_hang(const struct report_session *session, struct material *m)
{
    const char *own = session->dir;
    const char *const *dirs =
        session->n_steps ? (const char *const *) session->steps : &own;
    struct feature_set before = m->features;

    feature_read_hang(dirs, session->n_steps ? session->n_steps : 1, own,
                      &m->features);
    log_troubles(session, &before, &m->features);
}

/* Reads what the nodes' agents have left. An error does not affect the
 * report. */
static void read_agents(struct report_session *session, struct material *m)
{
    struct feature_set before = m->features;

    agents_load(session->dir, m->nodes,
                session->has_conf ? session->conf.policy.period_ms : 0,
                &m->agents);
    if (session->has_conf)
        correct_release(&session->conf, &m->agents);

    if (m->nodes)
        /* before the samples are read, because they use the nodes' offsets */
        nodes_align(m->nodes, m->result ? clocks_map(m->result->clocks) : NULL);
    /* where several steps have sampled one node, its samples are in their own
     * reports */
    if (m->nodes && (!session->n_steps || nodes_are_distinct(m->nodes)))
        feature_read_nodes(session->dir, m->nodes, &m->features);
    log_troubles(session, &before, &m->features);
    feature_notes(&m->features, log_note, (void *) (uintptr_t) session);
}

/* Finds what explains the findings. An error does not affect the report. */
static void explain_findings(const struct report_session *session,
                             struct material *m)
{
    const struct feature_explain in = {.features = &m->features,
                                       .dir = session->dir,
                                       .nodes = m->nodes,
                                       .result = m->result,
                                       .insight = m->insight,
                                       .labels = m->labels,
                                       .failed = log_note,
                                       .arg = (void *) (uintptr_t) session};

    feature_explain_all(&in, &m->features);
}

/* The site file of the step's SPANK module, unless the command line names one.
 * If it is missing, e.g. after a copy, the installed one. */
static const struct cmd_expect *
expect_of_step(const struct report_session *session, struct material *m)
{
    const struct report_options *options = session->options;
    const char *path = session->has_conf ? session->conf.site_file : NULL;

    if (options->config || !path || *path != '/' || access(path, F_OK) < 0 ||
        cmd_expect_load(path, options->baseline, &m->expect, NULL) < 0)
        return options->expect;
    return &m->expect;
}

/* Sets the expected network performance. */
static void set_expectation(const struct report_session *session,
                            struct material *m)
{
    const struct cmd_expect *x = expect_of_step(session, m);
    const struct steplabels_rates rates = {
        .from_bytes = (uint64_t) limits_get(JP_LIMIT_NET_RATE_BYTES),
        .share = limits_get(JP_LIMIT_NET_RATE),
        .max_ranks = (uint32_t) limits_get(JP_LIMIT_NET_RATE_RANKS)};

    m->expectation = x->is;
    m->expectation.gpu = m->labels ? m->labels->gpu : "";
    if (!m->expectation.peaks &&
        steplabels_peaks(m->labels, &rates, &m->rates) == 0 && m->rates.n)
        m->expectation.peaks = &m->rates;
    if (*x->trouble.text)
        stepdir_log(session->dir, "%s (the expected bandwidths are incomplete)",
                    x->trouble.text);
}

/* Whether there is data. A hang in the first operation leaves no record. */
static bool has_data(const struct material *m)
{
    const struct jp_quality *q = m->result ? &m->result->quality : NULL;

    for (size_t i = 0; feature_registry[i]; i++)
        if (m->features.data[i] ||
            (feature_registry[i]->role == FEATURE_PROFILE &&
             *m->features.trouble[i].text))
            return true;
    return !m->analysed ||
           (q && (q->records || q->bad_lines || q->in_flight || q->lost ||
                  q->damaged_blocks || q->unseen_calls));
}

static int exit_status(const struct report_options *options,
                       const struct jp_verdict *verdict, bool analysed)
{
    /* the words are in order, the worst first */
    if (options->fail_on >= 0 && (int) verdict->word <= options->fail_on)
        return JP_EXIT_FINDINGS;
    return analysed ? cmd_args_judge(verdict) : JP_EXIT_INCOMPLETE;
}

/* --- how the step ended -------------------------------------------------- */

void cmd_report_recall_end(const char *dir, struct jp_nodes *nodes)
{
    struct summary_file s;

    summary_file_read(dir, SUMMARY_WITHOUT_TABLES, &s, NULL);
    nodes->job_state = crash_state_find(s.end.job_state);
    /* a job that ran then may have ended since */
    nodes->job_end_us = nodes->job_state <= SLURMJOB_RUNNING
                            ? 0
                            : json_count_or(s.end.job_end_us, 0);
    summary_file_fini(&s);
}

/* Asks Slurm, if a task or node failed. The number may belong to a job of
 * another cluster; then user or times differ. */
static void ask_end(const struct report_session *session,
                    struct jp_nodes *nodes)
{
    const struct jp_jobconf *conf = &session->conf;
    bool unfinished = nodes->n_missing > 0;
    struct slurmjob job;

    nodes->over = session->over || session->options->kind != REPORT_USER;
    for (size_t i = 0; i < nodes->n_nodes; i++)
        unfinished |= !nodes->nodes[i].finished;
    /* where each node has left, the step is over, though nobody has said so */
    nodes->going = session->going != NODES_GOING_UNKNOWN || unfinished
                       ? session->going
                       : NODES_GOING_UNASKED;
    unfinished |= nodes->tasks_failed > 0;
    if (!nodes->over && session->job_runs)
        nodes->job_state = SLURMJOB_RUNNING;
    if (!nodes->over || !session->has_conf || !unfinished)
        return;
    cmd_report_recall_end(session->dir, nodes);
    if (nodes->job_state > SLURMJOB_RUNNING || conf->job_id > UINT32_MAX ||
        !slurmjob_get((uint32_t) conf->job_id, JP_SLURMJOB_WAIT_MS, &job) ||
        job.uid != conf->uid ||
        (job.end_us && job.end_us + 1000000 < conf->created_us))
        return;
    nodes->job_state = job.state;
    nodes->job_end_us = job.end_us;
}

/* Finds the operation that the first failed task was in, from its recording. */
static void find_in_flight(const struct report_session *session,
                           struct jp_insight *insight)
{
    const struct jp_crash *crash = &insight->crash;
    char *raw = crash->task
                    ? text_format("%s/raw/%s",
                                  nodes_step_dir(crash->node, session->dir),
                                  crash->node->name)
                    : NULL;
    char operation[sizeof(crash->in)] = "";

    if (raw && crash_is_fault(crash) && stepdir_is_folder(raw))
        hangs_process_op(raw, crash->only ? crash->only->pid : crash->task->pid,
                         crash->only ? crash->only->instance
                                     : crash->task->instance,
                         operation, sizeof(operation));
    free(raw);
    crash_set_in(&insight->crash, operation, &insight->findings);
}

/* --- what this report leaves to others -------------------------------------
 */

/* Adds what follows a report at this time, but not outside of the job. again:
 * the command that makes another report. Returns the number of rows. */
static size_t list_following(const struct jp_sitefile *site,
                             enum command_when when, const char *again,
                             struct report_undone *undone)
{
    size_t n = 0;

    for (size_t i = 0; command_registry[i] && n < REPORT_FOLLOWING; i++) {
        const struct command *c = command_registry[i];
        const char *command = NULL, *text = NULL;

        if (c->left && c->when == when)
            text = c->left(site, &command);
        if (!text)
            continue;
        undone[n].kind = c->name;
        snprintf(undone[n].text, sizeof(undone->text), "%s", text);
        snprintf(undone[n++].command, sizeof(undone->command), "%s",
                 command ? command : again);
    }
    return n;
}

/* Lists the work that is not done. Outside of the job, programs are not started
 * and nothing is sent. Returns the number of rows. */
static size_t list_undone(const struct report_session *session,
                          const struct material *m,
                          struct report_undone undone[REPORT_UNDONE_MAX])
{
    const struct jp_jobconf *conf = session->has_conf ? &session->conf : NULL;
    bool outside = session->options->outside;
    char again[sizeof(undone->command)] = "jobprof report .";
    struct jp_sitefile site = {0};
    char name[JP_JOBCONF_NAME_LEN];
    size_t n = 0;

    if (conf && conf->step_id)
        snprintf(again, sizeof(again), "jobprof report %s",
                 jobconf_step_name(conf, name));
    for (size_t i = 0; feature_registry[i]; i++) {
        const struct feature *f = feature_registry[i];

        if (!m->features.data[i] || !f->undone ||
            !f->undone(m->features.data[i], undone[n].text,
                       sizeof(undone->text)))
            continue;
        undone[n].kind = f->name;
        snprintf(undone[n++].command, sizeof(undone->command), "%s", again);
    }
    if (outside && report_session_enabled(session, "exporter_layout")) {
        undone[n] = (struct report_undone){
            "pictures", "the exporter's pictures not drawn", ""};
        snprintf(undone[n++].command, sizeof(undone->command), "%s", again);
    }
    if (outside &&
        plan_load_site(session->options->site ? session->options->site
                                              : session->options->config,
                       &site, NULL) == 0) {
        n += list_following(&site, COMMAND_AT_ONCE, again, &undone[n]);
        n += list_following(&site, COMMAND_AT_END, again, &undone[n]);
    }
    sitefile_fini(&site);
    return n;
}

/* Writes all files. The report is complete when this returns 0. */
static int write_all(const struct report_session *session,
                     const struct material *m, const struct jp_verdict *verdict)
{
    const char *kind = report_kind_name(session->options->kind);
    struct report_undone undone[REPORT_UNDONE_MAX];
    size_t n_undone = list_undone(session, m, undone);
    const struct jp_report report = {
        .conf = session->has_conf ? &session->conf : NULL,
        .nodes = m->nodes,
        .result = m->result,
        .features = &m->features,
        .agents = &m->agents,
        .labels = m->labels,
        .processes = m->insight ? &m->insight->processes : NULL,
        .insight = m->insight,
        .expectation = &m->expectation,
        .verdict = verdict,
        .reporter = kind,
        .undone = undone,
        .n_undone = n_undone,
        .duration_us = m->duration_us,
        .threads = session->policy.report_threads};
    struct jp_error err;

    if (report_write(&report, session->dir, &err) < 0) {
        stepdir_log(session->dir, "no report: %s", err.text);
        /* a watcher has no terminal */
        if (session->options->kind == REPORT_SRUN)
            quote_printf(stderr,
                         "jobprof: no report: %s; later: jobprof report %s\n",
                         err.text, session->dir);
        else if (session->options->kind == REPORT_USER)
            quote_printf(stderr, "jobprof: %s\n", err.text);
        return -1;
    }
    stepdir_log(session->dir,
                "report written: by %s, %s, %" PRIu64 " ms, %" PRIu64
                " partials",
                kind, verdict_word_name(verdict->word), m->duration_us / 1000,
                m->result ? m->result->quality.partial_nodes : 0);
    return 0;
}

/* Whether to stay silent: a site default never bothers a step without NCCL, and
 * most batch scripts only start steps, which have reports of their own. */
static bool is_unwanted(const struct report_session *session,
                        const struct material *m)
{
    return session->has_conf && session->conf.hidden &&
           session->options->kind != REPORT_USER && !has_data(m) &&
           (!session->conf.explicit_request ||
            report_settle_has_others(session));
}

/* Whether the site has data taken of all steps, and so wants to know of this
 * one. there: whether such data is there. */
static bool is_wanted_of_all(const struct report_session *session,
                             const struct feature_set *features, bool there)
{
    for (size_t i = 0; session->has_conf && feature_registry[i]; i++)
        if (feature_registry[i]->wanted_of_all &&
            feature_registry[i]->wanted_of_all(&session->conf) &&
            (!there || features->data[i]))
            return true;
    return false;
}

/* Whether this report would lose data: the records or a feature's data are
 * missing or unreadable, but the existing report has some. */
static bool is_worse(const struct report_session *session,
                     const struct material *m)
{
    struct older older;

    if (session->options->kind != REPORT_USER ||
        (m->result && m->result->quality.records > 0))
        return false;
    /* only read if it matters: the file may be large */
    older = older_report(session);
    return older.records > 0 ||
           (older.features & ~feature_known(&m->features)) != 0;
}

static int keep_old(const struct report_session *session,
                    const struct material *m)
{
    const char *why = *m->trouble.text ? m->trouble.text : "raw/ is empty";

    quote_printf(stderr, "jobprof: %s: the older report is kept: %s\n",
                 session->dir, why);
    return m->analysed ? JP_EXIT_INCOMPLETE : JP_EXIT_IO;
}

/* Whether the first node has already reported that all nodes lack the profiler;
 * it does so at the step's start if a profile was requested. */
static bool is_told(const struct report_session *session,
                    const struct material *m)
{
    return session->has_conf && session->conf.explicit_request && m->nodes &&
           !m->nodes->n_nodes && !has_data(m) &&
           m->nodes->n_unprofiled >= session->conf.nnodes;
}

/* Decides the verdict. */
static void decide_verdict(const struct report_session *session,
                           const struct material *m, struct jp_verdict *verdict)
{
    const struct verdict_input in = {
        .conf = session->has_conf ? &session->conf : NULL,
        .nodes = m->nodes,
        .result = m->result,
        .insight = m->insight,
        .hypotheses = m->insight ? &m->insight->hypotheses : NULL,
        .labels = m->labels,
        .features = &m->features,
        .step_dir = session->dir,
        .analysed = m->analysed};

    verdict_make(&in, verdict);
}

/* Decides whether the step gets a report, and gives it its final place. Returns
 * -1 to continue, otherwise an exit status. */
static int settle_before(struct report_session *session,
                         const struct material *m)
{
    struct jp_error err;

    if (is_worse(session, m))
        return keep_old(session, m);
    session->passing = is_unwanted(session, m) &&
                       is_wanted_of_all(session, &m->features, false);
    if (is_unwanted(session, m) && !session->passing) {
        if (report_settle_remove(session, &err) < 0)
            stepdir_log(session->dir, "cannot be removed: %s", err.text);
        return JP_EXIT_NODATA;
    }
    /* a step with data gets its final place before anything is written */
    if (has_data(m) || (session->has_conf && session->conf.explicit_request))
        report_settle_promote(session);
    return -1;
}

/* Reads the nodes of the step, or of all steps of a job's report. */
static void read_nodes(struct report_session *session, struct material *m)
{
    m->nodes = session->n_steps
                   ? nodes_read_steps(session->steps, session->n_steps, NULL)
                   : nodes_read(session->dir, NULL);
    if (m->nodes && !session->options->paths &&
        nodes_hide_paths(m->nodes) < 0) {
        nodes_destroy(m->nodes);
        m->nodes = NULL;
    }
    if (!m->nodes)
        return;
    ask_end(session, m->nodes);
    if (!session->n_steps)
        report_job_kin(session->dir, m->result, m->nodes->elsewhere,
                       sizeof(m->nodes->elsewhere));
    session->has_kin = *m->nodes->elsewhere != '\0';
}

static int make_report(struct report_session *session, struct material *m)
{
    struct jp_verdict verdict;
    struct jp_error err;
    int rc;

    /* the figures, or a reason to keep things as they are */
    rc = session->n_steps ? analyse_steps(session, m)
                          : analyse_files(session, m);
    if (rc == REPORT_LOST)
        return REPORT_LOST;
    if (session->n_steps && !m->analysed)
        return JP_EXIT_INCOMPLETE; /* an older report of the job stays */
    if (!session->n_steps && (rc = settle_before(session, m)) >= 0)
        return rc;
    /* nodes, evidence of a hang, networks, samples, expectations */
    read_nodes(session, m);
    session->told = is_told(session, m);
    read_hang(session, m);
    label_networks(session, m);
    read_agents(session, m);
    /* without a sample there is nothing to remember */
    if (session->passing && !is_wanted_of_all(session, &m->features, true)) {
        if (report_settle_remove(session, &err) < 0)
            stepdir_log(session->dir, "cannot be removed: %s", err.text);
        return JP_EXIT_NODATA;
    }
    set_expectation(session, m);
    /* findings, causes and the verdict */
    processes_set_attempts(m->nodes, m->result);
    m->insight = insight_run(session->has_conf ? &session->conf : NULL,
                             m->nodes, m->result, &m->expectation);
    if (m->insight) {
        find_in_flight(session, m->insight);
        feature_judge_operations(&m->features, m->result, m->insight);
        explain_findings(session, m);
    }
    decide_verdict(session, m, &verdict);
    /* the last check before files are replaced */
    if (!claim_held(session->claim))
        return REPORT_LOST;
    if (write_all(session, m, &verdict) < 0)
        return JP_EXIT_IO;
    session->written = true;
    /* what is removed needs no index */
    if (!session->n_steps && !session->passing)
        report_settle_finish(session);
    return exit_status(session->options, &verdict, m->analysed);
}

/* Makes the report while holding the claim, and settles the step. Returns an
 * enum jp_exit, or REPORT_LOST. */
static int report_make(struct report_session *session)
{
    struct material m = {0};
    int rc;

    /* nice may return -1 as a valid value */
    errno = 0;
    if (session->policy.report_nice > 0 &&
        nice((int) session->policy.report_nice) == -1 && errno)
        stepdir_log(session->dir, "niceness not set");
    rc = make_report(session, &m);
    if (*m.trouble.text && rc != REPORT_LOST)
        stepdir_log(session->dir, "not analysed: %s", m.trouble.text);
    steplabels_destroy(m.labels);
    nodes_destroy(m.nodes);
    insight_destroy(m.insight);
    if (session->written &&
        (session->options->exporter ||
         report_session_enabled(session, "exporter_layout"))) {
        /* NULL, unless an earlier attempt has kept one */
        result_destroy(session->result);
        session->result = m.result;
        m.result = NULL;
    }
    result_destroy(m.result);
    feature_fini(&m.features);
    cmd_expect_fini(&m.expect);
    peaks_fini(&m.rates);
    return rc;
}

/* --- after a report: what the caller sees --------------------------------- */

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

/* --- one report of several steps of a job --------------------------------- */

/* Makes the report, unless another process makes it. */
static int make_job_report(struct report_session *s, const char *job_dir,
                           struct jp_error *err)
{
    int rc = claim_take(s->dir, report_kind_name(s->options->kind),
                        s->policy.claim_stale_ms, &s->claim, err);

    if (rc < 0)
        return JP_EXIT_IO;
    if (rc == 0)
        return JP_EXIT_OK;
    rc = report_make(s);
    claim_release(s->claim);
    s->claim = NULL;
    if (rc == REPORT_LOST)
        return JP_EXIT_OK;
    if (s->written && report_index(job_dir, err) < 0)
        stepdir_log(s->dir, "no index: %s", err->text);
    return rc;
}

/* Makes the report of the job's steps that belong together, if there are any,
 * and prints the card, as for a step. It is made when the last of them has its
 * report, and again when another one comes. last: the session of the step that
 * has just got its report, whose time limit holds, or NULL. */
static void report_job(const char *job_dir, const struct report_session *last,
                       const struct report_options *options)
{
    struct report_session s = {.options = options,
                               .start_ms = clock_mono_ms(),
                               .deadline_ms = last ? last->deadline_ms : 0};
    enum jp_summary how = JP_SUMMARY_AUTO;
    struct jp_error err;
    int rc = report_job_open(&s, job_dir, &err);

    if (rc != 0)
        rc = rc < 0 ? JP_EXIT_IO : make_job_report(&s, job_dir, &err);
    if (s.has_conf)
        how = s.conf.summary;
    if (options->kind == REPORT_USER && how == JP_SUMMARY_OFF)
        how = JP_SUMMARY_AUTO;
    if (rc == JP_EXIT_IO && options->kind != REPORT_WATCHER)
        quote_printf(stderr, "jobprof: no report of the job: %s\n", err.text);
    else if (s.written && options->kind != REPORT_WATCHER && !options->quiet)
        (void) report_print_line(s.dir, how, false, stderr, NULL);
    report_job_close(&s);
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
            report_job(job, &session, options);
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
        report_job(job, NULL, options);
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
