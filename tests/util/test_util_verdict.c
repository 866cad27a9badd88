/* test_util_verdict.c - reasons of a verdict if only utilisation was asked for.
 */
#include "orchestrator/util/util_feature.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/report/verdict_rows.h"

/* Samples were asked for, and no profile of NCCL. */
static void only_util(struct fixture *f)
{
    static char off[] = "off";

    f->conf.nccl_mode = off;
    f->conf.policy.period_ms = 1000;
    f->report.result = NULL;
}

static void judge_no_samples(struct fixture *f)
{
    verdict_judge_data(f, &feature_util, NULL);
}

static void judge_samples(struct fixture *f)
{
    struct jp_util_row row = {.samples = 9};
    struct jp_util util = {.rows = &row, .n_rows = 1};
    struct util_data data = {.util = &util};

    verdict_judge_data(f, &feature_util, &data);
}

/* The reasons are those of all features with figures. */
static void test_reasons(void **state)
{
    (void) state;
    verdict_situation_check(
        &reasons_table[JP_REASON_NO_SAMPLES],
        &(struct verdict_situation){"no_samples", only_util, judge_no_samples});
    verdict_situation_check(
        &reasons_table[JP_REASON_FIGURES_ONLY],
        &(struct verdict_situation){"figures_only", only_util, judge_samples});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reasons),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
