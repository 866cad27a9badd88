/* late.h - which ranks and nodes arrive late by their own doing, by sums of
 * waits.
 *
 * The judge says who is late, by own times; these sums say where he comes late
 * (blame.c). They decide only where own times do not (is_contradicted, ask_node
 * and named_of of blame.c): where the judge is silent (owntime_speaks in
 * looks.h), of processes that it does not judge, by durations alone, of a few
 * processes alike on busy nodes, of a node whose work no other node does, and
 * of a part of the run in which a process is late that own times name all
 * along.
 *
 * Idea. Between two barriers that a process shares with its peers, all of them
 * spend the same time, in computation or in communication. A process that
 * communicates less than its peers, in all its communicators together, has
 * therefore spent more on its own: the difference is its own excess. The node
 * mate of a late rank arrives late in its data-parallel group, too, but it has
 * waited as long in the tensor-parallel group, so its own excess is zero. A
 * rank behind a slow network leaves the network late and has communicated for
 * longer. Neither clocks nor the order of communicators are needed.
 *
 * Measure. The run is cut into JP_SLICES parts. A mean without the lowest and
 * the highest fifth of them leaves out warm-up and single long waits; the
 * scatter of the rest gives the standard error. A rank is late if
 *  - its own excess is over `late_share_min` of its peers' time in
 *    communication,
 *  - and over `late_errors_min` standard errors,
 *  - and over `late_spread_min` times the spread that ranks of communicators of
 *    the same shape have anyway (more if these ranks are few, because few
 *    ranks do not show their spread well),
 *  - and over what it may have waited in a Broadcast, Reduce or AlltoAll, for
 *    which the times of single ranks are not kept.
 *
 * Short runs. Below `late_ops_min` operations in a communicator, errors say
 * little. There the rank must also be the last one so often that the exact
 * binomial test (Clopper and Pearson 1934), times the number of ranks
 * (Bonferroni's inequality: Dunn 1961), leaves a chance below
 * `late_chance_max`.
 *
 * Parts of the run. A rank that is late for a time only is found if its parts
 * fall in two groups (Fisher's cut) that are far from each other. A rank that
 * is late from one part on to the end is also found if Student's t of the parts
 * before and since is unlikely, times the number of cuts. In both cases its
 * late parts must be an outlier among as many parts of each comparable rank,
 * those with the largest excess. For messages without sequence numbers only the
 * sum of a run is known, and it is spread evenly over the parts: a rank that
 * waits less for messages while it is late then seems late before, too, and
 * that part is subtracted. If nobody is late with messages counted in
 * their own parts, all ranks are judged once more with messages spread evenly:
 * then the parts of a node that is late from some time on differ less, so that
 * its error is smaller.
 *
 * Nodes. The ranks of a node are late together if all of them are later than
 * their peers, by far more than they differ among themselves, and if the mean
 * of them is over `late_errors_min` of its own errors and over `late_node_min`
 * times the spread: a late node may be half of the ranks that it is compared
 * with.
 *
 * Excuses. Where waits overlap (gradients that are reduced beside the
 * computation) the sum over communicators counts some of them twice. So a rank
 * is excused if it waits for a late one in a communicator that synchronises
 * more often and is not as late there itself, or if it exchanges Send and Recv
 * with a rank that is far later or waits for such a one. A rank whose lateness
 * ends when a larger lateness of another rank begins is late by little all
 * along.
 */
#ifndef JP_INSIGHT_LATE_H
#define JP_INSIGHT_LATE_H

#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/netseries.h"
#include "orchestrator/identity/processes.h"
#include "orchestrator/judge/judge.h"

/* What decides how small an excess is named. */
enum jp_late_by {
    JP_LATE_BY_WORTH,  /* less is not worth a search */
    JP_LATE_BY_ERROR,  /* the scatter over the parts of the run */
    JP_LATE_BY_SPREAD, /* ranks of a kind differ by that anyway */
    JP_LATE_BY_HIDDEN, /* waits that are not known rank by rank */
    JP_LATE_BY_PROOF,  /* with few operations a rank must come last in many */
    JP_LATE_REASONS
};

/* The lateness of one rank of a communicator. Times are in us over a whole run.
 */
struct jp_lateness {
    bool judged;      /* enough data to say anything */
    bool late;        /* by itself, as above */
    bool with_node;   /* all ranks of its node are late */
    bool with_likes;  /* not late: ranks of its role elsewhere are as late */
    double excess_us; /* the median of its peers' time less its own; with
                         spells, the sum over its late parts */
    double error_us;  /* standard error of excess_us */
    double least_us;  /* an excess up to this is not named */
    double stated_us; /* nor, in a run of few operations, one up to this, which
                         is no smaller */
    enum jp_late_by stated_by; /* ... because of this */
    double node_us; /* nor a node whose ranks' mean is up to this; 0: not
                       judged */
    double run_us;  /* the run's length; 0: unknown */
    /* Late in some parts of the run only: number of stretches, their share of
     * the run, start of the first and end of the last, 0 to 1. spells is 0 for
     * a rank that is late all along. */
    unsigned spells;
    double late_share, from_share, to_share;
    double hidden_us;  /* the most of the excess that may be no lateness:
                          unrecorded waits, or a slower network */
    double arrival_us; /* how much later than its peers it arrived here */
    double ops;        /* ... in so many operations, of which some may lack
                          records; 0: none */
    double told_us;    /* arrival_us for sentences: with spells not the trimmed
                          mean of the parts, which leaves late ones out */
    double ahead_us;   /* ... than the earliest quarter of its communicator */
    double peers_us;   /* their time in communication, by the median of the
                          run's parts */
    double peers_mean_us; /* ... by their mean, without a warm-up: what
                             lateness in some parts is a share of */
    uint64_t fewest;      /* complete operations of that function of its
                             communicator which has fewest; 0: none */
    double grouped_us;    /* its time in AlltoAll; 0: none, or not judged */
    float parts_us[JP_SLICES]; /* arrival_us of each part of the run; NAN:
                                  unknown */
};

/* The time of a rank's peers in communication, of which its lateness is a
 * share. Lateness in some parts of the run is a sum, so its whole is the mean.
 */
static inline double late_peers(const struct jp_lateness *l)
{
    return l->spells && l->peers_mean_us > 0 ? l->peers_mean_us : l->peers_us;
}

/* The smallest excess in us that is worth a user's time, in a run of run_us
 * whose ranks communicate for peers_us: it costs enough of the run, or its rank
 * is clearly slower in computation. */
double late_worth(double run_us, double peers_us);

/* Returns true if the job has a collective in which all ranks wait for each
 * other, complete or not. */
bool late_has_barriers(const struct jp_result *result);

/* Returns why there is no operation by which lateness can be judged. */
const char *late_why_none(const struct jp_result *result);

/* Returns the run's length in us of recorded time (aggregate/pauses.h); 0 if it
 * is unknown. Operations of one communicator follow each other, so the run is at
 * least as long as their sum, which may exceed the span of their time stamps (in
 * simulated records). */
double late_run_us(const struct jp_result *result);

/* Adds each process's time in communication, in us, to spent: collectives, and
 * Send and Recv. An AlltoAll made of Send and Recv counts once, as far as
 * lateness tells. */
void late_spent(const struct jp_result *result,
                const struct jp_processes *processes,
                const struct jp_lateness *lateness, double *spent);

/* Judges every rank of the result. lateness has result->n_ranks elements. 0, or
 * -1 without memory. */
int late_judge(const struct jp_result *result,
               const struct jp_processes *processes,
               const struct jp_netserieses *series,
               struct jp_lateness *lateness);

#endif
