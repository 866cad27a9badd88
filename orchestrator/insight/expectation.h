/* expectation.h - how fast the network should be, by the best source that is
 * available.
 *
 * The sources, in this order: the site's peaks, if they have a row and a size
 * for the communicator; the baseline, if it has enough reports of the cell.
 * Without both, a step can only be compared with itself.
 */
#ifndef JP_INSIGHT_EXPECTATION_H
#define JP_INSIGHT_EXPECTATION_H

#include "common/error.h"
#include "common/peaks.h"
#include "orchestrator/insight/netcells.h"

/* What a finding or a figure is compared with. */
enum jp_against {
    JP_AGAINST_NOTHING,
    JP_AGAINST_PEAKS,    /* the site's links */
    JP_AGAINST_BASELINE, /* earlier steps */
    JP_AGAINST_LIKES,    /* communicators of the same shape, in the same step */
    JP_AGAINST_OWN,      /* itself, earlier in the same step */
    JP_N_AGAINST
};
/* "peaks", "baseline", "likes", "own"; NULL for NOTHING. */
const char *expectation_word(enum jp_against against);

/* What expectations are made from. Zero: nothing is expected. Borrows
 * everything. */
struct jp_expectation {
    const struct jp_peaks *peaks; /* NULL: none. Without a path: from the rates
                                     of the nodes' adapters */
    const struct jp_baseline *baseline; /* NULL: none */
    const char *peaks_path, *baseline_path;
    const char *gpu; /* model of all GPUs; "" or NULL unknown */
};

/* The expectation for one communicator, function and size; GB/s. */
struct jp_expected_bw {
    enum jp_against against;  /* NOTHING, PEAKS or BASELINE */
    double gbs;               /* expected */
    double least_gbs;         /* slower than this is a finding */
    double low_gbs, high_gbs; /* the band: p5 and p95 of operations, or least
                                 and peak of peaks */
    uint64_t reports;         /* of the baseline; NOTHING: too few */
};

/* expectation may be NULL. */
void expectation_find(const struct jp_expectation *expectation,
                      const struct jp_comm *comm, const char *coll,
                      uint64_t bytes, struct jp_expected_bw *out);

#endif
