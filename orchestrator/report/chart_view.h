/* chart_view.h - the operations of a result as charts look at them: in equal
 * slices of time, with the rank that came last and the wait it caused.
 *
 * Made once for a page. Places in a result that point nowhere are passed over.
 */
#ifndef JP_REPORT_CHART_VIEW_H
#define JP_REPORT_CHART_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/keymap.h"
#include "orchestrator/report/procs.h"
#include "orchestrator/report/rows.h"

#define JP_CHART_SLICES                                                        \
    100 /* of the run: what a wide screen can tell apart                       \
         */

struct jp_chart_view {
    const struct jp_result *result;
    struct jp_procs procs;
    bool *barrier;      /* by function: all ranks wait for the last one */
    size_t *first_rank; /* by communicator: its rows in result->ranks */
    /* slices by dump_min_us; slices = 0: no operation has a time */
    uint64_t from_us, width_us;
    unsigned slices;
};

/* Returns 0, or -1 when out of memory. result outlives the view. Free with
 * chart_view_fini. */
int chart_view_make(const struct jp_result *result, struct jp_chart_view *view);
void chart_view_fini(struct jp_chart_view *view);

/* Whether the operation's communicator and function are in the tables. */
bool chart_view_knows(const struct jp_chart_view *view, const struct jp_op *op);

/* The slice of an operation; JP_CHART_SLICES: it has no time. */
unsigned chart_view_slice(const struct jp_chart_view *view,
                          const struct jp_op *op);

/* Mean bandwidth over the ranks, GB/s; < 0: none. */
double chart_view_busbw(const struct jp_op *op);
/* The network's: the last arriver's, who waits for nobody, where all ranks of a
 * barrier-like operation have one; else the mean. */
double chart_view_net_busbw(const struct jp_chart_view *view,
                            const struct jp_op *op);

/* The place of a communicator's rank in result->ranks; SIZE_MAX: none. */
size_t chart_view_rank(const struct jp_chart_view *view, size_t comm,
                       uint32_t rank);

/* The row in result->ranks of the rank that came last to operation i, and what
 * the others waited for it; SIZE_MAX: nobody is blamed. As jp_rank counts. */
size_t chart_view_last(const struct jp_chart_view *view, size_t i,
                       uint64_t *caused_us);

/* The heaviest cells with a bandwidth, found by operation. */
struct jp_chart_cells {
    struct jp_rows rows;
    size_t of; /* cells with a bandwidth that there are */
    struct keymap map;
};
int chart_cells_make(const struct jp_chart_view *view, size_t max,
                     struct jp_chart_cells *cells);
/* Index into rows, KEYMAP_NONE: none of these. */
uint32_t chart_cells_find(const struct jp_chart_view *view,
                          const struct jp_chart_cells *cells,
                          const struct jp_op *op);
void chart_cells_fini(struct jp_chart_cells *cells);

#endif
