/* util_verdict.h - the word of a step that was asked for what the node agent
 * does alone: samples of utilisation, probes of clocks. */
#ifndef JP_INSIGHT_UTIL_VERDICT_H
#define JP_INSIGHT_UTIL_VERDICT_H

#include "orchestrator/insight/verdict.h"
#include "orchestrator/util/util.h"

/* Replaces a verdict about missing records of NCCL, which nobody wanted:
 * UNJUDGED with samples or probes, NODATA without, FAILED if a task died by
 * itself. util NULL: no samples were wanted. probed: nodes with probes of
 * clocks; -1: none were wanted. insight may be NULL. */
void util_verdict_alone(const struct jp_util *util, bool sampled, int probed,
                        const struct jp_insight *insight,
                        struct jp_verdict *verdict);

#endif
