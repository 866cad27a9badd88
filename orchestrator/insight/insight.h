/* insight.h - all that is found wrong with a step. */
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
    struct jp_lateness *lateness;    /* of each of the result's ranks */
    struct jp_stalls stalls;         /* where judged */
    struct jp_warmup warmup;         /* where judged */
    struct jp_netcells network;      /* none where it was not judged */
    struct jp_expected_bw *expected; /* of each of its cells */
    struct replay_state replay;      /* all zeros where nothing was replayed */
    bool judged; /* false: missing data forbids all but hangs */
    uint64_t duration_us;
};

/* conf, nodes, result and expectation may be NULL. NULL only without memory. */
struct jp_insight *insight_run(const struct jp_jobconf *conf,
                               const struct jp_nodes *nodes,
                               const struct jp_result *result,
                               const struct jp_expectation *expectation);
/* What the task that ended first was in, for the finding, too. */
void insight_set_in(struct jp_insight *insight, const char *operation);
/* Takes NULL. */
void insight_destroy(struct jp_insight *insight);

#endif
