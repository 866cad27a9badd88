/* clockwalk.h - walks all timelines side by side and finds the operations that
 * ranks of several nodes did together. For clocks.c only.
 */
#ifndef JP_AGGREGATE_CLOCKWALK_H
#define JP_AGGREGATE_CLOCKWALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clockline.h"
#include "common/clockmap.h"
#include "orchestrator/aggregate/keymap.h"
#include "orchestrator/aggregate/timeline.h"

/* --- two nodes' clocks, compared by the collectives of their ranks ------- */

/* Nobody leaves an AllReduce, AllGather or ReduceScatter before the last rank
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
 * Many, or all from some moment on, are no errors: a clock was set. */

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

struct clocks_check;

/* Later times (after 2096) are not used: their differences in ns would not fit
 * 64 bits. */
#define CLOCKWALK_MAX_US UINT64_C(4000000000000000)

/* An operation of ranks on several nodes, from the records found so far. */
struct clockwalk_met {
    uint32_t series, seen;
    uint64_t sn;
    struct clockwalk_met *next;          /* in its bucket */
    struct clockwalk_met *newer, *older; /* by the time of the first record */
    int64_t net_ns;                      /* the shortest time of a rank */
    int64_t next_net_ns; /* the second-shortest; equal if two ranks share it */
    int64_t start_ns, next_start_ns; /* the last start, and the one before it */
    uint32_t quick;                  /* timeline with net_ns */
    uint32_t last, second; /* timelines with start_ns and next_start_ns */
    struct {
        struct clockpair_stamps stamps;
        uint32_t n;
    } of[]; /* by the communicator's nodes */
};

/* A (communicator, function) with ranks on several nodes. */
struct clockwalk_series {
    uint32_t comm;
    uint32_t members; /* timelines that have it */
    uint64_t whole;   /* operations with a record in each of these */
};

struct clockwalk_comm {
    uint32_t *hosts; /* ascending */
    uint32_t n_hosts;
    struct link {
        uint32_t i, j; /* indexes into hosts */
        uint32_t pair; /* index into clockwalk.pairs; UINT32_MAX: none */
    } * links;
    size_t n_links;
};

/* A node's operations. n: of those whose ranks do not overlap by this node's
 * times, a histogram of the gaps, in bins a quarter of a power of two wide. */
enum { CLOCKWALK_BINS = 252 };
struct clockwalk_gaps {
    uint64_t operations;
    double net_ns; /* mean of their shortest times */
    uint64_t n[CLOCKWALK_BINS];
};

/* A timeline while it is walked. */
struct clockwalk_timeline {
    struct timeline_reader reader;
    struct timeline_event event;
    uint64_t begin_us;
    uint32_t host;
    uint32_t *series; /* for each of its series, the index into
                         clockwalk.series; UINT32_MAX: not used */
    bool opened;
};

struct clockwalk {
    struct timeline *const *timelines;
    size_t n;
    char **hosts; /* ascending */
    uint32_t n_hosts;
    int64_t *first_ns, *last_ns; /* by host: its first and last operation */
    uint64_t stride;             /* every stride-th operation is used */
    struct clockwalk_comm *comms;
    uint32_t n_comms;
    struct keymap comm_map, series_map;
    struct clockwalk_series *series;
    uint32_t n_series;
    struct clockwalk_timeline *walkers;
    uint32_t *heap; /* indexes of walkers; the earliest time is on top */
    size_t n_heap;
    struct clockwalk_met **buckets, *oldest, *newest;
    size_t pending; /* bytes of the operations that are not complete */
    const struct clockmap_node **nodes; /* by host; NULL: times are not
                                           mapped */
    int (*take)(struct clockwalk *walk, const struct clockwalk_met *met);
    struct clocks_check *check;
    struct clocks_arrival *arrivals; /* by timeline; NULL: not wanted */
    uint64_t compared, disagreed;    /* as in struct jp_clocks */
    struct clockwalk_gaps *gaps;     /* by host; NULL: not wanted */
    struct clockpair *pairs;
    uint32_t n_pairs, room_pairs;
    struct keymap pair_map;
    int64_t window_ns;
};

/* Whether a timeline can be used: it is of one process, whose host is known. */
bool clockwalk_counts(const struct timeline *timeline);

/* Borrows the timelines until clockwalk_fini, which the caller calls after a
 * failure, too. 0, or -1: no memory. */
int clockwalk_init(struct clockwalk *walk, struct timeline *const *timelines,
                   size_t n);
void clockwalk_fini(struct clockwalk *walk);

/* Counts an operation in walk->gaps. A take function may call it. */
void clockwalk_note_gap(struct clockwalk *walk,
                        const struct clockwalk_met *met);
/* The gap in ns that no more than this share of a node's operations exceeds. */
double clockwalk_gap_ns(const struct clockwalk_gaps *gaps, double share);

/* How wrong the clock may be without a visible gap, in ns. If at least this
 * share of the operations has a gap, others have wrong times that do not show:
 * half of an operation's time. Otherwise 0. */
double clockwalk_doubt_ns(const struct clockwalk_gaps *gaps, double share);

/* Calls walk->take for every operation, with all records of it that the
 * timelines have. 0; what take returned if that is not 0; -1: no memory. */
int clockwalk_run(struct clockwalk *walk);

#endif
