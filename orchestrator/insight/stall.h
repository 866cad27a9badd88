/* stall.h - findings on hangs.
 *
 * What the recorder saw in flight comes with the result. NCCL Inspector tells
 * ended operations only: there, a communicator that stopped short of all its
 * likes, which agree with each other, by no more than what they do in a step,
 * was first to stall - unless the step is known to have ended well, or it did
 * fewer operations in every step. What never entered it cannot be told.
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
