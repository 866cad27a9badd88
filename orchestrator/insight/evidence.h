/* evidence.h - what a verdict is drawn from: borrowed pointers, any NULL. */
#ifndef JP_INSIGHT_EVIDENCE_H
#define JP_INSIGHT_EVIDENCE_H

#include <stdbool.h>

#include "common/jobconf.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/insight/expected.h"

struct jp_evidence {
    const struct jp_jobconf *conf;
    const struct jp_nodes *nodes;
    const struct jp_result *result;
    bool analysed; /* false: a budget ran out before the figures */
    struct jp_expected expected; /* of result */
};

#endif
