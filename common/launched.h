/* launched.h - what a process's launcher has told it about its place.
 *
 * Launchers pass numbers to their workers in environment variables. Children
 * inherit them, so one process's variable proves nothing: only all processes of
 * a job together show whether a variable numbers them (orchestrator/identity/
 * rankrule.h). The names are in one table, from which the recorder and the
 * readers take them.
 */
#ifndef JP_COMMON_LAUNCHED_H
#define JP_COMMON_LAUNCHED_H

#include <stddef.h>
#include <stdint.h>

/* A row for each launcher, the surest first: constant, the variable with the
 * process's number among all of the job's, the variable with their count ("":
 * there is none). PMIx and PMI are the interfaces that srun --mpi and Hydra
 * offer. */
#define LAUNCHED_RANKS(ROW)                                                    \
    ROW(TORCH, "RANK", "WORLD_SIZE")                                           \
    ROW(OMPI, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")                  \
    ROW(PMI, "PMI_RANK", "PMI_SIZE")                                           \
    ROW(PMIX, "PMIX_RANK", "")                                                 \
    ROW(JAX, "JAX_PROCESS_ID", "JAX_NUM_PROCESSES")

#define LAUNCHED_CONSTANT(name, rank, size) LAUNCHED_##name,
enum launched_kind { LAUNCHED_RANKS(LAUNCHED_CONSTANT) LAUNCHED_KINDS };

/* The variables that only name: they stand in no rule. Slurm's process id of
 * the task shows whether a process is the task itself or a child of it. */
#define LAUNCHED_LOCAL_RANK "LOCAL_RANK"
#define LAUNCHED_RESTARTS "TORCHELASTIC_RESTART_COUNT"
#define LAUNCHED_RUN "TORCHELASTIC_RUN_ID"
#define LAUNCHED_TASK_PID "SLURM_TASK_PID"

/* Unknown numbers are -1. */
struct launched {
    int64_t rank[LAUNCHED_KINDS];
    int64_t size[LAUNCHED_KINDS];
    int64_t local_rank;
    int64_t restarts; /* of torchelastic: 0 in the first attempt */
    int64_t task_pid; /* of the Slurm task that it belongs to */
    char run[64];     /* torchelastic's id of the run; "": unknown */
};

extern const char *const launched_rank_names[LAUNCHED_KINDS];

/* Everything becomes unknown. */
void launched_init(struct launched *launched);
/* Takes a variable; a name that is none of these, and a value that is no
 * number where one is expected, change nothing. */
void launched_take(struct launched *launched, const char *name,
                   const char *value);

#endif
