/* topo.h - a node's GPUs and HCAs, and what is between them.
 *
 * Made from the node's topology.xml and, if it exists, hardware.json
 * (docs/dev/hardware-format.md). GPUs and HCAs are in PCI order, which is the
 * order of every table and picture. Nothing is guessed: a level, a link or a
 * port state that no record shows is "unsure" or "unknown".
 *
 * Levels are those of nvidia-smi (and, except for NODE, of NCCL): PIX one PCIe
 * switch, PXB several, PHB the host bridge, NODE another host bridge of the
 * same NUMA node, SYS between NUMA nodes. hwloc's common ancestor is found by a
 * walk of our own. */
#ifndef JP_TOPO_TOPO_H
#define JP_TOPO_TOPO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define TOPO_MAX_GPUS 64
#define TOPO_MAX_HCAS 128

enum topo_level {
    TOPO_SELF,
    TOPO_PIX,
    TOPO_PXB,
    TOPO_PHB,
    TOPO_NODE,
    TOPO_SYS,
    TOPO_UNSURE, /* the kernel does not show where a device is attached */
    TOPO_N_LEVELS
};
extern const char *const topo_level_word[TOPO_N_LEVELS]; /* "X" "PIX" .. "?" */

enum topo_vendor {
    TOPO_NVIDIA,
    TOPO_AMD,
    TOPO_INTEL,
    TOPO_VENDOR_UNKNOWN, /* a file by hand may leave it out */
    TOPO_N_VENDORS
};

/* What is known about a GPU's NVLinks. */
enum topo_links {
    TOPO_LINKS_UNKNOWN,
    TOPO_LINKS_NONE, /* proved: no active link, or a model without NVLink */
    TOPO_LINKS_SOME
};

/* The source of a fact; later ones are better. */
enum topo_source {
    TOPO_FROM_NOTHING,
    TOPO_INFERRED, /* an NVSwitch on the PCI bus; more bandwidth than links */
    TOPO_FROM_HWLOC,
    TOPO_FROM_NCCL, /* NCCL's topology file */
    TOPO_FROM_RCCL, /* RCCL's */
    TOPO_FROM_NVML,
    TOPO_N_SOURCES
};
extern const char *const topo_source_word[TOPO_N_SOURCES];

/* Its place in an NVLink fabric of several nodes (NVML's fabric info). */
struct topo_fabric {
    bool told;      /* the state was queried */
    bool completed; /* the GPU has joined */
    char uuid[40];  /* cluster; "": all zero */
    uint32_t clique;
};

/* What distinguishes a GPU from the same one on another node. */
struct topo_self {
    char uuid[64]; /* "GPU-..."; "": unknown */
    int minor;     /* the N of /dev/nvidiaN; -1: unknown */
    struct topo_fabric fabric;
};

struct topo_gpu {
    char busid[24];  /* "0000:1b:00.0"; "": unknown */
    uint16_t device; /* PCI device id; 0: unknown */
    enum topo_vendor vendor;
    char model[64];      /* "": unknown */
    unsigned partitions; /* of an AMD GPU (MI300A in CPX: 6); 0: unknown */
    int package;         /* 0, 1, ... in order; -1: unknown */
    int nvml;            /* NVML's index; -1: unknown */
    enum topo_links links;
    enum topo_source links_from;   /* source of links */
    unsigned links_up, links_down; /* from NVML only; otherwise 0 */
    uint64_t switch_mbs;           /* to NVSwitches, one direction; 0: none */
    bool mig, c2c;
    struct topo_self self; /* of this node; not part of a shape */
};

enum topo_net {
    TOPO_NET_IB,
    TOPO_NET_ROCE,
    TOPO_NET_EFA,
    TOPO_NET_SLINGSHOT,
    TOPO_NET_OPA,   /* Omni-Path */
    TOPO_NET_OTHER, /* iWARP and others without a word in NCCL */
    TOPO_NET_UNKNOWN,
    TOPO_N_NETS
};
extern const char *const topo_net_word[TOPO_N_NETS];

enum topo_port { TOPO_PORT_UNKNOWN, TOPO_PORT_DOWN, TOPO_PORT_ACTIVE };

/* A device with ports. It is active if one of them is. */
struct topo_hca {
    char name[32]; /* "mlx5_0", "hsn0" */
    char busid[24];
    enum topo_net net;
    enum topo_port port;
    uint32_t active_ports; /* bit 0 is port 1; 0: unknown */
    double rate_gbits;     /* 0: unknown */
    int package;
    bool left_out;    /* an NCCL variable leaves it out, so it is near no GPU */
    uint32_t pci_mbs; /* of its PCI link, MB/s; 0: unknown */
    bool narrow; /* its PCI link is far narrower than that of others: it is a
                    management port (NVSwitches of HGX B200), which NCCL ignores
                  */
};

/* Whether NCCL may use it: its port is not down, its PCI link is not that of a
 * management port, and no variable leaves it out. */
static inline bool topo_hca_open(const struct topo_hca *hca)
{
    return hca->port != TOPO_PORT_DOWN && !hca->left_out && !hca->narrow;
}

#define TOPO_MAX_NEAR 16

/* HCAs of one GPU, in NCCL's order of channels. */
struct topo_nics {
    unsigned n;
    uint8_t hca[TOPO_MAX_NEAR];
};

/* The HCAs that a GPU uses: the nearest ones with an active port (or one of
 * unknown state) that are not too slow. GPUs that share several nearest HCAs
 * take them in NCCL's order, each as many as there are for it (p5 has four per
 * GPU). Rails are numbered in PCI order among the HCAs that are nearest to some
 * GPU whatever their port state, so that a port that is down does not change
 * the numbers. The PCI bus does not show how rails are cabled. */
struct topo_near {
    int hca; /* the first one; -1: no active one */
    /* all of them; wants: if all ports were active */
    struct topo_nics nics, wants;
    enum topo_level level;
    int rail;       /* of the first HCA; -1: none */
    uint64_t rails; /* of all HCAs, one bit each; 0: some HCA is on no rail */
    int wanted; /* the nearest HCA if all ports were active; -1: no HCA at all
                 */
    enum topo_level wanted_level;
    bool contested; /* a faster HCA is farther away; which one NCCL takes
                       depends on bandwidths that are not recorded */
};

struct topo {
    char product[64]; /* the machine's name in DMI; "" */
    char hwloc[32];   /* its version; "" */
    bool virtual_machine;
    /* the record of the devices, and the one of the levels between them */
    enum topo_source devices_from, places_from;
    bool power; /* its NVLinks may lead to CPUs */
    unsigned n_numa, n_packages;
    unsigned n_switches;         /* NVSwitches on the PCI bus */
    bool has_pci;                /* the XML contains PCI devices */
    enum topo_source links_from; /* the best source among its GPUs */
    struct topo_gpu *gpus;
    size_t n_gpus;
    struct topo_hca *hcas;
    size_t n_hcas;
    bool hcas_untold; /* there may be more HCAs that were not listed */
    bool narrowed;    /* NCCL variables leave out some HCAs or ports */
    size_t left_out;  /* devices over the maxima */
    uint8_t *level;   /* of enum topo_level; (n_gpus + n_hcas)^2, GPUs first */
    /* n_gpus^2, MB/s, one direction, of links between two GPUs */
    uint64_t *direct;
    struct topo_near *near; /* of each GPU */
    unsigned n_rails;
};

/* Takes the places of devices, and other facts that only it has, from NCCL's
 * own file of the node (topo_parts.h), which is better than a hypervisor's PCI
 * tree. Returns -1, with topo unchanged, if none of its GPUs is on this node,
 * or without memory. */
int topo_prefer(struct topo *topo, const struct topo *nccl,
                struct jp_error *err);

/* What hardware.json says about the node itself; texts are "" if unknown. */
struct topo_host {
    char boot_id[40];
    char hostname[64];
};

/* Makes the model. xml is allocated text, xml[len] is NUL; it is taken over.
 * Returns NULL if the XML is not a topology. Caller destroys. */
struct topo *topo_make(char *xml, size_t len, struct jp_error *err);

/* Makes the model from hardware.json alone, without XML: GPUs and HCAs, every
 * level unsure; topo_hardware adds the rest. Returns NULL if the text cannot be
 * used. */
struct topo *topo_bare(const char *hardware, struct jp_error *err);

/* Reads hardware.json: adds what it knows better than the XML to topo (links,
 * ports, MIG, fabric; topo may be NULL), and the node itself to host (may be
 * NULL). Returns -1, with both unchanged, if the text cannot be used. Without
 * memory for the HCAs of each GPU it also returns -1, but both are changed. */
int topo_hardware(const char *text, struct topo *topo, struct topo_host *host,
                  struct jp_error *err);
void topo_destroy(struct topo *topo);

/* Returns the index of the GPU with that bus id (in any spelling of NVML, CUDA
 * or sysfs); -1: none. */
int topo_find_gpu(const struct topo *topo, const char *busid);

/* Returns the level between two devices; GPUs are 0.., HCAs n_gpus... */
enum topo_level topo_level(const struct topo *topo, size_t a, size_t b);
enum topo_level topo_gpu_hca(const struct topo *topo, size_t gpu, size_t hca);

/* Whether the levels come from NCCL's or RCCL's own file, which is what these
 * libraries go by. */
static inline bool topo_by_library(const struct topo *topo)
{
    return topo->places_from == TOPO_FROM_NCCL ||
           topo->places_from == TOPO_FROM_RCCL;
}

/* Whether it is known what is near a GPU: in a hypervisor's PCI tree only if
 * that shows switches, or if NCCL's own file was read. */
bool topo_placed(const struct topo *topo, size_t gpu);

/* Whether the HCA is among them. */
bool topo_uses(const struct topo_nics *nics, size_t hca);

/* All NVLink of a GPU, to switches and to other GPUs: MB/s in one direction. */
uint64_t topo_nvlink_all_mbs(const struct topo *topo, size_t gpu);

/* Whether the GPU's HCA is farther away than another one that NCCL may use but
 * passes over, because that one is slower. */
bool topo_passes_nearer(const struct topo *topo, size_t gpu);

/* How NVLink joins two GPUs. */
enum topo_nvlink {
    TOPO_NV_NO,
    TOPO_NV_DIRECT,
    TOPO_NV_SWITCH,
    TOPO_NV_UNKNOWN
};
enum topo_nvlink topo_nvlink(const struct topo *topo, size_t a, size_t b);
/* Returns MB/s in one direction, the smaller value of both sides. */
uint64_t topo_nvlink_mbs(const struct topo *topo, size_t a, size_t b);

#endif
