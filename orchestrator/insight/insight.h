/* insight.h - all that is found wrong with a step. */
#ifndef JP_INSIGHT_INSIGHT_H
#define JP_INSIGHT_INSIGHT_H

#include "common/jobconf.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/insight/expectation.h"
#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/late.h"
#include "orchestrator/insight/warmup.h"

struct jp_insight {
    struct jp_findings findings;     /* sorted, worst first */
    struct jp_lateness *lateness;    /* of each of the result's ranks */
    struct jp_warmup warmup;         /* where judged */
    struct jp_netcells network;      /* none where it was not judged */
    struct jp_expected_bw *expected; /* of each of its cells */
    bool judged; /* false: missing data forbids all but hangs */
    uint64_t duration_us;
};

/* conf, nodes, result and expectation may be NULL. NULL only without memory. */
struct jp_insight *insight_run(const struct jp_jobconf *conf,
                               const struct jp_nodes *nodes,
                               const struct jp_result *result,
                               const struct jp_expectation *expectation);
/* Takes NULL. */
void insight_destroy(struct jp_insight *insight);

#endif
