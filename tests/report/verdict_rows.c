/* verdict_rows.c - apply each change of a table to a good report and check the
 * verdict. */
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
