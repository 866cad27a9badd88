/* netcells.h - what the network did, over all communicators of a kind.
 *
 * The key of a cell: what communicators run over (the label, and NCCL's type),
 * their ranks and nodes, the GPUs' model, the function, and a class of sizes.
 * Its values are the network's own bandwidths: of complete barrier-like
 * operations after the warm-up, from the time of the rank that arrives last.
 * Cells of different steps can be compared and added.
 *
 * Sizes fall into four classes a power of two: 1, 1.25, 1.5, 1.75 times 2^e.
 */
#ifndef JP_INSIGHT_NETCELLS_H
#define JP_INSIGHT_NETCELLS_H

#include "common/error.h"
#include "orchestrator/aggregate/aggregate.h"

#define BWHIST_PARTS 64
#define BWHIST_BUCKETS 3776
#define BWHIST_MAX_COUNT (UINT64_C(1) << 53) /* exact as a double */

/* A distribution of bandwidths that adds up: a log-linear histogram.
 *
 * A bandwidth is an integer number of 1e-6 GB/s. Each power of two is cut into
 * BWHIST_PARTS equal buckets (below 2 * BWHIST_PARTS each number has its own),
 * so a bucket is at most 1.6 % wide. Counts are integers, so the sum of
 * histograms does not depend on their order.
 */
struct jp_bwhist {
    uint32_t first, n; /* the number of buckets */
    uint64_t *counts;
    uint64_t total;
};

/* The bucket of a bandwidth in GB/s, which is finite and not negative. */
uint32_t bwhist_bucket(double gbs);

/* Adds count to a bucket below BWHIST_BUCKETS. -1: no memory, or more than
 * BWHIST_MAX_COUNT; nothing has changed. */
int bwhist_add(struct jp_bwhist *hist, uint32_t bucket, uint64_t count);
void bwhist_fini(struct jp_bwhist *hist);

/* Quantile q (0 to 1) in GB/s, interpolated within its bucket and rounded to
 * 1e-6. NAN: empty. */
double bwhist_quantile(const struct jp_bwhist *hist, double q);

#define NETCELLS_MAX 4096 /* in one step */
#define NETCELLS_SIZES 252

struct jp_netkey {
    char fabric[20], inter[16]; /* words of labels; "unknown" */
    enum jp_comm_type type;
    uint32_t n_ranks, n_hosts;
    char gpu[64]; /* model; "" unknown, or of several kinds */
    char coll[32];
    uint32_t size; /* class */
};
int netkey_compare(const struct jp_netkey *a, const struct jp_netkey *b);

uint32_t netcells_size(uint64_t bytes);
/* The smallest size of a class. UINT64_MAX for NETCELLS_SIZES and above. */
uint64_t netcells_bytes(uint32_t size);

struct jp_netcell {
    struct jp_netkey key;
    size_t comm;    /* one of its communicators */
    uint64_t bytes; /* its smallest size */
    double time_us; /* the network's own time of all its operations */
    /* the network's bandwidths, one for each operation */
    struct jp_bwhist gbs;
};

struct jp_netcells {
    struct jp_netcell *at; /* sorted by key */
    size_t n;
    bool full; /* there are more than NETCELLS_MAX */
};

void netcells_fini(struct jp_netcells *cells);

/* The key of a communicator's function and size. */
void netcells_key(const struct jp_comm *comm, const char *gpu, const char *coll,
                  uint64_t bytes, struct jp_netkey *key);

/* The network's bandwidths in earlier steps (a baseline), cell by cell.
 *
 * A cell has two distributions: of operations, and of the medians of all
 * reports, which shows how much steps differ. A fingerprint ensures that a
 * baseline has each report once. Baselines without a common report can be
 * merged in any order with the same result, because all counts are integers.
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

/* Returns the cell, borrowed. NULL: no report has it. */
const struct jp_baseline_cell *baseline_find(const struct jp_baseline *baseline,
                                             const struct jp_netkey *key);
bool baseline_has_report(const struct jp_baseline *baseline,
                         uint64_t fingerprint);

/* Adds from to into. Returns -1 without memory, with too many cells or reports,
 * or if both have the same report, which err names. A part of from may have
 * been added then. */
int baseline_merge(struct jp_baseline *into, const struct jp_baseline *from,
                   struct jp_error *err);

#endif
