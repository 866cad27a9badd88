/* topodraw.h - the nodes' hardware for readers: as text, as JSON and as
 * pictures.
 *
 * What the hardware is, and what communicators run over, is known without this
 * folder (orchestrator/topo). Here is only how it is shown: `jobprof topo`, the
 * section of the page, and that of summary.txt. */
#ifndef JP_TOPODRAW_TOPODRAW_H
#define JP_TOPODRAW_TOPODRAW_H

#include <stddef.h>
#include <stdio.h>

#include "common/error.h"
#include "orchestrator/topo/shapes.h"

extern const struct feature feature_topodraw;

/* --- topo_print.c --- */

/* Prints one block for each shape: what it is, the matrix of nvidia-smi topo
 * -m, each GPU's HCA, and what is odd. Then the nodes without a topology. */
int topo_print(const struct jp_shapes *shapes, FILE *out, struct jp_error *err);

/* Writes the same as one JSON object (docs/measuring.md). Returns -1 and err if
 * a write failed. */
int topo_json(const struct jp_shapes *shapes, FILE *out, struct jp_error *err);

/* Formats the NVLink of a shape in a few words: "nvswitch 450 GB/s a GPU
 * (nvml)". buf is "" with fewer than two GPUs. */
void topo_links_text(const struct topo *topo, char *buf, size_t size);

/* --- topo_svg.c --- */

/* Writes a picture of a shape as an <svg> element, which may stand alone or in
 * a page; it uses the page's colours. gpu_text: a line for each GPU, "r0 r8";
 * NULL, or NULL for one GPU: no line. title: a description for readers who do
 * not see the picture. */
void topo_svg(const struct topo *topo, const char *const *gpu_text,
              const char *title, FILE *out);

#endif
