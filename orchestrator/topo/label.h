/* label.h - what a communicator runs over, why, and what is odd about it.
 *
 * A pure function of plain facts: the communicator's sizes as NCCL counts them,
 * where its ranks are, and the topologies of their nodes. The rules stand in
 * docs/topology.md with their sources. What no record proves is "unknown", and
 * `why` says what is missing.
 *
 * evidence is that of the fabric; where there is none (one rank a node), of
 * inter:
 *   observed  NCCL's own log named the transport
 *   nvml      the node's NVML told the links
 *   hwloc     the node's topology.xml did
 *   inferred  follows from facts, but nobody told it: an NVSwitch on the bus;
 *             every choice of GPUs gives the same; what NCCL does by default
 *   assumed   the ranks' GPUs are by order of local ranks
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
    JP_FABRIC_XGMI,   /* AMD's links join all pairs */
    JP_FABRIC_XELINK, /* Intel's do */
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
    JP_INTER_TCP,
    JP_INTER_LIBFABRIC, /* over hardware that no record tells */
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
    JP_EVIDENCE_NVML,
    JP_EVIDENCE_OBSERVED,
    JP_N_EVIDENCES
};
extern const char *const label_evidence_word[JP_N_EVIDENCES];

enum jp_warning_kind {
    JP_WARN_NO_NVLINK,   /* nvlink-only, and no NVLink carries it */
    JP_WARN_HCA_DOWN,    /* the nearest HCA's port is down */
    JP_WARN_HCA_FAR,     /* the HCA in use is a socket away */
    JP_WARN_HCA_SHARED,  /* several GPUs on one HCA while others idle */
    JP_WARN_CROSS_RAIL,  /* every pair of nodes is on different rails */
    JP_WARN_MNNVL_OFF,   /* one NVLink fabric, and NCCL goes without */
    JP_WARN_SPLIT_HOST,  /* NCCL takes one host for several */
    JP_WARN_FORCED_PATH, /* an NCCL_* variable decides */
    JP_WARN_TCP,         /* sockets, though an active HCA is there */
    JP_WARN_DEAD_NVLINK, /* GPUs of one node with unequal links */
    JP_WARN_ODD_NODE,    /* a node unlike all the others of the step */
    JP_N_WARNINGS
};
extern const char *const label_warning_word[JP_N_WARNINGS];

/* One thing, on one or many nodes. */
struct jp_warning {
    enum jp_warning_kind kind;
    char text[320];  /* without the nodes */
    uint32_t *nodes; /* indices, ascending; NULL: about the communicator */
    uint32_t n_nodes, room;
};

#define LABEL_MAX_WARNINGS 24

struct jp_label {
    enum jp_fabric fabric;
    enum jp_inter inter;
    enum jp_rail rail;
    const char *hca_path; /* "PIX" ... "P2C"; "" none or not known */
    enum jp_label_evidence evidence;
    struct jp_carriers carriers;
    char why[600]; /* one sentence with rules and numbers */
    struct jp_warning *warnings;
    size_t n_warnings, warnings_left_out;
};

/* A node of the step. */
struct jp_label_node {
    const char *name;        /* Slurm's */
    const char *boot_id;     /* "": unknown, then the node is its own host */
    const struct topo *topo; /* NULL: no record */
    const struct topo_self *selves; /* of each GPU of topo; NULL: topo's */
    const char *why;                /* no topo: the reason, "no topology.xml" */
};

/* A rank that was seen. */
struct jp_label_rank {
    uint32_t rank;
    int node;         /* index; -1: nobody knows */
    const char *host; /* as the process calls it; "": unknown */
    int gpu;          /* of the node's topology; -1: not known */
    bool sure;        /* of the GPU: exact, not assumed */
    bool mig;         /* a MIG device of that GPU */
};

/* What NCCL's log named, counted over channels. */
struct jp_label_paths {
    uint64_t p2p, shm, net_ib, net_socket, net_plugin;
    uint64_t mnnvl;            /* of p2p: NVLink across hosts */
    uint64_t net_gdr, net_pxn; /* of the net's: GPUDirect RDMA; PXN */
    char device[32];           /* one of those used; "": unknown */
    char net[32];              /* a plugin's own name, "FasTrak"; "" none */
    bool layer_ib, layer_roce; /* what the log calls the ports */
    bool collnet;              /* in-network reduction was connected */
    char collnet_name[32];     /* "SHARP"; "": unknown */
    bool told_channels;        /* the log says how many it has ... */
    bool nvls_channels;        /* ... and some are NVLS's */
    bool nvls;                 /* NVLS's buffers were made */
};

/* Adds lines "via NET/<net>/..." whose port is of `layer` ("IB", "RoCE", "").
 */
void label_paths_net(struct jp_label_paths *paths, const char *net,
                     const char *layer, uint64_t lines);

extern const char *const label_nvls_word[3];

struct jp_label_variable {
    const char *name, *value;
    bool differs; /* another rank has another value, or none */
};

struct jp_label_comm {
    uint32_t n_ranks, nnodes; /* as NCCL says */
    bool guessed;             /* from the ranks and hosts seen */
    bool collective;          /* it ran collectives, not only Send and Recv */
    const struct jp_label_rank *ranks;
    size_t n;                           /* ranks seen */
    const struct jp_label_paths *paths; /* NULL: no log */
    /* NCCL_* that choose paths, of any of its ranks */
    const struct jp_label_variable *variables;
    size_t n_variables;
};

/* Labels one communicator. label: set whatever it held; label_fini frees. -1
 * without memory. */
int label_comm(const struct jp_label_comm *comm,
               const struct jp_label_node *nodes, size_t n_nodes,
               struct jp_label *label);
void label_fini(struct jp_label *label);

/* The warning with the nodes it is about, one line. Returns buf. */
char *label_warning_text(const struct jp_warning *warning,
                         const struct jp_label_node *nodes, char *buf,
                         size_t size);

#endif
