/* stall.c - name the communicator that stalled first. */
#include "orchestrator/insight/stall.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/insight/limits.h"

#define MIN_LIKES 3

static int add_recorded(const struct jp_result *r, struct jp_findings *findings)
{
    const struct jp_hang *hang = &r->hang;
    struct jp_finding *f = findings_add(findings, JP_FINDING_HANG);

    if (!f)
        return -1;
    f->comm = hang->comm;
    for (size_t i = 0; i < r->n_coll_names; i++)
        if (!strcmp(r->coll_names[i], hang->coll))
            f->coll = r->coll_names[i];
    f->rank = hang->rank;
    f->world_rank = hang->task;
    f->pid = hang->pid;
    snprintf(f->host, sizeof(f->host), "%s", hang->host);
    snprintf(f->text, sizeof(f->text), "%.319s", hang->text);
    snprintf(f->next, sizeof(f->next),
             "jobprof show --pending names every operation in flight and who "
             "is in it");
    return 0;
}

static int by_shape(const void *a, const void *b, void *arg)
{
    const struct jp_comm *comms = arg;
    const struct jp_comm *x = &comms[*(const size_t *) a],
                         *y = &comms[*(const size_t *) b];

    if (x->n_ranks != y->n_ranks)
        return x->n_ranks < y->n_ranks ? -1 : 1;
    if (x->nnodes != y->nnodes)
        return x->nnodes < y->nnodes ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Operations of the communicator that synchronises its ranks least, over
 * `least` of them: its steps, about. */
static uint64_t steps_of(const struct jp_result *r, const struct jp_people *p,
                         size_t comm, double least)
{
    uint64_t steps = r->comms[comm].ops;
    size_t rank = p->comm_start[comm];
    const struct jp_process *who = &p->processes[p->of_rank[rank]];

    for (size_t i = who->first; i < who->first + who->n; i++) {
        const struct jp_comm *c = &r->comms[r->ranks[p->by_process[i]].comm];

        if (c->n_ranks > 1 && (double) c->ops >= least && c->ops < steps)
            steps = c->ops;
    }
    return steps;
}

/* Of n communicators alike, the one that stopped short of all the others, which
 * are even; SIZE_MAX: none. *others: how many operations these have. */
static size_t find_short(const struct jp_result *r, const size_t *likes,
                         size_t n, uint64_t *others)
{
    size_t least = 0;

    for (size_t i = 1; i < n; i++)
        if (r->comms[likes[i]].ops < r->comms[likes[least]].ops)
            least = i;
    *others = r->comms[likes[least ? 0 : 1]].ops;
    for (size_t i = 0; i < n; i++) {
        const struct jp_comm *c = &r->comms[likes[i]];

        if (c->ops != c->ops_complete ||
            (i == least ? c->ops >= *others : c->ops != *others))
            return SIZE_MAX;
    }
    return likes[least];
}

/* Short by a whole number of operations a step it has less to do, as the stage
 * of a pipeline with fewer layers; nobody stalled then. */
static int add_short(const struct jp_result *r, const struct jp_people *p,
                     const size_t *likes, size_t n,
                     struct jp_findings *findings)
{
    double least = limits_table[JP_LIMIT_STALL_STEPS].value;
    const struct jp_comm *comm;
    struct jp_finding *f;
    uint64_t others, steps;
    size_t c;

    if (n < MIN_LIKES)
        return 0;
    c = find_short(r, likes, n, &others);
    if (c == SIZE_MAX || !p->known || p->comm_start[c] == p->comm_start[c + 1])
        return 0;
    comm = &r->comms[c];
    steps = steps_of(r, p, c, least);
    if ((double) steps < least || steps == comm->ops ||
        others - comm->ops > others / steps + 1 ||
        (others - comm->ops) % steps == 0)
        return 0;
    f = findings_add(findings, JP_FINDING_HANG);
    if (!f)
        return -1;
    f->comm = (int64_t) c;
    if (comm->n_hosts == 1)
        snprintf(f->host, sizeof(f->host), "%s", comm->hosts[0]);
    snprintf(
        f->text, sizeof(f->text),
        "communicator %s%s%.32s%s (%" PRIu32 " ranks%s%.64s) stopped first, "
        "after %s operations; its %zu likes went on to %s. Which of its "
        "ranks stayed away cannot be told from ended operations",
        comm->id, *comm->name ? " (" : "", comm->name, *comm->name ? ")" : "",
        comm->n_ranks, comm->n_hosts == 1 ? ", " : "",
        comm->n_hosts == 1 ? comm->hosts[0] : "", FIG_COUNT(comm->ops), n - 1,
        FIG_COUNT(others));
    snprintf(f->next, sizeof(f->next),
             "look at the processes of that communicator (py-spy, gdb); record "
             "with --nccl-profile=recorder to see who stayed away");
    return 0;
}

/* A step of which all tasks ended well did not hang. */
static bool ended_well(const struct jp_nodes *nodes)
{
    bool known = false;

    for (size_t i = 0; nodes && i < nodes->n_nodes; i++)
        for (size_t k = 0; k < nodes->nodes[i].n_tasks; k++) {
            if (nodes->nodes[i].tasks[k].status)
                return false;
            known = true;
        }
    return known;
}

static int compare_likes(const struct jp_result *r, const struct jp_people *p,
                         struct jp_findings *findings)
{
    size_t *order = calloc(r->n_comms + 1, sizeof(*order));
    size_t end;
    int rc = order ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < r->n_comms; i++)
        order[i] = i;
    if (rc == 0 && r->n_comms)
        qsort_r(order, r->n_comms, sizeof(*order), by_shape, r->comms);
    for (size_t i = 0; rc == 0 && i < r->n_comms; i = end) {
        for (end = i + 1;
             end < r->n_comms && !by_shape(&order[i], &order[end], r->comms);
             end++)
            ;
        if (r->comms[order[i]].n_ranks > 1)
            rc = add_short(r, p, order + i, end - i, findings);
    }
    free(order);
    return rc;
}

int stall_findings(const struct jp_result *r, const struct jp_people *p,
                   const struct jp_nodes *nodes, bool whole,
                   struct jp_findings *findings)
{
    if (r->hang.operations &&
        (double) r->hang.age_us >= limits_table[JP_LIMIT_HANG].value)
        return add_recorded(r, findings);
    if (!whole || r->quality.recordings || r->quality.traces ||
        ended_well(nodes))
        return 0;
    return compare_likes(r, p, findings);
}
