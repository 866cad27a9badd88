/* stall.h - findings on hangs.
 *
 * What the recorder saw in flight comes with the result. NCCL Inspector tells
 * ended operations only. There, a step whose tasks did not end well hangs where
 * nothing had ended for JP_HANG_US before its nodes' finish; which communicator
 * stopped first, or whose records did, follows from counts (stall_parts.h) as
 * far as they tell. Of a folder of logs no end is known: a communicator that
 * stopped short of all its likes, which agree with each other, by no more than
 * what they do in a step, was first to stall, unless it did fewer operations in
 * every step.
 */
#ifndef JP_INSIGHT_STALL_H
#define JP_INSIGHT_STALL_H

#include <stdbool.h>

#include "orchestrator/collect/nodes.h"
#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/people.h"

/* whole: no record is missing, as only then the lack of one tells something.
 * nodes may be NULL. 0, or -1 without memory. */
int stall_findings(const struct jp_result *result,
                   const struct jp_people *people, const struct jp_nodes *nodes,
                   bool whole, struct jp_findings *findings);

#endif
