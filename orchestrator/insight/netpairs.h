/* netpairs.h - Send and Recv between nodes that take longer than their likes.
 *
 * A message lasts until both sides are there, so the side that comes last tells
 * the network's time: that of the faster side's fastest messages (fast_gbs).
 * Likes are the messages from one rank to another in communicators of one
 * shape, label and size: the same step of each pipeline; where these are few,
 * those between any ranks. A slow one is longer than their median by
 * `net_pairs_min`, and by far more than what they differ by anyway.
 * Slow pairs that share no node are waits of the program, and so they are where
 * somebody comes late: nothing is said of them.
 */
#ifndef JP_INSIGHT_NETPAIRS_H
#define JP_INSIGHT_NETPAIRS_H

#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/people.h"

/* Appends one finding: the node that all slow pairs share, or two nodes.
 * time_us: of all collectives and ranks. 0, or -1 without memory. */
int netpairs_findings(const struct jp_result *result,
                      const struct jp_people *people, double time_us,
                      struct jp_findings *findings);

#endif
