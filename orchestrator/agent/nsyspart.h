/* nsyspart.h - nsys' part of job.conf: which ranks run under nsys, and how. */
#ifndef JP_AGENT_NSYSPART_H
#define JP_AGENT_NSYSPART_H

#include <stdbool.h>

#include "common/error.h"
#include "common/jobconf.h"
#include "common/plan.h"
#include "orchestrator/agent/facts.h"

/* Refuses a value of the option that this Slurm cannot carry out. text must
 * have passed the option's grammar. err contains a command line that does it by
 * hand. */
int nsyspart_check(const char *text, struct jp_error *err);

/* Whether the step gets a report for nsys alone. */
bool nsyspart_is_step(const struct jp_plan *plan);

/* Fills conf->nsys_* and adds the tasks' variables to conf->env. Lines for the
 * user are appended to *note. */
int nsyspart_fill(const struct launch_facts *facts, const struct jp_plan *plan,
                  const char *step_dir, struct jp_jobconf *conf, char **note,
                  struct jp_error *err);

/* Appends the reason why nsys does not run, if it was requested. */
int nsyspart_note(const struct jp_plan *plan, char **note,
                  struct jp_error *err);

/* Writes "nsys: the first rank of each node, traces cuda,nvtx", or that no rank
 * runs under nsys, to buf. Returns buf. */
const char *nsyspart_describe(const struct jp_jobconf *conf, char *buf,
                              size_t len);

#endif
