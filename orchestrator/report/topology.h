/* topology.h - the nodes' shapes, and what is odd about a step's media.
 *
 * labels may be NULL: the step has no records of its nodes; nothing is written
 * then.
 */
#ifndef JP_REPORT_TOPOLOGY_H
#define JP_REPORT_TOPOLOGY_H

#include <stdio.h>

#include "orchestrator/aggregate/aggregate.h"
#include "common/json_stream.h"
#include "orchestrator/topo/steplabels.h"

/* A section of summary.txt. -1 without memory. */
int topology_text(const struct jp_step_labels *labels, FILE *out);

/* One finding of kind "topology" a warning into the open array. */
void topology_findings(struct jp_json_stream *s,
                       const struct jp_step_labels *labels,
                       const struct jp_result *result);

#endif
