/* clockpair.h - two nodes' clocks, compared by the collectives of their ranks.
 *
 * Nobody leaves an AllReduce, AllGather or ReduceScatter before the last rank
 * has entered it. With theta = C_b - C_a, each operation says
 *
 *     start_b - end_a <= theta <= end_b - start_a
 *
 * with the last start and the first end of each node: bounds that nothing can
 * break (common/clockline.h). Their middle is wrong where the same node is
 * always late, by up to half of its lateness. The ends are not: the last rank
 * that arrives sets the end for all, so end_b - end_a is theta but for how long
 * the ranks need to leave, a small part of the operation's own time. So the
 * line follows the ends of the shortest operations, within what the bounds
 * allow.
 *
 * The run is cut into windows, each with a line of its own: clocks drift.
 *
 * A host may see an end early or a start late; such an operation's bounds are
 * wrong. Where the bounds of a window contradict each other, those that most
 * others contradict are left out, if they are few and lie among the others.
 * Many, or all from some moment on, are no errors: a clock was set.
 */
#ifndef JP_AGGREGATE_CLOCKPAIR_H
#define JP_AGGREGATE_CLOCKPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clockline.h"

/* Bounds that a window needs at least, of each kind. */
#define CLOCKPAIR_BOUNDS 8

/* Of so many bounds of a window one may be wrong. */
#define CLOCKPAIR_WRONG 25

/* One operation on the ranks of one node, by that node's clock. */
struct clockpair_stamps {
    int64_t start_ns;   /* of the last rank */
    int64_t end_ns;     /* of the first rank */
    double end_mean_ns; /* of all, after end_ns */
};

enum { CLOCKPAIR_BINS = 64 };

/* The shortest operation of a part of the window. */
struct clockpair_end {
    int64_t t_ns, theta_ns; /* theta by the ends */
    int64_t net_ns;         /* how long the last rank was in it; 0: none */
};

/* theta over one window, on a's clock: a line through two points. */
struct clockpair_window {
    int64_t first_ns, last_ns;
    int64_t theta_first_ns, theta_last_ns;
    double unc_ns;     /* how wrong it may be within */
    bool crossed;      /* the bounds contradict each other: a clock was set */
    uint32_t wrong;    /* operations whose bounds were left out */
    double doubted_ns; /* as unc_ns, where other bounds may be wrong unseen,
                          because some are; 0: not known */
};

/* An operation on both nodes, each by its own clock. */
struct clockpair_op {
    int64_t start_a_ns, end_a_ns, start_b_ns, end_b_ns;
    int64_t theta_ns, net_ns; /* as of clockpair_end */
};

struct clockpair {
    uint32_t a, b; /* nodes */
    int64_t window_ns;
    int64_t begin_ns; /* of the window that is open, on a's clock */
    bool open;
    struct clockline_bounds bounds;
    struct clockpair_end ends[CLOCKPAIR_BINS];
    struct clockpair_op *ops; /* of the open window, in order of arrival */
    size_t n_ops, room_ops;
    struct clockpair_window *windows; /* ascending */
    size_t n_windows, room;
};

void clockpair_init(struct clockpair *pair, uint32_t a, uint32_t b,
                    int64_t window_ns);
void clockpair_fini(struct clockpair *pair);

/* Adds an operation; roughly in order of time. net_ns: how long it kept the
 * rank that came last. 0, or -1 without memory. */
int clockpair_add(struct clockpair *pair, const struct clockpair_stamps *a,
                  const struct clockpair_stamps *b, int64_t net_ns);
/* Ends the last window. 0, or -1 without memory. */
int clockpair_end(struct clockpair *pair);

/* theta when a's clock shows t_ns, from the window that is nearest; *unc_ns how
 * wrong it may be. False: it has none. */
bool clockpair_theta(const struct clockpair *pair, int64_t t_ns,
                     int64_t *theta_ns, double *unc_ns);

#endif
