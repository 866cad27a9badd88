/* late_hidden.c - how much of a process' waits no sum holds. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/join_parts.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/late_parts.h"
#include "orchestrator/insight/stats.h"

#define MIN_OPS 5 /* fewer are a program's start, which waits for long */

/* Times of one communicator's function. */
struct times {
    double *least, *most;
    size_t n, room;
};

static int put(struct times *t, const struct jp_op *op)
{
    if (t->n == t->room) {
        size_t room = t->room ? 2 * t->room : 1024;
        double *least = reallocarray(t->least, room, sizeof(*least));
        double *most = least ? reallocarray(t->most, room, sizeof(*most))
                             : NULL;

        t->least = least ? least : t->least;
        t->most = most ? most : t->most;
        if (!most)
            return -1;
        t->room = room;
    }
    t->least[t->n] = (double) op->exec_min_us;
    t->most[t->n++] = (double) op->exec_max_us;
    return 0;
}

/* Adds what each process of the communicator spent at least and at most. */
static void share_out(struct late *l, size_t comm, struct times *t)
{
    double n = (double) t->n, least, most;

    if (t->n >= MIN_OPS) {
        least = n * stats_trim(t->least, t->n).mean;
        most = n * stats_trim(t->most, t->n).mean;
        for (size_t i = l->p->comm_start[comm]; i < l->p->comm_start[comm + 1];
             i++) {
            l->least[l->p->of_rank[i]] += least;
            l->most[l->p->of_rank[i]] += most;
        }
    }
    t->n = 0;
}

int late_add_hidden(struct late *l)
{
    struct ops_reader *reader = calloc(1, sizeof(*reader));
    struct times times = {0};
    uint32_t comm = 0, coll = 0;
    bool hides = false;
    int rc = reader ? 0 : -1;

    for (size_t i = 0; i < l->r->n_coll_names; i++)
        hides |= !join_is_barrier(l->r->coll_names[i]);
    if (reader) {
        reader->ops = l->r->ops;
        ops_want(reader, OPS_COUNTS | OPS_EXEC);
    }
    for (size_t i = 0; rc == 0 && hides && i < l->r->n_ops; i++) {
        const struct jp_op *op = ops_at(reader, i);

        if (times.n && (op->comm != comm || op->coll != coll))
            share_out(l, comm, &times);
        comm = op->comm;
        coll = op->coll;
        if (l->r->comms[comm].n_ranks > 1 && op->n_exec &&
            !join_is_barrier(l->r->coll_names[coll]))
            rc = put(&times, op);
    }
    if (times.n)
        share_out(l, comm, &times);
    free(times.least);
    free(times.most);
    free(reader);
    return rc;
}
