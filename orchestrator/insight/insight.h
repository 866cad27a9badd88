/* insight.h - all findings of a step, and what they are based on. */
#ifndef JP_INSIGHT_INSIGHT_H
#define JP_INSIGHT_INSIGHT_H

#include "common/jobconf.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/insight/crash.h"
#include "orchestrator/insight/expectation.h"
#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/hypothesis.h"
#include "orchestrator/insight/late.h"
#include "orchestrator/insight/stalls.h"
#include "orchestrator/insight/replay.h"
#include "orchestrator/insight/netseries.h"

struct jp_insight {
    struct jp_findings findings;     /* sorted, worst first */
    struct jp_hypotheses hypotheses; /* each question's answer */
    struct jp_crash crash;           /* how the tasks ended; borrows nodes */
    struct jp_processes processes;   /* of the result */
    struct jp_lateness *lateness;    /* by the result's ranks */
    struct jp_stalls stalls;         /* if it was judged */
    struct jp_warmup warmup;         /* if it was judged */
    struct jp_netcells network;      /* empty if it was not judged */
    struct jp_expected_bw *expected; /* by the result's cells */
    struct replay_state replay;      /* all zeros if nothing was replayed */
    bool judged; /* false: too much data is missing for anything but hangs */
    uint64_t duration_us;
};

/* conf, nodes, result and expectation may be NULL. Returns NULL only without
 * memory. */
struct jp_insight *insight_run(const struct jp_jobconf *conf,
                               const struct jp_nodes *nodes,
                               const struct jp_result *result,
                               const struct jp_expectation *expectation);
/* Sets the operation of the task that ended first, also in the finding. */
void insight_set_in(struct jp_insight *insight, const char *operation);
/* Takes NULL. */
void insight_destroy(struct jp_insight *insight);

#endif
