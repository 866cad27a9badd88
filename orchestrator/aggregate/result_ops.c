/* result_ops.c - the closed communicators' operations, in their final order. */
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/aggregate/result_build.h"

int result_ops(struct build *b)
{
    struct jp_result *r = b->result;

    r->ops = b->join->ops;
    b->join->ops = NULL; /* handed over */
    ops_renumber(r->ops, b->comm_at, b->func_at);
    r->n_ops = r->ops->n;
    return 0;
}
