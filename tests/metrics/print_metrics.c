/* print_metrics.c - print the metrics of a simulated site at one moment.
 *
 *     print_metrics text|openmetrics SECONDS [AT]
 *
 * Job 42 of alice runs on n1 and n2 with four ranks. Rank 2 (on n2) makes the
 * others wait for a quarter of its time. SECONDS: time since the job began. AT:
 * the time of the samples. All metrics have a value. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/history/history_sum.h"
#include "orchestrator/live/live_metrics.h"
#include "orchestrator/metrics/metrics.h"

#define STEP(name)                                                             \
    {"jobid", "42"}, {"step", "0"},                                            \
    {                                                                          \
        "node", name                                                           \
    }
#define INSPECTOR(name)                                                        \
    {"version", "jobprof"}, {"slurm_job_id", "42"}, {"node", name},            \
        {"gpu", "GPU-1"},                                                      \
    {                                                                          \
        "step", "0"                                                            \
    }

static void add_rank(struct metrics_set *set, unsigned i, double t)
{
    const char *node = i < 2 ? "n1" : "n2";
    char rank[8];
    const struct live_rank live = {.bytes = (uint64_t) (1e9 * t),
                                   .in_flight = 1,
                                   .cpu_ms = (uint64_t) (1500 * t),
                                   .gpu_permille = 900};
    const struct live_rank_row row = {.job = "42",
                                      .step = "0",
                                      .node = node,
                                      .name = rank,
                                      .rank = &live,
                                      .oldest_ns = 500000000 +
                                                   (int64_t) i * 1000000000};
    double *v;

    snprintf(rank, sizeof(rank), "%u", i);
    v = metrics_add(set, &metrics_rank, STEP(node), {"rank", rank});
    v[METRIC_OPERATIONS] = floor(100 * t);
    v[METRIC_BUSY] = i == 2 ? 0.15 : 0.4;
    v[METRIC_WAITED] = i == 2 ? 0 : 0.25 * t;
    if (i == 2)
        v[METRIC_CAUSED] = 0.25;
    metrics_add_rows(set, &live_rank_metrics, &row, 1);
    v = metrics_add(set, &metrics_coll, INSPECTOR(node), {"comm_name", "dp"},
                    {"n_nodes", i < 2 ? "1" : "2"}, {"nranks", "4"},
                    {"collective", "AllReduce"}, {"message_size", "1-2MB"},
                    {"algo_proto", "RING_LL"}, {"rank", rank});
    v[METRIC_BUSBW] = 100 + i;
    v[METRIC_TIME] = 50;
    v = metrics_add(set, &live_p2p_metrics, INSPECTOR(node),
                    {"comm_name", "pp"}, {"n_nodes", "2"}, {"nranks", "2"},
                    {"p2p_operation", "Send"}, {"message_size", "4-5MB"},
                    {"rank", rank});
    v[METRIC_BUSBW] = 20;
    v[METRIC_TIME] = 200;
}

static void add_node(struct metrics_set *set, unsigned i, double t)
{
    const char *node = i ? "n2" : "n1";
    double *v = metrics_add(set, &metrics_step, STEP(node), {"user", "alice"},
                            {"account", "ai"}, {"partition", "gpu"});
    const struct live_node_row live = {.job = "42",
                                       .step = "0",
                                       .node = node,
                                       .alerts = i ? -1 : 2,
                                       .agent_cpu_us = (uint64_t) (1000 * t),
                                       .agent_memory_bytes = 5000000};
    const struct live_state_row state = {
        .job = "42", .step = "0", .node = node, .state = "works", .ranks = 2};

    v[METRIC_INFO] = 1;
    metrics_add_rows(set, &live_state_metrics, &state, 1);
    metrics_add_rows(set, &live_node_metrics, &live, 1);
    v = metrics_add(set, &metrics_node, STEP(node));
    v[METRIC_COVERAGE] = 1;
    v[METRIC_DURATION] = t;
    if (i)
        return;
    v[METRIC_HANGS] = 1;
    v[METRIC_LATE_RANKS] = 1;
    v = metrics_add(set, &metrics_verdict, STEP(node), {"verdict", "SLOW"});
    v[METRIC_VERDICT] = 1;
    v = metrics_add(set, &metrics_finding, STEP(node), {"kind", "late_rank"});
    v[METRIC_FINDINGS] = 1;
}

static void add_site(struct metrics_set *set, double t)
{
    const struct jp_table *steps = history_metrics[HISTORY_METRIC_STEPS];
    const struct jp_table *findings = history_metrics[HISTORY_METRIC_FINDINGS];
    const struct jp_table *waits = history_metrics[HISTORY_METRIC_WAITS];
    const struct jp_table *busy = history_metrics[HISTORY_METRIC_BUSY];

    *metrics_add(set, steps, {"verdict", "OK"}, {"account", "ai"}) =
        floor(t / 600);
    *metrics_add(set, steps, {"verdict", "SLOW"}, {"account", "bio"}) =
        floor(t / 1200);
    *metrics_add(set, findings, {"kind", "late_rank"}, {"node", "n2"}) =
        floor(t / 1200);
    *metrics_add(set, waits, {"node", "n2"}) = t / 4;
    *metrics_add(set, waits, {"node", "n1"}) = t / 100;
    *metrics_add(set, busy, {"account", "ai"}) = 0.8;
    *metrics_add(set, busy, {"account", "bio"}) = 0.3;
}

int main(int argc, char **argv)
{
    struct metrics_how how = {.max_series = 0};
    double t = argc > 2 ? strtod(argv[2], NULL) : 0;
    struct metrics_set set;
    int rc;

    if (argc < 3)
        return 2;
    how.format = strcmp(argv[1], "text") ? METRICS_OPENMETRICS : METRICS_TEXT;
    metrics_init(&set);
    if (argc > 3)
        set.time_s = strtod(argv[3], NULL);
    for (unsigned i = 0; i < 4; i++)
        add_rank(&set, i, t);
    for (unsigned i = 0; i < 2; i++)
        add_node(&set, i, t);
    add_site(&set, t);
    rc = metrics_write(&set, &how, stdout, NULL, NULL);
    metrics_fini(&set);
    return rc < 0;
}
