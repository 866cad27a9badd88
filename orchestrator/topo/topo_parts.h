/* topo_parts.h - the steps in which a topology is made.
 *
 * Each takes what the earlier ones left in the model.
 */
#ifndef JP_TOPO_TOPO_PARTS_H
#define JP_TOPO_TOPO_PARTS_H

#include "orchestrator/topo/hwxml.h"
#include "orchestrator/topo/topo.h"

/* Where the devices of the model stand in the XML; -1 not there. */
struct topo_places {
    int gpu[TOPO_MAX_GPUS];
    int hca[TOPO_MAX_HCAS];
};

/* GPUs and HCAs, in PCI order. -1 without memory. */
int topo_devices(const struct hwxml *xml, struct topo *topo,
                 struct topo_places *places);

/* NVLink by hwloc's matrix, by the model, by an NVSwitch on the bus. */
int topo_links(const struct hwxml *xml, const struct topo_places *places,
               struct topo *topo);

/* Each GPU's HCA, and rails; again where ports have changed. */
int topo_nearest(struct topo *topo);

/* Copies text, other than printable ASCII as '?', cut to fit, without
 * blanks at its end. */
void topo_copy(char *out, size_t size, const char *text);

#endif
