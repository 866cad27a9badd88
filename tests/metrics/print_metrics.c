/* print_metrics.c - print the tables of docs/metrics.md, or the metrics of a
 * simulated site at one moment.
 *
 *     print_metrics docs
 *     print_metrics text|openmetrics SECONDS [AT]
 *
 * Job 42 of alice runs on n1 and n2 with four ranks. Rank 2 (on n2) makes the
 * others wait for a quarter of its time. SECONDS: time since the job began. AT:
 * the time of the samples. All metrics have a value. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/metrics/metrics.h"

static void add_rank(struct metrics_set *set, unsigned i, double t)
{
    const char *node = i < 2 ? "n1" : "n2";
    char rank[8];
    double *v;

    snprintf(rank, sizeof(rank), "%u", i);
    v = metrics_add(set, METRICS_RANK, "42", "0", node, rank);
    v[METRIC_OPERATIONS] = floor(100 * t);
    v[METRIC_BYTES] = 1e9 * t;
    v[METRIC_IN_FLIGHT] = 1;
    v[METRIC_OLDEST] = 0.5 + i;
    v[METRIC_BUSY] = i == 2 ? 0.15 : 0.4;
    v[METRIC_WAITED] = i == 2 ? 0 : 0.25 * t;
    v[METRIC_CPU] = 1.5 * t;
    v[METRIC_GPU_BUSY] = 0.9;
    if (i == 2)
        v[METRIC_CAUSED] = 0.25;
    v = metrics_add(set, METRICS_COLL, "jobprof", "42", node, "GPU-1", "dp",
                    i < 2 ? "1" : "2", "4", "AllReduce", "1-2MB", "RING_LL",
                    "0", rank);
    v[METRIC_COLL_BUSBW] = 100 + i;
    v[METRIC_COLL_TIME] = 50;
    v = metrics_add(set, METRICS_P2P, "jobprof", "42", node, "GPU-1", "pp", "2",
                    "2", "Send", "4-5MB", "0", rank);
    v[METRIC_P2P_BUSBW] = 20;
    v[METRIC_P2P_TIME] = 200;
}

static void add_node(struct metrics_set *set, unsigned i, double t)
{
    const char *node = i ? "n2" : "n1";
    double *v =
        metrics_add(set, METRICS_STEP, "42", "0", node, "alice", "ai", "gpu");

    v[METRIC_INFO] = 1;
    v = metrics_add(set, METRICS_STATE, "42", "0", node, "works");
    v[METRIC_STATE] = 2;
    v = metrics_add(set, METRICS_NODE, "42", "0", node);
    v[METRIC_LEFT_RANKS] = v[METRIC_LEFT_SERIES] = 0;
    v[METRIC_AGENT_CPU] = 0.001 * t;
    v[METRIC_AGENT_MEMORY] = 5e6;
    v[METRIC_COVERAGE] = 1;
    v[METRIC_DURATION] = t;
    if (i)
        return;
    v[METRIC_HANGS] = 1;
    v[METRIC_ALERTS] = 2;
    v[METRIC_LATE_RANKS] = 1;
    v = metrics_add(set, METRICS_VERDICT, "42", "0", node, "SLOW");
    v[METRIC_VERDICT] = 1;
    v = metrics_add(set, METRICS_FINDING, "42", "0", node, "late_rank");
    v[METRIC_FINDINGS] = 1;
}

static void add_site(struct metrics_set *set, double t)
{
    metrics_add(set, METRICS_HISTORY_STEP, "OK", "ai")[METRIC_HISTORY_STEPS] =
        floor(t / 600);
    metrics_add(set, METRICS_HISTORY_STEP, "SLOW",
                "bio")[METRIC_HISTORY_STEPS] = floor(t / 1200);
    metrics_add(set, METRICS_HISTORY_FINDING, "late_rank",
                "n2")[METRIC_HISTORY_FINDINGS] = floor(t / 1200);
    metrics_add(set, METRICS_HISTORY_NODE, "n2")[METRIC_HISTORY_WAIT] = t / 4;
    metrics_add(set, METRICS_HISTORY_NODE, "n1")[METRIC_HISTORY_WAIT] = t / 100;
    metrics_add(set, METRICS_HISTORY_ACCOUNT, "ai")[METRIC_HISTORY_GPU_BUSY] =
        0.8;
    metrics_add(set, METRICS_HISTORY_ACCOUNT, "bio")[METRIC_HISTORY_GPU_BUSY] =
        0.3;
}

int main(int argc, char **argv)
{
    struct metrics_how how = {.max_series = 0};
    double t = argc > 2 ? strtod(argv[2], NULL) : 0;
    struct metrics_set set;
    int rc;

    if (argc == 2 && !strcmp(argv[1], "docs")) {
        metrics_describe(stdout);
        return 0;
    }
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
