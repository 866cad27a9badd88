/* live_metrics.c - the metrics that only a running step has. */
#include "orchestrator/live/live_metrics.h"

#include <math.h>

#define LABEL(word, row, member)                                               \
    {                                                                          \
        .label = (word), JP_FIELD(struct row, member)                          \
    }
#define STEP_LABELS(row)                                                       \
    LABEL("jobid", row, job), LABEL("step", row, step), LABEL("node", row, node)
#define METRIC(getter, name, type, unit, help)                                 \
    {                                                                          \
        METRICS_OF(name, type, unit, METRICS_RUNNING, help), .get = (getter)   \
    }

/* --- nodes ---------------------------------------------------------------- */

JP_GETTER(alerts, live_node_row, value_signed(v, at->alerts))
JP_GETTER(left_ranks, live_node_row, value_count(v, at->left_ranks))
JP_GETTER(left_series, live_node_row, value_count(v, at->left_series))
JP_GETTER(agent_cpu, live_node_row,
          value_real(v, (double) at->agent_cpu_us / 1e6))
JP_GETTER(agent_memory, live_node_row, value_count(v, at->agent_memory_bytes))

static const struct jp_column of_node[] = {
    STEP_LABELS(live_node_row),
    METRIC(get_alerts, "jobprof_alerts_total", METRICS_COUNTER, NULL,
           "Messages to the user about hangs of the job; one node reports "
           "them."),
    METRIC(get_left_ranks, "jobprof_left_out_ranks", METRICS_GAUGE, NULL,
           "Ranks of the node without metrics, because there are too many."),
    METRIC(get_left_series, "jobprof_left_out_series", METRICS_GAUGE, NULL,
           "Series that were left out because of metrics.series."),
    METRIC(get_agent_cpu, "jobprof_agent_cpu_seconds_total", METRICS_COUNTER,
           "seconds", "Processor time of jobprof's own process on the node."),
    METRIC(get_agent_memory, "jobprof_agent_memory_bytes", METRICS_GAUGE,
           "bytes",
           "Largest memory of jobprof's own process on the node so far."),
};
const struct jp_table live_node_metrics = {
    .help = "a node of a running step",
    JP_COLUMNS(of_node),
    .row_size = sizeof(struct live_node_row),
    .metrics_place = 41,
};

JP_GETTER(ranks, live_state_row, value_count(v, at->ranks))

static const struct jp_column of_state[] = {
    STEP_LABELS(live_state_row),
    LABEL("state", live_state_row, state),
    METRIC(get_ranks, "jobprof_ranks", METRICS_GAUGE, NULL,
           "Ranks of the node in a state."),
};
const struct jp_table live_state_metrics = {
    .help = "a state of a node's ranks",
    JP_COLUMNS(of_state),
    .row_size = sizeof(struct live_state_row),
    .metrics_place = 45,
};

/* --- ranks ---------------------------------------------------------------- */

JP_GETTER(bytes, live_rank_row, value_count(v, at->rank->bytes))
/* A log of ended operations does not show what is in flight. */
JP_GETTER(in_flight, live_rank_row,
          value_known(v, !at->rank->logs, at->rank->in_flight))
JP_GETTER(oldest, live_rank_row,
          value_finite(v, at->rank->logs ? NAN : (double) at->oldest_ns / 1e9))
JP_GETTER(last_record, live_rank_row, {
    uint64_t then = (uint64_t) at->rank->counted_ns;

    value_finite(v, at->rank->logs && at->real_ns >= then
                        ? (double) (at->real_ns - then) / 1e9
                        : NAN);
})
JP_GETTER(cpu, live_rank_row, value_real(v, (double) at->rank->cpu_ms / 1e3))
JP_GETTER(gpu_busy, live_rank_row,
          value_finite(v, at->rank->gpu_permille >= 0
                              ? at->rank->gpu_permille / 1e3
                              : NAN))

static const struct jp_column of_rank[] = {
    STEP_LABELS(live_rank_row),
    LABEL("rank", live_rank_row, name),
    METRIC(get_bytes, "jobprof_operation_bytes_total", METRICS_COUNTER, "bytes",
           "Data of operations that have ended, estimated from the mean size "
           "of a sample."),
    METRIC(get_in_flight, "jobprof_operations_in_flight", METRICS_GAUGE, NULL,
           "Operations that have begun and not ended."),
    METRIC(get_oldest, "jobprof_oldest_operation_seconds", METRICS_GAUGE,
           "seconds",
           "Time for which the oldest of them has been in flight; 0 if there "
           "is none."),
    METRIC(get_last_record, "jobprof_last_record_seconds", METRICS_GAUGE,
           "seconds",
           "Time since the rank's log has grown, if the log has only ended "
           "operations (Inspector): such a log does not show what is in "
           "flight."),
    METRIC(get_cpu, "jobprof_cpu_seconds_total", METRICS_COUNTER, "seconds",
           "Processor time of the rank's process."),
    METRIC(get_gpu_busy, "jobprof_gpu_busy_ratio", METRICS_GAUGE, "ratio",
           "Share of time in which the rank's GPU runs kernels, from its "
           "driver."),
};
const struct jp_table live_rank_metrics = {
    .help = "a rank of a running step",
    JP_COLUMNS(of_rank),
    .row_size = sizeof(struct live_rank_row),
    .metrics_place = 51,
};

/* The twin of metrics_coll: of the same rows. */
#define COLUMN(place, of_coll, of_p2p, help)                                   \
    METRICS_ROW(of_p2p, METRICS_UNTYPED, NULL, METRICS_RUNNING, help),

static const struct jp_column of_p2p[] = {
    METRICS_INSPECTOR_LABELS("p2p_operation"), METRICS_LABEL("step"),
    METRICS_LABEL("rank"), METRICS_OF_SIZE(COLUMN)};
const struct jp_table live_p2p_metrics = {
    .help = "a rank's Send or Recv of one size",
    JP_COLUMNS(of_p2p),
    .metrics_place = 61,
};

const struct jp_table *const live_metrics[] = {
    &live_node_metrics, &live_state_metrics, &live_rank_metrics,
    &live_p2p_metrics, NULL};
