/* expected.h - how many records a complete recording of the step would have,
 * and which are missing. */
#ifndef JP_INSIGHT_EXPECTED_H
#define JP_INSIGHT_EXPECTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/jobconf.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/insight/finding.h"

/* Every argument may be NULL; 0 means unknown. */
uint32_t expected_tasks(const struct jp_jobconf *conf,
                        const struct jp_nodes *nodes);
uint32_t expected_nodes(const struct jp_jobconf *conf,
                        const struct jp_nodes *nodes);
/* The size of the largest communicator, or the step's tasks if there is none.
 */
uint32_t expected_ranks(const struct jp_jobconf *conf,
                        const struct jp_nodes *nodes,
                        const struct jp_result *result);

struct jp_expected {
    /* JP_EXPECT_NONE, _COUNTED, _BOUND; _PLANNED: the plan knew of more than
     * sequence numbers tell, as full pools keep the last events only, or as a
     * tail was lost by all ranks */
    int kind;
    uint64_t records; /* 0 for NONE */
    /* records / expected. Negative: unknown, or expected is less than records,
     * so the counters do not belong to the records */
    double coverage;
    /* what a verdict is drawn from: numbers that no rank recorded do not count
     * against it where a setting leaves operations out, nor does what the
     * recorder left out at its cap */
    double judged;
    /* there are unseen_records, which records does not include: a filter may
     * have left them out */
    bool excludes_unseen;
    /* _PLANNED from what the user said about this run: records after the last
     * sequence number were lost, or the program did less. judged is by sequence
     * numbers then */
    bool tail;
};

/* Adapts the result's figures to the job. Sequence numbers that no rank
 * recorded count as expected if no setting leaves operations out. Counters do
 * not count if nodes are missing. */
struct jp_expected expected_records(const struct jp_jobconf *conf,
                                    const struct jp_nodes *nodes,
                                    const struct jp_result *result);

/* The i-th variable of the profiler that the user has set to another value than
 * the plan. NULL: there are no more. */
const struct jp_setting *expected_own_variable(const struct jp_jobconf *conf,
                                               size_t i);

/* True for a setting that keeps operations out of the records by intent
 * (min_size above 0, p2p=off) in the mode that ran; the recorder obeys none. */
bool expected_is_filter(const struct jp_jobconf *conf,
                        const struct jp_setting *setting);
/* The size filter that the user has set, or NULL. */
const struct jp_setting *expected_filter(const struct jp_jobconf *conf);
/* The profiler that the user has set and that was left in place, or NULL. */
const char *expected_own_plugin(const struct jp_jobconf *conf);

/* The plan's own sentence on what will be missing ("loses up to ..."), where
 * the profiler does not count what it loses; NULL: nothing, or not known.
 * Borrowed. */
const char *expected_planned_loss(const struct jp_jobconf *conf);
/* The same, if sequence numbers cannot show it: all ranks lost their last
 * operations. */
const char *expected_lost_tail(const struct jp_jobconf *conf);

/* --- what a verdict is based on ------------------------------------------ */

/* All pointers are borrowed; any may be NULL. */
struct jp_evidence {
    const struct jp_jobconf *conf;
    const struct jp_nodes *nodes;
    const struct jp_result *result;
    bool analysed; /* false: the time limit ended before there were figures */
    struct jp_expected expected; /* of result */
};

/* Adds one clause for each kind of gap, the most important first. Adds nothing
 * if there is no gap. Needs a result. */
void gaps_list(const struct jp_evidence *e, struct jp_sentence *s);

/* Adds only the clause on files that stay in the user's own folder. */
void gaps_own_folder(const struct jp_evidence *e, struct jp_sentence *s);

/* Adds only the clause on nodes without a record. */
void gaps_nodes(const struct jp_evidence *e, struct jp_sentence *s);

#endif
