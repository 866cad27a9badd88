/* network_parts.h - what the files network*.c share. */
#ifndef JP_INSIGHT_NETWORK_PARTS_H
#define JP_INSIGHT_NETWORK_PARTS_H

#include "orchestrator/insight/looks.h"

struct network {
    const struct jp_result *r;
    const struct jp_processes *p;
    const struct jp_netserieses *list;
    const struct jp_expectation
        *expectation; /* NULL: there is no expectation */
    struct jp_findings *findings;
    bool *slow;    /* [communicator] with a slow series of the kind at hand */
    bool *healthy; /* [communicator] it has series, and none of them is slow */
    size_t *slow_at, *healthy_at; /* [host] communicators */
    size_t *stamp;
    double likes_least; /* how much slower than similar links a link must be to
                           be found; 0: none was compared */
    bool waits; /* ranks are late, so Send and Recv cannot be compared */
};

/* Names the node, or the two nodes that are slow together and not with others,
 * if the communicators show it: ", all with node X and no other", or "". */
void network_say_hosts(struct network *w, struct jp_finding *f, char *buf,
                       size_t size);

/* Compares communicators by ranks, domains, nodes and what they run over
 * (NCCL's type, the label). 0: their figures can be compared. */
int network_shape_order(const struct jp_comm *x, const struct jp_comm *y);

/* netgroups.c: groups whose AlltoAll, and nodes whose Send and Recv, take
 * longer than that of their likes.
 *
 * An AlltoAll waits for its last rank, so the network's time is that of the
 * rank that comes last. NCCL reports an AlltoAll in one of two ways. As a
 * collective: then the median of the operations' shortest times counts. As a
 * Send and a Recv for every pair: then the fastest messages of the group's
 * fastest rank count (p2p_fast_gbs). Similar groups have the same shape,
 * label, function and size.
 *
 * Send and Recv: a message waits for both sides, so the side that comes last
 * shows the network's time: the faster side's fastest messages (fast_gbs).
 * Similar pairs are the same two ranks in communicators of the same shape,
 * label and size (the same step of each pipeline); if there are few of these,
 * any two ranks. A pair is slow if it takes longer than their median by
 * `net_pairs_min` and by far more than they differ. If slow pairs share no
 * node, or if ranks are late, the program waits and not the network, and
 * nothing is reported.
 */

/* Appends one finding, with the node that all slow groups share, if there is
 * one. Returns the number of slow groups, or -1: no memory. */
int netgroups_findings(struct network *w);

/* Whether so many pairs of ranks exchange Send and Recv in a communicator that
 * it is an AlltoAll and neither a ring nor a pipeline. */
static inline bool netgroups_is_exchange(size_t pairs, size_t n_ranks)
{
    return n_ranks > 2 &&
           (pairs > 2 * n_ranks || pairs == n_ranks * (n_ranks - 1));
}

/* Appends one finding: the node that all slow pairs share, or two nodes. 0, or
 * -1: no memory. */
int netpairs_findings(struct network *w);

#endif
