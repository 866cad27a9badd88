/* topo_print.h - topologies for people, programs and browsers.
 */
#ifndef JP_TOPO_TOPO_PRINT_H
#define JP_TOPO_TOPO_PRINT_H

#include <jansson.h>
#include <stdio.h>

#include "orchestrator/topo/shapes.h"

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
