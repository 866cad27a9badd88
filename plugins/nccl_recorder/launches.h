/* launches.h - the time of operations that one kernel launch did together.
 *
 * What the program calls in one ncclGroup runs in one launch, and the GPU's
 * time stamps are of batches of works (NCCL's device/common.h): each operation
 * of N says the time of all. Summed, that is N times the truth, and each
 * bandwidth is the N-th part of it.
 *
 * Collectives of a launch: its time, from its first start to its last stop, is
 * divided among them by their bytes. The shares add up to it, and the bandwidth
 * of each is that of all bytes in all the time. The members of a launch are the
 * same on all ranks, so waits, which compare ranks, are right. One without a
 * time still has its share, which is unknown. One that was lost has none: the
 * others' shares are then too long on that rank.
 *
 * Send, Recv: those of one direction that began and ended together (within 2 us
 * and 2 %) share likewise. The other direction keeps the time: both are under
 * way at once.
 *
 * Operations are of one launch where none of them was enqueued before the last
 * of them began to be: NCCL tells all starts of a launch before its first stop.
 * Those that ended early keep what they say.
 *
 * Records are held back for HOLD of the file's time, for they stand in the
 * order of their end, and then come in the file's order.
 */
#ifndef JP_NCCL_RECORDER_LAUNCHES_H
#define JP_NCCL_RECORDER_LAUNCHES_H

#include "common/bandwidth.h"
#include "common/record.h"
#include "plugins/nccl_recorder/jpr.h"

/* Takes a record, whose texts are there until it returns. Another value than 0
 * ends the flush and is passed on. */
typedef int launches_take(void *arg, const struct record *record);

/* Divides a time among records by their bytes, and gives each the bandwidth of
 * all bytes in it. Those without a time have a share, too, though it is
 * unknown: the other ranks may know theirs. */
struct launches_member {
    struct record *record;
    enum bandwidth_rule rule;
    bool untimed;
};
void launches_divide(const struct launches_member *members, size_t n,
                     uint64_t time_us);

struct launches;

/* Of one file; take is called with arg. NULL without memory. Destroy takes
 * NULL, and drops what is held. */
struct launches *launches_create(launches_take *take, void *arg);
void launches_destroy(struct launches *launches);

/* Adds an operation and its record, which has the same time; of the record's
 * texts the function's is copied, the others are borrowed until it was taken.
 * 0, -1 without memory, or the result of take. */
int launches_add(struct launches *launches, const struct jpr_op *op,
                 const struct record *record, enum bandwidth_rule rule);

/* All that is held: at the end of the file, and before texts go away. */
int launches_flush(struct launches *launches);

#endif
