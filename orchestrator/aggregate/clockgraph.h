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
