/* late_hidden.c - how much of an excess may be no lateness. */
#include <math.h>
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

#define OVERLAP 8   /* times that a delay may count which overlap hides */
#define AS_SLOW 0.8 /* of its network's surplus: who has that is a like */
#define DOUBT 2     /* times what a like shows of it */

/* What process q is late by in communicators like c; NAN: not known. */
static double excess_in(const struct late *l, size_t q, size_t c)
{
    const struct jp_process *who = &l->p->processes[q];
    const struct jp_comm *like = &l->r->comms[c];

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t rank = l->p->by_process[i];
        const struct jp_comm *comm = &l->r->comms[l->r->ranks[rank].comm];

        if (l->out[rank].judged && comm->n_ranks == like->n_ranks &&
            !strcmp(comm->name, like->name))
            return l->out[rank].excess_us;
    }
    return NAN;
}

/* What of a rank's excess a slower network of its other communicators may make,
 * at most, where these run beside this one: mates there have the same network,
 * so that it makes no more of theirs. */
static double overlap_of(const struct late *l, size_t rank, double surplus)
{
    size_t process = l->p->of_rank[rank], home = l->r->ranks[rank].comm;
    const struct jp_process *who = &l->p->processes[process];
    double most = OVERLAP * surplus;

    if (surplus <= 0 || l->out[rank].excess_us > most ||
        l->out[rank].excess_us <
            late_limit(JP_LIMIT_LATE_SHARE) * l->out[rank].peers_us)
        return most;
    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t own = l->p->by_process[i], c = l->r->ranks[own].comm;

        if (c == home || !l->out[own].judged)
            continue;
        for (size_t k = l->p->comm_start[c]; k < l->p->comm_start[c + 1]; k++) {
            size_t q = l->p->of_rank[k];
            double excess = excess_in(l, q, home);

            if (l->net[process] - l->net[q] < (1 - AS_SLOW) * surplus &&
                isfinite(excess))
                most = fmin(most, DOUBT * fmax(excess, 0));
        }
    }
    return most;
}

#define UNEVEN 2 /* times the mean message, by which the longest exceeds it */

/* The most that each member waited unseen, less the least that any of them
 * did; what overlap makes of its network's longer time; or what the longest
 * messages of its AlltoAll, where that has a slower network, took more than the
 * mean, which is all that is known of them. */
static void hide(struct late *l, size_t c)
{
    size_t from = l->p->comm_start[c], to = l->p->comm_start[c + 1];
    double least = INFINITY, grouped = INFINITY, usual;

    for (size_t i = from; i < to; i++)
        l->scratch[i - from] = l->net[l->p->of_rank[i]];
    usual = stats_median(l->scratch, to - from);
    for (size_t i = from; i < to; i++) {
        least = fmin(least, l->least[l->p->of_rank[i]]);
        grouped = fmin(grouped, l->grouped_net[l->p->of_rank[i]]);
    }
    for (size_t i = from; i < to; i++) {
        size_t process = l->p->of_rank[i];

        l->out[i].hidden_us =
            fmax(fmax(l->most[process] - least,
                      UNEVEN * (l->grouped_net[process] - grouped)),
                 overlap_of(l, i, l->net[process] - usual));
    }
}

void late_hide(struct late *l)
{
    for (size_t c = 0; c < l->r->n_comms; c++)
        if (l->p->comm_start[c] < l->p->comm_start[c + 1] &&
            l->out[l->p->comm_start[c]].judged)
            hide(l, c);
}
