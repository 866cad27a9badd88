/* util_verdict.h - the word of a step whose utilisation alone was asked for. */
#ifndef JP_INSIGHT_UTIL_VERDICT_H
#define JP_INSIGHT_UTIL_VERDICT_H

#include "orchestrator/insight/verdict.h"
#include "orchestrator/util/util.h"

/* Puts a verdict in the place of one that misses NCCL's records, which nobody
 * wanted: UNJUDGED with samples, NODATA without, FAILED where a task died by
 * itself. util and insight may be NULL. */
void util_verdict_alone(const struct jp_util *util,
                        const struct jp_insight *insight,
                        struct jp_verdict *verdict);

#endif
