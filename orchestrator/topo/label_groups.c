/* label_groups.c - the basis of labels: NCCL's variables, the groups of ranks,
 * and the nodes with the adapters that the variables leave.
 *
 * groups_make, at the end, is the entry. It narrows the nodes (narrow_nodes),
 * sorts the ranks by host, and chooses the grouping whose number of groups is
 * NCCL's number of nodes (choose). */
#include "orchestrator/topo/label_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/figure.h"
#include "common/num.h"
#include "common/vector.h"
#include "orchestrator/topo/topo_parts.h"

const char *const label_fabric_word[JP_N_FABRICS] = {
    "none",           "same-gpu",  "mnnvl",        "nvswitch", "nvlink-mesh",
    "nvlink-partial", "xgmi",      "xgmi-partial", "xelink",   "xelink-partial",
    "pcie",           "pcie-host", "pcie-numa",    "unknown"};
const char *const label_inter_word[JP_N_INTERS] = {
    "none", "ib",        "roce",    "efa",  "slingshot", "opa",
    "tcp",  "libfabric", "fastrak", "tcpx", "plugin",    "unknown"};
const char *const label_rail_word[JP_N_RAILS] = {"n/a", "aligned", "partial",
                                                 "cross", "unknown"};
const char *const label_evidence_word[JP_N_EVIDENCES] = {
    "none", "assumed", "inferred", "hwloc", "nccl", "rccl", "nvml", "observed"};

enum jp_label_evidence label_evidence_from(enum topo_source source)
{
    static const enum jp_label_evidence of[TOPO_N_SOURCES] = {
        [TOPO_FROM_NOTHING] = JP_EVIDENCE_INFERRED,
        [TOPO_INFERRED] = JP_EVIDENCE_INFERRED,
        [TOPO_FROM_HWLOC] = JP_EVIDENCE_HWLOC,
        [TOPO_FROM_NCCL] = JP_EVIDENCE_NCCL,
        [TOPO_FROM_RCCL] = JP_EVIDENCE_RCCL,
        [TOPO_FROM_NVML] = JP_EVIDENCE_NVML};

    return of[source];
}

/* The variable of that name; NULL: not set. */
static const struct jp_label_variable *
find_variable(const struct jp_label_comm *comm, const char *name)
{
    for (size_t i = 0; i < comm->n_variables; i++)
        if (strcmp(comm->variables[i].name, name) == 0)
            return &comm->variables[i];
    return NULL;
}

const char *label_variable(const struct jp_label_comm *comm, const char *name)
{
    const struct jp_label_variable *v = find_variable(comm, name);

    return v ? v->value : NULL;
}

/* Whether the ranks have different values. */
bool label_differs(const struct jp_label_comm *comm, const char *name)
{
    const struct jp_label_variable *v = find_variable(comm, name);

    return v && v->differs;
}

/* NCCL reads the number at the beginning of a value, in any base that C knows.
 */
static long number_of(const char *text)
{
    return text ? strtol(text, NULL, 0) : 0;
}

/* As NCCL does: anything but a number counts as 0. */
bool label_is_on(const struct jp_label_comm *comm, const char *name)
{
    return number_of(label_variable(comm, name)) != 0;
}

static bool is_one(const struct jp_label_comm *comm, const char *name)
{
    return number_of(label_variable(comm, name)) == 1;
}

/* NCCL's words for P2P levels, nearest first, and the old numbers for them. */
static const struct level {
    const char *word;
    int number; /* -1: none */
    enum topo_level pci;
    enum label_nvlink nvlink;
} levels[] = {
    {"LOC", 0, TOPO_SELF, LABEL_NVLINK_NO},
    {"NVL", -1, TOPO_SELF, LABEL_NVLINK_DIRECT},
    {"NVB", -1, TOPO_SELF, LABEL_NVLINK_BRIDGED},
    {"C2C", -1, TOPO_SELF, LABEL_NVLINK_BRIDGED},
    {"PIX", 1, TOPO_PIX, LABEL_NVLINK_BRIDGED},
    {"PXB", 2, TOPO_PXB, LABEL_NVLINK_BRIDGED},
    {"P2C", -1, TOPO_PXB, LABEL_NVLINK_BRIDGED},
    {"PXN", -1, TOPO_PXB, LABEL_NVLINK_BRIDGED},
    {"PHB", 3, TOPO_NODE, LABEL_NVLINK_BRIDGED},
    {"SYS", 4, TOPO_SYS, LABEL_NVLINK_BRIDGED},
};
#define N_LEVELS (sizeof(levels) / sizeof(*levels))

/* Returns the level of a value; NULL if NCCL does not know it. */
static const struct level *level_of(const char *value)
{
    long number = value && *value >= '0' && *value <= '9' ? number_of(value)
                                                          : -1;

    /* NCCL treats larger numbers as the largest. */
    if (number > 4)
        number = 4;
    for (size_t i = 0; value && i < N_LEVELS; i++)
        if (strcmp(levels[i].word, value) == 0 ||
            (number >= 0 && levels[i].number == number))
            return &levels[i];
    return NULL;
}

bool label_limits_p2p(const struct jp_label_comm *comm, const char *name)
{
    return strcmp(name, "NCCL_P2P_LEVEL") == 0
               ? level_of(label_variable(comm, name)) != NULL
               : is_one(comm, name);
}

struct label_reach label_reach(const struct jp_label_comm *comm)
{
    const char *value = label_variable(comm, "NCCL_P2P_LEVEL");
    const struct level *level = level_of(value);
    /* Without a variable NCCL uses any path. */
    struct label_reach reach = {.pci = TOPO_SYS,
                                .nvlink = LABEL_NVLINK_BRIDGED};

    if (comm->paths && comm->paths->p2p)
        return reach; /* the log names some pairs that use P2P; which ones is
                         unknown */
    if (comm->paths && comm->paths->shm) {
        reach = (struct label_reach){.nvlink = LABEL_NVLINK_NO, .logged = true};
        snprintf(reach.why, sizeof(reach.why), "NCCL's log names SHM");
    } else if (is_one(comm, "NCCL_P2P_DISABLE")) {
        reach.nvlink = LABEL_NVLINK_NO;
        snprintf(reach.why, sizeof(reach.why), "NCCL_P2P_DISABLE is set");
    } else if (level) {
        reach.pci = level->pci;
        reach.nvlink = level->nvlink;
        snprintf(reach.why, sizeof(reach.why), "NCCL_P2P_LEVEL is %s",
                 level->word);
    }
    return reach;
}

/* ------------------------------------ ranks that NCCL counts as one node */

/* A rank with the keys by which it is grouped. */
struct member {
    const char *boot, *host; /* never NULL */
    int node;
    const struct topo_fabric *fabric;
    uint32_t rank; /* index into comm->ranks */
    /* numbers of its group, by each of the groupings */
    uint32_t by_boot, by_name, by_clique;
};

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* Returns the fabric info of a node's GPU; NULL: not queried. */
static const struct topo_fabric *groups_fabric(const struct jp_label_node *node,
                                               size_t gpu)
{
    const struct topo_fabric *fabric;

    if (!node->topo || gpu >= node->topo->n_gpus)
        return NULL;
    fabric = node->selves ? &node->selves[gpu].fabric
                          : &node->topo->gpus[gpu].self.fabric;
    return fabric->told ? fabric : NULL;
}

/* GPUs of one clique reach each other by NVLink, also across hosts. */
static bool same_clique(const struct topo_fabric *a,
                        const struct topo_fabric *b)
{
    return a->completed && b->completed && *a->uuid &&
           strcmp(a->uuid, b->uuid) == 0 && a->clique == b->clique;
}

/* Returns the fabric of a rank. If its GPU is unknown: that of the node, if all
 * its GPUs are in the same clique. */
static const struct topo_fabric *fabric_of(const struct groups *g,
                                           const struct jp_label_rank *rank)
{
    const struct jp_label_node *node = rank->node >= 0 ? &g->nodes[rank->node]
                                                       : NULL;
    const struct topo_fabric *first;

    if (!node || !node->topo || !node->topo->n_gpus)
        return NULL;
    if (rank->gpu >= 0)
        return groups_fabric(node, (size_t) rank->gpu);
    first = groups_fabric(node, 0);
    for (size_t i = 1; first && i < node->topo->n_gpus; i++) {
        const struct topo_fabric *other = groups_fabric(node, i);

        if (!other || !same_clique(first, other))
            return NULL;
    }
    return first;
}

/* Orders by host: boot id, otherwise node, otherwise host name. */
static int by_place(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    int order = strcmp(x->boot, y->boot);

    if (!order && x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (!order)
        order = strcmp(x->host, y->host);
    return order ? order : x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* A boot id identifies a machine; without one, the node or the host name does.
 */
static bool same_boot(const struct member *a, const struct member *b)
{
    if (*a->boot || *b->boot)
        return strcmp(a->boot, b->boot) == 0;
    return a->node == b->node &&
           (a->node >= 0 || strcmp(a->host, b->host) == 0);
}

/* Numbers the hosts, and the names on them. members are sorted. */
static void count_hosts(struct groups *g, struct member *members)
{
    for (size_t i = 0; i < g->comm->n; i++) {
        struct member *m = &members[i], *before = i ? m - 1 : NULL;
        /* Sorted, so equal hosts are neighbours. */
        bool new_host = !before || !same_boot(before, m);

        g->hosts += new_host;
        g->names += new_host || before->node != m->node ||
                    strcmp(before->host, m->host) != 0;
        m->by_boot = g->hosts - 1;
        m->by_name = g->names - 1;
    }
}

/* Brings the members of a clique together. */
static int by_fabric(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    int order = strcmp(x->fabric->uuid, y->fabric->uuid);

    if (!order && x->fabric->clique != y->fabric->clique)
        return x->fabric->clique < y->fabric->clique ? -1 : 1;
    return order ? order : x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Returns the number of cliques of the ranks; 0 if the clique of any rank is
 * unknown. Sorts members by clique. */
static uint32_t count_cliques(struct groups *g, struct member *members)
{
    uint32_t n = 0;

    for (size_t i = 0; i < g->comm->n; i++) {
        const struct topo_fabric *fabric = members[i].fabric;

        g->fabric_untold += !fabric;
        g->fabric_unjoined += fabric && !(fabric->completed && *fabric->uuid);
    }
    if (g->fabric_untold + g->fabric_unjoined)
        return 0;
    /* The members' order by host is no longer needed. */
    qsort(members, g->comm->n, sizeof(*members), by_fabric);
    for (size_t i = 0; i < g->comm->n; i++) {
        n += !i || !same_clique(members[i - 1].fabric, members[i].fabric);
        members[i].by_clique = n - 1;
    }
    return n;
}

/* Explains why no grouping has NCCL's number of nodes. */
static void explain_mismatch(struct groups *g, uint32_t want)
{
    char *buf = g->problem;
    size_t size = sizeof(g->problem);

    /* More nodes than hosts, or fewer: the reasons differ. */
    if (want > g->hosts)
        snprintf(buf, size,
                 "more nodes than hosts (%scontainers, or another /dev/shm), "
                 "and it is unknown which ranks are together",
                 label_is_on(g->comm, "NCCL_SHM_DISABLE")
                     ? "NCCL_SHM_DISABLE is set; else "
                     : "");
    else if (g->cliques)
        snprintf(buf, size,
                 "more hosts than nodes is NVLink across hosts, but their GPUs "
                 "are in %" PRIu32 " NVLink cliques",
                 g->cliques);
    else
        snprintf(buf, size,
                 "more hosts than nodes is NVLink across hosts (as in an NVL72 "
                 "rack), but of %zu ranks %" PRIu32
                 " left no record of cluster and clique, and %" PRIu32
                 " GPUs had joined none",
                 g->comm->n, g->fabric_untold, g->fabric_unjoined);
}

/* Chooses the grouping with NCCL's number of nodes; if there is none, hosts,
 * and not usable. */
static void choose(struct groups *g)
{
    /* Without NCCL's number the hosts are taken. */
    uint32_t want = g->comm->guessed ? g->hosts : g->comm->nnodes;

    g->n_domains = g->hosts;
    /* Missing ranks could change every count. */
    if (g->comm->n < g->comm->n_ranks) {
        snprintf(g->problem, sizeof(g->problem),
                 "%s of its ranks left records, the places of the others are "
                 "unknown",
                 FIG_COUNT(g->comm->n));
    } else if (want == g->hosts) {
        g->usable = true;
    } else if (want == g->names) {
        g->usable = g->split = true;
        g->n_domains = g->names;
    } else if (want < g->hosts && want == g->cliques) {
        g->usable = g->mnnvl = true;
        g->n_domains = g->cliques;
    } else {
        explain_mismatch(g, want);
    }
}

/* Adds a rank to its domain. */
static void add_rank(struct domain *domain, const struct jp_label_rank *rank)
{
    /* The first rank's node stands for the domain. */
    if (!domain->ranks++)
        domain->node = rank->node;
    domain->many_nodes |= domain->node != rank->node;
    if (rank->gpu < 0 || rank->gpu >= TOPO_MAX_GPUS) {
        domain->unplaced++;
        return;
    }
    domain->unsure += !rank->sure;
    /* With two ranks on one GPU, as many ranks as GPUs do not use all GPUs. */
    domain->twice |= domain->gpus >> rank->gpu & 1;
    domain->gpus |= 1ull << rank->gpu;
}

/* Makes the domains of the chosen grouping. */
static int make_domains(struct groups *g, const struct member *members)
{
    g->domains = calloc(g->n_domains + 1, sizeof(*g->domains));
    g->domain_of = calloc(g->comm->n + 1, sizeof(*g->domain_of));
    if (!g->domains || !g->domain_of)
        return -1;
    for (size_t i = 0; i < g->comm->n; i++) {
        const struct member *m = &members[i];
        uint32_t at = g->mnnvl   ? m->by_clique
                      : g->split ? m->by_name
                                 : m->by_boot;

        g->domain_of[m->rank] = at;
        add_rank(&g->domains[at], &g->comm->ranks[m->rank]);
    }
    return 0;
}

const struct topo *groups_topo(const struct groups *g,
                               const struct domain *domain)
{
    return domain->node >= 0 ? g->nodes[domain->node].topo : NULL;
}

uint64_t groups_gpus(const struct groups *g, const struct domain *domain,
                     enum jp_label_evidence *at_most)
{
    const struct topo *topo = groups_topo(g, domain);
    uint64_t all = !topo || !topo->n_gpus ? 0 : ~0ull >> (64 - topo->n_gpus);

    *at_most = JP_EVIDENCE_OBSERVED;
    /* Every rank's GPU is known. */
    if (!domain->unplaced && !domain->unsure)
        return domain->gpus;
    /* As many ranks as GPUs: in any order, they use all of them. */
    *at_most = JP_EVIDENCE_INFERRED;
    /* A MIG device is not the whole GPU. */
    for (size_t i = 0; topo && i < topo->n_gpus; i++)
        if (topo->gpus[i].mig)
            all = 0;
    if (all && topo->n_gpus == domain->ranks && !domain->twice)
        return all;
    *at_most = JP_EVIDENCE_ASSUMED;
    return domain->unplaced ? 0 : domain->gpus;
}

/* ---------------------- adapters and ports that NCCL_IB_HCA leaves */

#define MAX_ENTRIES 32 /* NCCL's limit */
#define ALL_PORTS UINT32_MAX

/* Returns the ports of an entry like "mlx5_0:1:0": a bit each, ALL_PORTS
 * without a port. */
static uint32_t ports_of(const char *entry, size_t len)
{
    const char *colon = memchr(entry, ':', len);
    size_t n;
    char text[16];
    uint64_t port;

    if (!colon)
        return ALL_PORTS;
    n = len - (size_t) (colon + 1 - entry);
    /* Rail and plane follow the port. */
    if (memchr(colon + 1, ':', n))
        n = strcspn(colon + 1, ":");
    if (!n || (n == 2 && strncmp(colon + 1, "-1", 2) == 0))
        return ALL_PORTS;
    if (n >= sizeof(text))
        return 0;
    snprintf(text, sizeof(text), "%.*s", (int) n, colon + 1);
    if (num_parse_u64(text, 1, 32, &port, NULL) < 0)
        return 0;
    return 1u << (port - 1);
}

/* exact: the whole name, otherwise a prefix. */
static bool is_named(const char *entry, size_t len, const char *name,
                     bool exact)
{
    return strncmp(name, entry, len) == 0 && (!exact || !name[len]);
}

uint32_t label_hca_ports(const char *value, const char *name)
{
    /* The prefixes "^" and "=" may be combined, in this order. */
    bool all_but = *value == '^', exact;
    uint32_t ports = 0;
    int n = 0;

    value += all_but;
    exact = *value == '=';
    value += exact;
    for (size_t len; *value && n < MAX_ENTRIES;
         value += len + (value[len] != 0)) {
        size_t name_len = strcspn(value, ":,");

        len = strcspn(value, ",");
        if (!name_len)
            continue;
        n++;
        if (is_named(value, name_len, name, exact))
            ports |= ports_of(value, len);
    }
    if (!n)
        ports = ALL_PORTS;
    return all_but ? ~ports : ports;
}

/* ---------------- nodes with the adapters that NCCL's variables leave */

/* What leaves adapters out. NCCL's own plugin drives verbs devices except EFA.
 * EFA and Slingshot need another plugin, which does not read these variables.
 */
struct rule {
    const char *ib_hca; /* NULL: all */
    bool no_verbs;      /* NCCL_IB_DISABLE */
    bool only_verbs;    /* NCCL_NET=IB */
};

/* Adapters that NCCL's own plugin drives. */
static bool is_verbs(const struct topo_hca *hca)
{
    return hca->net != TOPO_NET_EFA && hca->net != TOPO_NET_SLINGSHOT;
}

/* Which of the variables apply, and how. */
static struct rule rule_of(const struct jp_label_comm *comm)
{
    const char *net = label_variable(comm, "NCCL_NET");
    struct rule rule = {.ib_hca = label_variable(comm, "NCCL_IB_HCA")};

    /* Which ranks have which adapters is then unknown, so none is left out. */
    if (label_differs(comm, "NCCL_IB_HCA"))
        rule.ib_hca = NULL;
    rule.no_verbs = !net && label_is_on(comm, "NCCL_IB_DISABLE");
    rule.only_verbs = net && strcasecmp(net, "IB") == 0;
    return rule;
}

/* Whether the rule leaves the adapter out, by its name, and by its ports if
 * they are known. */
static bool is_left_out(const struct rule *rule, const struct topo_hca *hca)
{
    uint32_t left;

    if (!is_verbs(hca))
        return rule->only_verbs;
    if (rule->no_verbs || !rule->ib_hca)
        return rule->no_verbs;
    left = label_hca_ports(rule->ib_hca, hca->name);
    if (hca->port == TOPO_PORT_ACTIVE && hca->active_ports)
        /* A port that is down is no use to NCCL. */
        left &= hca->active_ports;
    return !left;
}

/* Makes a copy of the topology that shares all but the adapters and the nearest
 * ones with the original. */
static int narrow(const struct topo *topo, const struct rule *rule,
                  struct topo *out)
{
    struct rule here = *rule;
    bool changed = false, verbs = false;

    for (size_t i = 0; i < topo->n_hcas; i++)
        verbs |= is_verbs(&topo->hcas[i]);
    here.only_verbs &= verbs; /* otherwise NCCL_NET=IB names a plugin */
    *out = *topo;
    out->near = NULL;
    out->hcas = calloc(topo->n_hcas + 1, sizeof(*out->hcas));
    for (size_t i = 0; out->hcas && i < topo->n_hcas; i++) {
        out->hcas[i] = topo->hcas[i];
        changed |= out->hcas[i].left_out = is_left_out(&here, &out->hcas[i]);
    }
    out->narrowed = changed;
    return out->hcas ? topo_nearest(out) : -1;
}

/* Narrows each distinct topology only once, as nodes share their shapes'
 * topologies. */
static struct topo *find_or_add(struct groups *g, const struct topo *topo,
                                const struct rule *rule)
{
    struct label_narrowed *more;

    for (size_t i = 0; i < g->n_narrowed; i++)
        if (g->narrowed[i].of == topo)
            return g->narrowed[i].topo;
    if (VECTOR_DOUBLE(g->narrowed, g->n_narrowed) < 0)
        return NULL;
    more = &g->narrowed[g->n_narrowed];
    *more = (struct label_narrowed){.of = topo,
                                    .topo = calloc(1, sizeof(struct topo))};
    if (!more->topo)
        return NULL;
    g->n_narrowed++;
    return narrow(topo, rule, more->topo) == 0 ? more->topo : NULL;
}

/* Replaces g->nodes by narrowed copies if any variable applies. */
static int narrow_nodes(struct groups *g)
{
    const struct jp_label_node *nodes = g->nodes;
    struct rule rule = rule_of(g->comm);

    if (!rule.ib_hca && !rule.no_verbs && !rule.only_verbs)
        return 0;
    g->own_nodes = calloc(g->n_nodes + 1, sizeof(*g->own_nodes));
    if (!g->own_nodes)
        return -1;
    memcpy(g->own_nodes, nodes, g->n_nodes * sizeof(*nodes));
    g->nodes = g->own_nodes;
    for (size_t i = 0; i < g->comm->n; i++) {
        int at = g->comm->ranks[i].node;
        struct jp_label_node *node = at >= 0 ? &g->own_nodes[at] : NULL;

        /* Several ranks of one node: it is narrowed already. */
        if (!node || !node->topo || node->topo != nodes[at].topo)
            continue;
        node->topo = find_or_add(g, node->topo, &rule);
        if (!node->topo)
            return -1;
    }
    return 0;
}

/* ----------------------------------------------------------------- groups */

int groups_make(struct groups *g, const struct jp_label_comm *comm,
                const struct jp_label_node *nodes, size_t n_nodes)
{
    struct member *members = calloc(comm->n + 1, sizeof(*members));
    int rc;

    *g = (struct groups){.comm = comm, .nodes = nodes, .n_nodes = n_nodes};
    if (!members || narrow_nodes(g) < 0) {
        free(members);
        return -1;
    }
    for (size_t i = 0; i < comm->n; i++) {
        const struct jp_label_rank *rank = &comm->ranks[i];
        /* Without a node only the host name is left. */
        bool placed = rank->node >= 0;

        members[i] = (struct member){
            .boot = placed ? or_empty(g->nodes[rank->node].boot_id) : "",
            .host = or_empty(rank->host),
            .node = rank->node,
            .fabric = fabric_of(g, rank),
            .rank = (uint32_t) i};
    }
    qsort(members, comm->n, sizeof(*members), by_place);
    count_hosts(g, members);
    g->cliques = count_cliques(g, members);
    choose(g);
    rc = make_domains(g, members);
    free(members);
    return rc;
}

void groups_fini(struct groups *g)
{
    for (size_t i = 0; i < g->n_narrowed; i++) {
        free(g->narrowed[i].topo->hcas);
        free(g->narrowed[i].topo->near);
        free(g->narrowed[i].topo);
    }
    free(g->narrowed);
    free(g->own_nodes);
    free(g->domains);
    free(g->domain_of);
}
