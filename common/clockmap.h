/* clockmap.h - the one place where times of a node become times of all nodes.
 *
 * Every node has its own clock. A map contains the offset of each clock from
 * that of the reference node, as points over the run with lines between them,
 * and the uncertainty. To compare times of two nodes, map both of them
 * first.
 */
#ifndef JP_COMMON_CLOCKMAP_H
#define JP_COMMON_CLOCKMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The offset C_node - C_reference when the node's clock shows t_ns. */
struct clockmap_point {
    int64_t t_ns, offset_ns;
    double unc_ns; /* largest error of offset_ns */
};

/* Clocks and times count as different if they differ by more than this multiple
 * of their uncertainty. That is of the line of one window; none of 120
 * simulated runs was off by more than three times as much. */
#define CLOCKMAP_SURE 3

struct clockmap_node {
    char *host;
    bool aligned; /* false: nothing ties its clock to the reference */
    bool near; /* never farther from the reference than CLOCKMAP_SURE times the
                  uncertainty: clockmap_us does not change its times */
    struct clockmap_point *points; /* ascending t_ns; none: reference */
    size_t n_points;
};

enum clockmap_method {
    CLOCKMAP_NONE,        /* times of different nodes cannot be compared */
    CLOCKMAP_ONE_NODE,    /* one clock: nothing to do */
    CLOCKMAP_PROBES,      /* by probes between the agents of the step */
    CLOCKMAP_COLLECTIVES, /* by collectives: no rank leaves before the last one
                             has come */
};
const char *clockmap_method_name(enum clockmap_method method);

struct clockmap {
    enum clockmap_method method;
    size_t reference;            /* index of a node */
    struct clockmap_node *nodes; /* ascending host */
    size_t n_nodes;
};

/* Adds a node without a connection to the reference, and keeps the order. A
 * node that exists already is not changed. 0, or -1 without memory. */
int clockmap_add(struct clockmap *map, const char *host);
/* Leaves the map empty: method CLOCKMAP_NONE. */
void clockmap_fini(struct clockmap *map);

/* The node of that name, of len bytes; NULL: not in the map, or map is NULL.
 * Borrowed. */
const struct clockmap_node *clockmap_find(const struct clockmap *map,
                                          const char *host, size_t len);

/* C_node - C_reference when the node's clock shows t_ns. Beyond the points, the
 * lines at the ends continue. t_ns and the points differ by less than 2^62. 0
 * if node is NULL or not aligned. */
int64_t clockmap_offset_ns(const struct clockmap_node *node, int64_t t_ns);
/* The uncertainty of that offset: between two points the larger one; beyond the
 * points it grows by 1 ppm of the distance. INFINITY if node is not aligned; 0
 * for NULL. */
double clockmap_unc_ns(const struct clockmap_node *node, int64_t t_ns);
/* Sets `near` of all nodes, once their points are there. */
void clockmap_settle(struct clockmap *map);

/* A time of the node as a time of the reference, in microseconds. 0 (unknown)
 * stays 0. Times of different nodes can be compared after this call. Their
 * order is kept unless a clock was set back. */
uint64_t clockmap_us(const struct clockmap_node *node, uint64_t t_us);
/* The same in ns. */
uint64_t clockmap_ns(const struct clockmap_node *node, uint64_t t_ns);

#endif
