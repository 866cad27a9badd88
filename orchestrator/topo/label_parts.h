/* label_parts.h - the steps of labelling one communicator.
 */
#ifndef JP_TOPO_LABEL_PARTS_H
#define JP_TOPO_LABEL_PARTS_H

#include "orchestrator/topo/label.h"

/* The ranks of one NVLink domain as NCCL sees it ("node" in its words). */
struct domain {
    uint32_t ranks;
    int node;          /* index of its first rank's node; -1 not known */
    bool many_nodes;   /* MNNVL: its ranks are on several */
    uint64_t gpus;     /* a bit for each GPU of the node */
    bool twice;        /* two ranks on one GPU */
    uint32_t unplaced; /* ranks whose GPU is not known */
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
    uint32_t hosts;      /* machines, by boot id */
    uint32_t names;      /* host names (and Slurm's nodes) on them */
    bool mnnvl;          /* domains are cliques of an NVLink fabric */
    bool split;          /* one host, several names, as many domains */
    uint32_t cliques;    /* of all ranks' GPUs; 0: not all are in one */
    uint32_t fabric_untold, fabric_unjoined; /* of the ranks */
    bool usable;                             /* the domains are known */
    char problem[240];                       /* else why not */
};

/* Returns -1 without memory. groups_fini frees in any case. */
int groups_make(struct groups *groups, const struct jp_label_comm *comm,
                const struct jp_label_node *nodes, size_t n_nodes);
void groups_fini(struct groups *groups);

/* A part's answer: a word, its evidence, a clause for `why`. */
struct verdict_of {
    int word;
    enum jp_label_evidence evidence;
    char clause[320];
};

/* word: enum jp_fabric. */
void label_fabric(const struct groups *groups, struct verdict_of *out);

/* inter's word: enum jp_inter; rail's: enum jp_rail. Returns the worst rank's
 * way to its HCA, "PIX" and so on; "" if it is unknown or no HCA is used. */
const char *label_inter(const struct groups *groups, struct verdict_of *inter,
                        struct verdict_of *rail);

/* The GPUs that a domain may use, and what is known of the choice: the bits of
 * the GPUs if they are known (or must be all of the node); 0: not known. */
uint64_t groups_gpus(const struct groups *groups, const struct domain *domain,
                     enum jp_label_evidence *at_most);

const struct topo *groups_topo(const struct groups *groups,
                               const struct domain *domain);

/* The value of a variable of NCCL's that is set; NULL. */
const char *label_variable(const struct jp_label_comm *comm, const char *name);
/* Its ranks have several values of it. */
bool label_differs(const struct jp_label_comm *comm, const char *name);
/* A number that is not 0, as NCCL reads numbers: what is none is 0. */
bool label_is_on(const struct jp_label_comm *comm, const char *name);

/* What a value of NCCL_IB_HCA leaves of adapter `name`: a bit for each port,
 * bit 0 of port 1; 0: it is left out. [^][=]NAME[:PORT[:RAIL[:PLANE]]],...:
 * names are prefixes, whole ones behind "="; "^" leaves all but these. A name
 * without a port (or with -1) is all of its ports, a port that is no number
 * none. Of more than 32 names the first count; without any all match.
 * NCCL 2.30: net_ib/init.cc, misc/utils.cc. */
uint32_t label_hca_ports(const char *value, const char *name);

/* How far GPUs of one host reach each other by themselves. */
enum label_nvlink {
    LABEL_NVLINK_NO,
    LABEL_NVLINK_DIRECT,
    LABEL_NVLINK_BRIDGED /* also through a GPU between */
};

struct label_reach {
    enum topo_level pci; /* pairs that are farther go through the host */
    enum label_nvlink nvlink;
    bool logged;  /* NCCL's log says so */
    char why[48]; /* "": nothing is set */
};

/* NCCL_P2P_DISABLE (1 alone disables), NCCL_P2P_LEVEL (a value that NCCL does
 * not know is none) and NCCL's log. */
struct label_reach label_reach(const struct jp_label_comm *comm);
/* Whether NCCL obeys the value of this variable, which is one of those two. */
bool label_limits_p2p(const struct jp_label_comm *comm, const char *name);

#endif
