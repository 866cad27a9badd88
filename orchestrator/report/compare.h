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
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "common/error.h"
#include "orchestrator/insight/expectation.h"
#include "orchestrator/report/netkey_json.h"

#define COMPARE_MIN_OPS 30

enum compare_course {
    COMPARE_SAME,
    COMPARE_FASTER,
    COMPARE_SLOWER,
    COMPARE_FEW,        /* too few operations to say */
    COMPARE_INCOMPLETE, /* records are missing */
    COMPARE_ONE_SIDED
};

struct compare_cell {
    const char *type, *coll; /* borrowed from the summaries */
    uint64_t bytes;
    uint64_t ops[2];
    double time_us[2]; /* medians; NAN: none */
    double busbw_gbs[2];
    double change;           /* of the time, a share; NAN */
    char kind[NETNAMES_LEN]; /* of a network cell; "" */
    enum compare_course course;
};

struct jp_compare {
    const json_t *roots[2]; /* borrowed; A's is NULL with a baseline */
    const struct jp_baseline *baseline; /* A, or NULL; borrowed */
    double threshold;                   /* a share */
    bool incomplete[2];                 /* A, B: records are missing */
    struct compare_cell *cells;         /* as in A, then those only in B */
    size_t n_cells, slower, faster;
    const json_t **fresh, **gone; /* findings only in B, only in A; borrowed */
    size_t n_fresh, n_gone;
};

/* Compares b with a, summaries that summary_file_read gave and that outlive
 * the result. 0, or -1 without memory. Release with compare_fini. */
int compare_init(struct jp_compare *compare, const json_t *a, const json_t *b,
                 double threshold);
/* Compares b with a baseline; both outlive the result. */
int compare_init_baseline(struct jp_compare *compare,
                          const struct jp_baseline *baseline, const json_t *b,
                          double threshold);
void compare_fini(struct jp_compare *compare);

/* There are cells, and none is in both: unlike programs, nothing is told of
 * either. */
bool compare_has_nothing(const struct jp_compare *compare);

/* For a terminal, or JSON. names: of A and B. 0, or -1 and err. */
int compare_print(const struct jp_compare *compare, const char *const names[2],
                  FILE *out, struct jp_error *err);
int compare_print_json(const struct jp_compare *compare,
                       const char *const names[2], FILE *out,
                       struct jp_error *err);

#endif
