/* shapes.h - the nodes of a job, grouped by their distinct shapes.
 *
 * Two nodes have the same shape if everything that labels and pictures use is
 * equal: devices, places, links, port states. What differs between equal
 * machines (UUIDs, GUIDs, names, the place in a fabric) is kept for each node.
 * A thousand nodes thus need a thousand small records and a few topologies. */
#ifndef JP_TOPO_SHAPES_H
#define JP_TOPO_SHAPES_H

#include "orchestrator/topo/topo.h"

#define SHAPES_MAX_XML (64u << 20)
#define SHAPES_MAX_JSON (4u << 20)
#define SHAPES_MAX_NCCL (4u << 20)

struct jp_shape_node {
    char *name;
    struct topo_host host;  /* from hardware.json; "": unknown */
    int shape;              /* index; -1: no topology, see why */
    struct topo_self *gpus; /* one for each GPU of the shape; NULL: none */
    char *why;              /* why there is no topology; NULL */
    char *note;             /* which record was ignored, and why; NULL */
};

struct jp_shape {
    struct topo *topo; /* its UUIDs and fabrics are those of the first node */
    uint64_t hash;     /* hash of the key */
    char *key;
    size_t key_len;
    size_t n_nodes;
};

/* Zero-initialised by its owner. */
struct jp_shapes {
    struct jp_shape *shapes; /* most nodes first after shapes_sort */
    size_t n_shapes;
    struct jp_shape_node *nodes;
    size_t n_nodes;
    size_t node_room, shape_room;
};

void shapes_fini(struct jp_shapes *shapes);

/* Adds a node from texts: xml (allocated, taken over, xml[len] is NUL; NULL:
 * `why` is the reason) and hardware.json or NULL. Returns -1 without memory. */
int shapes_add(struct jp_shapes *shapes, const char *name, char *xml,
               size_t len, const char *hardware, const char *why,
               struct jp_error *err);

/* Adds a node from <folder>/topology.xml and <folder>/hardware.json. What
 * cannot be read becomes the node's `why` and `note`. NCCL's own file is
 * preferred if it exists, in the step's folder of the node (NULL: none) or in
 * this folder. */
#define SHAPES_NCCL_FILE "nccl-topo.xml"
int shapes_add_folder(struct jp_shapes *shapes, const char *name,
                      const char *folder, const char *step,
                      struct jp_error *err);

/* Sorts the shapes, most frequent first; nodes keep their order. */
int shapes_sort(struct jp_shapes *shapes, struct jp_error *err);

/* Writes "A", "B", ... "Z", "AA" to buf. Returns buf. */
char *shapes_letter(size_t shape, char buf[8]);

/* Returns the names of a shape's nodes, folded: "n[01-16],login1". Allocated;
 * NULL without memory. shape -1: nodes without a topology. At most `max` bytes,
 * then "...". */
char *shapes_names(const struct jp_shapes *shapes, int shape, size_t max);
/* The same for some nodes, by their indices. */
char *shapes_fold(const struct jp_shapes *shapes, const uint32_t *nodes,
                  size_t n, size_t max);

#endif
