/* label.c - label a communicator, and warn about what is odd.
 *
 * label_comm is the entry. It groups the ranks (label_groups.c), decides what
 * carries the data (label_fabric.c, label_inter.c), and then collects the
 * warnings (warn). */
#include "orchestrator/topo/label.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/vector.h"
#include "orchestrator/topo/label_parts.h"

/* ------------------------------ warnings */

#define NAMED_NODES 4 /* more nodes are only counted */

const char *const label_warning_word[JP_N_WARNINGS] = {
    "no-nvlink",  "hca-down",    "hca-far",    "hca-shared",
    "cross-rail", "mnnvl-off",   "split-host", "forced-path",
    "tcp",        "dead-nvlink", "odd-node"};

const char *const label_warning_advice[JP_N_WARNINGS] = {
    [JP_WARN_NO_NVLINK] = "expect PCIe speed there; tensor parallelism "
                          "belongs on GPUs that NVLink joins",
    [JP_WARN_HCA_DOWN] = "check that port's cable, switch and driver",
    [JP_WARN_HCA_FAR] = "use GPUs near an HCA, or expect less bandwidth",
    [JP_WARN_HCA_SHARED] = "see what NCCL_IB_HCA leaves out, and whether "
                           "the idle one may be used",
    [JP_WARN_CROSS_RAIL] = "order ranks so that a group has the same local "
                           "rank on every node",
    [JP_WARN_MNNVL_OFF] = "check IMEX and NCCL_MNNVL_ENABLE",
    [JP_WARN_SPLIT_HOST] = "give its containers one NCCL_HOSTID and one "
                           "/dev/shm",
    [JP_WARN_FORCED_PATH] = "unset it unless it is intended",
    [JP_WARN_TCP] = "see why NCCL does not take the HCA: NCCL_IB_DISABLE, "
                    "NCCL_NET, libibverbs, permissions, a port down on "
                    "another node",
    [JP_WARN_DEAD_NVLINK] = "check that GPU's NVLinks (nvidia-smi nvlink -s)",
    [JP_WARN_ODD_NODE] = "drain it if steps with it are slower",
};

/* Finds or adds the warning with that text. Returns NULL without memory, or if
 * there are too many. */
static struct jp_warning *
find_or_add(struct jp_label *label, enum jp_warning_kind kind, const char *text)
{
    struct jp_warning *w;

    for (size_t i = 0; i < label->n_warnings; i++)
        if (label->warnings[i].kind == kind &&
            strcmp(label->warnings[i].text, text) == 0)
            return &label->warnings[i];
    if (!label->warnings)
        /* Most labels have no warning, so the array is made late. */
        label->warnings = calloc(LABEL_MAX_WARNINGS, sizeof(*w));
    if (!label->warnings)
        return NULL;
    if (label->n_warnings == LABEL_MAX_WARNINGS) {
        label->warnings_left_out++;
        return NULL;
    }
    w = &label->warnings[label->n_warnings++];
    w->kind = kind;
    snprintf(w->text, sizeof(w->text), "%s", text);
    return w;
}

/* Inserts a node in ascending order. The nodes come in any order and more than
 * once. */
static int add_node(struct jp_warning *w, uint32_t node)
{
    uint32_t at = w->n_nodes;

    /* Searched from the end, because nodes mostly come in order. */
    while (at && w->nodes[at - 1] > node)
        at--;
    if (at && w->nodes[at - 1] == node)
        return 0;
    if (VECTOR_ROOM(w->nodes, (size_t) w->n_nodes + 1, w->room) < 0)
        return -1;
    memmove(&w->nodes[at + 1], &w->nodes[at],
            (w->n_nodes - at) * sizeof(*w->nodes));
    w->nodes[at] = node;
    w->n_nodes++;
    return 0;
}

/* Adds a warning; node -1: about the communicator. Returns -1 without memory; a
 * warning beyond the limit is only counted. */
static int __attribute__((format(printf, 4, 5)))
add_warning(struct jp_label *label, enum jp_warning_kind kind, int node,
            const char *fmt, ...)
{
    struct jp_warning *w;
    char text[sizeof(w->text)];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    w = find_or_add(label, kind, text);
    if (!w)
        /* Without room, NULL is not an error. */
        return label->warnings ? 0 : -1;
    return node >= 0 ? add_node(w, (uint32_t) node) : 0;
}

char *label_warning_text(const struct jp_warning *w,
                         const struct jp_label_node *nodes, char *buf,
                         size_t size)
{
    int n = snprintf(buf, size, "%s", w->text);

    for (uint32_t i = 0; i < w->n_nodes && i < NAMED_NODES; i++)
        if (n >= 0 && (size_t) n < size)
            n += snprintf(buf + n, size - (size_t) n, "%s%s",
                          i ? ", " : " (on ", nodes[w->nodes[i]].name);
    if (w->n_nodes > NAMED_NODES && (size_t) n < size)
        n += snprintf(buf + n, size - (size_t) n, " and %" PRIu32 " more",
                      w->n_nodes - NAMED_NODES);
    if (w->n_nodes && (size_t) n < size)
        snprintf(buf + n, size - (size_t) n, ")");
    return buf;
}

/* --- about NCCL's variables ---------------------------------------------- */

#define NAMED_HCAS 3

/* Variables that force a path, and why that matters. */
static const struct forcing {
    const char *name;
    const char *harmless; /* NCCL's default; NULL: none */
    const char *what;
} forcing[] = {
    {"NCCL_P2P_DISABLE", "0", "GPUs do not reach each other directly"},
    {"NCCL_P2P_LEVEL", NULL, "it sets which GPUs may communicate directly"},
    {"NCCL_SHM_DISABLE", "0", "no shared memory inside a node"},
    {"NCCL_IB_DISABLE", "0", "no InfiniBand and no RoCE"},
    {"NCCL_NET", NULL, "it decides which network is used"},
    {"NCCL_NET_GDR_LEVEL", NULL, "it decides which HCAs a GPU writes to"},
    {"NCCL_CROSS_NIC", "2", "it decides whether rings may change rails"},
    {"NCCL_TOPO_FILE", NULL, "NCCL takes the PCI tree from it"},
    {"NCCL_MNNVL_ENABLE", "2", "it decides on NVLink between nodes"},
};

/* Formats "mlx5_0, mlx5_1 and 3 more" from the adapters that are left out.
 * Returns their number. */
static size_t list_left_out(const struct topo *topo, char *buf, size_t size)
{
    size_t n = 0, at = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < topo->n_hcas; i++) {
        if (!topo->hcas[i].left_out || n++ >= NAMED_HCAS)
            continue;
        at += (size_t) snprintf(buf + at, size - at, "%s%s", n == 1 ? "" : ", ",
                                topo->hcas[i].name);
    }
    if (n > NAMED_HCAS)
        snprintf(buf + at, size - at, " and %zu more", n - NAMED_HCAS);
    return n;
}

/* Warns about what NCCL_IB_HCA leaves out, for each node. */
static int warn_hcas(const struct groups *g, struct jp_label *label)
{
    const char *value = label_variable(g->comm, "NCCL_IB_HCA");
    char names[160];

    if (!value || label_variable(g->comm, "NCCL_NET") ||
        label_is_on(g->comm, "NCCL_IB_DISABLE"))
        return 0; /* these variables decide, whatever NCCL_IB_HCA says */
    if (label_differs(g->comm, "NCCL_IB_HCA"))
        return add_warning(label, JP_WARN_FORCED_PATH, -1,
                           "NCCL_IB_HCA differs among its ranks (%.100s on "
                           "one of them): each rank may use other HCAs",
                           value);
    for (size_t i = 0; i < g->n_domains; i++) {
        const struct topo *topo = groups_topo(g, &g->domains[i]);

        if (!topo && add_warning(label, JP_WARN_FORCED_PATH, -1,
                                 "NCCL_IB_HCA=%.100s is set: it decides "
                                 "which HCAs are used",
                                 value) < 0)
            return -1;
        if (topo && list_left_out(topo, names, sizeof(names)) &&
            add_warning(label, JP_WARN_FORCED_PATH, g->domains[i].node,
                        "NCCL_IB_HCA=%.100s leaves out %s", value, names) < 0)
            return -1;
    }
    return 0;
}

/* Whether the variable's value changes nothing, as NCCL reads it. */
static bool is_harmless(const struct forcing *f, const struct groups *g)
{
    const char *value = label_variable(g->comm, f->name);

    /* Unset, empty, or NCCL's default. */
    if (!value || !*value || (f->harmless && strcmp(value, f->harmless) == 0))
        return true;
    if (strncmp(f->name, "NCCL_P2P_", 9) == 0)
        return !label_limits_p2p(g->comm, f->name);
    return f->harmless && strcmp(f->harmless, "0") == 0 &&
           !label_is_on(g->comm, f->name);
}

/* A file is shown by its name only: the folder may be private. */
static const char *shown(const char *value)
{
    const char *slash = strrchr(value, '/');

    return slash ? slash + 1 : value;
}

/* Warns about variables that force a path. */
static int warn_variables(const struct groups *g, struct jp_label *label)
{
    for (size_t i = 0; i < sizeof(forcing) / sizeof(*forcing); i++) {
        const struct forcing *f = &forcing[i];

        if (!is_harmless(f, g) &&
            add_warning(
                label, JP_WARN_FORCED_PATH, -1, "%s=%.100s is set%s: %s",
                f->name, shown(label_variable(g->comm, f->name)),
                label_differs(g->comm, f->name) ? ", but not by all ranks" : "",
                f->what) < 0)
            return -1;
    }
    return warn_hcas(g, label);
}

/* --- about one GPU of one node ------------------------------------------- */

/* Warns about the HCA of one GPU: its nearest port is down, or it is on another
 * NUMA node. */
static int warn_hca(struct jp_label *label, int node, const struct topo *topo,
                    size_t gpu)
{
    /* With sockets a far or inactive HCA does not matter. */
    bool sockets = label->inter == JP_INTER_TCP;
    const struct topo_near *near = &topo->near[gpu];
    /* The HCA that would be nearest if all ports were active. */
    const struct topo_hca *wanted =
        near->wanted >= 0 ? &topo->hcas[near->wanted] : NULL;

    if (near->hca >= 0 && near->level == near->wanted_level &&
        near->level >= TOPO_SYS)
        wanted = NULL; /* it is far anyway, and another one is as near */
    if (wanted && wanted->port == TOPO_PORT_DOWN && near->hca >= 0 && !sockets)
        return add_warning(
            label, JP_WARN_HCA_DOWN, node,
            "GPU%zu's nearest HCA %s (%s) has no active port; it uses %s (%s)",
            gpu, wanted->name, topo_level_word[near->wanted_level],
            topo->hcas[near->hca].name, topo_level_word[near->level]);
    if (wanted && wanted->port == TOPO_PORT_DOWN)
        return add_warning(label, JP_WARN_HCA_DOWN, node,
                           "GPU%zu's nearest HCA %s (%s) has no active "
                           "port%s",
                           gpu, wanted->name,
                           topo_level_word[near->wanted_level],
                           near->hca < 0 ? ", and no other HCA has one" : "");
    if (near->hca >= 0 && near->level == TOPO_SYS && !sockets)
        return add_warning(
            label, JP_WARN_HCA_FAR, node,
            "GPU%zu's nearest HCA %s is on another NUMA node (SYS)%s", gpu,
            topo->hcas[near->hca].name,
            topo_passes_nearer(topo, gpu) ? "; nearer ones are too slow" : "");
    return 0;
}

/* Returns an HCA near one of the GPUs that none of them uses: active, of the
 * same kind as `busy`, and not slower. -1: none. */
static int idle_hca(const struct topo *topo, uint64_t gpus, int busy)
{
    for (size_t i = 0; i < topo->n_hcas; i++) {
        bool used = false, close = false;

        for (size_t k = 0; k < topo->n_gpus; k++) {
            if (!(gpus >> k & 1))
                continue;
            used |= topo_uses(&topo->near[k].nics, i);
            close |= topo_uses(&topo->near[k].nics, (size_t) busy) &&
                     topo_gpu_hca(topo, k, i) <= TOPO_NODE;
        }
        if (!used && close && !topo->hcas[i].narrow &&
            topo->hcas[i].port == TOPO_PORT_ACTIVE &&
            topo->hcas[i].net == topo->hcas[busy].net &&
            /* An unknown rate does not rule the HCA out. */
            (!(topo->hcas[i].rate_gbits > 0) ||
             !(topo->hcas[i].rate_gbits < topo->hcas[busy].rate_gbits)))
            return (int) i;
    }
    return -1;
}

/* Warns if several GPUs share an HCA while another one is idle. */
static int warn_shared(struct jp_label *label, int node,
                       const struct topo *topo, uint64_t gpus)
{
    for (size_t i = 0; i < topo->n_hcas; i++) {
        unsigned users = 0;
        int idle;

        for (size_t k = 0; k < topo->n_gpus; k++)
            /* GPUs of this domain only. */
            users += gpus >> k & 1 && topo_placed(topo, k) &&
                     topo_uses(&topo->near[k].nics, i);
        idle = users > 1 ? idle_hca(topo, gpus, (int) i) : -1;
        if (idle >= 0 &&
            add_warning(label, JP_WARN_HCA_SHARED, node,
                        "%u GPUs use HCA %s, while %s nearby has an active "
                        "port and is idle%s",
                        users, topo->hcas[i].name, topo->hcas[idle].name,
                        topo->hcas[idle].left_out
                            ? " (NCCL's variables leave it out)"
                            : "") < 0)
            return -1;
    }
    return 0;
}

/* Whether the links of both GPUs can be compared: same model, which is known,
 * and the same source, which knows all links. */
static bool comparable(const struct topo_gpu *a, const struct topo_gpu *b)
{
    return (a->device || *a->model) && a->device == b->device &&
           strcmp(a->model, b->model) == 0 && a->vendor == b->vendor &&
           a->links_from == b->links_from && a->links_from >= TOPO_FROM_HWLOC &&
           !a->mig && !b->mig;
}

/* A bridge joins two cards; a third card next to them may work without one, so
 * it has not lost any link. */
static bool may_lack_bridge(const struct topo *topo, size_t gpu, size_t other)
{
    unsigned peers = 0;

    for (size_t i = 0; i < topo->n_gpus; i++)
        peers += topo->direct[other * topo->n_gpus + i] > 0;
    return !topo_nvlink_all_mbs(topo, gpu) && !topo->gpus[gpu].links_up &&
           !topo->gpus[other].switch_mbs && peers <= 1;
}

/* Warns if a GPU has fewer links than others of its model, which means that
 * links have failed. A GPU that a cgroup hides from NVML looks like one without
 * links. */
static int warn_links(struct jp_label *label, int node, const struct topo *topo,
                      size_t gpu)
{
    const struct topo_gpu *g = &topo->gpus[gpu];
    unsigned most_up = 0;
    uint64_t most = 0;

    /* Nothing can be said about unknown links. */
    if (g->links == TOPO_LINKS_UNKNOWN)
        return 0;
    for (size_t i = 0; i < topo->n_gpus; i++) {
        if (!comparable(&topo->gpus[i], g) || may_lack_bridge(topo, gpu, i))
            continue;
        if (topo_nvlink_all_mbs(topo, i) > most)
            most = topo_nvlink_all_mbs(topo, i);
        if (topo->gpus[i].links_up > most_up)
            most_up = topo->gpus[i].links_up;
    }
    if (g->links_up < most_up)
        return add_warning(label, JP_WARN_DEAD_NVLINK, node,
                           "GPU%zu has %u active NVLinks, its peer %u", gpu,
                           g->links_up, most_up);
    /* Without NVML, bandwidths are compared in place of link counts. */
    if (!most_up && topo_nvlink_all_mbs(topo, gpu) < most)
        return add_warning(label, JP_WARN_DEAD_NVLINK, node,
                           "GPU%zu has %.4g GB/s of NVLink, its peer %.4g", gpu,
                           (double) topo_nvlink_all_mbs(topo, gpu) / 1000,
                           (double) most / 1000);
    return 0;
}

/* Warns about the GPUs of one domain. net: it communicates with other domains.
 */
static int warn_domain(const struct groups *g, const struct domain *domain,
                       bool net, struct jp_label *label)
{
    /* Without a topology, or over several nodes, there is nothing to compare.
     */
    const struct topo *topo = groups_topo(g, domain);
    enum jp_label_evidence at_most;
    uint64_t gpus;
    int node;

    if (!topo || domain->many_nodes)
        return 0;
    node = domain->node;
    gpus = groups_gpus(g, domain, &at_most);
    for (size_t i = 0; i < topo->n_gpus; i++) {
        if (!(gpus >> i & 1))
            continue;
        /* A hypervisor's PCI tree gives no reliable HCA. */
        if (net && topo_placed(topo, i) && warn_hca(label, node, topo, i) < 0)
            return -1;
        if (domain->ranks > 1 && warn_links(label, node, topo, i) < 0)
            return -1;
    }
    return net && label->inter != JP_INTER_TCP
               ? warn_shared(label, node, topo, gpus)
               : 0;
}

/* --- about the communicator ----------------------------------------------- */

/* Compares NCCL's number of nodes with hosts and NVLink cliques. */
static int warn_nodes(const struct groups *g, struct jp_label *label)
{
    const struct jp_label_comm *c = g->comm;

    /* The numbers are incomplete. */
    if (c->guessed || c->n < c->n_ranks)
        return 0;
    if (c->nnodes > g->hosts &&
        add_warning(label, JP_WARN_SPLIT_HOST, -1,
                    "NCCL takes %s host%s (%s host name%s) for %s nodes: %s",
                    FIG_COUNT(g->hosts), plural(g->hosts), FIG_COUNT(g->names),
                    plural(g->names), FIG_COUNT(c->nnodes),
                    label_is_on(c, "NCCL_SHM_DISABLE")
                        ? "with NCCL_SHM_DISABLE, GPUs out of each other's "
                          "reach are apart"
                        : "containers, or another /dev/shm; NCCL_HOSTID "
                          "joins them") < 0)
        return -1;
    if (g->cliques && g->cliques < g->hosts && c->nnodes > g->cliques)
        return add_warning(label, JP_WARN_MNNVL_OFF, -1,
                           "the GPUs of its %s hosts are in %s NVLink "
                           "clique%s, but NCCL counts %s nodes: MNNVL is off "
                           "(no IMEX channel, NCCL_MNNVL_ENABLE=0, or "
                           "P2P disabled)",
                           FIG_COUNT(g->hosts), FIG_COUNT(g->cliques),
                           plural(g->cliques), FIG_COUNT(c->nnodes));
    return 0;
}

/* Warns about sockets if a node has an HCA with an active port. */
static int warn_tcp(const struct groups *g, struct jp_label *label)
{
    for (size_t i = 0; i < g->n_domains; i++) {
        const struct topo *topo = groups_topo(g, &g->domains[i]);

        for (size_t k = 0; topo && k < topo->n_hcas; k++)
            if (topo->hcas[k].port == TOPO_PORT_ACTIVE &&
                topo->hcas[k].net <= TOPO_NET_ROCE)
                return add_warning(label, JP_WARN_TCP, -1,
                                   "sockets carry it, though %s on %s has "
                                   "an active port (%s)",
                                   topo->hcas[k].name,
                                   g->nodes[g->domains[i].node].name,
                                   topo_net_word[topo->hcas[k].net]);
    }
    return 0;
}

/* The fabrics without NVLink. */
static bool is_pcie(enum jp_fabric fabric)
{
    return fabric == JP_FABRIC_PCIE || fabric == JP_FABRIC_PCIE_HOST ||
           fabric == JP_FABRIC_PCIE_NUMA;
}

/* Whether the GPUs are not NVIDIA's, so that NVLink cannot be missing. */
static bool is_foreign(const struct groups *g)
{
    for (size_t i = 0; i < g->n_domains; i++) {
        const struct topo *topo = groups_topo(g, &g->domains[i]);

        if (topo && topo->n_gpus && topo->gpus->vendor != TOPO_NVIDIA)
            return true;
    }
    return false;
}

/* Warnings that follow from the label itself. */
static int warn_label(const struct groups *g, struct jp_label *label)
{
    const struct jp_label_comm *c = g->comm;

    /* The name of the type promises NVLink. */
    if (is_pcie(label->fabric) && !is_foreign(g) &&
        add_warning(label, JP_WARN_NO_NVLINK, -1,
                    "NCCL's own rule calls it %s, but no NVLink carries it "
                    "(%s)",
                    c->nnodes == 1 ? "nvlink-only" : "mixed",
                    label_fabric_word[label->fabric]) < 0)
        return -1;
    /* Send and Recv alone may have any partners. */
    if (label->rail == JP_RAIL_CROSS && c->collective && g->hosts > 1 &&
        add_warning(label, JP_WARN_CROSS_RAIL, -1,
                    "no two of its %zu domains are on the same rail, by PCI "
                    "position: each message crosses the spine",
                    g->n_domains) < 0)
        return -1;
    return label->inter == JP_INTER_TCP ? warn_tcp(g, label) : 0;
}

/* The order of the checks is the order of the warnings. */
static int warn(const struct groups *g, struct jp_label *label)
{
    bool net = label->inter != JP_INTER_NONE;

    if (warn_label(g, label) < 0 || warn_nodes(g, label) < 0 ||
        warn_variables(g, label) < 0)
        return -1;
    for (size_t i = 0; i < g->n_domains; i++)
        if (warn_domain(g, &g->domains[i], net, label) < 0)
            return -1;
    return 0;
}

/* ------------------------------------ the label */

/* Formats `why`: the sizes first, then a clause for each part. */
static void explain(const struct groups *g, const struct verdict_of *fabric,
                    const struct verdict_of *inter,
                    const struct verdict_of *rail, struct jp_label *label)
{
    const struct jp_label_comm *c = g->comm;
    int n = snprintf(label->why, sizeof(label->why),
                     "%s %s node%s for %s rank%s on %s host%s; %s",
                     c->guessed ? "the records show" : "NCCL counts",
                     FIG_COUNT(c->guessed ? g->hosts : c->nnodes),
                     plural(c->guessed ? g->hosts : c->nnodes),
                     FIG_COUNT(c->n_ranks), plural(c->n_ranks),
                     FIG_COUNT(g->hosts), plural(g->hosts), fabric->clause);
    const struct verdict_of *more[] = {inter, rail};

    for (size_t i = 0; i < 2; i++)
        if (*more[i]->clause && n > 0 && (size_t) n < sizeof(label->why))
            n += snprintf(label->why + n, sizeof(label->why) - (size_t) n,
                          "; %s", more[i]->clause);
    if (label->evidence && n > 0 && (size_t) n < sizeof(label->why))
        snprintf(label->why + n, sizeof(label->why) - (size_t) n,
                 "; evidence %s", label_evidence_word[label->evidence]);
}

const char *const label_nvls_word[3] = {"no", "ready", "yes"};

/* What NCCL's log shows about offloads and adapters; "" and 0 mean that it
 * shows nothing. */
static void carry(const struct jp_label_paths *p, struct jp_carriers *out)
{
    /* Shares are relative to all channels of the network. */
    uint64_t net = p->net_ib + p->net_socket + p->net_plugin;

    *out = (struct jp_carriers){.has_net = net > 0, .pxn = p->net_pxn > 0};
    if (p->nvls || p->told_channels)
        out->nvls = label_nvls_word[p->nvls ? 2 : p->nvls_channels];
    if (p->collnet || p->told_channels)
        snprintf(out->collnet, sizeof(out->collnet), "%s",
                 !p->collnet        ? "no"
                 : *p->collnet_name ? p->collnet_name
                                    : "yes");
    if (net)
        out->gdr_share = (double) p->net_gdr / (double) net;
}

/* Decides the label. Its evidence is that of the fabric; without a fabric, that
 * of the network. */
static void decide(const struct groups *g, struct jp_label *label)
{
    struct verdict_of fabric, inter, rail;

    label_fabric(g, &fabric);
    label->hca_path = label_inter(g, &inter, &rail);
    label->fabric = (enum jp_fabric) fabric.word;
    label->inter = (enum jp_inter) inter.word;
    label->rail = (enum jp_rail) rail.word;
    label->evidence = label->fabric == JP_FABRIC_NONE ||
                              (label->fabric == JP_FABRIC_UNKNOWN &&
                               inter.evidence == JP_EVIDENCE_OBSERVED)
                          ? inter.evidence
                          : fabric.evidence;
    if (g->comm->paths)
        carry(g->comm->paths, &label->carriers);
    explain(g, &fabric, &inter, &rail, label);
}

int label_comm(const struct jp_label_comm *comm,
               const struct jp_label_node *nodes, size_t n_nodes,
               struct jp_label *label)
{
    struct groups groups;
    int rc = groups_make(&groups, comm, nodes, n_nodes);

    memset(label, 0, sizeof(*label));
    label->hca_path = "";
    if (rc == 0) {
        decide(&groups, label);
        /* Warnings use the label, so they come second. */
        rc = warn(&groups, label);
    }
    groups_fini(&groups);
    if (rc < 0)
        label_fini(label);
    return rc;
}

void label_fini(struct jp_label *label)
{
    for (size_t i = 0; i < label->n_warnings; i++)
        free(label->warnings[i].nodes);
    free(label->warnings);
    label->warnings = NULL;
    label->n_warnings = 0;
}
