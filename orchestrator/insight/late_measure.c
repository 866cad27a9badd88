/* late_measure.c - measure each rank's own excess against its peers.
 *
 * late_measure fills struct late in four steps:
 *  1. add_up: each process's time in communication, for each part of the run,
 *     over all its communicators (total).
 *  2. add_hidden: the least and most time in operations whose records do not
 *     show which rank waited (least, most).
 *  3. leave_out_stops, then measure: in each communicator
 *     the excess of a rank is the median of the other ranks' time less its own.
 *  4. count_last: how often each rank came last; hide_all: how much of an
 *     excess may not be lateness (hidden_us). */
#include "orchestrator/insight/late_measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/bandwidth.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/aggregate/pauses.h"
#include "orchestrator/insight/alltoall.h"
#include "orchestrator/insight/likes.h"
#include "orchestrator/insight/limits.h"
#include "common/stats.h"
#include "common/vector.h"

double late_worth(double run_us, double peers_us)
{
    double computes = run_us - peers_us;
    double cost = limits_get(JP_LIMIT_LATE_COST) * run_us;
    double slower = fmax(limits_get(JP_LIMIT_LATE_SLOWER) * computes,
                         limits_get(JP_LIMIT_LATE_LEAST) * run_us);

    return computes > limits_get(JP_LIMIT_LATE_COMPUTES) * run_us
               ? fmin(cost, slower)
               : cost;
}

/* --- the time in communication -------------------------------------------- */

/* Estimates the program's number of steps: the operations of that communicator
 * of the rank's process which has fewest. It may be a few times too large. */
static uint64_t steps_of(const struct late *l, size_t rank)
{
    const struct jp_process *who = &l->p->list[l->p->of_rank[rank]];
    uint64_t least = 0;

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t c = l->r->ranks[l->p->by_process[i]].comm;
        uint64_t ops = l->series->fewest[c];

        if (ops && l->r->comms[c].n_ranks > 1 && (!least || ops < least))
            least = ops;
    }
    return least;
}

/* Send and Recv of one rank; a row is one peer and direction. */
struct sums {
    double all, least, most; /* time in us: of all rows, the least, the most */
    size_t rows;
    uint64_t fewest, many; /* messages of the row that has fewest, and most */
    uint64_t count;        /* messages of all rows */
    bool self;             /* the rank sends to itself */
};

static void add_row(struct sums *sums, const struct jp_p2p *p)
{
    double us = (double) p->exec_us;

    sums->fewest = sums->rows && sums->fewest < p->count ? sums->fewest
                                                         : p->count;
    sums->many = sums->many > p->count ? sums->many : p->count;
    sums->count += p->count;
    sums->least = sums->rows ? fmin(sums->least, us) : us;
    sums->most = sums->rows ? fmax(sums->most, us) : us;
    sums->all += us;
    sums->rows++;
    sums->self |= p->src == p->dst;
}

/* True if the messages look like AlltoAll operations. An AlltoAll is a Send and
 * a Recv for each peer in one kernel, and each of them takes as long as the
 * kernel, so that adding them up would count the wait many times. With uneven
 * sizes some messages end earlier. */
static bool is_grouped(const struct sums *s, uint32_t n_ranks)
{
    if (n_ranks >= limits_get(JP_LIMIT_GROUPED_RANKS) &&
        s->rows >= 2 * (size_t) (n_ranks - 1))
        return (double) s->fewest >=
               limits_get(JP_LIMIT_GROUPED_ALIKE) * (double) s->many;
    /* An inner stage of a pipeline has as many rows as an AlltoAll of two. */
    return (s->self || s->rows > limits_get(JP_LIMIT_GROUPED_ROWS)) &&
           s->rows >= limits_get(JP_LIMIT_GROUPED_ROWS) &&
           s->fewest == s->many &&
           s->most <= limits_get(JP_LIMIT_GROUPED_BY) * s->least;
}

/* Adds a rank's time in `count` AlltoAll operations that are known one by one.
 */
static void add_kernels(struct late *l, size_t rank, size_t count)
{
    double us[JP_SLICES], *total = l->total + l->p->of_rank[rank] * JP_SLICES;

    alltoall_slices(&l->r->ranks[rank], count, steps_of(l, rank), us);
    for (unsigned i = 0; i < JP_SLICES; i++) {
        total[i] += us[i];
        l->grouped_us[rank] += isfinite(us[i]) ? us[i] : 0;
    }
    l->messages[l->p->of_rank[rank]] += l->grouped_us[rank];
}

/* Time in us of the rank's messages before number `message`, interpolated
 * between the sums that the result has for groups of messages. */
static double before_message(const struct jp_rank *rank, double message)
{
    double us = 0;

    for (uint32_t k = 0; k < rank->n_message_us; k++) {
        double from = (double) k * (double) rank->part_messages;
        double to = fmin(from + (double) rank->part_messages,
                         (double) rank->last_message);

        if (message >= to)
            us += rank->message_us[k];
        else if (message > from)
            us += rank->message_us[k] * (message - from) / (to - from);
    }
    return us;
}

/* Fills the share of a rank's time in messages that belongs to each part of the
 * run. Parts are cut at the same steps of the program as those of collectives.
 * Returns false if this is unknown, because the messages have no numbers or too
 * few of them have records. */
static bool messages_parts(const struct late *l, size_t rank,
                           double share[JP_SLICES])
{
    const struct jp_rank *x = &l->r->ranks[rank];
    double all, last = (double) x->last_message, before = 0;
    uint64_t steps = steps_of(l, rank);

    if (!x->n_message_us || x->last_message < JP_SLICES ||
        (double) x->p2p_records < limits_get(JP_LIMIT_GROUPED_WHOLE) * last)
        return false;
    all = before_message(x, last);
    for (unsigned s = 0; s < JP_SLICES && all > 0; s++) {
        double end = steps < JP_SLICES
                         ? last * (s + 1) / JP_SLICES
                         : last * (double) (steps * (s + 1) / JP_SLICES) /
                               (double) steps;
        double us = before_message(x, end);

        share[s] = (us - before) / all;
        before = us;
    }
    return all > 0;
}

/* Adds a rank's time in messages to that of its process. */
static void add_time(struct late *l, size_t rank, const struct sums *s)
{
    double *total = l->total + l->p->of_rank[rank] * JP_SLICES, us = s->all;
    double share[JP_SLICES];
    bool known = !l->evenly && messages_parts(l, rank, share);

    l->numbered |= known;
    if (is_grouped(s, l->r->comms[l->r->ranks[rank].comm].n_ranks)) {
        /* one message in place of all that wait in the same kernel */
        us *= (double) s->many / (double) s->count;
        l->grouped_us[rank] = us;
    }
    l->messages[l->p->of_rank[rank]] += us;
    for (unsigned i = 0; i < JP_SLICES; i++)
        total[i] += known ? us * share[i] : us / JP_SLICES;
}

/* Adds the time of Send and Recv to total. Without sequence numbers it is known
 * for the run as a whole only. 0, or -1 without memory. */
static int add_p2p(struct late *l)
{
    struct sums *sums = calloc(l->r->n_ranks + 1, sizeof(*sums));

    if (!sums)
        return -1;
    for (size_t i = 0; i < l->r->n_p2p; i++) {
        const struct jp_p2p *p = &l->r->p2p[i];
        size_t rank = processes_rank(l->p, l->r, p->comm,
                                     strcmp(p->func, "Send") ? p->dst : p->src);

        if (rank != SIZE_MAX)
            add_row(&sums[rank], p);
    }
    for (size_t c = 0; c < l->r->n_comms; c++) {
        l->kernels[c] = alltoall_count(l->r, l->p, c);
        for (size_t i = l->p->comm_start[c]; i < l->p->comm_start[c + 1]; i++)
            if (l->kernels[c])
                add_kernels(l, i, l->kernels[c]);
            else if (sums[i].count)
                add_time(l, i, &sums[i]);
    }
    free(sums);
    return 0;
}

/* Raises grouped_late of the communicator's processes: who spends less time in
 * AlltoAll than the median comes later to it by the difference. */
static void find_latest(struct late *l, size_t c)
{
    size_t from = l->p->comm_start[c], n = l->p->comm_start[c + 1] - from;
    double usual;

    for (size_t i = 0; i < n; i++)
        l->scratch[i] = l->grouped_us[from + i];
    usual = stats_median(l->scratch, n);
    for (size_t i = from; i < from + n; i++) {
        double *late = &l->grouped_late[l->p->of_rank[i]];

        *late = fmax(*late, usual - l->grouped_us[i]);
    }
}

/* Network time in us of the communicator's AlltoAll operations: the time of the
 * rank that arrived last, which did not wait. */
static double kernels_net(const struct late *l, size_t c)
{
    double us = 0;
    struct jp_op op;

    for (size_t k = 0; k < l->kernels[c]; k++)
        if (alltoall_get(l->r, l->p, c, k, &op))
            us += (double) op.exec_min_us;
    return us;
}

/* Fills net and grouped_net: each process's time in communication without
 * waiting. */
static void add_net(struct late *l)
{
    for (size_t c = 0; c < l->r->n_comms; c++) {
        size_t from = l->p->comm_start[c], to = l->p->comm_start[c + 1];
        double least = INFINITY;

        for (size_t i = from; i < to; i++)
            least = fmin(least, l->grouped_us[i]);
        if (l->kernels[c]) {
            least = kernels_net(l, c);
            find_latest(l, c);
        }
        for (size_t i = from; i < to; i++) {
            /* AlltoAll operations known one by one have a known network time;
             * only that of the others is an estimate */
            l->grouped_net[l->p->of_rank[i]] += l->kernels[c] ? 0 : least;
            l->net[l->p->of_rank[i]] += least +
                                        (double) l->r->ranks[i].exec_us -
                                        (double) l->r->ranks[i].wait_us;
        }
    }
}

/* Fills total, net and what belongs to them. 0, or -1 without memory. */
static int add_up(struct late *l)
{
    for (size_t i = 0; i < l->r->n_ranks; i++) {
        double *total = l->total + l->p->of_rank[i] * JP_SLICES;

        for (unsigned s = 0; s < JP_SLICES; s++)
            total[s] += (double) l->r->ranks[i].slice_us[s];
    }
    if (add_p2p(l) < 0)
        return -1;
    add_net(l);
    return 0;
}

/* --- how much of an excess may be no lateness ----------------------------- */

/* Times in us of the operations of one communicator and function: of the rank
 * that took least, and of the one that took most. */
struct times {
    double *least, *most;
    size_t n, room;
};

/* Appends an operation. 0, or -1 without memory. */
static int add_op_time(struct times *t, const struct jp_op *op)
{
    if (t->n == t->room) {
        size_t room = t->room ? 2 * t->room : 1024;

        if (vector_resize(&t->least, room, sizeof(*t->least)) < 0 ||
            vector_resize(&t->most, room, sizeof(*t->most)) < 0)
            return -1;
        t->room = room;
    }
    t->least[t->n] = (double) op->exec_min_us;
    t->most[t->n++] = (double) op->exec_max_us;
    return 0;
}

/* Adds to each process of the communicator the time that it spent at least and
 * at most in these operations, and clears them. A few operations show no mean.
 */
static void share_out(struct late *l, size_t comm, struct times *t)
{
    double n = (double) t->n, least, most;

    if (t->n >= limits_get(JP_LIMIT_HIDDEN_OPS)) {
        least = n * stats_trim(t->least, t->n).mean;
        most = n * stats_trim(t->most, t->n).mean;
        for (size_t i = l->p->comm_start[comm]; i < l->p->comm_start[comm + 1];
             i++) {
            l->least[l->p->of_rank[i]] += least;
            l->most[l->p->of_rank[i]] += most;
        }
    }
    t->n = 0;
}

/* Fills least and most by operations that are no barriers (Broadcast, Reduce):
 * of these only the shortest and the longest time of any rank is kept. Sorted
 * by communicator and function, as operations are. 0, or -1 without memory. */
static int add_hidden(struct late *l)
{
    struct ops_reader *reader = calloc(1, sizeof(*reader));
    struct times times = {0};
    uint32_t comm = 0, coll = 0;
    bool hides = false;
    int rc = reader ? 0 : -1;

    for (size_t i = 0; i < l->r->n_coll_names; i++)
        hides |= !collective_is_barrier(l->r->coll_names[i]);
    if (reader) {
        reader->ops = l->r->ops;
        ops_want(reader, OPS_COUNTS | OPS_EXEC);
    }
    for (size_t i = 0; rc == 0 && hides && i < l->r->n_ops; i++) {
        const struct jp_op *op = ops_at(reader, i);

        if (times.n && (op->comm != comm || op->coll != coll))
            share_out(l, comm, &times);
        comm = op->comm;
        coll = op->coll;
        if (l->r->comms[comm].n_ranks > 1 && op->n_exec &&
            !collective_is_barrier(l->r->coll_names[coll]))
            rc = add_op_time(&times, op);
    }
    if (times.n)
        share_out(l, comm, &times);
    free(times.least);
    free(times.most);
    free(reader);
    return rc;
}

/* The excess of process q in a communicator of the same size and name as c; NAN
 * if it is not judged there. */
static double excess_in(const struct late *l, size_t q, size_t c)
{
    const struct jp_process *who = &l->p->list[q];
    const struct jp_comm *like = &l->r->comms[c];

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t rank = l->p->by_process[i];
        const struct jp_comm *comm = &l->r->comms[l->r->ranks[rank].comm];

        if (l->out[rank].judged && comm->n_ranks == like->n_ranks &&
            !strcmp(comm->name, like->name))
            return l->out[rank].excess_us;
    }
    return NAN;
}

/* The most of a rank's excess, in us, that a slower network in its other
 * communicators may cause if they run at the same time as this one. `surplus`:
 * by how much its network time is above the median. The ranks of those other
 * communicators share that network, so it causes about the same excess for
 * them: if theirs is small, so is what the network explains of this one. */
static double overlap_of(const struct late *l, size_t rank, double surplus)
{
    size_t process = l->p->of_rank[rank], home = l->r->ranks[rank].comm;
    const struct jp_process *who = &l->p->list[process];
    double most = limits_get(JP_LIMIT_HIDDEN_OVERLAP) * surplus;

    if (surplus <= 0 || l->out[rank].excess_us > most ||
        l->out[rank].excess_us <
            limits_get(JP_LIMIT_LATE_SHARE) * l->out[rank].peers_us)
        return most;
    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t own = l->p->by_process[i], c = l->r->ranks[own].comm;

        if (c == home || (!l->out[own].judged && !l->kernels[c]))
            continue;
        for (size_t k = l->p->comm_start[c]; k < l->p->comm_start[c + 1]; k++) {
            size_t q = l->p->of_rank[k];
            double excess = excess_in(l, q, home);

            if (l->net[process] - l->net[q] <
                    (1 - limits_get(JP_LIMIT_HIDDEN_LIKE)) * surplus &&
                isfinite(excess))
                most = fmin(most, limits_get(JP_LIMIT_HIDDEN_DOUBT) *
                                      fmax(excess, 0));
        }
    }
    return most;
}

/* How much of a rank's excess may be its clock's alone, if a CPU took its
 * times: a little for each, and up to all of its peers' time, `longest_us`, for
 * those that began at the call. */
static double by_clock(const struct jp_rank *rank, double longest_us)
{
    double share =
        rank->records ? (double) rank->call_cpu / (double) rank->records : 0;

    return (double) rank->kernel_cpu * limits_get(JP_LIMIT_HIDDEN_CLOCK) +
           share * longest_us;
}

/* Fills hidden_us of a communicator's ranks: how much of an excess
 * may be something else than lateness. It is the largest of
 *  - the most that the rank may have waited in operations that are no barriers,
 *    less the least that any rank waited there;
 *  - for AlltoAll over a slower network, by how much the longest messages may
 *    exceed the mean, which is all that is known of them;
 *  - what overlap makes of a longer network time (overlap_of).
 * What a CPU's clock may add comes on top. */
static void hide(struct late *l, size_t c)
{
    size_t from = l->p->comm_start[c], to = l->p->comm_start[c + 1];
    double least = INFINITY, grouped = INFINITY, longest = 0, usual;

    for (size_t i = from; i < to; i++)
        longest = fmax(longest, (double) l->r->ranks[i].exec_us);
    for (size_t i = from; i < to; i++)
        l->scratch[i - from] = l->net[l->p->of_rank[i]];
    usual = stats_median(l->scratch, to - from);
    for (size_t i = from; i < to; i++) {
        least = fmin(least, l->least[l->p->of_rank[i]]);
        grouped = fmin(grouped, l->grouped_net[l->p->of_rank[i]]);
    }
    for (size_t i = from; i < to; i++) {
        size_t process = l->p->of_rank[i];

        double unseen = fmax(l->most[process] - least,
                             limits_get(JP_LIMIT_HIDDEN_UNEVEN) *
                                 (l->grouped_net[process] - grouped));
        l->out[i].hidden_us =
            fmax(unseen, overlap_of(l, i, l->net[process] - usual)) +
            by_clock(&l->r->ranks[i], longest);
    }
}

static void hide_all(struct late *l)
{
    for (size_t c = 0; c < l->r->n_comms; c++)
        if (l->p->comm_start[c] < l->p->comm_start[c + 1] &&
            l->out[l->p->comm_start[c]].judged)
            hide(l, c);
}

/* --- stops that come now and then, left out ------------------------------- */

/* By how many us the rank came later to single operations, over the run. */
static double stalled_sum(const struct jp_rank *x)
{
    double us = 0;

    for (unsigned s = 0; s < JP_SLICES; s++)
        us += isfinite(x->stalled_us[s]) ? (double) x->stalled_us[s] : 0;
    return us;
}

/* True if so many stops are few for the rank's number of operations. */
static bool is_rare(const struct jp_rank *x, double stops)
{
    return stops <= limits_get(JP_LIMIT_STALL_RARE) * (double) x->timed_ops;
}

/* The rank of the process in whose communicator its own stops show. In most
 * communicators ranks also pass on what they have waited for elsewhere, so it
 * is the one of the shape in which ranks come far later most rarely.
 * Communicators of all processes are the last choice: there all ranks arrive
 * together. Returns SIZE_MAX if no communicator is better than the others.
 * `often` is from count_often. */
static size_t home_of(const struct late *l, const struct jp_process *who,
                      const double *often)
{
    size_t home = SIZE_MAX, whole = SIZE_MAX, n = 0;
    uint64_t ops = 0, kernels = 0;
    double least = INFINITY, next = INFINITY;
    bool messages = false;

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t at = l->p->by_process[i];
        const struct jp_rank *x = &l->r->ranks[at];
        uint32_t n_ranks = l->r->comms[x->comm].n_ranks;
        double own = often[l->class_of[x->comm]];

        if (l->kernels[x->comm] > kernels)
            kernels = l->kernels[x->comm];
        messages |= x->p2p_records && !(l->grouped_us[at] > 0);
        if (n_ranks < 2 || !x->stalled_us || !x->timed_ops)
            continue;
        ops = x->timed_ops > ops ? x->timed_ops : ops;
        if (n_ranks == l->p->n) {
            if (whole == SIZE_MAX ||
                x->stalled_ops > l->r->ranks[whole].stalled_ops)
                whole = at;
            continue;
        }
        n++;
        next = fmin(next, fmax(own, least));
        if (own < least) {
            least = own;
            home = at;
        }
    }
    /* Waits in AlltoAll are passed on everywhere, and so are waits for messages
     * if no other rank of a group gets the same ones. */
    if (kernels > ops || (messages && n < 2) ||
        next < limits_get(JP_LIMIT_LATE_STALL_OTHERS) * least)
        return SIZE_MAX;
    return home == SIZE_MAX ? whole : home;
}

/* For each class, the mean number of operations to which its ranks come far
 * later. The second `classes` values are the means over the ranks for which
 * this is rare (NAN if there are none). Caller frees; NULL without memory. */
static double *count_often(const struct late *l)
{
    size_t n = l->classes;
    double *often = calloc(4 * n + 1, sizeof(*often));

    for (size_t i = 0; often && i < l->r->n_ranks; i++) {
        const struct jp_rank *x = &l->r->ranks[i];
        double *of = often + l->class_of[x->comm];

        for (int k = 0; k <= is_rare(x, (double) x->stalled_ops); k++) {
            of[k * n] += (double) x->stalled_ops;
            of[(2 + k) * n]++;
        }
    }
    for (size_t k = 0; often && k < 2 * n; k++)
        often[k] /= often[2 * n + k];
    return often;
}

/* By how many us the rank comes later to an operation on average, without the
 * stops; at least 0. */
static double usual_late(struct late *l, size_t rank, double stalled_us)
{
    const struct jp_rank *x = &l->r->ranks[rank];
    size_t from = l->p->comm_start[x->comm], n = 0;
    double late;

    for (size_t k = from; k < l->p->comm_start[x->comm + 1]; k++)
        if (k != rank)
            l->scratch[n++] = (double) l->r->ranks[k].exec_us;
    late = stats_median(l->scratch, n) - (double) x->exec_us - stalled_us;
    return fmax(0, late) / (double) (x->timed_ops - x->stalled_ops);
}

/* True if the "stops" are lateness with an onset: every part from one on has
 * some, and more parts before it have none than n random stops would leave
 * empty. A part stays empty with probability (1 - 1 / parts)^n; the number of
 * empty parts is tested by the exact binomial test, times the number of
 * processes. The first part does not count, because programs warm up in it. */
static bool is_late_since(const struct late *l, const struct jp_rank *x)
{
    double all = stalled_sum(x), first = (double) x->stalled_us[0], stops;
    unsigned none = 0, s = 1;

    while (s < JP_SLICES && !(x->stalled_us[s] > 0))
        s++;
    none = s - 1;
    while (s < JP_SLICES && x->stalled_us[s] > 0)
        s++;
    if (s < JP_SLICES || !(all > 0))
        return false;
    stops = (double) x->stalled_ops * (1 - (isfinite(first) ? first / all : 0));
    return (double) l->p->n *
               stats_binomial_tail(none, JP_SLICES - 1,
                                   pow(1 - 1.0 / (JP_SLICES - 1), stops)) <
           limits_get(JP_LIMIT_LATE_CHANCE);
}

/* Removes rare stops from total. A stop that may hit any rank, such as a wait
 * for samples, moves the sums over parts of the run by more than the lateness
 * that is looked for. The time by which a process came later to a few
 * operations is added to its time in communication, as if it had waited. 0, or
 * -1 without memory. */
static int leave_out_stops(struct late *l)
{
    double *often = count_often(l);

    for (size_t p = 0; often && p < l->p->n; p++) {
        size_t home = home_of(l, &l->p->list[p], often);
        const struct jp_rank *x = home == SIZE_MAX ? NULL : &l->r->ranks[home];
        double all, usual, most;

        /* The factor 2 keeps a margin: if stops are rare by far in this class,
         * no rank has too many by chance alone. */
        if (!x || !x->stalled_ops || !is_rare(x, (double) x->stalled_ops) ||
            !is_rare(x, 2 * often[l->classes + l->class_of[x->comm]]) ||
            is_late_since(l, x))
            continue;
        all = stalled_sum(x);
        usual = usual_late(l, home, all) * (double) x->stalled_ops;
        if (!(all > limits_get(JP_LIMIT_LATE_STALL) * usual))
            continue;
        /* The most that counts as stops in one part. A rank that is late in
         * many operations of a part is late for a time, which must stay
         * visible. */
        most = all / (double) x->stalled_ops *
               fmax(2, fmin(limits_get(JP_LIMIT_LATE_STALL_PART) *
                                (double) x->timed_ops,
                            limits_get(JP_LIMIT_LATE_STALL_STEPS) *
                                (double) steps_of(l, home)) /
                           JP_SLICES);
        /* Part 0 is left as it is: programs warm up in it, so the trimmed mean
         * usually leaves it out. */
        for (unsigned s = 1; s < JP_SLICES; s++)
            if ((double) x->stalled_us[s] <= most)
                l->total[p * JP_SLICES + s] += (double) x->stalled_us[s] *
                                               (1 - usual / all);
    }
    free(often);
    return often ? 0 : -1;
}

/* --- measure each rank's own excess against its peers --------------------- */

/* The rank's time in operations without waiting, in us. The long waits at the
 * start of a program say nothing about how long it ran. */
static double net_us(const struct jp_rank *rank)
{
    return (double) rank->exec_us - (double) rank->wait_us;
}

/* True if communicators with fewer than `least` operations have much of the
 * process's network time: then the run was short. */
static bool is_thin(const struct late *l, const struct jp_process *who,
                    double least)
{
    double all = 0, few = 0;

    for (size_t i = who->first; i < who->first + who->n; i++) {
        const struct jp_rank *rank = &l->r->ranks[l->p->by_process[i]];

        if (l->r->comms[rank->comm].n_ranks < 2)
            continue;
        all += net_us(rank);
        if ((double) l->series->fewest[rank->comm] < least)
            few += net_us(rank);
    }
    return few > limits_get(JP_LIMIT_LATE_WEIGHT) * all;
}

/* The number of operations with which a late rank can be proved at all. If a
 * rank of n_ranks comes last in all k operations, the exact binomial test gives
 * n_ranks^-k, times the number of ranks tried; with a smaller k nobody could
 * ever be named. At least as many as the parts of the run that a mean and its
 * error need. */
static uint64_t fewest_to_prove(uint32_t n_ranks, size_t tried)
{
    double parts = limits_get(JP_LIMIT_LATE_SLICES), chance;

    if (n_ranks < 2)
        return UINT64_MAX;
    chance = limits_get(JP_LIMIT_LATE_CHANCE) / (double) tried;
    return (uint64_t) ceil(fmax(parts, -log(chance) / log(n_ranks)));
}

/* The operations of that function of the communicator which has fewest. */
static uint64_t fewest_of(const struct late *l, size_t c)
{
    return l->only_kernels ? l->kernels[c] : l->series->fewest[c];
}

/* True if all messages between any two ranks of the communicator have about one
 * size. If not, the time of a rank in an AlltoAll depends on its messages. */
static bool is_even(const struct late *l, size_t c)
{
    double least = INFINITY, most = 0;

    for (size_t i = 0; i < l->r->n_p2p; i++) {
        const struct jp_p2p *x = &l->r->p2p[i];
        double bytes = x->comm == c && x->count
                           ? (double) x->bytes / (double) x->count
                           : NAN;

        least = fmin(least, bytes);
        most = fmax(most, bytes);
    }
    return most <= limits_get(JP_LIMIT_GROUPED_BY) * least;
}

/* Finds out whether the job has AlltoAlls of Send and Recv alone, and of even
 * sizes. */
static void find_kernels(struct late *l)
{
    bool any = false;

    for (size_t c = 0; c < l->r->n_comms; c++) {
        if (l->r->comms[c].n_ranks > 1 && l->series->fewest[c])
            return;
        if (l->kernels[c] && !is_even(l, c))
            return;
        any |= l->kernels[c] > 0;
    }
    l->only_kernels = any;
    for (size_t i = 0; any && i < l->r->n_ranks; i++)
        l->out[i].fewest = l->kernels[l->r->ranks[i].comm];
}

/* True if the communicator can be judged: all its ranks are known, it has
 * enough operations, and the processes ran for long enough. */
static bool is_usable(const struct late *l, size_t c)
{
    const struct jp_comm *comm = &l->r->comms[c];
    size_t from = l->p->comm_start[c], to = l->p->comm_start[c + 1];

    if (comm->n_ranks < 2 || to - from != comm->n_ranks ||
        fewest_of(l, c) < fewest_to_prove(comm->n_ranks, l->r->n_ranks))
        return false;
    for (size_t i = from; i < to; i++)
        if (is_thin(l, &l->p->list[l->p->of_rank[i]],
                    limits_get(JP_LIMIT_LATE_SLICES)))
            return false;
    return true;
}

/* True if the run is so short that the scatter of its parts says little about
 * errors: the exact test is required then, and parts are taken in pairs. */
static bool is_short(const struct late *l, size_t c)
{
    double least = limits_get(JP_LIMIT_LATE_OPS);

    if ((double) fewest_of(l, c) < least)
        return true;
    for (size_t i = l->p->comm_start[c]; i < l->p->comm_start[c + 1]; i++)
        if (is_thin(l, &l->p->list[l->p->of_rank[i]], least))
            return true;
    return false;
}

/* Fills diff with the median of the other n - 1 values less the own one. If two
 * values are in the middle, the median is their mean, or with `lower` the lower
 * one: then one of three ranks that waits for long makes nobody late. `sorted`
 * is scratch space for n values, and has them sorted afterwards. */
static void against_others(double *v, size_t n, bool lower, double *sorted,
                           double *diff)
{
    size_t half = (n - 2) / 2; /* of n - 1 others */

    memcpy(sorted, v, n * sizeof(*v));
    stats_sort(sorted, n);
    for (size_t i = 0; i < n; i++) {
        /* leaving out v[i] moves all larger values one place down */
        size_t low = v[i] <= sorted[half] ? half + 1 : half, high = low;

        if ((n - 1) % 2 == 0 && !lower)
            high = v[i] <= sorted[half + 1] ? half + 2 : half + 1;
        diff[i] = (sorted[low] + sorted[high]) / 2 - v[i];
    }
}

/* The sum of n = 1 or 2 parts. Parts are paired if each has only an operation
 * or two. */
static double sum_of(const double *parts, unsigned n)
{
    return n == 2 ? parts[0] + parts[1] : parts[0];
}

/* Fills the rank's time in the communicator's operations in each part of the
 * run. */
static void own_parts(const struct late *l, size_t rank, double us[JP_SLICES])
{
    const struct jp_rank *x = &l->r->ranks[rank];

    if (l->only_kernels)
        alltoall_slices(x, l->kernels[x->comm], steps_of(l, rank), us);
    else
        for (unsigned s = 0; s < JP_SLICES; s++)
            us[s] = (double) x->slice_us[s];
}

/* Compares a communicator's ranks in each part of the run. Fills excess and
 * arrival ([member][kept part]), the median time in communication (peers), and
 * which part each kept one is. Parts that some rank lacks are left out. Returns
 * the number of kept parts. */
static unsigned compare_ranks_of(struct late *l, size_t c, double *excess,
                                 double *arrival, double *peers,
                                 unsigned *which)
{
    double own[JP_SLICES];
    size_t from = l->p->comm_start[c], n = l->p->comm_start[c + 1] - from;
    double *v = l->scratch, *sorted = v + n, *diff = sorted + n;
    unsigned kept = 0, step = l->short_run[c] ? 2 : 1;

    for (unsigned s = 0; s < JP_SLICES; s += step) {
        bool whole = true;

        for (size_t i = 0; i < n; i++) {
            v[i] = sum_of(l->total + l->p->of_rank[from + i] * JP_SLICES + s,
                          step);
            whole &= isfinite(v[i]) != 0;
        }
        if (!whole)
            continue;
        against_others(v, n, true, sorted, diff);
        peers[kept] = sorted[n / 2];
        for (size_t i = 0; i < n; i++) {
            excess[i * JP_SLICES + kept] = diff[i];
            own_parts(l, from + i, own);
            v[i] = sum_of(own + s, step);
        }
        against_others(v, n, false, sorted, diff);
        for (size_t i = 0; i < n; i++)
            arrival[i * JP_SLICES + kept] = diff[i];
        which[kept++] = s;
    }
    return kept;
}

/* Sums up the kept parts of one rank: trimmed means and their error, scaled to
 * the whole run. */
static void sum_up(struct jp_lateness *out, float *parts, double *excess,
                   double *arrival, const unsigned *which, unsigned kept,
                   unsigned step)
{
    struct stats_trimmed e, a;
    double all = JP_SLICES / (double) step;

    for (unsigned s = 0; s < JP_SLICES; s++)
        out->parts_us[s] = parts[s] = NAN;
    for (unsigned k = 0; k < kept; k++)
        for (unsigned s = which[k]; s < which[k] + step; s++) {
            out->parts_us[s] = (float) (arrival[k] / step);
            parts[s] = (float) (excess[k] / step);
        }
    e = stats_trim(excess, kept);
    a = stats_trim(arrival, kept);
    out->judged = true;
    out->excess_us = e.mean * all;
    out->error_us = e.error * all;
    out->arrival_us = a.mean * all;
}

/* Fills ahead_us. Waits for a late rank travel on through a pipeline or an
 * AlltoAll, so that most ranks may arrive late. Comparing with the earliest
 * quarter shows the late one even then. */
static void compare_earliest(struct late *l, size_t c)
{
    size_t from = l->p->comm_start[c], n = l->p->comm_start[c + 1] - from;

    for (size_t i = 0; i < n; i++)
        l->scratch[i] = l->out[from + i].arrival_us;
    stats_sort(l->scratch, n);
    for (size_t i = from; i < from + n; i++)
        l->out[i].ahead_us = l->out[i].arrival_us - l->scratch[n / 4];
}

/* Mean of the parts of the run. The first part counts at most as the mean of
 * the others, because programs warm up in it. */
static double mean_of(const double *parts, const unsigned *which, unsigned kept)
{
    bool first = kept > 1 && which[0] == 0;
    double others = stats_mean(parts, first, kept);

    if (!first)
        return others;
    return (others * (kept - 1) + fmin(parts[0], others)) / kept;
}

/* Of the parts of a short run, which are taken in pairs, a fifth may be
 * missing: the end of a job that is cancelled lacks some ranks. The exact test
 * is required besides. */
#define PAIRS_LEFT 0.8

/* Measures the ranks of communicator c. 0, or -1 without memory. */
static int measure(struct late *l, size_t c)
{
    size_t from = l->p->comm_start[c], n = l->p->comm_start[c + 1] - from;
    double *excess = calloc(n * JP_SLICES, sizeof(*excess));
    double *arrival = calloc(n * JP_SLICES, sizeof(*arrival));
    double peers[JP_SLICES], usual, mean;
    unsigned kept, which[JP_SLICES], step = l->short_run[c] ? 2 : 1;
    double enough = limits_get(JP_LIMIT_LATE_SLICES) *
                    (step == 2 ? PAIRS_LEFT : 1);

    if (!excess || !arrival) {
        free(excess);
        free(arrival);
        return -1;
    }
    kept = compare_ranks_of(l, c, excess, arrival, peers, which);
    mean = mean_of(peers, which, kept) * JP_SLICES / step;
    usual = stats_median(peers, kept) * JP_SLICES / step;
    for (size_t i = 0; i < n && kept >= enough; i++) {
        sum_up(&l->out[from + i], l->parts + (from + i) * JP_SLICES,
               excess + i * JP_SLICES, arrival + i * JP_SLICES, which, kept,
               step);
        l->out[from + i].peers_us = usual;
        l->out[from + i].peers_mean_us = mean;
    }
    compare_earliest(l, c);
    free(excess);
    free(arrival);
    return 0;
}

/* --- who is the last one? ------------------------------------------------- */

/* Index into last and of. */
static size_t slot(const struct late *l, size_t rank, size_t coll)
{
    return rank * (l->r->n_coll_names + 1) + coll;
}

/* Counts the same for AlltoAlls of Send and Recv. */
static void count_kernels(struct late *l, size_t c)
{
    size_t from = l->p->comm_start[c];
    struct jp_op op;

    for (size_t k = 0; k < l->kernels[c]; k++) {
        if (!alltoall_get(l->r, l->p, c, k, &op))
            continue;
        l->of[slot(l, from, l->r->n_coll_names)]++;
        if (op.min_rank < op.n)
            l->last[slot(l, from + op.min_rank, l->r->n_coll_names)]++;
    }
}

/* Counts for each rank and function the complete operations in which it came
 * last: it has the shortest time. Fills ops: parts of the run are scaled up to
 * all operations, so arrival_us is the sum of incomplete ones, too. 0, or -1
 * without memory. */
static int count_last(struct late *l)
{
    struct ops_reader *reader = calloc(1, sizeof(*reader));
    size_t n = l->r->n_ranks * (l->r->n_coll_names + 1);

    l->last = calloc(n + 1, sizeof(*l->last));
    l->of = calloc(n + 1, sizeof(*l->of));
    if (!reader || !l->last || !l->of) {
        free(reader);
        return -1;
    }
    reader->ops = l->r->ops;
    ops_want(reader, OPS_COUNTS | OPS_RANK);
    for (size_t i = 0; i < l->r->n_ops; i++) {
        const struct jp_op *op = ops_at(reader, i);
        uint32_t ranks = l->r->comms[op->comm].n_ranks;
        size_t from = l->p->comm_start[op->comm];

        if (l->p->comm_start[op->comm + 1] - from != ranks ||
            !collective_is_barrier(l->r->coll_names[op->coll]))
            continue;
        l->out[from].ops++; /* of all its members, as in struct late's of */
        if (op->n != ranks || op->n_exec != ranks)
            continue;
        l->of[slot(l, from, op->coll)]++; /* kept once, at the first rank */
        if (op->min_rank < ranks)
            l->last[slot(l, from + op->min_rank, op->coll)]++;
    }
    free(reader);
    for (size_t c = 0; c < l->r->n_comms; c++) {
        size_t from = l->p->comm_start[c], to = l->p->comm_start[c + 1];

        if (l->only_kernels)
            count_kernels(l, c);
        if (from < to && !(l->out[from].ops > 0))
            l->out[from].ops = (double) l->kernels[c];
        for (size_t i = from; i < to; i++) {
            l->out[i].ops = l->out[from].ops;
            l->out[i].told_us = l->out[i].arrival_us;
        }
    }
    return 0;
}

/* Returns in how many of n operations a rank must come last, to rule out
 * chance; n + 1: not even all of them are enough. */
static size_t last_to_prove(const struct late *l, size_t comm, size_t n)
{
    double most = limits_get(JP_LIMIT_LATE_CHANCE) / (double) l->r->n_ranks;
    size_t k = 0;

    while (k <= n && stats_binomial_tail(
                         k, n, 1 / (double) l->r->comms[comm].n_ranks) >= most)
        k++;
    return k;
}

/* Raises proof_us by one function's operations. wait_us: of each, how long its
 * other ranks waited for the last one, at the mean. A rank that comes later to
 * all operations by d is the last one in those with shorter waits. */
static void prove(struct late *l, size_t comm, double *wait_us, size_t n)
{
    size_t least = n ? last_to_prove(l, comm, n) : 0;
    double us;

    if (!least)
        return;
    stats_sort(wait_us, n);
    us = least > n ? INFINITY : wait_us[least - 1] * (double) n;
    l->proof_us[comm] = fmax(l->proof_us[comm], us);
}

/* Returns what an operation's other ranks waited for the last one, at the mean.
 */
static double mean_wait_us(const struct jp_op *op)
{
    return ((double) op->exec_sum_us -
            (double) op->n_exec * (double) op->exec_min_us) /
           (double) (op->n_exec - 1);
}

/* Fills proof_us of communicators with few operations. Returns 0, or -1 without
 * memory. */
static int find_proofs(struct late *l)
{
    struct ops_reader *reader = calloc(1, sizeof(*reader));
    size_t room = (size_t) limits_get(JP_LIMIT_LATE_OPS) + 1, n = 0;
    double *waits = calloc(room, sizeof(*waits));
    uint32_t comm = 0, coll = 0;
    int rc = reader && waits ? 0 : -1;

    if (rc == 0) {
        reader->ops = l->r->ops;
        ops_want(reader, OPS_COUNTS | OPS_EXEC);
    }
    for (size_t i = 0; rc == 0 && i < l->r->n_ops; i++) {
        const struct jp_op *op = ops_at(reader, i);

        if (n && (op->comm != comm || op->coll != coll)) {
            prove(l, comm, waits, n);
            n = 0;
        }
        comm = op->comm;
        coll = op->coll;
        /* of a longer function, its first operations */
        if (l->short_run[comm] && n < room && op->n_exec > 1 &&
            op->n_exec == l->r->comms[comm].n_ranks &&
            collective_is_barrier(l->r->coll_names[coll]))
            waits[n++] = mean_wait_us(op);
    }
    if (rc == 0)
        prove(l, comm, waits, n);
    for (size_t c = 0; rc == 0 && l->only_kernels && c < l->r->n_comms; c++) {
        struct jp_op op;

        n = 0;
        for (size_t k = 0; l->short_run[c] && k < l->kernels[c] && n < room;
             k++)
            if (alltoall_get(l->r, l->p, c, k, &op))
                waits[n++] = mean_wait_us(&op);
        prove(l, c, waits, n);
    }
    free(waits);
    free(reader);
    return rc;
}

double late_last_chance(const struct late *l, size_t rank)
{
    size_t c = l->r->ranks[rank].comm, from = l->p->comm_start[c];
    double least = 1, tried = (double) l->r->n_ranks;

    for (size_t k = 0; l->last && k <= l->r->n_coll_names; k++)
        if (l->of[slot(l, from, k)])
            least = fmin(least,
                         stats_binomial_tail(
                             l->last[slot(l, rank, k)], l->of[slot(l, from, k)],
                             1 / (double) l->r->comms[c].n_ranks));
    return fmin(1, least * tried);
}

/* --- all of it ------------------------------------------------------------ */

void late_spent(const struct jp_result *r, const struct jp_processes *p,
                const struct jp_lateness *lateness, double *spent)
{
    for (size_t i = 0; i < r->n_p2p; i++) {
        const struct jp_p2p *x = &r->p2p[i];
        size_t rank = processes_rank(p, r, x->comm,
                                     strcmp(x->func, "Send") ? x->dst : x->src);

        if (rank != SIZE_MAX && !(lateness[rank].grouped_us > 0))
            spent[p->of_rank[rank]] += (double) x->exec_us;
    }
    for (size_t i = 0; i < r->n_ranks; i++)
        spent[p->of_rank[i]] += (double) r->ranks[i].exec_us +
                                lateness[i].grouped_us;
}

/* Returns how much was recorded of a time that is so long. */
static uint64_t recorded_us(const struct jp_result *r, uint64_t from_us,
                            uint64_t to_us, uint64_t long_us)
{
    uint64_t off_us = pauses_known_us(&r->quality, from_us, to_us);

    return long_us > off_us ? long_us - off_us : 0;
}

double late_run_us(const struct jp_result *r)
{
    uint64_t run = r->ops ? ops_run_us(r->ops) : 0;

    if (run)
        run = recorded_us(r, r->ops->dump_first, r->ops->dump_last, run);
    for (size_t i = 0; run && i < r->n_ranks; i++)
        if (r->ranks[i].exec_us > run)
            run = r->ranks[i].exec_us;
    /* Operations are known by their ends, so the first one is not in it: at the
     * start ranks may wait for seconds. More than what a process spent in
     * operations is a clock that was set. */
    for (size_t i = 0; run && i < r->n_busy; i++) {
        const struct jp_busy *b = &r->busy[i];
        uint64_t span =
            b->to_us > b->from_us
                ? recorded_us(r, b->from_us, b->to_us, b->to_us - b->from_us)
                : 0;

        if (b->state == JP_BUSY_TOLD && span > run && span - run <= b->busy_us)
            run = span;
    }
    /* without collectives: from the first operation of a process to its last */
    for (size_t i = 0; !r->n_ops && i < r->n_busy; i++) {
        const struct jp_busy *b = &r->busy[i];
        uint64_t span =
            recorded_us(r, b->from_us, b->to_us, b->to_us - b->from_us);

        run = span > run ? span : run;
    }
    return (double) run;
}

int late_measure(struct late *l)
{
    const struct jp_result *r = l->r;
    size_t n = l->p->n;

    l->total = calloc(n * JP_SLICES + 1, sizeof(*l->total));
    l->grouped_us = calloc(r->n_ranks + 1, sizeof(*l->grouped_us));
    l->net = calloc(n + 1, sizeof(*l->net));
    l->messages = calloc(n + 1, sizeof(*l->messages));
    l->grouped_net = calloc(n + 1, sizeof(*l->grouped_net));
    l->grouped_late = calloc(n + 1, sizeof(*l->grouped_late));
    l->least = calloc(n + 1, sizeof(*l->least));
    l->most = calloc(n + 1, sizeof(*l->most));
    l->scratch = calloc(3 * r->n_ranks + 1, sizeof(*l->scratch));
    l->class_of = calloc(r->n_comms + 1, sizeof(*l->class_of));
    l->parts = calloc(r->n_ranks * JP_SLICES + 1, sizeof(*l->parts));
    l->short_run = calloc(r->n_comms + 1, sizeof(*l->short_run));
    l->kernels = calloc(r->n_comms + 1, sizeof(*l->kernels));
    l->proof_us = calloc(r->n_comms + 1, sizeof(*l->proof_us));
    if (!l->total || !l->net || !l->messages || !l->grouped_us ||
        !l->grouped_net || !l->grouped_late || !l->least || !l->most ||
        !l->scratch || !l->class_of || !l->parts || !l->short_run ||
        !l->kernels || !l->proof_us || add_up(l) < 0 || add_hidden(l) < 0 ||
        likes_number(r, likes_by_place, l->class_of, &l->classes) < 0)
        return -1;
    l->run_us = late_run_us(r);
    find_kernels(l);
    if (leave_out_stops(l) < 0)
        return -1;
    for (size_t c = 0; c < r->n_comms; c++) {
        if (!is_usable(l, c))
            continue;
        l->short_run[c] = is_short(l, c);
        if (measure(l, c) < 0)
            return -1;
    }
    if (count_last(l) < 0 || find_proofs(l) < 0)
        return -1;
    for (size_t i = 0; i < r->n_ranks; i++)
        l->out[i].grouped_us = l->grouped_us[i];
    hide_all(l);
    return 0;
}

void late_measure_fini(struct late *l)
{
    free(l->total);
    free(l->grouped_us);
    free(l->net);
    free(l->messages);
    free(l->grouped_net);
    free(l->grouped_late);
    free(l->least);
    free(l->most);
    free(l->scratch);
    free(l->class_of);
    free(l->parts);
    free(l->short_run);
    free(l->kernels);
    free(l->proof_us);
    free(l->last);
    free(l->of);
}
