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

#define JP_SHAPE_LEN 17

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

/* One number for all nodes that are wired alike: a hash of hwloc's XML without
 * what tells equal machines apart (host and kernel names, serial numbers,
 * UUIDs, GUIDs, addresses, sizes of memory, what a job's cgroup allows). What
 * counts stays: objects, their places, PCI ids and classes, models, port
 * states, distances. It works on the text, by lines and attributes, so that a
 * thousand nodes cost a thousand readings and not a thousand imports. 16
 * hexadecimal digits into out; any text has one, also one that is no XML. */
void hardware_shape(const char *xml, size_t len, char out[JP_SHAPE_LEN]);

#endif
