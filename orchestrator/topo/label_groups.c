/* label_groups.c - which ranks NCCL counts as one node. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/topo/label_parts.h"

/* A rank with what it is grouped by. */
struct member {
    const char *boot, *host; /* never NULL */
    int node;
    const struct topo_fabric *fabric;
    uint32_t rank; /* index into comm->ranks */
    uint32_t by_boot, by_name, by_clique;
};

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

const struct topo_fabric *groups_fabric(const struct jp_label_node *node,
                                        size_t gpu)
{
    const struct topo_fabric *fabric;

    if (!node->topo || gpu >= node->topo->n_gpus)
        return NULL;
    fabric = node->selves ? &node->selves[gpu].fabric
                          : &node->topo->gpus[gpu].self.fabric;
    return fabric->told ? fabric : NULL;
}

static bool same_clique(const struct topo_fabric *a,
                        const struct topo_fabric *b)
{
    return a->completed && b->completed && *a->uuid &&
           strcmp(a->uuid, b->uuid) == 0 && a->clique == b->clique;
}

/* Of a rank without a known GPU: the node's, if all its GPUs agree. */
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

/* Host by host: the boot id, else the node, else the name. */
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

static bool same_boot(const struct member *a, const struct member *b)
{
    if (*a->boot || *b->boot)
        return strcmp(a->boot, b->boot) == 0;
    return a->node == b->node &&
           (a->node >= 0 || strcmp(a->host, b->host) == 0);
}

static void count_hosts(struct groups *g, struct member *members)
{
    for (size_t i = 0; i < g->comm->n; i++) {
        struct member *m = &members[i], *before = i ? m - 1 : NULL;
        bool new_host = !before || !same_boot(before, m);

        g->hosts += new_host;
        g->names += new_host || before->node != m->node ||
                    strcmp(before->host, m->host) != 0;
        m->by_boot = g->hosts - 1;
        m->by_name = g->names - 1;
    }
}

static int by_fabric(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    int order = strcmp(x->fabric->uuid, y->fabric->uuid);

    if (!order && x->fabric->clique != y->fabric->clique)
        return x->fabric->clique < y->fabric->clique ? -1 : 1;
    return order ? order : x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Cliques of the ranks; 0: of some rank nobody told it. */
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
    qsort(members, g->comm->n, sizeof(*members), by_fabric);
    for (size_t i = 0; i < g->comm->n; i++) {
        n += !i || !same_clique(members[i - 1].fabric, members[i].fabric);
        members[i].by_clique = n - 1;
    }
    return n;
}

/* Why none of the groupings has NCCL's number of nodes. */
static void explain_mismatch(struct groups *g, uint32_t want)
{
    char *buf = g->problem;
    size_t size = sizeof(g->problem);

    if (want > g->hosts)
        snprintf(buf, size,
                 "more nodes than hosts (%scontainers, or another /dev/shm), "
                 "and nothing tells which ranks are together",
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

/* Chooses the grouping with NCCL's number of nodes; else hosts, not usable. */
static void choose(struct groups *g)
{
    uint32_t want = g->comm->guessed ? g->hosts : g->comm->nnodes;

    g->n_domains = g->hosts;
    if (g->comm->n < g->comm->n_ranks) {
        snprintf(g->problem, sizeof(g->problem),
                 "%zu of its ranks left records, the others may be anywhere",
                 g->comm->n);
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

static void add_rank(struct domain *domain, const struct jp_label_rank *rank)
{
    if (!domain->ranks++)
        domain->node = rank->node;
    domain->many_nodes |= domain->node != rank->node;
    if (rank->gpu < 0 || rank->gpu >= TOPO_MAX_GPUS) {
        domain->unplaced++;
        return;
    }
    domain->unsure += !rank->sure;
    domain->twice |= domain->gpus >> rank->gpu & 1;
    domain->gpus |= 1ull << rank->gpu;
}

static int fill(struct groups *g, const struct member *members)
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

int groups_make(struct groups *g, const struct jp_label_comm *comm,
                const struct jp_label_node *nodes, size_t n_nodes)
{
    struct member *members = calloc(comm->n + 1, sizeof(*members));
    int rc;

    *g = (struct groups){.comm = comm, .nodes = nodes, .n_nodes = n_nodes};
    if (!members)
        return -1;
    for (size_t i = 0; i < comm->n; i++) {
        const struct jp_label_rank *rank = &comm->ranks[i];
        bool placed = rank->node >= 0;

        members[i] = (struct member){
            .boot = placed ? or_empty(nodes[rank->node].boot_id) : "",
            .host = or_empty(rank->host),
            .node = rank->node,
            .fabric = fabric_of(g, rank),
            .rank = (uint32_t) i};
    }
    qsort(members, comm->n, sizeof(*members), by_place);
    count_hosts(g, members);
    g->cliques = count_cliques(g, members);
    choose(g);
    rc = fill(g, members);
    free(members);
    return rc;
}

void groups_fini(struct groups *g)
{
    free(g->domains);
    free(g->domain_of);
    g->domains = NULL;
    g->domain_of = NULL;
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
    if (!domain->unplaced && !domain->unsure)
        return domain->gpus;
    /* as many ranks as GPUs: in whatever order, it is all of them */
    *at_most = JP_EVIDENCE_INFERRED;
    for (size_t i = 0; topo && i < topo->n_gpus; i++)
        if (topo->gpus[i].mig)
            all = 0;
    if (all && topo->n_gpus == domain->ranks && !domain->twice)
        return all;
    *at_most = JP_EVIDENCE_ASSUMED;
    return domain->unplaced ? 0 : domain->gpus;
}
