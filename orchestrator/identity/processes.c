/* processes.c - group ranks by process, and decide which rank each process has.
 *
 * processes_init groups the result's ranks by process and GPU, then decide()
 * applies rankrule.h. The lookups after it are binary searches, as list is
 * sorted by host, pid and instance, and the result's ranks by communicator and
 * rank.
 */
#include "orchestrator/identity/processes.h"

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

/* Orders processes by host, pid and instance. */
static int compare_process(const char *host_x, int64_t pid_x, uint64_t in_x,
                           const char *host_y, int64_t pid_y, uint64_t in_y)
{
    int order = strcmp(host_x, host_y);

    if (order || pid_x != pid_y)
        return order ? order : pid_x < pid_y ? -1 : 1;
    return (in_x > in_y) - (in_x < in_y);
}

static int compare_ranks(const struct jp_rank *x, const struct jp_rank *y)
{
    return compare_process(host_of(x), x->pid, x->instance, host_of(y), y->pid,
                           y->instance);
}

/* The index as the last comparison keeps ranks of a process in the result's
 * order. */
static int by_identity(const void *a, const void *b, void *arg)
{
    const struct jp_rank *ranks = arg;
    size_t i = *(const size_t *) a, k = *(const size_t *) b;
    int order = compare_ranks(&ranks[i], &ranks[k]);

    return order ? order : i < k ? -1 : i > k;
}

/* The same for the ranks of one process, by their GPUs. */
static int by_device(const void *a, const void *b, void *arg)
{
    const struct jp_rank *ranks = arg;
    size_t i = *(const size_t *) a, k = *(const size_t *) b;

    if (ranks[i].device != ranks[k].device)
        return ranks[i].device < ranks[k].device ? -1 : 1;
    return i < k ? -1 : i > k;
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

/* Whether the n ranks, in order of communicators, include two of one
 * communicator. */
static bool has_twins(const struct jp_result *r, const size_t *at, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (r->ranks[at[i]].comm == r->ranks[at[i - 1]].comm)
            return true;
    return false;
}

/* Appends the process that has the n ranks of by_process from `first` on. */
static void add_process(struct jp_processes *p, const struct jp_result *r,
                        size_t first, size_t n, bool has_peers)
{
    const struct jp_rank *rank = &r->ranks[p->by_process[first]];

    p->list[p->n++] = (struct jp_process){.host = host_of(rank),
                                          .pid = rank->pid,
                                          .instance = rank->instance,
                                          .has_peers = has_peers,
                                          .task = -1,
                                          .world_rank = -1,
                                          .first = first};
    for (size_t i = first; i < first + n; i++) {
        add_rank(&p->list[p->n - 1], &r->ranks[p->by_process[i]]);
        p->of_rank[p->by_process[i]] = p->n - 1;
    }
}

/* Adds a process that has several ranks in one communicator: an entry for each
 * of its GPUs. Where they are unknown, but all its ranks are of one
 * communicator, each rank is one. */
static void add_devices(struct jp_processes *p, const struct jp_result *r,
                        size_t first, size_t n)
{
    size_t *at = &p->by_process[first];
    bool single = r->ranks[at[0]].comm == r->ranks[at[n - 1]].comm;

    qsort_r(at, n, sizeof(*at), by_device, r->ranks);
    for (size_t i = 0, next; i < n; i = next) {
        uint64_t device = r->ranks[at[i]].device;

        for (next = i + 1;
             next < n && device && r->ranks[at[next]].device == device;)
            next++;
        /* NCCL allows several ranks on one GPU; so may two processes of which
         * only host and pid are known */
        if ((!device && !single) || has_twins(r, &at[i], next - i))
            p->known = false;
        add_process(p, r, first + i, next - i, true);
    }
}

/* Groups the ranks, which by_process has in order of host, pid and instance. */
static void group(struct jp_processes *p, const struct jp_result *r)
{
    /* Known, unless ranks of one process turn out to be mixed up. */
    p->known = r->n_ranks > 0;
    for (size_t i = 0, next; i < r->n_ranks; i = next) {
        const struct jp_rank *rank = &r->ranks[p->by_process[i]];

        for (next = i + 1;
             next < r->n_ranks &&
             !compare_ranks(rank, &r->ranks[p->by_process[next]]);)
            next++;
        if (has_twins(r, &p->by_process[i], next - i))
            add_devices(p, r, i, next - i);
        else
            add_process(p, r, i, next - i, false);
    }
    for (size_t i = 0; i < p->n; i++)
        add_to_host(p, &p->list[i]);
}

/* --- deciding ------------------------------------------------------------- */

/* Returns the first process that is not before this one; p->n: none. */
static size_t first_from(const struct jp_processes *p, const char *host,
                         int64_t pid, uint64_t instance)
{
    size_t low = 0, high = p->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct jp_process *at = &p->list[mid];

        if (compare_process(at->host, at->pid, at->instance, host, pid,
                            instance) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const struct jp_process *processes_find(const struct jp_processes *p,
                                        const char *host, int64_t pid,
                                        uint64_t instance)
{
    size_t at = first_from(p, host, pid, instance), n = 0;

    while (at + n < p->n && !strcmp(p->list[at + n].host, host) &&
           p->list[at + n].pid == pid &&
           (!instance || p->list[at + n].instance == instance))
        n++;
    return n == 1 ? &p->list[at] : NULL;
}

const struct jp_process *processes_find_device(const struct jp_processes *p,
                                               const struct jp_result *r,
                                               const char *host, int64_t pid,
                                               uint64_t instance,
                                               uint64_t device)
{
    const struct jp_process *found = NULL;

    for (size_t at = first_from(p, host, pid, instance);
         at < p->n && !strcmp(p->list[at].host, host) && p->list[at].pid == pid;
         at++) {
        const struct jp_process *x = &p->list[at];

        if ((instance && x->instance != instance) ||
            (x->has_peers &&
             r->ranks[p->by_process[x->first]].device != device))
            continue;
        if (found)
            return NULL;
        found = x;
    }
    return found;
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
        const struct jp_process *at =
            processes_find(p, task->host, task->pid, 0);
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

/* Sets what the recordings tell of the processes: what their launchers told
 * them, and whether Slurm started them itself. A process of several GPUs has
 * one number for all of them, which is none of a rank. */
static void take_recorded(struct jp_processes *p, const struct jp_result *r,
                          struct rankrule_process *rule)
{
    for (size_t i = 0; i < r->n_recorded; i++) {
        const struct jp_recorded *x = &r->recorded[i];
        const struct jp_process *at =
            processes_find(p, x->host, x->pid, x->instance);

        p->has_workers |= x->launched.task_pid != x->pid;
        if (!at)
            continue;
        rule[at - p->list].launched = &x->launched;
        if (x->launched.task_pid == x->pid && p->list[at - p->list].task < 0)
            p->list[at - p->list].task = x->procid;
    }
}

/* Finds the ranks of processes that have a recording, but no records. A
 * launcher's variable has to number them together with all others, and must not
 * contradict a rank that another process has. Returns 0 or -1. */
static int find_silent(struct jp_processes *p, const struct jp_result *r,
                       uint64_t step_tasks)
{
    struct rankrule_process *rule = calloc(r->n_recorded + 1, sizeof(*rule));
    struct jp_process_silent *silent =
        calloc(r->n_recorded + 1, sizeof(*silent));
    struct rankrule all = {rule, r->n_recorded, NULL, 0, step_tasks};
    bool good = true;
    int rc = rule && silent ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < r->n_recorded; i++)
        rule[i] = (struct rankrule_process){
            .launched = &r->recorded[i].launched, .task = -1};
    if (rc == 0)
        rc = rankrule_decide(&all);
    for (size_t i = 0; rc == 0 && i < r->n_recorded; i++) {
        const struct jp_recorded *x = &r->recorded[i];
        size_t at = first_from(p, x->host, x->pid, x->instance);

        if (at < p->n && !compare_process(p->list[at].host, p->list[at].pid,
                                          p->list[at].instance, x->host, x->pid,
                                          x->instance))
            good = good && p->list[at].world_rank == rule[i].rank;
        else if (rule[i].rank >= 0)
            silent[p->n_silent++] = (struct jp_process_silent){
                x->host, x->pid, x->instance, rule[i].rank};
    }
    if (!good)
        p->n_silent = 0;
    free(rule);
    p->silent = silent;
    return rc;
}

/* Sets world_rank and its evidence. Returns 0 or -1. */
static int decide(struct jp_processes *p, const struct jp_result *r,
                  const struct jp_process_tasks *tasks)
{
    struct rankrule_process *processes = calloc(p->n + 1, sizeof(*processes));
    struct rankrule_member *members = calloc(r->n_ranks + 1, sizeof(*members));
    struct rankrule_comm *comms = calloc(r->n_comms + 1, sizeof(*comms));
    struct rankrule rule = {processes, p->n, comms, r->n_comms, tasks->of_step};
    int rc = processes && members && comms ? find_tasks(p, tasks) : -1;

    if (rc == 0)
        take_recorded(p, r, processes);
    for (size_t i = 0; rc == 0 && i < p->n; i++) {
        processes[i].task = p->list[i].task;
        if (r->quality.programs)
            processes[i].program =
                r->ranks[p->by_process[p->list[i].first]].restarts + 1;
    }
    for (size_t i = 0; rc == 0 && i < r->n_ranks; i++)
        members[i] = (struct rankrule_member){(uint32_t) p->of_rank[i],
                                              r->ranks[i].rank};
    for (size_t c = 0; rc == 0 && c < r->n_comms; c++)
        comms[c] = (struct rankrule_comm){
            r->comms[c].n_ranks, &members[p->comm_start[c]],
            p->comm_start[c + 1] - p->comm_start[c]};
    if (rc == 0)
        rc = rankrule_decide(&rule);
    for (size_t i = 0; rc == 0 && i < p->n; i++) {
        p->list[i].world_rank = processes[i].rank;
        p->list[i].evidence = processes[i].evidence;
    }
    if (rc == 0)
        rc = find_silent(p, r, tasks->of_step);
    free(processes);
    free(members);
    free(comms);
    return rc;
}

/* --- attempts ------------------------------------------------------------- */

/* What the recording of a process says of its launcher; NULL: none. */
static const struct jp_recorded *find_recorded(const struct jp_result *r,
                                               const char *host, int64_t pid,
                                               uint64_t instance)
{
    size_t low = 0, high = r->n_recorded;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct jp_recorded *at = &r->recorded[mid];
        int order = compare_process(at->host, at->pid, at->instance, host, pid,
                                    instance);

        if (order == 0)
            return at;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;

    return (x > y) - (x < y);
}

/* Sets at_once: the processes of the largest attempt, and those whose attempt
 * is unknown. Returns 0 or -1. */
static int count_at_once(struct jp_processes *p, const struct jp_result *r)
{
    int64_t *attempts = calloc(p->n + 1, sizeof(*attempts));
    size_t unknown = 0, most = 0;

    if (!attempts)
        return -1;
    for (size_t i = 0; i < p->n; i++) {
        const struct jp_process *x = &p->list[i];
        const struct jp_recorded *of =
            find_recorded(r, x->host, x->pid, x->instance);

        attempts[i] = of && of->launched.restarts >= 0 ? of->launched.restarts
                                                       : -1;
        if (!of && r->quality.programs)
            attempts[i] = r->ranks[p->by_process[x->first]].restarts;
        unknown += attempts[i] < 0;
    }
    qsort(attempts, p->n, sizeof(*attempts), by_number);
    for (size_t i = unknown, n = 0; i < p->n; i++) {
        n = i > unknown && attempts[i] == attempts[i - 1] ? n + 1 : 1;
        most = n > most ? n : most;
    }
    p->at_once = unknown + most;
    free(attempts);
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
    if (decide(p, r, tasks) < 0 || count_at_once(p, r) < 0) {
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
    struct jp_process_tasks tasks = {0};
    struct jp_process_task *list;
    size_t n = 0;
    int rc;

    /* each of a job's steps has a task 0, so tasks are no ranks of the job */
    if (nodes && nodes->n_steps > 1)
        return processes_init(p, r, &tasks);
    tasks.of_step = nodes ? nodes->step_tasks : 0;

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

void processes_set_attempts(struct jp_nodes *nodes, const struct jp_result *r)
{
    for (size_t i = 0; nodes && r && i < nodes->n_nodes; i++)
        for (size_t k = 0; k < nodes->nodes[i].n_workers; k++) {
            struct jp_task *worker = &nodes->nodes[i].workers[k];
            const struct jp_recorded *of = find_recorded(
                r, nodes->nodes[i].hostname, worker->pid, worker->instance);

            if (of && of->launched.restarts >= 0 &&
                of->launched.restarts <= UINT32_MAX)
                worker->restarts = (uint32_t) of->launched.restarts;
        }
}

void processes_fini(struct jp_processes *p)
{
    free(p->list);
    free(p->hosts);
    free(p->by_process);
    free(p->of_rank);
    free(p->comm_start);
    free(p->silent);
    *p = (struct jp_processes){0};
}

int64_t processes_rank_of(const struct jp_processes *p, const char *host,
                          int64_t pid, uint64_t instance)
{
    const struct jp_process *found = processes_find(p, host, pid, instance);
    size_t low = 0, high = p->n_silent;

    if (found)
        return found->world_rank;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct jp_process_silent *at = &p->silent[mid];
        int order = compare_process(at->host, at->pid, at->instance, host, pid,
                                    instance);

        if (order == 0)
            return at->world_rank;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return -1;
}

int64_t processes_rank_of_task(const struct jp_processes *p, const char *host,
                               int64_t pid, int64_t task)
{
    const struct jp_process *found = processes_find(p, host, pid, 0);

    /* The process has records: its rank was decided with all others. */
    if (found && found->world_rank >= 0)
        return found->world_rank;
    /* The number cannot be used if another process has this rank, or if some
     * rank is no task: then tasks are launchers, or ranks are in an order of
     * their own. */
    if (p->has_workers)
        return -1;
    for (size_t i = 0; i < p->n; i++)
        if (p->list[i].task < 0 || p->list[i].evidence != JP_RANK_OF_TASK ||
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
        /* traces may not name the host */
        snprintf(buf, JP_PROCESS_NAME_LEN, "%.60s%s%.80s", rank,
                 *process->host ? " " : "", process->host);
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
    /* traces may not name the host */
    snprintf(buf, JP_PROCESS_NAME_LEN, "%s%.60s (%.80s%spid %" PRId64 ")",
             *rank ? "rank " : "a rank", rank, process->host,
             *process->host ? ", " : "", process->pid);
    return buf;
}
