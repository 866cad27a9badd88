/* test_copper_verdict.c - reasons of a verdict by profiles of Copper. */
#include "orchestrator/copper/copper_feature.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/error.h"
#include "tests/report/verdict_rows.h"

static void nothing(struct fixture *f)
{
    (void) f;
}

/* NCCL was not profiled. */
static void mode_off(struct fixture *f)
{
    static char off[] = "off";

    f->conf.nccl_mode = off;
    f->report.result = NULL;
}

static void judge_copper(struct fixture *f, unsigned counted, unsigned good)
{
    struct jp_copper copper = {.n_ranks = 2,
                               .n_counted = counted,
                               .n_ops = counted,
                               .unjudged = counted};

    copper.n_state[JP_COPPER_GOOD] = good;
    verdict_judge_data(f, &feature_copper, &copper);
}

static void judge_no_copper(struct fixture *f)
{
    judge_copper(f, 0, 0);
}

static void judge_copper_part(struct fixture *f)
{
    judge_copper(f, 1, 1);
}

static void judge_copper_few(struct fixture *f)
{
    judge_copper(f, 2, 2);
}

static void judge_copper_later(struct fixture *f)
{
    struct feature_set features = {.data = {NULL}};

    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i] == &feature_copper)
            error_set(&features.trouble[i], "no memory");
    verdict_judge_features(f, &features);
}

static const struct verdict_situation situations[] = {
    {"no_copper", mode_off, judge_no_copper},
    {"copper_part", mode_off, judge_copper_part},
    {"copper_later", nothing, judge_copper_later},
    {"copper_few", mode_off, judge_copper_few},
};

static void test_reasons(void **state)
{
    (void) state;
    verdict_reasons_check(&feature_copper, situations,
                          sizeof(situations) / sizeof(*situations));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reasons),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
