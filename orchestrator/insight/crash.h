/* crash.h - how a step's tasks ended: which was the first to end by itself, of
 * what, and whether that is a fault.
 *
 * A task ends by itself where it dies of a signal that nobody sends to end a
 * program (SIGSEGV, SIGABRT ...) or leaves with an exit status other than 0.
 * SIGTERM, SIGINT, SIGHUP and SIGKILL come from outside: what they end, after
 * another task's own end, is a consequence of that (srun -K, a user's scancel),
 * and with no such end before them somebody has ended the step, which is no
 * fault. SIGKILL is one where the kernel had no memory left, and where the
 * others went on for long.
 *
 * Order: slurmstepd sees ends of its node at once, the next ones up to 100 ms
 * later and then together. Clocks of nodes differ by unknown amounts. `sure`
 * says whether another task may have been first; what kind of end it was, and
 * Slurm's kills as consequences, need no clock.
 */
#ifndef JP_INSIGHT_CRASH_H
#define JP_INSIGHT_CRASH_H

#include <stdbool.h>
#include <stdint.h>

#include "orchestrator/collect/nodes.h"
#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/processes.h"

enum jp_crash_cause {
    JP_CRASH_NONE, /* every task ended with status 0, or none is known */
    /* faults: a signal of its own, an exit status, no memory, SIGKILL of one
     * while others went on, a node that is gone */
    JP_CRASH_SIGNAL,
    JP_CRASH_EXIT,
    JP_CRASH_MEMORY,
    JP_CRASH_KILLED,
    JP_CRASH_NODE,
    /* no faults: somebody ended the step */
    JP_CRASH_CANCELLED,
    JP_CRASH_INTERRUPTED,
    JP_CRASH_TIME_LIMIT,
    JP_CRASH_PREEMPTED,
    JP_CRASH_ENDED,   /* by a signal, and nothing tells by whom */
    JP_CRASH_UNKNOWN, /* statuses are not known */
    JP_CRASH_CAUSES
};
const char *crash_cause_name(enum jp_crash_cause cause); /* "out_of_memory" */

/* Slurm's own word for a job's state, as scontrol prints it; NULL for UNKNOWN.
 */
const char *crash_state_name(enum slurmjob_state state);
/* The state of that name; UNKNOWN: none has it. name may be NULL. */
enum slurmjob_state crash_state_find(const char *name);

struct jp_crash {
    enum jp_crash_cause cause;
    bool sure; /* no other task may have been first */
    /* The first, borrowed from the nodes; NULL: none is known (a node that is
     * gone has no tasks). Its rank; -1: none */
    const struct jp_node *node;
    const struct jp_task *task;
    int64_t world_rank;
    int signal, code;  /* of the first: 0 and -1: not so */
    int64_t before_us; /* its end before the next one's; -1: unknown */
    uint32_t rivals;   /* tasks that ended as near, by themselves */
    uint32_t tasks;    /* of the step */
    uint32_t ended[4]; /* of them by enum jp_crash_way */
    char in[200];      /* what it was in; "": not known */
    char text[320];    /* a clause; "": NONE */
};

/* The ways in which a task ends. */
enum jp_crash_way {
    JP_CRASH_WELL, /* status 0 */
    JP_CRASH_SELF,
    JP_CRASH_KILL, /* from outside */
    JP_CRASH_UNTOLD
};

enum jp_crash_way crash_way_of(const struct jp_task *task);
const char *crash_signal_name(int signal); /* "SIGSEGV"; "a signal" */

/* nodes may be NULL: NONE. */
void crash_judge(const struct jp_nodes *nodes,
                 const struct jp_processes *processes, struct jp_crash *crash);

static inline bool crash_is_fault(const struct jp_crash *crash)
{
    return crash->cause > JP_CRASH_NONE && crash->cause < JP_CRASH_CANCELLED;
}

/* Says what the first was in: an operation in flight in its recording ("" or
 * NULL: not known). */
void crash_set_in(struct jp_crash *crash, const char *operation);

/* A fault becomes a finding; anything else: nothing is added. 0, or -1 without
 * memory. */
int crash_findings(const struct jp_crash *crash, struct jp_findings *findings);

#endif
