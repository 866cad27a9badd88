/* judge_walk.c - follow the clocks of all processes, operation by operation.
 *
 * A process is at the operation that it does next. When all members of an
 * operation are at it, it ends, and they go on. The result does not depend on
 * the order in which that is done.
 *
 * Where nothing can go on, records are missing: then an operation ends without
 * the members that have gone past it. Or they are not in the order of the
 * operations: then the one is taken that needs the least looking ahead, else
 * the one of which the most members are there.
 */
#include "orchestrator/judge/judge.h"

#include <math.h>
#include <stdlib.h>

enum { AHEAD = 32 }; /* records of a process that are looked at */
#define HALTS_WORK UINT64_C(500000000) /* records looked at, in all halts */

#define NOBODY UINT32_MAX

/* A key while nothing can go on: the lowest operation that somebody is at, and
 * how many have only later ones ahead. seen: the last process looked at. */
struct waited {
    uint32_t op, past, seen;
};

struct walk {
    struct judge_run *run;
    uint32_t *at;   /* [process] its next item */
    uint32_t *left; /* [process] operations that it has left so far */
    bool *done;     /* [item] taken before its turn */
    double *end;    /* [op] the latest end, or arrival, so far */
    uint32_t *arrived;
    bool *over;
    uint32_t *last;  /* [op] the process that arrived last; NOBODY */
    uint32_t *prior; /* [process] the one that arrived before it */
    uint32_t *ready; /* processes that can go on: a stack */
    uint32_t n_ready;
    uint32_t *tally; /* [op] members that have it ahead, at a halt */
    struct waited *keys;
    uint32_t *early; /* [process] the item that it takes before its turn */
    uint64_t halts;
};

/* Records what an operation's end makes of one member. */
static void leave(struct walk *w, uint32_t process, uint32_t item, double end)
{
    struct judge_item *x = &w->run->items[item];
    double *clock = &w->run->clock[process];
    double arrival = end - (double) x->time_us;

    x->own_us = (float) fmax(arrival - *clock, 0);
    x->at = (float) fmax(arrival, *clock);
    x->place = w->left[process]++;
    *clock = fmax(*clock, end);
}

/* Returns when a process would leave an operation. */
static double bid(const struct walk *w, uint32_t process, uint32_t item)
{
    return w->run->clock[process] + (double) w->run->items[item].time_us;
}

/* Ends an operation for all that are at it. */
static void end_op(struct walk *w, uint32_t op)
{
    double end = w->end[op];

    w->over[op] = true;
    for (uint32_t p = w->last[op]; p != NOBODY; p = w->prior[p]) {
        leave(w, p, w->at[p], end);
        w->at[p]++;
        w->ready[w->n_ready++] = p;
    }
}

static void arrive(struct walk *w, uint32_t op, uint32_t process, uint32_t item)
{
    float time = w->run->items[item].time_us;

    w->end[op] = fmax(w->end[op], bid(w, process, item));
    if (!w->arrived[op] || time < w->run->net_us[op])
        w->run->net_us[op] = time;
    w->arrived[op]++;
}

/* Returns the process's item after that one which it has not done; NOBODY:
 * there is none. */
static uint32_t next_item(const struct walk *w, uint32_t process, uint32_t item)
{
    while (++item < w->run->first[process + 1])
        if (!w->done[item])
            return item;
    return NOBODY;
}

/* Two processes that send to each other in one launch have a Send and a Recv
 * each, of which neither comes first. The records have some order, so each may
 * be at the other one's next item. Returns true if p is so at its item, and
 * both operations have ended then. */
static bool cross(struct walk *w, uint32_t p, uint32_t item)
{
    struct judge_run *run = w->run;
    uint32_t ahead = next_item(w, p, item), of[2] = {run->items[item].op}, q;
    uint32_t theirs;
    double end;

    if (ahead == NOBODY)
        return false;
    of[1] = run->items[ahead].op;
    if (run->expected[of[0]] != 2 || run->expected[of[1]] != 2 ||
        w->over[of[1]] || w->arrived[of[1]] != 1)
        return false;
    q = w->last[of[1]];
    theirs = next_item(w, q, w->at[q]);
    if (q == p || theirs == NOBODY || run->items[theirs].op != of[0])
        return false;
    arrive(w, of[0], q, theirs);
    arrive(w, of[1], p, ahead);
    end = fmax(w->end[of[0]], w->end[of[1]]);
    for (int k = 0; k < 2; k++) {
        w->over[of[k]] = true;
        w->end[of[k]] = end;
    }
    leave(w, p, item, end);
    leave(w, p, ahead, end);
    leave(w, q, w->at[q], end);
    leave(w, q, theirs, end);
    w->done[ahead] = w->done[theirs] = true;
    run->items[ahead].joined = run->items[theirs].joined = true;
    w->at[p]++;
    w->at[q]++;
    w->ready[w->n_ready++] = p;
    w->ready[w->n_ready++] = q;
    return true;
}

/* Takes a process to the next operation that it has to wait for. */
static void go_on(struct walk *w, uint32_t p)
{
    struct judge_run *run = w->run;

    for (; w->at[p] < run->first[p + 1]; w->at[p]++) {
        uint32_t item = w->at[p], op = run->items[item].op;

        if (w->done[item])
            continue;
        if (!w->over[op]) {
            arrive(w, op, p, item);
            if (w->arrived[op] < run->expected[op] && cross(w, p, item))
                return;
            w->prior[p] = w->last[op];
            w->last[op] = p;
            if (w->arrived[op] == run->expected[op])
                end_op(w, op);
            return;
        }
        /* it ended without this member, whose record seemed missing */
        run->items[item].apart = true;
        leave(w, p, item, bid(w, p, item));
    }
}

/* Ends an operation that all members have ahead: those that are not at it yet
 * take it before its turn. */
static void take_early(struct walk *w, uint32_t op)
{
    struct judge_run *run = w->run;

    for (uint32_t p = 0; p < run->p->n; p++) {
        uint32_t seen = 0;

        w->early[p] = NOBODY;
        for (uint32_t i = w->at[p]; i < run->first[p + 1] && seen < AHEAD;
             i++) {
            if (w->done[i])
                continue;
            seen++;
            if (run->items[i].op != op || i == w->at[p])
                continue;
            arrive(w, op, p, i);
            w->done[i] = true;
            w->early[p] = i;
            run->lacking++;
            break;
        }
    }
    end_op(w, op);
    for (uint32_t p = 0; p < run->p->n; p++)
        if (w->early[p] != NOBODY)
            leave(w, p, w->early[p], w->end[op]);
}

/* Finds an operation that lacks records: somebody is at it, and the members
 * that are not have a later one of its key ahead in its place. Returns NOBODY:
 * there is none. */
static uint32_t find_lost(struct walk *w)
{
    const struct judge_run *run = w->run;
    uint32_t n = run->n_keys, lost = NOBODY;

    for (uint32_t k = 0; k < n; k++)
        w->keys[k] = (struct waited){.op = NOBODY, .seen = NOBODY};
    for (uint32_t p = 0; p < run->p->n; p++)
        if (w->at[p] < run->first[p + 1]) {
            uint32_t op = run->items[w->at[p]].op;

            if (op < w->keys[run->key[op]].op)
                w->keys[run->key[op]].op = op;
        }
    for (uint32_t p = 0; p < run->p->n; p++) {
        uint32_t looked = 0;

        for (uint32_t i = w->at[p]; i < run->first[p + 1] && looked < AHEAD;
             i++) {
            uint32_t op = run->items[i].op;
            struct waited *k = &w->keys[run->key[op]];

            if (w->done[i])
                continue;
            looked++;
            if (k->seen == p)
                continue;
            k->seen = p; /* the next one of this key */
            k->past += k->op < op;
        }
    }
    for (uint32_t k = 0; k < n && lost == NOBODY; k++)
        if (w->keys[k].op != NOBODY && w->keys[k].past &&
            w->arrived[w->keys[k].op] + w->keys[k].past ==
                run->expected[w->keys[k].op])
            lost = w->keys[k].op;
    return lost;
}

/* Returns the operation that all members have ahead, by the least looking
 * ahead. NOBODY: there is none. *fullest: of those that somebody is at, the one
 * of which most members are. */
static uint32_t find_early(struct walk *w, uint32_t *fullest)
{
    const struct judge_run *run = w->run;
    uint32_t best = NOBODY, depth = AHEAD + 1;

    *fullest = NOBODY;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t p = 0; p < run->p->n; p++) {
            uint32_t looked = 0;

            for (uint32_t i = w->at[p]; i < run->first[p + 1] && looked < AHEAD;
                 i++) {
                uint32_t op = run->items[i].op;

                if (w->done[i])
                    continue;
                looked++;
                if (pass) { /* clean up for the next halt */
                    w->tally[op] = 0;
                    continue;
                }
                if (++w->tally[op] == run->expected[op] && looked < depth) {
                    best = op;
                    depth = looked;
                }
                if (i == w->at[p] &&
                    (*fullest == NOBODY ||
                     (double) w->arrived[op] * run->expected[*fullest] >
                         (double) w->arrived[*fullest] * run->expected[op]))
                    *fullest = op;
            }
        }
    return best;
}

/* Goes on where no operation has all members. Returns false at the end, or at
 * the end of a part. */
static bool unlock(struct walk *w)
{
    struct judge_run *run = w->run;
    uint32_t early, fullest, lost;
    bool ended = false, waits = false;

    for (uint32_t p = 0; p < run->p->n; p++) {
        ended |= run->cut[p] && w->at[p] == run->first[p + 1];
        waits |= w->at[p] < run->first[p + 1];
    }
    if (!waits || ended)
        return false;
    w->halts++;
    lost = find_lost(w);
    early = lost == NOBODY ? find_early(w, &fullest) : NOBODY;
    if (early != NOBODY) {
        take_early(w, early);
        return true;
    }
    lost = lost == NOBODY ? fullest : lost;
    run->lacking += run->expected[lost] - w->arrived[lost];
    end_op(w, lost);
    return true;
}

int judge_walk(struct judge_run *run, double *end_us)
{
    struct walk w = {.run = run};
    size_t n = run->p->n, ops = (size_t) run->n_ops + 1;
    /* each halt looks at the next records of all processes */
    uint64_t most = HALTS_WORK / (AHEAD * (uint64_t) (n + 1) + run->n_keys) +
                    20;
    int rc = -1;

    w.at = calloc(n + 1, sizeof(*w.at));
    w.left = calloc(n + 1, sizeof(*w.left));
    w.prior = calloc(n + 1, sizeof(*w.prior));
    w.ready = calloc(n + 1, sizeof(*w.ready));
    w.done = calloc((size_t) run->first[n] + 1, sizeof(*w.done));
    w.end = calloc(ops, sizeof(*w.end));
    w.arrived = calloc(ops, sizeof(*w.arrived));
    w.over = calloc(ops, sizeof(*w.over));
    w.last = calloc(ops, sizeof(*w.last));
    w.tally = calloc(ops, sizeof(*w.tally));
    w.early = calloc(n + 1, sizeof(*w.early));
    w.keys = calloc((size_t) run->n_keys + 1, sizeof(*w.keys));
    if (!w.at || !w.left || !w.prior || !w.ready || !w.done || !w.end ||
        !w.arrived || !w.over || !w.last || !w.tally || !w.early || !w.keys)
        goto out;
    rc = 0;
    run->lacking = 0;
    for (uint32_t i = 0; i < run->n_ops; i++)
        w.last[i] = NOBODY;
    for (uint32_t p = 0; p < n; p++) {
        run->clock[p] = 0;
        w.at[p] = run->first[p];
        w.ready[w.n_ready++] = p;
    }
    if (run->first[n] / 50 + 100 < most)
        most = run->first[n] / 50 + 100;
    do {
        while (w.n_ready)
            go_on(&w, w.ready[--w.n_ready]);
    } while (w.halts < most && unlock(&w));
    if (w.halts >= most)
        run->why = "records are not in the order of the operations";
    /* of a part, what was not reached counts for nobody */
    for (uint32_t p = 0; p < n; p++)
        for (uint32_t i = w.at[p]; i < run->first[p + 1]; i++)
            if (!w.done[i])
                run->items[i].own_us = NAN;
    *end_us = 0;
    for (uint32_t p = 0; p < n; p++)
        *end_us = fmax(*end_us, run->clock[p]);
out:
    free(w.at);
    free(w.left);
    free(w.prior);
    free(w.ready);
    free(w.done);
    free(w.end);
    free(w.arrived);
    free(w.over);
    free(w.last);
    free(w.tally);
    free(w.early);
    free(w.keys);
    return rc;
}
