/* hang.h - findings on hangs.
 *
 * The recorder's operations in flight come with the result. NCCL Inspector
 * records ended operations only. With its logs, a step whose tasks did not end
 * well is a hang if nothing had ended for JP_HANG_US before its nodes' finish.
 * Counts of operations (hang.c) then show which communicator stopped first, if
 * they can. The end of a folder of logs is unknown. There, a communicator was
 * first to hang if it stopped before all its likes, if these agree with each
 * other, and if the difference is at most one step's operations; unless it did
 * fewer operations in every step.
 */
#ifndef JP_INSIGHT_HANG_H
#define JP_INSIGHT_HANG_H

#include <stdbool.h>

#include "orchestrator/collect/nodes.h"
#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/processes.h"

/* whole: no record is missing; only then a missing record means something.
 * nodes may be NULL. 0, or -1: no memory. */
int hang_findings(const struct jp_result *result,
                  const struct jp_processes *processes,
                  const struct jp_nodes *nodes, bool whole,
                  struct jp_findings *findings);

#endif
