/* test_nsys_verdict.c - reasons of a verdict by timelines of Nsight Systems. */
#include "orchestrator/nsys/nsys_feature.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/report/verdict_rows.h"

/* NCCL was not profiled. */
static void mode_off(struct fixture *f)
{
    static char off[] = "off";

    f->conf.nccl_mode = off;
    f->report.result = NULL;
}

static void judge_nsys(struct fixture *f)
{
    struct jp_nsys_rank rank = {.rank = 0};
    struct jp_nsys nsys = {.ranks = &rank, .n_ranks = 1};

    verdict_judge_data(f, &feature_nsys, &nsys);
}

static const struct verdict_situation situations[] = {
    {"nsys_only", mode_off, judge_nsys},
};

static void test_reasons(void **state)
{
    (void) state;
    verdict_reasons_check(&feature_nsys, situations,
                          sizeof(situations) / sizeof(*situations));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reasons),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
