/* noderec.h - the records that a node writes: node.json, tasks.jsonl, manifest.
 *
 * nodes/<node>/node.json identifies the node in its step. Fields and schema:
 * docs/dev/contracts.md, section 2. The description of the step comes from
 * Slurm's variables (SLURM_STEP_NODELIST, SLURM_STEP_NUM_NODES,
 * SLURM_STEP_NUM_TASKS, SLURM_STEP_TASKS_PER_NODE, SLURM_TOPOLOGY_ADDR), which
 * cover all components of a heterogeneous step.
 */
#ifndef JP_COLLECT_NODEREC_H
#define JP_COLLECT_NODEREC_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/lines.h"
#include "orchestrator/collect/stepdir.h"

#define JP_TASKLINES_MAX 65536

/* Writes node.json by temp + rename. */
int noderec_write(const struct jp_seat *seat, const char *node,
                  struct jp_error *err);

/* Converts slurmstepd's lines about tasks (LINES_ENDS), "GTID LTID PID STATUS
 * MONO_US END_US", to tasks.jsonl at path, by temp + rename. bad (may be NULL)
 * is set to the number of lines that were dropped. */
int tasklines_convert(struct jp_lines *in, const char *path, uint32_t *bad,
                      struct jp_error *err);

/* --- nodes/<node>/manifest: the files that this node's tasks have written.
 *
 * JSON {schema, node, nodeid, component, finish_us, complete, files:[{path,
 * bytes, mtime_us}]}; path is relative to raw/<node>/. The walk follows no
 * symbolic link, opens no file, and stops at the limits or the deadline; then
 * complete is false. Links, FIFOs and sockets are left out.
 */

#define JP_MANIFEST_FILES_MAX 100000
#define JP_MANIFEST_DEPTH_MAX 16

/* Walks raw/<node> and writes the manifest by temp + rename. deadline_ms is a
 * time of clock_mono_ms(). 0: does not touch the folder, because a walk has
 * hung there, and writes an incomplete manifest without files. */
int manifest_write(const struct jp_seat *seat, const char *node,
                   uint64_t deadline_ms, struct jp_error *err);

#endif
