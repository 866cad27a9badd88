/* test_pools.c - the verdict on traces whose pools were full. */
#include "orchestrator/insight/verdict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/report/verdict_rows.h"

/* Traces whose pool of 1,200 collectives was made smaller than the run. */
static void example_full(struct fixture *f)
{
    static char example[] = "example", slots[] = "1200";
    static char name[] = "NCCL_PROFILE_COLL_POOL_SIZE";
    static char lost[] = "keeps the last 1,200 of 40,000 collectives";

    f->conf.nccl_mode = example;
    f->conf.env[1].name = name;
    f->conf.env[1].value = slots;
    f->conf.lost = lost;
    f->conf.kept_ops = 1200;
    f->conf.planned_ops = 40000;
    f->result.quality.traces = 8;
    f->result.quality.trace_most[JP_TRACE_COLL] = 1200;
}

/* Sequence numbers tell of what the pools hold only. */
static void example_bound(struct fixture *f)
{
    struct jp_quality *q = &f->result.quality;

    example_full(f);
    q->expected_kind = JP_EXPECT_BOUND;
    q->records = q->expected = 1200 * (uint64_t) q->ranks_seen;
}

static void example_not_full(struct fixture *f)
{
    example_full(f);
    f->result.quality.trace_most[JP_TRACE_COLL] = 1199;
}

static void example_as_planned(struct fixture *f)
{
    example_full(f);
    f->conf.kept_ops = f->conf.planned_ops = 1200;
    f->conf.lost = NULL;
}

static void example_gaps(struct fixture *f)
{
    example_as_planned(f);
    f->result.quality.overflow_records = 1;
}

static void folder_of_traces(struct fixture *f)
{
    f->report.conf = NULL;
    f->report.nodes = NULL;
    f->result.quality.traces = 8;
    f->result.quality.trace_most[JP_TRACE_COLL] = 9;
    f->result.quality.trace_most[JP_TRACE_GROUP_API] = 256;
}

static void folder_of_small_traces(struct fixture *f)
{
    folder_of_traces(f);
    f->result.quality.trace_most[JP_TRACE_GROUP_API] = 16;
}

static const struct verdict_row rows[] = {
    {example_full, JP_VERDICT_INCOMPLETE,
     "a trace holds as many events as a pool "
     "(NCCL_PROFILE_COLL_POOL_SIZE=1200): what was dropped besides is not "
     "known; the plan said: it keeps the last 1,200 of 40,000 collectives"},
    {example_bound, JP_VERDICT_INCOMPLETE,
     "3.0 % of the records present (38,400 of 1,280,000 by the plan)"},
    {example_not_full, JP_VERDICT_OK, "all records present"},
    {example_as_planned, JP_VERDICT_OK, "all records present"},
    {example_gaps, JP_VERDICT_INCOMPLETE,
     "1 record dropped by the example plugin's full pools "
     "(NCCL_PROFILE_*_POOL_SIZE), by sequence numbers"},
    {folder_of_traces, JP_VERDICT_INCOMPLETE,
     "(NCCL_PROFILE_GROUP_API_POOL_SIZE=256)"},
    {folder_of_small_traces, JP_VERDICT_OK, "all records present"},
};

static void test_rows(void **state)
{
    (void) state;
    verdict_rows_check(rows, sizeof(rows) / sizeof(*rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
