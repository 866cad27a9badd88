/* clockgraph.h - from the distances of pairs of clocks to one time for all.
 *
 * Each pair that was compared is an edge: what clock `to` shows less what clock
 * `from` shows. Every clock's offset against the reference comes from weighted
 * least squares over all edges (weight 1 / uncertainty^2), so that a loop whose
 * edges do not add up to zero spreads its error. With equal weights this is the
 * projection of Huygens (Geng et al., NSDI 2018); redundant edges halve the
 * error of a tree.
 */
#ifndef JP_AGGREGATE_CLOCKGRAPH_H
#define JP_AGGREGATE_CLOCKGRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clockmap.h"
#include "orchestrator/aggregate/clockpair.h"
#include "orchestrator/aggregate/keymap.h"
#include "orchestrator/aggregate/timeline.h"

struct clockgraph_edge {
    uint32_t from, to; /* clocks */
    int64_t theta_ns;  /* C_to - C_from */
    double unc_ns;     /* uncertainty; below CLOCKGRAPH_LEAST_NS counts as so */
    double residual_ns; /* result: how far it is from the solution */
    bool left_out;      /* result: it contradicted the others */
};

#define CLOCKGRAPH_LEAST_NS 50.0
/* Clocks that would be farther from the reference, by 36 years, are not
 * reachable. */
#define CLOCKGRAPH_FAR_NS ((int64_t) 1 << 60)

struct clockgraph_clock {
    bool reachable;    /* from the reference; the rest is 0 if not */
    int64_t offset_ns; /* C - C_reference */
    double unc_ns;     /* along the best way to the reference, and at least what
                          the loops through its edges do not add up to */
};

/* Solves for n_clocks of n_edges, both at least 1; `reference` is a clock. An
 * edge that contradicts the others by more than five times its uncertainty is
 * left out where it is in a loop, the worst first. 0, or -1 without memory. */
int clockgraph_solve(struct clockgraph_edge *edges, size_t n_edges,
                     uint32_t reference, struct clockgraph_clock *clocks,
                     size_t n_clocks);

/* The operations that ranks of several nodes did together: all
 * timelines are walked side by side. For clocks.c only.
 */

/* Times that can be, so that their differences in ns fit: until 2096. */
#define CLOCKWALK_MAX_US UINT64_C(4000000000000000)

/* An operation of ranks on several nodes, as far as it has been met. */
struct clockwalk_met {
    uint32_t series, seen;
    uint64_t sn;
    struct clockwalk_met *next;          /* in its bucket */
    struct clockwalk_met *newer, *older; /* by when it was met first */
    int64_t net_ns;                      /* the shortest time of a rank */
    int64_t next_net_ns;                 /* the second one; as many: equal */
    int64_t start_ns, next_start_ns; /* the last start, and the one before */
    uint32_t quick, last, second;    /* timelines: of net_ns, of these */
    struct {
        struct clockpair_stamps stamps;
        uint32_t n;
    } of[]; /* by the communicator's nodes */
};

/* A (communicator, function) with ranks on several nodes. */
struct clockwalk_series {
    uint32_t comm;
    uint32_t members; /* timelines */
    uint64_t whole;   /* operations of which all of them have a record */
};

struct clockwalk_comm {
    uint32_t *hosts; /* ascending */
    uint32_t n_hosts;
    struct link {
        uint32_t i, j; /* of hosts */
        uint32_t pair; /* of the walk's; UINT32_MAX: none */
    } * links;
    size_t n_links;
};

/* A timeline while it is walked. */
struct clockwalk_timeline {
    struct timeline_reader reader;
    struct timeline_event event;
    uint64_t begin_us;
    uint32_t host;
    uint32_t *series; /* of its own; UINT32_MAX: tells nothing */
    bool opened;
};

struct clockwalk {
    struct timeline *const *timelines;
    size_t n;
    char **hosts; /* ascending */
    uint32_t n_hosts;
    int64_t *first_ns, *last_ns; /* of the operations, by host */
    uint64_t stride;             /* each so many-th operation is met */
    struct clockwalk_comm *comms;
    uint32_t n_comms;
    struct keymap comm_map, series_map;
    struct clockwalk_series *series;
    uint32_t n_series;
    struct clockwalk_timeline *walkers;
    uint32_t *heap; /* walkers, the one that is least far first */
    size_t n_heap;
    struct clockwalk_met **buckets, *oldest, *newest;
    size_t pending;                     /* bytes */
    const struct clockmap_node **nodes; /* by host; NULL: times as they are */
    int (*take)(struct clockwalk *walk, const struct clockwalk_met *met);
    struct clocks_check *check;
    struct clocks_arrival *arrivals; /* by timeline; NULL: not asked for */
    uint64_t compared, disagreed;    /* as in struct jp_clocks */
    struct clockpair *pairs;
    uint32_t n_pairs, room_pairs;
    struct keymap pair_map;
    int64_t window_ns;
};

/* Whether a timeline is one of a process on a node. */
bool clockwalk_counts(const struct timeline *timeline);

/* The timelines are borrowed until fini, which is called in any case. 0, or -1
 * without memory. */
int clockwalk_init(struct clockwalk *walk, struct timeline *const *timelines,
                   size_t n);
void clockwalk_fini(struct clockwalk *walk);

/* Hands every operation to walk->take, whole where the timelines have it whole.
 * 0, or what take returned; -1 without memory. */
int clockwalk_run(struct clockwalk *walk);

#endif
