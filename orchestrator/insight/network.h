/* network.h - findings on the network: slower from some time on, slower and
 * slower, slower than expected, or in some communicators than in their likes.
 *
 * Only the first of these that explains enough becomes a finding, because a
 * network that is slow from some time on is also slow against the baseline.
 */
#ifndef JP_INSIGHT_NETWORK_H
#define JP_INSIGHT_NETWORK_H

#include "orchestrator/insight/expectation.h"
#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/netseries.h"
#include "orchestrator/insight/processes.h"

/* Appends the findings. Names a node if only communicators with that node are
 * slow. 0, or -1: no memory. */
int network_findings(const struct jp_result *result,
                     const struct jp_processes *processes,
                     const struct jp_netserieses *list,
                     const struct jp_expectation *expectation,
                     struct jp_findings *findings);

#endif
