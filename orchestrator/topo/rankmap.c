/* rankmap.c - put ranks on GPUs by what processes and logs told. */
#include "orchestrator/topo/rankmap.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/topo/rankmap_parts.h"

const char *const rankmap_certainty_word[JP_SURE_EXACT + 1] = {
    [JP_SURE_UNKNOWN] = "unknown",
    [JP_SURE_ASSUMED] = "assumed",
    [JP_SURE_EXACT] = "exact",
};

const char *const rankmap_source_word[JP_N_RANK_SOURCES] = {
    [JP_RANK_FROM_NOTHING] = "nothing",
    [JP_RANK_FROM_FILE_NAME] = "file name",
    [JP_RANK_FROM_LOCAL_ORDER] = "local order",
    [JP_RANK_FROM_ONLY_GPU] = "only GPU",
    [JP_RANK_FROM_NCCL_LOG] = "NCCL's log",
    [JP_RANK_FROM_RECORDER] = "recorder",
};

void rankmap_why(struct jp_rankmap_place *place, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(place->why, sizeof(place->why), fmt, ap);
    va_end(ap);
}

void rankmap_place_gpu(const struct rankmap *map,
                       struct jp_rankmap_place *place, int32_t node,
                       int32_t gpu)
{
    place->node = node;
    place->gpu = gpu;
    busid_tidy(map->in->nodes[node].gpus[gpu].busid, place->busid);
}

static int32_t node_of_fact(const struct rankmap *map,
                            const struct jp_rankmap_fact *fact)
{
    int32_t node = rankmap_node_by_name(map, fact->node);
    const char *boot = node >= 0 ? map->in->nodes[node].boot_id : "";

    if (node >= 0 &&
        (!*boot || !*fact->boot_id || strcmp(boot, fact->boot_id) == 0))
        return node;
    return rankmap_node_by_boot(map, fact->boot_id);
}

/* --- processes ----------------------------------------------------------- */

static int compare_place(const char *host_a, int64_t pid_a, const char *host_b,
                         int64_t pid_b)
{
    return pid_a != pid_b ? (pid_a < pid_b ? -1 : 1) : strcmp(host_a, host_b);
}

static int by_place(const void *a, const void *b)
{
    const struct jp_rankmap_fact *x =
        *(const struct jp_rankmap_fact *const *) a;
    const struct jp_rankmap_fact *y =
        *(const struct jp_rankmap_fact *const *) b;
    int rc = compare_place(x->host, x->pid, y->host, y->pid);

    if (rc == 0)
        rc = strcmp(x->comm, y->comm);
    if (rc == 0)
        rc = (x->rank > y->rank) - (x->rank < y->rank);
    return rc ? rc : (int) y->source - (int) x->source;
}

/* A task of this node whose process or whose child it is. */
static const struct jp_rankmap_task *find_task(const struct rankmap *map,
                                               const struct rankmap_process *p)
{
    const struct jp_rankmap_node *node = &map->in->nodes[p->node];
    bool at_home = strcmp(p->host, node->hostname) == 0;
    size_t n;
    const struct rankmap_name *first = rankmap_tasks(map, node->name, &n);

    for (size_t i = 0; i < n; i++) {
        const struct jp_rankmap_task *task = &map->in->tasks[first[i].at];

        if (p->procid >= 0 && task->procid == p->procid)
            return task;
        /* a container may have numbers of its own */
        if (p->procid < 0 && task->pid == p->pid &&
            (p->pid_ns ? p->pid_ns == task->pid_ns : at_home))
            return task;
    }
    return NULL;
}

/* The first fact that knows counts: they come from one process. */
static void learn(struct rankmap *map, struct rankmap_process *p)
{
    p->node = p->procid = p->localid = -1;
    for (size_t i = 0; i < p->n_facts; i++) {
        const struct jp_rankmap_fact *fact = p->facts[i];
        int32_t node = node_of_fact(map, fact);

        if (node >= 0 && p->node >= 0 && node != p->node)
            p->many = true;
        if (p->node < 0)
            p->node = node;
        if (p->procid < 0)
            p->procid = fact->procid;
        if (p->localid < 0)
            p->localid = fact->localid;
        if (!p->pid_ns)
            p->pid_ns = fact->pid_ns;
    }
    if (p->node < 0)
        p->node = rankmap_node_by_host(map, p->host);
    if (p->node >= 0 && !p->many)
        p->task = find_task(map, p);
    if (p->task && p->localid < 0)
        p->localid = p->task->localid;
}

static int make_processes(struct rankmap *map)
{
    size_t n_facts = map->in->n_facts;
    size_t n = n_facts + map->in->n_ranks;

    map->facts = calloc(n + 1, sizeof(*map->facts));
    map->bare = calloc(map->in->n_ranks + 1, sizeof(*map->bare));
    map->processes = calloc(n + 1, sizeof(*map->processes));
    if (!map->facts || !map->bare || !map->processes)
        return -1;
    for (size_t i = 0; i < n_facts; i++)
        map->facts[i] = &map->in->facts[i];
    for (size_t i = 0; i < map->in->n_ranks; i++) {
        const struct jp_rankmap_rank *rank = &map->in->ranks[i];

        map->bare[i] = (struct jp_rankmap_fact){JP_RANK_FROM_NOTHING,
                                                "",
                                                rank->host,
                                                "",
                                                rank->pid,
                                                0,
                                                -1,
                                                -1,
                                                "",
                                                -1,
                                                "",
                                                ""};
        map->facts[n_facts + i] = &map->bare[i];
    }
    qsort(map->facts, n, sizeof(*map->facts), by_place);
    for (size_t i = 0, end; i < n; i = end) {
        struct rankmap_process *p = &map->processes[map->n_processes++];

        p->host = map->facts[i]->host;
        p->pid = map->facts[i]->pid;
        for (end = i;
             end < n && compare_place(p->host, p->pid, map->facts[end]->host,
                                      map->facts[end]->pid) == 0;
             end++)
            ;
        p->facts = &map->facts[i];
        p->n_facts = end - i;
        learn(map, p);
    }
    return 0;
}

static int find_by_place(const void *key, const void *entry)
{
    const struct jp_rankmap_rank *rank = key;
    const struct rankmap_process *p = entry;

    return compare_place(rank->host, rank->pid, p->host, p->pid);
}

/* --- a fact's GPU --------------------------------------------------------- */

/* What stands behind "GPU-" or "MIG-": our recorder writes GPU- for both. */
static const char *uuid_tail(const char *uuid)
{
    const char *dash = strchr(uuid, '-');

    return dash ? dash + 1 : uuid;
}

static bool same_uuid(const char *a, const char *b)
{
    return *a && *b && strcmp(uuid_tail(a), uuid_tail(b)) == 0;
}

/* The MIG device of that UUID; NULL: it is none of this GPU's. */
static const char *find_mig(const struct jp_rankmap_gpu *gpu, const char *uuid)
{
    for (size_t i = 0; i < gpu->n_migs; i++)
        if (same_uuid(gpu->migs[i], uuid))
            return gpu->migs[i];
    return NULL;
}

static bool is_gpu(const struct jp_rankmap_gpu *gpu, const char *busid,
                   const char *uuid)
{
    char tidy[JP_BUSID];

    busid_tidy(gpu->busid, tidy);
    if (*busid)
        return strcmp(busid, tidy) == 0;
    return same_uuid(gpu->uuid, uuid) || find_mig(gpu, uuid);
}

/* Fills the place; false: the fact tells no GPU. */
static bool take_fact(const struct rankmap *map, int32_t node,
                      const struct jp_rankmap_fact *fact,
                      struct jp_rankmap_place *place)
{
    char busid[JP_BUSID];
    const struct jp_rankmap_node *at = node < 0 ? NULL : &map->in->nodes[node];

    busid_tidy(fact->busid, busid);
    place->gpu = -1;
    for (size_t i = 0; at && i < at->n_gpus && place->gpu < 0; i++)
        if (is_gpu(&at->gpus[i], busid, fact->uuid))
            place->gpu = (int32_t) i;
    if (place->gpu < 0 && !*busid)
        return false; /* a UUID that no record of the node has */
    memcpy(place->busid, busid, sizeof(busid));
    place->mig = "";
    if (place->gpu >= 0) {
        const char *mig = find_mig(&at->gpus[place->gpu], fact->uuid);

        rankmap_place_gpu(map, place, node, place->gpu);
        place->mig = mig ? mig : "";
    }
    place->certainty = JP_SURE_EXACT;
    place->source = fact->source;
    return true;
}

/* Several facts of one rank or process: all say the same, or nothing is. */
static bool agree(const struct rankmap *map, int32_t node,
                  const struct jp_rankmap_fact *const *facts, size_t n,
                  struct jp_rankmap_place *place)
{
    struct jp_rankmap_place other = *place;
    bool any = false;

    for (size_t i = 0; i < n; i++) {
        if (!*facts[i]->busid && !*facts[i]->uuid)
            continue;
        if (!any) {
            any = take_fact(map, node, facts[i], place);
        } else if (take_fact(map, node, facts[i], &other) &&
                   (strcmp(other.busid, place->busid) != 0 ||
                    strcmp(other.mig, place->mig) != 0)) {
            rankmap_why(place, "%s says %s, %s says %s",
                        rankmap_source_word[place->source], place->busid,
                        rankmap_source_word[other.source], other.busid);
            place->gpu = -1;
            place->busid[0] = '\0';
            place->certainty = JP_SURE_UNKNOWN;
            place->source = JP_RANK_FROM_NOTHING;
            return false;
        }
    }
    return any;
}

/* The facts of one (comm, rank) in a process, which are sorted; *n of them. */
static const struct jp_rankmap_fact *const *
find_facts(const struct rankmap_process *p, const struct jp_rankmap_rank *rank,
           size_t *n)
{
    size_t low = 0, high = p->n_facts;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct jp_rankmap_fact *f = p->facts[mid];
        int rc = strcmp(f->comm, rank->comm);

        if (rc < 0 || (rc == 0 && f->rank < (int64_t) rank->rank))
            low = mid + 1;
        else
            high = mid;
    }
    for (*n = 0; low + *n < p->n_facts; ++*n)
        if (strcmp(p->facts[low + *n]->comm, rank->comm) != 0 ||
            p->facts[low + *n]->rank != (int64_t) rank->rank)
            break;
    return (const struct jp_rankmap_fact *const *) p->facts + low;
}

/* --- ranks ---------------------------------------------------------------- */

/* The only GPU that the process can use. */
static bool by_only_gpu(const struct rankmap *map,
                        const struct rankmap_process *p, int32_t node,
                        struct jp_rankmap_place *place)
{
    const struct jp_rankmap_node *at = &map->in->nodes[node];
    int32_t found = -1;

    if (p->task && p->task->n_devices == 1) {
        for (size_t i = 0; i < at->n_gpus; i++)
            if (at->gpus[i].minor == p->task->devices[0])
                found = (int32_t) i;
    } else if (at->n_gpus == 1) {
        found = 0;
    }
    if (found < 0 || at->gpus[found].n_migs > 1)
        return false;
    rankmap_place_gpu(map, place, node, found);
    place->certainty = JP_SURE_EXACT;
    place->source = JP_RANK_FROM_ONLY_GPU;
    return true;
}

static void resolve_rank(struct rankmap *map, size_t i,
                         const struct jp_rankmap_place *whole)
{
    const struct jp_rankmap_rank *rank = &map->in->ranks[i];
    struct jp_rankmap_place *place = &map->places[i];
    const struct rankmap_process *p = bsearch(
        rank, map->processes, map->n_processes, sizeof(*p), find_by_place);
    const struct jp_rankmap_fact *const *facts;
    size_t n;

    facts = find_facts(p, rank, &n);
    map->process_of[i] = (uint32_t) (p - map->processes);
    whole += p - map->processes;
    *place = (struct jp_rankmap_place){
        .node = p->many ? n ? node_of_fact(map, facts[0]) : -1 : p->node,
        .gpu = -1,
        .mig = ""};
    map->settled[i] = true;
    if (agree(map, place->node, facts, n, place) || place->why[0])
        return;
    if (whole->certainty == JP_SURE_EXACT && !p->many && !p->shared) {
        *place = *whole;
        return;
    }
    if (place->node >= 0 && by_only_gpu(map, p, place->node, place))
        return;
    map->settled[i] = false;
    rankmap_why(place, place->node < 0 ? "no record says on which node it ran"
                                       : "no record says which GPU it has");
}

/* What holds for all ranks of a process: a GPU that nothing contradicts. */
static struct jp_rankmap_place *resolve_processes(const struct rankmap *map)
{
    struct jp_rankmap_place *whole =
        calloc(map->n_processes + 1, sizeof(*whole));

    for (size_t i = 0; whole && i < map->n_processes; i++) {
        const struct rankmap_process *p = &map->processes[i];

        whole[i] =
            (struct jp_rankmap_place){.node = p->node, .gpu = -1, .mig = ""};
        agree(map, p->node, (const struct jp_rankmap_fact *const *) p->facts,
              p->n_facts, &whole[i]);
    }
    return whole;
}

/* Each rank's process, which make_processes has made. */
static int find_processes(struct rankmap *map)
{
    for (size_t i = 0; i < map->in->n_ranks; i++) {
        const struct rankmap_process *p =
            bsearch(&map->in->ranks[i], map->processes, map->n_processes,
                    sizeof(*p), find_by_place);

        map->process_of[i] = (uint32_t) (p - map->processes);
    }
    return rankmap_mark_shared(map);
}

int rankmap_resolve(const struct jp_rankmap_input *in,
                    struct jp_rankmap_place *places, struct jp_error *err)
{
    struct rankmap map = {.in = in, .places = places};
    struct jp_rankmap_place *whole = NULL;
    int rc = -1;

    map.process_of = calloc(in->n_ranks + 1, sizeof(*map.process_of));
    map.settled = calloc(in->n_ranks + 1, sizeof(*map.settled));
    if (map.process_of && map.settled && rankmap_index_make(&map) == 0 &&
        make_processes(&map) == 0 && find_processes(&map) == 0)
        whole = resolve_processes(&map);
    if (whole) {
        for (size_t i = 0; i < in->n_ranks; i++)
            resolve_rank(&map, i, whole);
        rc = rankmap_by_order(&map);
    }
    if (rc < 0)
        error_set(err, "out of memory");
    free(whole);
    rankmap_index_free(&map);
    free(map.settled);
    free(map.process_of);
    free(map.bare);
    free(map.processes);
    free(map.facts);
    return rc;
}
