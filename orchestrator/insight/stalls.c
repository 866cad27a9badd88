/* stalls.c - find ranks that stop from time to time. */
#include "orchestrator/insight/stalls.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/collective.h"
#include "common/figure.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/alltoall.h"
#include "orchestrator/insight/hypothesis.h"
#include "orchestrator/insight/likes.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/stats.h"

/* number of T's; functions that are barriers, the last one an AlltoAll of Send
 * and Recv */
enum { TIMES = 14, ALLTOALL = 3, FUNCS };

/* Operations of one function in which the rank was the only last one, by more
 * than FIRST_US << k. */
struct tally {
    uint32_t times[TIMES]; /* first operation of each run of consecutive ones */
    uint32_t ops[TIMES];   /* all such operations */
    float us[TIMES];
    float all_us; /* total time the others waited, for delays of any length */
    /* of a communicator's first rank: number of operations, and their first
     * sequence number */
    uint64_t of, first_sn;
};

/* Ranks of communicators of one shape, with the tallies of all their
 * operations. */
struct kind {
    uint64_t times[TIMES];
    double us[TIMES];
    size_t ranks;
};

/* An operation in which a candidate was last. */
struct event {
    uint64_t sn;
    double us, at_us; /* at_us: time since 1970; 0: unknown */
};

struct candidate {
    struct jp_stall is;
    size_t tally;
    unsigned k;
    struct event *events;
    size_t n, room;
};

struct search {
    const struct jp_result *r;
    const struct jp_processes *p;
    struct jp_lateness *lateness;
    struct tally *tallies; /* [rank of the result][FUNCS] */
    size_t *kind_of;       /* [comm] */
    struct kind *kinds;    /* [kind][FUNCS] */
    size_t n_kinds;
    /* [rank] time in Send and Recv; an AlltoAll counts once */
    double *p2p_us;
    double *spent_us; /* [process] time in communication */
    double *excess;   /* [rank] median of the other ranks' time minus its own */
    double *scratch;  /* room for n_ranks */
    double tried;     /* number of hypotheses */
    uint64_t told;    /* number of operations used */
    struct candidate *found;
    size_t n_found;
};

/* Index of a function; FUNCS: not a barrier. */
static unsigned func_of(const char *name)
{
    static const char *const names[ALLTOALL] = {"AllReduce", "AllGather",
                                                "ReduceScatter"};

    for (unsigned f = 0; f < ALLTOALL; f++)
        if (!strcmp(names[f], name))
            return f;
    return FUNCS;
}

static struct tally *tally_of(const struct search *s, size_t rank, unsigned f)
{
    return &s->tallies[rank * FUNCS + f];
}

#define FIRST_US                                                               \
    ((uint64_t) limits_get(JP_LIMIT_STALL_US)) /* the smallest T               \
                                                */

/* Returns how many T's a time exceeds. */
static unsigned over(uint64_t us)
{
    unsigned n = 0;

    while (n < TIMES && us >= FIRST_US << n)
        n++;
    return n;
}

/* Returns the time that all waited for the last rank alone, beyond waits for
 * others. */
static uint64_t alone_us(const struct jp_op *op, uint32_t n)
{
    uint64_t alone = op->exec_second_us - op->exec_min_us;
    double waited = (double) op->exec_sum_us -
                    (double) n * (double) op->exec_min_us;

    if (n > 2 && alone >= FIRST_US &&
        (double) alone * (n - 1) < limits_get(JP_LIMIT_STALL_ALONE) * waited)
        return 0;
    return alone;
}

/* Returns true if all ranks of the operation are known, and which was last. */
static bool is_told(const struct search *s, const struct jp_op *op)
{
    uint32_t n = s->r->comms[op->comm].n_ranks;

    return n > 1 && op->n == n && op->n_exec == n;
}

/* The previous operation with the same rank last, in one run of operations. */
struct before {
    uint32_t comm, coll, rank;
    unsigned over;
};

static void count(struct search *s, const struct jp_op *op, unsigned f,
                  struct before *before)
{
    size_t from = s->p->comm_start[op->comm];
    uint64_t us = alone_us(op, s->r->comms[op->comm].n_ranks);
    unsigned n = over(us), again = 0;
    struct tally *t = tally_of(s, from, f);

    t->first_sn = t->of++ ? t->first_sn : op->sn;
    if (op->min_rank == UINT32_MAX) {
        before->rank = UINT32_MAX;
        return;
    }
    if (before->comm == op->comm && before->coll == op->coll &&
        before->rank == op->min_rank)
        again = before->over;
    *before = (struct before){op->comm, op->coll, op->min_rank, n};
    t = tally_of(s, from + op->min_rank, f);
    t->all_us += (float) us;
    for (unsigned k = 0; k < n; k++) {
        t->times[k] += k >= again;
        t->ops[k]++;
        t->us[k] += (float) us;
    }
}

/* Returns true if every rank number of the communicator occurs once. */
static bool is_whole(const struct search *s, size_t c)
{
    return s->p->comm_start[c + 1] - s->p->comm_start[c] ==
           s->r->comms[c].n_ranks;
}

typedef void each_op(struct search *s, const struct jp_op *op, unsigned func,
                     struct before *before);

static void walk_alltoall(struct search *s, each_op *each)
{
    for (size_t c = 0; c < s->r->n_comms; c++) {
        size_t n = alltoall_count(s->r, s->p, c);
        struct before before = {.rank = UINT32_MAX};
        struct jp_op op;

        for (size_t k = 0; k < n; k++)
            if (alltoall_get(s->r, s->p, c, k, &op)) {
                each(s, &op, ALLTOALL, &before);
                s->told++;
            }
    }
}

#define PARTS (OPS_SN | OPS_COUNTS | OPS_RANK | OPS_EXEC | OPS_DUMP_MIN)

/* Calls `each` for operations that identify a last rank. Returns 0, or -1 when
 * out of memory. */
static int walk(struct search *s, unsigned parts, each_op *each)
{
    struct ops_reader *reader = calloc(1, sizeof(*reader));
    struct before before = {.rank = UINT32_MAX};

    if (!reader)
        return -1;
    reader->ops = s->r->ops;
    ops_want(reader, parts);
    for (size_t i = 0; i < s->r->n_ops; i++) {
        const struct jp_op *op = ops_at(reader, i);
        unsigned f = func_of(s->r->coll_names[op->coll]);

        if (f < FUNCS && is_told(s, op) && is_whole(s, op->comm)) {
            each(s, op, f, &before);
            s->told++;
        }
    }
    free(reader);
    walk_alltoall(s, each);
    return 0;
}

/* Gives communicators of one shape the same number, and sums their tallies. */
static int classify(struct search *s)
{
    if (likes_number(s->r, likes_by_work, s->kind_of, &s->n_kinds) < 0)
        return -1;
    s->kinds = calloc(s->n_kinds * FUNCS + 1, sizeof(*s->kinds));
    for (size_t i = 0; s->kinds && i < s->r->n_ranks; i++)
        for (unsigned f = 0; f < FUNCS; f++) {
            struct kind *kind =
                &s->kinds[s->kind_of[s->r->ranks[i].comm] * FUNCS + f];
            const struct tally *t = tally_of(s, i, f);

            kind->ranks++;
            for (unsigned k = 0; k < TIMES; k++) {
                kind->times[k] += t->times[k];
                kind->us[k] += (double) t->us[k];
            }
        }
    return s->kinds ? 0 : -1;
}

/* Counts one hypothesis per rank of a kind and T, unless another T gives the
 * same. */
static void count_hypotheses(struct search *s)
{
    for (size_t i = 0; i < s->n_kinds * FUNCS; i++) {
        const struct kind *kind = &s->kinds[i];

        for (unsigned k = 0; k < TIMES; k++)
            if (kind->times[k] &&
                (k + 1 == TIMES || kind->times[k] != kind->times[k + 1]))
                s->tried += (double) kind->ranks;
    }
}

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
    for (size_t i = 0; i < s->r->n_ranks; i++) {
        if (s->lateness[i].grouped_us > 0)
            s->p2p_us[i] = s->lateness[i].grouped_us;
        s->spent_us[s->p->of_rank[i]] += s->p2p_us[i] +
                                         (double) s->r->ranks[i].exec_us;
    }
    compare(s);
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

/* Returns all waits of a rank in a communicator in which a rank is late: of two
 * equally late ranks, none is waited for alone. 0: none is late. */
static double waited_for_late(const struct search *s, size_t rank)
{
    size_t c = s->r->ranks[rank].comm;
    double least = INFINITY;
    bool late = false;

    for (size_t k = s->p->comm_start[c]; k < s->p->comm_start[c + 1]; k++) {
        least = fmin(least, s->lateness[k].grouped_us);
        late |= s->lateness[k].late || s->lateness[k].likely;
    }
    return late ? (double) s->r->ranks[rank].wait_us +
                      s->lateness[rank].grouped_us - least
                : 0;
}

/* Returns the time that the rank's process waited in its other communicators,
 * for stalls of others at least half as long, and for late ranks. */
static double waited_elsewhere(const struct search *s, size_t rank, unsigned k)
{
    const struct jp_process *who = &s->p->list[s->p->of_rank[rank]];
    unsigned least = k ? k - 1 : 0;
    double us = 0;

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t own = s->p->by_process[i], c = s->r->ranks[own].comm;

        if (own == rank || !is_whole(s, c))
            continue;
        us += waited_for_late(s, own);
        for (size_t m = s->p->comm_start[c]; m < s->p->comm_start[c + 1]; m++)
            for (unsigned f = 0; m != own && f < FUNCS; f++)
                us += (double) tally_of(s, m, f)->us[least];
    }
    return us;
}

/* Returns us as a share of its peers' time in communication. */
static double share_of(const struct search *s, size_t rank, double us)
{
    size_t c = s->r->ranks[rank].comm, n = 0;
    double usual;

    for (size_t k = s->p->comm_start[c]; k < s->p->comm_start[c + 1]; k++)
        if (k != rank)
            s->scratch[n++] = s->spent_us[s->p->of_rank[k]];
    usual = stats_median(s->scratch, n);
    return usual > 0 ? us / usual : 0;
}

/* Returns true if it stalls more often than its peers, not only in consecutive
 * operations, and most of the wait it causes comes from that. */
static bool is_odd(const struct search *s, size_t rank, unsigned f, unsigned k)
{
    const struct tally *t = tally_of(s, rank, f);
    const struct kind *kind =
        &s->kinds[s->kind_of[s->r->ranks[rank].comm] * FUNCS + f];
    unsigned half = k ? k - 1 : 0;
    double others = (double) (kind->times[half] - t->times[half]) /
                    (double) (kind->ranks - 1);

    return t->times[k] >= limits_get(JP_LIMIT_STALL_TIMES) &&
           t->ops[k] < limits_get(JP_LIMIT_STALL_ROW) * t->times[k] &&
           t->times[k] > limits_get(JP_LIMIT_STALL_MORE) * others &&
           t->us[k] > limits_get(JP_LIMIT_STALL_MOST) * t->all_us;
}

/* Returns the probability that one of all ranks is last so often if none stalls
 * more than others. */
static double chance_of(const struct search *s, size_t rank, unsigned f,
                        unsigned k)
{
    const struct kind *kind =
        &s->kinds[s->kind_of[s->r->ranks[rank].comm] * FUNCS + f];

    return s->tried * stats_binomial_tail(tally_of(s, rank, f)->times[k],
                                          kind->times[k],
                                          1 / (double) kind->ranks);
}

/* Returns true if its process spends that much time of its own in all
 * communicators together (late.h), or if ranks differ by as much anyway. */
static bool is_own(const struct search *s, size_t rank, double us)
{
    size_t kind = s->kind_of[s->r->ranks[rank].comm], n = 0;

    for (size_t i = 0; i < s->r->n_ranks; i++)
        if (s->kind_of[s->r->ranks[i].comm] == kind)
            s->scratch[n++] = s->excess[i];
    return us <
               limits_get(JP_LIMIT_STALL_CLEAR) * stats_spread(s->scratch, n) ||
           s->excess[rank] > limits_get(JP_LIMIT_STALL_MOST) * us;
}

/* Returns true if the time is the rank's own and long enough to report. */
static bool counts(const struct search *s, size_t rank, unsigned f, unsigned k)
{
    double us = (double) tally_of(s, rank, f)->us[k];

    return share_of(s, rank, us) > limits_get(JP_LIMIT_STALL_SHARE) &&
           waited_elsewhere(s, rank, k) <
               limits_get(JP_LIMIT_STALL_WAITED) * us &&
           waited_for_messages(s, rank) <
               limits_get(JP_LIMIT_STALL_WAITED) * us &&
           is_own(s, rank, us);
}

static int add_candidate(struct search *s, size_t rank, unsigned f, unsigned k,
                         double chance)
{
    const struct tally *t = tally_of(s, rank, f);
    struct candidate *more =
        reallocarray(s->found, s->n_found + 1, sizeof(*more));

    if (!more)
        return -1;
    s->found = more;
    more += s->n_found;
    *more = (struct candidate){.tally = rank * FUNCS + f, .k = k};
    more->room = t->ops[k];
    more->is = (struct jp_stall){.process = s->p->of_rank[rank],
                                 .rank = rank,
                                 .ops = f == ALLTOALL
                                            ? s->r->ranks[rank].n_kernels
                                            : s->r->ranks[rank].timed_ops,
                                 .sum_us = (double) t->us[k],
                                 .share = share_of(s, rank, (double) t->us[k]),
                                 .chance = chance,
                                 .from_us = NAN,
                                 .to_us = NAN,
                                 .every_us = NAN};
    more->events = calloc(more->room, sizeof(*more->events));
    s->n_found += more->events != NULL;
    return more->events ? 0 : -1;
}

/* Certain stalls first, then by length. */
static bool is_better(double chance, double us, double than, double than_us)
{
    bool sure = chance < limits_get(JP_LIMIT_STALL_CHANCE);
    bool than_sure = than < limits_get(JP_LIMIT_STALL_CHANCE);

    if (chance > limits_get(JP_LIMIT_STALL_DOUBT))
        return false;
    return sure != than_sure ? sure : us > than_us;
}

/* Finds, for each process, the communicator and function with the strongest
 * evidence, at the shortest T. Also keeps candidates whose regularity may still
 * add evidence. */
static int find_candidates(struct search *s)
{
    for (size_t p = 0; p < s->p->n; p++) {
        const struct jp_process *who = &s->p->list[p];
        size_t best = SIZE_MAX;
        unsigned best_f = 0, best_k = 0;
        double most = 0, chance = 1;

        for (size_t i = who->first * FUNCS; i < (who->first + who->n) * FUNCS;
             i++) {
            size_t rank = s->p->by_process[i / FUNCS];
            unsigned f = i % FUNCS;

            for (unsigned k = 0; k < TIMES; k++) {
                double us = (double) tally_of(s, rank, f)->us[k], own;

                if (!is_odd(s, rank, f, k))
                    continue;
                own = chance_of(s, rank, f, k);
                if (!is_better(own, us, chance, most) || !counts(s, rank, f, k))
                    continue;
                best = rank;
                best_f = f;
                best_k = k;
                most = us;
                chance = own;
            }
        }
        if (best != SIZE_MAX &&
            add_candidate(s, best, best_f, best_k, chance) < 0)
            return -1;
    }
    return 0;
}

static void collect(struct search *s, const struct jp_op *op, unsigned f,
                    struct before *before)
{
    size_t rank = s->p->comm_start[op->comm] + op->min_rank;
    uint64_t us;

    (void) before;
    if (op->min_rank == UINT32_MAX)
        return;
    us = alone_us(op, s->r->comms[op->comm].n_ranks);
    for (size_t i = 0; i < s->n_found; i++) {
        struct candidate *c = &s->found[i];

        if (c->tally == rank * FUNCS + f && over(us) > c->k && c->n < c->room)
            c->events[c->n++] = (struct event){
                .sn = op->sn,
                .us = (double) us,
                .at_us = (double) (op->n_start ? op->start_max_us
                                               : op->dump_min_us)};
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

    c->is.times = s->tallies[c->tally].times[c->k];
    for (size_t i = 0; i < c->n; i++) {
        scratch[i] = c->events[i].us;
        c->is.largest_us = fmax(c->is.largest_us, scratch[i]);
    }
    c->is.typical_us = stats_median(scratch, c->n);
    if (c->events[0].at_us > 0)
        c->is.from_us = c->events[0].at_us;
    if (c->events[c->n - 1].at_us > 0)
        c->is.to_us = c->events[c->n - 1].at_us;
    look_regular(c, scratch);
    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t rank = s->p->by_process[i];

        for (unsigned f = 0; f < FUNCS; f++)
            c->is.cost_us += (double) tally_of(s, rank, f)->us[c->k] *
                             (s->r->comms[s->r->ranks[rank].comm].n_ranks - 1);
    }
}

/* A rank that is late all along does not stall. A rank that is late only by
 * stalls is not late all along. */
static bool is_always_late(const struct search *s, const struct jp_stall *stall)
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
    for (size_t i = who->first; i < who->first + who->n; i++)
        s->lateness[s->p->by_process[i]].late = false;
    return false;
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
    const struct tally *all =
        tally_of(s, s->p->comm_start[comm], c->tally % FUNCS);

    return (double) (c->events[c->n - 1].sn - all->first_sn) <
           (double) all->of / limits_get(JP_LIMIT_WARMUP_PART);
}

static int keep(struct search *s, struct jp_stalls *stalls)
{
    stalls->at = calloc(s->n_found + 1, sizeof(*stalls->at));
    if (!stalls->at)
        return -1;
    for (size_t i = 0; i < s->n_found; i++) {
        struct candidate *c = &s->found[i];
        double *scratch = calloc(c->n + 1, sizeof(*scratch));

        if (!scratch)
            return -1;
        if (c->n)
            describe(s, c, scratch);
        free(scratch);
        if (c->n && c->is.chance < limits_get(JP_LIMIT_STALL_CHANCE) &&
            !is_of_each_step(&c->is) && !is_warmup(s, c) &&
            !is_always_late(s, &c->is))
            stalls->at[stalls->n++] = c->is;
    }
    return 0;
}

/* Returns the shortest stall that would have been reported, occurring as often
 * as the test requires for the ranks with the fewest likes. */
static double least_us(const struct search *s)
{
    double usual, times = limits_get(JP_LIMIT_STALL_TIMES);

    for (size_t i = 0; i < s->n_kinds * FUNCS; i++)
        if (s->kinds[i].ranks > 1)
            times = fmax(times, log(fmax(s->tried, 1) /
                                    limits_get(JP_LIMIT_STALL_CHANCE)) /
                                    log((double) s->kinds[i].ranks));
    memcpy(s->scratch, s->spent_us, s->p->n * sizeof(*s->spent_us));
    usual = stats_median(s->scratch, s->p->n);
    return fmax(limits_get(JP_LIMIT_STALL_US),
                limits_get(JP_LIMIT_STALL_SHARE) * usual / ceil(times));
}

static int search(struct search *s, struct jp_stalls *stalls)
{
    add_up(s);
    if (walk(s, PARTS, count) < 0 || classify(s) < 0)
        return -1;
    count_hypotheses(s);
    stalls->judged = s->told > 0;
    stalls->least_us = least_us(s);
    if (find_candidates(s) < 0)
        return -1;
    if (s->n_found && walk(s, PARTS | OPS_STARTS, collect) < 0)
        return -1;
    return keep(s, stalls);
}

int stalls_find(const struct jp_result *r, const struct jp_processes *p,
                struct jp_lateness *lateness, struct jp_stalls *stalls)
{
    struct search s = {.r = r, .p = p, .lateness = lateness};
    int rc = -1;

    *stalls = (struct jp_stalls){.least_us = NAN};
    if ((!r->n_ops && !r->kernels) || r->quality.waits_unknown || !p->known)
        return 0;
    s.tallies = calloc(r->n_ranks * FUNCS + 1, sizeof(*s.tallies));
    s.kind_of = calloc(r->n_comms + 1, sizeof(*s.kind_of));
    s.p2p_us = calloc(r->n_ranks + 1, sizeof(*s.p2p_us));
    s.spent_us = calloc(p->n + 1, sizeof(*s.spent_us));
    s.excess = calloc(r->n_ranks + 1, sizeof(*s.excess));
    s.scratch = calloc(r->n_ranks + p->n + 1, sizeof(*s.scratch));
    if (s.tallies && s.kind_of && s.p2p_us && s.spent_us && s.excess &&
        s.scratch)
        rc = search(&s, stalls);
    for (size_t i = 0; i < s.n_found; i++)
        free(s.found[i].events);
    free(s.found);
    free(s.tallies);
    free(s.kind_of);
    free(s.kinds);
    free(s.p2p_us);
    free(s.spent_us);
    free(s.excess);
    free(s.scratch);
    return rc;
}

void stalls_fini(struct jp_stalls *stalls)
{
    free(stalls->at);
    *stalls = (struct jp_stalls){0};
}

/* --- findings --- */

static int tell(const struct jp_result *r, const struct jp_processes *p,
                const struct jp_stall *stall, struct jp_findings *findings)
{
    const struct jp_process *who = &p->list[stall->process];
    const struct jp_rank *rank = &r->ranks[stall->rank];
    const struct jp_comm *comm = &r->comms[rank->comm];
    struct jp_finding *f = findings_add(findings, JP_FINDING_STALL);
    char when[80] = "at no regular distance", world[40] = "";

    if (!f)
        return -1;
    f->comm = (int64_t) rank->comm;
    f->rank = rank->rank;
    f->world_rank = who->world_rank;
    f->pid = who->pid;
    f->from_us = stall->from_us;
    f->to_us = stall->to_us;
    f->share = fmin(stall->share, 1);
    f->cost_us = stall->cost_us;
    finding_count(f, stall->typical_us, stall->times, stall->ops);
    snprintf(f->host, sizeof(f->host), "%s", who->host);
    if (stall->regular && isfinite(stall->every_us))
        snprintf(when, sizeof(when), "every %s operations (%s)",
                 FIG_COUNT(stall->every_ops), FIG_US(stall->every_us));
    else if (stall->regular)
        snprintf(when, sizeof(when), "every %s operations",
                 FIG_COUNT(stall->every_ops));
    if (who->world_rank >= 0 && comm->n_ranks < p->n)
        snprintf(world, sizeof(world), ", %lld of the job",
                 (long long) who->world_rank);
    snprintf(f->text, sizeof(f->text),
             "rank %u of %.40s%s (%.64s, pid %lld) stalled %s times, for %s "
             "(at most %s), %s; cost %s of GPU time, %s of communication",
             rank->rank,
             *comm->name && strcmp(comm->name, "unknown") ? comm->name
                                                          : comm->id,
             world, who->host, (long long) who->pid, FIG_COUNT(stall->times),
             FIG_US(stall->typical_us), FIG_US(stall->largest_us), when,
             FIG_US(f->cost_us), FIG_SHARE(f->share));
    snprintf(f->next, sizeof(f->next), "%s",
             stall->regular
                 ? "look at what that process does at such distances: a "
                   "checkpoint, an evaluation, a log, its data loader"
                 : "look at that process: garbage collection, data loading, "
                   "other work on its cores, a file system that stalls");
    return 0;
}

/* Answers whether ranks were last in as many operations as the test needs. */
static void answer(const struct jp_result *r, const struct jp_processes *p,
                   const struct jp_stalls *stalls, struct jp_hypotheses *h)
{
    const char *why = r->quality.waits_unknown
                          ? "too many records to add up waits in the memory "
                            "allowed"
                      : !p->known
                          ? "processes cannot be told apart by host and pid"
                          : "no operation in which ranks wait for each other "
                            "is complete";

    if (p->known && p->n == 1)
        hypothesis_set(h, JP_HYPOTHESIS_STALL, JP_HYPOTHESIS_NOT_FOUND, NAN,
                       "one process, for which nobody waits");
    else if (stalls->judged)
        hypothesis_set(h, JP_HYPOTHESIS_STALL, JP_HYPOTHESIS_NOT_FOUND,
                       stalls->least_us, NULL);
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
    return 0;
}
