/* stalls_once.c - single waits for one rank, so long that they cost a share of
 * the run by themselves.
 *
 * The test of stalls.c asks whether a rank stops more often than others, so it
 * needs several stops. One wait of minutes is no habit, and still a loss. Here
 * nothing is claimed about the rank but that it came late once: who, when, how
 * long, and what it did before.
 */
#include "orchestrator/insight/stalls.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/aggregate/timeline.h"
#include "orchestrator/insight/limits.h"
#include "common/stats.h"
#include "common/vector.h"

/* --- which waits ---------------------------------------------------------- */

struct collecting {
    const struct stalls_counts *c;
    struct stalls_once_list *list;
    struct jp_once at; /* the one that may go on */
    bool failed;
};

static const struct stalls_series *series_of(const struct stalls_counts *c,
                                             const struct jp_once *x)
{
    return &c->series[c->r->ranks[x->rank].comm * STALLS_FUNCS + x->func];
}

/* Returns the number of the program's steps, by the process's function with the
 * fewest operations. */
static uint64_t steps_of(const struct stalls_counts *c, size_t process)
{
    const struct jp_process *who = &c->p->list[process];
    uint64_t steps = UINT64_MAX;

    for (size_t i = who->first; i < who->first + who->n; i++)
        for (unsigned f = 0; f < STALLS_FUNCS; f++) {
            size_t comm = c->r->ranks[c->p->by_process[i]].comm;
            uint64_t ops = c->series[comm * STALLS_FUNCS + f].ops;

            steps = ops && ops < steps ? ops : steps;
        }
    return steps;
}

/* Returns the share of the run in which programs may still start. */
static double start_share(uint64_t steps)
{
    return fmin(fmax(limits_get(JP_LIMIT_STALL_START_STEPS) / (double) steps,
                     limits_get(JP_LIMIT_STALL_START)),
                1 / limits_get(JP_LIMIT_WARMUP_PART));
}

/* Returns true if the wait is shorter than those that its process has. */
static bool is_short(const struct stalls_once_list *list,
                     const struct jp_once *x)
{
    return x->us <= list->others[(x->process + 1) * list->each - 1].us;
}

/* Keeps a wait that is not reported among the longest ones of its process. */
static void keep_other(struct stalls_once_list *list, const struct jp_once *x)
{
    struct jp_once *of = &list->others[x->process * list->each];
    size_t i = list->each;

    for (; i > 1 && of[i - 2].us < x->us; i--)
        of[i - 1] = of[i - 2];
    of[i - 1] = *x;
}

/* Keeps the wait that has ended, among those that may be reported or among the
 * others. One that goes on for much of the run is lateness. */
static void keep(struct collecting *w, bool stalls)
{
    struct jp_once *x = &w->at;
    const struct stalls_series *all;
    bool lasts, start;
    uint64_t steps;

    if (!x->ops || is_short(w->list, x))
        return;
    all = series_of(w->c, x);
    steps = steps_of(w->c, x->process);
    lasts = (double) x->ops >
            fmax(limits_get(JP_LIMIT_STALL_RARE) * (double) all->ops, 1);
    start = (double) (x->sn - all->first_sn) <
            fmax(start_share(steps) * (double) all->ops, 1);
    if (lasts || start ||
        (double) steps < limits_get(JP_LIMIT_STALL_START_STEPS) ||
        (double) all->ops < limits_get(JP_LIMIT_STALL_ONCE_OPS))
        return;
    if (!stalls || x->us <= limits_get(JP_LIMIT_STALL_ONCE) * w->list->run_us ||
        x->us <= limits_get(JP_LIMIT_STALL_NET) * x->net_us) {
        if (stalls)
            w->list->untold_us = fmax(w->list->untold_us, x->us);
        keep_other(w->list, x);
        return;
    }
    if (VECTOR_DOUBLE(w->list->at, w->list->n) < 0) {
        w->failed = true;
        return;
    }
    w->list->at[w->list->n++] = *x;
}

/* Keeps what is no stall by its length, or because other ranks were late, too,
 * to compare stalls with it. */
static void collect_short(struct collecting *w, const struct stalls_event *e)
{
    const struct jp_once stall = w->at;

    w->at = (struct jp_once){.rank = e->rank,
                             .process = w->c->p->of_rank[e->rank],
                             .func = e->func,
                             .sn = e->sn,
                             .last_sn = e->sn,
                             .at_us = e->at_us,
                             .ops = 1,
                             .us = e->gap_us,
                             .net_us = e->net_us,
                             .largest_us = e->gap_us};
    keep(w, false);
    w->at = stall;
}

static void collect(void *arg, const struct stalls_event *e)
{
    struct collecting *w = arg;
    struct jp_once *x = &w->at;

    if (!e->over) {
        collect_short(w, e);
        return;
    }
    if (!(x->ops && x->rank == e->rank && x->func == e->func &&
          e->sn == x->last_sn + 1)) {
        keep(w, true);
        *x = (struct jp_once){.rank = e->rank,
                              .process = w->c->p->of_rank[e->rank],
                              .func = e->func,
                              .sn = e->sn,
                              .at_us = e->at_us};
    }
    x->last_sn = e->sn;
    x->ops++;
    x->us += e->us;
    x->net_us += e->net_us;
    x->largest_us = fmax(x->largest_us, e->us);
}

/* Returns true if each process has enough steps, and operations of a function.
 */
static bool is_judged(const struct stalls_counts *c)
{
    for (size_t p = 0; p < c->p->n; p++) {
        const struct jp_process *who = &c->p->list[p];
        uint64_t most = 0;

        for (size_t i = who->first; i < who->first + who->n; i++)
            for (unsigned f = 0; f < STALLS_FUNCS; f++) {
                size_t comm = c->r->ranks[c->p->by_process[i]].comm;
                uint64_t ops = c->series[comm * STALLS_FUNCS + f].ops;

                most = ops > most ? ops : most;
            }
        if ((double) most < limits_get(JP_LIMIT_STALL_ONCE_OPS) ||
            (double) steps_of(c, p) < limits_get(JP_LIMIT_STALL_START_STEPS))
            return false;
    }
    return true;
}

int stalls_once_collect(struct stalls_counts *counts, double run_us,
                        struct stalls_once_list *list)
{
    struct collecting w = {.c = counts, .list = list};

    *list = (struct stalls_once_list){.run_us = run_us};
    if (!(run_us > 0))
        return 0; /* not known what they cost */
    list->judged = is_judged(counts);
    list->each = 1 + 2 * STALLS_OTHERS / (counts->p->n + 1);
    list->others = calloc(counts->p->n * list->each + 1, sizeof(*list->others));
    if (!list->others)
        return -1;
    if (stalls_events(counts, true, collect, &w) < 0)
        return -1;
    keep(&w, true);
    return w.failed ? -1 : 0;
}

/* --- whether a wait stands out -------------------------------------------- */

void stalls_once_list_fini(struct stalls_once_list *list)
{
    free(list->at);
    free(list->others);
    *list = (struct stalls_once_list){0};
}

double stalls_once_from(const double *us, size_t n)
{
    double chance = limits_get(JP_LIMIT_STALL_CHANCE), sum = 0;
    double factor = pow(chance, -1 / limits_get(JP_LIMIT_STALL_TAIL));
    size_t k = 0;

    for (; k + 1 < n && k < STALLS_OTHERS; k++)
        sum += (double) (k + 2) * log(us[k] / us[k + 1]);
    if (k) /* the quotient with sum / k has an F distribution with 2, 2k */
        factor = fmin(factor, exp(sum * (pow(chance, -1 / (double) k) - 1)));
    return (n ? us[0] : limits_get(JP_LIMIT_STALL_US)) *
           fmax(factor, 1 / limits_get(JP_LIMIT_STALL_MOST));
}

/* --- what the process did before ------------------------------------------ */

static const struct timeline *timeline_of(const struct jp_result *r,
                                          const struct jp_process *who)
{
    for (size_t i = 0; i < r->n_timelines; i++)
        if (!r->timelines[i]->mixed && r->timelines[i]->pid == who->pid &&
            !strcmp(r->timelines[i]->host, who->host))
            return r->timelines[i];
    return NULL;
}

/* Returns true if the series is of the operation that was waited in. */
static bool is_of(const struct jp_result *r, const struct timeline_series *s,
                  const struct jp_once *x)
{
    const char *func = stalls_func_name(x->func);

    return !s->p2p && func && !strcmp(s->func, func) &&
           !strcmp(s->id, r->comms[r->ranks[x->rank].comm].id);
}

/* Returns true if the process has records of Send and Recv, and the timeline
 * has none, because these have no start and end: then it does not show what the
 * process waited for. */
static bool lacks_messages(const struct jp_result *r,
                           const struct jp_processes *p,
                           const struct timeline *t, const struct jp_once *x)
{
    const struct jp_process *who = &p->list[x->process];
    bool sends = false;

    for (size_t i = who->first; i < who->first + who->n; i++)
        sends |= r->ranks[p->by_process[i]].p2p_records > 0;
    for (uint32_t i = 0; sends && i < t->n_series; i++)
        sends = !t->series[i].p2p;
    return sends;
}

enum { WINDOWS = 16 }; /* earlier ones that are compared */

/* Time of a process outside of any operation, since the operation before of the
 * same communicator and function. */
struct window {
    double own_us;
    double gap_us;   /* the longest without an operation */
    uint32_t before; /* what ended before that: a series, and its number; */
    uint64_t before_sn;
    bool any; /* false: nothing did */
};

/* Names the operation after which the process was on its own for longest. */
static void set_before(const struct jp_result *r, const struct timeline *t,
                       const struct window *w, struct jp_once *x)
{
    const struct timeline_series *s = &t->series[w->before];
    const char *name = s->id;

    for (size_t c = 0; c < r->n_comms; c++)
        if (!strcmp(r->comms[c].id, s->id))
            name = processes_comm_name(&r->comms[c]);
    snprintf(x->before, sizeof(x->before), "%.20s %" PRIu64 " of %.24s",
             s->func, w->before_sn, name);
    x->gap_us = w->gap_us;
}

int stalls_once_before(const struct jp_result *r, const struct jp_processes *p,
                       struct jp_once *x)
{
    const struct timeline *t = timeline_of(r, &p->list[x->process]);
    double end_us = 0, earlier[WINDOWS];
    struct window w = {0}, last = {0};
    struct timeline_reader reader;
    struct timeline_event e;
    size_t n = 0;

    if (!t || lacks_messages(r, p, t, x))
        return 0;
    if (timeline_reader_init(&reader, t) < 0)
        return -1;
    while (timeline_next(&reader, &e)) {
        const struct timeline_series *s = &t->series[e.series];
        double gap = end_us > 0 ? (double) e.start_us - end_us : 0;

        if (gap > 0) {
            w.own_us += gap;
            if (gap > w.gap_us) {
                w.gap_us = gap;
                w.before = last.before;
                w.before_sn = last.before_sn;
                w.any = last.any;
            }
        }
        if (is_of(r, s, x) && e.sn == x->sn) {
            x->own_us = w.own_us -
                        stats_median(earlier, n < WINDOWS ? n : WINDOWS);
            if (w.any)
                set_before(r, t, &w, x);
            break;
        }
        if (is_of(r, s, x)) {
            earlier[n++ % WINDOWS] = w.own_us;
            w = (struct window){0};
        }
        if ((double) (e.start_us + e.time_us) > end_us) {
            end_us = (double) (e.start_us + e.time_us);
            last = (struct window){
                .before = e.series, .before_sn = e.sn, .any = true};
        }
    }
    timeline_reader_fini(&reader);
    return 0;
}

/* --- findings ------------------------------------------------------------- */

int stalls_once_tell(const struct jp_result *r, const struct jp_processes *p,
                     const struct jp_once *x, struct jp_findings *findings)
{
    const struct jp_process *who = &p->list[x->process];
    const struct jp_rank *rank = &r->ranks[x->rank];
    const struct jp_comm *comm = &r->comms[rank->comm];
    struct jp_finding *f = findings_add(findings, JP_FINDING_LONG_WAIT);
    const char *func = stalls_func_name(x->func);
    char name[JP_PROCESS_NAME_LEN], where[150], when[80] = "", before[120] = "";
    uint32_t others = comm->n_ranks - 1;

    if (!f)
        return -1;
    func = func ? func : "AlltoAll";
    f->comm = (int64_t) rank->comm;
    f->rank = rank->rank;
    f->world_rank = who->world_rank;
    f->pid = who->pid;
    f->from_us = x->at_us > 0 ? x->at_us : NAN;
    f->to_us = f->from_us + x->us;
    f->share = x->share;
    f->others = others;
    finding_cost(findings, f, x->cost_us);
    finding_count(f, x->us, x->ops, 0);
    snprintf(f->host, sizeof(f->host), "%s", who->host);
    if (x->ops == 1)
        snprintf(where, sizeof(where), "%s %" PRIu64 " of %.40s", func, x->sn,
                 processes_comm_name(comm));
    else
        snprintf(where, sizeof(where),
                 "%s %" PRIu64 " to %" PRIu64 " of %.40s (at most %s)", func,
                 x->sn, x->last_sn, processes_comm_name(comm),
                 FIG_US(x->largest_us));
    if (isfinite(f->from_us))
        snprintf(when, sizeof(when), ", at %s", FIG_UTC((uint64_t) x->at_us));
    if (*x->before)
        snprintf(before, sizeof(before),
                 "; it was on its own for %s after %.70s", FIG_US(x->gap_us),
                 x->before);
    snprintf(f->text, sizeof(f->text),
             "%s kept %s rank%s waiting for %s, in %s%s%s; cost %s",
             processes_describe(p, r, who, name), FIG_COUNT(others),
             plural(others), FIG_US(x->us), where, when, before,
             FINDING_LOSS(f));
    snprintf(f->next, sizeof(f->next),
             "look at what that process did then: a checkpoint, an evaluation, "
             "data that came late, a file system that stopped");
    return 0;
}
