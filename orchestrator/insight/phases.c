/* phases.c - in which phase of a training step a rank is late.
 *
 * A rank that came last in an operation was late by what the second-shortest
 * time exceeds its own. The sum of that is taken for each phase that the
 * program gave (common/record.h), over all communicators of the rank's process.
 * A phase is named if it has nearly all of the sum, and the rank is later there
 * than elsewhere: a phase with nearly all operations has nearly all lateness
 * anyway. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bandwidth.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/looks.h"

/* What one process was late in the operations of one phase. */
struct late_phase {
    uint64_t of, times; /* timed operations; those in which it came last */
    double us;
};

/* A finding's process. */
struct late_process {
    struct jp_finding *finding;
    struct late_phase phases[JP_PHASES + 1]; /* [0]: none, or several */
};

/* Adds an operation to the phase of a process that takes part in it. */
static void add_op(struct late_process *p, const struct jp_op *op,
                   uint32_t rank)
{
    struct late_phase *phase =
        &p->phases[op->phase == JP_PHASE_SEVERAL ? 0 : op->phase];

    phase->of++;
    if (op->min_rank != rank)
        return;
    phase->times++;
    phase->us += (double) (op->exec_second_us - op->exec_min_us);
}

/* Names the phase, if there is one that stands out. */
static void name_phase(const struct jp_result *r, struct late_process *p)
{
    struct jp_finding *f = p->finding;
    uint32_t most = 1;
    uint64_t others = 0;
    double sum = 0, rest;

    for (uint32_t i = 0; i <= r->n_phases; i++) {
        sum += p->phases[i].us;
        others += p->phases[i].of;
        if (i && p->phases[i].us > p->phases[most].us)
            most = i;
    }
    rest = sum - p->phases[most].us;
    others -= p->phases[most].of;
    /* without other operations a phase says nothing */
    if (!others || !(sum > 0) ||
        p->phases[most].us < limits_get(JP_LIMIT_PHASE_SHARE) * sum ||
        p->phases[most].us / (double) p->phases[most].of <
            limits_get(JP_LIMIT_PHASE_TIMES) * rest / (double) others)
        return;
    snprintf(f->phase, sizeof(f->phase), "%s", r->phases[most - 1]);
    f->phase_share = p->phases[most].us / sum;
    f->phase_us = p->phases[most].us / (double) p->phases[most].times;
    f->phase_times = p->phases[most].times;
    f->phase_of = p->phases[most].of;
}

/* The rank of the finding's process in a communicator. False: it is not in it.
 */
static bool rank_in(const struct jp_result *r, const struct jp_processes *p,
                    const struct jp_finding *f, size_t comm, uint32_t *rank)
{
    size_t at = processes_rank_in(p, r, (size_t) f->process, comm);

    if (at != SIZE_MAX)
        *rank = r->ranks[at].rank;
    return at != SIZE_MAX;
}

/* Adds up all operations for one finding. */
static void add_up_phases(const struct jp_result *r,
                          const struct jp_processes *p,
                          struct late_process *who)
{
    struct ops_reader reader = {.ops = r->ops,
                                .parts = OPS_N | OPS_N_EXEC | OPS_RANK |
                                         OPS_EXEC | OPS_PHASE};
    uint32_t comm = UINT32_MAX, rank = 0;
    bool in = false;

    for (size_t i = 0; i < r->n_ops; i++) {
        const struct jp_op *op = ops_at(&reader, i);

        if (op->comm != comm)
            in = rank_in(r, p, who->finding, op->comm, &rank);
        comm = op->comm;
        if (in && op->n == r->comms[comm].n_ranks && op->n > 1 &&
            op->n_exec == op->n &&
            collective_is_barrier(r->coll_names[op->coll]))
            add_op(who, op, rank);
    }
}

int phases_findings(const struct jp_result *r, const struct jp_processes *p,
                    struct jp_findings *findings)
{
    struct late_process *who;

    if (!r->n_phases)
        return 0;
    who = malloc(sizeof(*who));
    if (!who)
        return -1;
    for (size_t i = 0; i < findings->n; i++) {
        struct jp_finding *f = &findings->at[i];

        if ((f->kind != JP_FINDING_LATE_RANK && f->kind != JP_FINDING_STALL) ||
            f->process < 0)
            continue;
        memset(who, 0, sizeof(*who));
        who->finding = f;
        add_up_phases(r, p, who);
        name_phase(r, who);
    }
    free(who);
    return 0;
}
