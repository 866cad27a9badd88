/* expectation.h - what the network should do, by who knows best.
 *
 * The site's peaks where they have a row and a size for the communicator, else
 * the baseline where it has enough reports of the cell, else nothing: then a
 * step can only be compared with itself.
 */
#ifndef JP_INSIGHT_EXPECTATION_H
#define JP_INSIGHT_EXPECTATION_H

#include "common/peaks.h"
#include "orchestrator/insight/baseline.h"

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
