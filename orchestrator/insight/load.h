/* load.h - findings on how a program spreads its messages: no fault of the
 * machine. */
#ifndef JP_INSIGHT_LOAD_H
#define JP_INSIGHT_LOAD_H

#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/netcells.h"
#include "orchestrator/insight/processes.h"

/* Appends small_messages, where those below SMALL bytes take much of the
 * network's time, and imbalance, where a rank receives far more by Send and
 * Recv than the mean of its communicator. 0, or -1 without memory. */
int load_findings(const struct jp_result *result,
                  const struct jp_processes *processes,
                  const struct jp_netcells *cells,
                  struct jp_findings *findings);

#endif
