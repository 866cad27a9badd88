/* copper_verdict.h - what Copper's profiles add to the verdict. */
#ifndef JP_INSIGHT_COPPER_VERDICT_H
#define JP_INSIGHT_COPPER_VERDICT_H

#include <stdbool.h>

#include "orchestrator/copper/copper.h"
#include "orchestrator/insight/verdict.h"

/* Are figures missing: a rank that is not whole, a damaged table of paths? */
bool copper_verdict_incomplete(const struct jp_copper *copper);

/* Adds Copper's word and clauses to a verdict that was decided without. alone:
 * nothing else was to be profiled, so that the verdict is Copper's. A slow rank
 * makes it DEGRADED, missing figures INCOMPLETE; a worse word stays. copper may
 * be NULL: nothing changes. */
void copper_verdict_add(const struct jp_copper *copper, bool alone,
                        struct jp_verdict *verdict);

/* The same where Copper's profiles are there and could not be analysed. */
void copper_verdict_failed(const char *why, struct jp_verdict *verdict);

#endif
