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
#include "orchestrator/cause/samples.h"
#include "orchestrator/insight/insight.h"
#include "orchestrator/insight/processes.h"
#include "orchestrator/report/table.h"

#define JP_CHART_SLICES                                                        \
    100 /* of the run at most: what a wide screen can tell apart               \
         */

struct jp_chart_view {
    const struct jp_result *result;
    const struct jp_insight *insight; /* NULL until somebody sets it */
    const struct samples *samples;    /* NULL likewise: nobody sampled */
    const struct jp_processes *processes;
    bool *barrier; /* by function: all ranks wait for the last one */
    /* of dump_min_us, over the span of the result's windows; slices = 0: no
     * operation has a time */
    uint64_t from_us, width_us;
    unsigned slices;
};

/* Returns 0, or -1 when out of memory. result and its processes outlive the
 * view. Free with chart_view_fini. */
int chart_view_make(const struct jp_result *result,
                    const struct jp_processes *processes,
                    struct jp_chart_view *view);
void chart_view_fini(struct jp_chart_view *view);

/* An operation with what charts ask of it. */
struct jp_chart_op {
    /* but for its starts; comm and coll are in the tables */
    const struct jp_op *op;
    unsigned slice;     /* JP_CHART_SLICES: it has no time */
    double busbw_gbs;   /* mean over the ranks; < 0: none */
    double net_gbs;     /* the network's: of the last arriver, who waits for
                           nobody, where all ranks of a barrier-like operation
                           have one; else the mean */
    size_t last;        /* who came last, a row in result->ranks, as jp_rank
                           counts; SIZE_MAX: nobody is blamed */
    uint64_t caused_us; /* what the others waited for it */
};

/* Calls visit with each operation, in the result's order. Stops where visit
 * returns -1, and returns that. */
int chart_view_walk(const struct jp_chart_view *view,
                    int (*visit)(void *arg, const struct jp_chart_op *op),
                    void *arg);

/* The place of a communicator's rank in result->ranks; SIZE_MAX: none. */
size_t chart_view_rank(const struct jp_chart_view *view, size_t comm,
                       uint32_t rank);

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
