/* network_parts.h - what the files network*.c share. */
#ifndef JP_INSIGHT_NETWORK_PARTS_H
#define JP_INSIGHT_NETWORK_PARTS_H

#include "orchestrator/insight/network.h"

struct network {
    const struct jp_result *r;
    const struct jp_processes *p;
    const struct jp_netserieses *list;
    const struct jp_expectation *expectation; /* NULL: nothing is expected */
    struct jp_findings *findings;
    bool *slow;    /* [communicator] with a slow series of the kind at hand */
    bool *healthy; /* with series, none of them slow */
    size_t *slow_at, *healthy_at; /* [host] communicators */
    size_t *stamp;
    double likes_least; /* how much slower than its likes a link must be to be
                           seen, of any kind that was compared; 0: none was */
    bool waits;         /* late ranks forbid to compare Send and Recv */
};

/* Which node it is, if the communicators tell, or between which two: these are
 * slow together, and well with others. ", all with node X and no other" or "".
 */
void network_say_hosts(struct network *w, struct jp_finding *f, char *buf,
                       size_t size);

/* Order of communicators by what makes them alike: ranks, domains, nodes, and
 * what they run over (NCCL's type, the label). 0: they can be compared. */
int network_shape_order(const struct jp_comm *x, const struct jp_comm *y);

/* netgroups.c: groups whose AlltoAll, and nodes whose Send and Recv, take
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
