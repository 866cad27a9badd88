/* rankmap_order.c - assume GPUs from the order of a node's ranks. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/topo/rankmap_parts.h"

/* A rank of one communicator on one node. */
struct local {
    const struct rankmap *map;
    uint32_t index; /* of the rank */
    uint32_t n_ranks;
    const char *comm;
    int32_t node;
    uint32_t rank;
    int64_t localid; /* -1 not told */
    uint32_t process;
};

/* Largest communicators first: they have most of a node's ranks. */
static int by_group(const void *a, const void *b)
{
    const struct local *x = a;
    const struct local *y = b;
    int rc;

    if (x->n_ranks != y->n_ranks)
        return x->n_ranks > y->n_ranks ? -1 : 1;
    rc = strcmp(x->comm, y->comm);
    if (rc)
        return rc;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_localid(const void *a, const void *b)
{
    const struct local *x = a;
    const struct local *y = b;

    return (x->localid > y->localid) - (x->localid < y->localid);
}

static int by_address(const void *a, const void *b, void *arg)
{
    const struct jp_rankmap_gpu *gpus = arg;
    char x[JP_BUSID], y[JP_BUSID];

    busid_tidy(gpus[*(const int32_t *) a].busid, x);
    busid_tidy(gpus[*(const int32_t *) b].busid, y);
    return busid_compare(x, y);
}

static bool may_open(const struct rankmap *map, int32_t node, int minor,
                     bool *told)
{
    size_t n;
    const struct rankmap_name *first =
        rankmap_tasks(map, map->in->nodes[node].name, &n);

    *told = false;
    for (size_t i = 0; i < n; i++) {
        const struct jp_rankmap_task *task = &map->in->tasks[first[i].at];

        if (task->n_devices >= 0)
            *told = true;
        for (int k = 0; k < task->n_devices; k++)
            if (task->devices[k] == minor)
                return true;
    }
    return false;
}

/* The GPUs that the step may use on the node, in PCI order. Caller frees; NULL
 * without memory. */
static int32_t *usable(const struct rankmap *map, int32_t node, size_t *n)
{
    const struct jp_rankmap_node *at = &map->in->nodes[node];
    int32_t *gpus = calloc(at->n_gpus + 1, sizeof(*gpus));

    *n = 0;
    for (size_t i = 0; gpus && i < at->n_gpus; i++) {
        bool told;

        if (may_open(map, node, at->gpus[i].minor, &told) || !told)
            gpus[(*n)++] = (int32_t) i;
    }
    if (gpus)
        qsort_r(gpus, *n, sizeof(*gpus), by_address, (void *) at->gpus);
    return gpus;
}

/* Whether every rank is in a process of its own that nothing has placed. */
static bool is_plain(const struct rankmap *map, const int32_t *assumed,
                     const struct local *group, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (map->settled[group[i].index] ||
            map->processes[group[i].process].shared ||
            assumed[group[i].process] >= 0)
            return false;
    return true;
}

/* Whether it could be done. */
static bool sort_by_localid(struct local *group, size_t n)
{
    struct local *copy = calloc(n, sizeof(*copy));
    bool good = copy != NULL;

    if (copy) {
        memcpy(copy, group, n * sizeof(*copy));
        qsort(copy, n, sizeof(*copy), by_localid);
    }
    for (size_t i = 0; good && i < n; i++)
        good = copy[i].localid >= 0 &&
               (i == 0 || copy[i].localid != copy[i - 1].localid);
    if (good)
        memcpy(group, copy, n * sizeof(*copy));
    free(copy);
    return good;
}

static void assume(struct jp_rankmap_place *place, const struct rankmap *map,
                   int32_t node, int32_t gpu, bool by_localid)
{
    rankmap_place_gpu(map, place, node, gpu);
    place->certainty = JP_SURE_ASSUMED;
    place->source = JP_RANK_FROM_LOCAL_ORDER;
    rankmap_why(place, "the node's local ranks by %s on its GPUs in PCI order",
                by_localid ? "SLURM_LOCALID" : "rank");
}

static int place_group(struct rankmap *map, int32_t *assumed,
                       struct local *group, size_t n)
{
    int32_t node = group[0].node;
    size_t n_gpus;
    int32_t *gpus;

    if (n > map->in->nodes[node].n_gpus)
        return 0; /* a large group costs nothing more */
    gpus = usable(map, node, &n_gpus);
    if (!gpus)
        return -1;
    if (n == n_gpus && is_plain(map, assumed, group, n)) {
        bool by_localid = sort_by_localid(group, n);

        for (size_t i = 0; i < n; i++) {
            assume(&map->places[group[i].index], map, node, gpus[i],
                   by_localid);
            assumed[group[i].process] = (int32_t) group[i].index;
        }
    }
    free(gpus);
    return 0;
}

/* The ranks that have a node; *n of them. NULL without memory. */
static struct local *make_locals(const struct rankmap *map, size_t *n)
{
    struct local *locals = calloc(map->in->n_ranks + 1, sizeof(*locals));

    *n = 0;
    for (size_t i = 0; locals && i < map->in->n_ranks; i++) {
        const struct jp_rankmap_rank *rank = &map->in->ranks[i];
        uint32_t process = map->process_of[i];

        if (map->places[i].node >= 0)
            locals[(*n)++] =
                (struct local){.index = (uint32_t) i,
                               .n_ranks = rank->n_ranks,
                               .comm = rank->comm,
                               .node = map->places[i].node,
                               .rank = rank->rank,
                               .localid = map->processes[process].localid,
                               .process = process};
    }
    if (locals)
        qsort(locals, *n, sizeof(*locals), by_group);
    return locals;
}

int rankmap_by_order(struct rankmap *map)
{
    int32_t *assumed = malloc((map->n_processes + 1) * sizeof(*assumed));
    size_t n;
    struct local *locals = make_locals(map, &n);
    int rc = locals && assumed ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < map->n_processes; i++)
        assumed[i] = -1;
    for (size_t i = 0, end; rc == 0 && i < n; i = end) {
        for (end = i + 1; end < n && locals[end].node == locals[i].node &&
                          locals[end].n_ranks == locals[i].n_ranks &&
                          strcmp(locals[end].comm, locals[i].comm) == 0;
             end++)
            ;
        rc = place_group(map, assumed, locals + i, end - i);
    }
    /* what is assumed of a process holds in its other communicators */
    for (size_t i = 0; rc == 0 && i < map->in->n_ranks; i++) {
        int32_t as = assumed[map->process_of[i]];

        if (as >= 0 && !map->settled[i])
            map->places[i] = map->places[as];
    }
    free(locals);
    free(assumed);
    return rc;
}
