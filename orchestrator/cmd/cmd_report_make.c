/* cmd_report_make.c - make figures, verdict and files of one step's report.
 *
 * make_report is the whole sequence, in the order that the data requires:
 * figures from raw/ or partials (analyse_files), then what the directory has
 * besides them, then insight, causes and the verdict, and finally the files.
 * Each source of data is optional: its error goes to the step's log, and the
 * report is made without it. Reading is interrupted if time is up or another
 * process has stolen the claim. */
#include "orchestrator/aggregate/clocks.h"
#include "orchestrator/cmd/cmd_report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/num.h"
#include "common/plan.h"
#include "common/quote.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/cmd/step_kin.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/slurmask.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/ingest/hangs.h"
#include "orchestrator/ingest/logwalk.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/verdict.h"
#include "orchestrator/report/report.h"
#include "orchestrator/report/summary_file.h"

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
static bool is_over(void *arg)
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
                                     .stop = is_over,
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
        step_kin_find(session->dir, m->result, m->nodes->elsewhere,
                      sizeof(m->nodes->elsewhere));
    session->has_kin = *m->nodes->elsewhere != '\0';
}

static int make_report(struct report_session *session, struct material *m)
{
    struct jp_verdict verdict;
    struct jp_error err;
    int rc;

    /* stage 1: the figures, or a reason to keep things as they are */
    rc = session->n_steps ? analyse_steps(session, m)
                          : analyse_files(session, m);
    if (rc == REPORT_LOST)
        return REPORT_LOST;
    if (session->n_steps && !m->analysed)
        return JP_EXIT_INCOMPLETE; /* an older report of the job stays */
    if (!session->n_steps && (rc = settle_before(session, m)) >= 0)
        return rc;
    /* stage 2: nodes, processes, networks, samples, expectations */
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
    /* stage 3: findings, causes and the verdict */
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

int report_make(struct report_session *session)
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
