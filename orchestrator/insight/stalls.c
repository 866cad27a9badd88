/* stalls.c - find ranks that stop from time to time. */
#include "orchestrator/insight/stalls.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bandwidth.h"
#include "common/figure.h"
#include "orchestrator/insight/expected.h"
#include "orchestrator/insight/hypothesis.h"
#include "orchestrator/insight/limits.h"
#include "common/stats.h"
#include "common/vector.h"

/* An operation in which a candidate was last, or consecutive ones. */
struct event {
    uint64_t sn; /* the last one's */
    unsigned func;
    double us, at_us; /* at_us: time since 1970; 0: unknown */
};

struct candidate {
    struct jp_stall is;
    unsigned class, k;
    struct event *events; /* operations of the class, for their distances */
    size_t n, room;
    struct event *stops; /* the stalls in all functions, as in all_us */
    size_t n_stops, stops_room;
};

/* Of a communicator. */
struct waits {
    double us[STALLS_LENGTHS]; /* for ranks alone, by length */
    double grouped_us;         /* the least time in AlltoAll */
    size_t late;               /* ranks that are late */
};

struct search {
    const struct jp_result *r;
    const struct jp_processes *p;
    struct jp_lateness *lateness;
    struct stalls_counts counts;
    struct waits *waits; /* [comm] */
    /* [rank] time in Send and Recv; an AlltoAll counts once */
    double *p2p_us;
    double *spent_us; /* [process] time in communication */
    double *excess;   /* [rank] median of the other ranks' time minus its own */
    double *scratch;  /* room for n_ranks */
    double run_us;    /* 0: unknown */
    struct candidate *found;
    size_t n_found;
};

/* Computes how much less each rank's process communicates than the others. */
static void compare(struct search *s)
{
    for (size_t c = 0; c < s->r->n_comms; c++) {
        size_t from = s->p->comm_start[c], to = s->p->comm_start[c + 1];
        double usual;

        for (size_t i = from; i < to; i++)
            s->scratch[i - from] = s->spent_us[s->p->of_rank[i]];
        usual = stats_median(s->scratch, to - from);
        if (to - from == 2) /* the median is the other rank */
            usual = NAN;
        for (size_t i = from; i < to; i++)
            s->excess[i] = (isnan(usual)
                                ? s->spent_us[s->p->of_rank[from + to - 1 - i]]
                                : usual) -
                           s->spent_us[s->p->of_rank[i]];
    }
}

/* Sums time in Send and Recv, and in all communication. */
static void add_up(struct search *s)
{
    for (size_t i = 0; i < s->r->n_p2p; i++) {
        const struct jp_p2p *x = &s->r->p2p[i];
        size_t rank = processes_rank(s->p, s->r, x->comm,
                                     strcmp(x->func, "Send") ? x->dst : x->src);

        if (rank != SIZE_MAX)
            s->p2p_us[rank] += (double) x->exec_us;
    }
    for (size_t i = 0; i < s->r->n_ranks; i++)
        if (s->lateness[i].grouped_us > 0)
            s->p2p_us[i] = s->lateness[i].grouped_us;
    late_spent(s->r, s->p, s->lateness, s->spent_us);
    compare(s);
}

static bool seems_late(const struct jp_lateness *x)
{
    return x->late || x->likely;
}

/* Sums what ranks of each communicator wait for. */
static int sum_waits(struct search *s)
{
    s->waits = calloc(s->r->n_comms + 1, sizeof(*s->waits));
    for (size_t i = 0; s->waits && i < s->r->n_ranks; i++) {
        struct waits *w = &s->waits[s->r->ranks[i].comm];
        bool first = i == s->p->comm_start[s->r->ranks[i].comm];

        for (unsigned f = 0; f < STALLS_FUNCS; f++)
            for (unsigned k = 0; k < STALLS_LENGTHS; k++)
                w->us[k] += (double) stalls_tally(&s->counts, i, f)->us[k];
        if (first || s->lateness[i].grouped_us < w->grouped_us)
            w->grouped_us = s->lateness[i].grouped_us;
        w->late += seems_late(&s->lateness[i]);
    }
    return s->waits ? 0 : -1;
}

/* Returns all waits of a rank in a communicator in which another one is late:
 * of two equally late ranks, none is waited for alone. 0: none is late. */
static double waited_for_late(const struct search *s, size_t rank)
{
    const struct waits *w = &s->waits[s->r->ranks[rank].comm];
    const struct jp_lateness *x = &s->lateness[rank];

    return w->late > seems_late(x) ? (double) s->r->ranks[rank].wait_us +
                                         x->grouped_us - w->grouped_us
                                   : 0;
}

/* Returns the waits for the rank alone in all functions of its communicator,
 * longer than the length k. */
static double waited_for(const struct search *s, size_t rank, unsigned k)
{
    double us = 0;

    for (unsigned f = 0; f < STALLS_FUNCS; f++)
        us += (double) stalls_tally(&s->counts, rank, f)->us[k];
    return us;
}

/* Lengths differ a little among ranks: of others one half as long counts. */
static unsigned half(unsigned k)
{
    return k ? k - 1 : 0;
}

/* Returns the time that the rank's process waited in its other communicators,
 * for stalls of others at least half as long, and for late ranks. */
static double waited_elsewhere(const struct search *s, size_t rank, unsigned k)
{
    const struct jp_process *who = &s->p->list[s->p->of_rank[rank]];
    double us = 0;

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t own = s->p->by_process[i], c = s->r->ranks[own].comm;

        if (own != rank && stalls_is_whole(&s->counts, c))
            us += waited_for_late(s, own) + s->waits[c].us[half(k)] -
                  waited_for(s, own, half(k));
    }
    return us;
}

/* Returns how much longer that is than of the others of its communicator: what
 * all of them wait elsewhere does not make one of them late. */
static double waited_elsewhere_more(const struct search *s, size_t rank,
                                    unsigned k)
{
    size_t c = s->r->ranks[rank].comm, n = 0;

    for (size_t m = s->p->comm_start[c]; m < s->p->comm_start[c + 1]; m++)
        if (m != rank)
            s->scratch[n++] = waited_elsewhere(s, m, k);
    return waited_elsewhere(s, rank, k) - stats_median(s->scratch, n);
}

/* Returns the time of the rank's peers in communication. */
static double peers_us(const struct search *s, size_t rank)
{
    size_t c = s->r->ranks[rank].comm, n = 0;

    for (size_t k = s->p->comm_start[c]; k < s->p->comm_start[c + 1]; k++)
        if (k != rank)
            s->scratch[n++] = s->spent_us[s->p->of_rank[k]];
    return stats_median(s->scratch, n);
}

/* Returns us as a share of its peers' time in communication. */
static double share_of(const struct search *s, size_t rank, double us)
{
    double usual = peers_us(s, rank);

    return usual > 0 ? us / usual : 0;
}

/* Returns true if it stalls more often than its peers, not only in consecutive
 * operations, and most of the wait it causes comes from that. */
static bool is_odd(const struct search *s, size_t rank, unsigned class,
                   unsigned k)
{
    const struct stalls_tally *t = stalls_tally(&s->counts, rank, class);
    const struct stalls_kind *kind = stalls_kind(&s->counts, rank, class);
    double others = (double) (kind->times[half(k)] - t->times[half(k)]) /
                    (double) (kind->ranks - 1);

    return t->times[k] &&
           t->ops[k] < limits_get(JP_LIMIT_STALL_ROW) * t->times[k] &&
           t->times[k] > limits_get(JP_LIMIT_STALL_MORE) * others &&
           t->us[k] > limits_get(JP_LIMIT_STALL_MOST) * t->all_us;
}

/* Returns the time of a process in Send and Recv. */
static double messages_of(const struct search *s, size_t process)
{
    const struct jp_process *who = &s->p->list[process];
    double us = 0;

    for (size_t i = who->first; i < who->first + who->n; i++)
        us += s->p2p_us[s->p->by_process[i]];
    return us;
}

/* Returns how much longer it waited for messages than the others of its
 * communicator. */
static double waited_for_messages(const struct search *s, size_t rank)
{
    size_t c = s->r->ranks[rank].comm, n = 0;

    for (size_t k = s->p->comm_start[c]; k < s->p->comm_start[c + 1]; k++)
        if (k != rank)
            s->scratch[n++] = messages_of(s, s->p->of_rank[k]);
    return messages_of(s, s->p->of_rank[rank]) - stats_median(s->scratch, n);
}

/* Returns true if the process spends that much time of its own in all
 * communicators together (late.h), as far as can be told: ranks of a kind
 * differ by something anyway. Unless all of the time is its own, it must not
 * have waited as long for messages: who is a little slower all along, and waits
 * for the messages of a rank that stalls, does not stall. */
static bool is_own(const struct search *s, size_t rank, double us)
{
    size_t kind = s->counts.kind_of[s->r->ranks[rank].comm], n = 0;
    double least = limits_get(JP_LIMIT_STALL_MOST) * us;

    if (s->excess[rank] > us)
        return true;
    for (size_t i = 0; i < s->r->n_ranks; i++)
        if (s->counts.kind_of[s->r->ranks[i].comm] == kind)
            s->scratch[n++] = s->excess[i];
    return s->excess[rank] + stats_spread(s->scratch, n) > least &&
           waited_for_messages(s, rank) <
               limits_get(JP_LIMIT_STALL_WAITED) * us;
}

/* The first class of those that count together with this one: with crowded
 * places, or without. */
static unsigned first_class(unsigned class)
{
    return class < STALLS_FUNCS ? 0 : STALLS_FUNCS;
}

/* Returns the waits for a rank's stalls in all functions of its communicator,
 * and their number, without crowded places if the class has none. */
static double all_us(const struct search *s, size_t rank, unsigned class,
                     unsigned k, uint64_t *times)
{
    unsigned from = first_class(class);
    double us = 0;

    *times = 0;
    for (unsigned f = from; f < from + STALLS_FUNCS; f++) {
        const struct stalls_tally *t = stalls_tally(&s->counts, rank, f);

        us += (double) t->us[k];
        *times += t->times[k];
    }
    return us;
}

/* Returns the process' rank in a communicator of that kind; SIZE_MAX: none. */
static size_t rank_of_kind(const struct search *s, size_t process, size_t kind)
{
    const struct jp_process *who = &s->p->list[process];

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t rank = s->p->by_process[i];

        if (s->counts.kind_of[s->r->ranks[rank].comm] == kind)
            return rank;
    }
    return SIZE_MAX;
}

/* Returns true if half of the other ranks of a communicator come as late as
 * this one: own, of the same process, is its rank there. */
static bool has_mates(const struct search *s, size_t own, size_t rank,
                      unsigned class, unsigned k, double us)
{
    size_t c = s->r->ranks[own].comm, alike = 0;
    size_t from = s->p->comm_start[c], to = s->p->comm_start[c + 1];
    size_t kind = s->counts.kind_of[s->r->ranks[rank].comm];

    for (size_t m = from; m < to; m++) {
        size_t as = m == own ? SIZE_MAX
                             : rank_of_kind(s, s->p->of_rank[m], kind);

        alike += as != SIZE_MAX &&
                 (double) stalls_tally(&s->counts, as, class)->us[k] >
                     limits_get(JP_LIMIT_STALL_MOST) * us;
    }
    return 2 * alike >= to - from - 1;
}

/* Returns true if operations of the communicator are counted. */
static bool is_timed(const struct stalls_counts *c, size_t comm)
{
    for (unsigned f = 0; f < STALLS_FUNCS; f++)
        if (c->series[comm * STALLS_FUNCS + f].ops)
            return true;
    return false;
}

/* Returns true if the ranks of another of its communicators come as late here,
 * without having waited for it there: what makes them late is of all of them.
 */
static bool is_of_group(const struct search *s, size_t rank, unsigned class,
                        unsigned k)
{
    const struct jp_process *who = &s->p->list[s->p->of_rank[rank]];
    double us = (double) stalls_tally(&s->counts, rank, class)->us[k];

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t own = s->p->by_process[i], c = s->r->ranks[own].comm;

        if (own != rank && s->r->comms[c].n_ranks < s->p->n &&
            is_timed(&s->counts, c) &&
            waited_for(s, own, half(k)) <
                limits_get(JP_LIMIT_STALL_MOST) * us &&
            has_mates(s, own, rank, class, half(k), us))
            return true;
    }
    return false;
}

/* Returns true if the process may have waited as long as the root of Reduce or
 * Gather, in which nobody else waits: then it is late for whom it waited for.
 */
static bool may_be_root(const struct search *s, size_t rank, unsigned k,
                        double us)
{
    const struct jp_process *who = &s->p->list[s->p->of_rank[rank]];
    double waited = 0;

    for (size_t i = who->first; i < who->first + who->n; i++)
        waited += s->counts.roots_us[s->r->ranks[s->p->by_process[i]].comm *
                                         STALLS_LENGTHS +
                                     half(k)];
    return waited > limits_get(JP_LIMIT_STALL_MOST) * us;
}

/* Returns true if the time is the rank's own and long enough to report. */
static bool counts(const struct search *s, size_t rank, unsigned class,
                   unsigned k)
{
    uint64_t times;
    double us = all_us(s, rank, class, k, &times);
    bool few = (double) times < limits_get(JP_LIMIT_STALL_TIMES);

    return share_of(s, rank, us) > limits_get(few ? JP_LIMIT_STALL_FEW_SHARE
                                                  : JP_LIMIT_STALL_SHARE) &&
           is_own(s, rank, us) && !may_be_root(s, rank, k, us) &&
           waited_elsewhere_more(s, rank, k) <
               limits_get(JP_LIMIT_STALL_WAITED) * us &&
           !is_of_group(s, rank, class, k);
}

static int add_candidate(struct search *s, size_t rank, unsigned class,
                         unsigned k, double chance)
{
    struct candidate *more;
    uint64_t times;
    double us = all_us(s, rank, class, k, &times);
    unsigned from = first_class(class);

    if (VECTOR_DOUBLE(s->found, s->n_found) < 0)
        return -1;
    more = &s->found[s->n_found];
    *more = (struct candidate){.class = class, .k = k};
    more->room = stalls_tally(&s->counts, rank, class)->ops[k];
    more->is = (struct jp_stall){.process = s->p->of_rank[rank],
                                 .rank = rank,
                                 .ops = class % STALLS_FUNCS == STALLS_EXCHANGE
                                            ? s->r->ranks[rank].n_kernels
                                            : s->r->ranks[rank].timed_ops,
                                 .times = times,
                                 .sum_us = us,
                                 .share = share_of(s, rank, us),
                                 .chance = chance,
                                 .from_us = NAN,
                                 .to_us = NAN,
                                 .every_us = NAN};
    for (unsigned f = from; f < from + STALLS_FUNCS; f++)
        more->stops_room += stalls_tally(&s->counts, rank, f)->ops[k];
    more->events = calloc(more->room, sizeof(*more->events));
    more->stops = calloc(more->stops_room, sizeof(*more->stops));
    s->n_found++;
    return more->events && more->stops ? 0 : -1;
}

/* Certain stalls come first, and of these the least probable ones. Others are
 * ordered by length: the longer a stall, the fewer ranks are as late by chance.
 */
static bool is_better(double chance, double us, double than, double than_us)
{
    bool sure = chance < limits_get(JP_LIMIT_STALL_CHANCE);
    bool than_sure = than < limits_get(JP_LIMIT_STALL_CHANCE);

    if (chance > limits_get(JP_LIMIT_STALL_DOUBT))
        return false;
    if (sure != than_sure)
        return sure;
    return sure && chance != than ? chance < than : us > than_us;
}

/* Finds, for each process, the communicator and function with the strongest
 * evidence, at the shortest T. Also keeps candidates whose regularity may still
 * add evidence. */
static int find_candidates(struct search *s)
{
    for (size_t p = 0; p < s->p->n; p++) {
        const struct jp_process *who = &s->p->list[p];
        size_t best = SIZE_MAX;
        unsigned best_class = 0, best_k = 0;
        double most = 0, chance = 1;

        for (size_t i = who->first * STALLS_CLASSES;
             i < (who->first + who->n) * STALLS_CLASSES; i++) {
            size_t rank = s->p->by_process[i / STALLS_CLASSES];
            unsigned class = i % STALLS_CLASSES;

            for (unsigned k = 0; k < STALLS_LENGTHS; k++) {
                double us =
                    (double) stalls_tally(&s->counts, rank, class)->us[k];
                double own;

                if (!is_odd(s, rank, class, k))
                    continue;
                own = stalls_chance(&s->counts, rank, class, k);
                if (!is_better(own, us, chance, most) ||
                    !counts(s, rank, class, k))
                    continue;
                best = rank;
                best_class = class;
                best_k = k;
                most = us;
                chance = own;
            }
        }
        if (best != SIZE_MAX &&
            add_candidate(s, best, best_class, best_k, chance) < 0)
            return -1;
    }
    return 0;
}

/* Returns true if the event goes on with the candidate's last stall. */
static bool goes_on(const struct candidate *c, const struct stalls_event *e)
{
    const struct event *last = c->n_stops ? &c->stops[c->n_stops - 1] : NULL;

    return last && e->again > c->k && last->func == e->func &&
           last->sn + 1 == e->sn;
}

static void collect(void *arg, const struct stalls_event *e)
{
    struct search *s = arg;

    for (size_t i = 0; i < s->n_found; i++) {
        struct candidate *c = &s->found[i];
        bool whole = c->class < STALLS_FUNCS;
        const struct event event = {e->sn, e->func, e->us, e->at_us};

        if (c->is.rank != e->rank || e->over <= c->k ||
            (!whole && (e->crowded || !e->placed)))
            continue;
        if (c->class % STALLS_FUNCS == e->func && c->n < c->room)
            c->events[c->n++] = event;
        if (goes_on(c, e)) {
            c->stops[c->n_stops - 1].us += e->us;
            c->stops[c->n_stops - 1].sn = e->sn;
        } else if (c->n_stops < c->stops_room) {
            c->stops[c->n_stops++] = event;
        }
    }
}

/* Detects equal distances between stalls, allowing a few missing ones. */
static void look_regular(struct candidate *c, double *scratch)
{
    double usual, span = (double) (c->events[c->n - 1].sn - c->events[0].sn);
    size_t n = c->n - 1, equal = 0;

    for (size_t i = 0; i < n; i++)
        scratch[i] = (double) (c->events[i + 1].sn - c->events[i].sn);
    usual = stats_median(scratch, n);
    for (size_t i = 0; i < n; i++) {
        double times = scratch[i] / usual, whole = fmax(round(times), 1);

        equal += fabs(times - whole) * usual <
                     fmax(limits_get(JP_LIMIT_STALL_EVEN) * usual, 1.5) &&
                 whole <= 3;
    }
    c->is.regular = n >= 2 && usual > 2 && 10 * equal >= 9 * n;
    if (!c->is.regular)
        return;
    c->is.every_ops = (uint64_t) (usual + 0.5);
    if (c->is.to_us > c->is.from_us)
        c->is.every_us = (c->is.to_us - c->is.from_us) * usual / span;
    /* all but the first two must fall into a place given by these */
    c->is.chance *=
        pow(fmin(1, 3 * fmax(3, 2 * limits_get(JP_LIMIT_STALL_EVEN) * usual) /
                        (double) c->is.ops),
            (double) n - 1);
}

static void describe(const struct search *s, struct candidate *c,
                     double *scratch)
{
    const struct jp_process *who = &s->p->list[c->is.process];

    if (c->events[0].at_us > 0)
        c->is.from_us = c->events[0].at_us;
    if (c->events[c->n - 1].at_us > 0)
        c->is.to_us = c->events[c->n - 1].at_us;
    look_regular(c, scratch);
    for (size_t i = 0; i < c->n_stops; i++) {
        const struct event *stop = &c->stops[i];

        scratch[i] = stop->us;
        c->is.largest_us = fmax(c->is.largest_us, stop->us);
        if (stop->at_us > 0) {
            c->is.from_us = fmin(c->is.from_us, stop->at_us);
            c->is.to_us = fmax(c->is.to_us, stop->at_us);
        }
    }
    c->is.times = c->n_stops;
    c->is.typical_us = stats_median(scratch, c->n_stops);
    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t rank = s->p->by_process[i];
        uint64_t times;
        double us = all_us(s, rank, c->class, c->k, &times);

        c->is.cost_us += us * (s->r->comms[s->r->ranks[rank].comm].n_ranks - 1);
        if (rank != c->is.rank)
            c->is.elsewhere += times;
    }
}

/* A rank that is late all along does not stall. A rank that is late only by
 * stalls is not late all along. */
static bool is_always_late(const struct search *s, struct jp_stall *stall)
{
    const struct jp_process *who = &s->p->list[stall->process];
    bool often = (double) stall->times >
                 limits_get(JP_LIMIT_STALL_RARE) * (double) stall->ops;

    for (size_t i = who->first; i < who->first + who->n; i++) {
        const struct jp_lateness *x = &s->lateness[s->p->by_process[i]];

        if (x->late &&
            (often ||
             stall->sum_us < limits_get(JP_LIMIT_STALL_MOST) * x->excess_us))
            return true;
    }
    for (size_t i = who->first; i < who->first + who->n; i++) {
        struct jp_lateness *x = &s->lateness[s->p->by_process[i]];

        stall->minor &= !x->late;
        x->late = false;
    }
    return false;
}

/* Returns true if a rank that is late by as much all along would not be named.
 */
static bool is_minor(const struct search *s, const struct jp_stall *stall)
{
    return stall->sum_us <= late_worth(s->run_us, peers_us(s, stall->rank));
}

/* The stall is in every step, whose gradients are split into several
 * operations: the rank is a little slower all along. */
static bool is_of_each_step(const struct jp_stall *stall)
{
    return stall->regular &&
           (double) stall->every_ops <= limits_get(JP_LIMIT_HANG_BUCKETS);
}

/* Only at the very beginning: programs take different times to warm up. */
static bool is_warmup(const struct search *s, const struct candidate *c)
{
    size_t comm = s->r->ranks[c->is.rank].comm;
    const struct stalls_series *all =
        &s->counts.series[comm * STALLS_FUNCS + c->class % STALLS_FUNCS];

    return (double) (c->events[c->n - 1].sn - all->first_sn) <
           (double) all->ops / limits_get(JP_LIMIT_WARMUP_PART);
}

/* Returns true if process `who` waited for `rank` in their communicator, for
 * most of late_us. */
static bool waits_in(const struct search *s, size_t rank, size_t who,
                     double late_us, unsigned k)
{
    size_t c = s->r->ranks[rank].comm;

    if (waited_for(s, rank, half(k)) <
        limits_get(JP_LIMIT_STALL_MOST) * late_us)
        return false;
    for (size_t m = s->p->comm_start[c]; m < s->p->comm_start[c + 1]; m++)
        if (s->p->of_rank[m] == who)
            return true;
    return false;
}

/* Clears `late` of ranks that waited for the stalling rank, if that rank is
 * about as late beside them: they pass its wait on. Where waits overlap, sums
 * over communicators do not show this. */
static void excuse_waiters(const struct search *s, struct candidate *c)
{
    const struct jp_process *by = &s->p->list[c->is.process];

    for (size_t i = 0; i < s->r->n_ranks; i++) {
        struct jp_lateness *x = &s->lateness[i];
        size_t who = s->p->of_rank[i], beside;

        if (!x->late || who == c->is.process)
            continue;
        beside = rank_of_kind(s, c->is.process,
                              s->counts.kind_of[s->r->ranks[i].comm]);
        if (beside == SIZE_MAX ||
            s->lateness[beside].excess_us <
                limits_get(JP_LIMIT_STALL_ALIKE) * x->excess_us)
            continue;
        for (size_t k = by->first; x->late && k < by->first + by->n; k++)
            x->late =
                !waits_in(s, s->p->by_process[k], who, x->excess_us, c->k);
        c->is.minor &= x->late;
    }
}

static int keep(struct search *s, struct jp_stalls *stalls)
{

    stalls->at = calloc(s->n_found + 1, sizeof(*stalls->at));
    if (!stalls->at)
        return -1;
    for (size_t i = 0; i < s->n_found; i++) {
        struct candidate *c = &s->found[i];
        double *scratch = calloc(c->n + c->n_stops + 1, sizeof(*scratch));

        if (!scratch)
            return -1;
        if (c->n)
            describe(s, c, scratch);
        free(scratch);
        c->is.minor = is_minor(s, &c->is);
        if (c->n && c->is.chance < limits_get(JP_LIMIT_STALL_CHANCE) &&
            !is_of_each_step(&c->is) && !is_warmup(s, c) &&
            !is_always_late(s, &c->is)) {
            excuse_waiters(s, c);
            stalls->at[stalls->n++] = c->is;
        }
    }
    return 0;
}

/* Returns the most operations of a function that a communicator has. */
static double most_ops(const struct search *s)
{
    uint64_t most = 0;

    for (size_t i = 0; i < s->r->n_comms * STALLS_FUNCS; i++)
        if (s->counts.series[i].ops > most)
            most = s->counts.series[i].ops;
    return (double) most;
}

/* Returns the shortest stall that would have been reported, occurring as often
 * as the test requires for the ranks with the fewest likes. *rare: there are
 * not so many operations. */
static double least_us(const struct search *s, bool *rare)
{
    double usual, times = limits_get(JP_LIMIT_STALL_TIMES);

    for (size_t i = 0; i < s->counts.n_kinds * STALLS_CLASSES; i++)
        if (s->counts.kinds[i].ranks > 1)
            times = fmax(times, log(fmax(s->counts.tried, 1) /
                                    limits_get(JP_LIMIT_STALL_CHANCE)) /
                                    log((double) s->counts.kinds[i].ranks));
    /* a rank that is late so often does not stall */
    *rare = times > limits_get(JP_LIMIT_STALL_RARE) * most_ops(s);
    memcpy(s->scratch, s->spent_us, s->p->n * sizeof(*s->spent_us));
    usual = stats_median(s->scratch, s->p->n);
    return fmax(limits_get(JP_LIMIT_STALL_US),
                limits_get(JP_LIMIT_STALL_SHARE) * usual / ceil(times));
}

/* Records of Inspector's logs are written so often. */
#define JP_STALL_BATCH_US 1e6

/* Returns the index of the largest length that a time reaches. */
static unsigned length_of(double us)
{
    unsigned k = 0;

    while (k + 1 < STALLS_LENGTHS &&
           us >= limits_get(JP_LIMIT_STALL_US) * (double) (2u << k))
        k++;
    return k;
}

/* Returns true if the process only passed on what it had waited for elsewhere,
 * by its timeline, else by all that it waited for that long. */
static bool is_passed_on(const struct search *s, const struct jp_once *x)
{
    double most = limits_get(JP_LIMIT_STALL_WAITED) * x->largest_us;
    unsigned k = length_of(x->largest_us);

    if (isfinite(x->own_us))
        return x->own_us < most;
    return may_be_root(s, x->rank, k, x->largest_us) ||
           waited_for_messages(s, x->rank) > most ||
           waited_elsewhere_more(s, x->rank, k) > most ||
           is_of_group(s, x->rank, x->func, k);
}

/* Returns true if the rank is known to be late, or to stall, anyway. A minor
 * stall explains no long wait. */
static bool is_known(const struct search *s, const struct jp_stalls *stalls,
                     const struct jp_once *x)
{
    const struct jp_process *who = &s->p->list[x->process];

    for (size_t i = 0; i < stalls->n; i++)
        if (stalls->at[i].process == x->process && stalls->at[i].times > 1 &&
            !stalls->at[i].minor)
            return true;
    for (size_t i = who->first; i < who->first + who->n; i++)
        if (s->lateness[s->p->by_process[i]].late)
            return true;
    return false;
}

/* Sums what others waited at the same time for about as long: those who waited
 * for the process come late elsewhere. Times of logs without starts are those
 * of writing, in batches. */
static double cost_of(const struct search *s,
                      const struct stalls_once_list *list,
                      const struct jp_once *x)
{
    double near = x->us + (isfinite(x->own_us) ? 0 : JP_STALL_BATCH_US);
    double likely = limits_get(JP_LIMIT_STALL_MOST) * x->us, cost = 0,
           most = x->us * (double) (s->p->at_once - 1);

    for (size_t i = 0; i < list->n; i++) {
        const struct jp_once *y = &list->at[i];
        double others = s->r->comms[s->r->ranks[y->rank].comm].n_ranks - 1;

        /* AlltoAlls of Send and Recv have no times */
        if (y->us > likely && (fabs(y->at_us - x->at_us) <= near ||
                               !(y->at_us > 0) || !(x->at_us > 0)))
            cost += fmin(y->us, x->us) * others;
    }
    return fmin(cost, most);
}

static int by_length(const void *a, const void *b)
{
    const struct jp_once *x = a, *y = b;

    if (x->us != y->us)
        return x->us > y->us ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Returns true if the wait may be the same delay as that of one of n others:
 * some of it, passed on at that time. In a run of a few batches of records,
 * times of writing do not tell. */
static bool is_same(struct search *s, struct jp_once *x,
                    const struct jp_once *once, size_t n, double run_us)
{
    for (size_t i = 0; i < n; i++) {
        bool timed = isfinite(once[i].own_us);
        double near = once[i].us + (timed ? 0 : JP_STALL_BATCH_US);

        if (x->process == once[i].process)
            return true;
        if (!timed && near > limits_get(JP_LIMIT_STALL_MOST) * run_us)
            continue;
        if (fabs(x->at_us - once[i].at_us) <= near || !(x->at_us > 0) ||
            !(once[i].at_us > 0)) {
            x->own_us = NAN;
            if (stalls_once_before(s->r, s->p, x) < 0 || is_passed_on(s, x))
                return true;
        }
    }
    return false;
}

static int by_time(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return (x < y) - (x > y);
}

enum { COMPARED = STALLS_OTHERS + 1 };

/* Returns from which length on a wait stands out among those of all processes
 * but once[0] to once[named - 1]; once: longest first. Where start and end show
 * that the process was on its own for so long, chance is not asked: it must be
 * twice as long as any other. */
static double stands_out_from(struct search *s, struct jp_once *once,
                              size_t n_once, struct stalls_once_list *list,
                              size_t named)
{
    double us[2 * COMPARED];
    bool timed;
    size_t n = 0;

    for (size_t i = named; i < n_once && n < COMPARED; i++)
        us[n++] = once[i].us;
    for (size_t i = 0, taken = 0; i < s->p->n * list->each && taken < COMPARED;
         i++) {
        struct jp_once *x = &list->others[i];

        if (!(x->us > 0))
            break;
        if (is_same(s, x, once, named, list->run_us))
            continue;
        us[n++] = x->us;
        taken++;
    }
    qsort(us, n, sizeof(*us), by_time);
    timed = named ? isfinite(once[named - 1].own_us) : s->r->n_timelines > 0;
    if (timed)
        return (n ? us[0] : 0) / limits_get(JP_LIMIT_STALL_MOST);
    return stalls_once_from(us, n);
}

/* Keeps the longest wait, or the two longest ones, if they stand out among all
 * that processes make others wait. Where ranks stop by turns, none of them is
 * named. once: longest first. Sets from which length on one would be named. */
static void keep_rare(struct search *s, struct jp_once *once,
                      struct jp_stalls *stalls, struct stalls_once_list *list)
{
    size_t all = s->p->n * list->each;
    size_t found = stalls->n_once, k = found < 2 ? found : 2;

    if (all)
        qsort(list->others, all, sizeof(*list->others), by_length);
    for (; k; k--)
        if (once[k - 1].us > stands_out_from(s, once, found, list, k))
            break;
    if (list->judged)
        list->named_from_us = stands_out_from(s, once, found, list, k);
    if (found > k)
        list->untold_us = fmax(list->untold_us, once[k].us);
    stalls->n_once = k;
}

/* Returns true if so few stalls of a process stand out among all waits for
 * others, as a single wait must. once: the single waits. */
static bool stands_out(struct search *s, const struct jp_stall *stall,
                       const struct jp_once *once, size_t n_once,
                       struct stalls_once_list *list, struct jp_once *room)
{
    size_t n = 1;

    if (!list->judged)
        return false;
    room[0] =
        (struct jp_once){.process = stall->process,
                         .rank = stall->rank,
                         .us = stall->typical_us,
                         .at_us = isfinite(stall->from_us) ? stall->from_us : 0,
                         .own_us = NAN};
    for (size_t i = 0; i < n_once; i++)
        if (once[i].process != stall->process)
            room[n++] = once[i];
    return stall->typical_us > stands_out_from(s, room, n, list, 1);
}

/* Drops stalls that came a few times only, and are no longer than waits that
 * come by chance. Returns 0, or -1: no memory. */
static int drop_few(struct search *s, struct jp_stalls *stalls,
                    const struct jp_once *once, size_t n_once,
                    struct stalls_once_list *list)
{
    struct jp_once *room = calloc(n_once + 1, sizeof(*room));
    size_t kept = 0;

    if (!room)
        return -1;
    for (size_t i = 0; i < stalls->n; i++)
        if ((double) stalls->at[i].times >= limits_get(JP_LIMIT_STALL_TIMES) ||
            stands_out(s, &stalls->at[i], once, n_once, list, room))
            stalls->at[kept++] = stalls->at[i];
    stalls->n = kept;
    free(room);
    return 0;
}

/* Drops stalls that came once, of processes whose single wait is told with
 * more about it. */
static void drop_single(struct jp_stalls *stalls, const struct jp_once *once)
{
    size_t kept = 0;

    for (size_t i = 0; i < stalls->n; i++) {
        bool told = false;

        for (size_t k = 0; k < stalls->n_once; k++)
            told |= once[k].process == stalls->at[i].process;
        if (!told)
            stalls->at[kept++] = stalls->at[i];
    }
    stalls->n = kept;
}

/* Returns the shortest single wait that would be named. Who waited in an
 * AlltoAll of Send and Recv comes late with the others of it, so that what that
 * costs elsewhere is not counted. */
static double least_once(const struct search *s, double run_us)
{
    double least = limits_get(JP_LIMIT_STALL_ONCE) * run_us;

    for (size_t c = 0; c < s->r->n_comms; c++) {
        double others = s->r->comms[c].n_ranks - 1;

        if (s->counts.series[c * STALLS_FUNCS + STALLS_EXCHANGE].ops)
            least = fmax(least, limits_get(JP_LIMIT_LATE_COST) * run_us *
                                    (double) s->p->at_once / others);
    }
    /* what was waited for messages may have been passed on */
    for (size_t i = 0; !s->r->n_timelines && i < s->r->n_ranks; i++)
        if (is_timed(&s->counts, s->r->ranks[i].comm))
            least = fmax(least, waited_for_messages(s, i) /
                                    limits_get(JP_LIMIT_STALL_WAITED));
    return least;
}

/* Finds single waits. A process that is seen in several communicators counts
 * with the longest of its waits. Returns 0, or -1: no memory. */
static int find_once(struct search *s, struct jp_stalls *stalls)
{
    struct stalls_once_list list = {0};
    struct jp_once *once = NULL;
    double run_us = late_run_us(s->r);
    bool *seen = calloc(s->p->n + 1, sizeof(*seen));
    int rc = seen ? 0 : -1;

    if (rc == 0)
        rc = stalls_once_collect(&s->counts, run_us, &list);
    if (list.n)
        qsort(list.at, list.n, sizeof(*list.at), by_length);
    if (rc == 0)
        once = calloc(list.n + 1, sizeof(*once));
    rc = once ? rc : -1;
    for (size_t i = 0; rc == 0 && i < list.n; i++) {
        struct jp_once *x = &list.at[i];

        x->own_us = NAN;
        if (seen[x->process] || is_known(s, stalls, x))
            continue;
        rc = stalls_once_before(s->r, s->p, x);
        if (rc < 0)
            break;
        x->cost_us = cost_of(s, &list, x);
        x->share = fmin(share_of(s, x->rank, x->us), 1);
        if (is_passed_on(s, x) || x->cost_us <= limits_get(JP_LIMIT_LATE_COST) *
                                                    run_us *
                                                    (double) s->p->at_once) {
            list.untold_us = fmax(list.untold_us, x->us);
            continue;
        }
        seen[x->process] = true;
        once[stalls->n_once++] = *x;
    }
    stalls->once = once;
    if (rc == 0) {
        rc = drop_few(s, stalls, once, stalls->n_once, &list);
        keep_rare(s, once, stalls, &list);
        drop_single(stalls, once);
        stalls->untold_us = fmax(list.untold_us, list.named_from_us);
        if (run_us > 0 && list.judged)
            stalls->once_us = fmax(stalls->untold_us, least_once(s, run_us));
    }
    stalls_once_list_fini(&list);
    free(seen);
    return rc;
}

static int search(struct search *s, const struct jp_netserieses *series,
                  struct jp_stalls *stalls)
{
    add_up(s);
    if (stalls_counts_init(s->r, s->p, series, &s->counts) < 0 ||
        sum_waits(s) < 0)
        return -1;
    stalls->judged = s->counts.told > 0;
    stalls->least_us = least_us(s, &stalls->rare);
    if (find_candidates(s) < 0)
        return -1;
    if (s->n_found && stalls_events(&s->counts, true, collect, s) < 0)
        return -1;
    return keep(s, stalls) < 0 ? -1 : find_once(s, stalls);
}

int stalls_find(const struct jp_result *r, const struct jp_processes *p,
                const struct jp_netserieses *series,
                struct jp_lateness *lateness, struct jp_stalls *stalls)
{
    struct search s = {
        .r = r, .p = p, .lateness = lateness, .run_us = late_run_us(r)};
    int rc = -1;

    *stalls = (struct jp_stalls){.least_us = NAN, .once_us = NAN};
    if ((!r->n_ops && !r->kernels) || r->quality.waits_unknown || !p->known)
        return 0;
    s.p2p_us = calloc(r->n_ranks + 1, sizeof(*s.p2p_us));
    s.spent_us = calloc(p->n + 1, sizeof(*s.spent_us));
    s.excess = calloc(r->n_ranks + 1, sizeof(*s.excess));
    s.scratch = calloc(r->n_ranks + p->n + 1, sizeof(*s.scratch));
    if (s.p2p_us && s.spent_us && s.excess && s.scratch)
        rc = search(&s, series, stalls);
    stalls_counts_fini(&s.counts);
    for (size_t i = 0; i < s.n_found; i++) {
        free(s.found[i].events);
        free(s.found[i].stops);
    }
    free(s.found);
    free(s.waits);
    free(s.p2p_us);
    free(s.spent_us);
    free(s.excess);
    free(s.scratch);
    return rc;
}

void stalls_fini(struct jp_stalls *stalls)
{
    free(stalls->at);
    free(stalls->once);
    *stalls = (struct jp_stalls){0};
}

/* --- findings ------------------------------------------------------------ */

static int tell(const struct jp_result *r, const struct jp_processes *p,
                const struct jp_stall *stall, struct jp_findings *findings)
{
    const struct jp_process *who = &p->list[stall->process];
    const struct jp_rank *rank = &r->ranks[stall->rank];
    const struct jp_comm *comm = &r->comms[rank->comm];
    struct jp_finding *f = findings_add(findings, JP_FINDING_STALL);
    char when[80] = "at irregular intervals", how[160];
    char name[JP_PROCESS_NAME_LEN], elsewhere[60] = "";

    if (!f)
        return -1;
    f->comm = (int64_t) rank->comm;
    f->rank = rank->rank;
    f->world_rank = who->world_rank;
    f->pid = who->pid;
    f->process = who - p->list;
    f->from_us = stall->from_us;
    f->to_us = stall->to_us;
    f->share = fmin(stall->share, 1);
    finding_cost(findings, f, stall->cost_us);
    f->minor = stall->minor;
    finding_count(f, stall->typical_us, stall->times, stall->ops);
    snprintf(f->host, sizeof(f->host), "%s", who->host);
    if (stall->regular && isfinite(stall->every_us))
        snprintf(when, sizeof(when), "every %s operations (%s)",
                 FIG_COUNT(stall->every_ops), FIG_US(stall->every_us));
    else if (stall->regular)
        snprintf(when, sizeof(when), "every %s operations",
                 FIG_COUNT(stall->every_ops));
    if (stall->times > 1)
        snprintf(how, sizeof(how), "%s times, for %s (at most %s), %s",
                 FIG_COUNT(stall->times), FIG_US(stall->typical_us),
                 FIG_US(stall->largest_us), when);
    else
        snprintf(how, sizeof(how), "once, for %s", FIG_US(stall->typical_us));
    if (stall->elsewhere)
        snprintf(elsewhere, sizeof(elsewhere),
                 " (and %s time%s in its other communicators)",
                 FIG_COUNT(stall->elsewhere), plural(stall->elsewhere));
    snprintf(
        f->text, sizeof(f->text), "%s stalled %s, seen in %.40s%s; cost %s",
        processes_describe(p, r, who, name), how,
        *comm->name && strcmp(comm->name, "unknown") ? comm->name : comm->id,
        elsewhere, FINDING_LOSS(f));
    snprintf(f->next, sizeof(f->next), "%s",
             stall->regular
                 ? "check what that process does at such intervals: a "
                   "checkpoint, an evaluation, a log, its data loader"
                 : "check that process: garbage collection, data loading, "
                   "other work on its cores, a file system that stalls");
    return 0;
}

/* Answers whether ranks were last in as many operations as the test needs. */
static void answer(const struct jp_result *r, const struct jp_processes *p,
                   const struct jp_stalls *stalls, struct jp_hypotheses *h)
{
    const char *why = r->quality.waits_unknown
                          ? "too many records to sum up waits within the "
                            "memory limit"
                      : !p->known
                          ? "the records do not tell the processes apart"
                          : late_why_none(r);
    const char *in = expected_seen(r) < 1 - limits_get(JP_LIMIT_STATED)
                         ? " in the operations that were recorded"
                         : "";
    char once[JP_HYPOTHESIS_WHY] = "";

    /* the smallest effect of the question is that of stalls that come again */
    if (isfinite(stalls->once_us))
        snprintf(once, sizeof(once),
                 "no recurring stall over %s, no single one over %s%s",
                 FIG_US(stalls->least_us), FIG_US(stalls->once_us), in);
    else
        snprintf(once, sizeof(once), "no recurring stall over %s%s",
                 FIG_US(stalls->least_us), in);
    if (p->known && p->n == 1)
        hypothesis_set(h, JP_HYPOTHESIS_STALL, JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "only one rank, so no other waits for it");
    else if (stalls->judged && stalls->rare)
        hypothesis_set(h, JP_HYPOTHESIS_STALL, JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "too few operations to tell a stall from chance");
    else if (stalls->judged)
        hypothesis_set(h, JP_HYPOTHESIS_STALL, JP_HYPOTHESIS_NOT_FOUND,
                       stalls->least_us, "%s", once);
    else
        hypothesis_set(h, JP_HYPOTHESIS_STALL, JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "%s", why);
}

int stalls_findings(const struct jp_result *r, const struct jp_processes *p,
                    const struct jp_stalls *stalls,
                    struct jp_findings *findings)
{
    answer(r, p, stalls, findings->hypotheses);
    for (size_t i = 0; i < stalls->n && i < limits_get(JP_LIMIT_LATE_MANY); i++)
        if (tell(r, p, &stalls->at[i], findings) < 0)
            return -1;
    for (size_t i = 0; i < stalls->n_once && i < limits_get(JP_LIMIT_LATE_MANY);
         i++)
        if (stalls_once_tell(r, p, &stalls->once[i], findings) < 0)
            return -1;
    return 0;
}
