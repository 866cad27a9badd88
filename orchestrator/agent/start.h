/* start.h - a task's line in nodes/<node>/starts.jsonl.
 *
 * Made by a child of the process that becomes the task, which inherits its
 * cgroups, namespaces and affinity. Whether a device may be opened is asked
 * without opening it: that would initialise a GPU, which takes seconds. Format:
 * docs/hardware-format.md.
 */
#ifndef JP_AGENT_START_H
#define JP_AGENT_START_H

#include <sys/types.h>

#include "common/error.h"
#include "orchestrator/collect/barrier.h"

/* Appends the line of the task whose process is task. dev: the folder of the
 * devices, "/dev". */
int start_write(const struct jp_seat *seat, const char *node, pid_t task,
                const char *dev, struct jp_error *err);

#endif
