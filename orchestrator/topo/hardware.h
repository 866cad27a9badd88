/* hardware.h - hardware.json: a node's GPUs and adapters.
 *
 * Members and words: docs/dev/hardware-format.md. */
#ifndef JP_TOPO_HARDWARE_H
#define JP_TOPO_HARDWARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/error.h"
#include "orchestrator/topo/busid.h"

/* --- nvml.c ------------------------------------------------------------- */

/* What NVIDIA's management library reports about this node's GPUs.
 *
 * libnvidia-ml.so.1 is loaded at run time. All functions but four are optional:
 * if a driver does not have one, its members stay "unknown". The library runs
 * in a child process (nvml_ask), because a driver may hang, crash or write
 * where it should not. The answer is checked.
 *
 * Names, numbers and layouts are those of the NVML API reference (nvml.h of
 * CUDA 13; the versioned structures name theirs). */

#define JP_NVML_LIBRARY "libnvidia-ml.so.1"
/* GPUs of eight trays; NCCL's own limit is 32. */
#define JP_NVML_MAX_GPUS 64
#define JP_NVML_MAX_LINKS 36 /* NVML_NVLINK_MAX_LINKS */
#define JP_NVML_MAX_MIGS 16  /* the hardware has 7 */
#define JP_NVML_TEXT 96

enum jp_nvml_probe {
    JP_NVML_OK,
    JP_NVML_ABSENT,
    JP_NVML_ERROR,
    JP_NVML_TIMEOUT,
    JP_N_NVML_PROBES,
};

enum jp_link_state { JP_LINK_UNKNOWN, JP_LINK_INACTIVE, JP_LINK_ACTIVE };

enum jp_link_remote {
    JP_REMOTE_UNKNOWN,
    JP_REMOTE_GPU,
    JP_REMOTE_SWITCH,
    JP_REMOTE_CPU,
    JP_N_REMOTES,
};

struct jp_nvml_link {
    uint32_t link; /* NVML's number */
    enum jp_link_state state;
    enum jp_link_remote remote;
    int p2p;                     /* 1, 0; -1: unknown */
    int version;                 /* NVML's enumeration; -1: unknown */
    int64_t speed_mbs;           /* one direction; -1: unknown */
    char remote_busid[JP_BUSID]; /* "": none that could be a device */
};

/* NVML's numbers. If asked is false, the others are meaningless. */
struct jp_nvml_fabric {
    bool asked;
    uint32_t state; /* 0 not supported, 1 not started, 2 in progress, 3 done */
    int32_t status; /* only meaningful when done */
    uint8_t cluster[16];
    uint32_t clique;
    int64_t health_mask; /* -1: unknown */
    int health;          /* 1 healthy, 2 unhealthy, 3 limited; -1: unknown */
};

/* Unknown texts are "", unknown numbers -1. */
struct jp_nvml_gpu {
    char busid[JP_BUSID]; /* "0000:1a:00.0" */
    char uuid[JP_NVML_TEXT];
    char model[JP_NVML_TEXT];
    int64_t minor;
    bool links_asked;
    uint32_t n_links;
    struct jp_nvml_link links[JP_NVML_MAX_LINKS];
    int64_t c2c_links, c2c_speed_mbs; /* number of active links; speed of one */
    struct jp_nvml_fabric fabric;
    int mig; /* 1 on, 0 off, -1: unknown */
    uint32_t n_migs;
    char migs[JP_NVML_MAX_MIGS][JP_NVML_TEXT]; /* UUIDs */
};

struct jp_nvml {
    enum jp_nvml_probe probe;
    char text[160]; /* why the probe is not OK */
    char driver[JP_NVML_TEXT];
    char calling[64]; /* the function being called */
    uint32_t n_told;  /* number of GPUs that NVML reports */
    uint32_t n_gpus;  /* number of these in gpus[], each complete */
    struct jp_nvml_gpu gpus[JP_NVML_MAX_GPUS];
};

/* Queries NVML in a child that is killed after limit_ms (one that cannot be
 * killed is left to init). library: a path or a name for dlopen(). Returns the
 * answer, sorted by bus id, which the caller frees; NULL without memory. */
struct jp_nvml *nvml_ask(const char *library, uint32_t limit_ms);

/* Reads the GPUs that NVIDIA's kernel driver lists, for nodes on which NVML
 * does not answer: /proc/driver/nvidia/gpus/<bus id>/information has the model,
 * the UUID and the minor. Replaces the GPUs of out; links, fabric and MIG stay
 * unknown. root: "" for the machine, otherwise the folder in place of /. */
void nvml_read_proc(const char *root, struct jp_nvml *out);

/* --- ports of this node's network adapters that NCCL could use.
 *
 * From sysfs alone: /sys/class/infiniband (InfiniBand, RoCE, EFA, Omni-Path)
 * and, for Slingshot, whose adapters have no RDMA device, /sys/class/net. What
 * the words mean: docs/dev/hardware-format.md.
 */

#define JP_HCA_MAX 256 /* ports of a node, including virtual functions */
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

/* Whether the name is one that Linux gives to Omni-Path's adapters: "hfi1_0",
 * or "opap24s0" by the place on the bus. */
static inline bool hca_name_is_opa(const char *name)
{
    return strncmp(name, "hfi1", 4) == 0 || strncmp(name, "opap", 4) == 0;
}

/* "" means unknown. */
struct jp_hca {
    char name[JP_HCA_TEXT];
    uint32_t port; /* from 1; 0 for a network device */
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
    struct jp_hca ports[JP_HCA_MAX]; /* sorted by bus id, name, port */
    char trouble[160]; /* why the list is not complete; "": it is complete */
};

/* Reads the ports in a child that is killed after limit_ms, because a port's
 * state comes from the adapter's firmware. root: "" for the machine, otherwise
 * the folder in place of /. A machine without adapters has an empty list.
 * Caller frees; NULL without memory. */
struct jp_hcas *hca_ask(const char *root, uint32_t limit_ms);

#define JP_SHAPE_LEN 17

/* Where topology.xml comes from. */
enum jp_topo_source { JP_TOPO_NONE, JP_TOPO_HWLOC, JP_TOPO_SITE };

struct jp_hardware {
    const char *node, *topology_addr; /* "": unknown */
    const char *hwloc;                /* version; "": not used */
    enum jp_topo_source source;
    char shape[JP_SHAPE_LEN];
    size_t xml_bytes;
    const char *why; /* why there is no topology.xml */
    const struct jp_nvml *nvml;
    const struct jp_hcas *hcas;
};

/* Returns the file's text, which the caller frees, and its length; NULL without
 * memory. Host name and boot id are those of this machine. */
char *hardware_format(const struct jp_hardware *hardware, size_t *len,
                      struct jp_error *err);

/* Computes one number for all nodes that are wired alike: a hash of hwloc's XML
 * without what differs between equal machines (host and kernel names, serial
 * numbers, UUIDs, GUIDs, addresses, sizes of memory, what a job's cgroup
 * allows). Objects, their places, PCI ids and classes, models, port states and
 * distances count. It works on the text, by lines and attributes, so that a
 * thousand nodes need no thousand imports. Writes 16 hexadecimal digits to out;
 * any text has a number, even if it is not XML. */
void hardware_shape(const char *xml, size_t len, char out[JP_SHAPE_LEN]);

#endif
