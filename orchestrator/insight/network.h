/* network.h - findings on the network: slower from some time on, slower and
 * slower, slower than expected, or in some communicators than in their likes.
 *
 * The first of these that explains enough is told, and no other: what was slow
 * from some time on would be slow by the baseline, too.
 */
#ifndef JP_INSIGHT_NETWORK_H
#define JP_INSIGHT_NETWORK_H

#include "orchestrator/insight/expectation.h"
#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/netseries.h"
#include "orchestrator/insight/processes.h"

/* Appends them; a node is named where only communicators with it are slow.
 * 0, or -1 without memory. */
int network_findings(const struct jp_result *result,
                     const struct jp_processes *processes,
                     const struct jp_netserieses *list,
                     const struct jp_expectation *expectation,
                     struct jp_findings *findings);

#endif
