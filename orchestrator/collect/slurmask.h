/* slurmask.h - queries to Slurm's controller about a job, a step and its
 * configuration, each in a separate process.
 *
 * libslurm ends the process if slurm.conf cannot be read, and waits long for a
 * controller that is down. So a child asks, for a limited time.
 */
#ifndef JP_COLLECT_SLURMASK_H
#define JP_COLLECT_SLURMASK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/plan.h"

#define JP_SLURMJOB_WAIT_MS 5000
/* Limit of a query before a launch that only a default needs. */
#define JP_SLURMJOB_LAUNCH_MS 1000

/* The state of a job. */
enum slurmjob_state {
    SLURMJOB_UNKNOWN, /* unknown, or none of those below */
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
    bool ended;                /* and no node is still busy with its end */
    enum slurmjob_state state; /* also set while the job completes */
    uint32_t uid;
    uint64_t start_us, end_us; /* since 1970, in whole seconds; 0: not yet */
    uint32_t restart;          /* how often it was requeued */
    char name[256];            /* "" unknown, or longer */
};

/* Asks the controller for at most wait_ms. False: no Slurm, unknown job, or no
 * answer. Must not be called after threads were started. */
bool slurmjob_get(uint32_t job_id, unsigned wait_ms, struct slurmjob *out);

/* Asks Slurm's accounting by sacct, which knows jobs that the controller has
 * forgotten: uid, name, account, partition, start and restarts. False: no
 * accounting, unknown job, or no answer within wait_ms. */
bool slurmjob_accounted(uint32_t job_id, unsigned wait_ms,
                        struct slurmjob *out);

/* Keeps one answer about the launched job. Starts as zeros. */
struct slurmjob_memo {
    bool done;
    struct jp_jobfacts facts;
};

/* A jobfacts_ask about the job of SLURM_JOB_ID, within JP_SLURMJOB_LAUNCH_MS.
 * arg is a struct slurmjob_memo, so that Slurm is asked once. Facts that are
 * known already are kept, except for the resources. */
void slurmjob_ask(void *arg, struct jp_jobfacts *facts);

/* --- a step: its nodes, and KillWait --- */

#define JP_SLURMSTEP_NODES_MAX 60000

struct slurmstep {
    uint32_t kill_wait_s; /* 0: unknown */
    uint32_t n_nodes;
    char nodes[JP_SLURMSTEP_NODES_MAX]; /* "n[1-4]" */
};

/* Asks the controller for at most wait_ms. False: no Slurm, no such step, or no
 * answer. Must not be called after threads were started. */
bool slurmstep_get(uint32_t job_id, uint32_t step_id, unsigned wait_ms,
                   struct slurmstep *out);

/* --- the configuration --- */

/* "" unknown. */
struct slurmconf {
    char version[64];           /* release of the controller */
    char path[PATH_MAX];        /* slurm.conf */
    char plugstack[PATH_MAX];   /* plugstack.conf */
    char plugin_dirs[PATH_MAX]; /* separated by colons */
    char task_prolog[PATH_MAX]; /* "": none */
};

/* Asks the controller for at most wait_ms. False: no Slurm, or no answer. Must
 * not be called after threads were started. */
bool slurmconf_get(unsigned wait_ms, struct slurmconf *out);

/* --- requests of a step's owner ---
 *
 * Each runs in a child that is not waited for and that ends after at most 20 s.
 * The caller continues at once, without a result. The child runs as the owner
 * of the job, or as Slurm's user.
 */

/* Shows one line to the users of the job: on the terminal of srun or salloc, or
 * in the batch script's output. It is sent to the job, so the text must name
 * the step. */
void slurmjob_notify(uint32_t job_id, const char *text);

/* Ends a step as scancel does. */
void slurmstep_cancel(uint32_t job_id, uint32_t step_id);

/* --- resources --- */

/* Appends the names of resources in text to the comma list in buf, each once:
 * "gpu,nvme" for "gres:gpu:a100:4,gres/nvme=1". all_tres: text also counts
 * other resources ("cpu=4,gres/gpu=2"), so only those that begin with "gres"
 * are taken. What does not fit is left out. text may be NULL. */
void slurmgres_add(const char *text, bool all_tres, char *buf, size_t len);

#endif
