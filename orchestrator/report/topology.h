/* topology.h - the nodes' shapes, and what is odd about a step's media.
 *
 * labels may be NULL: the step has no records of its nodes; nothing is written
 * then.
 */
#ifndef JP_REPORT_TOPOLOGY_H
#define JP_REPORT_TOPOLOGY_H

#include <stdio.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/report/json_out.h"
#include "orchestrator/topo/steplabels.h"

/* A section of summary.txt. -1 without memory. */
int topology_text(const struct jp_step_labels *labels, FILE *out);

/* One finding of kind "topology" a warning into the array. */
void topology_findings(struct jp_json *json, json_t *findings,
                       const struct jp_step_labels *labels,
                       const struct jp_result *result);

/* What to do about a warning: one sentence. */
const char *topology_advice(enum jp_warning_kind kind);

#endif
