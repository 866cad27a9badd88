/* replay.c - the run again, by its operations. */
#include "orchestrator/insight/replay.h"

#include <math.h>
#include <stdlib.h>

#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/replay_parts.h"

#define FIND 0.125 /* of their difference, that clocks find each other by */
#define FIND_LOOSE 0.015625
#define SETTLED 4 /* by a part of the run they have */

/* ---------------------------------------------------------------- passes */

/* The end of a launch, of which this is the last event; false: it has not
 * ended. */
static bool find_end(const struct replay *x, uint32_t last, double *end)
{
    *end = -INFINITY;
    for (uint32_t k = last - x->events[last].place; k <= last; k++) {
        if (!x->ops[x->events[k].op].over)
            return false;
        *end = fmax(*end, x->leave[k]);
    }
    return true;
}

/* When an event's process comes to it; false: what it follows has not ended. */
static bool find_arrival(const struct replay *x, uint32_t i, double *at)
{
    const struct replay_event *e = &x->events[i];
    double from = x->begin[e->process], before = -INFINITY;

    if (e->after_start)
        from = x->arrive[e->after];
    else if (e->after != REPLAY_NONE && !find_end(x, e->after, &from))
        return false;
    if (e->before != REPLAY_NONE && (e->before != e->after || e->after_start) &&
        !find_end(x, e->before, &before))
        return false;
    /* in the first pass it comes when it came */
    *at = from + (x->own ? x->own[i] : e->own_us);
    if (!x->calibrates || e->after_start)
        *at = fmax(*at, before);
    return true;
}

/* Lets the clocks of an operation's members find each other, and takes what it
 * took without waiting: the first pass. */
static void calibrate(struct replay *x, struct replay_op *op)
{
    double mean = 0, net = 0, latest = -INFINITY;
    uint32_t placed = 0;

    for (uint32_t k = op->first; k < op->first + op->n; k++) {
        uint32_t i = x->members[k];

        if (!x->afloat[x->events[i].process]) {
            mean += x->arrive[i] + x->events[i].time_us;
            placed++;
        }
    }
    if (!placed)
        mean = x->arrive[x->members[op->first]] +
               x->events[x->members[op->first]].time_us;
    else
        mean /= placed;
    for (uint32_t k = op->first; k < op->first + op->n; k++) {
        uint32_t i = x->members[k], p = x->events[i].process;
        double off = mean - (x->arrive[i] + x->events[i].time_us);

        if (!x->afloat[p])
            off *= op->loose ? FIND_LOOSE : FIND;
        x->afloat[p] = false;
        if (x->cursor[p] - x->first[p] <
            (x->first[p + 1] - x->first[p]) / SETTLED)
            x->found[p] += off;
        x->arrive[i] += off;
        x->leave[i] = x->arrive[i] + x->events[i].time_us;
        latest = fmax(latest, x->arrive[i]);
    }
    for (uint32_t k = op->first; k < op->first + op->n; k++) {
        struct replay_event *e = &x->events[x->members[k]];

        e->net_us = (float) (x->leave[x->members[k]] - latest);
        net += e->net_us;
    }
    op->net_us = (float) fmax(net / op->n, 0);
}

/* All members are there. */
static void end_op(struct replay *x, struct replay_op *op)
{
    double latest = -INFINITY, net = (double) op->net_us * op->scale;

    op->over = true;
    if (op->n < op->expected) { /* each ends on its own */
        for (uint32_t k = op->first; k < op->first + op->n; k++)
            x->leave[x->members[k]] = x->arrive[x->members[k]] +
                                      x->events[x->members[k]].time_us;
        return;
    }
    if (x->calibrates) {
        calibrate(x, op);
        return;
    }
    for (uint32_t k = op->first; k < op->first + op->n; k++)
        latest = fmax(latest, x->arrive[x->members[k]]);
    for (uint32_t k = op->first; k < op->first + op->n; k++) {
        uint32_t i = x->members[k];
        const struct replay_event *e = &x->events[i];

        if (!op->loose)
            x->leave[i] = latest + net;
        else if (e->net_us < 0) /* it waited for nobody */
            x->leave[i] = x->arrive[i] + e->time_us;
        else
            x->leave[i] = latest + (double) e->net_us * op->scale;
    }
}

/* The process goes on as far as it can; then it waits for an operation. */
static void advance(struct replay *x, uint32_t process, uint32_t *ready,
                    size_t *n)
{
    uint32_t *at = &x->cursor[process];

    while (*at < x->first[process + 1]) {
        struct replay_op *op = &x->ops[x->events[*at].op];

        if (!find_arrival(x, *at, &x->arrive[*at]))
            return;
        ++*at;
        if (++op->arrived < op->n)
            continue;
        end_op(x, op);
        for (uint32_t k = op->first; k < op->first + op->n; k++) {
            uint32_t other = x->events[x->members[k]].process;

            if (other != process && !x->queued[other]) {
                x->queued[other] = true;
                ready[(*n)++] = other;
            }
        }
    }
}

/* From the first arrival to the last end of all; *own: of the process that took
 * longest in the recording. NAN: some never ended. */
static double measure(const struct replay *x, double *own)
{
    double from = INFINITY, to = -INFINITY;

    *own = NAN;
    for (uint32_t p = 0; p < x->p->n; p++) {
        double first = INFINITY, last = -INFINITY;

        if (x->cursor[p] != x->first[p + 1])
            return NAN;
        for (uint32_t i = x->first[p]; i < x->first[p + 1]; i++) {
            if (!x->ops[x->events[i].op].over)
                return NAN;
            first = fmin(first, x->arrive[i]);
            last = fmax(last, x->leave[i]);
        }
        from = fmin(from, first);
        to = fmax(to, last);
        if (p == x->longest)
            *own = last - first;
    }
    return to - from;
}

double replay_pass(struct replay *x, double *own)
{
    uint32_t *ready = x->ready;
    size_t n = x->p->n;

    for (uint32_t i = 0; i < x->n_ops; i++) {
        x->ops[i].arrived = 0;
        x->ops[i].over = false;
    }
    for (uint32_t p = 0; p < x->p->n; p++) {
        x->cursor[p] = x->first[p];
        ready[x->p->n - 1 - p] = p;
        x->queued[p] = true;
    }
    while (n) {
        uint32_t process = ready[--n];

        x->queued[process] = false;
        advance(x, process, ready, &n);
    }
    return measure(x, own);
}

/* ------------------------------------------------------------------- make */

static int make(struct replay *x, struct replay_state *state)
{
    size_t n = x->p->n, n_events;

    x->streams = calloc(x->r->n_comms + 1, sizeof(*x->streams));
    x->first = calloc(n + 1, sizeof(*x->first));
    x->recorded_us = calloc(n + 1, sizeof(*x->recorded_us));
    x->from_us = calloc(n + 1, sizeof(*x->from_us));
    x->begin = calloc(n + 1, sizeof(*x->begin));
    x->found = calloc(n + 1, sizeof(*x->found));
    x->afloat = calloc(n + 1, sizeof(*x->afloat));
    x->queued = calloc(n + 1, sizeof(*x->queued));
    x->cursor = calloc(n + 1, sizeof(*x->cursor));
    x->ready = calloc(n + 1, sizeof(*x->ready));
    if (!x->streams || !x->first || !x->recorded_us || !x->from_us ||
        !x->begin || !x->found || !x->afloat || !x->queued || !x->cursor ||
        !x->ready || replay_build(x, state) < 0)
        return -1;
    n_events = x->n_events;
    x->arrive = calloc(n_events + 1, sizeof(*x->arrive));
    x->leave = calloc(n_events + 1, sizeof(*x->leave));
    return x->arrive && x->leave ? 0 : -1;
}

/* Is the model good for this run? */
static void judge(struct replay *x, struct replay_state *state)
{
    for (uint32_t p = 0; p < x->p->n; p++) {
        x->afloat[p] = true;
        if (x->recorded_us[p] > x->recorded_us[x->longest])
            x->longest = p;
    }
    state->events = x->n_events;
    for (uint32_t i = 0; i < x->n_ops; i++)
        if (x->ops[i].n < x->ops[i].expected)
            state->lacking += x->ops[i].n;
    if (!x->n_events)
        return;
    state->recorded_us = x->recorded_us[x->longest];
    x->calibrates = true;
    replay_pass(x, &state->replayed_us);
    for (uint32_t p = 0; p < x->p->n; p++)
        x->begin[p] = x->found[p];
    replay_pass(x, &state->replayed_us);
    x->calibrates = false;
    x->base_us = replay_pass(x, &state->replayed_us);
    state->usable = x->base_us > 0 &&
                    fabs(state->replayed_us - state->recorded_us) <=
                        limits_get(JP_LIMIT_REPLAY_OFF) * state->recorded_us &&
                    (double) state->lacking <=
                        limits_get(JP_LIMIT_REPLAY_LACKING) *
                            (double) state->events;
}

struct replay *replay_create(const struct jp_result *result,
                             const struct jp_processes *processes,
                             struct replay_state *state)
{
    struct replay *x = calloc(1, sizeof(*x));

    *state = (struct replay_state){.replayed_us = NAN};
    if (!x)
        return NULL;
    x->r = result;
    x->p = processes;
    if (make(x, state) < 0) {
        replay_destroy(x);
        return NULL;
    }
    judge(x, state);
    return x;
}

void replay_destroy(struct replay *x)
{
    if (!x)
        return;
    for (uint32_t i = 0; i < x->n_keys; i++)
        free(x->keys[i].ops);
    free(x->keys);
    free(x->slots);
    free(x->comms_by_id);
    free(x->streams);
    free(x->ops);
    free(x->events);
    free(x->members);
    free(x->first);
    free(x->recorded_us);
    free(x->from_us);
    free(x->begin);
    free(x->found);
    free(x->afloat);
    free(x->queued);
    free(x->cursor);
    free(x->ready);
    free(x->arrive);
    free(x->leave);
    free(x);
}
