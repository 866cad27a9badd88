/* people.c - tell the processes of a step apart. */
#include "orchestrator/insight/people.h"

#include <stdlib.h>
#include <string.h>

static int by_identity(const void *a, const void *b, void *arg)
{
    const struct jp_rank *ranks = arg;
    size_t i = *(const size_t *) a, k = *(const size_t *) b;
    int order = strcmp(ranks[i].host, ranks[k].host);

    if (!order && ranks[i].pid != ranks[k].pid)
        order = ranks[i].pid < ranks[k].pid ? -1 : 1;
    return order ? order : i < k ? -1 : i > k;
}

static bool same_process(const struct jp_rank *x, const struct jp_rank *y)
{
    return x->pid == y->pid && !strcmp(x->host, y->host);
}

/* Walks the ranks in order of identity and makes processes of them. */
static void group(struct jp_people *p, const struct jp_result *r)
{
    struct jp_process *now = NULL;

    p->known = r->n_ranks > 0;
    for (size_t i = 0; i < r->n_ranks; i++) {
        const struct jp_rank *rank = &r->ranks[p->by_process[i]];
        const struct jp_rank *last = i ? &r->ranks[p->by_process[i - 1]] : NULL;

        if (!last || !same_process(rank, last)) {
            p->n_hosts += !last || strcmp(rank->host, last->host) != 0;
            now = &p->processes[p->n_processes++];
            *now = (struct jp_process){.host = rank->host,
                                       .pid = rank->pid,
                                       .world_rank = -1,
                                       .host_at = p->n_hosts - 1,
                                       .first = i};
        } else if (rank->comm == last->comm) {
            p->known = false; /* ranks of one index order lie side by side */
        }
        now->n++;
        p->of_rank[p->by_process[i]] = p->n_processes - 1;
    }
}

static void find_world(struct jp_people *p, const struct jp_result *r)
{
    for (size_t c = 0; c < r->n_comms; c++) {
        if (r->comms[c].n_ranks != p->n_processes ||
            p->comm_start[c + 1] - p->comm_start[c] != p->n_processes)
            continue;
        for (size_t i = p->comm_start[c]; i < p->comm_start[c + 1]; i++)
            p->processes[p->of_rank[i]].world_rank = r->ranks[i].rank;
        return;
    }
}

static struct jp_process *find(const struct jp_people *p, const char *host,
                               int64_t pid)
{
    size_t low = 0, high = p->n_processes;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        struct jp_process *x = &p->processes[mid];
        int order = strcmp(x->host, host);

        if (!order && x->pid == pid)
            return x;
        if (order < 0 || (!order && x->pid < pid))
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

/* What Slurm knows is surer; a task may have started the process only, though,
 * so that none matches. */
static void find_tasks(struct jp_people *p, const struct jp_nodes *nodes)
{
    for (size_t i = 0; nodes && i < nodes->n_nodes; i++) {
        const struct jp_node *node = &nodes->nodes[i];

        for (size_t k = 0; k < node->n_tasks; k++) {
            struct jp_process *x = find(p, node->hostname, node->tasks[k].pid);

            if (x)
                x->world_rank = node->tasks[k].gtid;
        }
    }
}

int people_init(struct jp_people *p, const struct jp_result *r,
                const struct jp_nodes *nodes)
{
    size_t at = 0;

    *p = (struct jp_people){0};
    p->processes = calloc(r->n_ranks + 1, sizeof(*p->processes));
    p->by_process = calloc(r->n_ranks + 1, sizeof(*p->by_process));
    p->of_rank = calloc(r->n_ranks + 1, sizeof(*p->of_rank));
    p->comm_start = calloc(r->n_comms + 1, sizeof(*p->comm_start));
    if (!p->processes || !p->by_process || !p->of_rank || !p->comm_start) {
        people_fini(p);
        return -1;
    }
    for (size_t c = 0; c < r->n_comms; c++) {
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
    find_world(p, r);
    find_tasks(p, nodes);
    return 0;
}

void people_fini(struct jp_people *p)
{
    free(p->processes);
    free(p->by_process);
    free(p->of_rank);
    free(p->comm_start);
    *p = (struct jp_people){0};
}

size_t people_find(const struct jp_people *p, const struct jp_result *r,
                   size_t comm, uint32_t rank)
{
    size_t low = p->comm_start[comm], high = p->comm_start[comm + 1];

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
