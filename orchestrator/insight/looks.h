/* looks.h - what is looked for in a step's result: hangs, spread of messages
 * and work, slow networks. Late ranks are in late.h, stalls in stalls.h, GPUs
 * in verdict.h. */
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
 * records ended operations only. With its logs, a step whose tasks did not end
 * well is a hang if nothing had ended for JP_HANG_US before its nodes' finish.
 * Counts of operations (hang.c) then show which communicator stopped first, if
 * they can. The end of a folder of logs is unknown. There, a communicator was
 * the first to hang if it stopped before all its likes, if these agree with
 * each other, and if the difference is at most one step's operations; but not
 * if it did fewer operations in every step.
 *
 * whole: no record is missing; only then a missing record means something.
 * nodes may be NULL. 0, or -1: no memory.
 */
int hang_findings(const struct jp_result *result,
                  const struct jp_processes *processes,
                  const struct jp_nodes *nodes, bool whole,
                  struct jp_findings *findings);

/* --- how the program spreads its messages and its work ------------------- */

/* Appends small_messages if messages below SMALL bytes take much of the
 * network's time, imbalance if a rank receives far more by Send and Recv than
 * its communicator's mean, and what stages_findings appends.
 *
 * Call it after late ranks were looked for. 0, or -1: no memory.
 */
int load_findings(const struct jp_result *result,
                  const struct jp_processes *processes,
                  const struct judge *judge, const struct jp_lateness *lateness,
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
 * which. judge: NULL: own times are unknown.
 */
int stages_findings(const struct jp_result *result,
                    const struct jp_processes *processes,
                    const struct judge *judge,
                    const struct jp_lateness *lateness,
                    struct jp_findings *findings);

/* phases.c: sets the phase of each finding of a late rank, or of one that
 * stops, where one phase stands out. 0, or -1: no memory. */
int phases_findings(const struct jp_result *result,
                    const struct jp_processes *processes,
                    struct jp_findings *findings);

/* turns.c: appends waits_by_turns if the run would be shorter by more than
 * `turns_cost_min` with work that is evenly shared in each step. judge may be
 * NULL. 0, or -1: no memory. */
int turns_findings(const struct jp_result *result,
                   const struct jp_processes *processes,
                   const struct judge *judge, struct jp_findings *findings);

/* --- own times ------------------------------------------------------------ */

/* Returns true if own times say who is late: the judge speaks (judge_speaks),
 * nothing keeps it silent (owntime_why_silent), and all operations were
 * recorded. Sums of waits are asked where it does not, by durations alone, and
 * of processes that hardly anybody shares the work of (is_contradicted of
 * blame.c). judge may be NULL. */
bool owntime_speaks(const struct jp_result *result, const struct judge *judge,
                    const struct jp_findings *findings);

/* Returns what names a process late, all along or in a part of the run, or a
 * host. NULL: it is not named. */
const struct judge_answer *owntime_late(const struct judge *judge,
                                        size_t process);
const struct judge_answer *owntime_node(const struct judge *judge, size_t host);

/* Appends the finding of such an answer. 0, or -1: no memory. */
int owntime_add(const struct jp_result *result,
                const struct jp_processes *processes, const struct judge *judge,
                const struct judge_answer *answer,
                struct jp_findings *findings);

/* owntime.c: appends late ranks and nodes by their own times
 * (orchestrator/judge/judge.h) that are not named yet, if nothing was found
 * that decides the verdict, other than late ranks and stalls; so call it last.
 * 0, or -1: no memory. */
int owntime_findings(const struct jp_result *result,
                     const struct jp_processes *processes,
                     const struct judge *judge, struct jp_findings *findings);

/* Returns why nobody may be named by a usable judge; NULL: he may. A part of
 * the run is no reason: what was found in it holds. */
const char *owntime_why_silent(const struct jp_result *result,
                               const struct judge *judge);

/* What own times say of a group of processes. */
enum jp_own_word {
    JP_OWN_UNKNOWN,
    JP_OWN_NOT,   /* they are not longer by half of what sums of waits say */
    JP_OWN_MAYBE, /* they are, but it may be chance, or not worth a search */
    JP_OWN_SO     /* they are, whatever sums of waits say */
};

/* Asks own times whether a group of processes computes longer than others.
 * judge may be NULL. side, questions: judge_compare. by_us: how much longer, as
 * sums of waits have it. *group: what own times have, unless unknown. */
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

/* --- silence: from the last operation to the end of the tasks ------------ */

/* Logs of ended operations show a hang only because they stop. The length of
 * the silence distinguishes it from a pause of the program: it is compared
 * with the longest silence before. If the nodes' clocks are far apart
 * (limits.h), all times are those of the clock that is ahead, and only
 * operations of its node count. */
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

/* --- the network --------------------------------------------------------- */

/* Looks for a network that became slower at some time, became slower all the
 * time, is slower than expected, or is slower in some communicators than in
 * their likes. Only the first of these that explains enough becomes a finding,
 * because a network that is slow from some time on is also slow against the
 * baseline.
 *
 * Appends the findings. Names a node if only communicators with that node are
 * slow. 0, or -1: no memory.
 */
int network_findings(const struct jp_result *result,
                     const struct jp_processes *processes,
                     const struct jp_netserieses *list,
                     const struct jp_expectation *expectation,
                     struct jp_findings *findings);

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
    double likes_least; /* how much slower than similar links a link must be to
                           be found; 0: none was compared */
    bool waits; /* ranks are late, so Send and Recv cannot be compared */
};

/* Names the node, or the two nodes that are slow together and not with others,
 * if the communicators show it: ", all with node X and no other", or "". */
void netgroups_describe_hosts(struct network *w, struct jp_finding *f,
                              char *buf, size_t size);

/* netgroups.c: groups with an AlltoAll, and nodes with Send and Recv, that take
 * longer than those of their likes.
 *
 * An AlltoAll waits for its last rank, so the network's time is that of the
 * rank that comes last. NCCL reports an AlltoAll in one of two ways. As a
 * collective: then the median of the operations' shortest times counts. As a
 * Send and a Recv for every pair: then the fastest messages of the group's
 * fastest rank count (p2p_fast_gbs). Similar groups have the same shape, label,
 * function and size.
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

/* Appends one finding at most: on slow groups, else on slow pairs, with the
 * node or the two nodes that they share. 0, or -1: no memory. */
int netgroups_findings(struct network *w);

/* Returns true if so many pairs of ranks exchange Send and Recv in a
 * communicator that it is an AlltoAll, and neither a ring nor a pipeline. */
static inline bool netgroups_is_exchange(size_t pairs, size_t n_ranks)
{
    return n_ranks > 2 &&
           (pairs > 2 * n_ranks || pairs == n_ranks * (n_ranks - 1));
}

#endif
