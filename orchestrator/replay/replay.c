/* replay.c - replay the run: what each operation depends on, and the passes.
 *
 * replay.h has the model. The first half decides for each event which earlier
 * one it follows, where streams of operations overlap (find_followed). The
 * second half is the engine: replay_pass advances each process until it waits,
 * in any order, so a pass is O(events); judge_usable() calibrates clocks and
 * decides whether the model fits this run.
 */
#include "orchestrator/replay/replay_run.h"

#include <math.h>
#include <stdlib.h>

#include "orchestrator/identity/barriers.h"
#include "orchestrator/identity/follows.h"

/* --- what an operation follows, where several may overlap ----------------- */

/* Returns the kind of an event: as replay_kind_of, but by size where all ranks
 * have the same, and by role, as a Send behaves unlike a Recv. */
static uint64_t kind_of(const struct replay *x, uint32_t event)
{
    const struct replay_op *op = &x->ops[x->events[event].op];

    return replay_mix(replay_kind_of(x, event) ^ x->events[event].role) ^
           (op->loose ? 0 : op->bytes << 1) ^ 1;
}

/* Returns the end of a launch, given its last event. A launch ends with its
 * longest operation; events of it are neighbours and numbered by place. */
static double launch_end(const struct replay *x, uint32_t last,
                         const double *starts)
{
    double time_us = 0;

    for (uint32_t k = last - x->events[last].place; k <= last; k++)
        time_us = fmax(time_us, (double) x->events[k].time_us);
    return starts[last] + time_us;
}

static struct follows_moment moment_of(const struct replay *x, uint32_t i,
                                       const double *starts)
{
    return (struct follows_moment){kind_of(x, i), starts[i],
                                   launch_end(x, i, starts)};
}

/* Returns the times from the end and from the start of the event before in the
 * stream to this one. */
static struct follows_lag lag_of(const struct replay *x, uint32_t i,
                                 const double *starts)
{
    const struct replay_event *e = &x->events[i];
    const struct follows_moment event = moment_of(x, i, starts),
                                before = moment_of(x, e->before, starts);
    uint32_t two = x->events[e->before].before;

    return follows_lag_of(&event, &before,
                          two != REPLAY_NONE ? kind_of(x, two) : 0,
                          x->ops[e->op].n);
}

/* Returns true if an operation of another stream ended between the one before
 * in the stream and the event. */
static bool has_between(const struct replay_event *e)
{
    return e->after != REPLAY_NONE && e->after != e->before;
}

/* The same where another operation ended in between. */
static struct follows_lag lag_between(const struct replay *x, uint32_t i,
                                      const double *starts)
{
    const struct replay_event *e = &x->events[i];

    return follows_lag_between(lag_of(x, i, starts), kind_of(x, e->after),
                               (double) e->own_us);
}

/* Learns from the first events of one process. Those between which something
 * else ended are of kinds of their own. Returns 0 or -1. */
static int learn_process(const struct replay *x, uint32_t process,
                         const double *starts, struct follows *habits)
{
    uint32_t from = x->first[process], to = x->first[process + 1];
    size_t most = follows_most(x->p->n, to - from), n = 0;
    struct follows_lag *lags = calloc(most + 1, sizeof(*lags));
    int rc;

    if (!lags)
        return -1;
    for (uint32_t i = from; i < to && n < most; i++)
        if (!x->events[i].place && x->events[i].before != REPLAY_NONE)
            lags[n++] = has_between(&x->events[i]) ? lag_between(x, i, starts)
                                                   : lag_of(x, i, starts);
    rc = follows_learn(habits, lags, n);
    free(lags);
    return rc;
}

/* Returns true if an event of a kind that follows the start of the one before
 * follows what ended in between instead. */
static bool is_after_other(const struct replay *x, uint32_t i,
                           const double *starts, const struct follows *habits)
{
    return has_between(&x->events[i]) &&
           follows_what_ended(
               follows_find(habits, lag_between(x, i, starts).kind));
}

/* Decides what an event follows, as far as it can by itself; vote() takes the
 * other members of the operation into account. */
static void decide(struct replay *x, uint32_t i, const double *starts,
                   const struct follows *habits)
{
    struct replay_event *e = &x->events[i];
    const struct follows_lag lag = lag_of(x, i, starts);
    const struct follows_habit *h = follows_find(habits, lag.kind);

    if (!h)
        return;
    /* Messages always follow the end: sender and receiver have unlike times. */
    if (!x->ops[e->op].pair && follows_start(h) &&
        !is_after_other(x, i, starts, habits)) {
        e->after_start = true;
        e->queued = lag.us[FOLLOWS_END] <= FOLLOWS_QUEUED_US;
        e->anew = follows_anew(h, lag.us);
    } else if (e->after != e->before && !e->after_start) {
        e->beside =
            follows_beside(h, lag.us[FOLLOWS_END], (double) e->own_us) ? 1 : -1;
    }
}

/* The members of an operation decide by majority whether it begins anew. If
 * not, those that follow the start of the one before do. */
static void follow_starts(struct replay *x, const struct replay_op *op,
                          const double *starts)
{
    uint32_t anew = 0, members = 0;

    for (uint32_t k = op->first; k < op->first + op->n; k++) {
        const struct replay_event *e = &x->events[x->members[k]];

        members += e->after_start && e->before != REPLAY_NONE;
        anew += e->anew;
    }
    for (uint32_t k = op->first; k < op->first + op->n; k++) {
        uint32_t i = x->members[k];
        struct replay_event *e = &x->events[i];

        if (!e->after_start || e->before == REPLAY_NONE)
            continue;
        if (2 * anew > members) {
            e->after_start = false;
            e->queued = false;
            continue;
        }
        e->after = e->before;
        e->own_us = (float) (starts[i] - starts[e->before]);
    }
}

/* The members of an operation decide by majority whether what ended last ended
 * beside it. A single member may be late, and then its times are not the usual
 * ones. */
static void vote(struct replay *x, const struct replay_op *op,
                 const double *starts)
{
    int sum = 0;

    follow_starts(x, op, starts);
    for (uint32_t k = op->first; k < op->first + op->n; k++)
        sum += x->events[x->members[k]].beside;
    for (uint32_t k = op->first; k < op->first + op->n; k++) {
        struct replay_event *e = &x->events[x->members[k]];

        if (!e->beside || (sum ? sum : e->beside) < 0)
            continue;
        e->own_us = (float) lag_of(x, x->members[k], starts).us[FOLLOWS_END];
        e->after = e->before;
    }
}

/* Events of a launch follow what its first event follows. */
static void copy_launch(struct replay_event *e)
{
    const struct replay_event *first = e - e->place;

    e->after = first->after;
    e->after_start = first->after_start;
    e->own_us = first->own_us;
    e->queued = first->queued;
}

/* Sets what each event follows: learn habits, decide, vote. Returns 0 or -1. */
static int find_followed(struct replay *x, const double *starts)
{
    struct follows habits = {0};
    int rc = 0;

    for (uint32_t p = 0; rc == 0 && p < x->p->n; p++)
        rc = learn_process(x, p, starts, &habits);
    for (uint32_t i = 0; rc == 0 && i < x->n_events; i++)
        if (!x->events[i].place && x->events[i].before != REPLAY_NONE)
            decide(x, i, starts, &habits);
    for (uint32_t i = 0; rc == 0 && i < x->n_ops; i++)
        vote(x, &x->ops[i], starts);
    for (uint32_t i = 0; rc == 0 && i < x->n_events; i++)
        if (x->events[i].place)
            copy_launch(&x->events[i]);
    follows_fini(&habits);
    return rc;
}

/* Part of their difference by which clocks approach each other in an operation.
 * Small, because a single operation's end may be off by a wait of its own;
 * smaller where members leave at different times. */
#define FIND 0.125
#define FIND_LOOSE 0.015625
#define SETTLED 4 /* clocks are settled after this part of the run */

/* --- passes --------------------------------------------------------------- */

/* Returns when a process leaves an operation that is over. It is computed each
 * time: it follows from the arrivals, and there are millions of events. */
static double leave_of(const struct replay *x, const struct replay_op *op,
                       uint32_t i)
{
    const struct replay_event *e = &x->events[i];

    /* each ends on its own, or when it did in the recording */
    if (op->n < op->expected || x->calibrates)
        return x->arrive[i] + (double) e->time_us;
    if (!op->loose)
        return op->latest + (double) op->net_us * op->scale;
    if (x->net_us[i] < 0) /* it did not wait for others */
        return x->arrive[i] + (double) e->time_us;
    return op->latest + (double) x->net_us[i] * op->scale;
}

/* Gets the end of a launch, given its last event. False: it has not ended. */
static bool find_end(const struct replay *x, uint32_t last, double *end)
{
    *end = -INFINITY;
    for (uint32_t k = last - x->events[last].place; k <= last; k++) {
        const struct replay_op *op = &x->ops[x->events[k].op];
        double leave;

        if (!op->over)
            return false;
        leave = leave_of(x, op, k);
        if (leave > *end) /* fmax is a call, and this is most of a pass */
            *end = leave;
    }
    return true;
}

/* Gets the time at which a process reaches an event. False: what it follows has
 * not ended yet. */
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
    /* In the first pass it arrives when it did in the recording, waits
     * included. */
    *at = from + (double) (x->own ? x->own[i] : e->own_us);
    if ((!x->calibrates || e->after_start) && before > *at)
        *at = before;
    return true;
}

/* Whether an operation aligns a process's clock: its members leave it together,
 * or there is nothing better. */
static bool aligns(const struct replay *x, const struct replay_op *op,
                   uint32_t process)
{
    return !op->shared || x->by_shared[process];
}

/* Aligns the clocks of an operation's members, which leave it together, and
 * measures its time without waiting. First pass only. A process that is still
 * afloat jumps to the mean of the others; later corrections are small, and only
 * those of the first quarter are kept in found, for the start of the next pass.
 */
static void calibrate(struct replay *x, struct replay_op *op)
{
    double mean = 0, net = 0, least = INFINITY;
    uint32_t placed = 0;

    for (uint32_t k = op->first; k < op->first + op->n; k++) {
        uint32_t i = x->members[k], p = x->events[i].process;

        if (!x->afloat[p] && aligns(x, op, p)) {
            mean += x->arrive[i] + (double) x->events[i].time_us;
            placed++;
        }
    }
    if (!placed)
        mean = x->arrive[x->members[op->first]] +
               (double) x->events[x->members[op->first]].time_us;
    else
        mean /= placed;
    for (uint32_t k = op->first; k < op->first + op->n; k++) {
        uint32_t i = x->members[k], p = x->events[i].process;
        double off = mean - (x->arrive[i] + (double) x->events[i].time_us);

        if (!aligns(x, op, p))
            off = 0;
        else if (!x->afloat[p])
            off *= op->loose ? FIND_LOOSE : FIND;
        x->afloat[p] &= !aligns(x, op, p);
        if (x->cursor[p] - x->first[p] <
            (x->first[p + 1] - x->first[p]) / SETTLED)
            x->found[p] += off;
        x->arrive[i] += off;
        op->latest = fmax(op->latest, x->arrive[i]);
    }
    for (uint32_t k = op->first; k < op->first + op->n; k++) {
        uint32_t i = x->members[k];
        float net_us = (float) (leave_of(x, op, i) - op->latest);

        if (x->net_us)
            x->net_us[i] = net_us;
        net += net_us;
        least = fmin(least, net_us);
    }
    /* of a message in a larger launch, the member that left first is nearer */
    op->net_us = (float) fmax(op->shared ? least : net / op->n, 0);
}

/* Ends an operation of which all recorded members have arrived. */
static void end_op(struct replay *x, struct replay_op *op)
{
    op->over = true;
    op->latest = -INFINITY;
    if (x->calibrates && op->n >= op->expected) {
        calibrate(x, op);
        return;
    }
    for (uint32_t k = op->first; k < op->first + op->n; k++)
        if (x->arrive[x->members[k]] > op->latest)
            op->latest = x->arrive[x->members[k]];
}

/* Advances a process until it waits for an operation. Ending an operation puts
 * its other members onto the stack of ready processes. */
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

/* Returns the time from the first arrival to the last end. *own: the same of
 * the process that took longest in the recording. NAN: some operation never
 * ended, because the timelines contradict each other. */
static double measure(const struct replay *x, double *own)
{
    double from = INFINITY, to = -INFINITY;

    *own = NAN;
    for (uint32_t p = 0; p < x->p->n; p++) {
        double first = INFINITY, last = -INFINITY;

        if (x->cursor[p] != x->first[p + 1])
            return NAN;
        for (uint32_t i = x->first[p]; i < x->first[p + 1]; i++) {
            const struct replay_op *op = &x->ops[x->events[i].op];

            if (!op->over)
                return NAN;
            first = fmin(first, x->arrive[i]);
            last = fmax(last, leave_of(x, op, i));
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

/* --- making --------------------------------------------------------------- */

/* Makes what a pass needs. 0 or -1. */
static int make_passes(struct replay *x)
{
    size_t n = x->p->n, n_events = x->n_events;
    bool loose = false;

    x->begin = calloc(n + 1, sizeof(*x->begin));
    x->found = calloc(n + 1, sizeof(*x->found));
    x->afloat = calloc(n + 1, sizeof(*x->afloat));
    x->by_shared = calloc(n + 1, sizeof(*x->by_shared));
    x->alone = calloc(n + 1, sizeof(*x->alone));
    x->queued = calloc(n + 1, sizeof(*x->queued));
    x->cursor = calloc(n + 1, sizeof(*x->cursor));
    x->ready = calloc(n + 1, sizeof(*x->ready));
    x->arrive = calloc(n_events + 1, sizeof(*x->arrive));
    for (uint32_t i = 0; i < x->n_ops; i++)
        loose |= x->ops[i].loose;
    if (loose && !(x->net_us = calloc(n_events + 1, sizeof(*x->net_us))))
        return -1;
    return x->begin && x->found && x->afloat && x->by_shared && x->alone &&
                   x->queued && x->cursor && x->ready && x->arrive
               ? 0
               : -1;
}

/* Makes all of it from the timelines, or from the order. Returns 0 or -1; the
 * caller destroys x. */
static int build_replay(struct replay *x, const struct replay_order *order,
                        struct replay_state *state)
{
    size_t n = x->p->n;

    x->streams = calloc(x->r->n_comms + 1, sizeof(*x->streams));
    x->first = calloc(n + 1, sizeof(*x->first));
    x->recorded_us = calloc(n + 1, sizeof(*x->recorded_us));
    x->from_us = calloc(n + 1, sizeof(*x->from_us));
    if (!x->streams || !x->first || !x->recorded_us || !x->from_us)
        return -1;
    if ((order ? replay_put_order(x, order) : replay_build(x, state)) < 0 ||
        replay_find_members(x) < 0)
        return -1;
    if (!order && find_followed(x, x->starts) < 0)
        return -1;
    free(x->starts);
    x->starts = NULL;
    return make_passes(x);
}

/* Whether the operation of an event lacks members. */
static bool lacks(const struct replay *x, uint32_t event)
{
    const struct replay_op *op = &x->ops[x->events[event].op];

    return op->n < op->expected;
}

/* Returns how many operations of a process lack members. cut: only the start of
 * the run is replayed, and not all processes have the same: what follows the
 * last operation that has all members is the cut, and does not count. */
static uint64_t count_lacking(const struct replay *x, uint32_t process,
                              bool cut)
{
    uint32_t from = x->first[process], to = x->first[process + 1];
    uint64_t lacking = 0;

    while (cut && to > from && lacks(x, to - 1))
        to--;
    for (uint32_t i = from; i < to; i++)
        lacking += lacks(x, i);
    return lacking;
}

/* Sums up, after a pass, for how long all others of its operations wait for
 * each process alone. */
static void sum_alone(struct replay *x)
{
    for (uint32_t i = 0; i < x->n_ops; i++) {
        const struct replay_op *op = &x->ops[i];
        double last = -INFINITY, before = -INFINITY;
        uint32_t process = 0;

        if (op->pair || op->n < 2 || op->n < op->expected)
            continue;
        for (uint32_t k = op->first; k < op->first + op->n; k++) {
            double at = x->arrive[x->members[k]];

            if (at > last) {
                before = last;
                last = at;
                process = x->events[x->members[k]].process;
            } else {
                before = fmax(before, at);
            }
        }
        x->alone[process] += last - before;
    }
}

double replay_alone(const struct replay *x, size_t process)
{
    return x->alone[process];
}

/* Takes from own times what was waiting for members that had met before an
 * operation: they have only the shortest of them, and then wait for the last
 * one. */
static void leave_barrier(struct replay *x, const struct replay_op *op)
{
    struct barrier b = {0};

    if (op->pair)
        return;
    for (uint32_t k = op->first; k < op->first + op->n; k++) {
        const struct replay_event *e = &x->events[x->members[k]];

        if (e->after_start || e->queued || e->place)
            return;
        barrier_add(&b, e->time_us, e->own_us);
    }
    for (uint32_t k = op->first;
         barrier_is_met(&b, op->expected) && k < op->first + op->n; k++)
        x->events[x->members[k]].own_us = b.own_least_us;
}

/* Runs the first passes, and judges whether the model fits this run: the length
 * of the replay must be that of the recording, and few records may be missing.
 * Guards against a gain that the model invents. */
static void judge_usable(struct replay *x, struct replay_state *state)
{
    for (uint32_t p = 0; p < x->p->n; p++) {
        x->afloat[p] = true;
        x->by_shared[p] = true;
        for (uint32_t i = x->first[p]; i < x->first[p + 1]; i++)
            x->by_shared[p] &= x->ops[x->events[i].op].shared;
        if (x->recorded_us[p] > x->recorded_us[x->longest])
            x->longest = p;
    }
    state->events = x->n_events;
    for (uint32_t p = 0; p < x->p->n; p++)
        state->lacking += count_lacking(x, p, state->part);
    if (!x->n_events)
        return;
    state->recorded_us = x->recorded_us[x->longest];
    x->calibrates = true;
    replay_pass(x, &state->replayed_us);
    for (uint32_t p = 0; p < x->p->n; p++)
        x->begin[p] = x->found[p];
    replay_pass(x, &state->replayed_us);
    x->calibrates = false;
    /* until here, processes arrived when they did in the recording */
    for (uint32_t i = 0; i < x->n_ops; i++)
        leave_barrier(x, &x->ops[i]);
    for (uint32_t i = 0; i < x->n_events; i++)
        if (x->events[i].place)
            copy_launch(&x->events[i]);
    x->base_us = replay_pass(x, &state->replayed_us);
    state->run_us = x->base_us;
    sum_alone(x);
    replay_judge(state);
}

/* The same of a run by its order. Its clocks are aligned, as one walk followed
 * them all. */
static void judge_order(struct replay *x, const struct replay_order *order,
                        struct replay_state *state)
{
    state->events = order->n;
    state->lacking = order->lacking;
    state->recorded_us = order->run_us;
    x->base_us = replay_pass(x, &state->replayed_us);
    state->run_us = state->replayed_us = x->base_us;
    sum_alone(x);
    replay_judge(state);
}

/* order: NULL: by start and end. */
static struct replay *create(const struct jp_result *result,
                             const struct jp_processes *processes,
                             const struct replay_order *order,
                             struct replay_state *state)
{
    struct replay *x = calloc(1, sizeof(*x));

    *state = (struct replay_state){.replayed_us = NAN, .by_order = order};
    if (!x)
        return NULL;
    x->r = result;
    x->p = processes;
    x->by_order = order;
    if (build_replay(x, order, state) < 0) {
        replay_destroy(x);
        return NULL;
    }
    if (order)
        judge_order(x, order, state);
    else
        judge_usable(x, state);
    return x;
}

struct replay *replay_create(const struct jp_result *result,
                             const struct jp_processes *processes,
                             struct replay_state *state)
{
    return create(result, processes, NULL, state);
}

struct replay *replay_of_order(const struct jp_result *result,
                               const struct jp_processes *processes,
                               const struct replay_order *order,
                               struct replay_state *state)
{
    return create(result, processes, order, state);
}

void replay_destroy(struct replay *x)
{
    if (!x)
        return;
    for (uint32_t i = 0; i < x->n_keys; i++)
        free(x->keys[i].ops);
    free(x->keys);
    hash_fini(&x->key_table);
    free(x->streams);
    free(x->starts);
    free(x->ops);
    free(x->events);
    free(x->kinds);
    free(x->members);
    free(x->first);
    free(x->recorded_us);
    free(x->from_us);
    free(x->begin);
    free(x->found);
    free(x->afloat);
    free(x->by_shared);
    free(x->alone);
    free(x->queued);
    free(x->cursor);
    free(x->ready);
    free(x->arrive);
    free(x->net_us);
    free(x);
}
