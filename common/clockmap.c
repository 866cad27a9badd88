/* clockmap.c - times of a node as times of the reference. Between two points of
 * a node, the offset is interpolated; beyond them, the first or last line
 * continues with growing uncertainty. */
#include "common/clockmap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clockline.h"
#include "common/vector.h"

/* The latest time that is converted, in microseconds: differences in ns must
 * fit into 64 bits. In the year 2096. */
#define TIME_MAX_US UINT64_C(4000000000000000)
/* How fast the uncertainty grows beyond the points: 1 ppm, by which a quartz
 * deviates if its temperature changes. */
#define BEYOND 1e-6

const char *clockmap_method_name(enum clockmap_method method)
{
    static const char *const names[] = {
        [CLOCKMAP_NONE] = "none",
        [CLOCKMAP_ONE_NODE] = "one node",
        [CLOCKMAP_PROBES] = "probes",
        [CLOCKMAP_COLLECTIVES] = "collectives",
    };

    return names[method];
}

int clockmap_add(struct clockmap *map, const char *host)
{
    size_t at = 0;
    char *name;

    /* Nodes are kept in order, for clockmap_find. */
    for (size_t high = map->n_nodes; at < high;) {
        size_t middle = at + (high - at) / 2;

        if (strcmp(map->nodes[middle].host, host) < 0)
            at = middle + 1;
        else
            high = middle;
    }
    if (at < map->n_nodes && strcmp(map->nodes[at].host, host) == 0)
        return 0;
    if (vector_resize(&map->nodes, map->n_nodes + 1, sizeof(*map->nodes)) < 0)
        return -1;
    name = strdup(host);
    if (!name)
        return -1;
    memmove(&map->nodes[at + 1], &map->nodes[at],
            (map->n_nodes - at) * sizeof(*map->nodes));
    map->nodes[at] = (struct clockmap_node){.host = name};
    /* The reference moves if the node is inserted before it. */
    map->reference += map->n_nodes && at <= map->reference;
    map->n_nodes++;
    return 0;
}

void clockmap_fini(struct clockmap *map)
{
    for (size_t i = 0; i < map->n_nodes; i++) {
        free(map->nodes[i].host);
        free(map->nodes[i].points);
    }
    free(map->nodes);
    memset(map, 0, sizeof(*map));
}

/* Binary search by name. */
const struct clockmap_node *clockmap_find(const struct clockmap *map,
                                          const char *host, size_t len)
{
    size_t low = 0, high = map ? map->n_nodes : 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *name = map->nodes[middle].host;
        /* host has no NUL: equal only if name ends there, too. */
        int order = strncmp(host, name, len);

        if (order == 0 && name[len] == '\0')
            return &map->nodes[middle];
        if (order > 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* The index of the first point at or after t_ns, or of the last one; at least
 * 1, so that there is a point before it. The node has two points or more. */
static size_t point_after(const struct clockmap_node *node, int64_t t_ns)
{
    size_t low = 1, high = node->n_points - 1;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (node->points[middle].t_ns < t_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t clockmap_offset_ns(const struct clockmap_node *node, int64_t t_ns)
{
    const struct clockmap_point *a, *b;
    double slope;

    if (!node || !node->aligned || !node->n_points)
        return 0;
    if (node->n_points == 1)
        return node->points[0].offset_ns;
    /* Beyond the points, this is the first or the last line, which
     * continues. */
    b = &node->points[point_after(node, t_ns)];
    a = b - 1;
    slope = (double) (b->offset_ns - a->offset_ns) /
            (double) (b->t_ns - a->t_ns);
    return a->offset_ns + llround(slope * (double) (t_ns - a->t_ns));
}

double clockmap_unc_ns(const struct clockmap_node *node, int64_t t_ns)
{
    const struct clockmap_point *first, *last, *b;

    if (!node)
        return 0;
    if (!node->aligned)
        return INFINITY;
    /* The reference itself. */
    if (!node->n_points)
        return 0;
    first = &node->points[0];
    last = &node->points[node->n_points - 1];
    /* Outside of the points, the uncertainty grows with the distance. */
    if (t_ns <= first->t_ns)
        return first->unc_ns + BEYOND * (double) (first->t_ns - t_ns);
    if (t_ns >= last->t_ns)
        return last->unc_ns + BEYOND * (double) (t_ns - last->t_ns);
    b = &node->points[point_after(node, t_ns)];
    return fmax(b->unc_ns, b[-1].unc_ns);
}

void clockmap_settle(struct clockmap *map)
{
    for (size_t i = 0; i < map->n_nodes; i++) {
        struct clockmap_node *node = &map->nodes[i];

        /* A node without points (the reference) is near. */
        node->near = node->aligned;
        for (size_t k = 0; k < node->n_points; k++)
            node->near &= fabs((double) node->points[k].offset_ns) <=
                          CLOCKMAP_SURE * node->points[k].unc_ns;
    }
}

uint64_t clockmap_us(const struct clockmap_node *node, uint64_t t_us)
{
    int64_t offset;

    /* Times that differ by less than their uncertainty are not changed. */
    if (!node || node->near || t_us == 0 || t_us > TIME_MAX_US)
        return t_us;
    offset = clockmap_offset_ns(node, (int64_t) t_us * 1000);
    /* Rounded to the nearest microsecond. A time before 1970 cannot be
     * represented. */
    offset = (offset + (offset < 0 ? -500 : 500)) / 1000;
    return offset < 0 || (uint64_t) offset < t_us ? t_us - (uint64_t) offset
                                                  : t_us;
}

uint64_t clockmap_ns(const struct clockmap_node *node, uint64_t t_ns)
{
    int64_t offset;

    if (!node || node->near || t_ns == 0 || t_ns / 1000 > TIME_MAX_US)
        return t_ns;
    offset = clockmap_offset_ns(node, (int64_t) t_ns);
    return offset < 0 || (uint64_t) offset < t_ns ? t_ns - (uint64_t) offset
                                                  : t_ns;
}
