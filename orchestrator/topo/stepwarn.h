/* stepwarn.h - what is odd about a step's media, each thing once. */
#ifndef JP_TOPO_STEPWARN_H
#define JP_TOPO_STEPWARN_H

#include "orchestrator/topo/steplabels.h"

/* Joins the warnings of all labels, and tells nodes that are unlike the rest.
 * -1 without memory. */
int stepwarn_collect(struct jp_step_labels *labels,
                     const struct jp_result *result);

#endif
