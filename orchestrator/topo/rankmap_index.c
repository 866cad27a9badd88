/* rankmap_index.c - find nodes and tasks by their names. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/topo/rankmap_parts.h"

static int by_name(const void *a, const void *b)
{
    const struct rankmap_name *x = a;
    const struct rankmap_name *y = b;
    int rc = strcmp(x->name, y->name);

    return rc ? rc : (x->at > y->at) - (x->at < y->at);
}

/* The first of that name; *n: how many there are. */
static const struct rankmap_name *find(const struct rankmap_name *names,
                                       size_t n_names, const char *name,
                                       size_t *n)
{
    size_t low = 0, high = n_names;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (strcmp(names[mid].name, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    for (*n = 0; low + *n < n_names; ++*n)
        if (strcmp(names[low + *n].name, name) != 0)
            break;
    return names + low;
}

/* The only one of that name, "" is none; -1. */
static int32_t find_only(const struct rankmap_name *names, size_t n_names,
                         const char *name)
{
    size_t n = 0;
    const struct rankmap_name *hit = *name ? find(names, n_names, name, &n)
                                           : NULL;

    return n == 1 ? (int32_t) hit->at : -1;
}

int rankmap_index_make(struct rankmap *map)
{
    const struct jp_rankmap_input *in = map->in;
    size_t n = in->n_nodes;

    map->names = calloc(n + 1, sizeof(*map->names));
    map->boots = calloc(n + 1, sizeof(*map->boots));
    map->hosts = calloc(2 * n + 1, sizeof(*map->hosts));
    map->tasks = calloc(in->n_tasks + 1, sizeof(*map->tasks));
    if (!map->names || !map->boots || !map->hosts || !map->tasks)
        return -1;
    for (size_t i = 0; i < n; i++) {
        const struct jp_rankmap_node *node = &in->nodes[i];

        map->names[i] = (struct rankmap_name){node->name, (uint32_t) i};
        map->boots[i] = (struct rankmap_name){node->boot_id, (uint32_t) i};
        map->hosts[map->n_hosts++] =
            (struct rankmap_name){node->hostname, (uint32_t) i};
        if (strcmp(node->name, node->hostname) != 0)
            map->hosts[map->n_hosts++] =
                (struct rankmap_name){node->name, (uint32_t) i};
    }
    for (size_t i = 0; i < in->n_tasks; i++)
        map->tasks[i] = (struct rankmap_name){in->tasks[i].node, (uint32_t) i};
    qsort(map->names, n, sizeof(*map->names), by_name);
    qsort(map->boots, n, sizeof(*map->boots), by_name);
    qsort(map->hosts, map->n_hosts, sizeof(*map->hosts), by_name);
    qsort(map->tasks, in->n_tasks, sizeof(*map->tasks), by_name);
    return 0;
}

void rankmap_index_free(struct rankmap *map)
{
    free(map->names);
    free(map->boots);
    free(map->hosts);
    free(map->tasks);
}

int32_t rankmap_node_by_name(const struct rankmap *map, const char *name)
{
    return find_only(map->names, map->in->n_nodes, name);
}

int32_t rankmap_node_by_boot(const struct rankmap *map, const char *boot)
{
    return find_only(map->boots, map->in->n_nodes, boot);
}

int32_t rankmap_node_by_host(const struct rankmap *map, const char *host)
{
    return find_only(map->hosts, map->n_hosts, host);
}

const struct rankmap_name *rankmap_tasks(const struct rankmap *map,
                                         const char *node, size_t *n)
{
    return find(map->tasks, map->in->n_tasks, node, n);
}

static int by_process(const void *a, const void *b, void *arg)
{
    const struct rankmap *map = arg;
    uint32_t x = *(const uint32_t *) a;
    uint32_t y = *(const uint32_t *) b;

    if (map->process_of[x] != map->process_of[y])
        return map->process_of[x] < map->process_of[y] ? -1 : 1;
    return strcmp(map->in->ranks[x].comm, map->in->ranks[y].comm);
}

int rankmap_mark_shared(struct rankmap *map)
{
    size_t n = map->in->n_ranks;
    uint32_t *order = malloc((n + 1) * sizeof(*order));

    if (!order)
        return -1;
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t) i;
    qsort_r(order, n, sizeof(*order), by_process, map);
    for (size_t i = 1; i < n; i++)
        if (by_process(&order[i - 1], &order[i], map) == 0 &&
            map->in->ranks[order[i]].rank != map->in->ranks[order[i - 1]].rank)
            map->processes[map->process_of[order[i]]].shared = true;
    free(order);
    return 0;
}
