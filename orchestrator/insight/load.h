/* load.h - findings on how a program spreads its messages and its work:
 * no fault of the machine. */
#ifndef JP_INSIGHT_LOAD_H
#define JP_INSIGHT_LOAD_H

#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/late.h"
#include "orchestrator/insight/netcells.h"
#include "orchestrator/insight/processes.h"

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

#endif
