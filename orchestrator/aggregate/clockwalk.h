/* clockwalk.h - the operations that ranks of several nodes did together: all
 * timelines are walked side by side. For clocks.c only.
 */
#ifndef JP_AGGREGATE_CLOCKWALK_H
#define JP_AGGREGATE_CLOCKWALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clockmap.h"
#include "orchestrator/aggregate/clockpair.h"
#include "orchestrator/aggregate/keymap.h"
#include "orchestrator/aggregate/timeline.h"

struct clocks_check;

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

/* A node's operations, and those that do not overlap by its times: by how much,
 * in bins a quarter of a power of 2 wide. */
enum { CLOCKWALK_BINS = 252 };
struct clockwalk_gaps {
    uint64_t operations;
    double net_ns; /* how long the last rank was in them, on average */
    uint64_t n[CLOCKWALK_BINS];
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
    struct clockwalk_gaps *gaps;     /* by host; NULL: not asked for */
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

/* For take: counts an operation in gaps. */
void clockwalk_note_gap(struct clockwalk *walk,
                        const struct clockwalk_met *met);
/* By how much less than that part of a node's operations miss others; in ns. */
double clockwalk_gap_ns(const struct clockwalk_gaps *gaps, double share);

/* Where that part of them does not overlap, others are wrong unseen: what
 * operations leave open, half of their time. Else 0. */
double clockwalk_doubt_ns(const struct clockwalk_gaps *gaps, double share);

/* Hands every operation to walk->take, whole where the timelines have it whole.
 * 0, or what take returned; -1 without memory. */
int clockwalk_run(struct clockwalk *walk);

#endif
