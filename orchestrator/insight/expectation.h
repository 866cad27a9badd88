/* expectation.h - what the network should do, by who knows best.
 *
 * The site's peaks where they have a row and a size for the communicator, else
 * the baseline where it has enough reports of the cell, else nothing: then a
 * step can only be compared with itself.
 */
#ifndef JP_INSIGHT_EXPECTATION_H
#define JP_INSIGHT_EXPECTATION_H

#include "common/error.h"
#include "common/peaks.h"
#include "orchestrator/insight/netcells.h"

/* What the network did in earlier steps, cell by cell.
 *
 * Two distributions a cell: of operations, and of the reports' medians, one
 * each, which tells how much steps differ. All are whole numbers, and a report
 * is in a baseline once, by its fingerprint: baselines that share no report can
 * be merged in any order, with the same result.
 */
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

/* Whom a finding or a figure is compared with. */
enum jp_against {
    JP_AGAINST_NOTHING,
    JP_AGAINST_PEAKS,    /* of the site's links */
    JP_AGAINST_BASELINE, /* earlier steps */
    JP_AGAINST_LIKES,    /* communicators of one shape, in the same step */
    JP_AGAINST_OWN,      /* earlier in the same step */
    JP_N_AGAINST
};
/* "peaks", "baseline", "likes", "own"; NULL for nothing. */
const char *expectation_word(enum jp_against against);

/* Zero: nothing is expected. Borrows everything. */
struct jp_expectation {
    const struct jp_peaks *peaks;       /* NULL: none; without a path: the
                                           rates of the nodes' adapters */
    const struct jp_baseline *baseline; /* NULL: none */
    const char *peaks_path, *baseline_path;
    const char *gpu; /* model of all GPUs; "" or NULL unknown */
};

/* Of one communicator, function and size; GB/s. */
struct jp_expected_bw {
    enum jp_against against;  /* NOTHING, PEAKS or BASELINE */
    double gbs;               /* expected */
    double least_gbs;         /* below it is slow */
    double low_gbs, high_gbs; /* the band: of operations, p5 and p95; of peaks
                                 least and peak */
    uint64_t reports;         /* of a baseline */
};

/* expectation may be NULL. */
void expectation_find(const struct jp_expectation *expectation,
                      const struct jp_comm *comm, const char *coll,
                      uint64_t bytes, struct jp_expected_bw *out);

#endif
