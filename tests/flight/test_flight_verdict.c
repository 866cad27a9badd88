/* test_flight_verdict.c - reasons of a verdict by dumps of Flight Recorders. */
#include "orchestrator/flight/flight_feature.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/report/verdict_rows.h"

/* jobprof aggregate with a folder that has no file of a profiler. */
static void folder_without_logs(struct fixture *f)
{
    f->report.conf = NULL;
    f->report.nodes = NULL;
    f->report.result = NULL;
}

/* A dump that shows no hang. */
static void judge_dumps(struct fixture *f)
{
    struct flight_dump dump = {.rank = 0};
    struct jp_flight flight = {.dumps = &dump, .n_dumps = 1};

    verdict_judge_data(f, &feature_flight, &flight);
}

/* A dump that cannot be used. */
static void judge_bad_dumps(struct fixture *f)
{
    static char path[] = "trace_0";
    struct flight_dump dump = {.path = path, .bad = true, .why = "it is cut"};
    struct jp_flight flight = {.dumps = &dump, .n_dumps = 1, .n_bad = 1};

    verdict_judge_data(f, &feature_flight, &flight);
}

static const struct verdict_situation situations[] = {
    {"bad_dumps", folder_without_logs, judge_bad_dumps},
    {"dumps_only", folder_without_logs, judge_dumps},
};

static void test_reasons(void **state)
{
    (void) state;
    verdict_reasons_check(&feature_flight, situations,
                          sizeof(situations) / sizeof(*situations));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reasons),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
