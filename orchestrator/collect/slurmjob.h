/* slurmjob.h - what Slurm knows of a job, asked in a process of its own.
 *
 * libslurm ends the process where slurm.conf cannot be read, and waits long for
 * a controller that is down: a child bears that, for at most
 * JP_SLURMJOB_WAIT_MS.
 */
#ifndef JP_COLLECT_SLURMJOB_H
#define JP_COLLECT_SLURMJOB_H

#include <stdint.h>

#define JP_SLURMJOB_WAIT_MS 5000

/* The job's working directory, or NULL (no Slurm, unknown job, no answer).
 * Caller frees. Not after threads were started. */
char *slurmjob_work_dir(uint32_t job_id);

#endif
