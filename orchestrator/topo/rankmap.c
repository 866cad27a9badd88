/* rankmap.c - assign ranks to GPUs from what processes and logs reported.
 *
 * rankmap_resolve is the entry: index_make sorts nodes and tasks,
 * make_processes groups the facts by process, resolve_rank decides each rank by
 * its facts, and by_order assumes the rest. The rules are in rankread.h. */
#include "orchestrator/topo/rankread.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Everything known about one (host, pid). */
struct rankmap_process {
    const char *host;
    int64_t pid;
    const struct jp_rankmap_fact **facts; /* sorted by (comm, rank) */
    size_t n_facts;
    int32_t node; /* -1: unknown */
    int64_t procid, localid;
    int64_t task_pid; /* 0: unknown */
    uint64_t pid_ns;
    bool many;   /* files of several nodes name this host and pid */
    bool shared; /* several ranks of a communicator: it has no GPU of its own */
    const struct jp_rankmap_task *task; /* NULL: unknown */
};

/* Names, sorted for binary search. */
struct rankmap_name {
    const char *name;
    uint32_t at;
};

struct rankmap {
    const struct jp_rankmap_input *in;
    struct jp_rankmap_fact *bare; /* for each rank a fact without content, so
                                     that its process exists */
    const struct jp_rankmap_fact **facts; /* by (host, pid, comm, rank) */
    struct rankmap_process *processes;    /* sorted by (host, pid) */
    size_t n_processes;
    struct rankmap_name *names, *boots, *hosts; /* of nodes */
    size_t n_hosts;
    struct rankmap_name *tasks;      /* by the names of their nodes */
    struct jp_rankmap_place *places; /* the answer */
    uint32_t *process_of;            /* for each rank: index of its process */
    bool *settled; /* for each rank: its place is exact, or contradicted */
};

/* Assigns the ranks that have a node but no GPU by their order on the node.
 * Returns -1 without memory. */
static int by_order(struct rankmap *map);

static int by_name(const void *a, const void *b)
{
    const struct rankmap_name *x = a;
    const struct rankmap_name *y = b;
    int rc = strcmp(x->name, y->name);

    return rc ? rc : (x->at > y->at) - (x->at < y->at);
}

/* Returns the first entry of that name; *n: their number, may be 0. */
static const struct rankmap_name *find_name(const struct rankmap_name *names,
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

/* Returns the index of the only entry of that name; -1 if there is none,
 * several, or name is "". */
static int32_t find_only(const struct rankmap_name *names, size_t n_names,
                         const char *name)
{
    size_t n = 0;
    const struct rankmap_name *hit = *name ? find_name(names, n_names, name, &n)
                                           : NULL;

    return n == 1 ? (int32_t) hit->at : -1;
}

/* Sorts nodes and tasks by their names. Returns -1 without memory. */
static int index_make(struct rankmap *map)
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

static void index_free(struct rankmap *map)
{
    free(map->names);
    free(map->boots);
    free(map->hosts);
    free(map->tasks);
}

/* Returns the first of a node's tasks in map->tasks; *n: their number. */
static const struct rankmap_name *find_tasks_of(const struct rankmap *map,
                                                const char *node, size_t *n)
{
    return find_name(map->tasks, map->in->n_tasks, node, n);
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

/* Marks processes that are several ranks of one communicator. Returns -1
 * without memory. */
static int mark_shared(struct rankmap *map)
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

/* ---------------------- ranks and their GPUs */

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

static void explain(struct jp_rankmap_place *place, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(place->why, sizeof(place->why), fmt, ap);
    va_end(ap);
}

/* Sets a place to a GPU of a node. */
static void place_gpu(const struct rankmap *map, struct jp_rankmap_place *place,
                      int32_t node, int32_t gpu)
{
    place->node = node;
    place->gpu = gpu;
    busid_tidy(map->in->nodes[node].gpus[gpu].busid, place->busid);
}

/* The folder of the file names the node, unless the boot ids differ: then the
 * folder was written by another machine. */
static int32_t node_of_fact(const struct rankmap *map,
                            const struct jp_rankmap_fact *fact)
{
    int32_t node = find_only(map->names, map->in->n_nodes, fact->node);
    const char *boot = node >= 0 ? map->in->nodes[node].boot_id : "";

    if (node >= 0 &&
        (!*boot || !*fact->boot_id || strcmp(boot, fact->boot_id) == 0))
        return node;
    return find_only(map->boots, map->in->n_nodes, fact->boot_id);
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

/* Returns the node's task that is the process, or its parent; NULL: unknown. A
 * task itself is known by its pid. Children and launchers' workers inherit
 * SLURM_TASK_PID and SLURM_PROCID, and users can set them: they count where a
 * task of the node has both. Older recordings have only the second one. */
static const struct jp_rankmap_task *find_task(const struct rankmap *map,
                                               const struct rankmap_process *p)
{
    const struct jp_rankmap_node *node = &map->in->nodes[p->node];
    const struct jp_rankmap_task *inherited = NULL;
    bool at_home = strcmp(p->host, node->hostname) == 0;
    size_t n;
    const struct rankmap_name *first = find_tasks_of(map, node->name, &n);

    for (size_t i = 0; i < n; i++) {
        const struct jp_rankmap_task *task = &map->in->tasks[first[i].at];

        /* A container may have its own pids, so the namespace must match. */
        if (task->pid == p->pid &&
            (p->pid_ns ? p->pid_ns == task->pid_ns : at_home))
            return task;
        if (p->procid >= 0 && task->procid == p->procid &&
            (!p->task_pid || task->pid == p->task_pid))
            inherited = task;
    }
    return inherited;
}

/* Collects what the facts say about their process. The first known value
 * counts, because all facts are from one process. */
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
        if (!p->task_pid)
            p->task_pid = fact->task_pid;
    }
    if (p->node < 0)
        p->node = find_only(map->hosts, map->n_hosts, p->host);
    if (p->node >= 0 && !p->many)
        p->task = find_task(map, p);
    /* all workers of a launcher have inherited its SLURM_LOCALID */
    if (p->task_pid && p->task_pid != p->pid)
        p->localid = -1;
    if (p->task && p->localid < 0)
        p->localid = p->task->localid;
}

/* Groups the facts by process. Each rank adds a fact without content, so that
 * processes without records exist as well. */
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

        map->bare[i] = (struct jp_rankmap_fact){.node = "",
                                                .host = rank->host,
                                                .boot_id = "",
                                                .pid = rank->pid,
                                                .procid = -1,
                                                .localid = -1,
                                                .comm = "",
                                                .rank = -1,
                                                .busid = "",
                                                .uuid = ""};
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

/* Returns what follows "GPU-" or "MIG-": the recorder writes "GPU-" for both.
 */
static const char *uuid_tail(const char *uuid)
{
    const char *dash = strchr(uuid, '-');

    return dash ? dash + 1 : uuid;
}

static bool same_uuid(const char *a, const char *b)
{
    return *a && *b && strcmp(uuid_tail(a), uuid_tail(b)) == 0;
}

/* Returns the GPU's MIG device with that UUID; NULL: none. */
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

/* Sets the place from a fact. Returns false if the fact names no known GPU. */
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
        return false; /* a UUID that no record of the node contains */
    memcpy(place->busid, busid, sizeof(busid));
    place->mig = "";
    if (place->gpu >= 0) {
        const char *mig = find_mig(&at->gpus[place->gpu], fact->uuid);

        place_gpu(map, place, node, place->gpu);
        place->mig = mig ? mig : "";
    }
    place->certainty = JP_SURE_EXACT;
    place->source = fact->source;
    return true;
}

/* Sets the place from several facts of one rank or process. If they contradict
 * each other, the place stays unknown and its `why` is set. Returns whether a
 * GPU was found. */
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
            explain(place, "%s says %s, %s says %s",
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

/* Returns the facts of one (comm, rank) of a process by binary search; *n:
 * their number. */
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

/* Takes the only GPU that the process can use. With several MIG devices on it,
 * the device is unknown. */
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
    place_gpu(map, place, node, found);
    place->certainty = JP_SURE_EXACT;
    place->source = JP_RANK_FROM_ONLY_GPU;
    return true;
}

/* Decides one rank: its own facts, then those of its process, then the only
 * usable GPU. */
static void resolve_rank(struct rankmap *map, size_t i,
                         const struct jp_rankmap_place *whole)
{
    const struct jp_rankmap_rank *rank = &map->in->ranks[i];
    struct jp_rankmap_place *place = &map->places[i];
    const struct rankmap_process *p = &map->processes[map->process_of[i]];
    const struct jp_rankmap_fact *const *facts;
    size_t n;

    facts = find_facts(p, rank, &n);
    whole += map->process_of[i];
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
    explain(place, place->node < 0 ? "its node is not recorded"
                                   : "its GPU is not recorded");
}

/* Finds the GPU that holds for all ranks of a process, if its facts agree. */
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

/* Finds each rank's process, and marks the shared ones. */
static int find_processes(struct rankmap *map)
{
    for (size_t i = 0; i < map->in->n_ranks; i++) {
        const struct rankmap_process *p =
            bsearch(&map->in->ranks[i], map->processes, map->n_processes,
                    sizeof(*p), find_by_place);

        map->process_of[i] = (uint32_t) (p - map->processes);
    }
    return mark_shared(map);
}

int rankmap_resolve(const struct jp_rankmap_input *in,
                    struct jp_rankmap_place *places, struct jp_error *err)
{
    struct rankmap map = {.in = in, .places = places};
    struct jp_rankmap_place *whole = NULL;
    int rc = -1;

    map.process_of = calloc(in->n_ranks + 1, sizeof(*map.process_of));
    map.settled = calloc(in->n_ranks + 1, sizeof(*map.settled));
    if (map.process_of && map.settled && index_make(&map) == 0 &&
        make_processes(&map) == 0 && find_processes(&map) == 0)
        whole = resolve_processes(&map);
    if (whole) {
        for (size_t i = 0; i < in->n_ranks; i++)
            resolve_rank(&map, i, whole);
        rc = by_order(&map);
    }
    if (rc < 0)
        error_set(err, "out of memory");
    free(whole);
    index_free(&map);
    free(map.settled);
    free(map.process_of);
    free(map.bare);
    free(map.processes);
    free(map.facts);
    return rc;
}

/* --------------------- GPUs assumed from the order of a node's ranks */

/* A rank of one communicator on one node. */
struct local {
    const struct rankmap *map;
    uint32_t index; /* of the rank */
    uint32_t n_ranks;
    const char *comm;
    int32_t node;
    uint32_t rank;
    int64_t localid; /* -1: unknown */
    uint32_t process;
};

/* Largest communicators first: they contain most of a node's ranks. */
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

/* Whether a task of the node may open the GPU. *told: any task reported its
 * devices. */
static bool may_open(const struct rankmap *map, int32_t node, int minor,
                     bool *told)
{
    size_t n;
    const struct rankmap_name *first =
        find_tasks_of(map, map->in->nodes[node].name, &n);

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

/* Returns the GPUs that the step may use on the node, in PCI order. Caller
 * frees; NULL without memory. */
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

/* Whether every rank is in a process of its own that has no place yet. */
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

/* Sorts by SLURM_LOCALID. Returns false, and leaves the order, if any is
 * unknown or not unique. */
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
    place_gpu(map, place, node, gpu);
    place->certainty = JP_SURE_ASSUMED;
    place->source = JP_RANK_FROM_LOCAL_ORDER;
    explain(place, "the node's local ranks by %s on its GPUs in PCI order",
            by_localid ? "SLURM_LOCALID" : "rank");
}

/* Assumes places only if the group has as many ranks as the node has usable
 * GPUs. */
static int place_group(struct rankmap *map, int32_t *assumed,
                       struct local *group, size_t n)
{
    int32_t node = group[0].node;
    size_t n_gpus;
    int32_t *gpus;

    if (n > map->in->nodes[node].n_gpus)
        return 0; /* most large groups end here, before memory is allocated */
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

/* Lists the ranks that have a node; *n: their number. NULL without memory. */
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

static int by_order(struct rankmap *map)
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
    /* An assumption about a process holds in its other communicators as well.
     */
    for (size_t i = 0; rc == 0 && i < map->in->n_ranks; i++) {
        int32_t as = assumed[map->process_of[i]];

        if (as >= 0 && !map->settled[i])
            map->places[i] = map->places[as];
    }
    free(locals);
    free(assumed);
    return rc;
}
