/* hardware.h - hardware.json: what a node says of its GPUs and adapters.
 *
 * Members and words: docs/hardware-format.md.
 */
#ifndef JP_TOPO_HARDWARE_H
#define JP_TOPO_HARDWARE_H

#include <stddef.h>

#include "common/error.h"
#include "orchestrator/topo/hca.h"
#include "orchestrator/topo/nvml.h"
#include "orchestrator/topo/shape.h"

/* Where topology.xml comes from. */
enum jp_topo_source { JP_TOPO_NONE, JP_TOPO_HWLOC, JP_TOPO_SITE };

struct jp_hardware {
    const char *node, *topology_addr; /* "" not told */
    const char *hwloc;                /* version; "" where it was not asked */
    enum jp_topo_source source;
    char shape[JP_SHAPE_LEN];
    size_t xml_bytes;
    const char *why; /* there is no topology.xml */
    const struct jp_nvml *nvml;
    const struct jp_hcas *hcas;
};

/* The file's text (caller frees) and its length, NULL without memory. Host name
 * and boot id are this machine's. */
char *hardware_format(const struct jp_hardware *hardware, size_t *len,
                      struct jp_error *err);

#endif
