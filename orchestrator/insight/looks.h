/* looks.h - the searches for faults in a step's result: hangs, late ranks,
 * uneven messages and work, slow networks, waits by turns. Sums of waits are in
 * late.h, stalls in stalls.h, crashes in insight.h, lost NVLinks in
 * verdict.h. */
#ifndef JP_INSIGHT_LOOKS_H
#define JP_INSIGHT_LOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/insight/expectation.h"
#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/late.h"
#include "orchestrator/insight/netcells.h"
#include "orchestrator/insight/netseries.h"
#include "orchestrator/identity/processes.h"
#include "orchestrator/judge/judge.h"

/* --- hangs ---------------------------------------------------------------- */

/* Looks for a hang, and appends a finding.
 *
 * The recorder's operations in flight come with the result. NCCL Inspector
 * records ended operations only. By its logs a step hung if its tasks did not
 * end well and no operation ended in the last JP_HANG_US before its nodes
 * finished. The numbers of operations (hang.c) may then show which communicator
 * stopped first.
 *
 * Of a folder of logs without a step the end is unknown. There a communicator
 * hung first if all communicators like it did more operations than it, these
 * agree with each other, and it lacks the operations of one step of the program
 * at most. It did not hang if it did fewer operations in every step.
 *
 * whole: no record is missing; only then a missing record means something.
 * nodes may be NULL. 0, or -1: no memory.
 */
int hang_findings(const struct jp_result *result,
                  const struct jp_processes *processes,
                  const struct jp_nodes *nodes, bool whole,
                  struct jp_findings *findings);

/* --- how the program spreads its messages and its work -------------------- */

/* Appends small_messages if small messages take much of the network's time, and
 * imbalance if a rank receives far more by Send and Recv than the mean of its
 * communicator. 0, or -1: no memory. */
int load_findings(const struct jp_result *result,
                  const struct jp_processes *processes,
                  const struct jp_netcells *cells,
                  struct jp_findings *findings);

/* stages.c: appends an imbalance if a pipeline waits for one of its stages,
 * unless a late rank or node explains that; it replaces an imbalance by which
 * some ranks have more to do. To the finding of a late node that is one stage
 * it adds that.
 *
 * All stages of a pipeline run for the same time. A stage whose ranks
 * communicate less than those of the others therefore computes longer, and the
 * others wait for it. Pipelines are communicators of Send and Recv in which a
 * rank has one or two neighbours, or chains of such communicators of two ranks.
 * A stage is named if it computes longer in all pipelines, by more than
 * `late_cost_min` of the run and by more than `late_errors_min` standard errors
 * among the pipelines, unless its own times contradict; or if its own times
 * alone show that. It may be slow or have more layers; the data cannot show
 * which. The others lose what a replay says that the run is longer by, where it
 * can tell. judge: its replay is made if need be. NULL: own times are unknown.
 * Call it after the search for late ranks. 0, or -1: no memory. */
int stages_findings(const struct jp_result *result,
                    const struct jp_processes *processes, struct judge *judge,
                    const struct jp_lateness *lateness,
                    struct jp_findings *findings);

/* phases.c: sets the phase of the training step in which a rank is late or
 * stalls, in each finding of one phase that stands out. 0, or -1: no memory. */
int phases_findings(const struct jp_result *result,
                    const struct jp_processes *processes,
                    struct jp_findings *findings);

/* turns.c: appends waits_by_turns if the run would be shorter by more than
 * `turns_cost_min` with work that is evenly shared in each step. judge may be
 * NULL. 0, or -1: no memory. */
int turns_findings(const struct jp_result *result,
                   const struct jp_processes *processes,
                   const struct judge *judge, struct jp_findings *findings);

/* --- late ranks and nodes: blame.c ---------------------------------------- */

/* Appends findings of ranks and nodes that sums of waits call late, and of many
 * ranks that have more work, as far as own times do not contradict. Call it
 * after the search for stalls: it removes from `late` the ranks that are late
 * by stalls only. 0, or -1: no memory. */
int blame_findings(const struct jp_result *result,
                   const struct jp_processes *processes,
                   const struct judge *judge, struct jp_lateness *lateness,
                   struct jp_findings *findings);

/* Appends ranks and nodes that are late by their own times
 * (orchestrator/judge/judge.h) and have no finding yet. It appends none if
 * another finding decides the verdict and may be the reason. That ranks wait by
 * turns is no such reason. Nor are other late ranks for a rank that is late all
 * along, nor, with start and end, stalls (explains() in blame.c). Call it last.
 * 0, or -1: no memory. */
int blame_by_own_times(const struct jp_result *result,
                       const struct jp_processes *processes,
                       const struct judge *judge, struct jp_findings *findings);

/* --- own times: owntime.c ------------------------------------------------- */

/* Returns true if own times decide who is late: names may be given
 * (judge_speaks), there is no reason against it (owntime_why_silent), and all
 * operations were recorded. Otherwise sums of waits decide. They are also asked
 * by durations alone, and about processes that share their work with hardly any
 * other (is_contradicted of blame.c). judge may be NULL. */
bool owntime_speaks(const struct jp_result *result, const struct judge *judge,
                    const struct jp_findings *findings);

/* Returns why own times must not name a process although the judge is usable;
 * NULL: they may. That only a part of the run was judged is no reason, as what
 * was found in it holds. */
const char *owntime_why_silent(const struct jp_result *result,
                               const struct judge *judge);

/* Whether a group of processes computes longer than others, by own times. */
enum jp_own_word {
    JP_OWN_UNKNOWN,
    JP_OWN_NOT,   /* by less than half of what sums of waits say */
    JP_OWN_MAYBE, /* by more, but that may be chance, or not worth a search */
    JP_OWN_SO     /* by so much that it needs no sums of waits */
};

/* Compares a group of processes with others by own times. judge may be NULL.
 * side, questions: as in judge_compare. by_us: by how much the group computes
 * longer, according to sums of waits. *group: the same by own times; not set if
 * unknown. */
enum jp_own_word owntime_ask(const struct jp_result *result,
                             const struct jp_processes *processes,
                             const struct judge *judge,
                             const enum judge_side *side, size_t questions,
                             double by_us, struct judge_group *group);

/* Fills what all findings by own time have: who, where, cost. 0, or -1: no
 * memory. */
int owntime_fill(const struct jp_result *result,
                 const struct jp_processes *processes,
                 const struct judge *judge, const struct judge_answer *answer,
                 struct jp_findings *findings, struct jp_finding *finding);

/* --- silence: from the last operation to the end of the tasks ------------- */

/* Logs of ended operations show a hang only in that they stop. A pause of the
 * program looks the same, so the length of the silence is compared with the
 * longest one before. If the nodes' clocks are far apart (clock_apart_min of
 * limits_rows.h), only the operations of one node count: of that whose clock is
 * ahead. */
struct jp_silence {
    bool ended_well; /* all tasks ended without an error, so the step did not
                        hang */
    bool known;      /* the end of the step is known */
    uint64_t us; /* from the last recorded operation to the first known end of
                    a node; 0: unknown */
    uint64_t before_us; /* the longest silence before that; up to 2/4096 of the
                           run too long */
};

/* nodes may be NULL. 0, or -1 without memory. */
int silence_measure(const struct jp_result *result,
                    const struct jp_nodes *nodes, struct jp_silence *silence);

/* --- the network ---------------------------------------------------------- */

/* Looks for a network that became slower at some time, became slower all the
 * time, is slower than expected, or is slower in some communicators than in
 * others like them. Appends a finding for the first of these that explains
 * enough, because a network that is slow from some time on is also slower than
 * the baseline. Names a node if only communicators with that node are slow. 0,
 * or -1: no memory. */
int network_findings(const struct jp_result *result,
                     const struct jp_processes *processes,
                     const struct jp_netserieses *list,
                     const struct jp_expectation *expectation,
                     struct jp_findings *findings);

/* Communicators that are slower than their peers, and cost too little for a
 * finding. comms 0: none. */
struct network_trifle {
    size_t comms;
    double ratio; /* their time / that of their peers */
    double share; /* of the time in communication */
};

/* What network.c and netgroups.c share. */

struct network {
    const struct jp_result *r;
    const struct jp_processes *p;
    const struct jp_netserieses *list;
    const struct jp_expectation
        *expectation; /* NULL: there is no expectation */
    struct jp_findings *findings;
    bool *slow;    /* [communicator] it has a slow series of the kind at hand */
    bool *healthy; /* [communicator] it has series, and none of them is slow */
    size_t *slow_at, *healthy_at; /* [host] communicators */
    size_t *stamp;
    double likes_least; /* a link is found if it is slower than similar links
                           by this share; 0: none was compared */
    struct network_trifle trifle;
    bool waits; /* ranks are late, so Send and Recv cannot be compared */
};

/* Formats which node has all slow communicators, or which two nodes are slow
 * with each other and not with the rest: ", all with node X and no other". ""
 * if the communicators do not show it. */
void netgroups_describe_hosts(struct network *w, struct jp_finding *f,
                              char *buf, size_t size);

/* netgroups.c: compares groups that do an AlltoAll, and pairs of ranks that
 * exchange Send and Recv, with similar ones.
 *
 * - AlltoAll. It waits for its last rank, so the last rank's time is that of
 *   the network. NCCL reports an AlltoAll in one of two ways. If it is a
 *   collective, the median of the operations' shortest times counts. If it is a
 *   Send and a Recv for each pair, the fastest messages of the group's fastest
 *   rank count (p2p_fast_gbs). Similar groups have the same shape, label,
 *   function and size.
 * - Send and Recv. A message waits for both sides, so the side that comes last
 *   shows the network's time. The fastest messages of the faster side count
 *   (fast_gbs). Similar pairs are the same two ranks in communicators of the
 *   same shape, label and size: the same step of each pipeline. If there are
 *   few of these, all pairs of ranks count. A pair is slow if it takes longer
 *   than their median by `net_pairs_min`, and by far more than they differ.
 *   Nothing is reported if the slow pairs share no node, or if ranks are late:
 *   then the program waits, and not the network.
 */

/* Appends one finding at most: slow groups, or else slow pairs, with the node
 * or the two nodes that they share. 0, or -1: no memory. */
int netgroups_findings(struct network *w);

/* Returns true if Send and Recv of a communicator are an AlltoAll: more pairs
 * of ranks exchange messages than in a ring or a pipeline. */
static inline bool netgroups_is_exchange(size_t pairs, size_t n_ranks)
{
    return n_ranks > 2 &&
           (pairs > 2 * n_ranks || pairs == n_ranks * (n_ranks - 1));
}

#endif
