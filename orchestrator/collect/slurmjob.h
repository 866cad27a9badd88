/* slurmjob.h - what Slurm knows of a job, asked in a process of its own.
 *
 * libslurm ends the process where slurm.conf cannot be read, and waits long for
 * a controller that is down: a child bears that, for a bounded time.
 */
#ifndef JP_COLLECT_SLURMJOB_H
#define JP_COLLECT_SLURMJOB_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/activation.h"

#define JP_SLURMJOB_WAIT_MS 5000
/* Before a launch nobody waits longer for what a default only needs. */
#define JP_SLURMJOB_LAUNCH_MS 1000

/* How Slurm sees a job. */
enum slurmjob_state {
    SLURMJOB_UNKNOWN, /* or none of those below */
    SLURMJOB_RUNNING,
    SLURMJOB_COMPLETED,
    SLURMJOB_FAILED,
    SLURMJOB_CANCELLED,
    SLURMJOB_TIMEOUT,
    SLURMJOB_NODE_FAIL,
    SLURMJOB_OUT_OF_MEMORY,
    SLURMJOB_PREEMPTED,
    SLURMJOB_STATES
};
struct slurmjob {
    char work_dir[PATH_MAX]; /* "" unknown */
    struct jp_jobfacts facts;
    bool ended;                /* and no node is still at its end */
    enum slurmjob_state state; /* as it ends, too */
    uint32_t uid;
    uint64_t end_us; /* since 1970, in whole seconds; 0: not yet */
};

/* Asks the controller, for at most wait_ms. False: no Slurm, unknown job, no
 * answer. Not after threads were started. */
bool slurmjob_get(uint32_t job_id, unsigned wait_ms, struct slurmjob *out);

/* The job's working directory, or NULL. Caller frees. */
char *slurmjob_work_dir(uint32_t job_id);

/* One answer about the launched job; starts as zeros. */
struct slurmjob_memo {
    bool done;
    struct jp_jobfacts facts;
};

/* A jobfacts_ask about SLURM_JOB_ID's job within JP_SLURMJOB_LAUNCH_MS; arg is
 * a struct slurmjob_memo, so that Slurm is asked once. What is known already
 * stays, but for the resources. */
void slurmjob_ask(void *arg, struct jp_jobfacts *facts);

#endif
