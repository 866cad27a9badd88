/* noderec.h - nodes/<node>/node.json: who this node is in its step.
 *
 * Fields and schema: docs/internals.md, section 2. What the step looks like
 * comes from Slurm's variables (SLURM_STEP_NODELIST, SLURM_STEP_NUM_NODES,
 * SLURM_STEP_NUM_TASKS, SLURM_STEP_TASKS_PER_NODE, SLURM_TOPOLOGY_ADDR), which
 * cover all components of a heterogeneous step.
 */
#ifndef JP_COLLECT_NODEREC_H
#define JP_COLLECT_NODEREC_H

#include "common/error.h"
#include "orchestrator/collect/lastout.h"

/* Writes the record by temp + rename. */
int noderec_write(const struct jp_seat *seat, const char *node,
                  struct jp_error *err);

#endif
