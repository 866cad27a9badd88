/* live_metrics.c - the metrics that only a running step has. */
#include "orchestrator/live/live_metrics.h"

/* In the order of LIVE_METRIC_ALERTS. */
static const struct jp_column of_node[] = {
    METRICS_STEP_LABELS,
    METRICS_ROW("jobprof_alerts_total", METRICS_COUNTER, NULL, METRICS_RUNNING,
                "Messages to the user about hangs of the job; one node "
                "reports them."),
    METRICS_ROW("jobprof_left_out_ranks", METRICS_GAUGE, NULL, METRICS_RUNNING,
                "Ranks of the node without metrics, because there are too "
                "many."),
    METRICS_ROW("jobprof_left_out_series", METRICS_GAUGE, NULL, METRICS_RUNNING,
                "Series that were left out because of metrics.series."),
    METRICS_ROW("jobprof_agent_cpu_seconds_total", METRICS_COUNTER, "seconds",
                METRICS_RUNNING,
                "Processor time of jobprof's own process on the node."),
    METRICS_ROW("jobprof_agent_memory_bytes", METRICS_GAUGE, "bytes",
                METRICS_RUNNING,
                "Largest memory of jobprof's own process on the node so far."),
};
const struct jp_table live_node_metrics = {
    .help = "a node of a running step",
    JP_COLUMNS(of_node),
    .metrics_place = 41,
};

static const struct jp_column of_state[] = {
    METRICS_STEP_LABELS,
    METRICS_LABEL("state"),
    METRICS_ROW("jobprof_ranks", METRICS_GAUGE, NULL, METRICS_RUNNING,
                "Ranks of the node in a state."),
};
const struct jp_table live_state_metrics = {
    .help = "a state of a node's ranks",
    JP_COLUMNS(of_state),
    .metrics_place = 45,
};

/* In the order of LIVE_METRIC_BYTES. */
static const struct jp_column of_rank[] = {
    METRICS_STEP_LABELS,
    METRICS_LABEL("rank"),
    METRICS_ROW("jobprof_operation_bytes_total", METRICS_COUNTER, "bytes",
                METRICS_RUNNING,
                "Data of operations that have ended, estimated from the mean "
                "size of a sample."),
    METRICS_ROW("jobprof_operations_in_flight", METRICS_GAUGE, NULL,
                METRICS_RUNNING, "Operations that have begun and not ended."),
    METRICS_ROW("jobprof_oldest_operation_seconds", METRICS_GAUGE, "seconds",
                METRICS_RUNNING,
                "Time for which the oldest of them has been in flight; 0 if "
                "there is none."),
    METRICS_ROW("jobprof_last_record_seconds", METRICS_GAUGE, "seconds",
                METRICS_RUNNING,
                "Time since the rank's log has grown, if the log has only "
                "ended operations (Inspector): such a log does not show what "
                "is in flight."),
    METRICS_ROW("jobprof_cpu_seconds_total", METRICS_COUNTER, "seconds",
                METRICS_RUNNING, "Processor time of the rank's process."),
    METRICS_ROW("jobprof_gpu_busy_ratio", METRICS_GAUGE, "ratio",
                METRICS_RUNNING,
                "Share of time in which the rank's GPU runs kernels, from its "
                "driver."),
};
const struct jp_table live_rank_metrics = {
    .help = "a rank of a running step",
    JP_COLUMNS(of_rank),
    .metrics_place = 51,
};

/* In the order of METRIC_BUSBW. */
static const struct jp_column of_p2p[] = {
    METRICS_INSPECTOR_LABELS("p2p_operation"),
    METRICS_LABEL("step"),
    METRICS_LABEL("rank"),
    METRICS_ROW("nccl_p2p_bus_bandwidth_gbs", METRICS_UNTYPED, NULL,
                METRICS_RUNNING, "Bus bandwidth in GB/s, geometric mean."),
    METRICS_ROW("nccl_p2p_exec_time_microseconds", METRICS_UNTYPED, NULL,
                METRICS_RUNNING, "Execution time, mean."),
};
const struct jp_table live_p2p_metrics = {
    .help = "a rank's Send or Recv of one size",
    JP_COLUMNS(of_p2p),
    .metrics_place = 61,
};

const struct jp_table *const live_metrics[] = {
    &live_node_metrics, &live_state_metrics, &live_rank_metrics,
    &live_p2p_metrics, NULL};
