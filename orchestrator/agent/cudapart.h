/* cudapart.h - CUDA's part of job.conf: whether CUDA calls are counted. */
#ifndef JP_AGENT_CUDAPART_H
#define JP_AGENT_CUDAPART_H

#include <stdbool.h>

#include "common/error.h"
#include "common/jobconf.h"
#include "common/plan.h"
#include "orchestrator/agent/facts.h"

/* With cuda=1: adds the setting and the tasks' variables to conf. A CUDA
 * injection library that the user has set is kept. Lines for the user are
 * appended to *note. Call utilpart_fill first. */
int cudapart_fill(const struct launch_facts *facts, const struct jp_plan *plan,
                  const char *step_dir, struct jp_jobconf *conf, char **note,
                  struct jp_error *err);

/* Removes the library from conf->env if this node does not have it. Returns
 * false then, and *path is the library's path (caller frees; NULL without
 * memory). */
bool cudapart_check(struct jp_jobconf *conf, char **path);

#endif
