/* test_topo_verdict.c - which faults of nodes make a step DEGRADED. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "orchestrator/insight/verdict.h"

static char dead[] = "n2: GPU3 has 17 active NVLinks, its peer 18";
static char down[] = "n2: GPU1's nearest HCA mlx5_1 (PIX) has no active port";
static char odd[] = "n2 is unlike the other nodes";

static void test_words(void **state)
{
    static const struct {
        enum jp_warning_kind kinds[3];
        size_t n;
        enum jp_verdict_word before, after;
        const char *begin;
    } rows[] = {
        {{0}, 0, JP_VERDICT_OK, JP_VERDICT_OK, "all there"},
        {{JP_WARN_ODD_NODE}, 1, JP_VERDICT_OK, JP_VERDICT_OK, "all there"},
        {{JP_WARN_HCA_DOWN}, 1, JP_VERDICT_OK, JP_VERDICT_OK, "all there"},
        {{JP_WARN_HCA_DOWN, JP_WARN_ODD_NODE},
         2,
         JP_VERDICT_OK,
         JP_VERDICT_DEGRADED,
         "n2: GPU1's nearest HCA mlx5_1 (PIX) has no active port; all there"},
        {{JP_WARN_HCA_DOWN, JP_WARN_DEAD_NVLINK, JP_WARN_ODD_NODE},
         3,
         JP_VERDICT_OK,
         JP_VERDICT_DEGRADED,
         "n2: GPU3 has 17 active NVLinks, its peer 18; all there"},
        {{JP_WARN_DEAD_NVLINK},
         1,
         JP_VERDICT_INCOMPLETE,
         JP_VERDICT_INCOMPLETE,
         "all there"},
        {{JP_WARN_DEAD_NVLINK}, 1, JP_VERDICT_HANG, JP_VERDICT_HANG, "all the"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct jp_step_warning warnings[3] = {0};
        struct jp_step_labels labels = {.warnings = warnings,
                                        .n_warnings = rows[i].n};
        struct jp_hypotheses h = {0};
        struct jp_verdict verdict = {.word = rows[i].before,
                                     .text = "all there"};

        for (size_t k = 0; k < rows[i].n; k++) {
            warnings[k].kind = rows[i].kinds[k];
            warnings[k].text = warnings[k].kind == JP_WARN_DEAD_NVLINK ? dead
                               : warnings[k].kind == JP_WARN_HCA_DOWN  ? down
                                                                       : odd;
        }
        topo_verdict_add(&labels, &h, &verdict);
        assert_int_equal(verdict.word, rows[i].after);
        assert_true(hypothesis_judged(&h, JP_HYPOTHESIS_TOPOLOGY));
        if (rows[i].after == JP_VERDICT_DEGRADED)
            assert_int_equal(h.of[JP_HYPOTHESIS_TOPOLOGY].state,
                             JP_HYPOTHESIS_FOUND);
        assert_memory_equal(verdict.text, rows[i].begin, strlen(rows[i].begin));
    }
}

static void test_long(void **state)
{
    struct jp_step_warning warning = {.kind = JP_WARN_DEAD_NVLINK,
                                      .text = dead};
    struct jp_step_labels labels = {.warnings = &warning, .n_warnings = 1};
    struct jp_hypotheses h = {0};
    struct jp_verdict verdict = {.word = JP_VERDICT_OK};

    (void) state;
    memset(verdict.text, 'x', sizeof(verdict.text) - 1);
    topo_verdict_add(&labels, &h, &verdict);
    assert_int_equal(strlen(verdict.text), sizeof(verdict.text) - 1);
    assert_memory_equal(verdict.text, dead, strlen(dead));
    topo_verdict_add(NULL, NULL, &verdict);
    assert_int_equal(verdict.word, JP_VERDICT_DEGRADED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
