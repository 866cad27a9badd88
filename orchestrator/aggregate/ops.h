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
 * Operations are packed by the hundred; ops_at unpacks those around i once, so
 * neighbours cost 20 ns and a jump 2 us. A reader is 20 KB, holds nothing to
 * free, and is one thread's; the operations themselves are only read.
 */
#ifndef JP_AGGREGATE_OPS_H
#define JP_AGGREGATE_OPS_H

#include <stddef.h>
#include <stdint.h>

#include "orchestrator/aggregate/aggregate.h"

enum { OPS_CHUNK = 128 }; /* packed together */

struct ops_run;

struct jp_ops {
    struct ops_run *runs;
    size_t n_runs, n;
    size_t packed; /* bytes of the runs that have ended */
    /* of the last run, while operations are added */
    struct jp_op *pending;
    size_t n_pending;
    uint8_t *bytes;
    size_t used, room;
    uint64_t *starts;
    size_t n_starts;
};

/* NULL without memory. Destroy takes NULL. */
struct jp_ops *ops_create(void);
void ops_destroy(struct jp_ops *ops);

/* Appends an operation; a run begins where comm or coll differ from the one
 * before. 0, or -1 without memory. */
int ops_add(struct jp_ops *ops, const struct jp_op *op);

/* After the last one; ends what ops_add has begun. 0, or -1 without memory. */
int ops_end(struct jp_ops *ops);

/* Moves the runs of from to the end, with numbers of these arrays; from is then
 * good for ops_destroy only. 0, or -1 without memory. */
int ops_take(struct jp_ops *into, struct jp_ops *from, const uint32_t *comm_at,
             const uint32_t *coll_at);

/* Gives comm and coll other numbers, of these arrays, and brings the runs into
 * their order: operations are sorted then. */
void ops_renumber(struct jp_ops *ops, const uint32_t *comm_at,
                  const uint32_t *coll_at);

struct ops_reader {
    const struct jp_ops *ops;
    size_t first, n; /* those that are unpacked */
    size_t run;      /* theirs */
    struct jp_op rows[OPS_CHUNK];
};

const struct jp_op *ops_unpack(struct ops_reader *reader, size_t i);

/* Operation i, below ops->n; borrowed until the next call. */
static inline const struct jp_op *ops_at(struct ops_reader *reader, size_t i)
{
    return i - reader->first < reader->n ? &reader->rows[i - reader->first]
                                         : ops_unpack(reader, i);
}

#endif
