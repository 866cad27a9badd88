/* hang.h - findings on hangs.
 *
 * What the recorder saw in flight comes with the result. NCCL Inspector tells
 * ended operations only. There, a step whose tasks did not end well hangs where
 * nothing had ended for JP_HANG_US before its nodes' finish; which communicator
 * stopped first, or whose records did, follows from counts (hang.c) as
 * far as they tell. Of a folder of logs no end is known: a communicator that
 * stopped short of all its likes, which agree with each other, by no more than
 * what they do in a step, was first to hang, unless it did fewer operations in
 * every step.
 */
#ifndef JP_INSIGHT_HANG_H
#define JP_INSIGHT_HANG_H

#include <stdbool.h>

#include "orchestrator/collect/nodes.h"
#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/processes.h"

/* whole: no record is missing, as only then the lack of one tells something.
 * nodes may be NULL. 0, or -1 without memory. */
int hang_findings(const struct jp_result *result,
                  const struct jp_processes *processes,
                  const struct jp_nodes *nodes, bool whole,
                  struct jp_findings *findings);

#endif
