/* judge_kept.c - a run that is longer than its timelines.
 *
 * Of each process the aggregation has kept its own time by bins of time, and
 * the longest intervals, of the whole run (aggregate/intervals.h). The bins
 * make the blocks of the run. Each interval is compared with what others of its
 * role did then: before the same operation, or at the same time, whichever is
 * longer. So a pause of all of them is no excess of any.
 *
 * By durations alone it has kept, by bins of the time at which records were
 * written, how many operations had ended, and how long they took together
 * (timeline.strip). All members of an operation leave it at the same moment. So
 * between two operations all processes have spent the same time, and what is
 * left of it without the operations is own time, overlap aside. A block is as
 * many operations, as processes of a role have the same ones: records are
 * written some 0.1 s later, and not by all processes at once, which would move
 * operations from one block to another.
 */
#include "orchestrator/judge/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/stats.h"
#include "orchestrator/aggregate/intervals.h"
#include "orchestrator/aggregate/pauses.h"
#include "orchestrator/identity/operations.h"

/* Others of the role that are looked at: their median is that of all. */
enum { PEERS = 15 };
/* Of the process's operations: two processes of a role have done about as many
 * when they reach the same one. */
#define NEAR 0.01

/* --- which processes ------------------------------------------------------ */

/* Returns the name of a series' function that lives as long as the result, as
 * intervals do not. NULL: the result has none. */
static const char *lasting_name(const struct jp_result *r,
                                const struct timeline_series *series)
{
    if (series->p2p)
        return *series->func == 'S' ? "Send" : "Recv";
    for (size_t i = 0; i < r->n_coll_names; i++)
        if (!strcmp(r->coll_names[i], series->func))
            return r->coll_names[i];
    return NULL;
}

/* Sets what the series of kept intervals are. 0 or -1. */
static int name_places(const struct operations *from, struct judge_kept *kept)
{
    const struct intervals *of = kept->of;

    kept->places = calloc((size_t) of->n_series + 1, sizeof(*kept->places));
    if (!kept->places)
        return -1;
    for (uint32_t i = 0; i < of->n_series; i++) {
        uint32_t comm = operations_comm(from, &of->series[i]);

        if (comm != UINT32_MAX)
            kept->places[i] = (struct judge_place){
                .comm = comm,
                .func = lasting_name(from->result, &of->series[i]),
                .numbered = !of->series[i].p2p};
    }
    return 0;
}

/* Takes what is kept of a process from its timeline. False: nothing is. */
static bool set_timed(const struct timeline *t, struct judge_kept *kept)
{
    const struct intervals *of = t->intervals;

    if (!of)
        return false;
    kept->of = of;
    kept->strip = of->own;
    kept->first_us = (double) of->first_us;
    kept->last_us = (double) of->clock_us;
    kept->comm_us = (double) (of->clock_us - of->first_us - of->own_us);
    kept->ops = of->ops;
    return true;
}

/* The same by durations alone. */
static bool set_order(const struct timeline *t, struct judge_kept *kept)
{
    const struct strip *strip = t->strip;

    /* the strip of a timeline has other keys, or none */
    if (t->intervals || !strip || !strip->n ||
        strip->n_keys != TIMELINE_ORDER_KEYS || *strip->keys->func)
        return false;
    kept->strip = strip;
    kept->first_us = (double) (strip->first << strip->shift);
    kept->last_us = (double) ((strip->first + strip->n) << strip->shift);
    for (unsigned i = 0; i < strip->n; i++) {
        uint32_t us = strip->keys[TIMELINE_ORDER_US].us[i];
        uint32_t ops = strip->keys[TIMELINE_ORDER_OPS].us[i];

        if (us == UINT32_MAX || ops == UINT32_MAX) /* it may be more */
            return false;
        kept->comm_us += (double) us;
        kept->ops += ops;
    }
    return kept->ops > 0;
}

/* Returns true if each process with items has what is needed, of one file. */
static bool find_kept(const struct judge_run *run,
                      const struct operations *from)
{
    for (size_t i = 0; i < from->n_sources; i++) {
        const struct operations_source *source = &from->sources[i];
        struct judge_kept *kept;

        if (source->process == SIZE_MAX)
            continue;
        kept = &run->kept[source->process];
        if (kept->strip || !(run->timed ? set_timed(source->timeline, kept)
                                        : set_order(source->timeline, kept)))
            return false;
    }
    for (size_t p = 0; p < run->p->n; p++)
        if (run->first[p + 1] > run->first[p] && !run->kept[p].strip)
            return false;
    return true;
}

void judge_kept_fini(struct judge_run *run)
{
    for (size_t p = 0; run->kept && p < run->p->n; p++)
        free(run->kept[p].places);
    free(run->kept);
    free(run->kept_first);
    free(run->kept_excess);
    free(run->kept_own);
    run->kept = NULL;
    run->kept_first = NULL;
    run->kept_excess = NULL;
    run->kept_own = NULL;
}

/* --- excess --------------------------------------------------------------- */

/* Returns the first interval of which `member` is larger than value; they are
 * sorted by it. */
static size_t first_after(const struct intervals *of, bool by_number,
                          uint64_t value)
{
    size_t low = 0, high = of->n;

    while (low < high) {
        size_t mid = (low + high) / 2;
        const struct interval *x = &of->at[mid];

        if ((by_number ? x->nth : x->to_us) <= value)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Returns how much of the interval the other process had no operation in
 * flight, by what is kept of it. */
static double at_that_time(const struct intervals *other,
                           const struct interval *x)
{
    uint64_t us = 0;

    for (size_t i = first_after(other, false, x->from_us);
         i < other->n && other->at[i].from_us < x->to_us; i++) {
        const struct interval *y = &other->at[i];
        uint64_t from = y->from_us > x->from_us ? y->from_us : x->from_us;

        us += (y->to_us < x->to_us ? y->to_us : x->to_us) - from;
    }
    return (double) us;
}

/* Returns the other process's interval before the same operation; 0: none is
 * kept. */
static double before_same(const struct intervals *own, const struct interval *x,
                          const struct intervals *other)
{
    const struct timeline_series *s, *t;
    uint64_t far = (uint64_t) (NEAR * (double) own->ops) + 1;

    if (x->series == UINT32_MAX)
        return 0;
    s = &own->series[x->series];
    for (size_t i = first_after(other, true, x->nth > far ? x->nth - far : 0);
         i < other->n && other->at[i].nth < x->nth + far; i++) {
        const struct interval *y = &other->at[i];

        if (y->series == UINT32_MAX || y->sn != x->sn)
            continue;
        t = &other->series[y->series];
        if (s->n_ranks == t->n_ranks && s->p2p == t->p2p &&
            !strcmp(s->func, t->func))
            return (double) (y->to_us - y->from_us);
    }
    return 0;
}

/* Sets the excess of the intervals of one member of a role. members: all of the
 * role with intervals; scratch: [PEERS]. */
static void compare_member(struct judge_run *run, const uint32_t *members,
                           size_t n, size_t m, double *scratch)
{
    const struct intervals *own = run->kept[members[m]].of;
    float *excess = &run->kept_excess[run->kept_first[members[m]]];
    size_t peers = n - 1 < PEERS ? n - 1 : PEERS;

    for (size_t i = 0; i < own->n; i++) {
        const struct interval *x = &own->at[i];
        double us = (double) (x->to_us - x->from_us);

        excess[i] = NAN;
        if (!peers || us < JUDGE_STALL_US ||
            pauses_us(&run->r->quality, x->from_us, x->to_us))
            continue;
        for (size_t k = 0; k < peers; k++) {
            size_t at = (m + 1 + k * (n - 1) / peers) % n;
            const struct intervals *other = run->kept[members[at]].of;

            scratch[k] =
                fmax((double) other->least_us,
                     fmax(at_that_time(other, x), before_same(own, x, other)));
        }
        excess[i] = (float) (us - stats_median(scratch, peers));
    }
}

/* Sets kept_excess: each interval less the median of others of the role. What
 * is not kept of another one counts as if it were as long as it can be. 0, or
 * -1: no memory. */
static int compare_kept(struct judge_run *run)
{
    size_t n = run->p->n, from = 0, to;
    double scratch[PEERS];
    uint32_t *members = calloc(n + 1, sizeof(*members));
    uint32_t *place = calloc((size_t) run->n_roles + 2, sizeof(*place));
    int rc = -1;

    run->kept_excess =
        calloc((size_t) run->kept_first[n] + 1, sizeof(*run->kept_excess));
    if (!members || !place || !run->kept_excess)
        goto out;
    for (size_t p = 0; p < n; p++)
        if (run->kept[p].of)
            place[run->role[p] + 1]++;
    for (uint32_t k = 0; k < run->n_roles; k++)
        place[k + 1] += place[k];
    for (uint32_t p = 0; p < n; p++)
        if (run->kept[p].of)
            members[place[run->role[p]]++] = p;
    /* place[k] is now where role k ends */
    for (uint32_t k = 0; k < run->n_roles; k++, from = to) {
        to = place[k];
        for (size_t m = from; m < to; m++)
            compare_member(run, members + from, to - from, m - from, scratch);
    }
    rc = 0;
out:
    free(members);
    free(place);
    return rc;
}

/* --- blocks --------------------------------------------------------------- */

/* Sets when the run began, by the clock of each process. Clocks of hosts agree
 * far better than processes begin together. One is off if a process both begins
 * and ends earlier, or later, than the others by more than a block: processes
 * end together. 0, or -1: no memory. */
static int set_begins(struct judge_run *run)
{
    double *first = calloc(2 * run->p->n + 1, sizeof(*first));
    double *last = first + run->p->n, begin, end;
    size_t n = 0;

    if (!first)
        return -1;
    for (size_t p = 0; p < run->p->n; p++)
        if (run->kept[p].strip) {
            first[n] = run->kept[p].first_us;
            last[n++] = run->kept[p].last_us;
        }
    begin = n ? stats_median(first, n) : 0;
    end = n ? stats_median(last, n) : 0;
    free(first);
    for (size_t p = 0; p < run->p->n; p++) {
        struct judge_kept *kept = &run->kept[p];
        double early = kept->strip ? kept->first_us - begin : 0;
        double off = kept->strip ? kept->last_us - end : 0;
        double least = fmin(fabs(early), fabs(off));

        kept->begin_us =
            begin +
            (early * off > 0 && least > run->kept_us / JUDGE_BLOCKS ? off : 0);
    }
    return 0;
}

double judge_kept_at(const struct judge_run *run, size_t process, uint64_t us)
{
    double begin_us = run->kept[process].begin_us;
    double at_us = (double) us - begin_us;

    at_us -= (double) pauses_us(&run->r->quality, (uint64_t) begin_us, us);
    return fmin(fmax(at_us / run->kept_us, 0), 1);
}

/* Adds what fills a part of the run, in blocks, to the blocks. */
static void share_out(double *blocks, double from, double to, double us)
{
    for (unsigned k = (unsigned) from; k < JUDGE_BLOCKS && k < to; k++)
        blocks[k] += us * (fmin(k + 1, to) - fmax(k, from)) / (to - from);
}

/* Shares the own time of a process out to the blocks. What it did while the
 * recording was off is not known. */
static void fill_timed(struct judge_run *run, size_t p)
{
    const struct strip *own = run->kept[p].strip;

    for (unsigned i = 0; i < own->n; i++) {
        uint64_t begin = (own->first + i) << own->shift;
        uint64_t end = (own->first + i + 1) << own->shift;
        double from = judge_kept_at(run, p, begin) * JUDGE_BLOCKS;
        double to = judge_kept_at(run, p, end) * JUDGE_BLOCKS;

        if (to > from && !pauses_us(&run->r->quality, begin, end))
            share_out(run->kept_own[p], from, to, (double) own->keys[0].us[i]);
    }
}

/* The same by durations alone: what is left of each block, which has as many
 * operations. How long it was is the same for all that share them. */
static void fill_order(struct judge_run *run, size_t p)
{
    const struct strip *strip = run->kept[p].strip;
    double of = (double) run->kept[p].ops, before = 0;

    for (unsigned k = 0; k < JUDGE_BLOCKS; k++)
        run->kept_own[p][k] = run->kept_us / JUDGE_BLOCKS;
    for (unsigned i = 0; i < strip->n; i++) {
        double after = before + (double) strip->keys[TIMELINE_ORDER_OPS].us[i];

        if (after > before)
            share_out(run->kept_own[p], before / of * JUDGE_BLOCKS,
                      after / of * JUDGE_BLOCKS,
                      -(double) strip->keys[TIMELINE_ORDER_US].us[i]);
        before = after;
    }
}

/* Numbers the intervals of all processes. 0, or -1: no memory. */
static int place_intervals(struct judge_run *run, const struct operations *from)
{
    size_t n = run->p->n;

    run->kept_first = calloc(n + 2, sizeof(*run->kept_first));
    if (!run->kept_first)
        return -1;
    for (size_t p = 0; p < n; p++) {
        const struct intervals *of = run->kept[p].of;

        run->kept_first[p + 1] = run->kept_first[p];
        if (!of)
            continue;
        run->kept_first[p + 1] += (uint32_t) of->n;
        if (name_places(from, &run->kept[p]) < 0)
            return -1;
    }
    return compare_kept(run);
}

int judge_kept_fill(struct judge_run *run, const struct operations *from)
{
    size_t n = run->p->n;

    run->kept = calloc(n + 1, sizeof(*run->kept));
    if (!run->kept)
        return -1;
    if (!find_kept(run, from)) {
        judge_kept_fini(run);
        return 0;
    }
    for (size_t p = 0; p < n; p++) {
        const struct judge_kept *kept = &run->kept[p];
        uint64_t off_us = pauses_us(&run->r->quality, (uint64_t) kept->first_us,
                                    (uint64_t) kept->last_us);

        run->kept_us = fmax(run->kept_us,
                            kept->last_us - kept->first_us - (double) off_us);
    }
    run->kept_own = calloc(n + 1, sizeof(*run->kept_own));
    if (!run->kept_own || (run->timed && set_begins(run) < 0))
        return -1;
    for (size_t p = 0; p < n; p++)
        if (run->kept[p].strip && run->timed)
            fill_timed(run, p);
        else if (run->kept[p].strip)
            fill_order(run, p);
    return run->timed ? place_intervals(run, from) : 0;
}

/* Returns how long the clock of a process would run at the end, if it goes on
 * as in the start. */
static double clock_at_end(const struct judge_run *run, size_t p)
{
    double comm_us = 0;

    for (uint32_t i = run->first[p]; i < run->first[p + 1]; i++)
        if (isfinite(run->items[i].own_us))
            comm_us += (double) run->items[i].time_us;
    return comm_us > 0 ? run->clock[p] / comm_us * run->kept[p].comm_us : 0;
}

void judge_kept_check(struct judge_run *run, double run_us)
{
    size_t n = run->p->n, known = 0;
    uint64_t *most = calloc((size_t) run->n_roles + 1, sizeof(*most));
    double *clocks = calloc(n + 1, sizeof(*clocks));
    bool good = most && clocks;

    for (size_t p = 0; good && p < n; p++) {
        uint64_t *at = &most[run->role[p]];

        *at = run->kept[p].ops > *at ? run->kept[p].ops : *at;
        if (run->kept[p].strip)
            clocks[known++] = clock_at_end(run, p);
    }
    /* what a record that is missing took counts as own time */
    for (size_t p = 0; good && p < n; p++) {
        const struct judge_kept *kept = &run->kept[p];
        double lacks_us = kept->ops
                              ? (double) (most[run->role[p]] - kept->ops) *
                                    kept->comm_us / (double) kept->ops
                              : 0;

        good = lacks_us <= JUDGE_LACKING * JUDGE_WORTH * run_us;
    }
    good = good && known &&
           stats_median(clocks, known) <= JUDGE_OVERLAP * run_us;
    free(most);
    free(clocks);
    if (!good)
        judge_kept_fini(run);
}

/* --- waits ---------------------------------------------------------------- */

double judge_kept_wait(const struct judge_run *run, size_t process)
{
    uint64_t longest = 0;

    for (size_t p = 0; p < run->p->n; p++) {
        uint64_t us = p != process && run->kept[p].of
                          ? intervals_longest_wait(run->kept[p].of, JUDGE_START)
                          : 0;

        longest = us > longest ? us : longest;
    }
    return (double) longest;
}
