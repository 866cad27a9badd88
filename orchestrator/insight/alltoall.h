/* alltoall.h - the AlltoAll of Send and Recv as an operation of all its ranks.
 *
 * Each rank is in the kernel of an AlltoAll from its arrival until the longest
 * of its messages has ended (join_kernels.h), and none ends before the last
 * rank has come: as in any barrier, the last one is in it for the shortest
 * time. Where sizes are uneven the ends differ by what the messages do.
 */
#ifndef JP_INSIGHT_ALLTOALL_H
#define JP_INSIGHT_ALLTOALL_H

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/insight/processes.h"

/* How many of them a communicator had; 0: none, or too many lack a message. */
size_t alltoall_count(const struct jp_result *result,
                      const struct jp_processes *processes, size_t comm);

/* What kernel k, below that, adds up to: comm, sn, n, n_exec, min_rank and
 * exec_*. False: some rank's is not whole. */
bool alltoall_get(const struct jp_result *result,
                  const struct jp_processes *processes, size_t comm, size_t k,
                  struct jp_op *op);

/* Time of the rank in each part of the run, as slice_us. steps: operations of
 * another communicator that it has, if they come after every so many AlltoAll:
 * then parts end where theirs do. */
void alltoall_slices(const struct jp_rank *rank, size_t count, uint64_t steps,
                     double us[JP_SLICES]);

#endif
