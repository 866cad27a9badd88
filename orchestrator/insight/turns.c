/* turns.c - ranks that wait by turns, each time for another one.
 *
 * In many jobs each step another rank is the slowest: sequences of different
 * length, experts of different load, input that comes late. All others wait for
 * it, and nobody in particular causes it, so neither the judge of late ranks
 * nor that of stalls says a word.
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
 * What ranks of a program wait for each other anyway is below turns_cost_min.
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

/* Waits in a communicator's operations, in us of GPU time. */
struct waits {
    double sum, squares;
    uint64_t ops;
    /* of the function that is being read */
    double first, rest;
    size_t first_rank; /* of the result; SIZE_MAX: several were last */
    uint64_t read;
};

struct turns {
    const struct jp_result *r;
    const struct jp_processes *p;
    double *caused; /* [rank] waits in operations in which it was the last */
    struct waits at;
    /* of all communicators */
    double cost_us, most_us;
    size_t most; /* the communicator of the most */
    uint64_t ops, last;
    bool judged, *counted; /* [comm] */
};

static void add_wait(struct turns *t, double us, size_t rank)
{
    t->at.sum += us;
    t->at.squares += us * us;
    t->at.ops++;
    if (rank != SIZE_MAX)
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

    if (!t->at.read++) {
        t->at.first = us;
        t->at.first_rank = rank;
        return;
    }
    t->at.rest += us;
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

/* Ends a communicator: adds what its ranks waited by turns. */
static void end_comm(struct turns *t, size_t comm)
{
    size_t from = t->p->comm_start[comm], to = t->p->comm_start[comm + 1];
    double n = (double) (to - from), pairs, same = 0, us;
    uint64_t last = 0;

    for (size_t k = 0, count = alltoall_count(t->r, t->p, comm); k < count;
         k++) {
        struct jp_op op;

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
    /* the sum of ranks alone is below that of all by what several caused */
    if (n > 1 && pairs > 0 &&
        t->at.sum * t->at.sum >=
            limits_get(JP_LIMIT_TURNS_OPS) * t->at.squares) {
        us = t->at.sum *
             fmin((1 - fmax(same - t->at.squares, 0) / pairs) / (1 - 1 / n), 1);
        t->cost_us += us;
        t->counted[comm] = true;
        if (us > t->most_us) {
            t->most_us = us;
            t->most = comm;
            t->ops = t->at.ops;
            t->last = last;
        }
    }
    t->at = (struct waits){0};
}

/* Reads all operations in which ranks wait for each other. Returns 0, or -1
 * without memory. */
static int add_up(struct turns *t)
{
    struct ops_reader *reader = calloc(1, sizeof(*reader));
    size_t i = 0;

    if (!reader)
        return -1;
    reader->ops = t->r->ops;
    ops_want(reader, OPS_COUNTS | OPS_RANK | OPS_EXEC);
    for (size_t c = 0; c < t->r->n_comms; c++) {
        size_t ranks = t->p->comm_start[c + 1] - t->p->comm_start[c];
        uint32_t coll = UINT32_MAX;

        for (; i < t->r->n_ops; i++) {
            const struct jp_op *op = ops_at(reader, i);

            if (op->comm != c)
                break;
            if (op->coll != coll)
                end_func(t);
            coll = op->coll;
            if (ranks > 1 && ranks == t->r->comms[c].n_ranks &&
                op->n == ranks && op->n_exec == ranks &&
                collective_is_barrier(t->r->coll_names[coll]))
                take(t, op);
        }
        end_comm(t, c);
    }
    free(reader);
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
    hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_TURNS,
                   JP_HYPOTHESIS_NOT_FOUND, limits_get(JP_LIMIT_TURNS_COST),
                   NULL);
    if (t->cost_us <= limits_get(JP_LIMIT_TURNS_COST) * findings->gpus_us)
        return 0;
    return tell(t, spent_us(t, lateness, spent), findings);
}

int turns_findings(const struct jp_result *r, const struct jp_processes *p,
                   const struct jp_lateness *lateness,
                   struct jp_findings *findings)
{
    struct turns t = {.r = r, .p = p};
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
    spent = calloc(p->n + 1, sizeof(*spent));
    if (t.caused && t.counted && spent)
        rc = judge(&t, lateness, spent, findings);
    free(t.caused);
    free(t.counted);
    free(spent);
    return rc;
}
