/* facts.h - what is known of a step before its tasks start.
 *
 * Gathered once: by srun's side from what srun says and from Slurm's variables;
 * on a node from those alone. `jobprof plan` and doctor, which have no step,
 * say the facts of the one that they imagine. No RPC, no libslurm.
 */
#ifndef JP_AGENT_FACTS_H
#define JP_AGENT_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/jobshape.h"
#include "common/pattern.h"
#include "common/plan.h"

/* Texts are borrowed, from the environment or from who gave them; NULL:
 * unknown. Not to be copied: names.user is `user`. */
struct launch_facts {
    /* given by who knows; zeros: unknown */
    uint32_t nnodes, ntasks; /* of the step, as srun says */
    const char *command;     /* argv[0] of the tasks */
    bool owner;              /* an srun will come for the report */
    uint32_t kill_wait_s;    /* Slurm's KillWait */
    struct jp_stepsize size; /* in facts_get's hands but for what is given */
    /* from the environment */
    const struct plan_input *env; /* for the user's own variables */
    struct pattern_facts names;   /* job_id 0, step_id NULL: unknown */
    const char *submit_dir, *submit_host, *account, *partition;
    uint32_t restart;
    char user[256];
    bool het;       /* a component of a heterogeneous job */
    bool contained; /* an option asks for a container */
};

/* Completes what is given from the environment (SLURM_JOB_ID ...), which lives
 * as long as the facts. What is missing there stays unknown. */
void facts_get(const struct plan_input *env, struct launch_facts *facts);

/* What pyxis' options may keep from the tasks: a running container has only the
 * mounts of its start; the user's own mounts come after ours and may lie over
 * dir, the step's, or make it read-only. One sentence, "" if nothing does, NULL
 * without memory. *over: it is a mount over dir. Caller frees. */
char *facts_container(const struct plan_input *env, const char *dir,
                      bool *over);

/* Is there what names a step's directory: job, step, and where it starts? */
int facts_check(const struct launch_facts *facts, struct jp_error *err);

#endif
