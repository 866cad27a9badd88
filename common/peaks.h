/* peaks.h - bandwidths that the site's links can reach, and the expected
 * shares.
 *
 * The site's peaks.conf, a libconfig file (peaks.conf(5)):
 *
 *     peaks = (
 *         { link = "ib"; gpu = "H100"; function = "AllReduce"; max_ranks = 64;
 *           per_node = 8; peak = 50.0; expect = ( ("16M", 0.6), ... ); },
 *         ...
 *     );
 *
 * It is read like a settings file (siteflat.h: owner, mode, size), but may not
 * include another one. The first row that applies to a communicator counts.
 */
#ifndef JP_COMMON_PEAKS_H
#define JP_COMMON_PEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* The words of labels (docs/measuring.md), then the types from NCCL's numbers,
 * for communicators without a label. */
#define PEAKS_LINKS                                                            \
    "mnnvl|nvswitch|nvlink-mesh|nvlink-partial|pcie|pcie-host|pcie-numa|ib|"   \
    "roce|efa|slingshot|opa|tcp|nvlink-only|hca-only|mixed"

#define PEAKS_MAX_ROWS 256
#define PEAKS_MAX_SIZES 32
/* Above any bandwidth of a link: a larger value is in a wrong unit. */
#define PEAKS_MAX_GBS 1e4

struct peaks_size {
    uint64_t from_bytes; /* for messages of this size and above */
    double share;        /* of the peak, above 0, at most 1 */
};

struct peaks_row {
    char link[16];
    char gpu[64];       /* part of the model's name, case ignored; "" any */
    char function[32];  /* "AllReduce"; "" any */
    uint32_t max_ranks; /* of the communicator; 0: any */
    uint32_t per_node;  /* links that the ranks of a node share; 0: one for each
                           rank */
    double peak_gbs;    /* bus bandwidth of one link */
    struct peaks_size sizes[PEAKS_MAX_SIZES]; /* ascending */
    size_t n_sizes;
};

struct jp_peaks {
    struct peaks_row *rows; /* in the file's order */
    size_t n;
};

/* Gets "file:line: what is wrong", once for each mistake. */
typedef void peaks_report(void *arg, const char *sentence);

/* Reads path. A row with a mistake is reported (report may be NULL) and left
 * out; the others stand. -1: the file as a whole cannot be read or parsed;
 * reported too, *out is unchanged. peaks_fini frees. */
int peaks_load(const char *path, peaks_report *report, void *arg,
               struct jp_peaks *out, struct jp_error *err);
void peaks_fini(struct jp_peaks *peaks);

/* One kind of link of a communicator. */
struct peaks_leg {
    const char *link;
    const char *gpu; /* model; "" unknown: rows with a gpu do not apply */
    const char *function;
    uint32_t n_ranks;
    uint32_t ranks_per_node; /* ranks that send over links of their own; at
                                least 1 */
};

/* The first row that applies, or NULL. Borrowed. */
const struct peaks_row *peaks_find(const struct jp_peaks *peaks,
                                   const struct peaks_leg *leg);
/* The highest bandwidth of the leg in GB/s. */
double peaks_bound(const struct peaks_row *row, const struct peaks_leg *leg);
/* The share of it that is expected; 0: nothing is expected at this size. */
double peaks_share(const struct peaks_row *row, uint64_t bytes);

#endif
