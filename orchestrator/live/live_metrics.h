/* live_metrics.h - the metrics that only a running step has. live_module.c sets
 * their values, and those of orchestrator/metrics/metrics.h. */
#ifndef JP_LIVE_LIVE_METRICS_H
#define JP_LIVE_LIVE_METRICS_H

#include "orchestrator/metrics/metrics.h"

extern const struct jp_table live_node_metrics;
enum {
    LIVE_METRIC_ALERTS,
    LIVE_METRIC_LEFT_RANKS,
    LIVE_METRIC_LEFT_SERIES,
    LIVE_METRIC_AGENT_CPU,
    LIVE_METRIC_AGENT_MEMORY
};
extern const struct jp_table live_state_metrics;
extern const struct jp_table live_rank_metrics;
enum {
    LIVE_METRIC_BYTES,
    LIVE_METRIC_IN_FLIGHT,
    LIVE_METRIC_OLDEST,
    LIVE_METRIC_LAST_RECORD,
    LIVE_METRIC_CPU,
    LIVE_METRIC_GPU_BUSY
};
/* METRIC_BUSBW and METRIC_TIME, as metrics_coll */
extern const struct jp_table live_p2p_metrics;

/* All of them; ends with NULL. */
extern const struct jp_table *const live_metrics[];

#endif
