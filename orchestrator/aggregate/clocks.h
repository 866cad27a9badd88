/* clocks.h - the clocks of a run's nodes, by their collectives and by probes.
 *
 * By collectives: walks the timelines of all processes side by side, compares
 * the clocks of pairs of nodes that have ranks in the same operations
 * (below), and solves for all nodes at points over the run
 * (clockgraph.c). Nothing but the recordings or verbose logs is needed, after
 * the fact and from anywhere. By probes: what the nodes' agents measured of
 * each other (below). Where both are there, they check each other.
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

#include "common/clockline.h"
#include "common/clockmap.h"
#include "common/clockwindows.h"
#include "common/hash.h"
#include "common/keymap.h"
#include "orchestrator/aggregate/timeline.h"

/* --- clockprobes.c ------------------------------------------------------ */

/* One time for all nodes, from what their agents measured.
 *
 * Each agent has left lines: how far a neighbour's CLOCK_MONOTONIC is from its
 * own, one line for each window of time (common/clockwindows.h). All
 * clocks are solved for at points over the run (below). With each node's own
 * record of its wall clock, the result is a map of the times that recordings
 * carry. A wall clock that was set makes a step in the map. */

/* Fills map, which is empty, for the given hosts (ascending): Slurm's names of
 * nodes, or what gethostname() returns there. reference: the host that becomes
 * the reference if probes reach it. The method is CLOCKMAP_NONE if probes
 * connect no two of them. 0, or -1: no memory. */
int clockprobes_map(const struct clockprobes *probes, const char *const *hosts,
                    size_t n_hosts, size_t reference, struct clockmap *map);

/* Two maps of the same hosts, compared. */
struct clockprobes_check {
    bool done;       /* both have some nodes in common */
    size_t compared; /* nodes besides the reference */
    size_t apart;    /* of them: farther than both uncertainties together */
    size_t worst;    /* index of the node that is off most */
    double apart_us, allowed_us; /* there */
};

/* --- from the distances of pairs of clocks to one time for all ----------- */

/* Each pair of clocks that was compared is an edge: what clock `to` shows less
 * what clock `from` shows. Every clock's offset against the reference comes
 * from weighted least squares over all edges (weight 1 / uncertainty^2), so
 * that the error of a loop is spread over its edges. With equal weights this is
 * the projection of Huygens (Geng et al., NSDI 2018); redundant edges halve the
 * error of a tree. */

struct clockgraph_edge {
    uint32_t from, to; /* clocks */
    int64_t theta_ns;  /* C_to - C_from */
    double unc_ns;     /* uncertainty; below CLOCKGRAPH_LEAST_NS counts as so */
    double residual_ns; /* result: how far it is from the solution */
    bool left_out;      /* result: it contradicted the others */
};

#define CLOCKGRAPH_LEAST_NS 50.0
/* Clocks that would be farther from the reference than this, 36 years, are not
 * reachable. */
#define CLOCKGRAPH_FAR_NS ((int64_t) 1 << 60)

struct clockgraph_clock {
    bool reachable;    /* from the reference; the rest is 0 if not */
    int64_t offset_ns; /* C - C_reference */
    double unc_ns;     /* along the best way to the reference, with edges as
                        * wrong as their own figure, or as their distance from
                        * the solution; at least what any of its edges misses it
                        * by, where that is more than CLOCKMAP_SURE times the
                        * edge's own error */
};

/* Solves for n_clocks with n_edges, both at least 1; `reference` is a clock. An
 * edge that contradicts the others by more than five times its uncertainty (and
 * 1 us) is left out if it is in a loop, the worst first; at most about a tenth
 * of the edges. 0, or -1: no memory. */
int clockgraph_solve(struct clockgraph_edge *edges, size_t n_edges,
                     uint32_t reference, struct clockgraph_clock *clocks,
                     size_t n_clocks);

/* --- clocks.c ----------------------------------------------------------- */

struct timeline;

/* Starts and times contradict each other if they show different ranks as the
 * last one in a larger share of the operations. In healthy runs, waits that
 * overlap computation cause a tenth of that. */
#define CLOCKS_DISAGREE_SHARE 0.25
/* With fewer operations the error of that share is as large as the share. */
#define CLOCKS_DISAGREE_LEAST 20
/* Probes are in doubt if by them more than CLOCKS_TORN_SHARE of the operations
 * do not overlap, while by the collectives fewer than CLOCKS_TORN_LEFT times as
 * many do not. A wrong stamp separates single operations; a wrong clock
 * separates all operations that are shorter than its error. */
#define CLOCKS_TORN_SHARE 0.1
#define CLOCKS_TORN_LEFT 0.1
/* Operations that do not overlap on one clock are reported if they are a larger
 * share, as a few stamps are late on any busy host. A map by collectives is as
 * uncertain as the gap that no more than this share of them exceeds. */
#define CLOCKS_TORN_TOLD 0.05
/* If more of a node's collectives do not overlap, others are taken to be wrong
 * although they overlap: wrong stamps that contradict nothing move the line. */
#define CLOCKS_TORN_DOUBT 0.005

/* How well the times of different nodes fit together. In a collective that no
 * rank leaves early, there is a moment at which all ranks are inside. */
struct clocks_check {
    uint64_t operations; /* with ranks on more than one node */
    uint64_t violations; /* of these, a rank left before another had entered */
    int64_t worst_ns;    /* the longest such gap */
    uint64_t left_out; /* bounds of pairs of nodes that contradict most others,
                          because a host saw a start late or an end early */
};

/* Fills the empty map for all hosts of the timelines. Its method is
 * CLOCKMAP_NONE if no two nodes can be compared. *check (may be NULL) becomes
 * the check of unmapped times. 0, or -1: no memory, and map is empty. */
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
    uint64_t instance; /* as in struct record */
    uint64_t operations;
    uint64_t last; /* it began last, by more than CLOCKMAP_SURE times the
                      uncertainty of the two clocks */
    uint64_t both; /* of these, it also had the shortest time, which shows the
                      last rank without any clock */
    uint64_t late_ns; /* by how much it was last, in sum */
    uint64_t quick;   /* it had the shortest time, by more than the time stamps'
                         resolution */
};

/* What the agents' probes show. */
struct clocks_probes {
    size_t files; /* of agents; 0: there are none, and all else is 0 */
    uint64_t bad_files, windows, bad_windows, exchanges, failures;
    /* Time between two probes of a neighbour: as requested, and on average; the
     * budget in thousandths of a processor. 0: unknown. */
    uint32_t wanted_us, cadence_us, cpu_permille;
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
 * do not reach get the map by collectives. Clocks are as uncertain as both
 * differ if many operations do not overlap by the probes and nearly all do by
 * the collectives.
 * NULL: no memory. clocks_destroy takes NULL. */
struct jp_clocks *clocks_make(struct timeline *const *timelines, size_t n,
                              const char *nodes);
void clocks_destroy(struct jp_clocks *clocks);

/* In clockprobes.c, for clocks_make: adds what the probes show. clocks->map is
 * the map by collectives at first. 0, or -1 without memory. */
int clockprobes_add(struct jp_clocks *clocks, struct timeline *const *timelines,
                    size_t n, const char *nodes);

/* The map of all times to one clock, borrowed. NULL: there is only one clock,
 * or no map. Takes NULL. */
const struct clockmap *clocks_map(const struct jp_clocks *clocks);
/* Writes one sentence into buf (CLOCKS_TEXT bytes) and returns buf: how far the
 * clocks are apart, and whether times of different nodes can be compared. ""
 * for one node. */
enum { CLOCKS_TEXT = 1000 };
char *clocks_text(const struct jp_clocks *clocks, char *buf);

/* --- scout.c: the clocks of the nodes, found before the records are joined ---
 *
 * An operation keeps the first and the last start of all its ranks, so times of
 * different nodes must be on one clock when they meet in the join. If logs are
 * of several nodes, they are therefore read beforehand, only as far as
 * timelines go, and of a partial only its timelines. For one node this costs a
 * look at the first records of some files.
 */

struct jp_aggregate_options;
struct jp_logwalk;
struct partial_set;

/* The clocks, by timelines of at most `events` operations each. NULL: of one
 * node as far as the first records show, or no memory, or the caller's progress
 * function stopped it. Caller destroys (clocks_destroy). */
struct jp_clocks *scout_clocks(const struct jp_logwalk *walk,
                               const struct partial_set *partials,
                               const struct jp_aggregate_options *options,
                               uint64_t events);

/* --- clockwalk.c -------------------------------------------------------- */

/* Walks all timelines side by side and finds the operations that ranks of
 * several nodes did together. */

/* --- two nodes' clocks, compared by the collectives of their ranks ------- */

/* Nobody leaves an AllReduce, AllGather or ReduceScatter before the last rank
 * has entered it. With theta = C_b - C_a, each operation gives
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

/* The least bounds of each kind that a window needs. */
#define CLOCKPAIR_BOUNDS 8

/* One of so many bounds of a window may be wrong. */
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

/* The pairs of nodes that are compared. Zeros at first. */
struct clockpairs {
    struct clockpair *list;
    uint32_t n, room;
    struct keymap map; /* from both nodes to the index in list */
    int64_t window_ns; /* of all pairs */
};

/* The most windows of a run. */
#define CLOCKPAIR_WINDOWS 256

struct clockwalk;

/* Chooses the pairs of the walk's nodes and compares them over the run, window
 * by window, by clockwalk_run. 0, or -1: no memory; clockpair_fini_all frees in
 * both cases. */
int clockpair_make_all(struct clockpairs *pairs, struct clockwalk *walk);
void clockpair_fini_all(struct clockpairs *pairs);

/* theta when a's clock shows t_ns, from the nearest window; *unc_ns: how wrong
 * it may be. False: there is no window. */
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
    uint32_t place;                      /* in walk->met */
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
        uint32_t pair; /* index into clockpairs.list; UINT32_MAX: none */
    } * links;         /* set by clockpair_make_all, freed by clockwalk_fini */
    size_t n_links;
};

/* A node's operations. n: of those with ranks that do not overlap by this
 * node's times, a histogram of the gaps, in bins a quarter of a power of two
 * wide. */
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
    int64_t length_ns;           /* of the longest timeline */
    uint64_t stride;             /* every stride-th operation is used */
    struct clockwalk_comm *comms;
    uint32_t n_comms;
    struct keymap comm_map, series_map;
    struct clockwalk_series *series;
    uint32_t n_series;
    struct clockwalk_timeline *walkers;
    uint32_t *heap; /* indexes of walkers; the earliest time is on top */
    size_t n_heap;
    /* operations that are not complete, by their series and number; NULL: a
     * free place, of which free_places has the numbers */
    struct clockwalk_met **met;
    uint32_t *free_places;
    uint32_t n_met, n_free;
    struct hash_table pending;
    struct clockwalk_met *oldest, *newest;
    size_t pending_bytes;
    const struct clockmap_node **nodes; /* by host; NULL: times are not
                                           mapped */
    int (*take)(void *arg, const struct clockwalk *walk,
                const struct clockwalk_met *met);
    void *take_arg;
    struct clocks_check *check;
    struct clocks_arrival *arrivals; /* by timeline; NULL: not wanted */
    uint64_t compared, disagreed;    /* as in struct jp_clocks */
    struct clockwalk_gaps *gaps;     /* by host; NULL: not wanted */
};

/* Borrows the timelines until clockwalk_fini, which the caller also calls after
 * a failure. 0, or -1: no memory. */
int clockwalk_init(struct clockwalk *walk, struct timeline *const *timelines,
                   size_t n);
void clockwalk_fini(struct clockwalk *walk);

/* Checks every operation if walk->check is set, and calls walk->take (NULL: not
 * wanted) for it, with all records of it that the timelines have. 0; what take
 * returned if that is not 0; -1: no memory. */
int clockwalk_run(struct clockwalk *walk);

/* Counts which rank came last, in the walk with the final map. */
struct clockwalk_arrivals {
    struct clocks_arrival *arrivals; /* by timeline */
    double *widths_ns; /* by node: the gaps of its operations with this map */
    uint64_t compared, disagreed;
};

/* Checks times mapped by map, or unmapped where map is NULL. *out (may be NULL)
 * is filled if there are several hosts. 0, or -1: no memory. */
int clockwalk_check(struct timeline *const *timelines, size_t n,
                    const struct clockmap *map, struct clocks_check *check,
                    struct clockwalk_arrivals *out);

#endif
