/* topo.h - a node's GPUs and HCAs, and what lies between them.
 *
 * Built from the node's topology.xml and, if it exists, hardware.json
 * (docs/hardware-format.md). GPUs and HCAs are in PCI order, which is the order
 * of every table and picture. Nothing is guessed: a level, a link or a port's
 * state that no record tells is "unsure" or "unknown".
 *
 * Levels are nvidia-smi's (and, but for NODE, NCCL's): PIX one PCIe switch, PXB
 * several, PHB the host bridge, NODE another host bridge of the same NUMA node,
 * SYS between NUMA nodes. hwloc's common ancestor is taken by a walk of our
 * own.
 */
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
    TOPO_UNSURE, /* the kernel does not tell where a device is attached */
    TOPO_N_LEVELS
};
extern const char *const topo_level_word[TOPO_N_LEVELS]; /* "X" "PIX" .. "?" */

enum topo_vendor { TOPO_NVIDIA, TOPO_AMD, TOPO_INTEL };

/* What is known of a GPU's NVLinks. */
enum topo_links {
    TOPO_LINKS_UNKNOWN,
    TOPO_LINKS_NONE, /* proved: no active link, or a model without NVLink */
    TOPO_LINKS_SOME
};

/* What told it; later ones are better. */
enum topo_source {
    TOPO_FROM_NOTHING,
    TOPO_INFERRED, /* an NVSwitch on the PCI bus; more bandwidth than links */
    TOPO_FROM_HWLOC,
    TOPO_FROM_NVML
};
extern const char *const topo_source_word[TOPO_FROM_NVML + 1];

/* Its place in an NVLink fabric of several nodes (NVML's fabric info). */
struct topo_fabric {
    bool told;      /* somebody asked */
    bool completed; /* the GPU has joined */
    char uuid[40];  /* cluster; "" all zero */
    uint32_t clique;
};

/* What tells a GPU from its like on another node. */
struct topo_self {
    char uuid[64]; /* "GPU-..."; "": unknown */
    int minor;     /* the N of /dev/nvidiaN; -1: unknown */
    struct topo_fabric fabric;
};

struct topo_gpu {
    char busid[24]; /* "0000:1b:00.0"; "": unknown */
    uint16_t device;
    enum topo_vendor vendor;
    char model[64];      /* "": unknown */
    unsigned partitions; /* of AMD's GPU (MI300A in CPX: 6); 0: unknown */
    int package;         /* 0, 1, ... in order; -1: unknown */
    int nvml;            /* NVML's index; -1: unknown */
    enum topo_links links;
    enum topo_source links_from;   /* what told links */
    unsigned links_up, links_down; /* NVML only; else 0 */
    uint64_t switch_mbs;           /* one way to NVSwitches; 0 none */
    bool mig, c2c;
    struct topo_self self; /* of this node; no part of a shape */
};

enum topo_net {
    TOPO_NET_IB,
    TOPO_NET_ROCE,
    TOPO_NET_EFA,
    TOPO_NET_SLINGSHOT,
    TOPO_NET_OTHER, /* Omni-Path, iWARP, ...: nothing NCCL has a word for */
    TOPO_N_NETS
};
extern const char *const topo_net_word[TOPO_N_NETS];

enum topo_port { TOPO_PORT_UNKNOWN, TOPO_PORT_DOWN, TOPO_PORT_ACTIVE };

/* A device with ports; active if one of them is. */
struct topo_hca {
    char name[32]; /* "mlx5_0", "hsn0" */
    char busid[24];
    enum topo_net net;
    enum topo_port port;
    uint32_t active_ports; /* bit 0 is port 1; 0: unknown */
    double rate_gbits;     /* 0: unknown */
    int package;
    bool left_out; /* a variable of NCCL's leaves it out: it is near to none */
    uint32_t pci_mbs; /* of its PCI link, MB/s; 0: unknown */
    bool narrow;      /* its PCI link is far narrower than others': it serves to
                         manage (NVSwitches of HGX B200), and NCCL passes over it */
};

/* NCCL may use it: its port is not down, its PCI link no side door, and no
 * variable leaves it out. */
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

/* The HCAs that a GPU uses: the nearest with an active port (or one of unknown
 * state) that is not too slow; GPUs that share several nearest ones take them
 * in NCCL's order, each as many as there are for it (p5 has four a GPU). Rails
 * are numbered in PCI order among the HCAs that are nearest to some GPU
 * whatever their ports' state, so a port that is down moves no other rail.
 * Which cable goes where the PCI bus does not tell. */
struct topo_near {
    int hca;                      /* the first of them; -1: no active one */
    struct topo_nics nics, wants; /* all; wants: if all ports were active */
    enum topo_level level;
    int rail;       /* of the first; -1: none */
    uint64_t rails; /* of all, a bit each; 0: one of them is on none */
    int wanted; /* the nearest one, if its port were active; -1 no HCA at all */
    enum topo_level wanted_level;
    bool contested; /* a faster one is farther: which NCCL takes depends on
                       speeds of the ways that nobody recorded */
};

struct topo {
    char product[64]; /* DMI's name of the machine; "" */
    char hwloc[32];   /* its version; "" */
    bool virtual_machine;
    bool by_nccl; /* levels are those of NCCL's own file */
    bool power;   /* its NVLinks may lead to CPUs */
    unsigned n_numa, n_packages;
    unsigned n_switches;         /* NVSwitches on the PCI bus */
    bool has_pci;                /* the XML holds PCI devices at all */
    enum topo_source links_from; /* the best of its GPUs' */
    struct topo_gpu *gpus;
    size_t n_gpus;
    struct topo_hca *hcas;
    size_t n_hcas;
    bool hcas_untold; /* there may be more HCAs: nobody could list them */
    bool narrowed;    /* variables of NCCL's leave some HCAs or ports out */
    size_t left_out;  /* devices over the maxima */
    uint8_t *level;   /* of enum topo_level; (n_gpus + n_hcas)^2, GPUs first */
    uint64_t *direct; /* n_gpus^2, MB/s one way of links between two GPUs */
    struct topo_near *near; /* of each GPU */
    unsigned n_rails;
};

/* Takes the places of devices, and what else only it tells, from NCCL's own
 * file of the node (topo_parts.h), which is better than a hypervisor's PCI
 * tree. -1: none of its GPUs is the node's, or there is no memory; topo is as
 * it was.
 */
int topo_prefer(struct topo *topo, const struct topo *nccl,
                struct jp_error *err);

/* What hardware.json says of the node itself; texts are "" where it does not.
 */
struct topo_host {
    char boot_id[40];
    char hostname[64];
};

/* Builds the model. xml is malloc'ed text, xml[len] NUL; taken over. Returns
 * NULL where the XML is no topology. Caller destroys. */
struct topo *topo_make(char *xml, size_t len, struct jp_error *err);

/* The same of hardware.json alone, where there is no XML: GPUs and HCAs, every
 * level unsure; topo_hardware adds the rest. NULL: it cannot be used. */
struct topo *topo_bare(const char *hardware, struct jp_error *err);

/* Reads hardware.json: what it knows better than the XML into topo (links,
 * ports, MIG, fabric; NULL: there is none), and the node itself into host (may
 * be NULL). -1: it cannot be used, both are as they were; also without memory.
 */
int topo_hardware(const char *text, struct topo *topo, struct topo_host *host,
                  struct jp_error *err);
void topo_destroy(struct topo *topo);

/* Index of the GPU with that bus id (any spelling NVML, CUDA or sysfs has); -1
 * none. */
int topo_find_gpu(const struct topo *topo, const char *busid);

/* Level between two devices; GPUs are 0.., HCAs n_gpus... */
enum topo_level topo_level(const struct topo *topo, size_t a, size_t b);
enum topo_level topo_gpu_hca(const struct topo *topo, size_t gpu, size_t hca);

/* What is near to a GPU is known: a hypervisor's PCI tree tells it only where
 * it shows switches, or NCCL's own file does. */
bool topo_placed(const struct topo *topo, size_t gpu);

/* The HCA is among them. */
bool topo_uses(const struct topo_nics *nics, size_t hca);

/* An HCA that NCCL may use is nearer to the GPU than the one that it takes: it
 * is slower. */
bool topo_passes_nearer(const struct topo *topo, size_t gpu);

/* How NVLink joins two GPUs. */
enum topo_nvlink {
    TOPO_NV_NO,
    TOPO_NV_DIRECT,
    TOPO_NV_SWITCH,
    TOPO_NV_UNKNOWN
};
enum topo_nvlink topo_nvlink(const struct topo *topo, size_t a, size_t b);
/* MB/s one way, as the smaller side has it. */
uint64_t topo_nvlink_mbs(const struct topo *topo, size_t a, size_t b);

#endif
