/* insight.h - all findings of a step, and what they are based on. */
#ifndef JP_INSIGHT_INSIGHT_H
#define JP_INSIGHT_INSIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/jobconf.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/insight/expectation.h"
#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/hypothesis.h"
#include "orchestrator/insight/late.h"
#include "orchestrator/insight/netseries.h"
#include "orchestrator/identity/processes.h"
#include "orchestrator/replay/replay.h"
#include "orchestrator/insight/ownwork.h"
#include "orchestrator/insight/stalls.h"
#include "orchestrator/judge/judge.h"

/* --- crash.c ------------------------------------------------------------ */

/* How a step's tasks ended: which task was the first to end by itself, why it
 * ended, and whether that is a fault.
 *
 * A task ends by itself if it dies of a signal that is not sent to end a
 * program (SIGSEGV, SIGABRT ...) or exits with a status other than 0. SIGTERM,
 * SIGINT, SIGHUP and SIGKILL come from outside. After another task has ended by
 * itself, they are its consequence (srun -K, a user's scancel). Without such a
 * task, somebody has ended the step, which is no fault. SIGKILL is a fault if
 * the kernel had no memory left, or if the other tasks went on for long.
 *
 * Where all tasks end with status 0, a process that one of them started may
 * have ended by itself: a script ends as its last command does. That is a fault
 * as well, unless another attempt came after it.
 *
 * Order: slurmstepd sees the first end on its node at once, the next ones up to
 * 100 ms later and then together. The nodes' clocks differ by unknown amounts.
 * `sure` is false if another task may have been first. The kind of end, and
 * that Slurm's kills are consequences, need no clock.
 */

enum jp_crash_cause {
    JP_CRASH_NONE, /* every task ended with status 0, or no end is known */
    /* Faults: a signal of its own, an exit status, no memory, SIGKILL of one
       task while others went on, a node that failed. */
    JP_CRASH_SIGNAL,
    JP_CRASH_EXIT,
    JP_CRASH_MEMORY,
    JP_CRASH_KILLED,
    JP_CRASH_NODE,
    /* No faults: somebody ended the step. */
    JP_CRASH_CANCELLED,
    JP_CRASH_INTERRUPTED,
    JP_CRASH_TIME_LIMIT,
    JP_CRASH_PREEMPTED,
    JP_CRASH_ENDED, /* by a signal of unknown origin */
    /* Processes that tasks started were ended from outside, or it is not known
       how they ended; no task is known to have ended with an error. */
    JP_CRASH_PROCESSES,
    JP_CRASH_UNKNOWN, /* exit statuses are unknown */
    JP_CRASH_CAUSES
};
extern const char *const crash_causes[JP_CRASH_CAUSES]; /* "out_of_memory" */

/* Slurm's word for a job's state, as scontrol prints it. NULL for UNKNOWN. */
extern const char *const crash_job_states[SLURMJOB_STATES];
/* Returns the state with this name; UNKNOWN: there is none. name may be NULL.
 */
enum slurmjob_state crash_state_find(const char *name);

struct jp_crash {
    enum jp_crash_cause cause;
    bool sure; /* no other task can have been first */
    /* all tasks ended by themselves with one status, and none can be named as
     * the first, such as after a wrong option of the program */
    bool alike;
    /* The first task, borrowed from the nodes, and its rank (-1: none). NULL:
     * unknown; a lost node has no tasks, and of those that ended alike none is
     * named. */
    const struct jp_node *node;
    const struct jp_task *task;
    int64_t world_rank;
    /* The only worker of the first task, which is then a wrapper of one rank;
     * NULL: it has none, or several. Borrowed from the nodes. */
    const struct jp_task *only;
    /* The first task is a launcher of the ranks, and it is not known how the
     * first of its processes ended. */
    bool launches;
    /* Of the processes of launchers, if `launches`: the one that ended first,
     * though how is not known. Borrowed from the nodes; NULL: which one it was
     * is not known either. */
    struct jp_crash_untold {
        const struct jp_node *node;
        const struct jp_task *task;
        int64_t world_rank; /* -1: none */
        bool unwatched;     /* it alone had ended before it was watched, and all
                               others were ended from outside; else: by its time */
    } untold;
    /* The text is about processes that tasks started, and all tasks ended with
     * status 0. */
    bool ignored;
    /* Of the processes with recordings that are no tasks themselves, in the
     * last attempt, where no task is known to have ended with an error. */
    struct jp_crash_left {
        uint32_t processes; /* such processes */
        uint32_t unknown;   /* of these, how so many ended is not known */
        uint32_t cut;       /* of these, the recording of so many has no end */
        bool followed;      /* the first one ended by itself, and then its task
                               started another process */
        /* the first of the `cut` ones */
        const struct jp_node *node; /* borrowed from the nodes */
        int64_t pid, world_rank;    /* -1: none */
    } left;
    bool mended; /* the end of an attempt after which there was another one */
    int64_t end_us;    /* of the first end, since 1970; 0: unknown */
    int signal, code;  /* of the first task; 0 and -1: it has none */
    int64_t before_us; /* how long it ended before the next one; -1: unknown */
    uint32_t rivals; /* tasks that ended by themselves at about the same time */
    uint32_t earlier; /* tasks that had ended with status 0 before the first
                         one that failed */
    /* Tasks of the step, by enum jp_crash_way; if the first one is a worker,
     * workers. */
    uint32_t tasks, ended[4];
    char in[200];   /* the operation that it was last seen in; "": unknown */
    char text[400]; /* a clause; "": NONE */
};

/* The ways in which a task ends. */
enum jp_crash_way {
    JP_CRASH_WELL, /* status 0 */
    JP_CRASH_SELF,
    JP_CRASH_KILL, /* ended from outside */
    JP_CRASH_UNTOLD
};

enum jp_crash_way crash_way_of(const struct jp_task *task);
const char *crash_signal_name(int signal); /* "SIGSEGV"; "a signal" */
/* "rank 3", "task 3", "a worker of task 3": the first one; crash->task is
 * known. Returns buf. */
enum { JP_CRASH_WHOM = 48 };
char *crash_whom(const struct jp_crash *crash, char buf[JP_CRASH_WHOM]);
/* "RuntimeError: boom (train.py:10 in step)", as the first one has written it
 * itself; "": it has not. crash->task may be NULL. Returns buf. */
enum { JP_CRASH_ERROR = 176 };
char *crash_error(const struct jp_crash *crash, char buf[JP_CRASH_ERROR]);

/* "of those with a recording rank 5 (n2, pid 77) ended first; how it ended is
 * not known": of the launcher's processes. Returns buf. */
enum { JP_CRASH_UNTOLD_TEXT = 200 };
char *crash_untold(const struct jp_crash *crash,
                   char buf[JP_CRASH_UNTOLD_TEXT]);

/* Whether before_us is an upper bound, and much of it may not be so: slurmstepd
 * looks for the next ends of a node's tasks 100 ms after the first one. The
 * ends of workers are seen at once. */
#define JP_CRASH_COARSE_US 1000000
static inline bool crash_is_coarse(const struct jp_crash *crash)
{
    return crash->task && !crash->task->is_worker &&
           crash->before_us < JP_CRASH_COARSE_US;
}

/* The step's tasks that ended in a way, without processes that they started.
 * Where somebody has ended the step, those that left by themselves did so on
 * request, and count as ended from outside. crash NULL: that is not known. */
uint32_t crash_count(const struct jp_nodes *nodes, const struct jp_crash *crash,
                     enum jp_crash_way way);

static inline bool crash_is_fault(const struct jp_crash *crash)
{
    return crash->cause > JP_CRASH_NONE && crash->cause < JP_CRASH_CANCELLED;
}

/* Fills crash, answers the question of a crash, and adds a finding if the end
 * is a fault. nodes may be NULL: NONE. result: it shows whether the program had
 * finished; NULL: that is not known. 0, or -1: no memory. */
int crash_findings(const struct jp_nodes *nodes,
                   const struct jp_processes *processes,
                   const struct jp_result *result, struct jp_crash *crash,
                   struct jp_findings *findings);

/* Says in the findings of a hang whether the processes that hold up the others
 * had ended: clearly before all others, as slurmstepd or the node's agent saw
 * it, or by the end of their recordings. nodes and result may be NULL. -1: no
 * memory. */
int crash_of_hang(const struct jp_nodes *nodes,
                  const struct jp_processes *processes,
                  const struct jp_result *result, const struct jp_crash *crash,
                  struct jp_findings *findings);

/* Fills crash from the ends of the workers of one attempt: those whose launcher
 * had started its workers anew so many times. mended: it did so again. NONE:
 * no end of them was seen, or all ended well. -1: no memory. */
int crash_of_attempt(const struct jp_nodes *nodes,
                     const struct jp_processes *processes, uint32_t restarts,
                     bool mended, struct jp_crash *crash);

/* Sets the operation that the first task was last seen in, from its recording,
 * also in the finding. operation "" or NULL: unknown. */
void crash_set_in(struct jp_crash *crash, const char *operation,
                  struct jp_findings *findings);

/* --- attempts.c --------------------------------------------------------- */

/* The attempts of a job whose ranks were started anew. An elastic launcher
 * (torchrun --max-restarts) starts all its workers anew after one of them has
 * died. The new ones make new communicators, so each process, and each finding
 * about one, is of one attempt. So are those of programs that tasks run one
 * after the other. */
struct jp_attempt {
    uint32_t number;    /* 1 is the first */
    uint32_t restarts;  /* by the launcher's count */
    uint32_t processes; /* with records */
    uint64_t from_us; /* start of the first operation, since 1970; 0: unknown */
    uint64_t to_us;   /* end of the last one */
    uint64_t lost_us; /* from there to the next attempt's first operation; 0:
                         unknown, or the last attempt */
    bool is_fault;    /* a process of it died by itself */
    char host[64];    /* node of the process that died first, or ended first
                         in a way that is not known; "": unknown */
    int64_t rank;     /* its rank; -1: unknown */
    char ended[400];  /* how it ended: a clause; "": unknown, or well */
    char found[400];  /* the worst finding about one of its processes, besides
                         its end; "": none */
};

struct jp_attempts {
    struct jp_attempt *list; /* in order; NULL: there is one attempt, or none */
    size_t n;
    bool programs;  /* they are programs that followed each other, and not
                       starts of one program */
    bool by_logs;   /* ... which logs do not tell apart */
    char text[400]; /* one sentence about all; without a list: that the program
                       has restarted within its processes, or "" */
};

struct jp_insight;
/* Fills out from the insight's processes and its sorted findings. nodes and
 * result may be NULL. 0, or -1: no memory. Free with attempts_fini. */
int attempts_find(const struct jp_insight *insight,
                  const struct jp_nodes *nodes, const struct jp_result *result,
                  struct jp_attempts *out);
void attempts_fini(struct jp_attempts *attempts);

/* --- insight.c ---------------------------------------------------------- */

struct jp_insight {
    struct jp_findings findings;     /* sorted, worst first */
    struct jp_hypotheses hypotheses; /* each question's answer */
    struct jp_crash crash;           /* how the tasks ended; borrows nodes */
    struct jp_attempts attempts;     /* if the ranks were started anew */
    struct jp_processes processes;   /* of the result */
    struct jp_lateness *lateness;    /* by the result's ranks */
    struct jp_stalls stalls;         /* if it was judged */
    struct jp_warmup warmup;         /* if it was judged */
    struct jp_ownwork ownwork;       /* of the result's traced processes */
    struct jp_netcells network;      /* empty if it was not judged */
    struct jp_expected_bw *expected; /* by the result's cells */
    struct judge *judge;             /* own times (judge.h); NULL: not judged */
    bool judged; /* false: nothing but hangs was looked for, because the records
                  * of several runs are mixed, or NCCL reported too few of the
                  * collectives */
    bool torn;   /* operations of traces are joined wrongly */
    double run_us;     /* how long the run was; 0: unknown */
    double unrecorded; /* share of the operations that no rank recorded, as far
                          as sequence numbers show */
    size_t blind;      /* processes of which no lateness would have been seen,
                          because they vary too much */
    uint64_t duration_us;
};

/* Runs all analyses. conf, nodes, result and expectation may be NULL. Borrows
 * nodes and result until insight_destroy, and frees what nobody reads
 * afterwards (judge_measure). Returns NULL only without memory. */
struct jp_insight *insight_run(const struct jp_jobconf *conf,
                               const struct jp_nodes *nodes,
                               struct jp_result *result,
                               const struct jp_expectation *expectation);
/* Formats why silence is no all-clear: only an effect of more than `stated_max`
 * of the run would have been seen, or such a single wait is not explained. ""
 * if smaller ones would have been. Returns buf. *todo: what makes the effect
 * smaller, static; NULL: not known. */
#define JP_INSIGHT_ROUGH 160
char *insight_rough(const struct jp_insight *insight,
                    char buf[JP_INSIGHT_ROUGH], const char **todo);
/* Takes NULL. */
void insight_destroy(struct jp_insight *insight);

#endif
