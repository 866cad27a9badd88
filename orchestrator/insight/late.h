/* late.h - who arrives late by his own doing.
 *
 * Between two barriers that a process shares with its peers, all spend the same
 * time, computing or communicating. So who communicates less than his peers -
 * in all his communicators together - has spent more on his own: that much is
 * his own excess. A node mate of a late rank arrives late in its
 * data-parallel groups, too; but it has waited as long in the tensor-parallel
 * one, and its own excess is nought. A rank of a slow network leaves it late
 * and has communicated for longer. No clock is needed, and no order of
 * communicators.
 *
 * The run is cut into JP_SLICES parts; a mean without the lowest and
 * highest fifth of them leaves warm-up and single long waits out, and their
 * scatter gives its error. A rank is late where
 *  - its own excess is over `late_share` of its peers' time in communication,
 *  - over `late_errors` of its errors,
 *  - over `late_spread` times the spread that ranks of communicators of the
 *    shape have anyway (more where these are few: the spread itself is doubtful
 *    then),
 *  - over what it may have waited in a Broadcast, Reduce or AlltoAll, of which
 *    the times of single ranks are not kept, and
 *  - it is part of how much later it arrives there (`late_own`).
 * Where a communicator has fewer than `late_ops` operations, errors say little:
 * there the rank must also be the last one so often that the exact binomial
 * test (Clopper and Pearson 1934), times the number of ranks (Bonferroni's
 * inequality: Dunn 1961), leaves a chance of `late_chance`. A rank that is late
 * in some parts of the run only is found where its parts fall in two (Fisher's
 * cut), far from each other, and the later ones are outliers among as many of
 * the latest parts of each of its likes.
 * The ranks of a node are late together where all of them are later than their
 * peers, by far more than they differ among themselves, and by `late_node`
 * times that spread: a late node may be half of those it is compared with.
 * Where a late node makes its mates early (groups of three) the spread is that
 * of the groups without it. In short runs the exact test is asked here, too.
 * Where waits overlap (gradients reduced beside the computation) the sum over
 * communicators counts some of them twice; so who is late in a communicator,
 * and in one that synchronises more often waits for somebody late, is excused;
 * so is who exchanges Send and Recv with somebody far later.
 */
#ifndef JP_INSIGHT_LATE_H
#define JP_INSIGHT_LATE_H

#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/netseries.h"
#include "orchestrator/insight/processes.h"

/* Of one rank of a communicator; us over a whole run. */
struct jp_lateness {
    bool judged;      /* enough data to say anything */
    bool late;        /* by its own doing, as above */
    bool likely;      /* or so it seems: it is proved to come last, but its
                         excess is not known well enough */
    bool with_node;   /* all ranks of its node are */
    bool with_likes;  /* not late: its likes elsewhere have as much to do */
    double excess_us; /* its own, against the median of its peers */
    double error_us;
    double least_us; /* an excess no larger is not named */
    double node_us;  /* nor is the mean of its node's ranks; 0: not judged */
    double run_us;   /* the run's length; 0: not known */
    /* late in some parts of the run only: how many stretches, their share of
     * the run, begin of the first and end of the last. spells 0: all along */
    unsigned spells;
    double late_share, from_share, to_share;
    double hidden_us;  /* what it may have waited, unseen, more than they */
    double arrival_us; /* how much later than them it arrived here */
    double ahead_us;   /* ... than the earliest quarter of its communicator */
    double peers_us;   /* their time in communication */
    uint64_t fewest; /* complete operations of the function of its communicator
                        that has fewest, of those that count; 0: none */
    double grouped_us; /* its time in AlltoAll; 0: none, or not judged */
    float parts_us[JP_SLICES]; /* arrival_us, of each part of the run; NAN:
                                  not known */
};

/* Judges every rank of the result. lateness: result->n_ranks of them. 0, or -1
 * without memory. */
int late_judge(const struct jp_result *result,
               const struct jp_processes *processes,
               const struct jp_netserieses *series,
               struct jp_lateness *lateness);

/* Appends late ranks and late nodes, and says how small a lateness would have
 * been seen. 0, or -1 without memory. */
int late_findings(const struct jp_result *result,
                  const struct jp_processes *processes,
                  const struct jp_lateness *lateness,
                  struct jp_findings *findings);

#endif
