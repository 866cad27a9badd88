/* table_truth.h - what is true of a simulated job, and whether a finding says
 * it.
 */
#ifndef JP_TESTS_INSIGHT_TABLE_TRUTH_H
#define JP_TESTS_INSIGHT_TABLE_TRUTH_H

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/insight/insight.h"
#include "tests/insight/simjob.h"

struct truth_job {
    struct simjob_shape shape;
    struct simjob_truth truth;
    const struct jp_result *result;
    const struct jp_insight *insight;
    enum jp_against against;
};

/* Returns true if the finding names a rank, by a kind of lateness or stall. */
bool truth_names_rank(const struct truth_job *j, const struct jp_finding *f,
                      uint32_t rank);
/* Returns true if it names truth's node. */
bool truth_names_node(const struct truth_job *j, const struct jp_finding *f);
/* Ranks that share what is late by all of them. */
uint32_t truth_late_ranks(const struct truth_job *j);
/* Returns true if the finding is the truth, or part of it. *which: of two. */
bool truth_names(const struct truth_job *j, const struct jp_finding *f,
                 int *which);
/* Returns true if nobody is to be named. */
bool truth_wants_none(enum simjob_fault fault);
/* Returns true if it names a rank of the late node, though all of them had to
 * be named. */
bool truth_is_part(const struct truth_job *j, const struct jp_finding *f);
/* Returns true if it is a hang of which the data does not tell whose it is. */
bool truth_claims_nothing(const struct jp_finding *f);
/* Returns true if it says what the shape is by design. */
bool truth_is_by_design(const struct truth_job *j, const struct jp_finding *f);

/* Replaces all findings by the judge's answers (orchestrator/judge). Without a
 * judge nothing changes. Aborts without memory. */
void truth_by_judge(const struct jp_result *r, struct jp_insight *insight);

#endif
