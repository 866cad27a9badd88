/* clockprobes.h - one time for all nodes, by what their agents measured.
 *
 * Each agent has left lines: how far a neighbour's CLOCK_MONOTONIC is from its
 * own, a line a window (plugins/clock/clock_read.h). At points over the run all
 * clocks are solved for (below), and with each node's own word on its
 * wall clock the result is a map of the times that recordings carry. A wall
 * clock that was set makes a step in the map where it was set.
 */
#ifndef JP_AGGREGATE_CLOCKPROBES_H
#define JP_AGGREGATE_CLOCKPROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clockmap.h"
#include "plugins/clock/clock_read.h"

/* Windows of one pair, by start. */
struct clockprobes_edge {
    uint32_t from, to; /* of files */
    const struct clock_window *windows;
    size_t n; /* those with a line */
};

struct clockprobes {
    struct clock_file *files; /* ascending node */
    size_t n_files;
    struct clockprobes_edge *edges;
    size_t n_edges;
    uint64_t windows, bad_windows; /* with a line, and without */
    uint64_t exchanges, failures;
    uint64_t bad_files; /* that could not be read */
};

/* Reads <nodes>/<node>/clock.jsonl of all nodes; without any there are no
 * files. 0, or -1 without memory. Fini takes zeros. */
int clockprobes_read(const char *nodes, struct clockprobes *probes);
/* Of files that are read, which are its own from then on. 0, or -1 without
 * memory: the files are gone, too. */
int clockprobes_take(struct clock_file *files, size_t n,
                     struct clockprobes *probes);
void clockprobes_fini(struct clockprobes *probes);

/* Adds the nodes of files that belong to no host of the map, by Slurm's name:
 * none where no file belongs to any of its hosts, as the files may be of other
 * names for the same nodes. 0, or -1 without memory. */
int clockprobes_hosts(const struct clockprobes *probes, struct clockmap *map);

/* Fills map, which is empty, for the given hosts (ascending): Slurm's names of
 * nodes, or what gethostname() says there. reference: the host that is taken if
 * probes reach it. The method is CLOCKMAP_NONE where they tie no two of them.
 * 0, or -1 without memory. */
int clockprobes_map(const struct clockprobes *probes, const char *const *hosts,
                    size_t n_hosts, size_t reference, struct clockmap *map);

/* Two maps of the same hosts, held against each other. */
struct clockprobes_check {
    bool done;       /* both say something of the same nodes */
    size_t compared; /* nodes besides the reference */
    size_t apart;    /* of them: farther than both uncertainties together */
    size_t worst;    /* index of the node that is off most */
    double apart_us, allowed_us; /* there */
};
void clockprobes_compare(const struct clockmap *a, const struct clockmap *b,
                         struct clockprobes_check *check);
/* Nodes that map does not reach and other does are taken from there, where both
 * have the same reference; other keeps them as not aligned. */
void clockprobes_fill(struct clockmap *map, struct clockmap *other);
/* Of the nodes on which the two disagree: where they differ by more than both
 * allow, map is as uncertain as they are apart. */
void clockprobes_doubt(struct clockmap *map, const struct clockmap *other);

/* The same by what the tasks' XLA has measured (plugins/clock/clock_xla.h).
 *
 * In <nodes>/../raw each process has written its own file into its node's
 * folder. So a process index is on the node whose folder has its file; where
 * that names two nodes, *ambiguous is set and nothing is taken. Otherwise,
 * where XLA's probes tell of as many nodes as probes does, they take its place:
 * who told the tasks to probe wants theirs. 0, or -1 without memory: probes is
 * released. */
int clockxla_replace(const char *nodes, struct clockprobes *probes,
                     bool *by_xla, bool *ambiguous);

/* --- from the distances of pairs of clocks to one time for all ----------- */

/* Each pair that was compared is an edge: what clock `to` shows less what clock
 * `from` shows. Every clock's offset against the reference comes from weighted
 * least squares over all edges (weight 1 / uncertainty^2), so that a loop whose
 * edges do not add up to zero spreads its error. With equal weights this is the
 * projection of Huygens (Geng et al., NSDI 2018); redundant edges halve the
 * error of a tree. */

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
    double unc_ns;     /* along the best way to the reference, whose edges are
                          as wrong as they say or miss the solution by; at least
                          what any of its edges misses it by, where that is more
                          than CLOCKMAP_SURE times the edge's own error */
};

/* Solves for n_clocks of n_edges, both at least 1; `reference` is a clock. An
 * edge that contradicts the others by more than five times its uncertainty is
 * left out where it is in a loop, the worst first. 0, or -1 without memory. */
int clockgraph_solve(struct clockgraph_edge *edges, size_t n_edges,
                     uint32_t reference, struct clockgraph_clock *clocks,
                     size_t n_clocks);

#endif
