/* test_pools.c - the verdict on traces of profilers whose event pools were
 * full. */
#include "orchestrator/insight/verdict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/report/verdict_rows.h"

/* Traces with a pool of 1,200 collectives, fewer than the run had. */
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

/* Sequence numbers show only what the pools hold. */
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

/* The user gave the run's length, with Inspector: the sequence numbers end with
 * the logs of all ranks. */
static void inspector_tail(struct fixture *f)
{
    static char mode[] = "inspector", option[] = "option", key[] = "colls",
                value[] = "1", none[] = "",
                lost[] = "loses up to 150 of 400 records of each rank: "
                         "those of the last 1s of a communicator";
    struct jp_quality *q = &f->result.quality;

    f->conf.nccl_mode = mode;
    f->conf.lost = lost;
    f->conf.planned_ops = 400;
    f->conf.kept_ops = 250;
    f->conf.settings[3] = (struct jp_setting){key, value, option, none, none};
    q->expected_kind = JP_EXPECT_BOUND;
    q->records = q->expected = 272 * (uint64_t) q->ranks_seen;
    q->recordings = 0;
}

static void inspector_tail_small(struct fixture *f)
{
    inspector_tail(f);
    f->result.quality.records = f->result.quality.expected =
        399 * (uint64_t) f->result.quality.ranks_seen;
}

/* The run's length is a default, so it does not show that records are missing.
 */
static void inspector_assumed(struct fixture *f)
{
    static char assumed[] = "default";

    inspector_tail(f);
    f->conf.settings[3].source = assumed;
}

/* The length comes from the site's file, which is not about this run. */
static void inspector_by_site(struct fixture *f)
{
    static char site[] = "site file";

    inspector_tail(f);
    f->conf.settings[1].source = site;
}

/* The missing records may have been left out by the size filter. */
static void inspector_filtered(struct fixture *f)
{
    static char size[] = "8192";

    inspector_tail(f);
    f->conf.settings[4].value = size;
}

/* A task failed, so it is unknown how far the run came. */
static void inspector_failed(struct fixture *f)
{
    inspector_tail(f);
    f->nodes.tasks_failed = 1;
}

static void inspector_runs(struct fixture *f)
{
    inspector_tail(f);
    f->nodes.nodes[0].finished = false;
}

/* The plan lost nothing: the program did less than was planned. */
static void inspector_keeps_all(struct fixture *f)
{
    static char none[] = "";

    inspector_tail(f);
    f->conf.kept_ops = f->conf.planned_ops;
    f->conf.lost = none;
}

static const struct verdict_row rows[] = {
    {example_full, JP_VERDICT_INCOMPLETE,
     "a trace holds as many events as a pool "
     "(NCCL_PROFILE_COLL_POOL_SIZE=1200): the number of other dropped events "
     "is unknown; by the plan it keeps the last 1,200 of 40,000 collectives"},
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
    {inspector_tail, JP_VERDICT_INCOMPLETE,
     "68.0 % of the records present (8,704 of 12,800 by iterations= and "
     "colls=): all ranks lost the last ones, or ran fewer; plan: it "
     "loses up to 150 of 400 records of each rank"},
    {inspector_tail_small, JP_VERDICT_OK,
     "at most 99.8 % of the records by the plan"},
    {inspector_assumed, JP_VERDICT_OK,
     "no gap in the sequence numbers (they do not show a tail that all ranks "
     "lost)"},
    {inspector_by_site, JP_VERDICT_OK, "(they do not show a tail"},
    {inspector_filtered, JP_VERDICT_OK, "(they do not show a tail"},
    {inspector_failed, JP_VERDICT_OK, "(they do not show a tail"},
    {inspector_runs, JP_VERDICT_INCOMPLETE, "1 node did not finish"},
    {inspector_keeps_all, JP_VERDICT_OK, "no gap in the sequence numbers"},
};

/* A finding rests on the records that exist: a lost tail does not remove it. */
static void test_finding_stays(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    (void) state;
    assert_non_null(f);
    fixture_slow(f);
    inspector_tail(f);
    f->nodes.tasks_failed = 0;
    fixture_judge(f, true);
    assert_int_equal(f->verdict.word, JP_VERDICT_SLOW);
    assert_non_null(strstr(f->verdict.text, "by iterations= and colls="));
    fixture_fini(f);
    free(f);
}

static void test_rows(void **state)
{
    (void) state;
    verdict_rows_check(rows, sizeof(rows) / sizeof(*rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_finding_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
