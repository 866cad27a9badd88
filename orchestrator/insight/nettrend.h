/* nettrend.h - did the network's time change during a run?
 *
 * The times of one communicator's operations are compared with what is usual
 * of their kind (function and size), so that all its kinds show one course.
 * They are cut into blocks of equal numbers, NETTREND_BLOCKS at most, in order
 * of time. A block's value is the median of the logarithms of its ratios,
 * weighted by the usual times: jitter of single operations does not change it,
 * and neither do many short operations beside a few long ones.
 *
 * A constant, a step, a hump (a step up and back) and a line are fitted to the
 * blocks; a line that counts is fitted again as a time that grows by as much in
 * each block, which is bent where it grows several times. A model counts if it
 * leaves so little that a constant with independent noise would look like it
 * with a probability below `net_chance_max` (an F test with as many degrees of
 * freedom as blocks, less two), and if it grows by more than `net_change_min`.
 * Of step and line the one with the smaller residual is taken; the hump if its
 * residual is less than half of that (`net_hump_max`).
 */
#ifndef JP_INSIGHT_NETTREND_H
#define JP_INSIGHT_NETTREND_H

#include <stdbool.h>
#include <stddef.h>

#define NETTREND_BLOCKS 20

enum nettrend_course { NET_STEADY, NET_STEP, NET_LINE };

struct nettrend_op {
    double at;       /* when, in any unit that grows */
    double log;      /* of its time / the usual time of its kind */
    double usual_us; /* that time: the operation's weight */
};

struct nettrend {
    enum nettrend_course course;
    bool passed; /* NET_STEP: it also went back, at `to` */
    /* Logarithms of the ratio before (at the start of a line) and after (at its
     * end), and the standard error of their difference. */
    double before, after, error;
    /* NET_STEP: operations at `from` or later, and before `to`, are slow.
     * Otherwise all are. */
    double from, to;
    double noise;    /* standard deviation of the blocks; NAN: not judged */
    unsigned blocks; /* 0: not judged */
};

/* Fits the n operations, which it sorts by time. Fewer than `net_ops_min`, or
 * such as usually take less than `net_us_min`, are not judged. */
void nettrend_fit(struct nettrend_op *ops, size_t n, struct nettrend *trend);

/* Returns the smallest growth of the logarithm, in units of the noise, that is
 * found among so many blocks if it begins in the middle of the run. */
double nettrend_least(unsigned blocks);

#endif
