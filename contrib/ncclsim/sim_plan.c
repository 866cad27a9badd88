/* sim_plan.c - a launch on its way from the user thread to the progress thread.
 */
#include "contrib/ncclsim/sim_plan.h"

#include <stdlib.h>
#include <string.h>

#include "contrib/ncclsim/sim_version.h"

/* NCCL's limits of works per channel in a batch. */
enum { P2P_PER_BATCH = 8, BCAST_PER_BATCH = 16 };

/* Returns p; aborts without memory. */
static void *must(void *p)
{
    if (!p)
        abort();
    return p;
}

void sim_plan_reserve(struct jp_sim_plan *plan, int n)
{
    if (n > plan->n_room) {
        plan->works =
            must(realloc(plan->works, (size_t) n * sizeof(*plan->works)));
        plan->n_room = n;
    }
    memset(plan->works, 0, (size_t) n * sizeof(*plan->works));
    plan->n = n;
}

/* Makes room for all channels that may be watched, at once: they are linked to
 * each other, so the array must not move later. */
static void reserve_kernels(struct jp_sim_plan *plan)
{
    int sum = 0;
    int i;

    for (i = 0; i < plan->n; i++)
        sum += plan->works[i].op.n_channels;
    if (sum > plan->kernel_room) {
        plan->watched =
            must(realloc(plan->watched, (size_t) sum * sizeof(*plan->watched)));
        plan->kernel_room = sum;
    }
}

int sim_plan_is_p2p(const struct jp_sim_op *op)
{
    return op->func == JP_NCCL_SEND || op->func == JP_NCCL_RECV;
}

int sim_plan_is_self(const struct jp_sim_plan *plan,
                     const struct jp_sim_work *work)
{
    return work->op.peer == plan->rank && sim_plan_is_p2p(&work->op);
}

/* Whether w is the second half of a round, whose first half is the work before.
 * The GPU runs both as one work. */
static int joins(const struct jp_sim_work *before, const struct jp_sim_work *w)
{
    return sim_plan_is_p2p(&w->op) && sim_plan_is_p2p(&before->op) &&
           before->opens && before->op.func != w->op.func &&
           before->op.round == w->op.round;
}

/* Returns the limit of works that a channel may have in one batch. */
static int limit_of(const struct jp_sim_op *op)
{
    if (sim_plan_is_p2p(op))
        return P2P_PER_BATCH;
    return op->way == SIM_ALLGATHERV ? BCAST_PER_BATCH
                                     : sim_nccl()->colls_per_batch;
}

/* Whether two works may be in one batch. */
static int is_alike(const struct jp_sim_op *a, const struct jp_sim_op *b)
{
    if (sim_plan_is_p2p(a) || sim_plan_is_p2p(b))
        return sim_plan_is_p2p(a) && sim_plan_is_p2p(b);
    return a->way == b->way && a->func == b->func;
}

/* Adds the work to the counts of its channels. Returns 0 without a change if
 * one of them is full. */
static int adds(uint8_t used[JP_NCCL_MAX_CHANNELS], const struct jp_sim_op *op)
{
    int c;

    for (c = op->channel; c < op->channel + op->n_channels; c++) {
        if (used[c] == limit_of(op))
            return 0;
    }
    for (c = op->channel; c < op->channel + op->n_channels; c++)
        used[c]++;
    return 1;
}

void sim_plan_arrange(struct jp_sim_plan *plan)
{
    uint8_t used[JP_NCCL_MAX_CHANNELS] = {0};
    int batch = 0;
    int i;

    plan->works[0].opens = 1;
    plan->works[0].batch = 0;
    /* a plan of one work has one batch */
    if (plan->n > 1)
        adds(used, &plan->works[0].op);
    for (i = 1; i < plan->n; i++) {
        struct jp_sim_work *w = &plan->works[i];

        w->opens = !joins(w - 1, w);
        /* the second half of a round stays in the batch of the first */
        if (w->opens &&
            (!is_alike(&(w - 1)->op, &w->op) || !adds(used, &w->op))) {
            batch++;
            memset(used, 0, sizeof(used));
            adds(used, &w->op);
        }
        w->batch = batch;
    }
    plan->n_batches = batch + 1;
    plan->n_kernels = 0;
    plan->n_watched = 0;
    plan->is_over = 0;
    reserve_kernels(plan);
}

int sim_plan_batch(const struct jp_sim_plan *plan, int batch, int *end,
                   int64_t *start_ns, int64_t *end_ns)
{
    int first, i;

    for (first = 0; plan->works[first].batch != batch; first++)
        ;
    *start_ns = plan->works[first].op.start_ns;
    *end_ns = plan->works[first].op.end_ns;
    for (i = first; i < plan->n && plan->works[i].batch == batch; i++) {
        const struct jp_sim_op *op = &plan->works[i].op;

        *start_ns = op->start_ns < *start_ns ? op->start_ns : *start_ns;
        *end_ns = op->end_ns > *end_ns ? op->end_ns : *end_ns;
    }
    *end = i;
    return first;
}

void sim_plan_free(struct jp_sim_plan *plan)
{
    if (!plan)
        return;
    free(plan->works);
    free(plan->watched);
    free(plan);
}
