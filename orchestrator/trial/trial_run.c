/* trial_run.c - run the steps of a trial and read their reports.
 *
 * trial_run_rounds is the loop over rounds and configurations; run_one decides
 * whether there is time for another step, run_step runs it. A step is srun with
 * --nccl-profile, whose report is at a known place when srun has ended. Its
 * figures become a struct trial_run (read_summary). */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "common/child.h"
#include "common/fileio.h"
#include "common/lines.h"
#include "common/ownplace.h"
#include "common/quote.h"
#include "orchestrator/report/summary_file.h"
#include "orchestrator/trial/trial.h"

/* Least time for a step: with less left, no step is started. */
#define STEP_MIN_MS 2000
/* Interval of looks at the running step. */
#define LOOK_MS 200
/* Time for srun to end the step and to write the report; interval at which it
 * is asked to. */
#define TERM_MS 30000
#define TERM_AGAIN_MS 1000
/* Most communicators that are described; bytes of a last line. */
#define COMMS_SHOWN 3
#define LAST_LINE 300

/* How much of a step's output is read. */
static const struct lines_limit output_lines = {
    "output of a trial",          UINT64_C(1) << 20, 16384, 0, 5000, LINES_CUT,
    "only its last line is shown"};

/* --- reading the report --------------------------------------------------- */

/* Communicators with the same description. */
struct comm_kind {
    char text[160];
    uint64_t time_us;
};

/* Formats "world 8 ranks on 2 nodes, NVLink, HCA between" from a row of
 * summary.json. */
static void describe_comm(const struct summary_comm *comm, char *buf,
                          size_t size)
{
    const char *fabric = comm->fabric, *inter = comm->inter;
    uint64_t hosts = json_count_or(comm->n_hosts, 0);
    size_t at = (size_t) snprintf(
        buf, size, "%.40s%s%" PRIu64 " ranks on %" PRIu64 " node%s", comm->name,
        *comm->name ? " " : "", comm->n_ranks, hosts, hosts == 1 ? "" : "s");

    if (at < size && *fabric && strcmp(fabric, "unknown") != 0 &&
        strcmp(fabric, "none") != 0)
        at += (size_t) snprintf(buf + at, size - at, ", %.40s", fabric);
    if (at < size && *inter && strcmp(inter, "unknown") != 0 &&
        strcmp(inter, "none") != 0)
        snprintf(buf + at, size - at, ", %.40s between", inter);
}

/* Adds a communicator to the kinds. Those with the same description are one
 * kind, such as the tensor-parallel groups of a job. One rank alone does not
 * communicate. */
static void add_comm(struct comm_kind *kinds, size_t *n, size_t max,
                     const struct summary_comm *comm)
{
    struct comm_kind one = {.time_us = json_count_or(comm->time_us, 0)};

    if (comm->n_ranks < 2 || comm->n_ranks == JSON_UNKNOWN)
        return;
    describe_comm(comm, one.text, sizeof(one.text));
    for (size_t i = 0; i < *n; i++) {
        if (!strcmp(kinds[i].text, one.text)) {
            kinds[i].time_us += one.time_us;
            return;
        }
    }
    if (*n < max)
        kinds[(*n)++] = one;
}

/* Orders by time spent, most first. */
static int by_time(const void *a, const void *b)
{
    const struct comm_kind *x = a, *y = b;

    return x->time_us > y->time_us ? -1 : x->time_us < y->time_us;
}

/* "n[1-2]; world 8 ranks on 2 nodes, HCA between; tp ..." */
static char *describe_place(const struct summary_file *s)
{
    struct comm_kind kinds[64];
    char text[700];
    size_t n = 0, at;

    for (size_t i = 0; i < s->n_comms; i++)
        add_comm(kinds, &n, sizeof(kinds) / sizeof(*kinds), &s->comms[i]);
    qsort(kinds, n, sizeof(*kinds), by_time);
    at = (size_t) snprintf(text, sizeof(text), "%.160s", s->job.nodelist);
    if (at >= sizeof(text))
        /* snprintf returns the length before truncation */
        at = sizeof(text) - 1;
    for (size_t i = 0; i < n && i < COMMS_SHOWN; i++)
        at += (size_t) snprintf(text + at, sizeof(text) - at, "%s%s",
                                at ? "; " : "", kinds[i].text);
    return strdup(text);
}

/* Returns the time from the first operation to the end of the last one, divided
 * by their number. NAN if unknown. */
static double operation_time(const struct summary_file *s)
{
    double begin = INFINITY, end = -INFINITY, ops = 0;

    for (size_t i = 0; i < s->n_windows; i++) {
        const struct summary_window *w = &s->windows[i];

        if (!w->ops || w->ops == JSON_UNKNOWN || w->t0_us == JSON_UNKNOWN ||
            w->t1_us == JSON_UNKNOWN || w->t1_us <= w->t0_us)
            continue;
        begin = fmin(begin, (double) w->t0_us);
        end = fmax(end, (double) w->t1_us);
        ops += (double) w->ops;
    }
    return ops > 0 && end > begin ? (end - begin) / ops : NAN;
}

/* Reads the time of an iteration, if the report has found it by collectives. */
static void read_iteration(struct trial_run *run, const struct summary_file *s)
{
    double period = s->iteration.period_us;
    uint64_t ops = json_count_or(s->iteration.ops, 0);

    if (strcmp(s->iteration.source, "collectives") != 0 ||
        !(period > 0 && period < 1e15) || !ops)
        return;
    run->iteration_us = period;
    run->iteration_ops = ops;
}

/* Sets the status and its reason, unless there is one already. */
static void set_why(struct trial_run *run, enum trial_status status,
                    const char *why)
{
    if (run->status != TRIAL_OK)
        return; /* keep the first reason: it is the cause */
    run->status = status;
    free(run->why);
    run->why = strdup(why);
}

/* Fills what the run's report says, of a step's directory. */
static void read_summary(struct trial_run *run, const char *step_dir)
{
    struct jp_error err = {""};
    struct summary_file s;

    if (summary_file_read(step_dir, SUMMARY_WHOLE, &s, &err) < 0) {
        set_why(run, TRIAL_NODATA, err.text);
        return;
    }
    run->verdict = strdup(s.verdict.word);
    run->over = describe_place(&s);
    read_iteration(run, &s);
    run->operation_us = operation_time(&s);
    /* absurd figures of a damaged report */
    if (run->operation_us > 1e15)
        run->operation_us = NAN;
    if (summary_file_is(&s, "HANG") || summary_file_is(&s, "FAILED"))
        set_why(run, TRIAL_FAILED, s.verdict.text);
    else if (summary_file_is(&s, "NODATA"))
        set_why(run, TRIAL_NODATA, s.verdict.text);
    else if (isnan(run->iteration_us) && isnan(run->operation_us))
        set_why(run, TRIAL_NODATA, "no operation has a time");
    summary_file_fini(&s);
}

/* --- the step ------------------------------------------------------------- */

/* Monotonic time in ms. */
static uint64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t) ts.tv_sec * 1000 + (uint64_t) ts.tv_nsec / 1000000;
}

/* Returns the last line that is not blank of the end of a file, truncated to
 * LAST_LINE bytes; "" if there is none. Caller frees. */
static char *last_line(const char *path)
{
    struct jp_lines *lines = lines_open_tail(path, &output_lines, NULL);
    char kept[LAST_LINE + 1] = "", *line;
    size_t len;

    while (lines && lines_next(lines, &line, &len, NULL) > 0) {
        /* a progress bar returns to the line's begin */
        line[strcspn(line, "\r")] = '\0';
        if (line[strspn(line, " \t")])
            snprintf(kept, sizeof(kept), "%s", line);
    }
    lines_close(lines);
    return strdup(kept);
}

/* Returns 0 if it has ended, 1 at its time limit, 2 if it was stopped. */
static int await(pid_t pid, volatile const int *stop, uint64_t limit_ms,
                 int *status)
{
    uint64_t deadline = now_ms() + limit_ms, again = 0;
    int why = 0;

    for (;;) {
        int rc = child_await(pid, LOOK_MS, status);

        if (rc)
            return rc < 0 ? 0 : why;
        if (!why && (*stop || now_ms() >= deadline)) {
            why = *stop ? 2 : 1;
            deadline = now_ms() + TERM_MS;
        }
        if (why && now_ms() >= deadline) {
            /* srun has not ended the step in time */
            kill(-pid, SIGKILL);
            child_await(pid, CHILD_LAST_MS, status);
            return why;
        }
        if (why && now_ms() >= again) {
            /* srun then ends the step and makes the report. Repeated, because
             * srun forgets a signal that comes before it has a step. */
            kill(pid, SIGTERM);
            again = now_ms() + TERM_AGAIN_MS;
        }
    }
}

/* Finds the step's directory in the only job folder below base; or NULL. */
static char *find_step(const char *base)
{
    const char *slash = strrchr(base, '/');
    char *parent = strndup(base, (size_t) (slash - base)), *found = NULL;
    size_t len = strlen(slash + 1);
    DIR *steps = parent ? ownplace_opendir(parent) : NULL;
    struct dirent *e, *s;

    /* steps/001-c02-r1-JOBID/step-N: the job's id is added at the launch */
    while (steps && !found && (e = readdir(steps))) {
        char *job;
        DIR *dir;

        if (strncmp(e->d_name, slash + 1, len) != 0 || e->d_name[len] != '-')
            continue;
        job = text_format("%s/%s", parent, e->d_name);
        dir = job ? ownplace_opendir(job) : NULL;
        /* a run has one step */
        while (dir && !found && (s = readdir(dir)))
            if (!strncmp(s->d_name, "step-", 5))
                found = text_format("%s/%s", job, s->d_name);
        if (dir)
            closedir(dir);
        free(job);
    }
    if (steps)
        closedir(steps);
    free(parent);
    return found;
}

/* Makes the place of a run: steps/002-c01-r1, with .2, .3 and so on if an
 * interrupted run has left its output or its report there. Returns the path by
 * which the run's folder begins (the launch adds the job's id), and in *log its
 * new output file BASE.txt; NULL and err on failure. Caller frees and closes.
 */
static char *make_place(const struct trial *t, const char *dir, size_t config,
                        size_t round, int *log, struct jp_error *err)
{
    *log = -1;
    for (unsigned i = 1; i < 1000; i++) {
        char *base = text_format("%s/steps/%03zu-c%02zu-r%zu", dir,
                                 t->n_runs + 1, config + 1, round + 1);
        char *place = base && i > 1 ? text_format("%s.%u", base, i) : base;
        char *output = place ? text_format("%s.txt", place) : NULL;
        char *old = output ? find_step(place) : NULL;
        bool failed = !output;

        if (place != base)
            free(base);
        if (failed) {
            error_set(err, "out of memory");
        } else if (!old) {
            /* a new file: what exists already is not this run's output */
            *log = ownplace_create(output, err);
            failed = *log < 0 && errno != EEXIST;
        }
        free(output);
        if (*log >= 0)
            return place;
        free(old);
        free(place);
        if (failed)
            return NULL;
    }
    error_set(err, "%s/steps: too many runs were interrupted", dir);
    return NULL;
}

/* Sets the status of a run from how srun ended. ended: result of await. */
static void judge_exit(struct trial_run *run, int status, int ended,
                       const char *output)
{
    char *line;

    run->exit_status = WIFEXITED(status)     ? WEXITSTATUS(status)
                       : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                             : 0;
    if (ended == 1) {
        set_why(run, TRIAL_LATE, "it reached its time limit");
        return;
    }
    if (!run->exit_status)
        return;
    line = last_line(output);
    set_why(run, TRIAL_FAILED, line && *line ? line : "srun failed");
    free(line);
}

/* Reads the report of a run whose folder begins with base. */
static void read_report(struct trial_run *run, const char *base,
                        const char *trial_dir)
{
    char *step = find_step(base);
    size_t skip = strlen(trial_dir) + 1;

    if (step) {
        run->dir = strdup(step + skip);
        read_summary(run, step);
    } else {
        set_why(run, TRIAL_NODATA,
                "the step has no report: is jobprof's module in Slurm's "
                "plugstack?");
    }
    free(step);
}

/* Checks that all strings were allocated. */
static int complete(struct trial_run *run)
{
    char **texts[] = {&run->dir, &run->verdict, &run->over, &run->why};

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (!*texts[i] && !(*texts[i] = strdup("")))
            return -1;
    return 0;
}

/* The course of a trial. */
struct course {
    struct trial *t;
    const struct trial_runner *runner;
    uint64_t deadline_ms; /* by now_ms() */
};

/* Runs a step and appends it to the runs. Returns 1 if it was stopped and does
 * not count; -1 and err if it could not be started. */
static int run_step(const struct course *c, size_t config, size_t round,
                    uint64_t limit_ms, struct jp_error *err)
{
    struct trial *t = c->t;
    struct trial_run run = {.config = config,
                            .round = round,
                            .iteration_us = NAN,
                            .operation_us = NAN};
    uint64_t start = now_ms();
    int rc = -1, status = 0, ended, log = -1;
    char *base = make_place(t, c->runner->dir, config, round, &log, err);
    char *output = base ? text_format("%s.txt", base) : NULL;
    char **words = base ? trial_words(t, config, base) : NULL;
    pid_t pid = -1;

    if (!base)
        goto out;
    if (!words || !output || t->n_runs == TRIAL_ALL_RUNS_MAX) {
        error_set(err, "out of memory");
        goto out;
    }
    pid = child_start(&(struct child){.argv = words, .log = log});
    if (pid < 0) {
        error_set(err, "no process: %s", strerror(errno));
        goto out;
    }
    ended = await(pid, c->runner->stop, limit_ms, &status);
    run.wall_s = (double) (now_ms() - start) / 1000;
    /* stopped: its time says nothing about the configuration */
    if (ended == 2) {
        rc = 1;
        goto out;
    }
    judge_exit(&run, status, ended, output);
    read_report(&run, base, c->runner->dir);
    if (complete(&run) < 0) {
        error_set(err, "out of memory");
        free(run.dir);
        free(run.verdict);
        free(run.over);
        free(run.why);
        goto out;
    }
    /* the trial owns the strings now */
    t->runs[t->n_runs++] = run;
    rc = 0;
out:
    if (log >= 0)
        close(log);
    trial_free_words(words);
    free(output);
    free(base);
    return rc;
}

/* --- the rounds ----------------------------------------------------------- */

/* Returns the number of runs left in this round, from position `from` of the
 * order. */
static size_t left_in_round(const struct trial *t, const size_t *order,
                            size_t from, size_t round)
{
    size_t n = 0;

    for (size_t i = from; i < t->n_configs; i++)
        n += trial_goes_on(t, order[i]) && !trial_has_run(t, order[i], round);
    return n;
}

/* Returns the expected duration of a step in s: the longest one of the
 * configuration, otherwise of all; 0 if there is none yet. */
static double expected_s(const struct trial *t, size_t config)
{
    double own = 0, any = 0;

    for (size_t i = 0; i < t->n_runs; i++) {
        const struct trial_run *run = &t->runs[i];

        if (run->status != TRIAL_OK || isnan(run->wall_s))
            continue;
        any = fmax(any, run->wall_s);
        if (run->config == config)
            own = fmax(own, run->wall_s);
    }
    return own > 0 ? own : any;
}

/* Runs one step. Returns 0 to continue, 1 if the trial is over, -1 and err. */
static int run_one(struct course *c, size_t config, size_t round, size_t left,
                   struct jp_error *err)
{
    uint64_t now = now_ms();
    uint64_t left_ms = now < c->deadline_ms ? c->deadline_ms - now : 0, limit;
    int rc;

    /* a step that is cut would count as failed */
    if (left_ms < STEP_MIN_MS ||
        (double) left_ms < 1000 * expected_s(c->t, config)) {
        c->t->end = TRIAL_TIME_UP;
        return 1;
    }
    /* an equal part for each step of the round; unused time is left to the
     * others */
    limit = left_ms / left < STEP_MIN_MS ? STEP_MIN_MS : left_ms / left;
    /* but at least twice what a step took before: times vary */
    if ((double) limit < 2000 * expected_s(c->t, config))
        limit = (uint64_t) (2000 * expected_s(c->t, config));
    if (limit > left_ms)
        limit = left_ms;
    rc = run_step(c, config, round, limit, err);
    if (rc < 0)
        return -1;
    if (rc == 1) {
        c->t->end = TRIAL_INTERRUPTED;
        return 1;
    }
    if (c->runner->on_run)
        c->runner->on_run(c->runner->arg, c->t);
    trial_judge(c->t);
    return trial_save(c->t, c->runner->dir, err);
}

/* Returns the number of configurations that get more runs. */
static size_t going(const struct trial *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n_configs; i++)
        n += trial_goes_on(t, i);
    return n;
}

/* Returns 0 when the round is done, 1 if the trial is over, -1 and err. */
static int run_round(struct course *c, size_t round, struct jp_error *err)
{
    size_t order[TRIAL_ARMS_MAX];

    trial_order(c->t, round, order);
    for (size_t i = 0; i < c->t->n_configs; i++) {
        size_t left = left_in_round(c->t, order, i, round);
        int rc;

        if (!trial_goes_on(c->t, order[i]) ||
            trial_has_run(c->t, order[i], round))
            continue;
        rc = *c->runner->stop ? 1 : run_one(c, order[i], round, left, err);
        /* also if the signal came while the step ended */
        if (*c->runner->stop)
            c->t->end = TRIAL_INTERRUPTED;
        if (rc)
            return rc;
    }
    return 0;
}

int trial_run_rounds(struct trial *t, const struct trial_runner *runner,
                     struct jp_error *err)
{
    struct course course = {t, runner, now_ms() + runner->limit_ms};
    int rc = 0;

    t->end = TRIAL_OPEN;
    /* a continued trial may have dropped configurations already */
    trial_judge(t);
    for (size_t round = 0; round < t->rounds && rc == 0; round++) {
        rc = run_round(&course, round, err);
        /* nothing is left to compare */
        if (rc == 0 && going(t) < 2) {
            size_t good = 0;

            for (size_t i = 0; i < t->n_configs; i++)
                good += !t->arms[i].failed;
            t->end = good < 2 ? TRIAL_GAVE_UP : TRIAL_SETTLED;
            rc = 1;
        }
    }
    if (rc < 0)
        return -1;
    /* settled, but no winner: too few configurations are left to compare */
    if (rc == 0 || (t->end == TRIAL_SETTLED && t->look.finding != TRIAL_WINNER))
        t->end = rc == 0 ? TRIAL_DONE : TRIAL_GAVE_UP;
    trial_judge(t);
    return 0;
}
