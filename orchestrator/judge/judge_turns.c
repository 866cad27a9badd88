/* judge_turns.c - processes that make the others wait by turns.
 *
 * Sequences of different lengths, experts of different load, input that comes
 * late: before each operation another process has most to do, and nobody in
 * particular causes the waits.
 *
 * Formulas, of own times before the same operation of a role (judge.h), without
 * ranks that are named as late: they do not take turns with anybody.
 *
 * - excess of the slowest = longest - mean
 * - its sum over the run, without single intervals, by the resampled blocks:
 *     lasting = min(trimmed sum / sum, 1)
 * - cost = (each - whole) * lasting, by the replays of replay.h: what the run
 *   is shorter by with evened intervals, less what it is shorter by if each
 *   process has as much to do as the others in all. Who is named is mended
 *   before. Unknown where processes wait and the replay says that next to
 *   nothing is saved (replay_misses)
 *
 * The replay is asked only where it can say more than JUDGE_TURNS: evened
 * intervals save no more than processes wait, and no more than the excess of
 * the slowest is of the longest own times, in the role where that is most.
 */
#include "orchestrator/judge/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/stats.h"

/* The same interval of all processes of a role. */
struct column {
    double sum_us;
    float longest_us;
    float at; /* of the longest */
    uint32_t n, process, op;
};

struct sums {
    double excess_us, longest_us;
    double blocks[JUDGE_BLOCKS]; /* of the excess */
    double *of_process, *of_comm;
};

static void add_item(struct column *c, const struct judge_item *item,
                     uint32_t process)
{
    if (!isfinite(item->own_us) || item->hidden ||
        item->at < (float) JUDGE_START)
        return;
    c->sum_us += (double) item->own_us;
    if (c->n++ && item->own_us <= c->longest_us)
        return;
    c->longest_us = item->own_us;
    c->process = process;
    c->op = item->op;
    c->at = item->at;
}

/* Adds the columns of a role. */
static void add_columns(struct judge_turns *t, const struct judge_run *run,
                        const struct column *columns, uint32_t n,
                        struct sums *sums)
{
    double excess_us = 0, longest_us = 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct column *c = &columns[i];
        double us = (double) c->longest_us - (c->n ? c->sum_us / c->n : 0);

        if (c->n < 2)
            continue;
        longest_us += (double) c->longest_us;
        excess_us += us;
        sums->blocks[judge_block_of(c->at)] += us;
        sums->of_process[c->process] += us;
        sums->of_comm[run->keys[run->key[c->op]].comm] += us;
        t->times++;
    }
    sums->excess_us += excess_us;
    if (longest_us > 0)
        t->most = fmax(t->most, excess_us / longest_us);
}

/* Marks who is named as late. aside: [process]. */
static void leave_late(const struct judge *j, const struct jp_processes *p,
                       bool *aside)
{
    for (size_t k = 0; k < j->n; k++)
        for (size_t i = 0; j->answers[k].kind != JUDGE_STALL && i < p->n; i++)
            aside[i] |= judge_concerns(&j->answers[k], p, i);
}

/* Adds up all roles, without who is aside. members: processes sorted by role;
 * those of role k begin at from[k]. 0 or -1. */
static int add_roles(struct judge_turns *t, const struct judge_run *run,
                     const uint32_t *members, const uint32_t *from,
                     const bool *aside, struct sums *sums)
{
    uint32_t most = 0;
    struct column *columns;

    for (uint32_t k = 0; k < run->n_roles; k++)
        most = run->cols[k] > most ? run->cols[k] : most;
    columns = calloc((size_t) most + 1, sizeof(*columns));
    if (!columns)
        return -1;
    for (uint32_t k = 0; k < run->n_roles; k++) {
        memset(columns, 0, run->cols[k] * sizeof(*columns));
        for (uint32_t m = from[k]; m < from[k + 1]; m++) {
            uint32_t p = members[m];

            /* before its first operation a process starts */
            for (uint32_t i = run->first[p] + 1;
                 !aside[p] && i < run->first[p + 1]; i++)
                add_item(&columns[run->items[i].col], &run->items[i], p);
        }
        add_columns(t, run, columns, run->cols[k], sums);
    }
    free(columns);
    return 0;
}

/* Returns what processes wait, as a share of the time that was followed. */
static double waits_of(const struct judge *j, const struct judge_run *run)
{
    double us = 0;

    for (uint32_t i = 0; i < run->first[run->p->n]; i++)
        if (isfinite(run->items[i].own_us))
            us += fmax((double) run->items[i].time_us -
                           (double) run->net_us[run->items[i].op],
                       0);
    return j->clock_us > 0 ? us / (double) run->p->n / j->clock_us : 0;
}

int judge_turns_find(struct judge *j, const struct judge_run *run,
                     const uint32_t *members, const uint32_t *from)
{
    struct judge_turns *t = &j->turns;
    struct sums sums = {0};
    struct stats_trimmed trimmed;
    bool *aside = calloc(run->p->n + 1, sizeof(*aside));
    double most_us = 0;
    int rc = -1;

    sums.of_process = calloc(run->p->n + 1, sizeof(*sums.of_process));
    sums.of_comm = calloc(run->r->n_comms + 1, sizeof(*sums.of_comm));
    t->comm = UINT32_MAX;
    if (!sums.of_process || !sums.of_comm || !aside)
        goto out;
    leave_late(j, run->p, aside);
    if (add_roles(t, run, members, from, aside, &sums) < 0)
        goto out;
    rc = 0;
    for (size_t p = 0; p < run->p->n; p++)
        t->processes += sums.of_process[p] > 0;
    for (uint32_t c = 0; c < run->r->n_comms; c++)
        if (sums.of_comm[c] > most_us) {
            most_us = sums.of_comm[c];
            t->comm = c;
        }
    t->excess_us = sums.excess_us;
    t->most = fmin(t->most, waits_of(j, run));
    trimmed = judge_resample(sums.blocks, JUDGE_BLOCKS);
    t->lasting = sums.excess_us > 0
                     ? fmin(fmax(trimmed.mean, 0) / sums.excess_us, 1)
                     : 0;
    t->most *= t->lasting;
    if (t->processes < 2) /* nobody to take turns with */
        t->most = 0;
out:
    free(aside);
    free(sums.of_process);
    free(sums.of_comm);
    return rc;
}

bool judge_turns_asked(const struct judge *j)
{
    /* durations alone do not show what runs beside the computation */
    return j->timed && j->turns.most * j->clock_us >
                           JUDGE_TURNS * (j->part ? j->clock_us : j->run_us);
}

int judge_turns_price(struct judge *j, const struct jp_processes *p,
                      const struct replay_cause *causes, size_t n)
{
    struct judge_turns *t = &j->turns;
    uint32_t *role = calloc(p->n + 1, sizeof(*role));
    struct replay_evened evened = {NAN, NAN};
    struct replay_gain gain;
    int rc = -1;

    for (size_t i = 0; role && i < p->n; i++)
        role[i] = j->processes[i].role;
    if (role)
        rc = replay_evened(j->replay, causes, n, role, JUDGE_START, &evened);
    /* the start shows the rate of all of the run */
    if (rc == 0)
        t->cost_us = fmax(evened.each - evened.whole, 0) * t->lasting *
                     (j->part ? j->run_us : j->replay_state.run_us);
    gain = (struct replay_gain){.alone = evened.each, .last = evened.each};
    if (rc == 0 && replay_misses(&gain, t->most, NAN))
        t->cost_us = NAN;
    free(role);
    return rc;
}
