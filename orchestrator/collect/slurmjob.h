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

struct slurmjob {
    char work_dir[PATH_MAX]; /* "" unknown */
    struct jp_jobfacts facts;
    bool ended; /* and no node is still at its end */
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
