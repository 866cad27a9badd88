/* netgroups.h - groups whose AlltoAll takes longer than that of their likes.
 *
 * An AlltoAll waits for its last rank, so the network's time is that of whoever
 * comes last. NCCL tells of it in one of two ways: as a collective, of which
 * the median of the operations' shortest times is taken; or as a Send and a
 * Recv of every pair, of which the fastest messages of the group's fastest rank
 * are (p2p_fast_gbs). Likes are groups of one shape, label, function and size.
 */
#ifndef JP_INSIGHT_NETGROUPS_H
#define JP_INSIGHT_NETGROUPS_H

#include "orchestrator/insight/network_parts.h"

/* Of the time in communication, for slow groups and links: what differs so
 * clearly from its likes all along is a fault, however little it is used. */
#define NETGROUPS_MIN_SHARE 5e-5

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

#endif
