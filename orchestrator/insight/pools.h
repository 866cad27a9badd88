/* pools.h - what the pools of NVIDIA's example plugin could not hold.
 *
 * A pool that is full drops operations, the first or the last, by release. Gaps
 * in the sequence numbers prove it; a trace with as many events as a pool has
 * slots makes it likely, as what came behind the last number leaves no gap.
 */
#ifndef JP_INSIGHT_POOLS_H
#define JP_INSIGHT_POOLS_H

#include <stdbool.h>

#include "orchestrator/insight/evidence.h"
#include "orchestrator/insight/sentence.h"

/* Adds a clause for each of the two. The slots are those that job.conf set, or,
 * without it, any of the plugin's defaults. */
void pools_check(const struct jp_evidence *e, struct jp_sentence *s);

/* The plan's own sentence on what will be missing ("loses up to ..."), where
 * the profiler does not count what it loses; NULL: nothing, or not known.
 * Borrowed. */
const char *pools_planned_loss(const struct jp_jobconf *conf);
/* The same where sequence numbers cannot show it: the last operations of all
 * ranks. */
const char *pools_lost_tail(const struct jp_jobconf *conf);

/* Are pools full of which the plan knew that they hold a part of the run? */
bool pools_overran(const struct jp_jobconf *conf,
                   const struct jp_quality *quality);

#endif
