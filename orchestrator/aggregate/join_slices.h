/* join_slices.h - how long a rank was in a communicator's barrier-like
 * operations, part by part of the run: for join_close.c. */
#ifndef JP_AGGREGATE_JOIN_SLICES_H
#define JP_AGGREGATE_JOIN_SLICES_H

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/join.h"

/* One series cut into parts of equal width in sequence numbers. */
struct slice_cut {
    const struct join_series *series;
    uint64_t start[JP_SLICES]; /* the first number of each part */
    double scale[JP_SLICES];   /* operations / timed ones; NAN: none is timed */
};

/* The series' rows are there and marked as timed. */
void slice_cut_make(struct slice_cut *cut, const struct join_series *series);

/* Adds a lane's times of timed operations, scaled up to all operations, to
 * sums[JP_SLICES]; returns their sum as they are. */
uint64_t slice_cut_add(const struct slice_cut *cut,
                       const struct join_lane *lane, float *sums);

#endif
