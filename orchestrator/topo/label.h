/* label.h - what a communicator runs over, why, and what is odd about it.
 *
 * A pure function of plain facts: the communicator's sizes as NCCL counts them,
 * where its ranks are, and the topologies of their nodes. The rules and their
 * sources are in docs/measuring.md. What no record proves is "unknown", and
 * `why` says what is missing.
 *
 * The evidence is that of the fabric; without a fabric (one rank per node),
 * that of inter:
 *
 *   observed  NCCL's own log named the transport
 *   nvml      the node's NVML reported the links
 *   rccl      RCCL's topology file contains them
 *   nccl      NCCL's topology file does
 *   hwloc     the node's topology.xml does
 *   inferred  it follows from facts, but no record says so: an NVSwitch on the
 *             bus; every choice of GPUs gives the same; NCCL's defaults
 *   assumed   the ranks' GPUs are assumed from the order of local ranks
 */
#ifndef JP_TOPO_LABEL_H
#define JP_TOPO_LABEL_H

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/topo/topo.h"

enum jp_fabric {
    JP_FABRIC_NONE,
    JP_FABRIC_SAME_GPU,
    JP_FABRIC_MNNVL,
    JP_FABRIC_NVSWITCH,
    JP_FABRIC_NVLINK_MESH,
    JP_FABRIC_NVLINK_PARTIAL,
    JP_FABRIC_XGMI, /* AMD's links join all pairs */
    JP_FABRIC_XGMI_PARTIAL,
    JP_FABRIC_XELINK, /* Intel's links do */
    JP_FABRIC_XELINK_PARTIAL,
    JP_FABRIC_PCIE,
    JP_FABRIC_PCIE_HOST,
    JP_FABRIC_PCIE_NUMA,
    JP_FABRIC_UNKNOWN,
    JP_N_FABRICS
};
extern const char *const label_fabric_word[JP_N_FABRICS];

enum jp_inter {
    JP_INTER_NONE,
    JP_INTER_IB,
    JP_INTER_ROCE,
    JP_INTER_EFA,
    JP_INTER_SLINGSHOT,
    JP_INTER_OPA, /* Omni-Path */
    JP_INTER_TCP,
    JP_INTER_LIBFABRIC, /* on hardware that no record shows */
    JP_INTER_FASTRAK,   /* Google's GPUDirect-TCPXO */
    JP_INTER_TCPX,      /* Google's GPUDirect-TCPX */
    JP_INTER_PLUGIN,    /* another network plugin, which `why` names */
    JP_INTER_UNKNOWN,
    JP_N_INTERS
};
extern const char *const label_inter_word[JP_N_INTERS];

enum jp_rail {
    JP_RAIL_NA,
    JP_RAIL_ALIGNED,
    JP_RAIL_PARTIAL,
    JP_RAIL_CROSS,
    JP_RAIL_UNKNOWN,
    JP_N_RAILS
};
extern const char *const label_rail_word[JP_N_RAILS];

enum jp_label_evidence {
    JP_EVIDENCE_NONE, /* nothing is known */
    JP_EVIDENCE_ASSUMED,
    JP_EVIDENCE_INFERRED,
    JP_EVIDENCE_HWLOC,
    JP_EVIDENCE_NCCL,
    JP_EVIDENCE_RCCL,
    JP_EVIDENCE_NVML,
    JP_EVIDENCE_OBSERVED,
    JP_N_EVIDENCES
};
extern const char *const label_evidence_word[JP_N_EVIDENCES];

enum jp_warning_kind {
    JP_WARN_NO_NVLINK,   /* the type is nvlink-only, but no NVLink carries it */
    JP_WARN_HCA_DOWN,    /* the nearest HCA's port is down */
    JP_WARN_HCA_FAR,     /* the HCA in use is on another socket */
    JP_WARN_HCA_SHARED,  /* several GPUs on one HCA while others idle */
    JP_WARN_CROSS_RAIL,  /* every pair of nodes is on different rails */
    JP_WARN_MNNVL_OFF,   /* one NVLink fabric, but NCCL does not use it */
    JP_WARN_SPLIT_HOST,  /* NCCL counts one host as several */
    JP_WARN_FORCED_PATH, /* an NCCL_* variable decides the path */
    JP_WARN_TCP,         /* sockets, although there is an active HCA */
    JP_WARN_DEAD_NVLINK, /* GPUs of one node with unequal links */
    JP_WARN_ODD_NODE,    /* a node that differs from all others of the step */
    JP_N_WARNINGS
};
extern const char *const label_warning_word[JP_N_WARNINGS];
/* What to do about it, a clause. */
extern const char *const label_warning_advice[JP_N_WARNINGS];

/* One warning, about one node or many. */
struct jp_warning {
    enum jp_warning_kind kind;
    char text[320]; /* without the names of the nodes */
    /* indices, ascending; NULL: it concerns the communicator */
    uint32_t *nodes;
    uint32_t n_nodes;
    size_t room;
};

#define LABEL_MAX_WARNINGS 24

struct jp_label {
    enum jp_fabric fabric;
    enum jp_inter inter;
    enum jp_rail rail;
    const char *hca_path; /* "PIX" ... "P2C"; "": none, or unknown */
    enum jp_label_evidence evidence;
    struct jp_carriers carriers;
    char why[600]; /* one sentence with the rule and its numbers */
    struct jp_warning *warnings;
    size_t n_warnings, warnings_left_out;
};

/* A node of the step. */
struct jp_label_node {
    const char *name;        /* Slurm's */
    const char *boot_id;     /* "": unknown; the node then counts as one host */
    const struct topo *topo; /* NULL: no record */
    const struct topo_self *selves; /* for each GPU; NULL: those of topo */
    const char *why; /* why there is no topo, for instance "no topology.xml" */
};

/* A rank that left a record. */
struct jp_label_rank {
    uint32_t rank;
    int node;         /* index; -1: unknown */
    const char *host; /* host name in the process; "": unknown */
    int gpu;          /* index in the node's topology; -1: unknown */
    bool sure;        /* the GPU is exact, not assumed */
    bool mig;         /* a MIG device of that GPU */
};

/* What NCCL's log named, counted in channels. */
struct jp_label_paths {
    uint64_t p2p, shm, net_ib, net_socket, net_plugin;
    uint64_t mnnvl;            /* part of p2p: NVLink across hosts */
    uint64_t net_gdr, net_pxn; /* parts of the net_*: GPUDirect RDMA; PXN */
    char device[32];           /* one of the adapters used; "": unknown */
    char net[32];              /* a plugin's own name, "FasTrak"; "": none */
    bool layer_ib, layer_roce; /* link layers that the log names */
    bool collnet;              /* in-network reduction was connected */
    char collnet_name[32];     /* "SHARP"; "": unknown */
    bool told_channels; /* the log contains the numbers of channels ... */
    bool nvls_channels; /* ... and some of them use NVLS */
    bool nvls;          /* buffers for NVLS were allocated */
};

/* Adds lines "via NET/<net>/..." of a port with that layer ("IB", "RoCE", "").
 */
void label_paths_net(struct jp_label_paths *paths, const char *net,
                     const char *layer, uint64_t lines);

extern const char *const label_nvls_word[3];

struct jp_label_variable {
    const char *name, *value;
    bool differs; /* some rank has another value, or none */
};

struct jp_label_comm {
    uint32_t n_ranks, nnodes; /* as NCCL counts them */
    bool guessed;    /* the sizes are guesses from the ranks and hosts seen */
    bool collective; /* it ran collectives, not only Send and Recv */
    const struct jp_label_rank *ranks;
    size_t n;                           /* ranks seen */
    const struct jp_label_paths *paths; /* NULL: no log */
    /* NCCL_* variables that choose paths, of any of its ranks */
    const struct jp_label_variable *variables;
    size_t n_variables;
};

/* Labels one communicator. Overwrites *label; label_fini frees it. Returns -1
 * without memory. */
int label_comm(const struct jp_label_comm *comm,
               const struct jp_label_node *nodes, size_t n_nodes,
               struct jp_label *label);
void label_fini(struct jp_label *label);

/* Formats the warning with its nodes, as one line. Returns buf. */
char *label_warning_text(const struct jp_warning *warning,
                         const struct jp_label_node *nodes, char *buf,
                         size_t size);

#endif
