/* op_of.h - the result of a folder, and one operation of a result, by value.
 * Include it after cmocka.h. */
#ifndef JP_TESTS_AGGREGATE_OP_OF_H
#define JP_TESTS_AGGREGATE_OP_OF_H

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/ops.h"

static inline struct jp_op op_of(const struct jp_result *r, size_t i)
{
    struct ops_reader reader = {.ops = r->ops};

    return *ops_at(&reader, i);
}

static inline struct jp_result *
result_of(const char *dir, const struct jp_aggregate_options *options)
{
    struct jp_error err = {""};
    struct jp_result *r = aggregate_run(&dir, 1, options, &err);

    if (!r)
        fail_msg("%s", err.text);
    return r;
}

#endif
