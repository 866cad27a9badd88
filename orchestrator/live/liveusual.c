/* liveusual.c - how long a process' operations usually take. */
#include "orchestrator/live/liveusual.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In flight for so long: its length is worth remembering. */
#define LONG_NS UINT64_C(1000000000)

void liveusual_fini(struct liveusual *usual)
{
    free(usual->series);
    *usual = (struct liveusual){.series = NULL};
}

static bool is_usual(const struct liveusual_series *u,
                     const struct liveusual_long *l)
{
    return u->comm == l->comm && u->kind == l->kind &&
           !strcmp(u->func, l->func);
}

/* NULL: no memory, or too many. */
static struct liveusual_series *series_of(struct liveusual *usual,
                                          const struct liveusual_long *l)
{
    struct liveusual_series *u;

    for (size_t i = 0; i < usual->n; i++)
        if (is_usual(&usual->series[i], l))
            return &usual->series[i];
    if (usual->n == LIVEUSUAL_SERIES_MAX)
        return NULL;
    if (!(usual->n & (usual->n - 1))) {
        u = reallocarray(usual->series, usual->n ? 2 * usual->n : 1,
                         sizeof(*u));
        if (!u)
            return NULL;
        usual->series = u;
    }
    u = &usual->series[usual->n++];
    *u = (struct liveusual_series){.comm = l->comm, .kind = l->kind};
    memcpy(u->func, l->func, sizeof(u->func));
    return u;
}

/* What the counters say of the function's operations so far. */
static uint64_t count_of(const struct jp_recfile *file, uint32_t comm,
                         const char *func)
{
    const struct recfile_comm *told = recfile_comm(file, comm);

    for (size_t i = 0; told && i < told->n_counts; i++)
        if (!strcmp(told->counts[i].func, func))
            return told->counts[i].counts.produced;
    return 0;
}

/* It is not in flight any more. */
static void learn(struct liveusual *usual, const struct stuck_times *times,
                  const struct jp_recfile *file, const struct liveusual_long *l)
{
    struct liveusual_series *u = series_of(usual, l);
    uint64_t limit;

    if (!u)
        return;
    limit = stuck_limit_ns(times, &u->lengths, false);
    if (l->age_ns / STUCK_LEARN_TIMES <= limit)
        stuck_usual_add(&u->lengths, l->age_ns);
    /* the shorter ones are only counted */
    if (u->lengths.n < count_of(file, l->comm, l->func))
        u->lengths.n = count_of(file, l->comm, l->func);
}

static struct liveusual_long *longer_of(struct liveusual *usual,
                                        const struct jpr_op *op)
{
    for (size_t i = 0; i < usual->n_longs; i++) {
        struct liveusual_long *l = &usual->longs[i];

        if (l->seq == op->seq && l->comm == op->comm && l->kind == op->kind &&
            l->start_ns == op->enqueue_start_mono_ns)
            return l;
    }
    if (usual->n_longs == LIVEUSUAL_LONGS_MAX)
        return NULL;
    usual->longs[usual->n_longs] =
        (struct liveusual_long){.comm = op->comm,
                                .kind = op->kind,
                                .seq = op->seq,
                                .start_ns = op->enqueue_start_mono_ns};
    snprintf(usual->longs[usual->n_longs].func, sizeof(usual->longs->func),
             "%s", op->func);
    return &usual->longs[usual->n_longs++];
}

void liveusual_look(struct liveusual *usual, const struct stuck_times *times,
                    const struct jp_recfile *file,
                    const struct jp_pending *pending, uint64_t mono_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < usual->n_longs; i++)
        usual->longs[i].seen = false;
    for (size_t i = 0; i < pending->n; i++) {
        const struct jpr_op *op = &pending->ops[i].op;
        uint64_t start = op->enqueue_start_mono_ns;
        struct liveusual_long *l;

        if (!start || op->unsure || mono_ns < start ||
            mono_ns - start < LONG_NS)
            continue;
        l = longer_of(usual, op);
        if (l) {
            l->seen = true;
            l->age_ns = mono_ns - start;
        }
    }
    for (size_t i = 0; i < usual->n_longs; i++)
        if (usual->longs[i].seen)
            usual->longs[kept++] = usual->longs[i];
        else
            learn(usual, times, file, &usual->longs[i]);
    usual->n_longs = kept;
}

const struct stuck_usual *liveusual_find(const struct liveusual *usual,
                                         const struct jp_recfile *file,
                                         const struct hangs_op *op)
{
    for (size_t i = 0; i < usual->n; i++) {
        const struct jpr_comm *comm =
            jpr_comm(file->reader, usual->series[i].comm);

        if (comm && comm->id == op->hash && usual->series[i].kind == op->kind &&
            !strcmp(usual->series[i].func, op->func))
            return &usual->series[i].lengths;
    }
    return NULL;
}
