/* load.h - findings on how a program spreads its messages and its work:
 * no fault of the machine. */
#ifndef JP_INSIGHT_LOAD_H
#define JP_INSIGHT_LOAD_H

#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/late.h"
#include "orchestrator/insight/netcells.h"
#include "orchestrator/insight/processes.h"

/* Appends small_messages, where those below SMALL bytes take much of the
 * network's time, and imbalance, where a rank receives far more by Send and
 * Recv than the mean of its communicator. 0, or -1 without memory. */
int load_findings(const struct jp_result *result,
                  const struct jp_processes *processes,
                  const struct jp_netcells *cells,
                  struct jp_findings *findings);

/* A pipeline that waits for one of its stages.
 *
 * All stages of a pipeline run for the same time. A stage whose ranks
 * communicate less than those of the others therefore computes longer, and the
 * others wait for it. Pipelines are communicators of Send and Recv with one or
 * two neighbours a rank. A stage is named if it has as much more to do in all
 * of them: more than `late_cost` of the run, by `late_errors` of what pipelines
 * differ by. Whether it is slow or has more layers is not known.
 *
 * Appends an imbalance, in place of one that says that some ranks have more to
 * do, unless a late rank or node explains it. 0, or -1 without memory. */
int stages_findings(const struct jp_result *result,
                    const struct jp_processes *processes,
                    const struct jp_lateness *lateness,
                    struct jp_findings *findings);

#endif
