/* compare.h - two reports, or a baseline and a report, side by side: what
 * became slower, what is new.
 *
 * From summary.json of each, which is foreign input. Cells of one type,
 * function and size are compared by the median time of an operation's longest
 * rank, where both have COMPARE_MIN_OPS operations. A finding is the same in
 * both if kind, node and rank of the program are.
 *
 * Where one of them is incomplete (its verdict says so, or under 99 % of the
 * expected records are present), no cell is called slower or faster: what is
 * missing may be what was slow, or quick. A finding is new where it is a hang,
 * which needs last operations only, or where both are complete.
 *
 * With a baseline as A, the report's network cells are compared with its: the
 * median bandwidth of the network, told as a change of time. Cells that only
 * the baseline has are left out, and every finding is new.
 */
#ifndef JP_REPORT_COMPARE_H
#define JP_REPORT_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#include "common/error.h"
#include "orchestrator/insight/expectation.h"

#define COMPARE_MIN_OPS 30

/* What is compared, and how it is shown; all borrowed. */
struct jp_comparison {
    const json_t *a;                    /* as summary_file_read gives it */
    const struct jp_baseline *baseline; /* in place of a, or NULL */
    const json_t *b;
    double threshold;     /* a share */
    const char *names[2]; /* of A and B */
    bool json;            /* else for a terminal */
};

struct jp_compared {
    size_t slower, faster;  /* cells */
    size_t n_fresh, n_gone; /* findings only in B, only in A */
    bool incomplete;        /* records of A or B are missing */
    bool has_nothing;       /* there are cells, and none is in both: unlike
                               programs, nothing is said of either */
};

/* Compares and prints. 0, or -1 and err; *done as far as it came. */
int compare_print(const struct jp_comparison *what, FILE *out,
                  struct jp_compared *done, struct jp_error *err);

#endif
