/* resolve_env.h - the tasks' variables and those that the user set himself. */
#ifndef JP_CMD_RESOLVE_ENV_H
#define JP_CMD_RESOLVE_ENV_H

#include "orchestrator/agent/resolve.h"

#define RESOLVE_ENV_PLUGIN "NCCL_PROFILER_PLUGIN"

/* Asks the chosen planner for its variables into conf->env. Without force=1
 * they are soft, and each that the user has set (in the environment and not
 * listed in JOBPROF_SET) becomes a setting with source "environment". Those
 * with another value than ours are worth a line in choice's warnings. */
int resolve_env(const struct resolve_input *in, const struct jp_plan *plan,
                struct resolve_choice *choice, struct jp_jobconf *conf,
                struct jp_error *err);

/* Names of the variables in which the user's own value stays and is another
 * than ours: "A, B"; NULL: none. Caller frees. */
int resolve_env_own(const struct jp_jobconf *conf, char **names,
                    struct jp_error *err);
/* The user's own value of that variable, where it stays and differs from ours;
 * NULL: none. Borrowed. */
const char *resolve_env_own_value(const struct jp_jobconf *conf,
                                  const char *name);

/* Is name one of those that jobprof itself has set in this environment? */
bool resolve_env_is_ours(const struct plan_input *in, const char *name);

#endif
