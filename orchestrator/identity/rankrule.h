/* rankrule.h - the one rule that says which rank of the job a process is.
 *
 * A process may have a rank in each of its communicators. Its rank in the job
 * is, with this evidence:
 * - The number that the program's launcher gave it (RANK and the like,
 *   common/launched.h), if the variable numbers all processes: each has it, no
 *   two have the same, all state one count, and no number is beyond it. Where
 *   two launchers' variables, or a variable and a communicator of all processes
 *   contradict each other, the variables are inherited or stale, and prove
 *   nothing.
 * - Else Slurm's task id, of processes that are tasks of the step themselves.
 * - Else its rank in a communicator of all processes. No communicator may be
 *   larger, it must have at least as many ranks as there are processes and
 *   tasks, and either every process is in it or it has exactly as many ranks as
 *   the step has tasks. If such a rank and a task id differ anywhere, the
 *   communicator has an order of its own and is not used.
 * - Else none. A rank is then named with its communicator.
 * No two processes have the same rank, unless a launcher started its workers
 * anew (TORCHELASTIC_RESTART_COUNT): each attempt is decided on its own.
 * Nothing that children inherit counts for a single process: a launcher's
 * workers all have its SLURM_PROCID.
 */
#ifndef JP_IDENTITY_RANKRULE_H
#define JP_IDENTITY_RANKRULE_H

#include <stddef.h>
#include <stdint.h>

#include "common/launched.h"

enum jp_rank_evidence {
    JP_RANK_UNKNOWN,
    JP_RANK_OF_TASK,
    JP_RANK_OF_COMM,
    JP_RANK_OF_LAUNCHER
};

struct rankrule_process {
    const struct launched *launched; /* borrowed; NULL: unknown */
    int64_t task; /* Slurm's id, if it is a task itself; -1: not known to be */
    /* Where `launched` is NULL: of which of the programs that ran one after the
     * other it is, from 1 on; 0: unknown. */
    int64_t program;
    /* results */
    int64_t rank; /* in the job; -1: none */
    enum jp_rank_evidence evidence;
};

/* A rank of a communicator, and the process that has it. */
struct rankrule_member {
    uint32_t process;
    uint32_t rank;
};

struct rankrule_comm {
    uint32_t n_ranks;
    const struct rankrule_member *members; /* each rank once */
    size_t n;                              /* of the ranks that are known */
};

struct rankrule {
    struct rankrule_process *processes;
    size_t n_processes;
    const struct rankrule_comm *comms;
    size_t n_comms;
    uint64_t step_tasks; /* of the whole step; 0: unknown */
};

/* Decides for all processes. 0, or -1 without memory. */
int rankrule_decide(const struct rankrule *rule);

#endif
