/* netcells.c - histograms of bandwidths, the keys of cells, and cells of many
 * steps added up. */
#include "orchestrator/insight/netcells.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/stats.h"

/* --- a histogram of bandwidths -------------------------------------------- */

/* log2 of BWHIST_PARTS */
#define PARTS_BITS 6
/* units of 1e-6 GB/s in one GB/s */
#define MICRO 1e6

uint32_t bwhist_bucket(double gbs)
{
    /* The number of a bucket is the position of the highest bit and the six
     * bits below it: linear within each power of two. Values from 9e18 on, just
     * below 2^63, cannot be bandwidths and count as 2^62. */
    double micro = gbs * MICRO;
    uint64_t v = micro < 9e18 ? (uint64_t) micro : UINT64_C(1) << 62;
    unsigned shift;

    if (v < 2 * BWHIST_PARTS)
        return (uint32_t) v;
    shift = 63 - (unsigned) __builtin_clzll(v) - PARTS_BITS;
    return (uint32_t) ((shift << PARTS_BITS) + (v >> shift));
}

/* Returns the least value of a bucket, in units of 1e-6 GB/s. */
static double lower(uint32_t bucket)
{
    if (bucket < 2 * BWHIST_PARTS)
        return bucket;
    return ldexp(BWHIST_PARTS + bucket % BWHIST_PARTS,
                 (int) (bucket / BWHIST_PARTS) - 1);
}

/* Makes room for a bucket. Only the range between the first and the last used
 * bucket is stored, which are few of BWHIST_BUCKETS. Returns 0 or -1. */
static int cover(struct jp_bwhist *h, uint32_t bucket)
{
    uint32_t first = h->n && h->first < bucket ? h->first : bucket;
    uint32_t last = h->n && h->first + h->n - 1 > bucket ? h->first + h->n - 1
                                                         : bucket;
    uint64_t *counts;

    if (h->n && first == h->first && last < h->first + h->n)
        return 0;
    counts = calloc(last - first + 1, sizeof(*counts));
    if (!counts)
        return -1;
    if (h->n)
        memcpy(counts + (h->first - first), h->counts, h->n * sizeof(*counts));
    free(h->counts);
    h->counts = counts;
    h->first = first;
    h->n = last - first + 1;
    return 0;
}

/* The limit keeps counts exact as doubles, too, which is what JSON has. */
int bwhist_add(struct jp_bwhist *h, uint32_t bucket, uint64_t count)
{
    if (count > BWHIST_MAX_COUNT - h->total || cover(h, bucket) < 0)
        return -1;
    h->counts[bucket - h->first] += count;
    h->total += count;
    return 0;
}

void bwhist_fini(struct jp_bwhist *h)
{
    free(h->counts);
    *h = (struct jp_bwhist){0};
}

double bwhist_quantile(const struct jp_bwhist *h, double q)
{
    /* Counts within a bucket are taken to be spread evenly. */
    double rank = q * ((double) h->total - 1), before = 0;

    for (uint32_t i = 0; i < h->n; i++) {
        double count = (double) h->counts[i], from, to;

        if (!h->counts[i] || before + count <= rank) {
            before += count;
            continue;
        }
        from = lower(h->first + i);
        to = lower(h->first + i + 1);
        return round(from + (to - from) * (rank - before + 0.5) / count) /
               MICRO;
    }
    return NAN;
}

/* --- cells ---------------------------------------------------------------- */

/* Two bits after the highest one: four classes a power of two. */
uint32_t netcells_size(uint64_t bytes)
{
    unsigned e;

    if (bytes < 4)
        return (uint32_t) bytes;
    e = 63 - (unsigned) __builtin_clzll(bytes);
    return 4 * (e - 1) + (uint32_t) (bytes >> (e - 2) & 3);
}

uint64_t netcells_bytes(uint32_t size)
{
    if (size < 4)
        return size;
    if (size >= NETCELLS_SIZES)
        return UINT64_MAX;
    return (uint64_t) (4 + size % 4) << (size / 4 - 1);
}

/* Any total order would do. With the links first, cells of one link are
 * neighbours. */
int netkey_compare(const struct jp_netkey *a, const struct jp_netkey *b)
{
    int order = strcmp(a->fabric, b->fabric);

    order = order ? order : strcmp(a->inter, b->inter);
    order = order ? order : stats_order(a->type, b->type);
    order = order ? order : stats_order(a->n_ranks, b->n_ranks);
    order = order ? order : stats_order(a->n_hosts, b->n_hosts);
    order = order ? order : strcmp(a->gpu, b->gpu);
    order = order ? order : strcmp(a->coll, b->coll);
    return order ? order : stats_order(a->size, b->size);
}

/* Copies as much as fits. Labels and models come from the nodes' records. */
static void copy_word(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%.*s", (int) size - 1, from);
}

/* Unknown labels are a key of their own: a link that was not recognised must
 * not be compared with one that was. */
void netcells_key(const struct jp_comm *c, const char *gpu, const char *coll,
                  uint64_t bytes, struct jp_netkey *key)
{
    /* Also clears what is after the strings' ends, so that equal keys are equal
     * byte by byte. */
    memset(key, 0, sizeof(*key));
    copy_word(key->fabric, sizeof(key->fabric),
              c->fabric ? c->fabric : "unknown");
    copy_word(key->inter, sizeof(key->inter), c->inter ? c->inter : "unknown");
    key->type = c->type;
    key->n_ranks = c->n_ranks;
    key->n_hosts = (uint32_t) c->n_hosts;
    copy_word(key->gpu, sizeof(key->gpu), gpu);
    copy_word(key->coll, sizeof(key->coll), coll);
    key->size = netcells_size(bytes);
}

void netcells_fini(struct jp_netcells *cells)
{
    for (size_t i = 0; i < cells->n; i++)
        bwhist_fini(&cells->at[i].gbs);
    free(cells->at);
    *cells = (struct jp_netcells){0};
}

/* --- cells of earlier steps, added up ------------------------------------- */

static void cell_fini(struct jp_baseline_cell *cell)
{
    bwhist_fini(&cell->ops);
    bwhist_fini(&cell->medians);
}

void baseline_fini(struct jp_baseline *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->n_cells; i++)
        cell_fini(&b->cells[i]);
    free(b->cells);
    free(b->reports);
    *b = (struct jp_baseline){0};
}

static int by_cell_key(const void *key, const void *cell)
{
    return netkey_compare(key, &((const struct jp_baseline_cell *) cell)->key);
}

/* Cells are sorted, see merge_cells. */
const struct jp_baseline_cell *baseline_find(const struct jp_baseline *b,
                                             const struct jp_netkey *key)
{
    return b->n_cells ? bsearch(key, b->cells, b->n_cells, sizeof(*b->cells),
                                by_cell_key)
                      : NULL;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

    return x < y ? -1 : x > y;
}

bool baseline_has_report(const struct jp_baseline *b, uint64_t fingerprint)
{
    return b->n_reports && bsearch(&fingerprint, b->reports, b->n_reports,
                                   sizeof(*b->reports), by_number);
}

/* Merges two sorted lists of fingerprints. A report in both would count twice,
 * so that is an error. Returns 0 or -1. */
static int merge_reports(struct jp_baseline *into,
                         const struct jp_baseline *from, struct jp_error *err)
{
    size_t n = into->n_reports + from->n_reports, i = 0, k = 0;
    uint64_t *all;

    if (n > BASELINE_MAX_REPORTS)
        return error_set(err, "%zu reports are too many (at most %d)", n,
                         BASELINE_MAX_REPORTS);
    all = calloc(n + 1, sizeof(*all));
    if (!all)
        return error_set(err, "out of memory");
    for (size_t at = 0; at < n; at++) {
        bool ours =
            i < into->n_reports &&
            (k == from->n_reports || into->reports[i] < from->reports[k]);

        if (i < into->n_reports && k < from->n_reports &&
            into->reports[i] == from->reports[k]) {
            free(all);
            return error_set(err, "report %016" PRIx64 " is in both",
                             from->reports[k]);
        }
        all[at] = ours ? into->reports[i++] : from->reports[k++];
    }
    free(into->reports);
    into->reports = all;
    into->n_reports = n;
    return 0;
}

/* Adds all counts of from. Returns 0, or -1 after which a part may have been
 * added. */
static int merge_counts(struct jp_bwhist *into, const struct jp_bwhist *from)
{
    for (uint32_t i = 0; i < from->n; i++)
        if (from->counts[i] &&
            bwhist_add(into, from->first + i, from->counts[i]) < 0)
            return -1;
    return 0;
}

static int add_counts(struct jp_baseline_cell *into,
                      const struct jp_baseline_cell *from)
{
    if (merge_counts(&into->ops, &from->ops) < 0)
        return -1;
    return merge_counts(&into->medians, &from->medians);
}

/* Merges the next cell of two sorted lists; advances *i and *k. A cell of into
 * is moved to out, so nothing is freed twice if a later one fails. */
static int merge_next(struct jp_baseline *into, const struct jp_baseline *from,
                      size_t *i, size_t *k, struct jp_baseline_cell *out)
{
    int order = *i == into->n_cells   ? 1
                : *k == from->n_cells ? -1
                                      : netkey_compare(&into->cells[*i].key,
                                                       &from->cells[*k].key);

    if (order <= 0) {
        *out = into->cells[*i];
        into->cells[(*i)++] = (struct jp_baseline_cell){0}; /* moved */
    } else {
        out->key = from->cells[*k].key;
    }
    return order >= 0 ? add_counts(out, &from->cells[(*k)++]) : 0;
}

static int merge_cells(struct jp_baseline *into, const struct jp_baseline *from,
                       struct jp_error *err)
{
    size_t most = into->n_cells + from->n_cells, i = 0, k = 0, n = 0;
    struct jp_baseline_cell *all = calloc(most + 1, sizeof(*all));
    int rc = all ? 0 : error_set(err, "out of memory");

    while (rc == 0 && (i < into->n_cells || k < from->n_cells))
        if (merge_next(into, from, &i, &k, &all[n++]) < 0)
            rc = error_set(err, "out of memory, or more operations than can "
                                "be counted");
    if (rc == 0 && n > BASELINE_MAX_CELLS)
        rc = error_set(err, "%zu cells are too many (at most %d)", n,
                       BASELINE_MAX_CELLS);
    if (!all)
        return rc;
    /* Cells that were not moved (after an error) are freed; moved ones are
     * empty. */
    for (; i < into->n_cells; i++)
        cell_fini(&into->cells[i]);
    free(into->cells);
    into->cells = all;
    into->n_cells = n;
    return rc;
}

/* The fingerprints come first: if both have a report in common, no cell has
 * changed yet. */
int baseline_merge(struct jp_baseline *into, const struct jp_baseline *from,
                   struct jp_error *err)
{
    if (merge_reports(into, from, err) < 0)
        return -1;
    return merge_cells(into, from, err);
}
