/* label_rail.c - whether NVLink domains meet on the same HCAs, and how far
 * these are from their GPUs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "orchestrator/topo/label_parts.h"

/* A bit for each rail that a domain's GPUs use; 0: not known. */
static uint64_t rails_of(const struct groups *g, const struct domain *domain,
                         enum jp_label_evidence *evidence, const char **missing)
{
    const struct topo *topo = groups_topo(g, domain);
    uint64_t gpus, rails = 0;

    *missing = "which GPUs its ranks have is not recorded";
    if (domain->many_nodes)
        *missing = "a domain spans several nodes";
    if (!topo || domain->many_nodes)
        return 0;
    gpus = groups_gpus(g, domain, evidence);
    for (size_t i = 0; i < topo->n_gpus; i++) {
        if (!(gpus >> i & 1))
            continue;
        *missing = topo->near[i].rail < 0
                       ? "a GPU's adapter is on no rail of its node"
                   : topo->near[i].level == TOPO_UNSURE
                       ? "which adapter is near is not recorded"
                   : topo->near[i].contested
                       ? "the nearest adapter is slower than a farther one, so "
                         "NCCL may take either"
                       : NULL;
        if (*missing)
            return 0;
        rails |= 1ull << topo->near[i].rail;
    }
    return rails;
}

static void unknown(const char *missing, struct verdict_of *out)
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

/* Sets of rails, one a domain, as they come. */
struct sets {
    uint64_t first, last, all, often; /* often: in two sets or more */
    bool equal;
};

static void explain(const struct sets *s, unsigned rails,
                    struct verdict_of *out)
{
    char first[200], last[200];

    list_rails(s->first, first, sizeof(first));
    list_rails(s->last, last, sizeof(last));
    if (s->equal)
        snprintf(out->clause, sizeof(out->clause),
                 "by PCI position every domain is on the same of %u rail%s",
                 rails, rails == 1 ? "" : "s");
    else
        snprintf(out->clause, sizeof(out->clause),
                 "by PCI position the first domain is on rail %.60s and the "
                 "last on %.60s: %s",
                 first, last,
                 s->often ? "some meet" : "no two domains meet on one");
}

void label_rail(const struct groups *g, struct verdict_of *out)
{
    struct sets s = {.equal = true};
    unsigned rails = 0;

    *out = (struct verdict_of){.word = JP_RAIL_NA,
                               .evidence = JP_EVIDENCE_OBSERVED};
    if (!g->usable) {
        unknown("its ranks' nodes are not known", out);
        return;
    }
    if (label_differs(g->comm, "NCCL_IB_HCA")) {
        unknown("NCCL_IB_HCA differs among its ranks", out);
        return;
    }
    for (size_t i = 0; i < g->n_domains; i++) {
        const struct domain *d = &g->domains[i];
        enum jp_label_evidence evidence = JP_EVIDENCE_NONE;
        const char *missing;
        uint64_t set = rails_of(g, d, &evidence, &missing);

        if (!set) {
            unknown(missing, out);
            return;
        }
        if (rails && groups_topo(g, d)->n_rails != rails) {
            unknown("its nodes have different numbers of them", out);
            return;
        }
        rails = groups_topo(g, d)->n_rails;
        if (evidence < out->evidence)
            out->evidence = evidence;
        if (!i)
            s.first = set;
        s.equal &= set == s.first;
        s.often |= s.all & set;
        s.all |= set;
        s.last = set;
    }
    out->word = s.equal   ? JP_RAIL_ALIGNED
                : s.often ? JP_RAIL_PARTIAL
                          : JP_RAIL_CROSS;
    explain(&s, rails, out);
}

/* A path for each of enum topo_level; NODE on Grace is by C2C, which NCCL calls
 * P2C. */
static const char *path_of(const struct topo *topo, size_t gpu)
{
    enum topo_level level = topo->near[gpu].level;

    if (topo->near[gpu].hca < 0 || level == TOPO_UNSURE ||
        topo->near[gpu].contested)
        return NULL;
    return level == TOPO_NODE && topo->gpus[gpu].c2c ? "P2C"
                                                     : topo_level_word[level];
}

static int badness(const char *path)
{
    static const char *const order[] = {"PIX", "PXB",  "P2C",
                                        "PHB", "NODE", "SYS"};

    for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
        if (strcmp(order[i], path) == 0)
            return (int) i;
    return 0;
}

/* The path of a rank; of an unknown GPU the one that all of them have. */
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

const char *label_hca_path(const struct groups *g)
{
    const char *worst = NULL;

    if (label_differs(g->comm, "NCCL_IB_HCA"))
        return ""; /* which adapters a rank has left is its own */
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
