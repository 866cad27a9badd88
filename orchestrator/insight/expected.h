/* expected.h - what a complete recording of the step would hold. */
#ifndef JP_INSIGHT_EXPECTED_H
#define JP_INSIGHT_EXPECTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/jobconf.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/collect/nodes.h"

/* Every argument may be NULL; 0 means unknown. */
uint32_t expected_tasks(const struct jp_jobconf *conf,
                        const struct jp_nodes *nodes);
uint32_t expected_nodes(const struct jp_jobconf *conf,
                        const struct jp_nodes *nodes);
/* The largest communicator's size, else the step's tasks. */
uint32_t expected_ranks(const struct jp_jobconf *conf,
                        const struct jp_nodes *nodes,
                        const struct jp_result *result);

/* records / expected; < 0 where expected is unknown, or less than what is there
 * (then the counters do not belong to the records). */
double expected_coverage(const struct jp_result *result);

/* The coverage that a verdict is drawn from. Sequence numbers that no rank
 * recorded (unseen_records) do not count against it where a setting leaves
 * operations out, and do where the recorder was to leave out nothing. */
double expected_judged_coverage(const struct jp_jobconf *conf,
                                const struct jp_result *result);

/* True if a size filter may explain numbers that no rank recorded: it was set,
 * or nobody knows (a folder of logs; NVIDIA's library, which has its own). */
bool expected_may_filter(const struct jp_jobconf *conf);

/* The largest communicator, NULL if there is none. */
const struct jp_comm *expected_largest_comm(const struct jp_result *result);

/* Writes the ranks of a communicator that left no record as "3, 5-7, ..." into
 * buf and returns how many they are. */
uint32_t expected_missing_ranks(const struct jp_result *result,
                                const struct jp_comm *comm, char *buf,
                                size_t size);

/* True for a setting that keeps operations out of the records by intent
 * (min_size above 0, p2p=off). */
bool expected_is_filter(const struct jp_setting *setting);
/* The first such setting, or NULL. */
const struct jp_setting *expected_filter(const struct jp_jobconf *conf);

#endif
