/* clocks.h - the clocks of a run's nodes, by their collectives and by probes.
 *
 * By collectives: walks the timelines of all processes side by side, compares
 * the clocks of pairs of nodes that have ranks in the same operations
 * (clockwalk.h), and solves for all nodes at points over the run
 * (clockgraph.c). Nothing but the recordings or verbose logs is needed, after
 * the fact and from anywhere. By probes: what the nodes' agents measured of
 * each other (clockprobes.h). Where both are there, they check each other.
 *
 * Of long runs it uses every second, third ... operation, so that it compares
 * some 260,000 records. Limits: 16 pairs for each node, 256 windows for each
 * pair, 64 MiB of operations that are not complete yet. It takes the time of
 * two walks over the timelines.
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

/* How well the times of different nodes fit together. In a collective that lets
 * nobody leave early, there is a moment at which all ranks are inside. */
struct clocks_check {
    uint64_t operations; /* with ranks on more than one node */
    uint64_t violations; /* of these, a rank left before another had entered */
    int64_t worst_ns;    /* the longest such gap */
    uint64_t left_out; /* bounds of pairs of nodes that contradict most others,
                          because a host saw a start late or an end early */
};

/* Checks times mapped by map, or unmapped where map is NULL. 0, or -1: no
 * memory. */
int clocks_check(struct timeline *const *timelines, size_t n,
                 const struct clockmap *map, struct clocks_check *check);

/* Fills the empty map for all hosts of the timelines. Its method is
 * CLOCKMAP_NONE if no two nodes can be compared. *check (may be NULL) becomes
 * clocks_check of unmapped times. 0, or -1: no memory, and map is empty. */
int clocks_align(struct timeline *const *timelines, size_t n,
                 struct clockmap *map, struct clocks_check *check);

/* A node's clock against the reference's. */
struct jp_clock {
    const char *host;
    bool aligned, reference;
    double offset_us; /* how far ahead it is in the middle of the run */
    double drift_ppm; /* how much faster it runs, over the whole run */
    double unc_us;    /* the largest uncertainty of the offset in the run */
};

/* How a process arrived at the operations with ranks on several nodes and with
 * records of all ranks. */
struct clocks_arrival {
    char *host;
    int64_t pid;
    uint64_t operations;
    uint64_t last; /* it began last, by more than CLOCKMAP_SURE times the
                      uncertainty of the two clocks */
    uint64_t both; /* of these, it also had the shortest time, which shows the
                      last rank without any clock */
    uint64_t late_ns; /* by how much it was last, in sum */
    uint64_t quick;   /* it had the shortest time, by more than the time stamps'
                         resolution */
};

/* What the agents' probes said. */
struct clocks_probes {
    size_t files; /* of agents; 0: there are none, and all else is 0 */
    uint64_t bad_files, windows, bad_windows, exchanges, failures;
    bool tied;          /* they connect nodes, so there is a map by probes */
    bool used;          /* that map is used */
    bool by_xla;        /* the probes are the tasks' XLA's, not the agents' */
    bool xla_ambiguous; /* XLA probed, but its files do not show on which nodes
                         */
    size_t nodes;       /* nodes that they reach, and the reference */
    /* Against the map by collectives; worst is an index into nodes[]. */
    struct clockprobes_check check;
};

struct jp_clocks {
    struct clockmap map;
    struct clocks_probes probes;
    struct clocks_check before, after; /* of unmapped and of mapped times */
    struct jp_clock *nodes;            /* in the order of map */
    struct clocks_arrival *arrivals;   /* sorted by host and pid */
    size_t n_arrivals;
    /* Operations in which both starts and times show the last rank, and those
     * of these in which they show different ranks. */
    uint64_t compared, disagreed;
    /* The largest uncertainty after it was raised because collectives
     * contradict their own map; 0: they do not. */
    double widened_us;
};

/* Compares the clocks by collectives and by probes. nodes: the folder with the
 * agents' <node>/clock.jsonl; NULL: none. Probes make the map. Nodes that they
 * do not reach get the map by collectives. All nodes get that map if many
 * operations do not overlap by the probes and nearly all do by the collectives.
 * NULL: no memory. clocks_destroy takes NULL. */
struct jp_clocks *clocks_make(struct timeline *const *timelines, size_t n,
                              const char *nodes);
void clocks_destroy(struct jp_clocks *clocks);

/* The map of all times to one clock, borrowed. NULL: there is only one clock,
 * or no map. Takes NULL. */
const struct clockmap *clocks_map(const struct jp_clocks *clocks);
/* Writes one sentence into buf (CLOCKS_TEXT bytes) and returns buf: how far the
 * clocks are apart, and whether times of different nodes can be compared. ""
 * for one node. */
enum { CLOCKS_TEXT = 1000 };
char *clocks_text(const struct jp_clocks *clocks, char *buf);

#endif
