/* procs.c - group ranks by host and pid. */
#include "orchestrator/report/procs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A row of result->ranks on its way to its process. */
struct member {
    const char *host;
    int64_t pid;
    uint32_t row;
};

static int by_host_and_pid(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    int order = strcmp(x->host, y->host);

    if (order)
        return order;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static size_t largest_comm(const struct jp_result *r)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < r->n_comms; i++)
        if (best == SIZE_MAX || r->comms[i].n_ranks > r->comms[best].n_ranks)
            best = i;
    return best;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
    uint64_t total;

    return __builtin_add_overflow(a, b, &total) ? UINT64_MAX : total;
}

static void add_rank(struct jp_proc *proc, const struct jp_rank *rank,
                     size_t world)
{
    if (rank->comm == world && rank->rank < proc->world_rank)
        proc->world_rank = rank->rank;
    proc->timed_ops = sum(proc->timed_ops, rank->timed_ops);
    proc->last_ops = sum(proc->last_ops, rank->last_ops);
    proc->caused_us = sum(proc->caused_us, rank->caused_us);
    proc->wait_us = sum(proc->wait_us, rank->wait_us);
}

static void add_to_node(struct jp_procs *p, struct jp_proc *proc)
{
    struct jp_proc_node *node = p->nodes + p->n_nodes;

    if (!p->n_nodes || strcmp(node[-1].host, proc->host)) {
        *node = (struct jp_proc_node){.host = proc->host};
        p->n_nodes++;
    } else {
        node--;
    }
    proc->node = (uint32_t) (node - p->nodes);
    node->n_procs++;
    node->timed_ops = sum(node->timed_ops, proc->timed_ops);
    node->last_ops = sum(node->last_ops, proc->last_ops);
    node->caused_us = sum(node->caused_us, proc->caused_us);
    node->wait_us = sum(node->wait_us, proc->wait_us);
}

/* members are sorted; of_rank gets places in that order. */
static void group(struct jp_procs *p, const struct jp_result *r,
                  const struct member *members)
{
    size_t world = largest_comm(r);

    for (size_t i = 0; i < r->n_ranks; i++) {
        const struct member *m = &members[i];

        if (!i || m->pid != m[-1].pid || strcmp(m->host, m[-1].host))
            p->list[p->n++] = (struct jp_proc){
                .host = m->host, .pid = m->pid, .world_rank = JP_PROC_NONE};
        add_rank(&p->list[p->n - 1], &r->ranks[m->row], world);
        p->of_rank[m->row] = (uint32_t) (p->n - 1);
    }
    for (size_t i = 0; i < p->n; i++)
        add_to_node(p, &p->list[i]);
}

int procs_make(const struct jp_result *result, struct jp_procs *procs)
{
    size_t n = result->n_ranks + 1;
    struct member *members = reallocarray(NULL, n, sizeof(*members));
    struct jp_procs p = {.list = reallocarray(NULL, n, sizeof(*p.list)),
                         .nodes = reallocarray(NULL, n, sizeof(*p.nodes)),
                         .of_rank = reallocarray(NULL, n, sizeof(*p.of_rank))};

    if (!members || !p.list || !p.nodes || !p.of_rank) {
        free(members);
        procs_fini(&p);
        return -1;
    }
    for (size_t i = 0; i < result->n_ranks; i++) {
        const struct jp_rank *rank = &result->ranks[i];

        members[i] = (struct member){rank->host ? rank->host : "", rank->pid,
                                     (uint32_t) i};
    }
    qsort(members, result->n_ranks, sizeof(*members), by_host_and_pid);
    group(&p, result, members);
    free(members);
    *procs = p;
    return 0;
}

void procs_fini(struct jp_procs *procs)
{
    free(procs->list);
    free(procs->nodes);
    free(procs->of_rank);
    *procs = (struct jp_procs){0};
}

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

/* The first max places of a list; n_all of them become n. */
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

uint32_t *procs_heaviest(const struct jp_procs *procs, size_t max, size_t *n)
{
    struct weighed *all = reallocarray(NULL, procs->n + 1, sizeof(*all));
    size_t kept = 0;

    for (size_t i = 0; all && i < procs->n; i++)
        if (procs->list[i].timed_ops)
            all[kept++] =
                (struct weighed){procs->list[i].caused_us, (uint32_t) i};
    return all ? pick(all, kept, max, n) : NULL;
}

uint32_t *procs_heaviest_nodes(const struct jp_procs *procs, size_t max,
                               size_t *n)
{
    struct weighed *all = reallocarray(NULL, procs->n_nodes + 1, sizeof(*all));
    size_t kept = 0;

    for (size_t i = 0; all && i < procs->n_nodes; i++)
        if (procs->nodes[i].timed_ops)
            all[kept++] =
                (struct weighed){procs->nodes[i].caused_us, (uint32_t) i};
    return all ? pick(all, kept, max, n) : NULL;
}

static int by_world_rank(const void *a, const void *b, void *arg)
{
    const struct jp_proc *list = arg;
    uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;

    if (list[x].world_rank != list[y].world_rank)
        return list[x].world_rank < list[y].world_rank ? -1 : 1;
    return x < y ? -1 : x > y;
}

void procs_sort_by_rank(const struct jp_procs *procs, uint32_t *places,
                        size_t n)
{
    qsort_r(places, n, sizeof(*places), by_world_rank, procs->list);
}

char *procs_name(const struct jp_proc *proc, char buf[JP_PROC_NAME_LEN])
{
    if (proc->world_rank == JP_PROC_NONE)
        snprintf(buf, JP_PROC_NAME_LEN, "%.80s pid %" PRId64, proc->host,
                 proc->pid);
    else
        snprintf(buf, JP_PROC_NAME_LEN, "%" PRIu32 " %.80s", proc->world_rank,
                 proc->host);
    return buf;
}
