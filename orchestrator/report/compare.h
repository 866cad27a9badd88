/* compare.h - compare two reports, or a baseline and a report: what became
 * slower, and what is new.
 *
 * The input is the summary.json of each, which is foreign. Cells of equal type,
 * function and size are compared by the median time of an operation's slowest
 * rank, if both sides have COMPARE_MIN_OPS operations. Two findings are the
 * same if their kind, node and rank of the program are equal.
 *
 * The first line is the answer: by the duration of a step of the program's
 * loop, if both reports know it from the collectives and a step has as many
 * operations in both; otherwise by the time of the operations that both have,
 * each as often as in A. Then it names the cell that changed most in that
 * direction, weighted in the same way.
 *
 * If a side is incomplete (its verdict says so, or less than 99 % of the
 * expected records are present), no cell is called slower or faster, because
 * the missing records may be the slow or the fast ones. A finding is new if
 * both sides are complete, or if it is a hang, which needs the last operations
 * only.
 *
 * If A is a baseline, its network cells are compared with those of the report,
 * by the median bandwidth of the network. The result is given as a change of
 * time. Cells that only the baseline has are left out, and every finding is
 * new.
 */
#ifndef JP_REPORT_COMPARE_H
#define JP_REPORT_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/error.h"
#include "orchestrator/insight/expectation.h"
#include "orchestrator/report/summary_file.h"

#define COMPARE_MIN_OPS 30

/* What is compared, and how it is shown. All pointers are borrowed. */
struct jp_comparison {
    const struct summary_file *a;
    const struct jp_baseline *baseline; /* replaces a; or NULL */
    const struct summary_file *b;
    double threshold;     /* smallest change that counts, as a share */
    const char *names[2]; /* names of A and B */
    bool json;            /* false: text for a terminal */
};

struct jp_compared {
    size_t slower, faster;  /* number of cells */
    size_t n_fresh, n_gone; /* number of findings only in B, and only in A */
    bool slower_answer;     /* B as a whole is slower */
    bool incomplete;        /* records of A or B are missing */
    bool has_nothing;       /* both have cells, but none in common: the programs
                               differ, so no statement is made */
};

/* Compares and prints. Returns 0, or -1 and err. *done holds the counts so far
 * in both cases. */
int compare_print(const struct jp_comparison *what, FILE *out,
                  struct jp_compared *done, struct jp_error *err);

#endif
