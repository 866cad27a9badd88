/* resolve_env.h - the tasks' variables and those that the user set himself. */
#ifndef JP_CMD_RESOLVE_ENV_H
#define JP_CMD_RESOLVE_ENV_H

#include "orchestrator/agent/resolve.h"

/* Asks the chosen planner for its variables into conf->env. Without force=1
 * they are soft, and each that the user has set (in the environment and not
 * listed in JOBPROF_SET) becomes a setting with source "environment". His own
 * NCCL_PROFILER_PLUGIN is worth *note (replaced; malloc'ed). */
int resolve_env(const struct resolve_input *in, const struct jp_plan *plan,
                const struct resolve_choice *choice, struct jp_jobconf *conf,
                char **note, struct jp_error *err);

/* Is name one of those that jobprof itself has set in this environment? */
bool resolve_env_is_ours(const struct plan_input *in, const char *name);

#endif
