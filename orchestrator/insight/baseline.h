/* baseline.h - what the network did in earlier steps, cell by cell.
 *
 * Two distributions a cell: of operations, and of the reports' medians, one
 * each, which tells how much steps differ. All are whole numbers, and a report
 * is in a baseline once, by its fingerprint: baselines that share no report can
 * be merged in any order, with the same result.
 */
#ifndef JP_INSIGHT_BASELINE_H
#define JP_INSIGHT_BASELINE_H

#include "common/error.h"
#include "orchestrator/insight/netcells.h"

#define BASELINE_MAX_CELLS 20000
#define BASELINE_MAX_REPORTS 100000

struct jp_baseline_cell {
    struct jp_netkey key;
    struct jp_bwhist ops, medians;
};

/* Zero is empty. */
struct jp_baseline {
    struct jp_baseline_cell *cells; /* sorted by key */
    size_t n_cells;
    uint64_t *reports; /* fingerprints, ascending */
    size_t n_reports;
};

void baseline_fini(struct jp_baseline *baseline);

/* NULL: no report had it. Borrowed. */
const struct jp_baseline_cell *baseline_find(const struct jp_baseline *baseline,
                                             const struct jp_netkey *key);
bool baseline_has_report(const struct jp_baseline *baseline,
                         uint64_t fingerprint);

/* Adds from to into. -1: no memory, too many cells or reports, or a report that
 * both hold, of which err names the fingerprint; into may hold a part of from
 * then. */
int baseline_merge(struct jp_baseline *into, const struct jp_baseline *from,
                   struct jp_error *err);

#endif
