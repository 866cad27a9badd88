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
#include "orchestrator/insight/reasons.h"

/* The step's tasks and nodes, as the nodes reported them, else as planned.
 * Every argument may be NULL; 0: unknown. */
uint32_t expected_tasks(const struct jp_jobconf *conf,
                        const struct jp_nodes *nodes);
uint32_t expected_nodes(const struct jp_jobconf *conf,
                        const struct jp_nodes *nodes);
/* Returns the number of ranks of the job: what the result knows, or the step's
 * tasks where there are more of them and a communicator has missing ranks, or
 * where the result knows none. 0: unknown. */
uint32_t expected_ranks(const struct jp_jobconf *conf,
                        const struct jp_nodes *nodes,
                        const struct jp_result *result);

struct jp_expected {
    /* JP_EXPECT_NONE, _COUNTED or _BOUND, as in the result. _PLANNED: the plan
     * expected more than sequence numbers show, as full pools keep only the
     * last events, or as all ranks lost their last operations */
    int kind;
    uint64_t records; /* 0 for NONE */
    /* records / expected. Negative: unknown, or more records than expected, so
     * that the counters do not belong to the records */
    double coverage;
    /* the coverage that decides a verdict: without numbers that no rank
     * recorded, if a setting leaves operations out, and without what the
     * recorder left out at its cap */
    double judged;
    /* records does not include the unseen_records, because a filter may have
     * left them out */
    bool excludes_unseen;
    /* _PLANNED by what the user said about this run: records after the last
     * sequence number were lost, or the program did less. judged is then by
     * sequence numbers */
    bool tail;
};

/* Adapts the result's counts to the job. Sequence numbers that no rank recorded
 * are expected if no setting leaves operations out. Counters are ignored if
 * nodes are missing. */
struct jp_expected expected_records(const struct jp_jobconf *conf,
                                    const struct jp_nodes *nodes,
                                    const struct jp_result *result);

/* Returns the i-th variable of the profiler that the user has set to another
 * value than the plan; NULL: there are no more. */
const struct jp_setting *expected_own_variable(const struct jp_jobconf *conf,
                                               size_t i);

/* Returns true for a setting that keeps operations out of the records by intent
 * (min_size above 0, p2p=off) in the mode that ran. The recorder ignores both.
 */
bool expected_is_filter(const struct jp_jobconf *conf,
                        const struct jp_setting *setting);
/* Returns the size filter that the user has set, or NULL. */
const struct jp_setting *expected_filter(const struct jp_jobconf *conf);
/* Returns the profiler library that the user has set and that was left in
 * place, or NULL. */
const char *expected_own_plugin(const struct jp_jobconf *conf);

/* Returns the plan's clause on what will be missing ("loses up to ..."), if the
 * profiler does not count what it loses; NULL: nothing, or unknown. Borrowed.
 */
const char *expected_planned_loss(const struct jp_jobconf *conf);
/* The same, but NULL if sequence numbers show the loss. They do not if all
 * ranks lost their last operations. */
const char *expected_lost_tail(const struct jp_jobconf *conf);

/* --- what a verdict is based on ------------------------------------------- */

/* All pointers are borrowed; each may be NULL. */
struct jp_evidence {
    const struct jp_jobconf *conf;
    const struct jp_nodes *nodes;
    const struct jp_result *result;
    bool analysed; /* false: the time limit ended before there were figures */
    struct jp_expected expected; /* of result */
};

/* Adds one clause for each kind of gap, the most important first. Adds nothing
 * if there is no gap. Needs a result.
 *
 * Findings rely on the records that exist, so a gap never silences them: an
 * operation counts only with the records of all its ranks, and a rank whose
 * waits are not known in some stretch of time is not judged there. Returns
 * whether what is missing could hide a fault, so that an all-clear would be
 * false. The end of a job that is cancelled, of which each rank lacks the last
 * 100 ms, could not. */
bool gaps_list(const struct jp_evidence *e, struct jp_sentence *s);

/* Adds the reasons of INCOMPLETE, the most certain one first: those that the
 * data shows, else that of the likeliest ones. uneven: a finding says that the
 * records of some ranks end before those of others. Needs a result. */
void gaps_reasons(const struct jp_evidence *e, bool uneven,
                  struct jp_reasons *reasons);

/* Returns the share of the operations that any rank has recorded, 0 to 1, as
 * far as sequence numbers show, from the first recorded one on: less than 1 in
 * sampled or filtered data. */
double expected_seen(const struct jp_result *result);

/* The same without operations while the recording was off, if it is known when
 * that was (aggregate/pauses.h). */
double expected_seen_while_on(const struct jp_result *result);

/* Formats the functions of the collectives that were recorded: " (AllGather,
 * AllReduce)", or " (7 functions)". What is no longer in filtered logs shows
 * nowhere else. "": there is none. Returns buf. */
#define JP_EXPECTED_FUNCTIONS 120
char *expected_functions(const struct jp_result *result,
                         char buf[JP_EXPECTED_FUNCTIONS]);

/* Returns the number of calls without an NCCL event in which ranks wait for
 * each other, if they are more than `coverage_min` allows; else 0. Waits in
 * them are unknown, so a rank that waits there would look late elsewhere. */
uint64_t gaps_unseen_waits(const struct jp_result *result);

/* Writes which limit has left operations out, its value and who set it:
 * "disk=1M of a recording (option)", by the recorder's own word. Where older
 * recordings do not say which limit it was, it writes both. Returns buf. */
#define JP_GAPS_ROOM 224
char *gaps_room(const struct jp_evidence *e, char buf[JP_GAPS_ROOM]);

/* Returns until when operations have the records of all their ranks, in us
 * since 1970; 0: unknown. Needs a result. */
uint64_t gaps_until(const struct jp_evidence *e);

/* Adds only the clause on files that stay in the user's own folder. */
void gaps_own_folder(const struct jp_evidence *e, struct jp_sentence *s);

/* Whether the step has not ended, so that its records go on. */
bool gaps_runs(const struct jp_evidence *e);
/* Whether it is not known whether the step has ended. */
bool gaps_may_run(const struct jp_evidence *e);

/* Adds only the clause on nodes without a record. */
void gaps_nodes(const struct jp_evidence *e, struct jp_sentence *s);

#endif
