/* topo_verdict.h - what the nodes' topologies add to the verdict. */
#ifndef JP_INSIGHT_TOPO_VERDICT_H
#define JP_INSIGHT_TOPO_VERDICT_H

#include "orchestrator/insight/verdict.h"
#include "orchestrator/topo/steplabels.h"

/* A fault that a record proves makes an OK step DEGRADED: a GPU with fewer
 * NVLinks than its likes, and the nearest HCA's port down where the step's
 * nodes are unlike one another (where all are alike the site may have left the
 * port unplugged). Everything else is a finding only. labels may be NULL:
 * nothing changes. */
void topo_verdict_add(const struct jp_step_labels *labels,
                      struct jp_verdict *verdict);

#endif
