/* clocks.h - the clocks of a run's nodes, by their collectives and by probes.
 *
 * By collectives: walks the timelines of all processes side by side, compares
 * the clocks of pairs of nodes that have ranks in the same operations
 * (clockpair.h), and solves for all nodes at points over the run
 * (clockgraph.h). Nothing but the recordings or verbose logs is needed, after
 * the fact and from anywhere. By probes: what the nodes' agents measured of
 * each other (clockprobes.h). Where both are there, they check each other.
 *
 * Of long runs it takes every second, third ... operation, so that some 260,000
 * records are compared. Bounds: at most 16 pairs a node, 256 windows a pair, 64
 * MiB of operations that not all ranks have been met of. Time is that of two
 * walks.
 */
#ifndef JP_AGGREGATE_CLOCKS_H
#define JP_AGGREGATE_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clockmap.h"
#include "orchestrator/aggregate/clockprobes.h"

struct timeline;

/* What is said of clocks, in the table of limits with reasons
 * (insight/limits.c). Starts and times contradict each other from such a part
 * on, of so many. */
#define CLOCKS_DISAGREE_SHARE 0.25
#define CLOCKS_DISAGREE_LEAST 20
/* Probes are wrong where more operations than this part do not overlap by them,
 * and fewer than that part of these by the collectives. */
#define CLOCKS_TORN_SHARE 0.1
#define CLOCKS_TORN_LEFT 0.1
/* Operations that do not overlap on one clock are told of from there on; and a
 * map by collectives is as uncertain as more than so many of them miss each
 * other. */
#define CLOCKS_TORN_TOLD 0.05
/* So many of them mean that others are wrong which do overlap. */
#define CLOCKS_TORN_DOUBT 0.005

/* How well the times of different nodes fit together: all ranks of an operation
 * that lets nobody leave early are in it at some moment. */
struct clocks_check {
    uint64_t operations; /* of ranks on more than one node */
    uint64_t violations; /* a rank left before another one had entered */
    int64_t worst_ns;    /* by so much at the worst */
    uint64_t left_out; /* bounds of pairs of nodes that contradict most others:
                          a host saw a start late or an end early */
};

/* Of the times as map says, NULL: as they are. 0, or -1 without memory. */
int clocks_check(struct timeline *const *timelines, size_t n,
                 const struct clockmap *map, struct clocks_check *check);

/* Fills map, which is empty: of all hosts of the timelines. Its method is
 * CLOCKMAP_NONE where no node can be tied to another one. *check (may be NULL):
 * as clocks_check without a map. 0, or -1 without memory: map is empty then. */
int clocks_align(struct timeline *const *timelines, size_t n,
                 struct clockmap *map, struct clocks_check *check);

/* A node's clock against the reference's. */
struct jp_clock {
    const char *host;
    bool aligned, reference;
    double offset_us; /* ahead of the reference's in the middle of the run */
    double drift_ppm; /* how much faster, over the run */
    double unc_us;    /* how wrong offset_us may be, at most over the run */
};

/* How a process arrived at the operations that ranks of several nodes did
 * together, of those of which all ranks' records are there. */
struct clocks_arrival {
    char *host;
    int64_t pid;
    uint64_t operations;
    /* it began last, by more than CLOCKMAP_SURE times what the two clocks are
     * uncertain; of these: it also had the shortest time, which says the same
     * without any clock; by how much it was last in all */
    uint64_t last, both;
    uint64_t late_ns;
    uint64_t quick; /* it had the shortest time, by more than a stamp tells */
};

/* What the agents' probes said. */
struct clocks_probes {
    size_t files; /* 0: no agent has left any, and all else is 0 */
    uint64_t bad_files, windows, bad_windows, exchanges, failures;
    bool tied;          /* they make a map */
    bool used;          /* it is the one */
    bool by_xla;        /* they are the tasks' XLA's, in place of the agents' */
    bool xla_ambiguous; /* XLA's are there, and not on which nodes they are */
    size_t nodes;       /* that they reach, with the reference */
    /* against that of the collectives; worst is an index of nodes[] */
    struct clockprobes_check check;
};

struct jp_clocks {
    struct clockmap map;
    struct clocks_probes probes;
    struct clocks_check before, after; /* of times as they are, and mapped */
    struct jp_clock *nodes;            /* as in map */
    struct clocks_arrival *arrivals;   /* by host and pid */
    size_t n_arrivals;
    /* operations of which starts and times both say who came last, and those of
     * which they name two */
    uint64_t compared, disagreed;
    /* the collectives contradict their own map: what uncertainties were raised
     * to by that, at most; 0: they do not */
    double widened_us;
};

/* Both of these, and a figure a node. nodes: the folder whose
 * <node>/clock.jsonl the agents have left; NULL: none. The map is that of the
 * probes. Nodes that they do not reach have that of the collectives, and so
 * have all where many operations do not overlap by the probes and nearly all by
 * the collectives.
 * NULL without memory. Destroy takes NULL. */
struct jp_clocks *clocks_make(struct timeline *const *timelines, size_t n,
                              const char *nodes);
void clocks_destroy(struct jp_clocks *clocks);

/* What puts all times on one clock; NULL: nothing can, or there is one clock.
 * Borrowed. Takes NULL. */
const struct clockmap *clocks_map(const struct jp_clocks *clocks);
/* One sentence: how far the clocks are apart, and whether times of different
 * nodes compare; "" on one node. Into buf of CLOCKS_TEXT bytes, which it
 * returns. */
enum { CLOCKS_TEXT = 1000 };
char *clocks_text(const struct jp_clocks *clocks, char *buf);

#endif
