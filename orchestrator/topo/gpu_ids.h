/* gpu_ids.h - which GPUs can have NVLink, by their PCI device id.
 *
 * The ids are those of the public PCI id list. A model that is in no row may
 * have NVLink or a bridge between two cards: then only a record of its links
 * tells.
 */
#ifndef JP_TOPO_GPU_IDS_H
#define JP_TOPO_GPU_IDS_H

#include <stdbool.h>
#include <stdint.h>

/* The model has no NVLink, nor a connector for a bridge. */
bool gpu_ids_no_nvlink(uint16_t device);

/* AMD's for data centres that call themselves a graphics card (0300). */
bool gpu_ids_is_instinct(uint16_t device);

/* All links of the model together, MB/s one way; 0 unknown. */
uint64_t gpu_ids_nvlink_mbs(uint16_t device);

/* It sits on the same module as a Grace CPU, joined by NVLink-C2C. */
bool gpu_ids_has_c2c(uint16_t device);

/* The PCI device is an NVSwitch: class 0680 and not an nForce chipset, whose
 * parts bear that class too, or a known id. */
bool gpu_ids_is_nvswitch(uint16_t class_id, uint16_t device);

#endif
