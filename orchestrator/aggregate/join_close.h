/* join_close.h - end a communicator whose records are all there: its rows
 * become packed operations, its ranks' times sums, and both are freed.
 *
 * A communicator of n_ranks is closed when n_ranks of its ranks were read to
 * their files' ends, so that memory follows the communicators that are open and
 * not all operations. A collective's record that comes later (a rank with two
 * files) makes the join CONFLICTED and LATE: the caller joins again without
 * closing early.
 */
#ifndef JP_AGGREGATE_JOIN_CLOSE_H
#define JP_AGGREGATE_JOIN_CLOSE_H

#include "orchestrator/aggregate/join.h"

/* The file that join_begin_file began is read to its end; closes what is
 * complete by that, unless the budget keeps rows. 0, or -1 without memory. */
int join_end_file(struct join *join);

/* Closes what is open, on as many threads where it is much; sizes are guessed
 * and strays sorted by now. 0, or -1 without memory. */
int join_close_all(struct join *join, unsigned threads);

/* --- for join_close*.c --- */

/* Closes a communicator, unless it is; its operations go to ops. Threads may
 * close different ones at once. 0, or -1 without memory. */
int join_close_comm(struct join *join, struct jp_ops *ops, uint32_t at);
/* Writes a series' rows to ops and counts them; the rows of its blocks (sorted,
 * n) stay. 0 or -1. */
int join_close_series(struct join *join, struct jp_ops *ops, uint32_t comm,
                      const struct join_series *series, void **blocks,
                      size_t n);

#endif
