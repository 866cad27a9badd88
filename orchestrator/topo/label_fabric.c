/* label_fabric.c - decide how the ranks inside NVLink domains reach each other.
 *
 * label_fabric takes NCCL's log or the sizes if they decide; otherwise
 * judge_domains judges each domain by its node's topology (judge_domain,
 * judge_gpus) and takes the worst. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "orchestrator/topo/label_parts.h"

#include "common/figure.h"

/* Counts over all pairs of some GPUs of one node. */
struct pairs {
    /* n: all pairs; bridged is a part of apart */
    unsigned n, switched, direct, bridged, apart, unknown;
    enum topo_level worst; /* of the pairs without NVLink */
    int worst_a, worst_b;
    uint64_t least_mbs; /* of the pairs with NVLink */
    bool mig;
    /* of the pairs without NVLink: a variable sends them through the host */
    unsigned held;
    /* how far GPUs may reach each other directly */
    struct label_reach reach;
};

/* The answer for one domain. */
struct answer {
    enum jp_fabric fabric;
    enum jp_label_evidence evidence;
    bool inferred; /* the existence of NVLink is inferred */
    struct pairs pairs;
    enum topo_vendor vendor; /* of its GPUs */
    const struct jp_label_node *node;
    const char *missing; /* why the fabric is unknown */
};

/* Sets of GPUs are bits, bit 0 for GPU0. */
static bool has(uint64_t gpus, size_t i)
{
    return gpus >> i & 1;
}

/* Whether a GPU of the set has direct links to both, which NCCL can use as a
 * bridge. */
static bool is_bridged(const struct topo *topo, uint64_t gpus, size_t a,
                       size_t b)
{
    for (size_t i = 0; i < topo->n_gpus; i++)
        if (has(gpus, i) && topo_nvlink(topo, a, i) == TOPO_NV_DIRECT &&
            topo_nvlink(topo, i, b) == TOPO_NV_DIRECT)
            return true;
    return false;
}

/* Distance for comparison. An unknown level may be anything up to SYS, so SYS
 * counts as farther. */
static int distance(enum topo_level level)
{
    return level == TOPO_SYS ? TOPO_N_LEVELS : (int) level;
}

/* Adds a pair without NVLink. */
static void add_apart(const struct topo *topo, uint64_t gpus, size_t a,
                      size_t b, struct pairs *pairs)
{
    enum topo_level level = topo_level(topo, a, b);

    /* NCCL_P2P_LEVEL or NCCL_P2P_DISABLE sends a near pair through the host. */
    if (!pairs->reach.nvlink ||
        (level > pairs->reach.pci && level < TOPO_PHB)) {
        level = level < TOPO_PHB ? TOPO_PHB : level;
        pairs->held++;
    }
    if (pairs->worst_a < 0 || distance(level) > distance(pairs->worst)) {
        pairs->worst = level;
        pairs->worst_a = (int) a;
        pairs->worst_b = (int) b;
    }
    pairs->apart++;
    pairs->bridged += pairs->reach.nvlink == LABEL_NVLINK_BRIDGED &&
                      is_bridged(topo, gpus, a, b);
    /* MIG devices have no peers, which the message mentions. */
    pairs->mig |= topo->gpus[a].mig || topo->gpus[b].mig;
}

/* Adds a pair to the counts. */
static void add_pair(const struct topo *topo, uint64_t gpus, size_t a, size_t b,
                     struct pairs *pairs)
{
    enum topo_nvlink link = pairs->reach.nvlink ? topo_nvlink(topo, a, b)
                                                : TOPO_NV_NO;
    uint64_t mbs = topo_nvlink_mbs(topo, a, b);

    pairs->n++;
    pairs->switched += link == TOPO_NV_SWITCH;
    pairs->direct += link == TOPO_NV_DIRECT;
    pairs->unknown += link == TOPO_NV_UNKNOWN;
    if (link == TOPO_NV_NO)
        add_apart(topo, gpus, a, b, pairs);
    else if (link != TOPO_NV_UNKNOWN &&
             (!pairs->least_mbs || mbs < pairs->least_mbs))
        pairs->least_mbs = mbs;
}

/* Looks at all pairs of the set. */
static struct pairs look_at_pairs(const struct topo *topo, uint64_t gpus,
                                  const struct label_reach *reach)
{
    struct pairs pairs = {.worst_a = -1, .worst_b = -1, .reach = *reach};

    for (size_t i = 0; i < topo->n_gpus; i++)
        for (size_t k = i + 1; has(gpus, i) && k < topo->n_gpus; k++)
            if (has(gpus, k))
                add_pair(topo, gpus, i, k, &pairs);
    return pairs;
}

/* A PCI level as a fabric. */
static enum jp_fabric by_level(enum topo_level level)
{
    switch (level) {
    case TOPO_PIX:
    case TOPO_PXB:
        return JP_FABRIC_PCIE;
    case TOPO_PHB:
    case TOPO_NODE:
        return JP_FABRIC_PCIE_HOST;
    case TOPO_SYS:
        return JP_FABRIC_PCIE_NUMA;
    default:
        return JP_FABRIC_UNKNOWN;
    }
}

/* The fabric of a set of GPUs, from its pairs. */
static enum jp_fabric fabric_of(const struct pairs *pairs,
                                enum topo_vendor vendor)
{
    if (!pairs->n)
        return JP_FABRIC_SAME_GPU;
    if (pairs->unknown)
        return JP_FABRIC_UNKNOWN;
    if (pairs->apart == pairs->n)
        return by_level(pairs->worst);
    switch (vendor) {
    case TOPO_NVIDIA:
        return pairs->apart    ? JP_FABRIC_NVLINK_PARTIAL
               : pairs->direct ? JP_FABRIC_NVLINK_MESH
                               : JP_FABRIC_NVSWITCH;
    case TOPO_AMD:
        return pairs->apart ? JP_FABRIC_XGMI_PARTIAL : JP_FABRIC_XGMI;
    case TOPO_INTEL:
        return pairs->apart ? JP_FABRIC_XELINK_PARTIAL : JP_FABRIC_XELINK;
    default:
        return JP_FABRIC_UNKNOWN; /* links of no known kind */
    }
}

/* The vendor of a set of GPUs: the first one that is known. */
static enum topo_vendor vendor_of(const struct topo *topo, uint64_t gpus)
{
    for (size_t i = 0; i < topo->n_gpus; i++)
        if (has(gpus, i) && topo->gpus[i].vendor != TOPO_VENDOR_UNKNOWN)
            return topo->gpus[i].vendor;
    return TOPO_VENDOR_UNKNOWN;
}

/* The reason why the set's fabric is unknown. */
static const char *why_unknown(const struct pairs *pairs,
                               enum topo_vendor vendor)
{
    static const char *const links[TOPO_N_VENDORS] = {
        [TOPO_NVIDIA] = "its GPUs may have NVLink, but their links are not "
                        "recorded",
        [TOPO_AMD] = "its GPUs are AMD's, and their XGMI links are not "
                     "recorded",
        [TOPO_INTEL] = "its GPUs are Intel's, and their Xe Links are not "
                       "recorded",
        [TOPO_VENDOR_UNKNOWN] = "neither the vendor of its GPUs nor their "
                                "links are recorded"};

    if (pairs->unknown || pairs->apart < pairs->n)
        return links[vendor];
    return "the places of its GPUs on the PCI bus are not recorded (a virtual "
           "machine, a kernel without this data, or an XML without bridges)";
}

/* Returns the weakest evidence among the GPUs' links. */
static enum jp_label_evidence gpus_evidence(const struct topo *topo,
                                            uint64_t gpus)
{
    enum jp_label_evidence least = JP_EVIDENCE_OBSERVED;

    for (size_t i = 0; i < topo->n_gpus; i++) {
        enum jp_label_evidence of =
            label_evidence_from(topo->gpus[i].links_from);

        if (has(gpus, i) && of < least)
            least = of;
    }
    return least;
}

/* Judges a known set of GPUs. */
static void judge_gpus(const struct groups *g, const struct topo *topo,
                       uint64_t gpus, struct answer *answer)
{
    struct label_reach reach = label_reach(g->comm);

    answer->pairs = look_at_pairs(topo, gpus, &reach);
    answer->vendor = vendor_of(topo, gpus);
    answer->fabric = fabric_of(&answer->pairs, answer->vendor);
    answer->evidence = gpus_evidence(topo, gpus);
    answer->inferred = answer->evidence == JP_EVIDENCE_INFERRED;
    /* If a variable or the log decides for all pairs, it is the evidence. */
    if (answer->pairs.held && answer->pairs.apart == answer->pairs.n)
        answer->evidence = reach.logged ? JP_EVIDENCE_OBSERVED
                                        : JP_EVIDENCE_INFERRED;
    if (answer->fabric == JP_FABRIC_SAME_GPU) /* the same bus id is enough */
        answer->evidence = label_evidence_from(topo->devices_from);
    if (answer->fabric == JP_FABRIC_UNKNOWN)
        answer->missing = why_unknown(&answer->pairs, answer->vendor);
    /* A hypervisor's PCI tree is only an inference. */
    else if (topo->virtual_machine && answer->pairs.apart &&
             answer->evidence > JP_EVIDENCE_INFERRED)
        answer->evidence = JP_EVIDENCE_INFERRED;
}

/* Judges a domain whose GPUs are unknown: if every pair of GPUs gives the same
 * answer, the choice does not matter. O(n^2) pairs. */
static void judge_any(const struct groups *g, const struct topo *topo,
                      uint32_t ranks, struct answer *answer)
{
    enum jp_fabric first = JP_FABRIC_UNKNOWN;

    answer->missing = "the GPUs of its ranks are not recorded";
    if (ranks > topo->n_gpus)
        return;
    for (size_t i = 0; i < topo->n_gpus; i++) {
        for (size_t k = i + 1; k < topo->n_gpus; k++) {
            enum jp_fabric fabric;

            /* answer holds the last pair's details, which any pair can stand
             * for. */
            judge_gpus(g, topo, 1ull << i | 1ull << k, answer);
            fabric = answer->fabric;
            answer->fabric = JP_FABRIC_UNKNOWN;
            if (first == JP_FABRIC_UNKNOWN)
                first = fabric;
            if (fabric == JP_FABRIC_UNKNOWN || fabric != first ||
                topo->gpus[i].mig || topo->gpus[k].mig)
                return;
        }
    }
    /* Every pair agrees, so the whole node has the same answer. */
    judge_gpus(g, topo, ~0ull, answer);
    answer->evidence = JP_EVIDENCE_INFERRED;
}

/* Judges one domain; answer->missing is set if the fabric is unknown. */
static void judge_domain(const struct groups *g, const struct domain *domain,
                         struct answer *answer)
{
    const struct topo *topo = groups_topo(g, domain);
    enum jp_label_evidence at_most;
    uint64_t gpus;

    *answer = (struct answer){.fabric = JP_FABRIC_UNKNOWN};
    if (domain->node >= 0)
        answer->node = &g->nodes[domain->node];
    if (!topo) {
        answer->missing = answer->node && answer->node->why
                              ? answer->node->why
                              : "its node is not recorded";
        return;
    }
    /* A topology without GPUs cannot say anything. */
    if (!topo->n_gpus) {
        answer->missing = topo->has_pci ? "its topology shows no GPU"
                                        : "its topology was recorded without "
                                          "PCI devices";
        return;
    }
    gpus = groups_gpus(g, domain, &at_most);
    if (!gpus) {
        judge_any(g, topo, domain->ranks, answer);
        return;
    }
    judge_gpus(g, topo, gpus, answer);
    if (at_most == JP_EVIDENCE_ASSUMED) { /* the evidence is better if the order
                                             does not matter */
        struct answer any = {.fabric = JP_FABRIC_UNKNOWN};

        judge_any(g, topo, domain->ranks, &any);
        if (any.fabric == answer->fabric)
            at_most = JP_EVIDENCE_INFERRED;
    }
    /* The evidence of the choice of GPUs limits that of the links. */
    if (answer->evidence > at_most)
        answer->evidence = at_most;
}

/* The node's name for messages. */
static const char *name_of(const struct answer *a)
{
    return a->node && a->node->name && *a->node->name ? a->node->name
                                                      : "a node";
}

/* ", 450 GB/s each way"; "" if the speed is unknown. */
static const char *speed(uint64_t mbs, char *buf, size_t size)
{
    snprintf(buf, size, ", %.4g GB/s each way", (double) mbs / 1000);
    return mbs < 1000 ? "" : buf;
}

/* "all 28 pairs of GPUs are" or "its pair of GPUs is" */
static const char *all_pairs(const struct pairs *p, const char *one,
                             const char *many, char *buf, size_t size)
{
    if (p->n == 1)
        snprintf(buf, size, "its pair of GPUs%s", one);
    else
        snprintf(buf, size, "all %u pairs of GPU%s", p->n, many);
    return buf;
}

/* What joins GPUs of a vendor. */
static const char *const links_word[TOPO_N_VENDORS] = {
    [TOPO_NVIDIA] = "NVLink",
    [TOPO_AMD] = "XGMI",
    [TOPO_INTEL] = "Xe Link",
    [TOPO_VENDOR_UNKNOWN] = "NVLink or XGMI"};

/* Formats the clause of a fabric of NVLink, or of a partial one. */
static void explain_nvlink(const struct answer *a, struct verdict_of *out)
{
    const struct pairs *p = &a->pairs;
    char gbs[48], pairs[64];

    if (a->fabric == JP_FABRIC_NVSWITCH)
        snprintf(out->clause, sizeof(out->clause), "%s joined by NVSwitch%s%s",
                 all_pairs(p, " is", "s are", pairs, sizeof(pairs)),
                 speed(p->least_mbs, gbs, sizeof(gbs)),
                 a->inferred ? a->node->topo->n_switches
                                   ? " (NVSwitches are on the PCI bus)"
                                   : " (more bandwidth than direct links have)"
                             : "");
    else if (a->fabric == JP_FABRIC_NVLINK_MESH)
        snprintf(
            out->clause, sizeof(out->clause), "%s NVLinks%s",
            all_pairs(p, " has direct", "s have direct", pairs, sizeof(pairs)),
            speed(p->least_mbs, gbs, sizeof(gbs)));
    else
        snprintf(out->clause, sizeof(out->clause),
                 "%u of %u pairs of GPUs have no %s (GPU%d-GPU%d: %s; %u "
                 "of them through one GPU between)",
                 p->apart, p->n, links_word[a->vendor], p->worst_a, p->worst_b,
                 topo_level_word[p->worst], p->bridged);
}

/* Formats why the GPUs do not reach each other by NVLink. */
static void explain_apart(const struct pairs *p, enum topo_vendor vendor,
                          char *buf, size_t size)
{
    if (!p->reach.nvlink)
        snprintf(buf, size, "%s, so it goes through the host's memory",
                 p->reach.why);
    else
        snprintf(buf, size, "no %s joins %s%s%s%s%s", links_word[vendor],
                 p->apart == p->n ? "its GPUs" : "some GPUs",
                 p->mig ? " (MIG devices have none)" : "",
                 p->held ? ", and " : "", p->held ? p->reach.why : "",
                 p->held ? ": traffic that PCIe could carry goes through the "
                           "host's memory"
                         : "");
}

/* The farthest pair decides, so it is named. */
static void explain_pcie(const struct answer *a, struct verdict_of *out)
{
    const struct pairs *p = &a->pairs;
    char apart[160];

    explain_apart(p, a->vendor, apart, sizeof(apart));
    snprintf(out->clause, sizeof(out->clause),
             "%s; the farthest pair, GPU%d-GPU%d on %s, is %s%s", apart,
             p->worst_a, p->worst_b, name_of(a), topo_level_word[p->worst],
             a->node->topo->virtual_machine
                 ? ", in the PCI tree that a hypervisor shows"
                 : "");
}

/* Formats the clause for any fabric. */
static void explain(const struct answer *a, size_t domains,
                    struct verdict_of *out)
{
    char gbs[48], pairs[64];
    size_t at;

    switch (a->fabric) {
    case JP_FABRIC_SAME_GPU:
        snprintf(out->clause, sizeof(out->clause),
                 "its ranks share one GPU a node");
        break;
    case JP_FABRIC_NVSWITCH:
    case JP_FABRIC_NVLINK_MESH:
    case JP_FABRIC_NVLINK_PARTIAL:
    case JP_FABRIC_XGMI_PARTIAL:
    case JP_FABRIC_XELINK_PARTIAL:
        explain_nvlink(a, out);
        break;
    case JP_FABRIC_XGMI:
    case JP_FABRIC_XELINK:
        snprintf(out->clause, sizeof(out->clause), "%s %s%s",
                 all_pairs(&a->pairs, " is joined by", "s are joined by", pairs,
                           sizeof(pairs)),
                 links_word[a->vendor],
                 speed(a->pairs.least_mbs, gbs, sizeof(gbs)));
        break;
    case JP_FABRIC_UNKNOWN:
        snprintf(out->clause, sizeof(out->clause), "fabric unknown on %s: %s",
                 name_of(a), a->missing);
        return;
    default:
        explain_pcie(a, out);
        break;
    }
    at = strlen(out->clause);
    if (domains > 1)
        snprintf(out->clause + at, sizeof(out->clause) - at,
                 ", the worst of %zu domains", domains);
}

/* Whether answer a is worse. The worst domain decides; for equal fabrics the
 * weaker evidence. An unknown fabric is worse than any known one except the
 * worst. */
static bool is_worse(const struct answer *a, const struct answer *than)
{
    if (a->fabric == than->fabric && a->evidence == than->evidence)
        return a->pairs.least_mbs < than->pairs.least_mbs;
    if (a->fabric == than->fabric)
        return a->evidence < than->evidence;
    /* The worst fabric stays the worst, whatever the unknown one is. */
    if (a->fabric == JP_FABRIC_UNKNOWN || than->fabric == JP_FABRIC_UNKNOWN)
        return a->fabric == JP_FABRIC_UNKNOWN
                   ? than->fabric != JP_FABRIC_PCIE_NUMA
                   : a->fabric == JP_FABRIC_PCIE_NUMA;
    return a->fabric > than->fabric;
}

/* Judges all domains with two ranks or more. */
static void judge_domains(const struct groups *g, struct verdict_of *out)
{
    struct answer worst = {.fabric = JP_FABRIC_NONE};
    size_t judged = 0;

    for (size_t i = 0; i < g->n_domains; i++) {
        struct answer a;

        /* A single rank needs no fabric. */
        if (g->domains[i].ranks < 2)
            continue;
        judge_domain(g, &g->domains[i], &a);
        if (!judged++ || is_worse(&a, &worst))
            worst = a;
    }
    if (!judged) {
        snprintf(out->clause, sizeof(out->clause),
                 "every rank is on a host of its own");
        return;
    }
    out->word = (int) worst.fabric;
    out->evidence = worst.fabric == JP_FABRIC_UNKNOWN ? JP_EVIDENCE_NONE
                                                      : worst.evidence;
    explain(&worst, judged, out);
}

/* The cliques of an NVLink fabric are NCCL's nodes, so the fabric spans hosts.
 */
static void judge_mnnvl(const struct groups *g, struct verdict_of *out)
{
    const struct topo *topo = groups_topo(g, &g->domains[0]);
    bool sure = true;

    for (size_t i = 0; i < g->n_domains; i++)
        /* One assumed rank makes the cliques an assumption. */
        sure &= !g->domains[i].unsure;
    out->word = JP_FABRIC_MNNVL;
    out->evidence = !sure ? JP_EVIDENCE_ASSUMED
                    : topo && topo->links_from == TOPO_FROM_NVML
                        ? JP_EVIDENCE_NVML
                        : JP_EVIDENCE_HWLOC;
    snprintf(out->clause, sizeof(out->clause),
             "the GPUs of its %" PRIu32 " hosts have joined %zu NVLink "
             "clique%s by the fabric's records, as "
             "many as NCCL counts nodes",
             g->hosts, g->n_domains, plural(g->n_domains));
}

/* Sets what NCCL's log says. */
static void observe(enum jp_fabric fabric, const char *what,
                    struct verdict_of *out)
{
    out->word = (int) fabric;
    out->evidence = JP_EVIDENCE_OBSERVED;
    snprintf(out->clause, sizeof(out->clause), "NCCL's log names %s", what);
}

void label_fabric(const struct groups *g, struct verdict_of *out)
{
    const struct jp_label_paths *p = g->comm->paths;

    *out = (struct verdict_of){.word = JP_FABRIC_NONE};
    if (g->comm->n_ranks == 1)
        snprintf(out->clause, sizeof(out->clause), "it has one rank");
    else if (p && p->mnnvl)
        observe(JP_FABRIC_MNNVL, "NVLink across hosts (P2P/MNNVL)", out);
    /* Two ranks of one node, and the log names only a network. */
    else if (p && g->comm->n_ranks == 2 && g->comm->nnodes == 1 && !p->p2p &&
             !p->shm && (p->net_ib || p->net_socket || p->net_plugin))
        observe(JP_FABRIC_NONE, "a network alone between its two ranks", out);
    else if (g->comm->nnodes == g->comm->n_ranks && !g->comm->guessed)
        snprintf(out->clause, sizeof(out->clause),
                 "no two ranks share an NVLink domain");
    else if (!g->usable) {
        out->word = JP_FABRIC_UNKNOWN;
        snprintf(out->clause, sizeof(out->clause), "fabric unknown: %s",
                 g->problem);
    } else if (g->mnnvl)
        judge_mnnvl(g, out);
    else
        judge_domains(g, out);
    /* The log shows SHM, even though the topology is unknown. */
    if (out->word == JP_FABRIC_UNKNOWN && p && p->shm && !p->p2p)
        observe(JP_FABRIC_PCIE_HOST,
                "SHM, so it goes through the host's memory; the sockets are "
                "unknown",
                out);
}
