/* finish.h - a node leaves a profiled step.
 *
 * Records are made by a child within policy.finish_limit_ms and killed beyond;
 * then, whatever became of them, the node says that it is done, and the last
 * one starts the watcher. Takes milliseconds where the file system does.
 */
#ifndef JP_AGENT_FINISH_H
#define JP_AGENT_FINISH_H

#include <stdio.h>

#include "common/error.h"
#include "orchestrator/collect/lastout.h"

/* tasks: stepd's task lines (tasklines.h). -1: this node could not be marked as
 * done. */
int finish_leave(const struct jp_seat *seat, const char *node, FILE *tasks,
                 struct jp_error *err);

#endif
