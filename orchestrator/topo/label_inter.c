/* label_inter.c - decide what carries a communicator's data between NVLink
 * domains.
 *
 * label_inter, at the end, is the entry. The network is taken from NCCL's log
 * (by_log), from variables (by_variables), or from the nodes' topologies
 * (by_topology). For HCAs the rails (judge_rail) and the path to the adapter
 * (worst_path) follow. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/figure.h"
#include "orchestrator/topo/hardware.h"
#include "orchestrator/topo/label_parts.h"

/* Whether NCCL uses a topology file that was not recorded. */
static bool not_read(const struct groups *g, const struct topo *topo)
{
    return !topo_by_library(topo) && label_variable(g->comm, "NCCL_TOPO_FILE");
}

/* Returns a bit for each rail that the domain's GPUs use. 0: unknown, and
 * *missing says why. */
static uint64_t rails_of(const struct groups *g, const struct domain *domain,
                         enum jp_label_evidence *evidence, const char **missing)
{
    const struct topo *topo = groups_topo(g, domain);
    uint64_t gpus, rails = 0;

    /* The reason if no GPU is known. */
    *missing = "the GPUs of its ranks are not recorded";
    if (domain->many_nodes)
        *missing = "a domain spans several nodes";
    if (!topo || domain->many_nodes)
        return 0;
    gpus = groups_gpus(g, domain, evidence);
    for (size_t i = 0; i < topo->n_gpus; i++) {
        /* Only GPUs of the domain. */
        if (!(gpus >> i & 1))
            continue;
        *missing = !topo_placed(topo, i)
                       ? "a hypervisor's PCI tree does not show which adapter "
                         "is near, and NCCL's own topology file was not read"
                   : not_read(g, topo)
                       ? "NCCL took the PCI tree from NCCL_TOPO_FILE, which "
                         "was not read"
                   : !topo->near[i].rails
                       ? "a GPU's adapter is on no rail of its node"
                   : topo->near[i].level == TOPO_UNSURE
                       ? "it is not recorded which adapter is near"
                   : topo->near[i].contested
                       ? "the nearest adapter is slower than a farther one, so "
                         "NCCL may take either"
                       : NULL;
        if (*missing)
            return 0;
        rails |= topo->near[i].rails;
    }
    return rails;
}

/* Sets the answer "unknown" with its reason. */
static void rail_unknown(const char *missing, struct verdict_of *out)
{
    *out = (struct verdict_of){.word = JP_RAIL_UNKNOWN};
    snprintf(out->clause, sizeof(out->clause), "rails unknown: %s", missing);
}

/* "0,3,5" */
static void list_rails(uint64_t rails, char *buf, size_t size)
{
    size_t n = 0;

    buf[0] = '\0';
    for (int i = 0; rails; i++, rails >>= 1)
        if (rails & 1 && n + 5 < size)
            n += (size_t) snprintf(buf + n, size - n, "%s%d", n ? "," : "", i);
}

/* The sets of rails of the domains, seen one after the other. */
struct sets {
    uint64_t first, last, all, often; /* often: in two sets or more */
    bool equal;
};

/* Formats which rails the domains use. */
static void explain_rail(const struct sets *s, unsigned rails,
                         struct verdict_of *out)
{
    char first[200], last[200];

    list_rails(s->first, first, sizeof(first));
    list_rails(s->last, last, sizeof(last));
    if (s->equal)
        snprintf(out->clause, sizeof(out->clause),
                 "by PCI position every domain is on the same of %u rail%s",
                 rails, plural(rails));
    else
        snprintf(out->clause, sizeof(out->clause),
                 "by PCI position the first domain is on rail %.60s and the "
                 "last on %.60s: %s",
                 first, last,
                 s->often ? "some meet" : "no two domains meet on one");
}

/* Compares the domains' sets of rails. */
static void judge_rail(const struct groups *g, struct verdict_of *out)
{
    struct sets s = {.equal = true};
    unsigned rails = 0;

    *out = (struct verdict_of){.word = JP_RAIL_NA,
                               .evidence = JP_EVIDENCE_OBSERVED};
    if (!g->usable) {
        rail_unknown("its ranks' nodes are not known", out);
        return;
    }
    if (label_differs(g->comm, "NCCL_IB_HCA")) {
        rail_unknown("NCCL_IB_HCA differs among its ranks", out);
        return;
    }
    for (size_t i = 0; i < g->n_domains; i++) {
        const struct domain *d = &g->domains[i];
        enum jp_label_evidence evidence = JP_EVIDENCE_NONE;
        const char *missing;
        uint64_t set = rails_of(g, d, &evidence, &missing);

        if (!set) {
            rail_unknown(missing, out);
            return;
        }
        /* Rail 3 of four is not rail 3 of eight. */
        if (rails && groups_topo(g, d)->n_rails != rails) {
            rail_unknown("its nodes have different numbers of them", out);
            return;
        }
        rails = groups_topo(g, d)->n_rails;
        if (evidence < out->evidence)
            out->evidence = evidence;
        if (!i)
            s.first = set;
        /* Aligned: all sets are equal; cross: no rail occurs twice. */
        s.equal &= set == s.first;
        s.often |= s.all & set;
        s.all |= set;
        s.last = set;
    }
    out->word = s.equal   ? JP_RAIL_ALIGNED
                : s.often ? JP_RAIL_PARTIAL
                          : JP_RAIL_CROSS;
    explain_rail(&s, rails, out);
}

/* Returns the path for the GPU's level. NODE on Grace is by C2C, which NCCL
 * calls P2C. NULL: unknown. */
static const char *path_of(const struct topo *topo, size_t gpu)
{
    enum topo_level level = topo->near[gpu].level;

    if (topo->near[gpu].hca < 0 || level == TOPO_UNSURE ||
        !topo_placed(topo, gpu) || topo->near[gpu].contested)
        return NULL;
    return level == TOPO_NODE && topo->gpus[gpu].c2c ? "P2C"
                                                     : topo_level_word[level];
}

/* Position in the order of paths, best first. */
static int badness(const char *path)
{
    static const char *const order[] = {"PIX", "PXB",  "P2C",
                                        "PHB", "NODE", "SYS"};

    for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
        if (strcmp(order[i], path) == 0)
            return (int) i;
    return 0;
}

/* Returns the path of a rank. If its GPU is unknown: the path that all GPUs of
 * the node have. */
static const char *rank_path(const struct topo *topo, int gpu)
{
    const char *path = NULL;

    if (gpu >= 0 && (size_t) gpu < topo->n_gpus)
        return path_of(topo, (size_t) gpu);
    for (size_t i = 0; i < topo->n_gpus; i++) {
        const char *other = path_of(topo, i);

        if (!other || (path && strcmp(path, other) != 0))
            return NULL;
        path = other;
    }
    return path;
}

/* Every rank must have a known path, or the worst one is unknown. */
static const char *worst_path(const struct groups *g)
{
    const char *worst = NULL;

    for (size_t i = 0; i < g->n_domains; i++)
        if (groups_topo(g, &g->domains[i]) &&
            not_read(g, groups_topo(g, &g->domains[i])))
            return "";
    if (label_differs(g->comm, "NCCL_IB_HCA"))
        return ""; /* each rank has its own adapters */
    for (size_t i = 0; i < g->comm->n; i++) {
        const struct jp_label_rank *rank = &g->comm->ranks[i];
        const struct topo *topo = rank->node >= 0 ? g->nodes[rank->node].topo
                                                  : NULL;
        const char *path = topo ? rank_path(topo, rank->gpu) : NULL;

        if (!path)
            return "";
        if (!worst || badness(path) > badness(worst))
            worst = path;
    }
    return worst ? worst : "";
}

/* -------------- the network between domains */

/* The network of one rank, from its node's topology. */
struct nic {
    enum jp_inter inter;
    const struct topo_hca *hca;
    enum topo_source from; /* the record that has its node's adapters */
    const char *missing;   /* why it is unknown */
    const char *node;
    bool any_gpu;  /* the same for every GPU of the node */
    bool passes;   /* a nearer adapter is slower */
    bool narrowed; /* a variable leaves adapters out */
    bool differs;  /* NCCL_IB_HCA differs among the ranks */
};

static enum jp_inter inter_of(enum topo_net net)
{
    static const enum jp_inter of[TOPO_N_NETS] = {
        [TOPO_NET_IB] = JP_INTER_IB,
        [TOPO_NET_ROCE] = JP_INTER_ROCE,
        [TOPO_NET_EFA] = JP_INTER_EFA,
        [TOPO_NET_SLINGSHOT] = JP_INTER_SLINGSHOT,
        [TOPO_NET_OPA] = JP_INTER_OPA,
        [TOPO_NET_OTHER] = JP_INTER_UNKNOWN,
        [TOPO_NET_UNKNOWN] = JP_INTER_UNKNOWN};

    return of[net];
}

/* Whether all open adapters are of that kind, so that it does not matter which
 * one is near. */
static bool one_kind(const struct topo *topo, enum topo_net net)
{
    for (size_t i = 0; i < topo->n_hcas; i++)
        if (topo_hca_open(&topo->hcas[i]) && topo->hcas[i].net != net)
            return false;
    return true;
}

/* Whether NCCL may take the other adapter: equally near and not known to be
 * slower, or farther and faster, because bandwidth comes first for NCCL. */
static bool may_win(const struct topo *topo, size_t gpu,
                    const struct topo_hca *taken, size_t other)
{
    enum topo_level level = topo_gpu_hca(topo, gpu, other);
    double rate = topo->hcas[other].rate_gbits;
    /* An unknown rate compares equal. */
    bool told = rate > 0 && taken->rate_gbits > 0;

    if (told && rate != taken->rate_gbits)
        return rate > taken->rate_gbits;
    return level == topo->near[gpu].level;
}

/* Whether the GPU may use an active adapter of another kind as well. */
static bool is_rivalled(const struct topo *topo, size_t gpu)
{
    const struct topo_hca *taken = &topo->hcas[topo->near[gpu].hca];

    for (size_t i = 0; i < topo->n_hcas; i++)
        if (topo_hca_open(&topo->hcas[i]) && topo->hcas[i].net != taken->net &&
            may_win(topo, gpu, taken, i))
            return true;
    return false;
}

/* Takes the network of one GPU. */
static void use_gpu(const struct topo *topo, size_t gpu, struct nic *nic)
{
    int hca = topo->near[gpu].hca;

    /* No adapter with an active port: NCCL uses sockets. */
    if (hca < 0) {
        nic->inter = JP_INTER_TCP;
        return;
    }
    nic->hca = &topo->hcas[hca];
    nic->inter = inter_of(nic->hca->net);
    nic->passes = topo_passes_nearer(topo, gpu);
    if (nic->differs && !one_kind(topo, nic->hca->net)) {
        nic->inter = JP_INTER_UNKNOWN;
        nic->missing = "its adapters are of several kinds, and NCCL_IB_HCA "
                       "differs among the ranks";
    } else if (topo->near[gpu].level == TOPO_UNSURE &&
               !one_kind(topo, nic->hca->net)) {
        nic->inter = JP_INTER_UNKNOWN;
        nic->missing = "it is not recorded which of its adapters is near";
    } else if (is_rivalled(topo, gpu)) {
        nic->inter = JP_INTER_UNKNOWN;
        nic->missing = "it has active adapters of two kinds, and neither "
                       "place nor speed shows which one NCCL takes";
    } else if (nic->inter == JP_INTER_UNKNOWN)
        nic->missing = nic->hca->net == TOPO_NET_UNKNOWN
                           ? "the kind of its network adapter is not recorded"
                           : "its network adapter is of a kind without a label";
}

/* Takes the answer that all GPUs of the node give, because the rank's GPU is
 * unknown. */
static void use_any(const struct topo *topo, struct nic *nic)
{
    for (size_t i = 0; i < topo->n_gpus; i++) {
        struct nic other = *nic;

        use_gpu(topo, i, &other);
        /* Two GPUs give different answers. */
        if (i && other.inter != nic->inter) {
            nic->inter = JP_INTER_UNKNOWN;
            nic->missing = "the GPUs of its ranks are not recorded, and so "
                           "its adapters are unknown";
            return;
        }
        *nic = other;
    }
    nic->any_gpu = true;
}

/* The network of one rank; the tests go from missing records to complete ones.
 */
static struct nic nic_of(const struct groups *g, const struct jp_label_rank *r)
{
    const struct jp_label_node *node = r->node >= 0 ? &g->nodes[r->node] : NULL;
    const struct topo *topo = node ? node->topo : NULL;
    struct nic nic = {.inter = JP_INTER_UNKNOWN,
                      .node = node && node->name ? node->name : "a node",
                      .from = topo ? topo->devices_from : TOPO_FROM_NOTHING,
                      .narrowed = topo && topo->narrowed,
                      .differs = label_differs(g->comm, "NCCL_IB_HCA")};

    if (!topo)
        nic.missing = node && node->why ? node->why
                                        : "its node is not recorded";
    else if (!topo->has_pci)
        nic.missing = "its topology was recorded without PCI devices";
    else if (topo->hcas_untold)
        nic.missing = "its network adapters were not recorded";
    else if (!topo->n_gpus)
        nic.missing = "its topology shows no GPU";
    else if (r->gpu >= 0 && (size_t) r->gpu < topo->n_gpus)
        use_gpu(topo, (size_t) r->gpu, &nic);
    else
        use_any(topo, &nic);
    return nic;
}

/* Sets the answer "unknown" with node and reason. */
static void unknown(const struct nic *nic, struct verdict_of *out)
{
    out->word = JP_INTER_UNKNOWN;
    out->evidence = JP_EVIDENCE_NONE;
    snprintf(out->clause, sizeof(out->clause), "network unknown on %s: %s",
             nic->node, nic->missing);
}

/* Explains the network of a rank, and what is uncertain about it. */
static void explain(const struct groups *g, const struct nic *nic,
                    struct verdict_of *out)
{
    const char *those = !nic->narrowed ? ""
                        : label_variable(g->comm, "NCCL_IB_HCA")
                            ? " that NCCL_IB_HCA leaves"
                            : " that NCCL_NET and NCCL_IB_DISABLE leave";

    /* Sockets, adapters that differ by rank, or one adapter as the example. */
    if (nic->inter == JP_INTER_TCP)
        snprintf(out->clause, sizeof(out->clause),
                 "%s has no adapter with an active port%s, so NCCL takes "
                 "sockets",
                 nic->node, those);
    else if (nic->differs)
        snprintf(out->clause, sizeof(out->clause),
                 "all active adapters of %s are %s, so NCCL_IB_HCA makes no "
                 "difference",
                 nic->node, label_inter_word[nic->inter]);
    else
        snprintf(out->clause, sizeof(out->clause),
                 "every rank's %s adapter with an active port%s is %s (%s on "
                 "%s%s)%s",
                 nic->passes ? "nearest fast" : "nearest", those,
                 label_inter_word[nic->inter], nic->hca->name, nic->node,
                 nic->hca->port == TOPO_PORT_UNKNOWN
                     ? ", its port's state not recorded"
                     : "",
                 nic->inter == JP_INTER_EFA || nic->inter == JP_INTER_SLINGSHOT
                     ? ", which NCCL reaches by a network plugin only"
                     : "");
}

/* The evidence: EFA and Slingshot need a plugin, and sockets are what is left,
 * so they are inferred. */
static enum jp_label_evidence nic_evidence(const struct nic *nic, bool assumed)
{
    if (assumed)
        return JP_EVIDENCE_ASSUMED;
    if (nic->any_gpu || nic->passes || nic->differs ||
        nic->inter == JP_INTER_TCP || nic->inter == JP_INTER_EFA ||
        nic->inter == JP_INTER_SLINGSHOT || nic->hca->port == TOPO_PORT_UNKNOWN)
        return JP_EVIDENCE_INFERRED;
    return label_evidence_from(nic->from);
}

/* All ranks use one kind of network, or it is unknown. NCCL agrees on one
 * plugin, so a single node without adapters makes all of them use sockets. */
static void by_topology(const struct groups *g, struct verdict_of *out)
{
    struct nic first = {.inter = JP_INTER_NONE};
    bool assumed = false;

    for (size_t i = 0; i < g->comm->n; i++) {
        const struct jp_label_rank *rank = &g->comm->ranks[i];
        struct nic nic = nic_of(g, rank);

        /* One unknown rank makes the communicator unknown. */
        if (nic.inter == JP_INTER_UNKNOWN) {
            unknown(&nic, out);
            return;
        }
        /* The GPU decides which adapter is near. */
        assumed |= rank->gpu >= 0 && !rank->sure;
        /* Sockets win: they are what every node has. */
        if (first.inter == JP_INTER_NONE || nic.inter == JP_INTER_TCP)
            first = nic;
        else if (first.inter != JP_INTER_TCP && nic.inter != first.inter) {
            nic.missing = "its nearest adapter is of another kind than on "
                          "other nodes";
            unknown(&nic, out);
            return;
        }
    }
    if (first.inter == JP_INTER_NONE) {
        out->word = JP_INTER_UNKNOWN;
        snprintf(out->clause, sizeof(out->clause),
                 "network unknown: no rank left a record");
        return;
    }
    out->word = (int) first.inter;
    out->evidence = nic_evidence(&first, assumed);
    explain(g, &first, out);
}

/* Returns the kind of the adapter that the log names, from any node that has
 * it. */
static enum jp_inter named_device(const struct groups *g, const char *name)
{
    for (size_t i = 0; i < g->comm->n; i++) {
        int node = g->comm->ranks[i].node;
        const struct topo *topo = node >= 0 ? g->nodes[node].topo : NULL;

        for (size_t k = 0; topo && k < topo->n_hcas; k++)
            if (strcmp(topo->hcas[k].name, name) == 0)
                return inter_of(topo->hcas[k].net);
    }
    return JP_INTER_UNKNOWN;
}

/* Words after "via NET/" in NCCL's log, compared by their beginning. */
static const struct net {
    const char *name;
    enum jp_inter inter; /* IB: the driver of both InfiniBand and RoCE */
} nets[] = {
    {"IB", JP_INTER_IB}, /* NCCL's own, and IBext_v8 of the SHARP plugin */
    {"gIB", JP_INTER_IB},
    {"Socket", JP_INTER_TCP},
    {"AWS Libfabric", JP_INTER_LIBFABRIC},
    {"Libfabric", JP_INTER_LIBFABRIC},
    {"OFI", JP_INTER_LIBFABRIC},
    {"FasTrak", JP_INTER_FASTRAK},
    {"GPUDirectTCPX", JP_INTER_TCPX},
};

static enum jp_inter inter_of_net(const char *name)
{
    for (size_t i = 0; i < sizeof(nets) / sizeof(*nets); i++)
        if (strncmp(nets[i].name, name, strlen(nets[i].name)) == 0)
            return nets[i].inter;
    return JP_INTER_PLUGIN;
}

/* Counts the log's lines by the kind of network. */
void label_paths_net(struct jp_label_paths *p, const char *net,
                     const char *layer, uint64_t lines)
{
    switch (inter_of_net(net)) {
    case JP_INTER_IB:
        p->net_ib += lines;
        break;
    case JP_INTER_TCP:
        p->net_socket += lines;
        break;
    default:
        p->net_plugin += lines;
        if (!*p->net && strlen(net) < sizeof(p->net))
            memcpy(p->net, net, strlen(net) + 1);
    }
    /* Only NET/IB has a layer. */
    p->layer_ib |= strcmp(layer, "IB") == 0;
    p->layer_roce |= strcmp(layer, "RoCE") == 0;
}

/* Networks that NCCL's own NET/IB drives. */
static bool is_verbs(int inter)
{
    return inter == JP_INTER_IB || inter == JP_INTER_ROCE ||
           inter == JP_INTER_OPA;
}

/* NET/IB is InfiniBand, RoCE or Omni-Path, whose link layer is called
 * InfiniBand, too. Decided by the name of an Omni-Path adapter, then by the
 * log's word for its ports, otherwise by the adapter that the log names,
 * otherwise by the adapters of the nodes. *sure: one of these decided. */
static enum jp_inter verbs_of(const struct groups *g, bool *sure)
{
    const struct jp_label_paths *p = g->comm->paths;
    enum jp_inter named = *p->device ? named_device(g, p->device)
                                     : JP_INTER_UNKNOWN;
    struct verdict_of guess = {.word = JP_INTER_UNKNOWN};

    *sure = true;
    if (named == JP_INTER_OPA || hca_name_is_opa(p->device))
        return JP_INTER_OPA;
    by_topology(g, &guess);
    /* Only if the log names exactly one layer. */
    if (p->layer_ib != p->layer_roce)
        return p->layer_roce                ? JP_INTER_ROCE
               : guess.word == JP_INTER_OPA ? JP_INTER_OPA
                                            : JP_INTER_IB;
    if (is_verbs(named))
        return named;
    if (is_verbs(guess.word))
        return (enum jp_inter) guess.word;
    *sure = false;
    return JP_INTER_IB;
}

/* A plugin is called EFA's or Slingshot's if the hardware is; otherwise by its
 * own name. */
static enum jp_inter plugin_of(const struct groups *g)
{
    const struct jp_label_paths *p = g->comm->paths;
    enum jp_inter word = *p->net ? inter_of_net(p->net) : JP_INTER_PLUGIN;
    struct verdict_of guess = {.word = JP_INTER_UNKNOWN};

    /* The plugin's name says enough. */
    if (word != JP_INTER_PLUGIN && word != JP_INTER_LIBFABRIC)
        return word;
    by_topology(g, &guess);
    if (guess.word == JP_INTER_EFA || guess.word == JP_INTER_SLINGSHOT ||
        (word == JP_INTER_PLUGIN && is_verbs(guess.word)))
        return (enum jp_inter) guess.word;
    return word;
}

/* NCCL's log decides over the nodes' topologies. If it names several networks,
 * the one with most channels counts. */
static bool by_log(const struct groups *g, struct verdict_of *out)
{
    const struct jp_label_paths *p = g->comm->paths;
    uint64_t all = p ? p->net_ib + p->net_socket + p->net_plugin : 0;
    char net[48];
    bool sure = true;

    if (!all)
        return false;
    /* The majority of channels decides. */
    if (p->net_plugin > p->net_ib && p->net_plugin >= p->net_socket) {
        out->word = (int) plugin_of(g);
        snprintf(net, sizeof(net), "%s%s", *p->net ? "NET/" : "a plugin",
                 p->net);
    } else if (p->net_socket > p->net_ib) {
        out->word = JP_INTER_TCP;
        snprintf(net, sizeof(net), "NET/Socket");
    } else {
        out->word = (int) verbs_of(g, &sure);
        snprintf(net, sizeof(net), "NET/IB");
    }
    out->evidence = JP_EVIDENCE_OBSERVED;
    snprintf(out->clause, sizeof(out->clause),
             "NCCL's log names %s on %" PRIu64 " channel%s%s%s%s", net, all,
             plural(all), *p->device ? ", " : "", p->device,
             sure ? "" : " (InfiniBand or RoCE: unknown)");
    return true;
}

/* Whether a node has an adapter that needs another plugin than NCCL's own. */
static bool has_plugin_net(const struct groups *g)
{
    for (size_t i = 0; i < g->comm->n; i++) {
        int node = g->comm->ranks[i].node;
        const struct topo *topo = node >= 0 ? g->nodes[node].topo : NULL;

        for (size_t k = 0; topo && k < topo->n_hcas; k++)
            if (topo->hcas[k].net == TOPO_NET_EFA ||
                topo->hcas[k].net == TOPO_NET_SLINGSHOT)
                return true;
    }
    return false;
}

/* Whether variables leave nothing but sockets. */
static bool by_variables(const struct groups *g, struct verdict_of *out)
{
    const char *net = label_variable(g->comm, "NCCL_NET");
    bool socket = net && strcasecmp(net, "Socket") == 0;

    if (!socket &&
        (net || !label_is_on(g->comm, "NCCL_IB_DISABLE") || has_plugin_net(g)))
        return false;
    out->word = JP_INTER_TCP;
    out->evidence = JP_EVIDENCE_INFERRED;
    snprintf(out->clause, sizeof(out->clause), "with %s NCCL uses sockets",
             socket ? "NCCL_NET=Socket" : "NCCL_IB_DISABLE");
    return true;
}

/* The network alone. */
static void judge_inter(const struct groups *g, struct verdict_of *out)
{
    *out = (struct verdict_of){.word = JP_INTER_NONE};
    if (by_log(g, out))
        return; /* also inside one node, if NCCL preferred a NIC there */
    if (g->comm->n_ranks == 1 ||
        /* No network is needed inside one node. */
        (g->comm->guessed ? g->hosts : g->comm->nnodes) <= 1) {
        if (!g->comm->guessed || g->comm->n_ranks == 1 || g->usable)
            return;
        out->word = JP_INTER_UNKNOWN;
        snprintf(out->clause, sizeof(out->clause), "network unknown: %s",
                 g->problem);
        return;
    }
    /* Variables exclude networks that a topology would show. */
    if (by_variables(g, out))
        return;
    if (g->comm->n < g->comm->n_ranks) {
        out->word = JP_INTER_UNKNOWN;
        snprintf(out->clause, sizeof(out->clause),
                 "network unknown: %s of %s ranks left a record",
                 FIG_COUNT(g->comm->n), FIG_COUNT(g->comm->n_ranks));
        return;
    }
    by_topology(g, out);
}

static bool is_hca(int inter)
{
    return is_verbs(inter) || inter == JP_INTER_EFA ||
           inter == JP_INTER_SLINGSHOT;
}

/* Rails and paths exist for HCAs only. */
const char *label_inter(const struct groups *g, struct verdict_of *inter,
                        struct verdict_of *rail)
{
    judge_inter(g, inter);
    *rail = (struct verdict_of){.word = JP_RAIL_NA};
    if (!is_hca(inter->word))
        return "";
    if ((g->comm->guessed ? g->hosts : g->comm->nnodes) > 1)
        judge_rail(g, rail);
    return worst_path(g);
}
