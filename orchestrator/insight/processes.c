/* processes.c - group ranks by process, and decide which rank each process has.
 *
 * processes_init groups the result's ranks by (host, pid), then decide()
 * applies the rule at the top of processes.h. The lookups after it are binary
 * searches, as list is sorted by host and pid, and the result's ranks by
 * communicator and rank.
 */
#include "orchestrator/insight/processes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"

/* Records without a host have an empty name. */
static const char *host_of(const struct jp_rank *rank)
{
    return rank->host ? rank->host : "";
}

/* Orders processes by host, then by pid. */
static int compare_process(const char *host_x, int64_t pid_x,
                           const char *host_y, int64_t pid_y)
{
    int order = strcmp(host_x, host_y);

    return order ? order : pid_x < pid_y ? -1 : pid_x > pid_y;
}

/* The index as the last comparison keeps ranks of a process in the result's
 * order. */
static int by_identity(const void *a, const void *b, void *arg)
{
    const struct jp_rank *ranks = arg;
    size_t i = *(const size_t *) a, k = *(const size_t *) b;
    int order = compare_process(host_of(&ranks[i]), ranks[i].pid,
                                host_of(&ranks[k]), ranks[k].pid);

    return order ? order : i < k ? -1 : i > k;
}

/* --- grouping ------------------------------------------------------------- */

static void add_rank(struct jp_process *process, const struct jp_rank *rank)
{
    process->n++;
    process->timed_ops = num_add(process->timed_ops, rank->timed_ops);
    process->last_ops = num_add(process->last_ops, rank->last_ops);
    process->caused_us = num_add(process->caused_us, rank->caused_us);
    process->wait_us = num_add(process->wait_us, rank->wait_us);
}

/* Adds a process to the last host, or begins a new one. Processes come in order
 * of hosts. */
static void add_to_host(struct jp_processes *p, struct jp_process *process)
{
    struct jp_process_host *host = p->hosts + p->n_hosts;

    if (!p->n_hosts || strcmp(host[-1].host, process->host)) {
        *host = (struct jp_process_host){.host = process->host};
        p->n_hosts++;
    } else {
        host--;
    }
    process->host_at = (uint32_t) (host - p->hosts);
    host->n_processes++;
    host->timed_ops = num_add(host->timed_ops, process->timed_ops);
    host->last_ops = num_add(host->last_ops, process->last_ops);
    host->caused_us = num_add(host->caused_us, process->caused_us);
    host->wait_us = num_add(host->wait_us, process->wait_us);
}

/* Groups the ranks, which by_process has in order of host and pid. */
static void group(struct jp_processes *p, const struct jp_result *r)
{
    const struct jp_rank *last = NULL;

    /* Known, unless two ranks of a communicator turn out to have one host and
     * pid. */
    p->known = r->n_ranks > 0;
    for (size_t i = 0; i < r->n_ranks; i++) {
        const struct jp_rank *rank = &r->ranks[p->by_process[i]];

        if (!last ||
            compare_process(host_of(rank), rank->pid, host_of(last), last->pid))
            p->list[p->n++] = (struct jp_process){.host = host_of(rank),
                                                  .pid = rank->pid,
                                                  .task = -1,
                                                  .world_rank = -1,
                                                  .first = i};
        else if (rank->comm == last->comm)
            /* Two ranks of one communicator have the same host and pid, such as
             * in containers that count pids from 1. Ranks of one process and
             * communicator are neighbours in this order. */
            p->known = false;
        add_rank(&p->list[p->n - 1], rank);
        p->of_rank[p->by_process[i]] = p->n - 1;
        last = rank;
    }
    for (size_t i = 0; i < p->n; i++)
        add_to_host(p, &p->list[i]);
}

/* --- deciding ------------------------------------------------------------- */

const struct jp_process *processes_find(const struct jp_processes *p,
                                        const char *host, int64_t pid)
{
    size_t low = 0, high = p->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order =
            compare_process(p->list[mid].host, p->list[mid].pid, host, pid);

        if (!order)
            return &p->list[mid];
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

#define SEVERAL (-2) /* several tasks have this process's host and pid */

static int by_task(const void *a, const void *b)
{
    const struct jp_process *x = *(struct jp_process *const *) a;
    const struct jp_process *y = *(struct jp_process *const *) b;

    return x->task < y->task ? -1 : x->task > y->task;
}

/* Sets the tasks of processes. Slurm's task id is the best evidence, but the
 * task may only have started the process: then either no task has its pid, or
 * several processes inherited one task's id. An id that two processes have, or
 * a process that two tasks claim, is worth nothing, because a wrong rank is
 * worse than none. Returns 0 or -1. */
static int find_tasks(struct jp_processes *p,
                      const struct jp_process_tasks *tasks)
{
    struct jp_process **found = calloc(p->n + 1, sizeof(*found));
    size_t n = 0;

    if (!found)
        return -1;
    for (size_t i = 0; i < tasks->n; i++) {
        const struct jp_process_task *task = &tasks->list[i];
        const struct jp_process *at = processes_find(p, task->host, task->pid);
        struct jp_process *x = at ? &p->list[at - p->list] : NULL;

        if (!x || task->task < 0)
            continue;
        /* Only the first task of a process enters the list, which has room for
         * one entry per process. */
        if (x->task == -1)
            found[n++] = x;
        else if (x->task != task->task)
            x->task = SEVERAL;
        if (x->task != SEVERAL)
            x->task = task->task;
    }
    if (n)
        qsort(found, n, sizeof(struct jp_process *), by_task);
    for (size_t i = 0, next; i < n; i = next) {
        /* Sorted by task, so that an id that several processes inherited is a
         * run of neighbours. */
        int64_t task = found[i]->task;

        for (next = i + 1; next < n && found[next]->task == task;)
            next++;
        for (size_t k = i; k < next; k++)
            if (next - i > 1 || task == SEVERAL)
                found[k]->task = -1;
    }
    free(found);
    return 0;
}

/* Returns true if no process has two ranks in the communicator. stamp: room for
 * one value per process. */
static bool is_distinct(const struct jp_processes *p, size_t comm,
                        uint32_t *stamp)
{
    memset(stamp, 0, p->n * sizeof(*stamp));
    for (size_t i = p->comm_start[comm]; i < p->comm_start[comm + 1]; i++)
        if (stamp[p->of_rank[i]]++)
            return false;
    return true;
}

/* Returns the first communicator of all processes; SIZE_MAX: none. Either all
 * processes with records are in it, or it has as many ranks as the step has
 * tasks, some of which then left no records. */
static size_t find_world(const struct jp_processes *p,
                         const struct jp_result *r, uint64_t step_tasks,
                         uint32_t *stamp)
{
    size_t by_size = SIZE_MAX;
    uint32_t most = 0;

    for (size_t c = 0; c < r->n_comms; c++)
        if (r->comms[c].n_ranks > most)
            most = r->comms[c].n_ranks;
    /* A communicator smaller than the job cannot rank all of it. */
    if (most < step_tasks || most < p->n)
        return SIZE_MAX;
    for (size_t c = 0; c < r->n_comms; c++) {
        bool has_all = p->comm_start[c + 1] - p->comm_start[c] == p->n;
        bool is_large = most == step_tasks && by_size == SIZE_MAX;

        if (r->comms[c].n_ranks != most || (!has_all && !is_large) ||
            !is_distinct(p, c, stamp))
            continue;
        if (has_all)
            return c;
        by_size = c;
    }
    return by_size;
}

/* Returns true if the communicator's ranks equal the task ids wherever both are
 * known. If they differ, the program numbers its ranks in its own way, and
 * mixing both would give one rank to two processes. */
static bool agrees(const struct jp_processes *p, const struct jp_result *r,
                   size_t comm)
{
    for (size_t i = p->comm_start[comm]; i < p->comm_start[comm + 1]; i++) {
        int64_t task = p->list[p->of_rank[i]].task;

        if (task >= 0 && task != r->ranks[i].rank)
            return false;
    }
    return true;
}

/* Sets world_rank and its evidence: a communicator's rank first, then the task
 * id, which overrides it. Returns 0 or -1. */
static int decide(struct jp_processes *p, const struct jp_result *r,
                  const struct jp_process_tasks *tasks)
{
    uint32_t *stamp = calloc(p->n + 1, sizeof(*stamp));
    size_t world;

    if (!stamp || find_tasks(p, tasks) < 0) {
        free(stamp);
        return -1;
    }
    world = find_world(p, r, tasks->of_step, stamp);
    free(stamp);
    if (world != SIZE_MAX && agrees(p, r, world))
        for (size_t i = p->comm_start[world]; i < p->comm_start[world + 1];
             i++) {
            struct jp_process *x = &p->list[p->of_rank[i]];

            x->world_rank = r->ranks[i].rank;
            x->evidence = JP_RANK_OF_COMM;
        }
    for (size_t i = 0; i < p->n; i++)
        if (p->list[i].task >= 0) {
            p->list[i].world_rank = p->list[i].task;
            p->list[i].evidence = JP_RANK_OF_TASK;
        }
    return 0;
}

/* --- making, looking up --------------------------------------------------- */

int processes_init(struct jp_processes *p, const struct jp_result *r,
                   const struct jp_process_tasks *tasks)
{
    size_t at = 0;

    *p = (struct jp_processes){0};
    p->list = calloc(r->n_ranks + 1, sizeof(*p->list));
    p->hosts = calloc(r->n_ranks + 1, sizeof(*p->hosts));
    p->by_process = calloc(r->n_ranks + 1, sizeof(*p->by_process));
    p->of_rank = calloc(r->n_ranks + 1, sizeof(*p->of_rank));
    p->comm_start = calloc(r->n_comms + 1, sizeof(*p->comm_start));
    if (!p->list || !p->hosts || !p->by_process || !p->of_rank ||
        !p->comm_start) {
        processes_fini(p);
        return -1;
    }
    for (size_t c = 0; c < r->n_comms; c++) {
        while (at < r->n_ranks && r->ranks[at].comm < c)
            at++;
        p->comm_start[c] = at;
        while (at < r->n_ranks && r->ranks[at].comm == c)
            at++;
    }
    p->comm_start[r->n_comms] = at;
    for (size_t i = 0; i < r->n_ranks; i++)
        p->by_process[i] = i;
    if (r->n_ranks)
        qsort_r(p->by_process, r->n_ranks, sizeof(size_t), by_identity,
                r->ranks);
    group(p, r);
    if (decide(p, r, tasks) < 0) {
        processes_fini(p);
        return -1;
    }
    return 0;
}

/* Collects the tasks of all nodes in one list, by the host names that records
 * have. */
int processes_init_nodes(struct jp_processes *p, const struct jp_result *r,
                         const struct jp_nodes *nodes)
{
    struct jp_process_tasks tasks = {.of_step = nodes ? nodes->step_tasks : 0};
    struct jp_process_task *list;
    size_t n = 0;
    int rc;

    for (size_t i = 0; nodes && i < nodes->n_nodes; i++)
        n += nodes->nodes[i].n_tasks;
    list = calloc(n + 1, sizeof(*list));
    if (!list)
        return -1;
    for (size_t i = 0; nodes && i < nodes->n_nodes; i++) {
        const struct jp_node *node = &nodes->nodes[i];

        for (size_t k = 0; k < node->n_tasks; k++)
            list[tasks.n++] = (struct jp_process_task){
                node->hostname, node->tasks[k].pid, node->tasks[k].gtid};
    }
    tasks.list = list;
    rc = processes_init(p, r, &tasks);
    free(list);
    return rc;
}

void processes_fini(struct jp_processes *p)
{
    free(p->list);
    free(p->hosts);
    free(p->by_process);
    free(p->of_rank);
    free(p->comm_start);
    *p = (struct jp_processes){0};
}

int64_t processes_rank_of_task(const struct jp_processes *p, const char *host,
                               int64_t pid, int64_t task)
{
    const struct jp_process *found = processes_find(p, host, pid);

    /* The process has records: its rank was decided with all others. */
    if (found && found->world_rank >= 0)
        return found->world_rank;
    /* The number cannot be used if another process has this rank, or if ranks
     * come from a communicator and may be in another order than tasks. */
    for (size_t i = 0; i < p->n; i++)
        if (p->list[i].evidence == JP_RANK_OF_COMM ||
            p->list[i].world_rank == task)
            return -1;
    return task;
}

size_t processes_rank(const struct jp_processes *p, const struct jp_result *r,
                      size_t comm, uint32_t rank)
{
    size_t low = p->comm_start[comm], high = p->comm_start[comm + 1];

    if (rank < high - low && r->ranks[low + rank].rank == rank)
        return low + rank; /* no rank below is missing */
    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (r->ranks[mid].rank < rank)
            low = mid + 1;
        else
            high = mid;
    }
    return low < p->comm_start[comm + 1] && r->ranks[low].rank == rank
               ? low
               : SIZE_MAX;
}

size_t processes_rank_in(const struct jp_processes *p,
                         const struct jp_result *r, size_t process, size_t comm)
{
    const struct jp_process *who = &p->list[process];

    for (size_t i = who->first; i < who->first + who->n; i++)
        if (r->ranks[p->by_process[i]].comm == comm)
            return p->by_process[i];
    return SIZE_MAX;
}

/* --- order and names ------------------------------------------------------ */

/* A place in a list, and its weight. */
struct weighed {
    uint64_t caused_us;
    uint32_t place;
};

static int most_caused_first(const void *a, const void *b)
{
    const struct weighed *x = a, *y = b;

    if (x->caused_us != y->caused_us)
        return x->caused_us > y->caused_us ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* Returns the places of the max heaviest entries; *n: their number. Frees all.
 * NULL: no memory. Caller frees. */
static uint32_t *pick(struct weighed *all, size_t n_all, size_t max, size_t *n)
{
    uint32_t *places = reallocarray(NULL, max + 1, sizeof(*places));

    if (places) {
        qsort(all, n_all, sizeof(*all), most_caused_first);
        *n = n_all < max ? n_all : max;
        for (size_t i = 0; i < *n; i++)
            places[i] = all[i].place;
    }
    free(all);
    return places;
}

uint32_t *processes_heaviest(const struct jp_processes *p, size_t max,
                             size_t *n)
{
    struct weighed *all = reallocarray(NULL, p->n + 1, sizeof(*all));
    size_t kept = 0;

    for (size_t i = 0; all && i < p->n; i++)
        if (p->list[i].timed_ops)
            all[kept++] = (struct weighed){p->list[i].caused_us, (uint32_t) i};
    return all ? pick(all, kept, max, n) : NULL;
}

uint32_t *processes_heaviest_hosts(const struct jp_processes *p, size_t max,
                                   size_t *n)
{
    struct weighed *all = reallocarray(NULL, p->n_hosts + 1, sizeof(*all));
    size_t kept = 0;

    for (size_t i = 0; all && i < p->n_hosts; i++)
        if (p->hosts[i].timed_ops)
            all[kept++] = (struct weighed){p->hosts[i].caused_us, (uint32_t) i};
    return all ? pick(all, kept, max, n) : NULL;
}

static int by_world_rank(const void *a, const void *b, void *arg)
{
    const struct jp_process *list = arg;
    uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
    /* As unsigned numbers, so that -1 (no rank) is the largest. */
    uint64_t rank_x = (uint64_t) list[x].world_rank;
    uint64_t rank_y = (uint64_t) list[y].world_rank;

    if (rank_x != rank_y)
        return rank_x < rank_y ? -1 : 1;
    return x < y ? -1 : x > y;
}

void processes_sort_by_rank(const struct jp_processes *p, uint32_t *places,
                            size_t n)
{
    if (n)
        qsort_r(places, n, sizeof(*places), by_world_rank, p->list);
}

const char *processes_comm_name(const struct jp_comm *comm)
{
    return *comm->name && strcmp(comm->name, "unknown") ? comm->name : comm->id;
}

char *processes_rank_name(const struct jp_processes *p,
                          const struct jp_result *r,
                          const struct jp_process *process,
                          char buf[JP_PROCESS_NAME_LEN])
{
    const struct jp_rank *best = NULL;
    const struct jp_comm *comm;

    *buf = '\0';
    if (process->world_rank >= 0) {
        snprintf(buf, JP_PROCESS_NAME_LEN, "%" PRId64, process->world_rank);
        return buf;
    }
    /* Without a rank in the job, the rank in its largest communicator. */
    for (size_t i = process->first; i < process->first + process->n; i++) {
        const struct jp_rank *rank = &r->ranks[p->by_process[i]];

        if (rank->comm < r->n_comms &&
            (!best ||
             r->comms[rank->comm].n_ranks > r->comms[best->comm].n_ranks))
            best = rank;
    }
    if (!best)
        return buf;
    comm = &r->comms[best->comm];
    snprintf(buf, JP_PROCESS_NAME_LEN, "%" PRIu32 " of %.40s", best->rank,
             comm->name && *comm->name ? comm->name : comm->id);
    return buf;
}

/* The pid is needed only if no rank distinguishes processes of a host. */
char *processes_place(const struct jp_process *process,
                      char buf[JP_PROCESS_NAME_LEN])
{
    size_t n =
        (size_t) snprintf(buf, JP_PROCESS_NAME_LEN, "%.80s", process->host);

    if (process->world_rank < 0 && process->pid >= 0)
        snprintf(buf + n, JP_PROCESS_NAME_LEN - n, "%spid %" PRId64,
                 n ? " " : "", process->pid);
    return buf;
}

char *processes_name(const struct jp_processes *p, const struct jp_result *r,
                     const struct jp_process *process,
                     char buf[JP_PROCESS_NAME_LEN])
{
    char rank[JP_PROCESS_NAME_LEN], place[JP_PROCESS_NAME_LEN];

    processes_rank_name(p, r, process, rank);
    if (process->world_rank >= 0)
        snprintf(buf, JP_PROCESS_NAME_LEN, "%.60s %.80s", rank, process->host);
    else
        snprintf(buf, JP_PROCESS_NAME_LEN, "%.60s%s%.110s", rank,
                 *rank ? " " : "", processes_place(process, place));
    return buf;
}

char *processes_describe(const struct jp_processes *p,
                         const struct jp_result *r,
                         const struct jp_process *process,
                         char buf[JP_PROCESS_NAME_LEN])
{
    char rank[JP_PROCESS_NAME_LEN];

    processes_rank_name(p, r, process, rank);
    snprintf(buf, JP_PROCESS_NAME_LEN, "%s%.60s (%.80s, pid %" PRId64 ")",
             *rank ? "rank " : "a rank", rank, process->host, process->pid);
    return buf;
}
