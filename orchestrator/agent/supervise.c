/* supervise.c - one runner on one node: start, wait, stop, collect, within
 * limits; and the guard that outlives the supervisor.
 *
 * supervise() is the life of a runner; run_runner() is its main part:
 * await_ready, look_on, stop_runner, collect. supervise_guard() runs it in a
 * child and cleans up if that child is killed. All times derive from KillWait,
 * because Slurm kills the whole step KillWait after its SIGTERM.
 */
#include "orchestrator/agent/agent.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/num.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/stepdir.h"

#define STEP_MS 50  /* interval of checks while something starts or ends */
#define LOOK_MS 500 /* interval of checks of the step */
/* Part of KillWait reserved for a forced end and its report. */
#define RESERVE_MS 4000
/* How long a forced end may take. */
#define FORCE_MS 3000
/* Tasks may read files while they end on a signal. They are served for this
 * long if the runner's own end leaves the time. */
#define HOLD_MS 8000
#define SETTLE_MS 6000

/* --- the supervisor ----------------------------------------------------- */

/* The state of one supervisor. */
struct watch {
    const struct backend_runner *runner;
    void *state;
    const char *dir, *node;
    const char *title; /* of the profiler, for the log */
    /* slurmstepd, and when the step was last checked (clock_mono_ms). */
    pid_t parent;
    uint64_t looked_ms;
    uint64_t signal_ms; /* 0: no signal so far */
    /* How long tasks are served after a signal. */
    uint32_t hold_ms;
    const char *why; /* why it has to stop; NULL: not yet */
};

/* Blocks the signals that end us. sigtimedwait receives them while we wait, so
 * that no handler can interrupt the runner's own calls. */
static void block_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
    sigprocmask(SIG_BLOCK, set, NULL);
}

/* Why the runner has to stop; NULL: it goes on. */
static const char *find_why(const struct watch *w)
{
    if (getppid() != w->parent)
        return "slurmstepd is gone";
    if (runmark_step_has_ended(w->dir))
        return "the step has ended";
    if (!runmarks_there(w->dir))
        return "the step is reported";
    if (w->signal_ms && clock_mono_ms() - w->signal_ms >= w->hold_ms)
        return "a signal";
    return NULL;
}

/* Sleeps for ms, or until a signal. Then checks the step, at most every
 * LOOK_MS, because each check is a few calls to a file system. w->why is set if
 * the runner has to stop. */
static void sleep_and_look(struct watch *w, uint32_t ms)
{
    const struct timespec time = {ms / 1000, (long) (ms % 1000) * 1000000};
    sigset_t set;

    block_signals(&set);
    if (sigtimedwait(&set, NULL, &time) > 0 && !w->signal_ms)
        w->signal_ms = clock_mono_ms();
    if (!w->why && clock_mono_ms() - w->looked_ms >= LOOK_MS) {
        w->why = find_why(w);
        w->looked_ms = clock_mono_ms();
    }
}

/* Returns 1 if ready, 0 if it has to stop, -1 if it cannot run (err says
 * why). */
static int await_ready(struct watch *w, struct jp_error *err)
{
    uint64_t end_ms = clock_mono_ms() + JP_DEF_RUNNER_READY_MS;

    while (!w->why && !w->signal_ms) {
        int rc = w->runner->ready(w->state, err);

        if (rc != 0)
            return rc;
        if (clock_mono_ms() >= end_ms)
            return error_set(err, "it did not answer within %d s",
                             JP_DEF_RUNNER_READY_MS / 1000);
        sleep_and_look(w, STEP_MS);
    }
    return 0;
}

/* Waits until the runner has to stop. Returns -1 if the runner has ended
 * before; err says why. */
static int look_on(struct watch *w, struct jp_error *err)
{
    while (!w->why) {
        int rc = w->runner->ready(w->state, err);

        if (rc < 0)
            return -1;
        /* 2: it runs, but new tasks continue without it (backend.h) */
        if (rc > 1)
            stepdir_log(w->dir, "%s: %s: %s", w->node, w->title, err->text);
        sleep_and_look(w, LOOK_MS);
    }
    return 0;
}

/* Asks the runner to stop until it has ended or ms are over. True: it has
 * ended. */
static bool try_stop(struct watch *w, uint32_t ms, bool force)
{
    uint64_t end_ms = clock_mono_ms() + ms;
    int rc;

    while ((rc = w->runner->stop(w->state, force)) == 0 &&
           clock_mono_ms() < end_ms)
        sleep_and_look(w, STEP_MS);
    return rc > 0;
}

/* Ends the runner: first gently within the budget, then by force. The time for
 * which tasks were served after a signal is part of KillWait and is
 * subtracted. */
static int stop_runner(struct watch *w, uint32_t budget_ms,
                       struct jp_error *err)
{
    uint64_t start_ms = clock_mono_ms();
    uint64_t held_ms = w->signal_ms ? start_ms - w->signal_ms : 0;

    budget_ms -= held_ms < budget_ms ? (uint32_t) held_ms : budget_ms;

    if (try_stop(w, budget_ms, false)) {
        stepdir_log(w->dir, "%s: %s's part has ended %llu ms after %s", w->node,
                    w->title, (unsigned long long) (clock_mono_ms() - start_ms),
                    w->why ? w->why : "it was asked to");
        return 0;
    }
    if (try_stop(w, FORCE_MS, true))
        return error_set(err, "it was killed: it did not end within %u ms",
                         budget_ms);
    return error_set(err, "it cannot be killed");
}

/* The time in milliseconds for ending what a runner has started. Slurm sends
 * SIGKILL KillWait seconds after its SIGTERM, and SIGTERM never comes before
 * the event that made us stop. */
static uint32_t end_budget_ms(const struct jp_jobconf *conf,
                              enum jp_option option)
{
    uint64_t s = JP_DEF_KILL_WAIT_S;

    num_parse_u64(jobconf_side_find(conf, option, "kill_wait"), 0, 3600, &s,
                  NULL);
    return s * 1000 > 2 * RESERVE_MS ? (uint32_t) s * 1000 - RESERVE_MS
                                     : (uint32_t) s * 500;
}

/* How long, in milliseconds, tasks are served after a signal: the part of
 * KillWait that remains after the runner has slept through its interval. */
static uint32_t hold_time(const struct jp_jobconf *conf, enum jp_option option)
{
    uint32_t left = end_budget_ms(conf, option);
    uint64_t s = 0;

    num_parse_u64(jobconf_side_find(conf, option, "interval"), 0, 3600, &s,
                  NULL);
    if (s * 1000 + SETTLE_MS >= left)
        return 0;
    left -= (uint32_t) s * 1000 + SETTLE_MS;
    return left < HOLD_MS ? left : HOLD_MS;
}

/* Logs the error and marks the node, so that srun does not wait for it. */
static void mark_failed(struct watch *w, const struct jp_error *err)
{
    stepdir_log(w->dir, "%s: %s: %s", w->node, w->title, err->text);
    runmark_set(w->dir, w->node, RUNMARK_FAILED, err->text, NULL);
}

/* Marks the node as ready, with the place where tasks find the service. */
static int say_ready(struct watch *w, struct jp_error *err)
{
    const char *place = w->runner->place ? w->runner->place(w->state) : NULL;

    return runmark_set(w->dir, w->node, RUNMARK_READY, place ? place : "", err);
}

/* Runs the runner to its end. Whatever it has started is ended in every case.
 * Returns -1 if anything failed; err has the last error, the log has all. */
static int run_runner(struct watch *w, uint32_t budget_ms, struct jp_error *err)
{
    struct jp_error trouble;
    bool ready;
    int rc = await_ready(w, err);

    ready = rc > 0;
    if (rc < 0)
        mark_failed(w, err);
    if (ready) {
        rc = say_ready(w, err);
        if (rc == 0)
            rc = look_on(w, err);
        if (rc < 0)
            stepdir_log(w->dir, "%s: %s: %s", w->node, w->title, err->text);
    }
    if (stop_runner(w, ready ? budget_ms : FORCE_MS, &trouble) < 0) {
        stepdir_log(w->dir, "%s: %s: %s", w->node, w->title, trouble.text);
        rc = error_set(err, "%s", trouble.text);
    }
    if (ready && w->runner->collect(w->state, &trouble) < 0) {
        stepdir_log(w->dir, "%s: %s: %s", w->node, w->title, trouble.text);
        rc = error_set(err, "%s", trouble.text);
    }
    /* after this mark, the files in raw/ are complete */
    if (ready)
        runmark_set(w->dir, w->node, RUNMARK_DONE, "", NULL);
    return rc < 0 ? -1 : 0;
}

/* The name of what runs, for the log. */
static const char *title_of(const struct run_place *place)
{
    const struct backend *backend = backend_of_option(place->option);

    return backend ? backend->about.title : "the runner";
}

int supervise(const struct backend_runner *runner,
              const struct run_place *place, struct jp_error *err)
{
    const char *dir = place->dir, *node = place->node;
    struct watch w = {.runner = runner,
                      .dir = dir,
                      .node = node,
                      .title = title_of(place),
                      .parent = getppid()};
    struct jp_jobconf conf = {0};
    sigset_t set;
    int rc = -1;

    block_signals(&set);
    if (jobconf_read_step(dir, place->hash, &conf, err) == 0 &&
        stepdir_prepare(dir, node, err) == 0) {
        w.runner = backend_runner_of(runner, &conf);
        rc = w.runner->start(&conf, dir, node, &w.state, err);
    }
    /* conf is zeros if it could not be read: the defaults apply. */
    w.hold_ms = hold_time(&conf, place->option);
    if (rc < 0)
        mark_failed(&w, err);
    else
        rc = run_runner(&w, end_budget_ms(&conf, place->option), err);
    w.runner->destroy(w.state);
    jobconf_fini(&conf);
    return rc;
}

/* --- the guard ---------------------------------------------------------- */

/* The guard also receives SIGCHLD by sigtimedwait. */
static void block_too(sigset_t *set)
{
    block_signals(set);
    sigaddset(set, SIGCHLD);
    sigprocmask(SIG_BLOCK, set, NULL);
}

/* Waits for a signal other than SIGCHLD; 0: none. */
static int await_signal(uint32_t ms)
{
    const struct timespec time = {ms / 1000, (long) (ms % 1000) * 1000000};
    sigset_t set;
    int sig;

    block_too(&set);
    sig = sigtimedwait(&set, NULL, &time);
    return sig > 0 && sig != SIGCHLD ? sig : 0;
}

/* Waits for the child and returns its status as waitpid gives it. Passes
 * signals on. Also reaps orphans of the child, which the kernel has given to
 * us. If our parent, slurmstepd, ends, the child gets SIGTERM once. */
static int await_child(pid_t child, pid_t parent)
{
    int status = 0, sig;
    bool alone = false;
    pid_t pid;

    for (;;) {
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
            if (pid == child)
                return status;
        sig = await_signal(LOOK_MS);
        if (!sig && !alone && getppid() != parent) {
            alone = true;
            sig = SIGTERM;
        }
        if (sig)
            kill(child, sig);
    }
}

/* Waits until no process of the dead child is left, at most budget_ms. Returns
 * false if some remain. */
static bool await_orphans(uint32_t budget_ms)
{
    uint64_t end_ms = clock_mono_ms() + budget_ms;
    pid_t pid;

    for (;;) {
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (pid < 0 && errno == ECHILD)
            return true;
        if (clock_mono_ms() >= end_ms)
            return false;
        await_signal(LOOK_MS);
    }
}

/* Ends what a killed supervisor has left. bypass() keeps new accesses away from
 * the service, its processes are awaited, and sweep() ends the rest. */
static void end_rest(const struct backend_runner *runner,
                     const struct run_place *place)
{
    const char *dir = place->dir, *node = place->node;
    struct jp_jobconf conf = {0};
    struct jp_error err;

    if (jobconf_read_step(dir, place->hash, &conf, &err) < 0)
        stepdir_log(dir, "%s: %s: %s", node, title_of(place), err.text);
    else {
        runner = backend_runner_of(runner, &conf);
        if (runner->bypass)
            runner->bypass(&conf, node);
        if (!await_orphans(end_budget_ms(&conf, place->option)))
            stepdir_log(dir, "%s: %s: its daemon cannot be stopped", node,
                        title_of(place));
        if (runner->sweep)
            runner->sweep(&conf, dir, node);
        jobconf_fini(&conf);
    }
}

int supervise_guard(const struct backend_runner *runner,
                    const struct run_place *place, int (*work)(void *arg),
                    void *arg, struct jp_error *err)
{
    const char *dir = place->dir, *node = place->node;
    pid_t self = getpid(), parent = getppid(), child;
    sigset_t set;
    int status;

    /* Orphans of the child become our children instead of init's. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    block_too(&set);
    child = fork();
    if (child == 0)
        _exit(getppid() == self ? work(arg) : 1);
    if (child < 0)
        return error_set(err, "no process for the supervisor");
    status = await_child(child, parent);
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    error_set(err, "its supervisor was ended by signal %d", WTERMSIG(status));
    stepdir_log(dir, "%s: %s: %s", node, title_of(place), err->text);
    if (!runmark_is_set(dir, node, RUNMARK_READY))
        runmark_set(dir, node, RUNMARK_FAILED, err->text, NULL);
    end_rest(runner, place);
    runmark_set(dir, node, RUNMARK_DONE, "", NULL);
    return -1;
}
