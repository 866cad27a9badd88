/* verdict_rows.h - a table of changes to a good report, with their verdicts. */
#ifndef JP_TESTS_REPORT_VERDICT_ROWS_H
#define JP_TESTS_REPORT_VERDICT_ROWS_H

#include <stddef.h>

#include "orchestrator/insight/verdict.h"
#include "tests/report/fixture.h"

struct verdict_row {
    void (*change)(struct fixture *);
    enum jp_verdict_word word;
    const char *says; /* part of the text */
};

/* Fails the test at the first row with another verdict. */
void verdict_rows_check(const struct verdict_row *rows, size_t n);

#endif
