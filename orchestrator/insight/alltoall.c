/* alltoall.c - put the ranks' kernels side by side. */
#include "orchestrator/insight/alltoall.h"

#include <math.h>

#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/stats.h"

/* Counts the kernels of a rank with all of their messages. */
static size_t count_whole(const struct jp_rank *rank)
{
    size_t whole = 0;

    for (size_t k = 0; k < rank->n_kernels; k++)
        whole += rank->kernel_us[k] != JP_NO_KERNEL;
    return whole;
}

size_t alltoall_count(const struct jp_result *r, const struct jp_processes *p,
                      size_t comm)
{
    size_t from = p->comm_start[comm], to = p->comm_start[comm + 1], most = 0;

    if (to - from != r->comms[comm].n_ranks)
        return 0;
    for (size_t i = from; i < to; i++)
        if (r->ranks[i].n_kernels > most)
            most = r->ranks[i].n_kernels;
    for (size_t i = from; i < to && most; i++)
        if ((double) count_whole(&r->ranks[i]) <
            limits_get(JP_LIMIT_GROUPED_WHOLE) * (double) most)
            return 0;
    return most;
}

bool alltoall_get(const struct jp_result *r, const struct jp_processes *p,
                  size_t comm, size_t k, struct jp_op *op)
{
    size_t from = p->comm_start[comm], to = p->comm_start[comm + 1];

    *op = (struct jp_op){.comm = (uint32_t) comm,
                         .sn = k,
                         .min_rank = UINT32_MAX,
                         .exec_min_us = UINT64_MAX,
                         .exec_second_us = UINT64_MAX};
    for (size_t i = from; i < to; i++) {
        const struct jp_rank *rank = &r->ranks[i];
        uint64_t us = k < rank->n_kernels ? rank->kernel_us[k] : JP_NO_KERNEL;

        if (us == JP_NO_KERNEL)
            return false;
        if (us < op->exec_min_us) {
            op->exec_second_us = op->exec_min_us;
            op->exec_min_us = us;
            op->min_rank = rank->rank;
        } else if (us < op->exec_second_us) {
            op->exec_second_us = us;
        }
        if (us > op->exec_max_us)
            op->exec_max_us = us;
        op->exec_sum_us += us;
    }
    op->n = op->n_exec = (uint32_t) (to - from);
    if (op->exec_second_us == op->exec_min_us)
        op->min_rank = UINT32_MAX;
    return op->n > 1;
}

/* The first kernel of part s. Both kinds repeat `rounds` times; ranks that wait
 * in one kind do not in the other, so a part has the same rounds of both. */
static size_t cut(size_t count, uint64_t steps, unsigned s)
{
    uint64_t rounds = stats_divisor(count, steps), end;

    if (!steps || rounds < JP_SLICES)
        return count * s / JP_SLICES;
    end = steps * s / JP_SLICES; /* cut where the join cuts, too */
    return (size_t) ((end * rounds + steps - 1) / steps * (count / rounds));
}

void alltoall_slices(const struct jp_rank *rank, size_t count, uint64_t steps,
                     double us[JP_SLICES])
{
    for (unsigned s = 0; s < JP_SLICES; s++) {
        size_t from = cut(count, steps, s), to = cut(count, steps, s + 1);
        size_t whole = 0;

        us[s] = 0;
        for (size_t k = from; k < to && k < rank->n_kernels; k++)
            if (rank->kernel_us[k] != JP_NO_KERNEL) {
                us[s] += (double) rank->kernel_us[k];
                whole++;
            }
        if (whole)
            us[s] *= (double) (to - from) / (double) whole;
        else if (to > from)
            us[s] = NAN;
    }
}
