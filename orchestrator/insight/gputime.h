/* gputime.h - what exports of Nsight Systems show of a step's GPUs: gaps
 * between kernels, small kernels, copies that wait, allocations, ranks that
 * have more to do than others.
 */
#ifndef JP_INSIGHT_GPUTIME_H
#define JP_INSIGHT_GPUTIME_H

#include "orchestrator/insight/insight.h"
#include "orchestrator/insight/verdict.h"
#include "orchestrator/nsys/nsys.h"

/* The limits that decide what is short and small. */
struct jp_nsys_options gputime_options(void);

/* Adds findings and sorts all again. Without memory it adds fewer. nsys may be
 * NULL: then the questions are not judged. */
void gputime_judge(const struct jp_nsys *nsys, struct jp_insight *insight);

/* Whether an export was read. nsys may be NULL. */
bool gputime_has_data(const struct jp_nsys *nsys);

/* Replaces a verdict about missing records of NCCL, which nobody wanted: by
 * UNJUDGED, or by FAILED if a task died by itself. */
void gputime_verdict_alone(const struct jp_nsys *nsys,
                           const struct jp_insight *insight,
                           struct jp_verdict *verdict);

#endif
