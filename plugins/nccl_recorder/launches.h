/* launches.h - the time of operations that one kernel launch did together.
 *
 * What the program calls in one ncclGroup runs in one launch. The GPU's time
 * stamps are of batches of works (NCCL's device/common.h), so each of N
 * operations has the time of all. Summed, that is N times the truth, and each
 * bandwidth is an N-th of it.
 *
 * Collectives of a launch: its time, from its first start to its last stop, is
 * divided among them by their bytes. The shares add up to the time, and the
 * bandwidth of each is that of all bytes in all the time. The members of a
 * launch are the same on all ranks, so comparisons between ranks (waits) stay
 * right. A member without a time still has its share, which is unknown. A lost
 * member has none, so the shares of the others are too long on that rank.
 *
 * Send, Recv: those of one direction that began and ended together (within 2 us
 * or 2 % of the time) share in the same way. The other direction keeps its
 * time, as both directions are under way at once.
 *
 * Operations are of one launch if all of them began to be enqueued before any
 * of them was: NCCL reports all starts of a launch before its first stop.
 * Operations that ended early keep their time.
 *
 * Records are held back for HOLD_NS of the file's time, because the file has
 * them in the order of their end. They then come in the file's order.
 */
#ifndef JP_NCCL_RECORDER_LAUNCHES_H
#define JP_NCCL_RECORDER_LAUNCHES_H

#include "common/bandwidth.h"
#include "common/record.h"
#include "plugins/nccl_recorder/jpr.h"

/* Takes a record; its texts are valid until it returns. A value other than 0
 * ends the flush and is passed on. */
typedef int launches_take(void *arg, const struct record *record);

/* Divides a time among records by their bytes, and gives each the bandwidth of
 * all bytes in it. Untimed records have a share as well, though it stays
 * unknown here: other ranks may know theirs. */
struct launches_member {
    struct record *record;
    enum bandwidth_rule rule;
    bool untimed;
};
void launches_divide(const struct launches_member *members, size_t n,
                     uint64_t time_us);

struct launches;

/* For one file; take is called with arg. NULL without memory. Destroy accepts
 * NULL and drops what is held. */
struct launches *launches_create(launches_take *take, void *arg);
void launches_destroy(struct launches *launches);

/* Adds an operation and its record, which has the same time. The function's
 * text is copied; the record's other texts are borrowed until it was taken.
 * Returns 0, -1 without memory, or the result of take. */
int launches_add(struct launches *launches, const struct jpr_op *op,
                 const struct record *record, enum bandwidth_rule rule);

/* Hands over all that is held: at the end of the file, and before texts go
 * away. */
int launches_flush(struct launches *launches);

#endif
