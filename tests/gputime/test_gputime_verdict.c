/* test_gputime_verdict.c - reasons of a verdict by traces of kernels. */
#include "orchestrator/gputime/gputime_feature.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/report/verdict_rows.h"

/* Two traces with kernels of NCCL, of which none could be joined. */
static void only_traces(struct fixture *f)
{
    static struct traced traced = {.rank = 0, .kernels = 9, .comm_kernels = 3};

    f->result.quality = (struct jp_quality){.files = 2, .kernel_traces = 2};
    f->result.traced = (struct traced_list){&traced, 1};
}

/* A trace without an event. */
static void empty_traces(struct fixture *f)
{
    static struct traced traced = {.rank = 0, .pid = -1};

    f->result.quality = (struct jp_quality){.files = 1, .kernel_traces = 1};
    f->result.traced = (struct traced_list){&traced, 1};
}

/* The feature has no data of its own: traces are read with the operations. */
static void judge_traces(struct fixture *f)
{
    verdict_judge_data(f, &feature_gputime, NULL);
}

static const struct verdict_situation situations[] = {
    {"no_events", empty_traces, judge_traces},
    {"traces_only", only_traces, judge_traces},
};

static void test_reasons(void **state)
{
    (void) state;
    verdict_reasons_check(&feature_gputime, situations,
                          sizeof(situations) / sizeof(*situations));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reasons),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
