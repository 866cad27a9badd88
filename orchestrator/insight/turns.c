/* turns.c - ranks that wait by turns, each time for another one.
 *
 * In many jobs the slowest rank is another one in each step: sequences have
 * different lengths, experts have different loads, input comes late. All others
 * wait for it, and nobody in particular causes it, so neither the search for
 * late ranks nor that for stalls reports anything.
 *
 * Measure. An operation's waits are all that its ranks waited for the last one.
 * If one rank made all of a communicator's waits, any two operations have the
 * same last rank; if n ranks do so by turns, two have the same one with the
 * probability 1/n. So with P, the share of pairs of operations (weighted by the
 * product of their waits) that have the same last rank, the share of waits by
 * turns is (1 - P) / (1 - 1/n). Taking pairs of different operations makes this
 * an unbiased estimate however few operations there are (Simpson 1949).
 * turns_ops_min demands that several operations make up the waits.
 *
 * In every program ranks wait a little for each other; such waits are below
 * turns_cost_min.
 *
 * A rank may also be the last one because its operations in other communicators
 * take longer, for example in a group that crosses nodes where others do not.
 * That time (net_us) is subtracted from what others waited for the rank.
 */
#include "orchestrator/insight/looks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bandwidth.h"
#include "common/figure.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/alltoall.h"
#include "orchestrator/insight/hypothesis.h"
#include "orchestrator/insight/limits.h"
#include "common/stats.h"

/* Waits in a communicator's operations, in us of GPU time. */
struct waits {
    double sum, squares;
    double end; /* of the run's end, which is one part in warmup_part of the
                   operations; all others may be warm-up in a short run */
    uint64_t ops;
    /* of the function that is being read */
    double first, rest;
    size_t first_rank; /* of the result */
    uint64_t read;
};

struct turns {
    const struct jp_result *r;
    const struct jp_processes *p;
    double *caused; /* [rank] waits in operations in which it was the last */
    double *net_us; /* [process] time in operations and messages, without waits:
                       what the network takes */
    struct waits at;
    /* of all communicators */
    double run_us, cost_us;
    double waited_us; /* cost_us, and what the network explains */
    double most_us;   /* the most for one rank */
    size_t most;      /* the communicator of that */
    uint64_t ops, last;
    bool judged, *counted; /* [comm] */
    bool *joins; /* [comm] it has ranks that exchange Send and Recv: stages of a
                    pipeline, some of which wait for others anyway */
    /* [process] a finding names it, or a process that shares its communicator:
     * the waits for it are reported already */
    bool *named;
    /* of the function that is read: after the warm-up, and the run's end */
    uint64_t from_sn, end_sn;
    double warm; /* share of operations of the warm-up */
};

/* Returns at which of so many operations the run's end begins. */
static uint64_t end_from(uint64_t ops)
{
    return ops -
           (uint64_t) ceil((double) ops / limits_get(JP_LIMIT_WARMUP_PART));
}

/* Finds two sequence numbers of the function that begins with operation i. From
 * from_sn on, operations count: that is one and a half times its warm-up, as
 * for stalls. From end_sn on, they belong to the run's end. */
static void set_range(struct turns *t, struct ops_reader *reader, size_t i)
{
    const struct jp_op *op = ops_at(reader, i);
    uint32_t comm = op->comm, coll = op->coll;
    uint64_t first = op->sn, last = first;
    size_t from = i, to = t->r->n_ops;

    while (from < to) { /* its last operation */
        size_t middle = from + (to - from) / 2;

        op = ops_at(reader, middle);
        if (op->comm == comm && op->coll == coll) {
            last = op->sn;
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    t->from_sn = first +
                 (uint64_t) ceil(1.5 * t->warm * (double) (last - first + 1));
    t->end_sn = first + end_from(last - first + 1);
}

static void add_wait(struct turns *t, double us, size_t rank)
{
    t->at.sum += us;
    t->at.squares += us * us;
    t->at.ops++;
    t->caused[rank] += us;
}

/* Adds an operation of the function that is being read. Its first operation
 * waits until the others are known. */
static void take(struct turns *t, const struct jp_op *op)
{
    double us = (double) op->exec_sum_us -
                (double) op->n * (double) op->exec_min_us;
    size_t rank = op->min_rank < op->n
                      ? t->p->comm_start[op->comm] + op->min_rank
                      : SIZE_MAX;

    /* Several ranks came last together, or a finding names the last one. */
    if (rank == SIZE_MAX || t->named[t->p->of_rank[rank]])
        return;
    if (!t->at.read++) {
        t->at.first = us;
        t->at.first_rank = rank;
        return;
    }
    t->at.rest += us;
    t->at.end += op->sn >= t->end_sn ? us : 0;
    add_wait(t, us, rank);
}

/* Ends a function: its first operation counts unless ranks waited there for far
 * longer than in the others, as at the start of a program. */
static void end_func(struct turns *t)
{
    double others = t->at.read > 1 ? t->at.rest / (double) (t->at.read - 1) : 0;

    if (t->at.read && t->at.first <= limits_get(JP_LIMIT_TURNS_FIRST) * others)
        add_wait(t, t->at.first, t->at.first_rank);
    t->at.read = 0;
    t->at.rest = 0;
}

/* Returns the share of a communicator's waits that the network does not
 * explain. A rank that comes last may have spent more time in other
 * communicators than the others. The usual time is the lower quartile of the
 * ranks, as more than half of them may have such communicators. v: room for its
 * ranks. */
static double share_of_work(const struct turns *t, size_t comm, double *v)
{
    size_t from = t->p->comm_start[comm], n = t->p->comm_start[comm + 1] - from;
    double all = 0, rest = 0, usual;

    for (size_t i = 0; i < n; i++)
        v[i] = t->net_us[t->p->of_rank[from + i]];
    stats_sort(v, n);
    usual = v[n / 4];
    for (size_t i = from; i < from + n; i++) {
        double longer = fmax(t->net_us[t->p->of_rank[i]] - usual, 0);

        all += t->caused[i];
        rest += fmax(t->caused[i] - (double) (n - 1) * longer, 0);
    }
    return all > 0 ? rest / all : 1;
}

/* Counts a communicator if its waits by turns, of us in sum, are much of the
 * run. last: how many of its ranks were last. v: room for its ranks. */
static void add_comm(struct turns *t, size_t comm, double us, uint64_t last,
                     double *v)
{
    double n = (double) t->r->comms[comm].n_ranks;
    double least = limits_get(JP_LIMIT_TURNS_COST) * n * t->run_us;

    if (us <= least)
        return;
    t->waited_us += us;
    us *= share_of_work(t, comm, v);
    if (us <= least)
        return;
    t->cost_us += us;
    t->counted[comm] = true;
    if (us / n <= t->most_us)
        return;
    t->most_us = us / n;
    t->most = comm;
    t->ops = t->at.ops;
    t->last = last;
}

/* Ends a communicator: adds its waits by turns. v: room for its ranks. */
static void end_comm(struct turns *t, size_t comm, double *v)
{
    size_t from = t->p->comm_start[comm], to = t->p->comm_start[comm + 1];
    double n = (double) (to - from), pairs, same = 0, us, end;
    uint64_t last = 0;

    for (size_t k = 0,
                count = t->joins[comm] ? 0 : alltoall_count(t->r, t->p, comm);
         k < count; k++) {
        struct jp_op op;

        t->end_sn = end_from(count);
        if (alltoall_get(t->r, t->p, comm, k, &op))
            take(t, &op);
    }
    end_func(t);
    for (size_t i = from; i < to; i++) {
        same += t->caused[i] * t->caused[i];
        last += t->caused[i] > 0;
    }
    pairs = t->at.sum * t->at.sum - t->at.squares;
    if (t->at.ops >= limits_get(JP_LIMIT_TURNS_OPS))
        t->judged = true;
    if (n > 1 && pairs > 0 &&
        t->at.sum * t->at.sum >=
            limits_get(JP_LIMIT_TURNS_OPS) * t->at.squares) {
        us = t->at.sum *
             fmin((1 - fmax(same - t->at.squares, 0) / pairs) / (1 - 1 / n), 1);
        /* the start of a short run says nothing about the rest */
        end = limits_get(JP_LIMIT_WARMUP_PART) * t->at.end;
        if (end * limits_get(JP_LIMIT_TURNS_FIRST) < t->at.sum)
            us *= end / t->at.sum;
        add_comm(t, comm, us, last, v);
    }
    t->at = (struct waits){0};
}

static void mark(struct turns *t, size_t process)
{
    const struct jp_process *who = &t->p->list[process];

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t c = t->r->ranks[t->p->by_process[i]].comm;

        for (size_t k = t->p->comm_start[c];
             t->r->comms[c].n_ranks < t->p->n && k < t->p->comm_start[c + 1];
             k++)
            t->named[t->p->of_rank[k]] = true;
    }
    t->named[process] = true;
}

/* Marks the processes that findings name, and those that share a communicator
 * of some of the processes with them, because they come late together. Returns
 * the sentence if a finding explains why ranks come last by turns; NULL: none
 * does. */
static const char *find_named(struct turns *t,
                              const struct jp_findings *findings)
{
    for (size_t i = 0; i < findings->n; i++) {
        const struct jp_finding *f = &findings->at[i];

        if (f->kind == JP_FINDING_SLOW_NETWORK || f->kind == JP_FINDING_DRIFT)
            return "a slow network makes ranks late by turns";
        if (f->kind == JP_FINDING_STALL || f->kind == JP_FINDING_LONG_WAIT)
            return "the stalls that were found make ranks late by turns";
        if (f->kind != JP_FINDING_LATE_RANK && f->kind != JP_FINDING_LATE_NODE)
            continue;
        for (size_t k = 0; k < t->p->n; k++) {
            const struct jp_process *who = &t->p->list[k];

            if (!strcmp(who->host, f->host) &&
                (f->kind == JP_FINDING_LATE_NODE || who->pid == f->pid))
                mark(t, k);
        }
    }
    return NULL;
}

/* Fills joins. */
static void find_joins(struct turns *t, const struct jp_lateness *lateness)
{
    for (size_t i = 0; i < t->r->n_p2p; i++) {
        const struct jp_p2p *x = &t->r->p2p[i];
        size_t from = processes_rank(t->p, t->r, x->comm, x->src);
        size_t to = processes_rank(t->p, t->r, x->comm, x->dst);
        const struct jp_process *who;

        if (from == SIZE_MAX || to == SIZE_MAX || from == to ||
            lateness[from].grouped_us > 0)
            continue;
        who = &t->p->list[t->p->of_rank[from]];
        for (size_t k = who->first; k < who->first + who->n; k++) {
            size_t c = t->r->ranks[t->p->by_process[k]].comm;

            t->joins[c] |=
                processes_rank_in(t->p, t->r, t->p->of_rank[to], c) != SIZE_MAX;
        }
    }
}

/* Fills net_us. A side that arrives last does not wait for a message, so its
 * fastest messages show what the network takes. */
static void add_net(struct turns *t)
{
    for (size_t i = 0; i < t->r->n_ranks; i++) {
        const struct jp_rank *x = &t->r->ranks[i];

        t->net_us[t->p->of_rank[i]] += (double) x->exec_us -
                                       (double) x->wait_us;
    }
    for (size_t i = 0; i < t->r->n_p2p; i++) {
        const struct jp_p2p *x = &t->r->p2p[i];
        size_t rank = processes_rank(t->p, t->r, x->comm,
                                     strcmp(x->func, "Send") ? x->dst : x->src);

        if (rank != SIZE_MAX && x->fast_gbs > 0)
            t->net_us[t->p->of_rank[rank]] += fmin(
                (double) x->bytes / (x->fast_gbs * 1e3), (double) x->exec_us);
    }
}

/* Reads all operations in which ranks wait for each other. Returns 0, or -1
 * without memory. */
static int add_up(struct turns *t)
{
    struct ops_reader *reader = calloc(1, sizeof(*reader));
    double *v = calloc(t->r->n_ranks + 1, sizeof(*v));
    size_t i = 0;

    if (!reader || !v) {
        free(reader);
        free(v);
        return -1;
    }
    reader->ops = t->r->ops;
    ops_want(reader, OPS_SN | OPS_COUNTS | OPS_RANK | OPS_EXEC);
    for (size_t c = 0; c < t->r->n_comms; c++) {
        size_t ranks = t->p->comm_start[c + 1] - t->p->comm_start[c];
        uint32_t coll = UINT32_MAX;

        for (; i < t->r->n_ops; i++) {
            const struct jp_op *op = ops_at(reader, i);

            if (op->comm != c)
                break;
            if (op->coll != coll) {
                end_func(t);
                set_range(t, reader, i);
            }
            coll = op->coll;
            if (!t->joins[c] && ranks > 1 && ranks == t->r->comms[c].n_ranks &&
                op->n == ranks && op->n_exec == ranks && op->sn >= t->from_sn &&
                collective_is_barrier(t->r->coll_names[coll]))
                take(t, op);
        }
        end_comm(t, c, v);
    }
    free(reader);
    free(v);
    return 0;
}

/* Returns the time in communication of all processes that wait by turns. spent:
 * [process]; zeros. */
static double spent_us(const struct turns *t,
                       const struct jp_lateness *lateness, double *spent)
{
    double us = 0;

    late_spent(t->r, t->p, lateness, spent);
    for (size_t c = 0; c < t->r->n_comms; c++)
        for (size_t i = t->p->comm_start[c];
             t->counted[c] && i < t->p->comm_start[c + 1]; i++) {
            us += spent[t->p->of_rank[i]];
            spent[t->p->of_rank[i]] = 0; /* once */
        }
    return us;
}

static int tell(const struct turns *t, double spent,
                struct jp_findings *findings)
{
    struct jp_finding *f = findings_add(findings, JP_FINDING_TURNS);

    if (!f)
        return -1;
    f->comm = (int64_t) t->most;
    f->share = spent > 0 ? fmin(t->cost_us / spent, 1) : NAN;
    f->evidence = t->ops;
    finding_cost(findings, f, t->cost_us);
    finding_count(f, t->most_us / (double) t->ops, t->last, t->ops);
    snprintf(f->text, sizeof(f->text),
             "ranks wait by turns, each time for another one: in %.40s, %s of "
             "%s ranks came last in %s operations, so nobody in particular "
             "causes it; cost %s",
             processes_comm_name(&t->r->comms[t->most]), FIG_COUNT(t->last),
             FIG_COUNT(t->r->comms[t->most].n_ranks), FIG_COUNT(t->ops),
             FINDING_LOSS(f));
    snprintf(f->next, sizeof(f->next),
             "even out what ranks get in a step: lengths of sequences (pack or "
             "sort them), load of experts, input that comes late");
    return 0;
}

static int judge(struct turns *t, const struct jp_lateness *lateness,
                 double *spent, struct jp_findings *findings)
{
    const char *why;

    t->run_us = findings->run_us;
    why = find_named(t, findings);
    if (why) {
        hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_TURNS,
                       JP_HYPOTHESIS_NOT_JUDGED, NAN, "%s", why);
        return 0;
    }
    find_joins(t, lateness);
    add_net(t);
    if (add_up(t) < 0)
        return -1;
    if (!t->judged || !(findings->gpus_us > 0)) {
        hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_TURNS,
                       JP_HYPOTHESIS_NOT_JUDGED, NAN, "%s",
                       t->judged ? "the times of the records do not show how "
                                   "long the run was"
                                 : "too few operations in which ranks wait for "
                                   "each other are complete");
        return 0;
    }
    if (t->cost_us < t->waited_us / 2) { /* the network is the larger part */
        hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_TURNS,
                       JP_HYPOTHESIS_NOT_JUDGED, NAN, "%s",
                       "ranks wait for some whose operations in other "
                       "communicators take longer");
        return 0;
    }
    hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_TURNS,
                   JP_HYPOTHESIS_NOT_FOUND, limits_get(JP_LIMIT_TURNS_COST),
                   NULL);
    if (!(t->cost_us > 0))
        return 0;
    return tell(t, spent_us(t, lateness, spent), findings);
}

/* Returns the share of the operations that the warm-up takes; 0: there is none.
 */
static double warm_share(const struct jp_netserieses *series)
{
    double warm = 0, ops = 0;
    struct jp_warmup w;

    warmup_sum(series, &w);
    for (size_t i = 0; w.ops && i < series->n; i++)
        if (series->at[i].warm_ops) {
            warm += (double) series->at[i].warm_ops;
            ops += (double) series->at[i].ops;
        }
    return ops > 0 ? warm / ops : 0;
}

int turns_findings(const struct jp_result *r, const struct jp_processes *p,
                   const struct jp_netserieses *series,
                   const struct jp_lateness *lateness,
                   struct jp_findings *findings)
{
    struct turns t = {.r = r, .p = p, .warm = warm_share(series)};
    double *spent;
    int rc = -1;

    if (r->quality.waits_unknown || !p->known) {
        hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_TURNS,
                       JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "processes or their waits cannot be separated");
        return 0;
    }
    t.caused = calloc(r->n_ranks + 1, sizeof(*t.caused));
    t.counted = calloc(r->n_comms + 1, sizeof(*t.counted));
    t.named = calloc(p->n + 1, sizeof(*t.named));
    t.joins = calloc(r->n_comms + 1, sizeof(*t.joins));
    t.net_us = calloc(p->n + 1, sizeof(*t.net_us));
    spent = calloc(p->n + 1, sizeof(*spent));
    if (t.caused && t.net_us && t.counted && t.joins && t.named && spent)
        rc = judge(&t, lateness, spent, findings);
    free(t.caused);
    free(t.net_us);
    free(t.counted);
    free(t.joins);
    free(t.named);
    free(spent);
    return rc;
}
