/* alltoall.c - AlltoAlls made of Send and Recv, as operations of all ranks.
 *
 * NCCL records each message of such an AlltoAll. The join keeps for each rank
 * the time of its k-th kernel (kernel_us), from its arrival to the end of its
 * longest message. The k-th kernels of all ranks are one AlltoAll.
 */
#include "orchestrator/insight/alltoall.h"

#include <math.h>

#include "orchestrator/aggregate/pauses.h"
#include "orchestrator/insight/limits.h"
#include "common/stats.h"

/* Returns how many kernels of a rank have all their messages. */
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

    if (to - from != r->comms[comm].n_ranks || pauses_ended(&r->quality))
        return 0;
    for (size_t i = from; i < to; i++)
        if (r->ranks[i].n_kernels > most)
            most = r->ranks[i].n_kernels;
    /* If many kernels of a rank are missing, its numbering may be shifted
     * against that of the others, and its k-th kernel would belong to another
     * operation. Such a communicator is not used at all. */
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
        /* Only complete AlltoAlls count: the last rank is known only if all
         * are. */
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
    /* Two ranks came last together: neither is waited for alone. */
    if (op->exec_second_us == op->exec_min_us)
        op->min_rank = UINT32_MAX;
    return op->n > 1;
}

/* Returns the index of the first kernel of part s of the run. steps: operations
 * of the rank's other communicator. If a fixed number of AlltoAlls lies between
 * two of these, both repeat `rounds` times, and each part gets the same rounds
 * of both: a rank that waits in one kind does not wait in the other, so parts
 * with different rounds could not be added. */
static size_t cut(size_t count, uint64_t steps, unsigned s)
{
    uint64_t rounds = stats_divisor(count, steps), end;

    if (!steps || rounds < JP_SLICES)
        return count * s / JP_SLICES;
    end = steps * s / JP_SLICES; /* the join cuts the other one here */
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
        /* Scale to all kernels of the part, as if the missing ones had taken
         * the mean time. A part of which nothing is known is NAN, not 0: 0
         * would mean that the rank never waited. */
        if (whole)
            us[s] *= (double) (to - from) / (double) whole;
        else if (to > from)
            us[s] = NAN;
    }
}
