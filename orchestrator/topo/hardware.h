/* hardware.h - hardware.json: what a node says of its GPUs and adapters.
 *
 * Members and words: docs/hardware-format.md.
 */
#ifndef JP_TOPO_HARDWARE_H
#define JP_TOPO_HARDWARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/topo/busid.h"
#include "orchestrator/topo/nvml.h"

/* --- ports of this node's network adapters that NCCL could use.
 *
 * From sysfs alone: /sys/class/infiniband (InfiniBand, RoCE, EFA, Omni-Path)
 * and, for Slingshot, whose adapters have no RDMA device, /sys/class/net. What
 * the words mean: docs/hardware-format.md.
 */

#define JP_HCA_MAX 256 /* ports of a node; virtual functions too */
#define JP_HCA_TEXT 64
#define JP_HCA_NETDEVS 8

enum jp_hca_kind {
    JP_HCA_UNKNOWN,
    JP_HCA_IB,
    JP_HCA_ROCE,
    JP_HCA_EFA,
    JP_HCA_SLINGSHOT,
    JP_HCA_OPA,
    JP_N_HCA_KINDS,
};

extern const char *const hca_kind_word[JP_N_HCA_KINDS];

/* "" is "unknown". */
struct jp_hca {
    char name[JP_HCA_TEXT];
    uint32_t port; /* from 1; 0 of a network device */
    char busid[JP_BUSID];
    char vendor[8], device[8]; /* "15b3" */
    char driver[JP_HCA_TEXT];
    enum jp_hca_kind kind;
    char link_layer[JP_HCA_TEXT];
    char state[16], phys_state[JP_HCA_TEXT];
    double rate_gbits; /* 0: unknown */
    char node_guid[JP_HCA_TEXT], sys_image_guid[JP_HCA_TEXT], gid[JP_HCA_TEXT];
    char netdevs[JP_HCA_NETDEVS][16];
    uint32_t n_netdevs;
    bool vf;
};

struct jp_hcas {
    uint32_t n;
    struct jp_hca ports[JP_HCA_MAX]; /* by bus id, name, port */
    char trouble[160]; /* why the list is not complete; "": it is */
};

/* root: "" for the machine, else the folder that stands for /. A machine
 * without adapters has none of them. In a child that is killed after limit_ms:
 * a port's state comes from the adapter's firmware. Caller frees; NULL without
 * memory. */
struct jp_hcas *hca_ask(const char *root, uint32_t limit_ms);

#define JP_SHAPE_LEN 17

/* Where topology.xml comes from. */
enum jp_topo_source { JP_TOPO_NONE, JP_TOPO_HWLOC, JP_TOPO_SITE };

struct jp_hardware {
    const char *node, *topology_addr; /* "": unknown */
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
