/* fixture_slow.c - a report with findings. */
#include "tests/report/fixture.h"

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
    strcpy(late->next, "look at that process");
    f->insight.lateness = calloc(f->result.n_ranks, sizeof(struct jp_lateness));
    for (size_t i = 0; i < f->result.n_ranks; i += 2)
        f->insight.lateness[i] = (struct jp_lateness){
            .judged = true, .late = i == 2, .arrival_us = (double) i};
    f->insight.judged = true;
    f->report.insight = &f->insight;
    fixture_judge(f, true);
}
