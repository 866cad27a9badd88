/* cudapart.h - CUDA's part of job.conf: whether the tasks' calls are counted.
 */
#ifndef JP_AGENT_CUDAPART_H
#define JP_AGENT_CUDAPART_H

#include <stdbool.h>

#include "common/error.h"
#include "common/jobconf.h"
#include "common/plan.h"
#include "orchestrator/agent/facts.h"

/* With cuda=1: adds the setting and what the tasks are told to conf. The user's
 * own library for CUDA stays. Lines for the user are added to *note.
 * utilpart_fill has been called. */
int cudapart_fill(const struct launch_facts *facts, const struct jp_plan *plan,
                  const char *step_dir, struct jp_jobconf *conf, char **note,
                  struct jp_error *err);

/* Takes the library out of conf->env where this node does not have it: false,
 * and *path is its path. Caller frees; NULL without memory. */
bool cudapart_check(struct jp_jobconf *conf, char **path);

#endif
