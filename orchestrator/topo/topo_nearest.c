/* topo_nearest.c - which HCA each GPU uses, and which rail that is. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/topo/topo_parts.h"

/* The HCAs that are nearest to a GPU, all at one level. */
struct ties {
    enum topo_level level;
    size_t n;
    uint8_t hca[TOPO_MAX_HCAS];
};

/* Bandwidth comes first for NCCL: a port slower than the slowest way between
 * sockets that its model knows of (PCIe and memory are faster) loses against
 * any faster one, wherever that is. */
#define SLOW_GBITS 48

static bool is_told(const struct topo_hca *hca)
{
    return hca->port == TOPO_PORT_ACTIVE && hca->rate_gbits > 0;
}

static bool is_outrun(const struct topo *topo, size_t hca)
{
    const struct topo_hca *slow = &topo->hcas[hca];

    if (!is_told(slow) || slow->rate_gbits >= SLOW_GBITS)
        return false;
    for (size_t i = 0; i < topo->n_hcas; i++)
        if (is_told(&topo->hcas[i]) && !topo->hcas[i].left_out &&
            topo->hcas[i].rate_gbits > slow->rate_gbits)
            return true;
    return false;
}

/* NCCL leaves out the slower ones of adapters that are as near: a management
 * port beside those of the fabric. Of a port that is down the rate is none. */
static void drop_slow(const struct topo *topo, struct ties *ties)
{
    double fastest = 0;
    size_t kept = 0;

    for (size_t i = 0; i < ties->n; i++) {
        const struct topo_hca *hca = &topo->hcas[ties->hca[i]];

        if (hca->port == TOPO_PORT_ACTIVE && hca->rate_gbits > fastest)
            fastest = hca->rate_gbits;
    }
    for (size_t i = 0; i < ties->n; i++) {
        const struct topo_hca *hca = &topo->hcas[ties->hca[i]];

        if (hca->port != TOPO_PORT_ACTIVE || !(hca->rate_gbits > 0) ||
            !(hca->rate_gbits < fastest))
            ties->hca[kept++] = ties->hca[i];
    }
    ties->n = kept;
}

static void find_ties(const struct topo *topo, size_t gpu, bool active_only,
                      struct ties *ties)
{
    memset(ties, 0, sizeof(*ties));
    ties->level = TOPO_UNSURE;
    for (size_t i = 0; i < topo->n_hcas; i++) {
        enum topo_level level = topo_gpu_hca(topo, gpu, i);

        if (topo->hcas[i].left_out ||
            (active_only && topo->hcas[i].port == TOPO_PORT_DOWN) ||
            is_outrun(topo, i))
            continue;
        if (level < ties->level) {
            ties->level = level;
            ties->n = 0;
        }
        if (level == ties->level)
            ties->hca[ties->n++] = (uint8_t) i;
    }
    drop_slow(topo, ties);
}

static bool same(const struct ties *a, const struct ties *b)
{
    return a->level == b->level && a->n == b->n &&
           memcmp(a->hca, b->hca, a->n) == 0;
}

/* The bits of a number below a power of two, backwards: 0 2 1 3 of four. */
static size_t mirror(size_t n, size_t power)
{
    size_t out = 0;

    for (size_t bit = 1, other = power / 2; bit < power; bit *= 2, other /= 2)
        if (n & bit)
            out |= other;
    return out;
}

/* Which of them a GPU takes, by NCCL's rule (ncclTopoGetLocalNet): its index
 * among all, by how many GPUs share them; of a power of two mirrored. */
static size_t turn_of(size_t gpu, size_t sharers, size_t n)
{
    size_t turn = gpu % sharers;

    return (n & (n - 1) ? turn : mirror(turn, n)) % n;
}

/* Gives every GPU one of its nearest HCAs, in turn where GPUs share them. */
static void spread(const struct topo *topo, const struct ties *ties,
                   bool active_only)
{
    for (size_t i = 0; i < topo->n_gpus; i++) {
        struct topo_near *near = &topo->near[i];
        size_t sharers = 0;
        int hca = -1;

        for (size_t k = 0; k < topo->n_gpus; k++)
            sharers += same(&ties[k], &ties[i]);
        if (ties[i].n)
            hca = ties[i].hca[turn_of(i, sharers, ties[i].n)];
        if (active_only) {
            near->hca = hca;
            near->level = ties[i].level;
        } else {
            near->wanted = hca;
            near->wanted_level = ties[i].level;
        }
    }
}

/* Numbers the wanted HCAs in PCI order, which is theirs in the model. */
static void number_rails(struct topo *topo)
{
    int rail_of[TOPO_MAX_HCAS];

    for (size_t i = 0; i < topo->n_hcas; i++) {
        rail_of[i] = -1;
        for (size_t k = 0; k < topo->n_gpus && rail_of[i] < 0; k++)
            if (topo->near[k].wanted == (int) i)
                rail_of[i] = (int) topo->n_rails++;
    }
    for (size_t i = 0; i < topo->n_gpus; i++)
        topo->near[i].rail = topo->near[i].hca >= 0 ? rail_of[topo->near[i].hca]
                                                    : -1;
}

/* A faster one, farther, that leaves this one the nearest all the same. */
static bool is_contested(const struct topo *topo, const struct topo_near *near)
{
    const struct topo_hca *taken = near->hca >= 0 ? &topo->hcas[near->hca]
                                                  : NULL;

    for (size_t i = 0; taken && is_told(taken) && i < topo->n_hcas; i++)
        if (is_told(&topo->hcas[i]) && !topo->hcas[i].left_out &&
            topo->hcas[i].rate_gbits > taken->rate_gbits)
            return true;
    return false;
}

int topo_nearest(struct topo *topo)
{
    struct ties *ties = calloc(topo->n_gpus + 1, sizeof(*ties));

    if (!topo->near)
        topo->near = calloc(topo->n_gpus + 1, sizeof(*topo->near));
    topo->n_rails = 0;
    if (!ties || !topo->near) {
        free(ties);
        return -1;
    }
    for (int active_only = 0; active_only < 2; active_only++) {
        for (size_t i = 0; i < topo->n_gpus; i++)
            find_ties(topo, i, active_only, &ties[i]);
        spread(topo, ties, active_only);
    }
    number_rails(topo);
    for (size_t i = 0; i < topo->n_gpus; i++)
        topo->near[i].contested = is_contested(topo, &topo->near[i]);
    free(ties);
    return 0;
}

bool topo_passes_nearer(const struct topo *topo, size_t gpu)
{
    const struct topo_near *near = &topo->near[gpu];

    for (size_t i = 0; near->hca >= 0 && i < topo->n_hcas; i++)
        if (topo_hca_open(&topo->hcas[i]) &&
            topo_gpu_hca(topo, gpu, i) < near->level)
            return true;
    return false;
}
