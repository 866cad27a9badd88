/* shapes.h - the nodes of a job, by their distinct shapes.
 *
 * Two nodes have one shape when everything that labels and pictures use is the
 * same: devices, places, links, ports' states. What tells equal machines apart
 * (UUIDs, GUIDs, names, their place in a fabric) is kept a node. So a thousand
 * nodes cost a thousand small records and a few topologies.
 */
#ifndef JP_TOPO_SHAPES_H
#define JP_TOPO_SHAPES_H

#include <jansson.h>
#include <stdio.h>

#include "orchestrator/topo/topo.h"

#define SHAPES_MAX_XML (64u << 20)
#define SHAPES_MAX_JSON (4u << 20)
#define SHAPES_MAX_NCCL (4u << 20)

struct jp_shape_node {
    char *name;
    struct topo_host host;  /* from hardware.json; "": unknown */
    int shape;              /* index; -1: no topology, see why */
    struct topo_self *gpus; /* n_gpus of the shape; NULL none */
    char *why;              /* no topology: the reason; NULL */
    char *note;             /* a record that was ignored; NULL */
};

struct jp_shape {
    struct topo *topo; /* its UUIDs and fabrics are those of the first node */
    uint64_t hash;     /* of what is the same */
    char *key;
    size_t key_len;
    size_t n_nodes;
};

/* Zero-initialised by its owner. */
struct jp_shapes {
    struct jp_shape *shapes; /* most nodes first once shapes_sort was called */
    size_t n_shapes;
    struct jp_shape_node *nodes;
    size_t n_nodes;
    size_t node_room, shape_room;
};

void shapes_fini(struct jp_shapes *shapes);

/* Adds a node by texts: xml (malloc'ed, taken over, xml[len] NUL; NULL: why
 * says why) and hardware.json or NULL. -1 without memory. */
int shapes_add(struct jp_shapes *shapes, const char *name, char *xml,
               size_t len, const char *hardware, const char *why,
               struct jp_error *err);

/* Adds a node from <folder>/topology.xml and <folder>/hardware.json. What
 * cannot be read of these is that node's `why` and `note`. NCCL's own file is
 * preferred where there is one, in the step's folder of the node (NULL: none)
 * or in this one. */
#define SHAPES_NCCL_FILE "nccl-topo.xml"
int shapes_add_folder(struct jp_shapes *shapes, const char *name,
                      const char *folder, const char *step,
                      struct jp_error *err);

/* Most frequent shape first; nodes keep their order. */
int shapes_sort(struct jp_shapes *shapes, struct jp_error *err);

/* "A", "B", ... "Z", "AA" into buf. */
char *shapes_letter(size_t shape, char buf[8]);

/* The names of a shape's nodes, folded: "n[01-16],login1". malloc'ed; NULL
 * without memory. shape -1: of the nodes without topology. At most `max` bytes,
 * then "...". */
char *shapes_names(const struct jp_shapes *shapes, int shape, size_t max);
/* The same of some nodes, by their indices. */
char *shapes_fold(const struct jp_shapes *shapes, const uint32_t *nodes,
                  size_t n, size_t max);

/* Adds what path has: an XML file; a job's directory (nodes/<node>/), or a
 * step's in it; a folder of such node folders; a folder of .xml files. Nodes in
 * order of name; links are not followed below path. Returns how many nodes were
 * added, 0: none, -1 and err. */
long topo_find(const char *path, struct jp_shapes *shapes,
               struct jp_error *err);

/* --- topo_print.c ------------------------------------------------------- */

/* Topologies for people, programs and browsers.
 */

/* One block a shape: what it is, the matrix of nvidia-smi topo -m, each GPU's
 * HCA, what is odd; then the nodes without a topology. */
int topo_print(const struct jp_shapes *shapes, FILE *out, struct jp_error *err);

/* The same as one JSON object (docs/topology.md). NULL without memory. */
json_t *topo_json(const struct jp_shapes *shapes);

/* A picture of a shape as an <svg> element that stands alone or in a page,
 * whose colours it takes. gpu_text: a line for each GPU, as "r0 r8"; NULL, or
 * NULL for one: none. title: its name for readers that do not see. */
void topo_svg(const struct topo *topo, const char *const *gpu_text,
              const char *title, FILE *out);

/* "nvswitch 450 GB/s a GPU (nvml)": the NVLink of a shape in a few words. */
void topo_links_text(const struct topo *topo, char *buf, size_t size);

#endif
