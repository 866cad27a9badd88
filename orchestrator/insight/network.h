/* network.h - findings on the network: slower from some time on, slower and
 * slower, or slower in some communicators than in their likes. */
#ifndef JP_INSIGHT_NETWORK_H
#define JP_INSIGHT_NETWORK_H

#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/netseries.h"
#include "orchestrator/insight/people.h"

/* Appends them; a node is named where only communicators with it are slow.
 * 0, or -1 without memory. */
int network_findings(const struct jp_result *result,
                     const struct jp_people *people,
                     const struct jp_netserieses *list,
                     struct jp_findings *findings);

#endif
