/* verdict_rows.c - apply each change of a table to a good report and check the
 * verdict or its reason. */
#include "tests/report/verdict_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void verdict_rows_check(const struct verdict_row *rows, size_t n)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    for (size_t i = 0; i < n; i++) {
        fixture_good(f);
        rows[i].change(f);
        fixture_judge(f, true);
        if (f->verdict.word != rows[i].word ||
            !strstr(f->verdict.text, rows[i].says))
            fail_msg("row %zu: %s %s\nexpected: %s", i,
                     verdict_word_name(f->verdict.word), f->verdict.text,
                     rows[i].says);
        fixture_fini(f);
    }
    free(f);
}

void verdict_judge_features(struct fixture *f,
                            const struct feature_set *features)
{
    const struct verdict_input in = {.conf = f->report.conf,
                                     .nodes = f->report.nodes,
                                     .result = f->report.result,
                                     .insight = f->report.insight,
                                     .features = features,
                                     .analysed = true,
                                     .step_dir = "/"};

    verdict_make(&in, &f->verdict);
}

void verdict_judge_data(struct fixture *f, const struct feature *feature,
                        void *data)
{
    struct feature_set features = {.data = {NULL}};

    feature_lend(&features, feature, data);
    verdict_judge_features(f, &features);
}

void verdict_situation_check(const struct jp_reason_row *row,
                             const struct verdict_situation *situation)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    fixture_good(f);
    situation->change(f);
    if (situation->judge)
        situation->judge(f);
    else
        fixture_judge(f, true);
    if (!f->verdict.why.n || f->verdict.why.of[0] != row ||
        f->verdict.word != row->word)
        fail_msg("%s: %s %s, %s", row->key, verdict_word_name(f->verdict.word),
                 f->verdict.why.n ? f->verdict.why.of[0]->key : "no reason",
                 f->verdict.text);
    assert_ptr_equal(f->verdict.checks[0], row->checks[0]);
    fixture_fini(f);
    free(f);
}

void verdict_reasons_check(const struct feature *feature,
                           const struct verdict_situation *situations, size_t n)
{
    const struct jp_reason_row *rows = feature->reasons;

    assert_non_null(rows);
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;

        while (rows[k].key && strcmp(rows[k].key, situations[i].key) != 0)
            k++;
        if (!rows[k].key)
            fail_msg("%s has no reason %s", feature->name, situations[i].key);
        verdict_situation_check(&rows[k], &situations[i]);
    }
    for (size_t k = 0; rows[k].key; k++) {
        size_t i = 0;

        while (i < n && strcmp(rows[k].key, situations[i].key) != 0)
            i++;
        if (i == n)
            fail_msg("no situation for %s", rows[k].key);
    }
}
