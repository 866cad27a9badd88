/* copper_counts.h - what one daemon counted: its aggregate, its operations.
 *
 * A Copper "rank" is one cu_fuse daemon, normally one a node. Its counters are
 * 32-bit and signed: past 2^31 the operations turn negative and the aggregate
 * jumps to about 1.8e19. That is recognised and flagged, never summed.
 */
#ifndef JP_PLUGINS_COPPER_COUNTS_H
#define JP_PLUGINS_COPPER_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugins/copper/copper_stream.h"

/* Rows of *-profiling_aggregate.csv, in its order. */
enum copper_metric {
    COPPER_OPERATIONS,
    COPPER_HITS,
    COPPER_MISSES,
    COPPER_NEGATIVES,
    COPPER_SAVED, /* equal to COPPER_HITS */
    COPPER_TTL_STORES,
    COPPER_TTL_SERVES,
    COPPER_TTL_EXPIRES,
    COPPER_TTL_CLEARS,
    COPPER_TTL_AVOIDED, /* equal to COPPER_TTL_SERVES */
    COPPER_LATENCY_US,  /* in the file: seconds with six digits */
    COPPER_N_METRICS
};
extern const char *const copper_metric_names[COPPER_N_METRICS];

/* FUSE operations that Copper counts, sorted by name; one row more for those
 * that this table does not know. */
#define COPPER_N_OPS 43
#define COPPER_OTHER_OP COPPER_N_OPS
extern const char *const copper_op_names[COPPER_N_OPS + 1];
/* The row of a name; COPPER_OTHER_OP: unknown. */
size_t copper_op_find(const char *name, size_t len);

struct copper_op {
    uint64_t calls, hits, misses, negatives, time_us;
};

struct copper_totals {
    uint64_t value[COPPER_N_METRICS];
    bool overflow;       /* a value that only a wrapped counter gives */
    struct jp_error odd; /* what was left aside, the first of it; "" nothing */
};

struct copper_ops {
    struct copper_op row[COPPER_N_OPS + 1];
    bool overflow;
    struct jp_error odd;
};

/* A whole *-profiling_aggregate.csv. -1: not one, cut, or a row is missing or
 * wrong; *out is untouched then. An unknown metric is left aside and told in
 * odd. */
int copper_totals_read(struct copper_stream *stream, struct copper_totals *out,
                       struct jp_error *err);

/* A whole *-profiling_operations.csv likewise. */
int copper_ops_read(struct copper_stream *stream, struct copper_ops *out,
                    struct jp_error *err);

/* The aggregate's own sums, made from the operations (no TTL counters: 0). */
void copper_ops_sum(const struct copper_ops *ops, struct copper_totals *out);

/* Do the two files of one daemon tell the same? -1: err names the metric and
 * both values. Latency may differ by the rounding of its rows. */
int copper_counts_agree(const struct copper_totals *totals,
                        const struct copper_ops *ops, struct jp_error *err);

#endif
