/* facts.h - what is known of a step before its tasks start.
 *
 * The facts are gathered once. On srun's side they come from srun and from
 * Slurm's variables; on a node, from the variables alone. `jobprof plan` and
 * doctor have no step and supply the facts of an imagined one. Uses neither
 * RPCs nor libslurm.
 */
#ifndef JP_AGENT_FACTS_H
#define JP_AGENT_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/jobshape.h"
#include "common/pattern.h"
#include "common/plan.h"

/* Strings are borrowed, from the environment or from the caller. NULL: unknown.
 * Do not copy this struct: names.user points to `user`. */
struct launch_facts {
    /* given by the caller; zeros: unknown */
    uint32_t nnodes, ntasks; /* of the step, as srun reports them */
    const char *command;     /* argv[0] of the tasks */
    bool owner;              /* an srun will make the report */
    uint32_t kill_wait_s;    /* KillWait of slurm.conf */
    struct jp_stepsize size; /* set by facts_get, except values already given */
    /* from the environment */
    const struct plan_input *env; /* source of the user's own variables */
    struct pattern_facts names;   /* job_id 0, step_id NULL: unknown */
    const char *submit_dir, *submit_host, *account, *partition;
    uint32_t restart;
    char user[256];
    bool het;       /* a component of a heterogeneous job */
    bool contained; /* an option requests a container */
};

/* Completes the given facts from the environment (SLURM_JOB_ID ...), which must
 * live as long as the facts. Facts missing there stay unknown. */
void facts_get(const struct plan_input *env, struct launch_facts *facts);

/* Describes what pyxis' options may hide from the tasks. A running container
 * has only the mounts from its start. The user's own mounts come after ours:
 * they may cover dir, the step's directory, or make it read-only. Returns one
 * sentence, "" if nothing is hidden, NULL without memory (caller frees). *over:
 * a mount covers dir or makes it read-only. */
char *facts_container(const struct plan_input *env, const char *dir,
                      bool *over);

/* Checks that the facts for a step's directory are known: job, step and working
 * directory. Returns -1 and err if one is missing. */
int facts_check(const struct launch_facts *facts, struct jp_error *err);

#endif
