/* example_limits.c - the table of limits. */
#include "plugins/nccl_example/example_limits.h"

#include "common/num.h"

/* The largest pool's bytes. */
static uint64_t largest(const struct example_plan *p)
{
    uint64_t most = 0;

    for (int i = 0; i < EXAMPLE_POOLS; i++) {
        uint64_t bytes = num_mul(p->pool[i], p->slots->bytes[i]);

        most = bytes > most ? bytes : most;
    }
    return most;
}

/* What one allocation may take under overcommit 0; a tenth stays free, for
 * nodes differ a little. UINT64_MAX: not known. */
static uint64_t one_pool(const struct jp_jobshape *shape)
{
    uint64_t bytes = num_add(shape->node.ram_bytes, shape->node.swap_bytes);

    if (!shape->ram_known && shape->step_memory_bytes &&
        (!bytes || shape->step_memory_bytes < bytes))
        bytes = shape->step_memory_bytes;
    if (!bytes || shape->node.overcommit != 0)
        return UINT64_MAX;
    return bytes / 10 * 9;
}

/* Half of what CommitLimit leaves, the other half is the program's. */
static uint64_t commit(const struct jp_nodemem *node)
{
    if (node->overcommit != 2 || !node->commit_limit_bytes)
        return UINT64_MAX;
    return node->commit_limit_bytes > node->committed_bytes
               ? (node->commit_limit_bytes - node->committed_bytes) / 2
               : 0;
}

bool example_limits_exceeded(const struct example_demand *d,
                             const struct example_plan *p,
                             struct example_limit *out)
{
    const struct jp_jobshape *shape = &d->in->shape;
    const struct plan_side *side = d->in->side;
    uint64_t files = num_mul(p->disk_bytes, shape->ntasks ? shape->ntasks : 1);
    const struct example_limit rows[] = {
        {"mem=", p->resident_bytes, plan_number(side, "mem")},
        {"a rank's part of a quarter of the step's memory", p->resident_bytes,
         jobshape_memory(shape)},
        {"one pool in RAM + swap (vm.overcommit_memory=0)", largest(p),
         one_pool(shape)},
        {"half of the node's CommitLimit (vm.overcommit_memory=2)",
         num_mul(p->reserved_bytes, jobshape_ranks(shape)),
         commit(&shape->node)},
        {"half of the address space limit (ulimit -v)", p->reserved_bytes,
         shape->address_limit_bytes ? shape->address_limit_bytes / 2
                                    : UINT64_MAX},
        {"disk=", files, plan_number(side, "disk")},
        {"the file system's free space less min_free=", files,
         jobshape_room(shape, plan_number(side, "min_free"))},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (rows[i].bytes > rows[i].limit) {
            *out = rows[i];
            return true;
        }
    return false;
}
