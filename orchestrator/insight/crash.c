/* crash.c - find the task that ended first by itself, and whether that is a
 * fault.
 *
 * Each task's end is one of four ways (crash_way_of). crash_findings is the
 * entry, judge_ends() the decision: a lost node, else the first task that ended
 * by itself before any kill, else the first kill. insight.h has the rules in
 * words. crash_of_hang looks only whether the processes that a hang is about
 * had ended.
 */
#include "orchestrator/insight/insight.h"

#include <inttypes.h>
#include <signal.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/figure.h"
#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/hypothesis.h"
#include "orchestrator/insight/limits.h"

/* A shell exits with this number plus the signal that ended its child. */
#define SHELL_SIGNAL 128

/* timeout(1) exits with this status when the time of its program is over. */
#define TIMEOUT_STATUS 124

/* A task and its node. */
struct end {
    const struct jp_node *node;
    const struct jp_task *task;
};

const char *const crash_causes[JP_CRASH_CAUSES] = {
    [JP_CRASH_NONE] = "none",
    [JP_CRASH_SIGNAL] = "signal",
    [JP_CRASH_EXIT] = "exit_code",
    [JP_CRASH_MEMORY] = "out_of_memory",
    [JP_CRASH_KILLED] = "killed",
    [JP_CRASH_NODE] = "node_lost",
    [JP_CRASH_CANCELLED] = "cancelled",
    [JP_CRASH_INTERRUPTED] = "interrupted",
    [JP_CRASH_TIME_LIMIT] = "time_limit",
    [JP_CRASH_PREEMPTED] = "preempted",
    [JP_CRASH_ENDED] = "ended",
    [JP_CRASH_PROCESSES] = "processes",
    [JP_CRASH_UNKNOWN] = "unknown",
};

const char *const crash_job_states[SLURMJOB_STATES] = {
    [SLURMJOB_RUNNING] = "RUNNING",
    [SLURMJOB_COMPLETED] = "COMPLETED",
    [SLURMJOB_FAILED] = "FAILED",
    [SLURMJOB_CANCELLED] = "CANCELLED",
    [SLURMJOB_TIMEOUT] = "TIMEOUT",
    [SLURMJOB_NODE_FAIL] = "NODE_FAIL",
    [SLURMJOB_OUT_OF_MEMORY] = "OUT_OF_MEMORY",
    [SLURMJOB_PREEMPTED] = "PREEMPTED",
};

enum slurmjob_state crash_state_find(const char *name)
{
    for (int i = 0; name && i < SLURMJOB_STATES; i++)
        if (crash_job_states[i] && !strcmp(crash_job_states[i], name))
            return (enum slurmjob_state) i;
    return SLURMJOB_UNKNOWN;
}

/* --- one task's end ------------------------------------------------------ */

/* Returns the signal that ended a task, or the program that its shell ran; 0:
 * none. */
static int signal_of(int status)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;

    if (WIFSIGNALED(status))
        return WTERMSIG(status);
    return code > SHELL_SIGNAL && code <= SHELL_SIGNAL + SIGTERM
               ? code - SHELL_SIGNAL
               : 0;
}

/* Whether the task has written an exception that was its own. A launcher that
 * ends its workers makes torchelastic raise SignalException in them; Ctrl-C
 * raises KeyboardInterrupt. */
static bool has_exception(const struct jp_task *task)
{
    return task->error && *task->error &&
           !strstr(task->error, "SignalException") &&
           !strstr(task->error, "KeyboardInterrupt");
}

enum jp_crash_way crash_way_of(const struct jp_task *task)
{
    if (task->status < 0)
        return has_exception(task) ? JP_CRASH_SELF : JP_CRASH_UNTOLD;
    if (task->status == 0)
        return JP_CRASH_WELL;
    switch (signal_of(task->status)) {
    case SIGKILL:
    case SIGTERM:
    case SIGINT:
    case SIGHUP:
        return JP_CRASH_KILL;
    default:
        return JP_CRASH_SELF;
    }
}

uint32_t crash_count(const struct jp_nodes *nodes, const struct jp_crash *crash,
                     enum jp_crash_way way)
{
    bool on_request = crash && crash->cause >= JP_CRASH_CANCELLED &&
                      crash->cause <= JP_CRASH_ENDED;
    uint32_t n = 0;

    for (size_t i = 0; i < nodes->n_nodes; i++)
        for (size_t k = 0; k < nodes->nodes[i].n_tasks; k++) {
            enum jp_crash_way own = crash_way_of(&nodes->nodes[i].tasks[k]);

            if (on_request && own == JP_CRASH_SELF)
                own = JP_CRASH_KILL;
            n += own == way;
        }
    return n;
}

/* Returns how likely an end is the first one among ends at about the same time,
 * 2 most likely. Programs abort or exit with a status because a peer is gone;
 * nothing makes a program crash because a peer is gone. */
static int weight_of(const struct jp_task *task)
{
    switch (signal_of(task->status)) {
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
        return 2;
    case 0:
        return 0;
    default:
        return 1;
    }
}

/* Returns b's end minus a's in us; 0 if a time is unknown. On one node the
 * monotonic clock is used, which is never set. */
static int64_t between(struct end a, struct end b)
{
    if (a.node == b.node && a.task->mono_us && b.task->mono_us)
        return b.task->mono_us - a.task->mono_us;
    return a.task->end_us && b.task->end_us ? b.task->end_us - a.task->end_us
                                            : 0;
}

/* Returns the time in us below which two ends have no known order: on one node
 * the interval at which slurmstepd looks, else that plus the uncertainty of
 * both clocks, but at most what clocks differ by that were never compared. A
 * wrong order would accuse the wrong task. */
static double blur(struct end a, struct end b)
{
    double least = limits_get(JP_LIMIT_CRASH_NODE);
    double unc = a.node->unc_us + b.node->unc_us;

    if (a.node == b.node)
        return least;
    if (!a.node->clock || !b.node->clock)
        return limits_get(JP_LIMIT_CRASH_CLOCKS);
    return fmin(least + CLOCKMAP_SURE * unc, limits_get(JP_LIMIT_CRASH_CLOCKS));
}

/* Returns true if a certainly ended before b. */
static bool is_before(struct end a, struct end b)
{
    return (double) between(a, b) > blur(a, b);
}

/* Returns true if the order of both is unknown. */
static bool is_near(struct end a, struct end b)
{
    return !is_before(a, b) && !is_before(b, a);
}

/* --- all ends ------------------------------------------------------------ */

/* Returns how often the launchers had started their workers anew. */
static uint32_t last_attempt(const struct jp_nodes *nodes)
{
    uint32_t last = 0;

    for (size_t i = 0; i < nodes->n_nodes; i++)
        for (size_t k = 0; k < nodes->nodes[i].n_workers; k++)
            if (nodes->nodes[i].workers[k].restarts > last)
                last = nodes->nodes[i].workers[k].restarts;
    return last;
}

/* Calls visit for each task's end until it returns true. Returns whether it
 * did. */
static bool each(const struct jp_nodes *nodes,
                 bool (*visit)(void *arg, struct end end), void *arg)
{
    uint32_t attempt = last_attempt(nodes);

    for (size_t i = 0; i < nodes->n_nodes; i++)
        for (size_t k = 0; k < nodes->nodes[i].n_tasks; k++) {
            const struct jp_task *task = &nodes->nodes[i].tasks[k];

            /* what ended an earlier attempt, its launcher has mended */
            if (task->is_worker && task->restarts != attempt)
                continue;
            if (visit(arg, (struct end){&nodes->nodes[i], task}))
                return true;
        }
    return false;
}

/* The earliest end of each way (enum jp_crash_way), and the number of ends. */
struct tally {
    struct end first[4];
    uint32_t n[4];
};

/* Adds one end to the tally. */
static bool tally_end(void *arg, struct end end)
{
    struct tally *tally = arg;
    enum jp_crash_way way = crash_way_of(end.task);
    struct end *first = &tally->first[way];

    if (!tally->n[way]++ || between(*first, end) < 0)
        *first = end;
    return false;
}

/* The choice among ends that cannot be ordered. */
struct choice {
    struct end first; /* first by the clocks */
    struct end best;  /* the most likely first one, by weight_of */
    uint32_t rivals;  /* others that may have been first */
};

/* Takes an end into account that a task made by itself and that may have come
 * before the first one. */
static bool choose(void *arg, struct end end)
{
    struct choice *c = arg;

    if (crash_way_of(end.task) != JP_CRASH_SELF || end.task == c->first.task ||
        !is_near(c->first, end))
        return false;
    c->rivals++;
    if (weight_of(end.task) > weight_of(c->best.task))
        c->best = end;
    return false;
}

/* What happened some time after an end. */
struct later {
    struct end first;
    double least_us; /* only ends of other tasks after this time count */
    int64_t next_us; /* time until the next of them; -1: none */
    bool well;       /* one of them ended by itself, or successfully */
    uint64_t kills;  /* number of other tasks ended by SIGKILL before then */
};

/* Looks at one end of another task. Ends before least_us are part of the same
 * event; SIGKILLs among them are counted. */
static bool look_later(void *arg, struct end end)
{
    struct later *l = arg;
    int64_t us = between(l->first, end);
    enum jp_crash_way way = crash_way_of(end.task);

    if (end.task == l->first.task)
        return false;
    if ((double) us <= l->least_us) {
        l->kills += signal_of(end.task->status) == SIGKILL;
        return false;
    }
    if (l->next_us < 0 || us < l->next_us)
        l->next_us = us;
    l->well |= way == JP_CRASH_WELL || way == JP_CRASH_SELF;
    return false;
}

/* --- what Slurm reports --------------------------------------------------- */

/* Returns the cause if Slurm ends a job's tasks in this state; NONE otherwise.
 */
static enum jp_crash_cause cause_of_state(enum slurmjob_state state)
{
    switch (state) {
    case SLURMJOB_CANCELLED:
        return JP_CRASH_CANCELLED;
    case SLURMJOB_TIMEOUT:
        return JP_CRASH_TIME_LIMIT;
    case SLURMJOB_PREEMPTED:
        return JP_CRASH_PREEMPTED;
    default:
        return JP_CRASH_NONE;
    }
}

/* Returns the cause if Slurm ended the job no later than this end; NONE
 * otherwise. Slurm's time is in whole seconds, so a second of doubt counts for
 * Slurm: else every time limit would look like a fault. If the job ended long
 * after the task, its state is not about the step. */
static enum jp_crash_cause ended_by_slurm(const struct jp_nodes *nodes,
                                          struct end end)
{
    enum jp_crash_cause cause = cause_of_state(nodes->job_state);
    double early = (double) nodes->job_end_us -
                   limits_get(JP_LIMIT_CRASH_CLOCKS);

    if (cause == JP_CRASH_NONE || !nodes->job_end_us || !end.task->end_us)
        return cause;
    return (double) end.task->end_us >= early ? cause : JP_CRASH_NONE;
}

/* Returns a node that reported no end while Slurm reports that a node failed;
 * NULL: none. */
static const struct jp_node *find_lost(const struct jp_nodes *nodes)
{
    if (!nodes->over || nodes->job_state != SLURMJOB_NODE_FAIL)
        return NULL;
    for (size_t i = 0; i < nodes->n_nodes; i++)
        if (!nodes->nodes[i].finished && !nodes->nodes[i].n_tasks)
            return &nodes->nodes[i];
    return NULL;
}

/* --- judge ---------------------------------------------------------------- */

/* Sets the first task, its signal and its exit status. */
static void set_first(struct jp_crash *crash, struct end end)
{
    crash->node = end.node;
    crash->task = end.task;
    crash->end_us = end.task->end_us;
    crash->signal = signal_of(end.task->status);
    crash->code = WIFEXITED(end.task->status) && !crash->signal
                      ? WEXITSTATUS(end.task->status)
                      : -1;
}

/* Sets how long the first task ended before the next one. */
static void set_before(const struct jp_nodes *nodes, struct jp_crash *crash)
{
    struct later later = {.first = {crash->node, crash->task}, .next_us = -1};

    each(nodes, look_later, &later);
    crash->before_us = later.next_us;
}

/* Returns true if a kill clearly came before this end (arg), which may be its
 * consequence. A program may exit with a status on SIGTERM, but does not crash;
 * so a crash only counts as a consequence by the clock of its own node. */
static bool is_killed_before(void *arg, struct end end)
{
    const struct end *self = arg;

    return crash_way_of(end.task) == JP_CRASH_KILL &&
           (end.node == self->node || !weight_of(self->task)) &&
           is_before(end, *self);
}

/* Returns true for an end by another status than that of the task in arg. */
static bool is_other(void *arg, struct end end)
{
    const struct jp_task *task = arg;

    return end.task->status != task->status;
}

/* Returns true if the recordings show that no process waited for another one
 * when it ended: each has its end, and every operation had ended before. */
static bool have_finished(const struct jp_result *result)
{
    const struct jp_quality *q = result ? &result->quality : NULL;

    return q && q->recordings && q->recordings == q->files &&
           !q->cut_recordings && !q->in_flight && !q->lost &&
           q->ranks_seen >= q->ranks_expected;
}

/* The first end, and whether another one came long after it. */
struct spread {
    struct end first;
    bool is_wide;
};

static bool look_at_spread(void *arg, struct end end)
{
    struct spread *s = arg;

    s->is_wide |= (double) between(s->first, end) >
                  limits_get(JP_LIMIT_CRASH_CLOCKS);
    return s->is_wide;
}

/* Whether programs get this signal from others, as from scancel -s or sbatch
 * --signal: it says nothing of a fault. */
static bool is_sent(int signal)
{
    return signal == SIGUSR1 || signal == SIGUSR2 || signal == SIGALRM ||
           signal == SIGXCPU || signal == SIGQUIT;
}

/* Returns true if no task of those that ended with one status can have been the
 * reason of the others: timeout(1) has ended each of them; all had finished, or
 * somebody has sent all a signal, and they ended within the time by which
 * clocks may differ; none has used NCCL, so that none waited for another; or
 * all ended too close in time. The last two do not hold of launchers, which end
 * alike because one of their workers did. */
static bool is_independent(const struct jp_nodes *nodes,
                           const struct jp_processes *processes,
                           const struct jp_result *result,
                           const struct jp_crash *crash)
{
    struct spread s = {.first = {crash->node, crash->task}};

    if (crash->code == TIMEOUT_STATUS ||
        ((have_finished(result) || is_sent(crash->signal)) &&
         !each(nodes, look_at_spread, &s)))
        return true;
    for (size_t i = 0; i < nodes->n_nodes; i++)
        if (nodes->nodes[i].n_workers)
            return false;
    return !processes || !processes->n || crash->rivals + 1 == crash->tasks;
}

/* Returns true if all tasks of the step ended by themselves, with one status,
 * and none of them can have been the reason of the others. */
static bool is_alike(const struct jp_nodes *nodes,
                     const struct jp_processes *processes,
                     const struct jp_result *result, const struct tally *tally,
                     const struct jp_crash *crash)
{
    return crash->tasks > 1 && tally->n[JP_CRASH_SELF] == crash->tasks &&
           is_independent(nodes, processes, result, crash) &&
           !each(nodes, is_other, (void *) (uintptr_t) crash->task);
}

/* Counts the tasks that certainly ended before the first one that failed, with
 * status 0. */
struct earlier {
    struct end first;
    uint32_t n;
};

static bool count_earlier(void *arg, struct end end)
{
    struct earlier *e = arg;

    e->n += crash_way_of(end.task) == JP_CRASH_WELL && is_before(end, e->first);
    return false;
}

/* Fills crash if a task ended by itself and nothing from outside came before.
 * Returns false otherwise. */
static bool judge_self(const struct jp_nodes *nodes,
                       const struct jp_processes *processes,
                       const struct jp_result *result,
                       const struct tally *tally, struct jp_crash *crash)
{
    struct choice c = {.first = tally->first[JP_CRASH_SELF]};
    struct earlier earlier;

    c.best = c.first;
    if (!tally->n[JP_CRASH_SELF] || each(nodes, is_killed_before, &c.first) ||
        ended_by_slurm(nodes, c.first) != JP_CRASH_NONE)
        return false;
    each(nodes, choose, &c);
    set_first(crash, c.best);
    crash->cause = crash->signal ? JP_CRASH_SIGNAL : JP_CRASH_EXIT;
    crash->rivals = c.rivals;
    crash->sure = !c.rivals &&
                  (c.first.task->end_us || tally->n[JP_CRASH_SELF] == 1);
    earlier = (struct earlier){.first = {crash->node, crash->task}};
    each(nodes, count_earlier, &earlier);
    crash->earlier = earlier.n;
    if (is_alike(nodes, processes, result, tally, crash)) {
        crash->alike = true;
        crash->sure = false;
        crash->node = NULL;
        crash->task = NULL;
    }
    return true;
}

/* Returns why SIGKILL ended a task: no memory, or a kill of this task alone.
 * NONE: nothing that is a fault. */
static enum jp_crash_cause why_killed(const struct jp_nodes *nodes,
                                      struct end end)
{
    struct later later = {.first = end,
                          .least_us = limits_get(JP_LIMIT_CRASH_CLOCKS),
                          .next_us = -1};

    uint64_t oom_kills = 0;

    if (signal_of(end.task->status) != SIGKILL)
        return JP_CRASH_NONE;
    if (nodes->job_state == SLURMJOB_OUT_OF_MEMORY)
        return JP_CRASH_MEMORY;
    each(nodes, look_later, &later);
    for (size_t i = 0; i < nodes->n_nodes; i++)
        oom_kills += nodes->nodes[i].oom_kills;
    /* The kernel kills one task at a time when memory is short; Slurm kills
     * all. More kills than the kernel counted are not all the kernel's. */
    if (end.node->oom_kills && later.kills < oom_kills)
        return JP_CRASH_MEMORY;
    return later.well ||
                   (double) later.next_us > limits_get(JP_LIMIT_CRASH_ALONE)
               ? JP_CRASH_KILLED
               : JP_CRASH_NONE;
}

/* Judges a step in which the first end came from outside. */
static void judge_kill(const struct jp_nodes *nodes, struct end first,
                       struct jp_crash *crash)
{
    enum jp_crash_cause by_slurm = ended_by_slurm(nodes, first);
    enum jp_crash_cause killed = why_killed(nodes, first);
    int signal = signal_of(first.task->status);

    set_first(crash, first);
    /* The kernel's count is of the whole node, so a kill may belong to another
     * job. Slurm's state is of this job. */
    crash->sure = killed != JP_CRASH_MEMORY ||
                  nodes->job_state == SLURMJOB_OUT_OF_MEMORY;
    if (by_slurm == JP_CRASH_NONE && killed != JP_CRASH_NONE)
        crash->cause = killed;
    else if (signal == SIGINT)
        crash->cause = JP_CRASH_INTERRUPTED;
    else
        crash->cause = by_slurm == JP_CRASH_NONE ? JP_CRASH_ENDED : by_slurm;
}

/* Returns the task that the worker descends from; NULL: it is not known, or has
 * not failed. */
static const struct jp_task *launcher_of(const struct jp_crash *crash)
{
    for (size_t i = 0; i < crash->node->n_tasks; i++)
        if (crash->node->tasks[i].gtid == crash->task->gtid)
            return crash->node->tasks[i].status > 0 ? &crash->node->tasks[i]
                                                    : NULL;
    return NULL;
}

/* Whether the launcher of the worker that ended first only passes on how a
 * worker ended: by 1, as torchrun does, or by 128 and the signal, as a shell
 * does. Another status is its own decision. */
static bool is_passed_on(const struct jp_crash *crash)
{
    const struct jp_task *launcher = launcher_of(crash);
    int code = launcher && WIFEXITED(launcher->status)
                   ? WEXITSTATUS(launcher->status)
                   : 1;

    return code == 1 || code == 128 + SIGKILL;
}

/* A worker of which it is not known how it ended, against one that ended by
 * itself. */
struct rival {
    struct end first;
    bool before;   /* one ended certainly before */
    uint32_t near; /* so many may have */
};

static bool has_time(const struct jp_task *task)
{
    return task->mono_us || task->end_us;
}

static bool look_for_rival(void *arg, struct end end)
{
    struct rival *r = arg;

    if (end.task == r->first.task || crash_way_of(end.task) != JP_CRASH_UNTOLD)
        return false;
    if (!has_time(end.task) || is_near(end, r->first))
        r->near++;
    else
        r->before |= is_before(end, r->first);
    return false;
}

/* Whether the worker that ended by itself may be named: none of which the end
 * is not known ended before. Those that may have are its rivals. */
static bool is_named(const struct jp_nodes *view, struct jp_crash *crash)
{
    struct rival r = {.first = {crash->node, crash->task}};

    if (crash->task)
        each(view, look_for_rival, &r);
    crash->rivals += r.near;
    crash->sure &= !r.near;
    return !r.before;
}

/* Judges the ends of the launchers' workers as if they were the step's tasks.
 * Of several attempts, the last one counts, and none if all launchers ended
 * well. Returns true if one of them ended by itself, or for lack of memory,
 * before anything else: then the end of its launcher is a consequence.
 * Otherwise the tasks show what happened, as in a step that was cancelled. */
static bool judge_workers(const struct jp_nodes *nodes,
                          const struct jp_processes *processes,
                          struct jp_crash *crash)
{
    struct jp_nodes view = *nodes;
    struct jp_crash before = *crash;
    struct tally tally = {0};
    bool found;

    view.nodes = calloc(nodes->n_nodes + 1, sizeof(*view.nodes));
    if (!view.nodes)
        return false; /* the tasks are judged */
    for (size_t i = 0; i < nodes->n_nodes; i++) {
        view.nodes[i] = nodes->nodes[i];
        view.nodes[i].tasks = nodes->nodes[i].workers;
        view.nodes[i].n_tasks = nodes->nodes[i].n_workers;
    }
    each(&view, tally_end, &tally);
    found = judge_self(&view, processes, NULL, &tally, crash);
    if (found && !is_named(&view, crash)) {
        free(view.nodes);
        *crash = before;
        return false; /* the launcher is told, and who ended first */
    }
    if (!found && tally.n[JP_CRASH_KILL]) {
        judge_kill(&view, tally.first[JP_CRASH_KILL], crash);
        found = crash->cause == JP_CRASH_MEMORY;
    }
    if (found) {
        set_before(&view, crash);
        crash->node = &nodes->nodes[crash->node - view.nodes];
    }
    /* memory that was short on the node may be another step's */
    found = found && (crash->cause != JP_CRASH_MEMORY || is_passed_on(crash));
    if (!found)
        *crash = before;
    if (found) {
        crash->tasks = 0;
        for (int way = 0; way < 4; way++)
            crash->tasks += crash->ended[way] = tally.n[way];
    }
    free(view.nodes);
    return found;
}

static const struct jp_task *task_of(const struct jp_node *node, int64_t pid)
{
    for (size_t i = 0; i < node->n_tasks; i++)
        if (node->tasks[i].pid == pid)
            return &node->tasks[i];
    return NULL;
}

static const struct jp_task *worker_of(const struct jp_node *node, int64_t pid,
                                       uint64_t instance)
{
    for (size_t i = 0; i < node->n_workers; i++)
        if (node->workers[i].pid == pid &&
            node->workers[i].instance == instance)
            return &node->workers[i];
    return NULL;
}

/* Makes a view of the nodes whose tasks are the workers of one attempt. -1: no
 * memory. Free with view_fini. */
static int view_of_attempt(const struct jp_nodes *nodes, uint32_t restarts,
                           struct jp_nodes *view)
{
    *view = *nodes;
    view->step_tasks = 0;
    view->nodes = calloc(nodes->n_nodes + 1, sizeof(*view->nodes));
    for (size_t i = 0; view->nodes && i < nodes->n_nodes; i++) {
        const struct jp_node *from = &nodes->nodes[i];
        struct jp_node *to = &view->nodes[i];

        *to = *from;
        to->n_tasks = to->n_workers = 0;
        to->tasks = calloc(from->n_workers + 1, sizeof(*to->tasks));
        if (!to->tasks)
            return -1;
        for (size_t k = 0; k < from->n_workers; k++)
            if (from->workers[k].restarts == restarts)
                to->tasks[to->n_tasks++] = from->workers[k];
        to->workers = to->tasks;
        to->n_workers = to->n_tasks;
    }
    return view->nodes ? 0 : -1;
}

static void view_fini(struct jp_nodes *view)
{
    for (size_t i = 0; view->nodes && i < view->n_nodes; i++)
        if (view->nodes[i].tasks == view->nodes[i].workers)
            free(view->nodes[i].tasks);
    free(view->nodes);
}

/* Lets the crash point to the nodes themselves instead of their view. */
static void leave_view(const struct jp_nodes *nodes,
                       const struct jp_nodes *view, struct jp_crash *crash)
{
    if (!crash->node)
        return;
    crash->node = &nodes->nodes[crash->node - view->nodes];
    if (crash->task)
        crash->task =
            worker_of(crash->node, crash->task->pid, crash->task->instance);
}

/* --- processes of tasks that ended well ------------------------------------
 */

/* proc(5): starts of processes count in ticks of 1/100 s. */
#define TICK_US 10000

/* Returns the world rank of a process on the crash's node; -1: none. */
static int64_t rank_of(const struct jp_crash *crash,
                       const struct jp_processes *processes,
                       const struct jp_task *task)
{
    return task ? processes_rank_of(processes, crash->node->hostname, task->pid,
                                    task->instance)
                : -1;
}

/* Whether its task has started another process after this one had ended, as a
 * script does that runs its program again, or another one. */
static bool is_followed(const struct jp_node *node, const struct jp_task *end)
{
    for (size_t i = 0; end->mono_us && i < node->n_workers; i++)
        if (node->workers[i].gtid == end->gtid &&
            node->workers[i].start > (uint64_t) end->mono_us / TICK_US)
            return true;
    return false;
}

/* Leaves those out of a view that their task has followed by others. Returns
 * the first of them that ended by itself; .task NULL: none. */
static struct end drop_followed(const struct jp_nodes *nodes,
                                struct jp_nodes *view)
{
    struct end first = {NULL, NULL};

    for (size_t i = 0; i < view->n_nodes; i++) {
        struct jp_node *node = &view->nodes[i];
        size_t n = 0;

        for (size_t k = 0; k < node->n_tasks; k++) {
            const struct jp_task *own = NULL;

            if (!is_followed(&nodes->nodes[i], &node->tasks[k])) {
                node->tasks[n++] = node->tasks[k];
                continue;
            }
            if (crash_way_of(&node->tasks[k]) != JP_CRASH_SELF)
                continue;
            own = worker_of(&nodes->nodes[i], node->tasks[k].pid,
                            node->tasks[k].instance);
            if (!first.task ||
                between(first, (struct end){&nodes->nodes[i], own}) < 0)
                first = (struct end){&nodes->nodes[i], own};
        }
        node->n_tasks = node->n_workers = n;
    }
    return first;
}

/* What is known of a process with a recording. */
struct known {
    const struct jp_node *node; /* NULL: none has a whole record of its own */
    const struct jp_task *end;  /* as a worker; NULL: it was not seen */
    bool is_task;
};

/* Looks first at the node that was found last, because hosts come in the nodes'
 * order, as a rule. A node has a record for each of several steps. */
static struct known look_up(const struct jp_nodes *nodes,
                            const struct jp_recorded *of, size_t *last)
{
    struct known found = {.node = NULL};
    size_t from = *last;

    for (size_t i = 0; i < nodes->n_nodes; i++) {
        size_t at = (from + i) % nodes->n_nodes;
        const struct jp_node *node = &nodes->nodes[at];

        if (!node->finished || strcmp(node->hostname, of->host) != 0)
            continue;
        *last = at;
        found.is_task |= task_of(node, of->pid) != NULL;
        if (!found.end) {
            found.end = worker_of(node, of->pid, of->instance);
            found.node = node;
        }
        if (found.end || nodes->n_steps <= 1)
            break;
    }
    return found;
}

/* Counts the processes with recordings that are no tasks themselves, of the
 * last attempt: those of which it is not known how they ended, and of these the
 * ones whose recording has no end. Nodes without a whole record, which lists
 * the tasks, are left out. */
static void count_unknown(const struct jp_nodes *nodes,
                          const struct jp_processes *processes,
                          const struct jp_result *result,
                          struct jp_crash *crash)
{
    struct jp_crash_left *left = &crash->left;
    int64_t attempt = last_attempt(nodes);
    size_t last = 0;

    for (size_t i = 0; result && i < result->n_recorded; i++) {
        const struct jp_recorded *of = &result->recorded[i];
        struct known is = look_up(nodes, of, &last);

        if (!is.node || is.is_task ||
            (of->launched.restarts >= 0 && of->launched.restarts < attempt))
            continue;
        left->processes++;
        if (is.end && (crash_way_of(is.end) != JP_CRASH_UNTOLD ||
                       is_followed(is.node, is.end)))
            continue;
        left->unknown++;
        if (!of->cut || left->cut++)
            continue;
        left->node = is.node;
        left->pid = of->pid;
        left->world_rank =
            processes_rank_of(processes, of->host, of->pid, of->instance);
    }
}

/* Whether all processes ended with one status, after the last operation of
 * each. Where their tasks then end with status 0, they have taken it for a good
 * end. */
static bool is_meant(const struct jp_nodes *view,
                     const struct jp_result *result, const struct tally *tally,
                     const struct jp_crash *crash)
{
    const struct jp_task *first = tally->first[JP_CRASH_SELF].task;

    return crash->code > 0 && crash->code != TIMEOUT_STATUS &&
           tally->n[JP_CRASH_SELF] == crash->tasks && have_finished(result) &&
           !has_exception(first) &&
           !each(view, is_other, (void *) (uintptr_t) first);
}

/* Judges the ends of processes that tasks have started where no task is known
 * to have ended with an error: a script's status is that of its last command,
 * and that of a pipe its last program's. One that ended by itself is a fault.
 * What else is known of the ends, and what is not, is told as a fact. -1: no
 * memory. */
static int judge_ignored(const struct jp_nodes *nodes,
                         const struct jp_processes *processes,
                         const struct jp_result *result, struct jp_crash *crash)
{
    struct jp_crash own = {.code = -1, .world_rank = -1, .before_us = -1};
    struct jp_nodes view;
    struct tally tally = {0};
    struct end first, followed;

    if (!nodes->over)
        return 0; /* its task may start it again, or end with an error, too */
    if (view_of_attempt(nodes, last_attempt(nodes), &view) < 0) {
        view_fini(&view);
        return -1;
    }
    followed = drop_followed(nodes, &view);
    each(&view, tally_end, &tally);
    for (int way = 0; way < 4; way++)
        own.tasks += own.ended[way] = tally.n[way];
    own.ignored = crash->tasks && crash->ended[JP_CRASH_WELL] == crash->tasks;
    count_unknown(nodes, processes, result, &own);
    first = tally.first[tally.n[JP_CRASH_KILL] ? JP_CRASH_KILL : JP_CRASH_SELF];
    if (judge_self(&view, processes, result, &tally, &own)) {
        if (!is_named(&view, &own))
            own.sure = false;
        if (own.ignored && is_meant(&view, result, &tally, &own)) {
            own.cause = JP_CRASH_PROCESSES;
            own.alike = true;
            own.node = NULL;
            own.task = NULL;
        }
    } else if (first.task) {
        set_first(&own, first);
        own.cause = ended_by_slurm(nodes, first);
        if (own.cause == JP_CRASH_NONE)
            own.cause = JP_CRASH_PROCESSES;
    } else if (own.left.cut) {
        own.cause = JP_CRASH_PROCESSES;
    } else if (followed.task) {
        set_first(&own, followed);
        own.cause = JP_CRASH_PROCESSES;
        own.left.followed = true;
    }
    if (own.task && !own.left.followed) {
        set_before(&view, &own);
        leave_view(nodes, &view, &own);
    }
    own.world_rank = rank_of(&own, processes, own.task);
    if (own.cause != JP_CRASH_NONE)
        *crash = own;
    else
        crash->left = own.left;
    view_fini(&view);
    return 0;
}

/* --- sentences ------------------------------------------------------------ */

const char *crash_signal_name(int signal)
{
    static const char *const known[] = {
        [SIGHUP] = "SIGHUP",   [SIGINT] = "SIGINT",   [SIGQUIT] = "SIGQUIT",
        [SIGILL] = "SIGILL",   [SIGTRAP] = "SIGTRAP", [SIGABRT] = "SIGABRT",
        [SIGBUS] = "SIGBUS",   [SIGFPE] = "SIGFPE",   [SIGKILL] = "SIGKILL",
        [SIGUSR1] = "SIGUSR1", [SIGSEGV] = "SIGSEGV", [SIGUSR2] = "SIGUSR2",
        [SIGPIPE] = "SIGPIPE", [SIGALRM] = "SIGALRM", [SIGTERM] = "SIGTERM",
        [SIGXCPU] = "SIGXCPU", [SIGXFSZ] = "SIGXFSZ", [SIGSYS] = "SIGSYS",
    };

    return signal > 0 && (size_t) signal < sizeof(known) / sizeof(*known) &&
                   known[signal]
               ? known[signal]
               : "a signal";
}

/* "died of SIGSEGV", "ended with exit status 7" */
static void say_how(const struct jp_crash *crash, char *buf, size_t size)
{
    const char *signal = crash_signal_name(crash->signal);

    switch (crash->cause) {
    case JP_CRASH_SIGNAL:
        snprintf(buf, size, "died of %s", signal);
        break;
    case JP_CRASH_EXIT:
        if (crash->code < 0) /* known by its exception only */
            snprintf(buf, size, "ended by an exception");
        else
            snprintf(buf, size, "ended with exit status %d", crash->code);
        break;
    case JP_CRASH_MEMORY:
        snprintf(buf, size, "was killed: %sout of memory",
                 crash->sure ? "" : "its node was ");
        break;
    default:
        snprintf(buf, size, "was killed by %s from outside, alone", signal);
    }
}

/* What ended: a task of Slurm, or a process that one has started. */
static const char *noun_of(const struct jp_crash *crash)
{
    return crash->task && crash->task->is_worker ? "process" : "task";
}

static const char *nouns_of(const struct jp_crash *crash, uint32_t n)
{
    return crash->task && crash->task->is_worker
               ? n == 1 ? "process" : "processes"
           : n == 1 ? "task"
                    : "tasks";
}

/* Adds how the launcher of a worker ended, which is a consequence, or that it
 * has not noticed. */
static void say_launcher(const struct jp_crash *crash, struct jp_sentence *s)
{
    const struct jp_task *launcher =
        crash->task->is_worker && !crash->mended ? launcher_of(crash) : NULL;
    int signal = launcher ? signal_of(launcher->status) : 0;

    if (launcher && signal)
        sentence_add(s, "its launcher, task %" PRIu32 ", then ended by %s",
                     launcher->gtid, crash_signal_name(signal));
    else if (launcher)
        sentence_add(
            s, "its launcher, task %" PRIu32 ", then ended with exit status %d",
            launcher->gtid, WEXITSTATUS(launcher->status));
    else if (crash->ignored && crash->task->gtid != UINT32_MAX)
        sentence_add(s,
                     "task %" PRIu32 ", which started it, ended with exit "
                     "status 0 all the same",
                     crash->task->gtid);
}

/* Adds how many other processes ended in a way that is not known. */
static void say_unknown(const struct jp_crash *crash, struct jp_sentence *s)
{
    if (crash->left.unknown)
        sentence_add(s, "how %s other process%s ended is not known",
                     FIG_COUNT(crash->left.unknown),
                     crash->left.unknown == 1 ? "" : "es");
}

/* Adds how the other tasks ended. */
static void say_others(const struct jp_crash *crash, struct jp_sentence *s)
{
    uint32_t n[4];

    memcpy(n, crash->ended, sizeof(n));
    n[crash_way_of(crash->task)]--;
    if (n[JP_CRASH_KILL])
        sentence_add(s, "%s other %s %s then ended from outside",
                     FIG_COUNT(n[JP_CRASH_KILL]),
                     nouns_of(crash, n[JP_CRASH_KILL]),
                     n[JP_CRASH_KILL] == 1 ? "was" : "were");
    if (n[JP_CRASH_SELF])
        sentence_add(s, "%s other %s failed", FIG_COUNT(n[JP_CRASH_SELF]),
                     nouns_of(crash, n[JP_CRASH_SELF]));
    if (n[JP_CRASH_WELL] > crash->earlier)
        sentence_add(s, "%s ended with status 0",
                     FIG_COUNT(n[JP_CRASH_WELL] - crash->earlier));
    if (crash->earlier)
        sentence_add(s, "%s other %s had ended before, with status 0",
                     FIG_COUNT(crash->earlier),
                     nouns_of(crash, crash->earlier));
}

char *crash_whom(const struct jp_crash *crash, char buf[JP_CRASH_WHOM])
{
    if (crash->world_rank >= 0)
        snprintf(buf, JP_CRASH_WHOM, "rank %" PRId64, crash->world_rank);
    else if (crash->task->is_worker && crash->task->gtid == UINT32_MAX)
        snprintf(buf, JP_CRASH_WHOM, "a worker");
    else
        snprintf(buf, JP_CRASH_WHOM, "%stask %" PRIu32,
                 crash->task->is_worker ? "a worker of " : "",
                 crash->task->gtid);
    return buf;
}

char *crash_error(const struct jp_crash *crash, char buf[JP_CRASH_ERROR])
{
    const struct jp_task *task = crash->only ? crash->only : crash->task;
    bool has_place;

    *buf = '\0';
    if (!task || !has_exception(task))
        return buf;
    has_place = task->error_at && *task->error_at;
    snprintf(buf, JP_CRASH_ERROR, "%.110s%s%.60s%s", task->error,
             has_place ? " (" : "", has_place ? task->error_at : "",
             has_place ? ")" : "");
    return buf;
}

char *crash_untold(const struct jp_crash *crash, char buf[JP_CRASH_UNTOLD_TEXT])
{
    const struct jp_crash_untold *u = &crash->untold;
    char whom[JP_CRASH_WHOM] = "one";

    if (u->task && u->world_rank >= 0)
        snprintf(whom, sizeof(whom), "rank %" PRId64, u->world_rank);
    if (!u->task)
        snprintf(buf, JP_CRASH_UNTOLD_TEXT,
                 "which of its processes ended first is not known");
    else if (u->unwatched)
        snprintf(buf, JP_CRASH_UNTOLD_TEXT,
                 "of those with a recording %s (%.60s, pid %" PRId64
                 ") alone had ended before it was watched; how it ended is not "
                 "known",
                 whom, u->node->name, u->task->pid);
    else
        snprintf(buf, JP_CRASH_UNTOLD_TEXT,
                 "of those with a recording %s (%.60s, pid %" PRId64
                 ") ended first; how it ended is not known",
                 whom, u->node->name, u->task->pid);
    return buf;
}

/* "rank 3 (n1, pid 77) died of SIGSEGV, 4.0 s before any other task ended, last
 * seen in AllReduce 9 of dp; ...". The last look at its operations is up to 100
 * ms older than its end, so it may have died in a later one. */
static void say_first(const struct jp_crash *crash, struct jp_sentence *s)
{
    char how[80], before[64] = "", whom[JP_CRASH_WHOM];
    char error[JP_CRASH_ERROR], untold[JP_CRASH_UNTOLD_TEXT];

    say_how(crash, how, sizeof(how));
    if (crash->before_us > 0 && !crash->rivals && !crash->launches)
        snprintf(before, sizeof(before), ", %s%s before any other %s ended",
                 crash_is_coarse(crash) ? "at most " : "",
                 FIG_US((double) crash->before_us), noun_of(crash));
    sentence_add(s, "%s (%.60s, pid %" PRId64 ") %s%s%s%s",
                 crash_whom(crash, whom), crash->node->name, crash->task->pid,
                 how, before, *crash->in ? ", last seen in " : "", crash->in);
    if (*crash_error(crash, error))
        sentence_add(s, "its exception: %s", error);
    if (crash->launches)
        sentence_add(s, "it launched the ranks%s %s",
                     crash->untold.task ? ";" : ", and",
                     crash_untold(crash, untold));
    if (crash->rivals)
        sentence_add(s,
                     "%s more failed too close in time to identify the first",
                     FIG_COUNT(crash->rivals));
}

/* Adds the node that is lost. It has reported nothing about its tasks. */
static void say_lost(const struct jp_crash *crash, struct jp_sentence *s)
{
    sentence_add(s, "node %.60s was lost (Slurm: node failure)",
                 crash->node->name);
    if (crash->ended[JP_CRASH_SELF] + crash->ended[JP_CRASH_KILL])
        sentence_add(s, "%s tasks of other nodes ended then",
                     FIG_COUNT(crash->ended[JP_CRASH_SELF] +
                               crash->ended[JP_CRASH_KILL]));
}

/* Adds who or what ended the step from outside. */
static void say_ended(const struct jp_crash *crash, struct jp_sentence *s)
{
    static const char *const how[JP_CRASH_CAUSES] = {
        [JP_CRASH_CANCELLED] = "cancelled",
        [JP_CRASH_INTERRUPTED] = "interrupted (as by Ctrl-C in srun)",
        [JP_CRASH_TIME_LIMIT] = "ended by its time limit",
        [JP_CRASH_PREEMPTED] = "preempted",
        [JP_CRASH_ENDED] = "ended from outside (as by scancel of the step)",
    };
    uint32_t n = crash->ended[JP_CRASH_KILL] + crash->ended[JP_CRASH_SELF];

    /* what ends the workers of one attempt is their launcher, as a rule */
    sentence_add(
        s, "%s: %s of %s %s by %s%s",
        crash->mended && crash->cause == JP_CRASH_ENDED ? "ended from outside"
                                                        : how[crash->cause],
        FIG_COUNT(n), FIG_COUNT(crash->tasks), nouns_of(crash, crash->tasks),
        crash->signal ? crash_signal_name(crash->signal) : "exiting on request",
        crash->ended[JP_CRASH_SELF] && crash->ended[JP_CRASH_KILL]
            ? " or exiting on request"
            : "");
    if (crash->mended && crash->ended[JP_CRASH_UNTOLD])
        sentence_add(s, "how %s ended is not known",
                     FIG_COUNT(crash->ended[JP_CRASH_UNTOLD]));
}

/* Adds what is known of processes whose tasks ended well. */
static void say_processes(const struct jp_crash *crash, struct jp_sentence *s)
{
    const struct jp_crash_left *left = &crash->left;
    uint32_t n = crash->ended[crash->alike ? JP_CRASH_SELF : JP_CRASH_KILL];
    char whom[JP_CRASH_WHOM] = "a process", how[80];
    const char *though =
        crash->ignored ? ", though all tasks ended with status 0" : "";

    if (left->followed) {
        struct jp_crash own = *crash;

        own.cause = crash->signal ? JP_CRASH_SIGNAL : JP_CRASH_EXIT;
        say_how(&own, how, sizeof(how));
        sentence_add(s, "%s (%.60s, pid %" PRId64 ") %s",
                     crash_whom(crash, whom), crash->node->name,
                     crash->task->pid, how);
        sentence_add(s, "its task then started another process%s",
                     crash->ignored ? ", and ended with status 0" : "");
    } else if (crash->alike) {
        sentence_add(s,
                     "%s%s process%s ended with exit status %d after %s last "
                     "operation, and %s with status 0",
                     n == 1 ? "the" : "all ", n == 1 ? "" : FIG_COUNT(n),
                     n == 1 ? "" : "es", crash->code, n == 1 ? "its" : "their",
                     n == 1 ? "its task" : "their tasks");
    } else if (crash->task) {
        sentence_add(s, "%s of %s process%s %s ended from outside%s",
                     FIG_COUNT(n), FIG_COUNT(crash->tasks),
                     crash->tasks == 1 ? "" : "es", n == 1 ? "was" : "were",
                     though);
        sentence_add(s, "%s%s (%.60s, pid %" PRId64 ") by %s",
                     n == 1 ? "" : "the first of them was ",
                     crash_whom(crash, how), crash->node->name,
                     crash->task->pid,
                     crash->signal ? crash_signal_name(crash->signal)
                                   : "exiting on request");
        if (crash->signal == SIGKILL && crash->node->oom_kills)
            sentence_add(s,
                         "the kernel has killed %s process%s there for lack of "
                         "memory, of any job",
                         FIG_COUNT(crash->node->oom_kills),
                         crash->node->oom_kills == 1 ? "" : "es");
        if (crash->ended[JP_CRASH_SELF])
            sentence_add(s, "%s then failed",
                         FIG_COUNT(crash->ended[JP_CRASH_SELF]));
        say_unknown(crash, s);
    } else {
        sentence_add(s, "how %s of %s process%s ended is not known%s",
                     FIG_COUNT(left->unknown), FIG_COUNT(left->processes),
                     left->processes == 1 ? "" : "es", though);
        if (left->world_rank >= 0)
            snprintf(whom, sizeof(whom), "rank %" PRId64, left->world_rank);
        snprintf(how, sizeof(how), "%s of them, the first of ",
                 FIG_COUNT(left->cut));
        sentence_add(s,
                     "the recording%s of %s%s (%.60s, pid %" PRId64
                     ") %s no end, as after a crash, a kill or _exit",
                     left->cut == 1 ? "" : "s", left->cut == 1 ? "" : how, whom,
                     left->node->name, left->pid,
                     left->cut == 1 ? "has" : "have");
    }
}

/* Writes crash->text anew. */
static void write_text(struct jp_crash *crash)
{
    struct jp_sentence s;

    sentence_init(&s, crash->text, sizeof(crash->text));
    switch (crash->cause) {
    case JP_CRASH_NONE:
        break;
    case JP_CRASH_UNKNOWN:
        if (crash->task) {
            char whom[JP_CRASH_WHOM];

            sentence_add(&s,
                         "%s (%.60s, pid %" PRId64 ") ended first, and how "
                         "is not known",
                         crash_whom(crash, whom), crash->node->name,
                         crash->task->pid);
            say_others(crash, &s);
            break;
        }
        sentence_add(&s, "it is unknown how %s task%s ended",
                     FIG_COUNT(crash->ended[JP_CRASH_UNTOLD]),
                     plural(crash->ended[JP_CRASH_UNTOLD]));
        break;
    case JP_CRASH_NODE:
        say_lost(crash, &s);
        break;
    case JP_CRASH_PROCESSES:
        say_processes(crash, &s);
        break;
    default:
        if (crash->alike) {
            char how[80];

            say_how(crash, how, sizeof(how));
            sentence_add(&s, "all %s %s %s%s", FIG_COUNT(crash->tasks),
                         crash->ignored ? "processes" : "tasks", how,
                         crash->code == TIMEOUT_STATUS
                             ? ", as timeout does when a program's time is over"
                             : "");
        } else if (crash_is_fault(crash)) {
            say_first(crash, &s);
            say_launcher(crash, &s);
            say_others(crash, &s);
            say_unknown(crash, &s);
        } else {
            say_ended(crash, &s);
        }
    }
}

/* Returns true if a process of that host has left a recording. */
static bool has_recordings(const struct jp_processes *processes,
                           const char *host)
{
    for (size_t i = 0; i < processes->n; i++)
        if (!strcmp(processes->list[i].host, host))
            return true;
    for (size_t i = 0; i < processes->n_silent; i++)
        if (!strcmp(processes->silent[i].host, host))
            return true;
    return false;
}

/* Whether the task has started the processes with recordings: then they are
 * what failed, as a rule. */
static bool is_launcher(const struct jp_processes *processes,
                        const struct jp_crash *crash)
{
    for (size_t i = 0; i < crash->node->n_workers; i++)
        if (crash->node->workers[i].gtid == crash->task->gtid)
            return true;
    /* Without ends of workers, as of a node that has no agent. A task that
     * ended before it had started anything is none, beside others that had, and
     * on a node without any recording. */
    return !crash->node->n_workers && processes->has_workers &&
           has_recordings(processes, crash->node->hostname) &&
           !processes_find(processes, crash->node->hostname, crash->task->pid,
                           0);
}

/* Whether a task of the step has several workers in that attempt. */
static bool has_several(const struct jp_nodes *nodes, uint32_t attempt)
{
    for (size_t n = 0; n < nodes->n_nodes; n++) {
        const struct jp_node *node = &nodes->nodes[n];

        for (size_t i = 0; i < node->n_workers; i++)
            for (size_t k = 0; k < i; k++)
                if (node->workers[i].restarts == attempt &&
                    node->workers[k].restarts == attempt &&
                    node->workers[i].gtid == node->workers[k].gtid)
                    return true;
    }
    return false;
}

/* Returns the only worker of the first task in the last attempt; NULL: none, or
 * several. Where other tasks have several, one is not all: the others had not
 * begun. */
static const struct jp_task *only_worker(const struct jp_nodes *nodes,
                                         const struct jp_crash *crash)
{
    const struct jp_task *only = NULL;
    uint32_t attempt = last_attempt(nodes);

    for (size_t i = 0; i < crash->node->n_workers; i++) {
        const struct jp_task *worker = &crash->node->workers[i];

        if (worker->gtid != crash->task->gtid || worker->restarts != attempt)
            continue;
        if (only)
            return NULL;
        only = worker;
    }
    return only && !has_several(nodes, attempt) ? only : NULL;
}

/* Finds the worker that ended first, though it is not known how. */
struct untold {
    struct end first;    /* by its time */
    struct end early;    /* one that had ended before it was watched */
    uint32_t n, n_early; /* workers, and such ones */
    uint32_t n_killed;
    bool is_first;
};

static bool take_untold(void *arg, struct end end)
{
    struct untold *u = arg;
    enum jp_crash_way way = crash_way_of(end.task);

    u->n++;
    u->n_killed += way == JP_CRASH_KILL;
    if (way == JP_CRASH_UNTOLD && !has_time(end.task)) {
        u->early = end;
        u->n_early++;
    } else if (way == JP_CRASH_UNTOLD &&
               (!u->first.task || between(u->first, end) < 0)) {
        u->first = end;
    }
    return false;
}

/* Whether this end may have come before the one in arg. What was ended from
 * outside is a consequence, whatever clocks of other nodes say. */
static bool is_not_later(void *arg, struct end end)
{
    const struct end *first = arg;

    if (end.task == first->task)
        return false;
    return crash_way_of(end.task) == JP_CRASH_KILL ? is_before(end, *first)
                                                   : !is_before(*first, end);
}

static void find_untold(const struct jp_nodes *nodes,
                        const struct jp_processes *processes,
                        struct jp_crash *crash)
{
    struct jp_nodes view = *nodes;
    struct untold u = {0};
    const struct end *found = NULL;

    view.nodes = calloc(nodes->n_nodes + 1, sizeof(*view.nodes));
    for (size_t i = 0; view.nodes && i < nodes->n_nodes; i++) {
        view.nodes[i] = nodes->nodes[i];
        view.nodes[i].tasks = nodes->nodes[i].workers;
        view.nodes[i].n_tasks = nodes->nodes[i].n_workers;
    }
    if (!view.nodes)
        return;
    each(&view, take_untold, &u);
    if (u.n_early == 1 && u.n > 1 && u.n_killed == u.n - 1)
        found = &u.early;
    else if (!u.n_early && u.first.task && u.n > 1 &&
             !each(&view, is_not_later, &u.first))
        found = &u.first;
    if (found) {
        crash->untold = (struct jp_crash_untold){
            .node = &nodes->nodes[found->node - view.nodes],
            .task = found->task,
            .unwatched = found == &u.early};
        crash->untold.world_rank =
            processes_rank_of(processes, crash->untold.node->hostname,
                              found->task->pid, found->task->instance);
    }
    free(view.nodes);
}

/* Fills crash from the ends of all tasks, except for the operation
 * (crash_set_in). -1: no memory. */
static int judge_ends(const struct jp_nodes *nodes,
                      const struct jp_processes *processes,
                      const struct jp_result *result, struct jp_crash *crash)
{
    const struct jp_node *lost = nodes ? find_lost(nodes) : NULL;
    struct tally tally = {0};

    *crash = (struct jp_crash){.code = -1, .world_rank = -1, .before_us = -1};
    if (!nodes)
        return 0;
    each(nodes, tally_end, &tally);
    memcpy(crash->ended, tally.n, sizeof(tally.n));
    for (int way = 0; way < 4; way++)
        crash->tasks += tally.n[way];
    if (crash->tasks < nodes->step_tasks)
        crash->tasks = nodes->step_tasks;
    if (lost) {
        /* Its peers may have failed first: Slurm notices a lost node after
         * minutes. */
        crash->cause = JP_CRASH_NODE;
        crash->node = lost;
        crash->sure = !tally.n[JP_CRASH_SELF];
    } else if (tally.n[JP_CRASH_SELF] + tally.n[JP_CRASH_KILL] &&
               judge_workers(nodes, processes, crash)) {
        crash->world_rank = rank_of(crash, processes, crash->task);
    } else if (!judge_self(nodes, processes, result, &tally, crash)) {
        if (tally.n[JP_CRASH_KILL])
            judge_kill(nodes, tally.first[JP_CRASH_KILL], crash);
        else if (tally.n[JP_CRASH_SELF])
            judge_kill(nodes, tally.first[JP_CRASH_SELF], crash);
        else if (judge_ignored(nodes, processes, result, crash) < 0)
            return -1;
        else if (crash->cause == JP_CRASH_NONE && tally.n[JP_CRASH_UNTOLD])
            crash->cause = JP_CRASH_UNKNOWN;
    }
    if (crash->task && !crash->task->is_worker) {
        crash->only = only_worker(nodes, crash);
        crash->launches = !crash->only && is_launcher(processes, crash);
        crash->sure &= !crash->launches;
        if (crash->launches)
            find_untold(nodes, processes, crash);
        set_before(nodes, crash);
        crash->world_rank =
            crash->only
                ? rank_of(crash, processes, crash->only)
                : processes_rank_of_task(processes, crash->node->hostname,
                                         crash->task->pid, crash->task->gtid);
    }
    write_text(crash);
    return 0;
}

/* Answers the question of a crash. */
static void answer_crash(const struct jp_nodes *nodes,
                         const struct jp_crash *crash, struct jp_hypotheses *h)
{
    if (!nodes)
        hypothesis_set(h, JP_HYPOTHESIS_CRASH, JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "logs without a step");
    else if (crash_is_fault(crash))
        hypothesis_set(h, JP_HYPOTHESIS_CRASH, JP_HYPOTHESIS_FOUND, 1,
                       "1 finding");
    else if (crash->cause == JP_CRASH_UNKNOWN ||
             (!crash->cause && !crash->ended[JP_CRASH_WELL]))
        hypothesis_set(h, JP_HYPOTHESIS_CRASH, JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "it is unknown how tasks ended");
    else if (crash->left.unknown)
        hypothesis_set(h, JP_HYPOTHESIS_CRASH, JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "it is unknown how %s of %s processes that tasks "
                       "started ended",
                       FIG_COUNT(crash->left.unknown),
                       FIG_COUNT(crash->left.processes));
    else
        hypothesis_set(h, JP_HYPOTHESIS_CRASH, JP_HYPOTHESIS_NOT_FOUND, 1,
                       NULL);
}

/* Adds the finding of a fault. Returns 0 or -1. */
static int add_fault(const struct jp_crash *crash,
                     const struct jp_processes *processes,
                     struct jp_findings *findings)
{
    const struct jp_node *node = crash->node;
    const struct jp_task *task = crash->task;
    const struct jp_process *who;
    struct jp_finding *f;

    if (!crash_is_fault(crash))
        return 0;
    f = findings_add(findings, JP_FINDING_CRASH);
    if (!f)
        return -1;
    if (crash->untold.task) { /* it is named, and its launcher in the text */
        node = crash->untold.node;
        task = crash->untold.task;
    }
    f->world_rank = crash->untold.task ? crash->untold.world_rank
                                       : crash->world_rank;
    if (node)
        snprintf(f->host, sizeof(f->host), "%s", node->hostname);
    if (task) {
        f->pid = task->pid;
        who = processes_find(processes, f->host, f->pid, task->instance);
        f->process = who ? who - processes->list : -1;
        if (task->end_us)
            f->from_us = f->to_us = (double) task->end_us;
    }
    snprintf(f->text, sizeof(f->text), "%s", crash->text);
    snprintf(f->next, sizeof(f->next), "%s",
             crash->cause == JP_CRASH_NODE
                 ? "check the node's log and slurmctld's log"
             : crash->cause == JP_CRASH_MEMORY
                 ? "give the step more memory (--mem), or use fewer processes "
                   "a node"
             : crash->alike ? "read what the tasks have printed, and the "
                              "command line of srun"
                            : "check its error output or core file");
    return 0;
}

int crash_findings(const struct jp_nodes *nodes,
                   const struct jp_processes *processes,
                   const struct jp_result *result, struct jp_crash *crash,
                   struct jp_findings *findings)
{
    if (judge_ends(nodes, processes, result, crash) < 0)
        return -1;
    answer_crash(nodes, crash, findings->hypotheses);
    return add_fault(crash, processes, findings);
}

/* --- the ends of processes that hold up a hang -----------------------------
 */

/* Of the processes that are not in the operation that hangs. */
struct left {
    const struct jp_processes *processes;
    const bool *is_absent;        /* by process */
    struct end *ends;             /* of those that are absent */
    const struct jp_task **tasks; /* of these, by address */
    size_t n, n_absent;
    size_t first;         /* its end, of those that ended before all others */
    size_t first_is;      /* ... and its process */
    size_t n_before;      /* how many these are */
    const struct end *of; /* the one that is compared */
    int64_t next_us;      /* from there to the next other end; -1: none */
};

/* Returns a process's end: as a task, or as what a task has started. */
static struct end end_of(const struct jp_nodes *nodes,
                         const struct jp_process *who)
{
    for (size_t i = 0; i < nodes->n_nodes; i++) {
        const struct jp_node *node = &nodes->nodes[i];

        if (strcmp(node->hostname, who->host) != 0)
            continue;
        for (size_t k = 0; k < node->n_tasks; k++)
            if (who->task >= 0 && node->tasks[k].gtid == who->task)
                return (struct end){node, &node->tasks[k]};
        for (size_t k = 0; k < node->n_workers; k++)
            if (node->workers[k].pid == who->pid &&
                node->workers[k].instance == who->instance)
                return (struct end){node, &node->workers[k]};
    }
    return (struct end){NULL, NULL};
}

static int by_address(const void *a, const void *b)
{
    const struct jp_task *x = *(const struct jp_task *const *) a;
    const struct jp_task *y = *(const struct jp_task *const *) b;

    return x < y ? -1 : x > y;
}

/* Whether the end of another process did not clearly come after left->of. Keeps
 * how long after it the next one came. */
static bool is_not_after(struct left *left, struct end end)
{
    int64_t after;

    if (bsearch(&end.task, left->tasks, left->n, sizeof(*left->tasks),
                by_address))
        return false;
    if (!is_before(*left->of, end))
        return true;
    after = between(*left->of, end);
    if (left->next_us < 0 || after < left->next_us)
        left->next_us = after;
    return false;
}

/* Whether the task has started a process with a recording: then its own end is
 * not that of a rank. */
static bool has_worker(const struct jp_node *node, const struct jp_task *task)
{
    for (size_t i = 0; i < node->n_workers; i++)
        if (node->workers[i].gtid == task->gtid)
            return true;
    return false;
}

/* Whether an end came clearly before those of all processes that are in the
 * operation: of workers of the last attempt, and of tasks without workers.
 * False if there are none. */
static bool is_before_others(const struct jp_nodes *nodes, struct left *left,
                             const struct end *end)
{
    uint32_t attempt = last_attempt(nodes);

    left->of = end;
    left->next_us = -1;
    for (size_t i = 0; i < nodes->n_nodes; i++) {
        const struct jp_node *node = &nodes->nodes[i];

        for (size_t k = 0; k < node->n_tasks; k++)
            if (!has_worker(node, &node->tasks[k]) &&
                is_not_after(left, (struct end){node, &node->tasks[k]}))
                return false;
        for (size_t k = 0; k < node->n_workers; k++)
            if (node->workers[k].restarts == attempt &&
                is_not_after(left, (struct end){node, &node->workers[k]}))
                return false;
    }
    return left->next_us >= 0;
}

/* Marks the processes of a hang that are not in its operation, or of which that
 * is not known; of a hang in logs, the one that it names. */
static void mark_absent(const struct jp_processes *processes,
                        const struct jp_result *r, const struct jp_finding *f,
                        bool *is_absent)
{
    const struct jp_hang *hang = &r->hang;
    const struct jp_hang_op *op = hang->n_ops ? &hang->ops[0] : NULL;

    if (f->process >= 0)
        is_absent[f->process] = true;
    if (!op || hang->dumps || op->comm < 0 || op->comm != hang->comm ||
        op->sn != hang->sn)
        return;
    for (uint32_t i = 0; i < op->n_ranks; i++) {
        size_t rank = op->states[i] == JP_HANG_ABSENT ||
                              op->states[i] == JP_HANG_UNKNOWN
                          ? processes_rank(processes, r, (size_t) op->comm, i)
                          : SIZE_MAX;

        if (rank != SIZE_MAX)
            is_absent[processes->of_rank[rank]] = true;
    }
}

/* "with exit status 0", "by SIGKILL"; "" if it is not known. */
static char *say_status(const struct jp_task *task, char *buf, size_t size)
{
    int signal = signal_of(task->status);

    if (task->status < 0)
        snprintf(buf, size, "%s", "");
    else if (signal)
        snprintf(buf, size, " by %s", crash_signal_name(signal));
    else
        snprintf(buf, size, " with exit status %d", WEXITSTATUS(task->status));
    return buf;
}

/* Finds those that ended before the others. -1: no memory. */
static int find_left(const struct jp_nodes *nodes, struct left *left)
{
    const struct jp_processes *p = left->processes;
    size_t *of = calloc(p->n + 1, sizeof(*of));
    int64_t next_us = -1;

    left->ends = calloc(p->n + 1, sizeof(*left->ends));
    left->tasks = calloc(p->n + 1, sizeof(*left->tasks));
    if (!of || !left->ends || !left->tasks) {
        free(of);
        return -1;
    }
    for (size_t i = 0; i < p->n; i++) {
        struct end end = left->is_absent[i] ? end_of(nodes, &p->list[i])
                                            : (struct end){NULL, NULL};

        left->n_absent += left->is_absent[i];
        if (!end.task)
            continue;
        of[left->n] = i;
        left->tasks[left->n] = end.task;
        left->ends[left->n++] = end;
    }
    qsort(left->tasks, left->n, sizeof(*left->tasks), by_address);
    for (size_t i = 0; i < left->n; i++) {
        if (!is_before_others(nodes, left, &left->ends[i]))
            continue;
        if (left->n_before++ && left->next_us <= next_us)
            continue;
        next_us = left->next_us; /* the longest before: the first one */
        left->first = i;
        left->first_is = of[i];
    }
    left->next_us = next_us;
    free(of);
    return 0;
}

/* Writes it as a clause. */
static void write_left(const struct left *left, const struct jp_result *r,
                       struct jp_finding *f)
{
    const struct jp_process *who = &left->processes->list[left->first_is];
    const struct jp_task *task = left->ends[left->first].task;
    bool coarse = !task->is_worker && left->next_us < JP_CRASH_COARSE_US;
    char name[JP_PROCESS_NAME_LEN], how[40];

    say_status(task, how, sizeof(how));
    processes_describe(left->processes, r, who, name);
    if (left->n_before > 1)
        snprintf(f->ended, sizeof(f->ended),
                 "%s of the processes that are missing had ended, the first of "
                 "them %s%s at %s, %s%s before the first of the others",
                 FIG_COUNT(left->n_before), name, how,
                 FIG_UTC((uint64_t) task->end_us), coarse ? "at most " : "",
                 FIG_US((double) left->next_us));
    else
        snprintf(f->ended, sizeof(f->ended),
                 "%s had ended%s at %s, %s%s before the first of the others",
                 f->process == (int64_t) left->first_is && left->n_absent == 1
                     ? "its process"
                     : name,
                 how, FIG_UTC((uint64_t) task->end_us),
                 coarse ? "at most " : "", FIG_US((double) left->next_us));
}

/* Whether the named process closed its recording while the others still
 * waited; where all are ended together, each closes its own. */
static bool is_closed_before(const struct jp_hang *hang)
{
    int64_t until_us = hang->since_us + (int64_t) hang->age_us;

    return hang->closed_us && hang->since_us &&
           (double) (until_us - hang->closed_us) >=
               limits_get(JP_LIMIT_CRASH_CLOCKS);
}

int crash_of_hang(const struct jp_nodes *nodes,
                  const struct jp_processes *processes,
                  const struct jp_result *result, const struct jp_crash *crash,
                  struct jp_findings *findings)
{
    struct jp_finding *f = findings->n &&
                                   findings->at[0].kind == JP_FINDING_HANG
                               ? &findings->at[0]
                               : NULL;
    bool *is_absent = f && result ? calloc(processes->n + 1, 1) : NULL;
    struct left left = {.processes = processes, .is_absent = is_absent};
    int rc = 0;

    if (!f || !result)
        return 0;
    if (!is_absent)
        return -1;
    mark_absent(processes, result, f, is_absent);
    if (nodes && nodes->over)
        rc = find_left(nodes, &left);
    if (rc == 0 && left.n_before)
        write_left(&left, result, f);
    else if (rc == 0 && !left.n && f->process >= 0 &&
             is_closed_before(&result->hang))
        snprintf(f->ended, sizeof(f->ended),
                 "its recording was closed at %s, as at the end of a process",
                 FIG_UTC((uint64_t) result->hang.closed_us));
    /* how the tasks ended says the same of the first one */
    if (*f->ended && (!left.n_before || left.n_before > 1 || !crash->task ||
                      crash->task != left.ends[left.first].task)) {
        struct jp_sentence text = {f->text, sizeof(f->text), 1};

        sentence_add(&text, "%s", f->ended);
    }
    free(left.ends);
    free(left.tasks);
    free(is_absent);
    return rc;
}

int crash_of_attempt(const struct jp_nodes *nodes,
                     const struct jp_processes *processes, uint32_t restarts,
                     bool mended, struct jp_crash *crash)
{
    struct jp_nodes view;
    struct tally tally = {0};

    *crash = (struct jp_crash){
        .code = -1, .world_rank = -1, .before_us = -1, .mended = mended};
    if (view_of_attempt(nodes, restarts, &view) < 0) {
        view_fini(&view);
        return -1;
    }
    each(&view, tally_end, &tally);
    memcpy(crash->ended, tally.n, sizeof(tally.n));
    for (int way = 0; way < 4; way++)
        crash->tasks += tally.n[way];
    if (tally.n[JP_CRASH_SELF] + tally.n[JP_CRASH_KILL] &&
        !judge_self(&view, processes, NULL, &tally, crash))
        judge_kill(&view,
                   tally.n[JP_CRASH_KILL] ? tally.first[JP_CRASH_KILL]
                                          : tally.first[JP_CRASH_SELF],
                   crash);
    /* one that ended before all kills may be their reason */
    if (!crash_is_fault(crash) && tally.n[JP_CRASH_UNTOLD] &&
        tally.n[JP_CRASH_KILL] &&
        is_before(tally.first[JP_CRASH_UNTOLD], tally.first[JP_CRASH_KILL])) {
        set_first(crash, tally.first[JP_CRASH_UNTOLD]);
        crash->cause = JP_CRASH_UNKNOWN;
    }
    if (crash->task)
        set_before(&view, crash);
    leave_view(nodes, &view, crash);
    crash->world_rank = rank_of(crash, processes, crash->task);
    write_text(crash);
    view_fini(&view);
    return 0;
}

void crash_set_in(struct jp_crash *crash, const char *operation,
                  struct jp_findings *findings)
{
    snprintf(crash->in, sizeof(crash->in), "%s", operation ? operation : "");
    write_text(crash);
    for (size_t i = 0; i < findings->n; i++) {
        struct jp_finding *f = &findings->at[i];

        if (f->kind != JP_FINDING_CRASH)
            continue;
        snprintf(f->text, sizeof(f->text), "%s", crash->text);
        if (*crash->in && crash->cause != JP_CRASH_MEMORY)
            snprintf(f->next, sizeof(f->next), "%s",
                     "check its error output or core file; jobprof show "
                     "--pending lists its last operation");
    }
}
