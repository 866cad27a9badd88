/* alltoall.h - an AlltoAll made of Send and Recv, as an operation of all its
 * ranks.
 *
 * Each rank is in the kernel of an AlltoAll from its arrival until its longest
 * message has ended (join.h), and no message ends before the last rank has
 * arrived. So, as in any barrier, the last rank has the shortest time. If sizes
 * are uneven, the ends differ as the messages do.
 */
#ifndef JP_INSIGHT_ALLTOALL_H
#define JP_INSIGHT_ALLTOALL_H

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/identity/processes.h"

/* Returns the number of a communicator's AlltoAlls. 0: none, or too many of
 * them have missing messages, or the recording was off before some. */
size_t alltoall_count(const struct jp_result *result,
                      const struct jp_processes *processes, size_t comm);

/* Fills comm, sn, n, n_exec, min_rank (the rank that came last) and exec_* of
 * AlltoAll k. False: messages of a rank are missing. */
bool alltoall_get(const struct jp_result *result,
                  const struct jp_processes *processes, size_t comm, size_t k,
                  struct jp_op *op);

/* Sums up a rank's time in each part of the run, as jp_rank.slice_us. count:
 * alltoall_count(). steps: the number of operations in another communicator of
 * the rank, if a fixed number of AlltoAlls lies between them; then the parts
 * end where those of the other one do. */
void alltoall_slices(const struct jp_rank *rank, size_t count, uint64_t steps,
                     double us[JP_SLICES]);

#endif
