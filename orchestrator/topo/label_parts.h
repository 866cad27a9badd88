/* label_parts.h - what the label_*.c files share: groups of ranks, NCCL's
 * variables, and the parts of a label. */
#ifndef JP_TOPO_LABEL_PARTS_H
#define JP_TOPO_LABEL_PARTS_H

#include "orchestrator/topo/label.h"

/* The ranks of one NVLink domain, which NCCL calls a node. */
struct domain {
    uint32_t ranks;
    int node;          /* node of its first rank; -1: unknown */
    bool many_nodes;   /* MNNVL: its ranks are on several nodes */
    uint64_t gpus;     /* one bit for each GPU of the node */
    bool twice;        /* two ranks on one GPU */
    uint32_t unplaced; /* ranks whose GPU is unknown */
    uint32_t unsure;   /* ranks whose GPU is assumed */
};

/* A node's topology with the adapters that NCCL's variables leave. */
struct label_narrowed {
    const struct topo *of;
    struct topo *topo;
};

/* How ranks fall into domains. */
struct groups {
    const struct jp_label_comm *comm;
    /* As NCCL_IB_HCA, NCCL_IB_DISABLE and NCCL_NET=IB leave them: other
     * adapters are near, or none. Borrowed if no variable leaves anything out.
     */
    const struct jp_label_node *nodes;
    size_t n_nodes;
    struct jp_label_node *own_nodes; /* nodes, or NULL */
    struct label_narrowed *narrowed; /* topologies of own_nodes */
    size_t n_narrowed;
    struct domain *domains;
    size_t n_domains;
    uint32_t *domain_of; /* of comm->ranks[i] */
    uint32_t hosts;      /* number of machines, by boot id */
    uint32_t names;      /* number of host names (and Slurm nodes) on them */
    bool mnnvl;          /* domains are cliques of an NVLink fabric */
    bool split;          /* one host has several names, and each is a domain */
    uint32_t cliques; /* number of cliques of the ranks' GPUs; 0: not every GPU
                         is in one */
    uint32_t fabric_untold, fabric_unjoined; /* of the ranks */
    bool usable;                             /* the domains are known */
    char problem[240];                       /* else why not */
};

/* Returns -1 without memory. groups_fini frees in any case. */
int groups_make(struct groups *groups, const struct jp_label_comm *comm,
                const struct jp_label_node *nodes, size_t n_nodes);
void groups_fini(struct groups *groups);

/* The answer of one part: a word, its evidence, and a clause for `why`. */
struct verdict_of {
    int word;
    enum jp_label_evidence evidence;
    char clause[320];
};

/* The evidence that a fact of that source is. */
enum jp_label_evidence label_evidence_from(enum topo_source source);

/* word: enum jp_fabric. */
void label_fabric(const struct groups *groups, struct verdict_of *out);

/* inter's word: enum jp_inter; rail's: enum jp_rail. Returns the worst rank's
 * way to its HCA, "PIX" and so on; "" if it is unknown or no HCA is used. */
const char *label_inter(const struct groups *groups, struct verdict_of *inter,
                        struct verdict_of *rail);

/* Returns the bits of the GPUs that a domain uses, if they are known or must be
 * all of the node; 0: unknown. *at_most limits the evidence. */
uint64_t groups_gpus(const struct groups *groups, const struct domain *domain,
                     enum jp_label_evidence *at_most);

const struct topo *groups_topo(const struct groups *groups,
                               const struct domain *domain);

/* Returns the value of an NCCL variable; NULL: not set. */
const char *label_variable(const struct jp_label_comm *comm, const char *name);
/* Whether the ranks have different values of it. */
bool label_differs(const struct jp_label_comm *comm, const char *name);
/* Whether the value is a number other than 0. Like NCCL, this reads anything
 * else as 0. */
bool label_is_on(const struct jp_label_comm *comm, const char *name);

/* Returns the ports of adapter `name` that a value of NCCL_IB_HCA leaves: one
 * bit for each port, bit 0 for port 1; 0: the adapter is left out. The value is
 * [^][=]NAME[:PORT[:RAIL[:PLANE]]],... Names are prefixes, or whole names after
 * "=". "^" leaves all adapters but these. A name without a port (or with -1)
 * stands for all ports; a port that is no number stands for none. Only the
 * first 32 names count; without a name all adapters match. Source: NCCL 2.30,
 * net_ib/init.cc, misc/utils.cc. */
uint32_t label_hca_ports(const char *value, const char *name);

/* How GPUs of one host may reach each other without the host. */
enum label_nvlink {
    LABEL_NVLINK_NO,
    LABEL_NVLINK_DIRECT,
    LABEL_NVLINK_BRIDGED /* also through another GPU */
};

struct label_reach {
    enum topo_level pci; /* pairs that are farther apart go through the host */
    enum label_nvlink nvlink;
    bool logged;  /* from NCCL's log */
    char why[48]; /* "": no limit */
};

/* From NCCL_P2P_DISABLE (only 1 disables), NCCL_P2P_LEVEL (an unknown value is
 * ignored) and NCCL's log. */
struct label_reach label_reach(const struct jp_label_comm *comm);
/* Whether NCCL obeys the value of this variable, which is one of those two. */
bool label_limits_p2p(const struct jp_label_comm *comm, const char *name);

#endif
