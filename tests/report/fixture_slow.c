/* fixture_slow.c - reports with findings. */
#include "tests/report/fixture.h"
#include "tests/report/fixture_parts.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START_US 1795251741000000.0

void fixture_slow(struct fixture *f)
{
    struct jp_finding *late;

    fixture_good(f);
    for (int kind = JP_FINDING_LATE_RANK; kind < JP_N_FINDINGS; kind++) {
        struct jp_finding *x = findings_add(&f->insight.findings, kind);

        snprintf(x->text, sizeof(x->text), "%s was found here",
                 finding_kind_name(kind));
        x->cost_us = 1000.0 * kind;
    }
    late = &f->insight.findings.at[0];
    late->comm = 1;
    late->coll = f->result.coll_names[0];
    late->rank = 3;
    late->world_rank = 19;
    late->pid = 4711;
    late->from_us = START_US;
    late->to_us = START_US + 1e6;
    late->share = 0.25;
    strcpy(late->host, "gpu-node-0312");
    strcpy(late->next, "check that process");
    f->insight.lateness = calloc(f->result.n_ranks, sizeof(struct jp_lateness));
    for (size_t i = 0; i < f->result.n_ranks; i += 2)
        f->insight.lateness[i] = (struct jp_lateness){.judged = true,
                                                      .late = i == 2,
                                                      .arrival_us = (double) i,
                                                      .told_us = (double) i,
                                                      .ops = 1};
    f->insight.judged = true;
    f->report.insight = &f->insight;
    fixture_judge(f, true);
}

void fixture_failed(struct fixture *f)
{
    uint32_t n = FIXTURE_GPUS;

    fixture_good(f);
    for (size_t i = 0; i < f->nodes.n_nodes; i++) {
        struct jp_node *node = &f->nodes.nodes[i];

        node->tasks = fixture_array(f, n, sizeof(*node->tasks));
        node->n_tasks = n;
        for (uint32_t k = 0; k < n; k++)
            node->tasks[k] =
                (struct jp_task){.gtid = (uint32_t) i * n + k,
                                 .pid = 5000 + k,
                                 .status = SIGTERM,
                                 .mono_us = 9000000,
                                 .end_us = (int64_t) START_US + 9000000};
    }
    f->nodes.nodes[0].tasks[3].status = SIGSEGV;
    f->nodes.nodes[0].tasks[3].mono_us -= 4000000;
    f->nodes.nodes[0].tasks[3].end_us -= 4000000;
    f->nodes.tasks_failed = n * (uint32_t) f->nodes.n_nodes;
    f->nodes.over = true;
    f->nodes.job_state = SLURMJOB_FAILED;
    f->nodes.job_end_us = (uint64_t) START_US + 9000000;
    crash_findings(&f->nodes, &f->insight.processes, NULL, &f->insight.crash,
                   &f->insight.findings);
    f->report.insight = &f->insight;
    crash_set_in(&f->insight.crash, "AllReduce 9 of dp (0xab)",
                 &f->insight.findings);
    fixture_judge(f, true);
}
