/* netgroups.h - groups whose AlltoAll, and nodes whose Send and Recv, take
 * longer than that of their likes.
 *
 * An AlltoAll waits for its last rank, so the network's time is that of whoever
 * comes last. NCCL tells of it in one of two ways: as a collective, of which
 * the median of the operations' shortest times is taken; or as a Send and a
 * Recv of every pair, of which the fastest messages of the group's fastest rank
 * are (p2p_fast_gbs). Likes are groups of one shape, label, function and size.
 *
 * Send and Recv: A message lasts until both sides are there, so the side that
 * comes last tells the network's time: that of the faster side's fastest
 * messages (fast_gbs). Likes are the messages from one rank to another in
 * communicators of one shape, label and size: the same step of each pipeline;
 * where these are few, those between any ranks. A slow one is longer than their
 * median by `net_pairs_min`, and by far more than what they differ by anyway.
 * Slow pairs that share no node are waits of the program, and so they are where
 * somebody comes late: nothing is said of them.
 */
#ifndef JP_INSIGHT_NETGROUPS_H
#define JP_INSIGHT_NETGROUPS_H

#include "orchestrator/insight/network_parts.h"

/* Appends one finding, with the node that all slow groups share, if one does.
 * How many, or -1 without memory. */
int netgroups_findings(struct network *w);

/* So many pairs of ranks exchange Send and Recv in a communicator as no ring
 * and no pipeline has: an AlltoAll. */
static inline bool netgroups_is_exchange(size_t pairs, size_t n_ranks)
{
    return n_ranks > 2 &&
           (pairs > 2 * n_ranks || pairs == n_ranks * (n_ranks - 1));
}

/* Appends one finding: the node that all slow pairs share, or two nodes. 0, or
 * -1 without memory. */
int netpairs_findings(struct network *w);

#endif
