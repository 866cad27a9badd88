/* op_of.h - one operation of a result, by value. */
#ifndef JP_TESTS_AGGREGATE_OP_OF_H
#define JP_TESTS_AGGREGATE_OP_OF_H

#include "orchestrator/aggregate/ops.h"

static inline struct jp_op op_of(const struct jp_result *r, size_t i)
{
    struct ops_reader reader = {.ops = r->ops};

    return *ops_at(&reader, i);
}

#endif
