/* verdict_rows.h - changes to a good report, with their verdicts: a table of
 * texts, and a situation for each reason of a verdict. */
#ifndef JP_TESTS_REPORT_VERDICT_ROWS_H
#define JP_TESTS_REPORT_VERDICT_ROWS_H

#include <stddef.h>

#include "orchestrator/feature/feature.h"
#include "orchestrator/insight/verdict.h"
#include "tests/report/fixture.h"

struct verdict_row {
    void (*change)(struct fixture *);
    enum jp_verdict_word word;
    const char *says; /* part of the text */
};

/* Fails the test at the first row with another verdict. */
void verdict_rows_check(const struct verdict_row *rows, size_t n);

/* A good report that is changed and judged. */
struct verdict_situation {
    const char *key; /* of the reason that the verdict has then */
    void (*change)(struct fixture *);
    void (*judge)(struct fixture *); /* NULL: fixture_judge */
};

/* Fails the test if the verdict does not have row as its first reason, and that
 * reason's word. */
void verdict_situation_check(const struct jp_reason_row *row,
                             const struct verdict_situation *situation);

/* The same for each row of situations; fails, too, if a reason of the feature
 * has no situation. */
void verdict_reasons_check(const struct feature *feature,
                           const struct verdict_situation *situations,
                           size_t n);

/* Judges as fixture_judge does, with a feature's data; data NULL: none. */
void verdict_judge_data(struct fixture *f, const struct feature *feature,
                        void *data);
/* The same with data of several features, or with what failed. */
void verdict_judge_features(struct fixture *f,
                            const struct feature_set *features);

#endif
