/* replay_order.c - a run of which only the order of operations and how long
 * each took is known.
 *
 * Who followed the clocks of all processes (orchestrator/judge/judge_walk.c)
 * knows when each operation ended before which, so the events are given in that
 * order and none waits for one behind it.
 */
#include <math.h>
#include <stdlib.h>

#include "orchestrator/replay/replay_run.h"

/* Makes the operations: those that were numbered, and one for each event that
 * others did not wait for. Returns 0 or -1. */
static int make_ops(struct replay *x, const struct replay_order *order)
{
    uint32_t apart = 0;

    for (uint32_t i = 0; i < order->n; i++)
        apart += order->steps[i].apart;
    x->ops = calloc((size_t) order->n_ops + apart + 1, sizeof(*x->ops));
    if (!x->ops)
        return -1;
    x->n_ops = order->n_ops + apart;
    for (uint32_t i = 0; i < order->n_ops; i++)
        x->ops[i] = (struct replay_op){
            .comm = order->comm[i], .net_us = order->net_us[i], .scale = 1};
    return 0;
}

static void make_events(struct replay *x, const struct replay_order *order)
{
    uint32_t apart = order->n_ops;

    for (uint32_t p = 0; p < x->p->n; p++)
        for (uint32_t i = order->first[p]; i < order->first[p + 1]; i++) {
            const struct replay_step *step = &order->steps[i];
            struct replay_event *e = &x->events[i];

            *e = (struct replay_event){
                .op = step->op,
                .process = p,
                .own_us = isfinite(step->own_us) ? step->own_us : 0,
                .time_us = step->time_us,
                .after = i > order->first[p] ? i - 1 : REPLAY_NONE,
                .before = REPLAY_NONE};
            if (step->joined && i > order->first[p]) {
                e->place = 1;
                e->after = e[-1].after;
                e->own_us = e[-1].own_us;
            }
            if (step->apart) {
                x->ops[apart] = x->ops[step->op];
                x->ops[apart].net_us = step->time_us;
                x->ops[apart].n = 0;
                e->op = apart++;
            }
            x->ops[e->op].n++;
            x->kinds[i] = step->kind;
        }
    for (uint32_t i = 0; i < x->n_ops; i++)
        x->ops[i].expected = x->ops[i].n;
}

static int make(struct replay *x, const struct replay_order *order)
{
    size_t n = x->p->n, n_events = order->n;

    x->n_events = x->room_events = order->n;
    x->streams = calloc(x->r->n_comms + 1, sizeof(*x->streams));
    x->first = calloc(n + 1, sizeof(*x->first));
    x->events = calloc(n_events + 1, sizeof(*x->events));
    x->kinds = calloc(n_events + 1, sizeof(*x->kinds));
    if (!x->streams || !x->first || !x->events || !x->kinds ||
        make_ops(x, order) < 0)
        return -1;
    for (size_t p = 0; p <= n; p++)
        x->first[p] = order->first[p];
    make_events(x, order);
    return replay_find_members(x) < 0 || replay_make_passes(x) < 0 ? -1 : 0;
}

struct replay *replay_of_order(const struct jp_result *result,
                               const struct jp_processes *processes,
                               const struct replay_order *order,
                               struct replay_state *state)
{
    struct replay *x = calloc(1, sizeof(*x));

    *state = (struct replay_state){.replayed_us = NAN, .by_order = true};
    if (!x)
        return NULL;
    x->r = result;
    x->p = processes;
    x->by_order = true;
    if (make(x, order) < 0) {
        replay_destroy(x);
        return NULL;
    }
    state->events = order->n;
    state->lacking = order->lacking;
    state->recorded_us = order->run_us;
    state->share = 1;
    x->base_us = replay_pass(x, &state->replayed_us);
    state->run_us = state->replayed_us = x->base_us;
    replay_judge(state);
    return x;
}
