/* nsyspart.h - nsys' part of job.conf: which ranks run under it, and how. */
#ifndef JP_AGENT_NSYSPART_H
#define JP_AGENT_NSYSPART_H

#include <stdbool.h>

#include "common/error.h"
#include "common/jobconf.h"
#include "common/plan.h"
#include "orchestrator/agent/facts.h"

/* Refuses a value of the option, whose grammar holds, where this Slurm cannot;
 * err has the line to type instead. */
int nsyspart_check(const char *text, struct jp_error *err);

/* Is it a step with a report, for nsys alone? */
bool nsyspart_is_step(const struct jp_plan *plan);

/* Fills conf->nsys_... and adds what the tasks are told to conf->env. Lines for
 * the user are added to *note. */
int nsyspart_fill(const struct launch_facts *facts, const struct jp_plan *plan,
                  const char *step_dir, struct jp_jobconf *conf, char **note,
                  struct jp_error *err);

/* Adds what keeps ranks from nsys that would have had it. */
int nsyspart_note(const struct jp_plan *plan, char **note,
                  struct jp_error *err);

/* "nsys: the first rank of each node, traces cuda,nvtx", or that none runs
 * under it, into buf. Returns buf. */
const char *nsyspart_describe(const struct jp_jobconf *conf, char *buf,
                              size_t len);

#endif
