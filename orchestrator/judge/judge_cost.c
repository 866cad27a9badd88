/* judge_cost.c - what an answer costs, by a replay of the run.
 *
 * Formulas. replay.h defines alone, last and share, as shares of the replayed
 * run L(). Here L() is in us.
 *
 * - A run that its timelines hold (price_by_gains):
 *     cost = share * L(),  worth = max(alone, last) * L()
 *   The cost is what is told; the worth decides whether it is.
 * - A process that the replay misses (replay_misses), because operations
 *   overlap in an order that it does not follow:
 *     cost = worth = min(how long others waited for it alone, excess)
 * - A longer run (price_kept): its start alone can be replayed. Own times of
 *   the start, behind PRICED_FROM of it, are scaled by the excess that all of
 *   the run has, and the part of it by which the start changes is that of all:
 *     rate = excess / work
 *     cost = min(change of L() / change of own times, 1) * excess
 *   Who is late all along is taken away, and shared out as above. Who is late
 *   in a part of the run only gets the excess on top. Nobody costs more than
 *   the median process was in operations.
 * - A group of processes (judge_group_cost): own times of each are scaled by
 *   what the group has more to do, of its work.
 *     cost = min(change of L() / mean change of own times, 1) * excess
 * - Stalls of a longer run:
 *     cost = worth = sum of min(wait, longest time of another process in
 *                               flight)
 *
 * judge_turns.c has the cost of turns.
 *
 * An answer whose worth is no more than JUDGE_WORTH of the run is dropped.
 */
#include "orchestrator/judge/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/stats.h"

/* Of the start of a longer run: what an excess costs is asked of what follows,
 * as ranks warm up before. */
#define PRICED_FROM 0.5

/* By excess, where costs are unknown: they are so for all answers. */
static int by_cost(const void *a, const void *b)
{
    const struct judge_answer *x = a, *y = b;
    double cost_x = isfinite(x->cost_us) ? x->cost_us : x->excess_us;
    double cost_y = isfinite(y->cost_us) ? y->cost_us : y->excess_us;

    if (cost_x != cost_y)
        return cost_x > cost_y ? -1 : 1;
    return x->process < y->process ? -1 : x->process > y->process;
}

int judge_replay_by_order(struct judge *j, const struct judge_run *run)
{
    uint32_t n = run->first[run->p->n];
    struct replay_step *steps = calloc((size_t) n + 1, sizeof(*steps));
    uint32_t *comm = calloc((size_t) run->n_ops + 1, sizeof(*comm));
    uint32_t *first = calloc(run->p->n + 2, sizeof(*first));
    struct replay_order order = {.steps = steps,
                                 .first = first,
                                 .n_ops = run->n_ops,
                                 .comm = comm,
                                 .net_us = run->net_us,
                                 .lacking = run->lacking,
                                 .run_us = j->clock_us};

    for (uint32_t p = 0; steps && first && p < run->p->n; p++) {
        first[p + 1] = first[p];
        for (uint32_t i = run->first[p]; i < run->first[p + 1]; i++) {
            const struct judge_item *item = &run->items[i];

            if (isnan(item->own_us)) /* the start ended before it */
                continue;
            first[p + 1]++;
            steps[first[p] + item->place] = (struct replay_step){
                .op = item->op,
                .kind = (uint32_t) hash_word(
                    hash_word(hash_start(), run->role[p]), item->col),
                .own_us = item->own_us,
                .time_us = item->time_us,
                .joined = item->joined,
                .apart = item->apart};
        }
    }
    for (uint32_t i = 0; comm && i < run->n_ops; i++)
        comm[i] = run->keys[run->key[i]].comm;
    if (steps && comm && first) {
        order.n = first[run->p->n];
        j->replay = replay_of_order(run->r, run->p, &order, &j->replay_state);
        j->replay_state.part = run->part;
    }
    free(steps);
    free(comm);
    free(first);
    return j->replay ? 0 : -1;
}

/* Lists whom an answer is about. Returns their number. */
static size_t list_late(const struct jp_processes *p,
                        const struct judge_answer *a, size_t *list)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++)
        if (judge_concerns(a, p, i))
            list[n++] = i;
    return n;
}

/* Returns true if all others wait for an answer's process alone, and the replay
 * says that next to nothing is saved without it. */
static bool is_missed(const struct judge *j, const struct judge_answer *a,
                      const struct replay_gain *gain)
{
    double run_us = j->replay_state.run_us;

    return a->kind != JUDGE_NODE &&
           replay_misses(gain, j->processes[a->process].alone_us / run_us,
                         replay_alone(j->replay, a->process) / run_us);
}

/* Takes costs from gains. Where the replay misses what others wait for one
 * process, it costs as long as they waited for it alone; operations that were
 * entered at once wait for one delay each, so no more than its excess. */
static void take_costs(struct judge *j, const struct replay_gain *gains)
{
    double run_us = j->replay_state.run_us;
    size_t asked = 0;

    for (size_t i = 0; i < j->n; i++) {
        struct judge_answer *a = &j->answers[i];

        if (isfinite(a->cost_us))
            continue;
        a->cost_us = gains[asked].share * run_us;
        a->worth_us = replay_worth(&gains[asked]) * run_us;
        if (is_missed(j, a, &gains[asked]))
            a->cost_us = a->worth_us =
                fmin(j->processes[a->process].alone_us, a->excess_us);
        j->replayed &= isfinite(a->cost_us);
        asked++;
    }
}

/* What answers say, as causes for a replay. */
struct causes {
    struct replay_cause *at;
    size_t n;
    size_t *processes; /* of all of them */
};

/* Lists the causes of all answers; priced: those that have a cost, too. 0, or
 * -1; causes_fini in any case. */
static int causes_init(struct causes *c, const struct judge *j,
                       const struct jp_processes *p, bool priced)
{
    c->at = calloc(j->n + 1, sizeof(*c->at));
    c->processes = calloc(j->n * p->n + 1, sizeof(*c->processes));
    c->n = 0;
    if (!c->at || !c->processes)
        return -1;
    for (size_t i = 0; i < j->n; i++) {
        size_t *list = c->processes + c->n * p->n;

        if (!priced && isfinite(j->answers[i].cost_us))
            continue;
        c->at[c->n++] =
            (struct replay_cause){.kind = REPLAY_LATE,
                                  .processes = list,
                                  .n = list_late(p, &j->answers[i], list),
                                  .comm = -1,
                                  .from_us = NAN};
    }
    return 0;
}

static void causes_fini(struct causes *c)
{
    free(c->at);
    free(c->processes);
}

/* Prices all answers that have no cost yet. 0 or -1. */
static int price_by_gains(struct judge *j, const struct jp_processes *p)
{
    struct causes causes;
    struct replay_gain *gains = calloc(j->n + 1, sizeof(*gains));
    int rc = causes_init(&causes, j, p, false);
    double all;

    if (rc == 0 && causes.n)
        rc = gains ? replay_gains(j->replay, causes.at, causes.n, gains, &all)
                   : -1;
    if (rc == 0 && causes.n)
        take_costs(j, gains);
    causes_fini(&causes);
    free(gains);
    return rc;
}

/* --- costs in a run that is longer than its replay ------------------------ */

/* Adds to the rates of an answer's processes what its excess is of their work,
 * by durations for each operation, times `times`. */
static void add_rate(const struct judge *j, const struct jp_processes *p,
                     const struct judge_answer *a, double times, double *rate)
{
    const struct judge_process *x = &j->processes[a->process];
    double work_us = 0, excess = 0;

    for (unsigned b = 0; b < JUDGE_BLOCKS; b++)
        work_us += a->blocks >> b & 1 ? x->work_us[b] : 0;
    if (!j->timed)
        excess = a->excess_us / (a->share * (double) x->intervals);
    else if (work_us > a->excess_us)
        excess = a->excess_us / (times < 0 ? work_us : work_us - a->excess_us);
    for (size_t i = 0; i < p->n; i++)
        if (judge_concerns(a, p, i))
            rate[i] += times * excess;
}

/* Whether an answer of such a run is late in the start, too, as all along. */
static bool is_all_along(const struct judge_answer *a)
{
    return a->kind != JUDGE_STALL && a->blocks == UINT32_MAX;
}

static bool is_chosen(const struct judge_answer *a,
                      const struct judge_answer *only,
                      const struct judge_answer *without)
{
    return is_all_along(a) && a != without && (!only || a == only);
}

/* Sets *cost_us to what those cost who are late all along: `only` (NULL: all of
 * them), and not `without`. The run becomes shorter by as much of their excess
 * as the start does. rate, added_us: scratch. 0 or -1. */
static int cost_of(struct judge *j, const struct jp_processes *p,
                   const struct judge_answer *only,
                   const struct judge_answer *without, double *rate,
                   double *added_us, double *cost_us)
{
    double longer_us, taken_us = 0, excess_us = 0;

    memset(rate, 0, p->n * sizeof(*rate));
    for (size_t i = 0; i < j->n; i++)
        if (is_chosen(&j->answers[i], only, without))
            add_rate(j, p, &j->answers[i], -1, rate);
    if (replay_scaled(j->replay, rate, PRICED_FROM, &longer_us, added_us) < 0)
        return -1;
    for (size_t i = 0; i < j->n; i++)
        if (is_chosen(&j->answers[i], only, without)) {
            taken_us -= added_us[j->answers[i].process];
            excess_us += j->answers[i].excess_us;
        }
    *cost_us =
        taken_us > 0 ? fmin(fmax(-longer_us, 0) / taken_us, 1) * excess_us : 0;
    return 0;
}

/* Prices who is late all along (replay.h has alone, last and share). rate,
 * added_us: scratch. 0 or -1. */
static int price_all_along(struct judge *j, const struct jp_processes *p,
                           double *rate, double *added_us)
{
    double all, others, alone, sum = 0;

    if (cost_of(j, p, NULL, NULL, rate, added_us, &all) < 0)
        return -1;
    for (size_t i = 0; i < j->n; i++) {
        struct judge_answer *a = &j->answers[i];

        if (!is_all_along(a))
            continue;
        if (cost_of(j, p, a, NULL, rate, added_us, &alone) < 0 ||
            cost_of(j, p, NULL, a, rate, added_us, &others) < 0)
            return -1;
        a->worth_us = fmax(alone, all - others);
        sum += a->worth_us;
    }
    for (size_t i = 0; i < j->n; i++)
        if (is_all_along(&j->answers[i]))
            j->answers[i].cost_us = sum > 0 ? all * j->answers[i].worth_us / sum
                                            : 0;
    return 0;
}

/* Prices who is late in a part of the run only: with as much excess for their
 * work as there, his processes make the start longer by a part of the excess.
 * rate, added_us: scratch. 0 or -1. */
static int price_part(struct judge *j, const struct jp_processes *p,
                      struct judge_answer *a, double *rate, double *added_us)
{
    double longer_us, part;

    memset(rate, 0, p->n * sizeof(*rate));
    add_rate(j, p, a, 1, rate);
    if (replay_scaled(j->replay, rate, PRICED_FROM, &longer_us, added_us) < 0)
        return -1;
    part = added_us[a->process] > 0 ? fmax(longer_us, 0) / added_us[a->process]
                                    : 0;
    a->cost_us = a->worth_us = fmin(part, 1) * a->excess_us;
    return 0;
}

/* Prices who is late. Nobody costs more than the others were in operations, as
 * where a clock is set. 0 or -1. */
static int price_kept(struct judge *j, const struct jp_processes *p)
{
    double *scratch = calloc(2 * p->n + 1, sizeof(*scratch)), comm_us;
    int rc = scratch ? price_all_along(j, p, scratch, scratch + p->n) : -1;

    for (size_t i = 0; rc == 0 && i < j->n; i++) {
        struct judge_answer *a = &j->answers[i];

        if (a->kind != JUDGE_STALL && !is_all_along(a))
            rc = price_part(j, p, a, scratch, scratch + p->n);
    }
    for (size_t i = 0; rc == 0 && i < p->n; i++)
        scratch[i] = j->processes[i].comm_us;
    comm_us = rc == 0 ? stats_median(scratch, p->n) : 0;
    for (size_t i = 0; rc == 0 && i < j->n; i++)
        if (j->answers[i].kind != JUDGE_STALL)
            j->answers[i].cost_us = fmin(j->answers[i].cost_us, comm_us);
    free(scratch);
    return rc;
}

/* --- costs of groups ------------------------------------------------------ */

/* Returns what a process must compute less so that by_us are gone: a share of
 * its work; by durations us before each operation. */
static double rate_without(const struct judge *j, size_t process, double by_us)
{
    const struct judge_process *x = &j->processes[process];
    double work_us = 0;

    if (!j->timed)
        return x->intervals ? -by_us / (double) x->intervals : 0;
    for (unsigned b = 0; b < JUDGE_BLOCKS; b++)
        work_us += x->work_us[b];
    return work_us > by_us ? -by_us / work_us : 0;
}

int judge_group_cost(struct judge *j, const struct jp_result *r,
                     const struct jp_processes *p, const enum judge_side *side,
                     double by_us, double *cost_us)
{
    double *rate, *added_us, longer_us, taken_us = 0, n = 0;
    int rc;

    *cost_us = NAN;
    if (j->hidden)
        return 0;
    if (j->timed && !j->replay) {
        j->replay = replay_create(r, p, &j->replay_state);
        if (!j->replay)
            return -1;
    }
    if (!j->replay || !j->replay_state.follows)
        return 0;
    rate = calloc(2 * p->n + 1, sizeof(*rate));
    if (!rate)
        return -1;
    added_us = rate + p->n;
    for (size_t i = 0; i < p->n; i++)
        if (side[i] == JUDGE_IN)
            rate[i] = rate_without(j, i, by_us);
    rc = replay_scaled(j->replay, rate, 0, &longer_us, added_us);
    for (size_t i = 0; rc == 0 && i < p->n; i++)
        if (side[i] == JUDGE_IN) {
            taken_us -= added_us[i];
            n++;
        }
    if (taken_us > 0)
        *cost_us = fmin(fmax(-longer_us, 0) * n / taken_us, 1) * by_us;
    free(rate);
    return rc;
}

/* --- what is worth it ----------------------------------------------------- */

/* Drops the answers that are not worth it, and sorts the others. */
static void drop_cheap(struct judge *j, double worth_us)
{
    size_t kept = 0;

    for (size_t i = 0; i < j->n; i++) {
        struct judge_answer *a = &j->answers[i];
        double least_us =
            a->kind == JUDGE_LATE
                ? fmax(worth_us, j->processes[a->process].known_us)
                : worth_us;

        if (isfinite(a->cost_us) && a->worth_us <= least_us)
            free(a->waits);
        else
            j->answers[kept++] = *a;
    }
    j->n = kept;
    if (j->n)
        qsort(j->answers, j->n, sizeof(*j->answers), by_cost);
}

/* Prices turns, if the replay follows the run. Of a run that is longer than its
 * replay nobody is mended before: those late all along are so as a whole. 0 or
 * -1. */
static int price_turns(struct judge *j, const struct jp_processes *p)
{
    struct causes causes;
    int rc;

    j->turns.cost_us = 0;
    if (!judge_turns_asked(j))
        return 0;
    j->turns.cost_us = NAN;
    if (!j->replay_state.follows)
        return 0;
    rc = causes_init(&causes, j, p, true);
    if (rc == 0)
        rc = judge_turns_price(j, p, causes.at, j->kept ? 0 : causes.n);
    causes_fini(&causes);
    return rc;
}

int judge_price(struct judge *j, const struct jp_result *r,
                const struct jp_processes *p)
{
    size_t asked = 0;
    int rc = 0;

    if (j->why)
        return 0;
    for (size_t i = 0; i < j->n; i++)
        asked += !isfinite(j->answers[i].cost_us);
    j->replayed = !asked;
    if ((asked || judge_turns_asked(j)) && !j->replay) {
        j->replay = replay_create(r, p, &j->replay_state);
        rc = j->replay ? 0 : -1;
    }
    if (rc == 0 && asked && j->replay_state.follows) {
        j->replayed = true;
        rc = j->kept ? price_kept(j, p) : 0;
        if (rc == 0)
            rc = price_by_gains(j, p);
    }
    if (rc < 0)
        return -1;
    drop_cheap(j, judge_worth(j));
    rc = price_turns(j, p);
    j->usable = rc == 0;
    return rc;
}

void judge_price_kept_stalls(struct judge *j, const struct judge_run *run)
{
    for (size_t i = 0; i < j->n; i++) {
        struct judge_answer *a = &j->answers[i];
        double most_us;

        if (a->kind != JUDGE_STALL)
            continue;
        most_us = judge_kept_wait(run, a->process);
        a->cost_us = 0;
        for (size_t k = 0; k < a->times; k++)
            a->cost_us += fmin(a->waits[k].us, most_us);
        a->worth_us = a->cost_us;
    }
}
