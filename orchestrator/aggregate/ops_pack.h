/* ops_pack.h - a chunk of operations as bytes: for ops*.c only.
 *
 * By column: how wide the numbers are, the smallest one, what power of two they
 * are multiples of above it, and then n numbers of that width, little-endian.
 * Columns that follow from others as a rule hold the difference to these,
 * modulo 2^64, so any numbers come back as they were.
 */
#ifndef JP_AGGREGATE_OPS_PACK_H
#define JP_AGGREGATE_OPS_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "orchestrator/aggregate/ops.h"

enum {
    OPS_COLUMNS = 19,
    /* what n operations take at most; reading and writing touch 8 bytes more
     */
    OPS_COLUMN_HEAD = 10,
    OPS_SLACK = 8,
};

static inline size_t ops_pack_bound(size_t n)
{
    return OPS_COLUMNS * (OPS_COLUMN_HEAD + 8 * n);
}

/* As they are packed, before that. */
struct ops_columns {
    uint64_t values[OPS_COLUMNS][OPS_CHUNK];
};

/* Puts operation i < OPS_CHUNK there, but for comm and coll. */
void ops_pack_put(struct ops_columns *columns, size_t i,
                  const struct jp_op *op);
/* Packs the first n; the bytes used. */
size_t ops_pack(const struct ops_columns *columns, size_t n, uint8_t *out);
/* The reverse of both, for the parts that are wanted. */
void ops_unpack_rows(const uint8_t *bytes, size_t n, unsigned parts,
                     struct jp_op *ops);

#endif
