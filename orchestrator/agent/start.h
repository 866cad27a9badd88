/* start.h - write a task's line to nodes/<node>/starts.jsonl.
 *
 * A child of the process that becomes the task writes the line; it inherits the
 * task's cgroups, namespaces and affinity. It asks whether a device may be
 * opened without opening it, because opening initialises the GPU, which takes
 * seconds. Format: docs/hardware-format.md.
 */
#ifndef JP_AGENT_START_H
#define JP_AGENT_START_H

#include <sys/types.h>

#include "common/error.h"
#include "orchestrator/collect/barrier.h"

/* Appends the line of the task. task: its process id. dev: the folder of device
 * files, "/dev". */
int start_write(const struct jp_seat *seat, const char *node, pid_t task,
                const char *dev, struct jp_error *err);

#endif
