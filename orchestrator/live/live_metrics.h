/* live_metrics.h - the metrics that only a running step has.
 *
 * A metric is a row of a table in live_metrics.c: its name, its help, and a
 * getter of its value. live_module.c adds rows of the structs below
 * (metrics_add_rows). What a running step and its report have in common are
 * rows of orchestrator/metrics/metrics.h. */
#ifndef JP_LIVE_LIVE_METRICS_H
#define JP_LIVE_LIVE_METRICS_H

#include <stdint.h>

#include "orchestrator/live/livesnap.h"
#include "orchestrator/metrics/metrics.h"

/* A node of the step, and the agent on it. */
struct live_node_row {
    const char *job, *step, *node;
    int64_t alerts; /* messages to the user; -1: another node writes them */
    uint64_t left_ranks;
    uint64_t left_series;
    uint64_t agent_cpu_us, agent_memory_bytes;
};
extern const struct jp_table live_node_metrics;

/* The node's ranks in one state. */
struct live_state_row {
    const char *job, *step, *node, *state;
    uint64_t ranks;
};
extern const struct jp_table live_state_metrics;

/* A rank as it is in a snapshot. */
struct live_rank_row {
    const char *job, *step, *node, *name;
    const struct live_rank *rank;
    uint64_t real_ns;  /* of the snapshot */
    int64_t oldest_ns; /* how long its oldest operation has been in flight */
};
extern const struct jp_table live_rank_metrics;

/* METRIC_BUSBW and METRIC_TIME, as metrics_coll. */
extern const struct jp_table live_p2p_metrics;

/* All of them; ends with NULL. */
extern const struct jp_table *const live_metrics[];

#endif
