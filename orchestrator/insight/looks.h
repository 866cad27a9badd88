/* looks.h - what is looked for in a step's result: hangs, messages and stages,
 * the network. Late ranks have late.h, stalls stalls.h, GPUs gputime.h.
 */
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
#include "orchestrator/insight/processes.h"

/* --- hangs ---------------------------------------------------------------- */

/* The recorder's operations in flight come with the result. NCCL Inspector
 * records ended operations only. With its logs, a step whose tasks did not end
 * well is a hang if nothing had ended for JP_HANG_US before its nodes' finish.
 * Counts of operations (hang.c) then show which communicator stopped first, if
 * they can. The end of a folder of logs is unknown. There, a communicator was
 * first to hang if it stopped before all its likes, if these agree with each
 * other, and if the difference is at most one step's operations; unless it did
 * fewer operations in every step.
 *
 * whole: no record is missing; only then a missing record means something.
 * nodes may be NULL. 0, or -1: no memory. */
int hang_findings(const struct jp_result *result,
                  const struct jp_processes *processes,
                  const struct jp_nodes *nodes, bool whole,
                  struct jp_findings *findings);

/* --- how the program spreads its messages and its work ------------------- */

/* Appends small_messages if messages below SMALL bytes take much of the
 * network's time, and imbalance if a rank receives far more by Send and Recv
 * than its communicator's mean. 0, or -1: no memory. */
int load_findings(const struct jp_result *result,
                  const struct jp_processes *processes,
                  const struct jp_netcells *cells,
                  struct jp_findings *findings);

/* A pipeline that waits for one of its stages.
 *
 * All stages of a pipeline run for the same time. A stage whose ranks
 * communicate less than those of the others therefore computes longer, and the
 * others wait for it. Pipelines are communicators of Send and Recv in which a
 * rank has one or two neighbours. A stage is named if it computes longer in
 * all pipelines, by more than `late_cost` of the run and by more than
 * `late_errors` standard errors among the pipelines. It may be slow or have
 * more layers; the data cannot show which.
 *
 * Appends an imbalance, unless a late rank or node explains it. It replaces an
 * imbalance that says that some ranks have more to do. 0, or -1: no memory.
 */
int stages_findings(const struct jp_result *result,
                    const struct jp_processes *processes,
                    const struct jp_lateness *lateness,
                    struct jp_findings *findings);

/* --- silence: from the last operation to the end of the tasks ------------ */

/* Logs of ended operations show a hang only because they stop. The length of
 * the silence distinguishes it from a pause of the program: it is compared
 * with the longest silence before. If the nodes' clocks are far apart
 * (limits.h), all times are those of the clock that is ahead, and only
 * operations of its node count. */
struct jp_silence {
    bool ended_well; /* all tasks ended without an error, so the step did not
                        hang */
    bool known;      /* the end of every node is known */
    uint64_t us; /* from the last recorded operation to the first node's end; 0:
                    unknown */
    uint64_t before_us; /* the longest silence before that; up to 2/4096 of the
                           run too long */
};

/* nodes may be NULL. 0, or -1 without memory. */
int silence_measure(const struct jp_result *result,
                    const struct jp_nodes *nodes, struct jp_silence *silence);

/* --- the network --------------------------------------------------------- */

/* Slower from some time on, slower and slower, slower than expected, or in some
 * communicators than in their likes. Only the first of these that explains
 * enough becomes a finding, because a network that is slow from some time on is
 * also slow against the baseline.
 *
 * Appends the findings. Names a node if only communicators with that node are
 * slow. 0, or -1: no memory. */
int network_findings(const struct jp_result *result,
                     const struct jp_processes *processes,
                     const struct jp_netserieses *list,
                     const struct jp_expectation *expectation,
                     struct jp_findings *findings);

#endif
