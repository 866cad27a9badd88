/* ops.h - the operations of a result, packed: some 30 B each.
 *
 * Written once, in runs: all operations of one (communicator, function) follow
 * each other in order of (sn, bytes). Read by number, best in order:
 *
 *     struct ops_reader reader = {.ops = result->ops};
 *
 *     for (size_t i = 0; i < result->n_ops; i++) {
 *         const struct jp_op *op = ops_at(&reader, i);
 *
 * OPS_CHUNK operations are packed together, and ops_at unpacks a chunk at once:
 * a neighbour costs 10 ns, a jump 1 us, and less if only some parts are wanted.
 * A reader is 20 KB, needs no fini, and belongs to one thread. Any number of
 * readers may read the same operations.
 */
#ifndef JP_AGGREGATE_OPS_H
#define JP_AGGREGATE_OPS_H

#include <stddef.h>
#include <stdint.h>

#include "orchestrator/aggregate/aggregate.h"

enum { OPS_CHUNK = 128 }; /* packed together */

struct ops_run;
struct ops_columns;

struct jp_ops {
    struct ops_run *runs;
    size_t n_runs, n;
    size_t packed;                  /* bytes of the runs that have ended */
    uint64_t dump_first, dump_last; /* dump_min_us that are not 0; 0: none */
    /* Of the communicator that was added to last, of its operations with the
     * most records: that number, the first and the last dump_max_us. run_us:
     * the longest such span of the communicators before. */
    uint32_t span_comm, span_n;
    uint64_t span_first, span_last, run_us;
    /* Of its operations of one function: the one before, and what their
     * distances add up to without steps of a clock; walked_most: the same of
     * the functions before, the longest. stepped: a clock was set. */
    uint64_t before_min, before_max, walked_us, walked_most;
    uint32_t walked_coll;
    bool stepped;
    /* The last run, while operations are added. */
    struct ops_columns *pending;
    size_t n_pending;
    uint8_t *bytes;
    size_t used, room;
    uint64_t *starts;
    size_t n_starts;
    /* what stands for phase k of the operations that were added; 0: itself */
    uint32_t phase_at[JP_PHASES + 1];
};

/* NULL: no memory. Destroy takes NULL. */
struct jp_ops *ops_create(void);
void ops_destroy(struct jp_ops *ops);

/* Appends an operation; a run begins where comm or coll differ from the one
 * before. 0, or -1 without memory. */
int ops_add(struct jp_ops *ops, const struct jp_op *op);

/* Ends the last run. Nothing can be added afterwards. 0, or -1: no memory. */
int ops_end(struct jp_ops *ops);

/* How long the job ran: the longest span of one communicator's dump_max_us, in
 * us. Within a communicator dump_max_us comes from the node with the clock that
 * is ahead, so clocks that are hours apart do no harm. 0: unknown. */
uint64_t ops_run_us(const struct jp_ops *ops);

/* Moves the runs of from to the end of into, and replaces their comm and coll
 * by comm_at[comm] and coll_at[coll]. Only ops_destroy may follow for from. 0,
 * or -1: no memory. */
int ops_take(struct jp_ops *into, struct jp_ops *from, const uint32_t *comm_at,
             const uint32_t *coll_at);

/* Replaces comm and coll by comm_at[comm] and coll_at[coll], and sorts the runs
 * by them. */
void ops_renumber(struct jp_ops *ops, const uint32_t *comm_at,
                  const uint32_t *coll_at);

/* Moves the runs to new memory, in which they lie together. Without memory they
 * stay. */
void ops_move(struct jp_ops *ops);

/* Parts of an operation that a reader can select: single parts, then groups.
 * comm and coll are always there. */
enum {
    OPS_SN = 1 << 0,
    OPS_BYTES = 1 << 1,
    OPS_N = 1 << 2,
    OPS_N_EXEC = 1 << 3,
    OPS_N_BUSBW = 1 << 4,
    OPS_N_START = 1 << 5,
    OPS_RANK = 1 << 6, /* min_rank */
    OPS_EXEC_MAX = 1 << 7,
    OPS_EXEC_OTHERS = 1 << 8,
    OPS_BUSBW_SUM = 1 << 9,
    OPS_BUSBW_MAX = 1 << 10,
    OPS_DUMP_MIN = 1 << 11,
    OPS_DUMP_MAX = 1 << 12,
    OPS_STARTS = 1 << 13, /* start_*_us, end_max_us */
    OPS_PHASE = 1 << 14,
    OPS_COUNTS = OPS_N | OPS_N_EXEC | OPS_N_BUSBW | OPS_N_START,
    OPS_EXEC = OPS_EXEC_MAX | OPS_EXEC_OTHERS,
    OPS_BUSBW = OPS_BUSBW_SUM | OPS_BUSBW_MAX, /* and the least */
    OPS_DUMP = OPS_DUMP_MIN | OPS_DUMP_MAX,
};

struct ops_reader {
    const struct jp_ops *ops;
    unsigned parts;  /* the parts that are wanted; the others are undefined. 0:
                        all parts */
    size_t first, n; /* the operations that are unpacked now */
    size_t run;      /* the run that they are in */
    struct jp_op rows[OPS_CHUNK];
};

/* Sets the parts that are wanted from now on. */
static inline void ops_want(struct ops_reader *reader, unsigned parts)
{
    reader->parts = parts;
    reader->n = 0;
}

const struct jp_op *ops_unpack(struct ops_reader *reader, size_t i);

/* Operation i, below ops->n; borrowed until the next call. */
static inline const struct jp_op *ops_at(struct ops_reader *reader, size_t i)
{
    return i - reader->first < reader->n ? &reader->rows[i - reader->first]
                                         : ops_unpack(reader, i);
}

#endif
