/* replay_even.c - own times of a run in which work is shared evenly.
 *
 * replay_even is the entry. Operations of processes of a role are matched by
 * kind and number: the fifth AllReduce of eight ranks with the fifth one of
 * another process. Timelines may end at different places, so a process need not
 * have all that the longest one of its role has.
 */
#include "orchestrator/replay/replay_run.h"

#include <stdlib.h>
#include <string.h>

/* The same operation of all processes of a role. Who waited in line has an own
 * time that is not known: it is no longer than the time that was recorded, and
 * is taken to be no longer than the mean of those that are known. */
struct column {
    double known_us, sum_us; /* of own times: known ones; all of them */
    uint32_t known, n;
    float least_us; /* of all, if none is known */
};

struct kinded {
    uint64_t kind;
    uint32_t event;
};

struct evening {
    const struct replay *x;
    const struct replay_evening *how;
    float *own;
    uint32_t *order;        /* events of each process, by kind and number */
    struct column *columns; /* of one role, as of its longest process */
};

static int by_kind(const void *a, const void *b)
{
    const struct kinded *x = a, *y = b;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->event < y->event ? -1 : x->event > y->event;
}

/* Fills order. scratch: room for the events of a process. */
static void sort_events(struct evening *e, struct kinded *scratch)
{
    for (uint32_t p = 0; p < e->x->p->n; p++) {
        uint32_t from = e->x->first[p], n = replay_count(e->x, p);

        for (uint32_t i = 0; i < n; i++)
            scratch[i] =
                (struct kinded){replay_work_of(e->x, from + i), from + i};
        qsort(scratch, n, sizeof(*scratch), by_kind);
        for (uint32_t i = 0; i < n; i++)
            e->order[from + i] = scratch[i].event;
    }
}

/* By role, the longest process of each first. */
static int by_role(const void *a, const void *b, void *arg)
{
    const struct evening *e = arg;
    uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
    uint32_t n_x = replay_count(e->x, x), n_y = replay_count(e->x, y);

    if (e->how->role[x] != e->how->role[y])
        return e->how->role[x] < e->how->role[y] ? -1 : 1;
    if (n_x != n_y)
        return n_x > n_y ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Where a process is among the columns of its role. */
struct walk {
    uint32_t first, process; /* the longest process of the role */
    uint32_t column, at;
};

/* Gets the next event of the process that has a column and is not of the start:
 * before its first operation a process has no own time. False: no more. */
static bool next_event(const struct evening *e, struct walk *w, uint32_t *event,
                       struct column **column)
{
    const struct replay *x = e->x;
    const uint32_t *theirs = e->order + x->first[w->first];
    const uint32_t *mine = e->order + x->first[w->process];
    uint32_t n = replay_count(x, w->process),
             columns = replay_count(x, w->first);
    uint32_t start = x->first[w->process] + (uint32_t) (e->how->from * n);

    while (w->at < n && w->column < columns) {
        uint64_t a = replay_work_of(x, mine[w->at]);
        uint64_t b = replay_work_of(x, theirs[w->column]);

        *event = mine[w->at];
        *column = &e->columns[w->column];
        w->at += a <= b;
        w->column += a >= b;
        if (a == b && *event >= start && *event > x->first[w->process])
            return true;
    }
    return false;
}

static double own_us(const struct evening *e, const struct column *c,
                     uint32_t event)
{
    double own = (double) e->own[event];

    return !e->x->events[event].queued ? own
           : c->known                  ? fmin(own, c->known_us / c->known)
                                       : (double) c->least_us;
}

static void add_known(struct evening *e, uint32_t first, uint32_t process)
{
    struct walk w = {first, process, 0, 0};
    struct column *c;
    uint32_t i;

    while (next_event(e, &w, &i, &c)) {
        c->least_us = c->n++ ? fminf(c->least_us, e->own[i]) : e->own[i];
        if (e->x->events[i].queued)
            continue;
        c->known_us += (double) e->own[i];
        c->known++;
    }
}

static void add_all(struct evening *e, uint32_t first, uint32_t process)
{
    struct walk w = {first, process, 0, 0};
    struct column *c;
    uint32_t i;

    while (next_event(e, &w, &i, &c))
        c->sum_us += own_us(e, c, i);
}

static void even_each(struct evening *e, uint32_t first, uint32_t process)
{
    struct walk w = {first, process, 0, 0};
    struct column *c;
    uint32_t i;

    while (next_event(e, &w, &i, &c))
        if (c->n > 1)
            e->own[i] = (float) (c->sum_us / c->n);
}

static void even_whole(struct evening *e, uint32_t first, uint32_t process)
{
    struct walk w = {first, process, 0, 0};
    double own = 0, even = 0;
    struct column *c;
    uint32_t i;

    while (next_event(e, &w, &i, &c))
        if (c->n > 1) {
            own += own_us(e, c, i);
            even += c->sum_us / c->n;
        }
    w.at = w.column = 0;
    while (own > 0 && even > 0 && next_event(e, &w, &i, &c))
        if (c->n > 1)
            e->own[i] *= (float) (even / own);
}

static void even_role(struct evening *e, const uint32_t *list, size_t n)
{
    memset(e->columns, 0, replay_count(e->x, *list) * sizeof(*e->columns));
    for (size_t i = 0; i < n; i++)
        add_known(e, *list, list[i]);
    for (size_t i = 0; i < n; i++)
        add_all(e, *list, list[i]);
    for (size_t i = 0; i < n; i++)
        if (e->how->each)
            even_each(e, *list, list[i]);
        else
            even_whole(e, *list, list[i]);
}

int replay_even(struct replay *x, const struct replay_evening *how, float *own)
{
    struct evening e = {.x = x, .how = how, .own = own};
    size_t n = x->p->n, end;
    uint32_t *members = calloc(n + 1, sizeof(*members)), most = 0;
    struct kinded *scratch = NULL;
    int rc = -1;

    for (uint32_t p = 0; p < n; p++)
        most = replay_count(x, p) > most ? replay_count(x, p) : most;
    scratch = calloc((size_t) most + 1, sizeof(*scratch));
    e.order = calloc((size_t) x->n_events + 1, sizeof(*e.order));
    e.columns = calloc((size_t) most + 1, sizeof(*e.columns));
    if (!members || !scratch || !e.order || !e.columns)
        goto out;
    sort_events(&e, scratch);
    for (uint32_t p = 0; p < n; p++)
        members[p] = p;
    qsort_r(members, n, sizeof(*members), by_role, &e);
    for (size_t i = 0; i < n; i = end) {
        uint32_t role = how->role[members[i]];

        for (end = i + 1; end < n && how->role[members[end]] == role; end++)
            ;
        even_role(&e, members + i, end - i);
    }
    rc = 0;
out:
    free(members);
    free(scratch);
    free(e.order);
    free(e.columns);
    return rc;
}
