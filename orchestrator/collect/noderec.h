/* noderec.h - nodes/<node>/node.json: who this node is in its step.
 *
 * Fields and schema: docs/contracts.md, section 2. What the step looks like
 * comes from Slurm's variables (SLURM_STEP_NODELIST, SLURM_STEP_NUM_NODES,
 * SLURM_STEP_NUM_TASKS, SLURM_STEP_TASKS_PER_NODE, SLURM_TOPOLOGY_ADDR), which
 * cover all components of a heterogeneous step.
 */
#ifndef JP_COLLECT_NODEREC_H
#define JP_COLLECT_NODEREC_H

#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "orchestrator/collect/barrier.h"

#define JP_TASKLINES_MAX 65536

/* Writes the record by temp + rename. */
int noderec_write(const struct jp_seat *seat, const char *node,
                  struct jp_error *err);

/* Processes that this host's kernel has killed for want of memory since it
 * runs, in any control group; -1: unknown. */
int64_t noderec_oom_kills(void);

/* Writes path by temp + rename. bad (may be NULL) is set to the number of
 * dropped lines. */
int tasklines_convert(FILE *in, const char *path, uint32_t *bad,
                      struct jp_error *err);

#endif
