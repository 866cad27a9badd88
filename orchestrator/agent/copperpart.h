/* copperpart.h - Copper's part of a launch: its daemons beside the tasks. */
#ifndef JP_AGENT_COPPERPART_H
#define JP_AGENT_COPPERPART_H

#include <stdint.h>

#include "common/error.h"
#include "common/jobconf.h"
#include "common/plan.h"
#include "orchestrator/agent/facts.h"

/* Why Copper does not run in this step; NULL: it runs. */
const char *copperpart_refusal(const struct launch_facts *facts,
                               const struct jp_plan *plan);

/* Fills Copper's settings in job.conf, which must already have the job's ids,
 * and adds COPPER_MOUNT to its variables. Lines for the user are appended to
 * *note. */
int copperpart_fill(const struct launch_facts *facts,
                    const struct jp_plan *plan, struct jp_jobconf *conf,
                    char **note, struct jp_error *err);

/* Number of CPUs per node for the daemons, from the site file; at least 1. */
uint32_t copperpart_cpus(const struct jp_plan *plan);

#endif
