/* partial_rows_in.h - the operations being unpacked: for partial_rows*.c only.
 */
#ifndef JP_AGGREGATE_PARTIAL_ROWS_IN_H
#define JP_AGGREGATE_PARTIAL_ROWS_IN_H

#include "orchestrator/aggregate/partial_parts.h"

struct lane_in {
    struct join_member *member;
    struct join_lane *lane;
    const uint8_t *there; /* a bit an operation; NULL: it has all */
};

struct partial_rows {
    uint32_t comm, func;
    enum bandwidth_rule rule;
    struct join_series *series;
    size_t n;
    uint64_t sn[PARTIAL_ROWS];
    struct join_row *rows[PARTIAL_ROWS];
    struct join_block *blocks[PARTIAL_ROWS]; /* they stand in */
    uint64_t sizes[PARTIAL_ROWS];
    double work[PARTIAL_ROWS]; /* of a size: partial_work */
    uint16_t size_at[PARTIAL_ROWS];
    struct lane_in *lanes;
    uint32_t n_lanes;
    bool derived;
    uint64_t shortest[PARTIAL_ROWS];
    uint64_t second[PARTIAL_ROWS];    /* above the shortest; or JOIN_NO_TIME */
    uint64_t above[PARTIAL_ROWS];     /* the longest above the shortest */
    uint64_t above_sum[PARTIAL_ROWS]; /* the sum of that */
    uint64_t rate_sum[PARTIAL_ROWS];
    uint32_t seen[PARTIAL_ROWS], min_rank[PARTIAL_ROWS];
    uint32_t timed[PARTIAL_ROWS]; /* of these, with a time */
    /* the lanes' times where they are not above the shortest */
    uint64_t lane_min[PARTIAL_ROWS], lane_max[PARTIAL_ROWS];
    uint64_t column[PARTIAL_ROWS];
};

/* Times, bandwidths and dump times into the rows and lanes that were found.
 * False: they are not so. */
bool partial_get_values(struct partial_in *r, struct partial_rows *c);

#endif
