/* expectation.c - expected performance: from the peaks first, then from the
 * baseline. */
#include "orchestrator/insight/expectation.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/insight/limits.h"

/* --- what earlier steps did, added up --- */

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

static int by_key(const void *key, const void *cell)
{
    return netkey_compare(key, &((const struct jp_baseline_cell *) cell)->key);
}

const struct jp_baseline_cell *baseline_find(const struct jp_baseline *b,
                                             const struct jp_netkey *key)
{
    return b->n_cells
               ? bsearch(key, b->cells, b->n_cells, sizeof(*b->cells), by_key)
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

static int add_counts(struct jp_baseline_cell *into,
                      const struct jp_baseline_cell *from)
{
    if (bwhist_merge(&into->ops, &from->ops) < 0)
        return -1;
    return bwhist_merge(&into->medians, &from->medians);
}

/* Merges the next cell of both lists, which are sorted; advances *i and *k. */
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
    for (; i < into->n_cells; i++)
        cell_fini(&into->cells[i]);
    free(into->cells);
    into->cells = all;
    into->n_cells = n;
    return rc;
}

int baseline_merge(struct jp_baseline *into, const struct jp_baseline *from,
                   struct jp_error *err)
{
    if (merge_reports(into, from, err) < 0)
        return -1;
    return merge_cells(into, from, err);
}

/* --- what is expected --- */

const char *expectation_word(enum jp_against against)
{
    static const char *const words[JP_N_AGAINST] = {
        [JP_AGAINST_PEAKS] = "peaks",
        [JP_AGAINST_BASELINE] = "baseline",
        [JP_AGAINST_LIKES] = "likes",
        [JP_AGAINST_OWN] = "own",
    };

    return words[against];
}

static bool is_told(const char *word)
{
    return word && strcmp(word, "none") && strcmp(word, "unknown");
}

/* Computes what one leg of a communicator can do. Lowers *bound, which comes
 * from *row. */
static void weigh_leg(const struct jp_peaks *peaks, const struct peaks_leg *leg,
                      double *bound, const struct peaks_row **row)
{
    const struct peaks_row *found = peaks_find(peaks, leg);
    double own = found ? peaks_bound(found, leg) : INFINITY;

    if (own < *bound) {
        *bound = own;
        *row = found;
    }
}

/* Returns the link that limits a communicator: between nodes for all ranks of a
 * node together, within a node for one rank. NULL: no peak is known. */
static const struct peaks_row *find_row(const struct jp_expectation *x,
                                        const struct jp_comm *c,
                                        const char *coll, double *bound)
{
    uint32_t hosts = c->n_hosts > 1 ? (uint32_t) c->n_hosts : 1;
    bool crosses = hosts > 1 && (!c->inter || strcmp(c->inter, "none"));
    struct peaks_leg leg = {.gpu = x->gpu ? x->gpu : "",
                            .function = coll,
                            .n_ranks = c->n_ranks,
                            .ranks_per_node = 1};
    const struct peaks_row *row = NULL;

    if (crosses) {
        bool labelled = is_told(c->fabric) || is_told(c->inter);

        /* uneven: the node with the fewest ranks limits it; it may have only
         * one */
        leg.ranks_per_node = c->n_ranks % hosts ? 1 : c->n_ranks / hosts;
        leg.link = is_told(c->inter) ? c->inter : comm_type_name(c->type);
        if (!labelled || is_told(c->inter))
            weigh_leg(x->peaks, &leg, bound, &row);
        if (!row || leg.ranks_per_node == 1)
            return row;
        leg.ranks_per_node = 1;
    } else if (!is_told(c->fabric)) {
        leg.link = comm_type_name(c->type);
        weigh_leg(x->peaks, &leg, bound, &row);
    }
    if (is_told(c->fabric)) {
        leg.link = c->fabric;
        weigh_leg(x->peaks, &leg, bound, &row);
    }
    return row;
}

static void find_peak(const struct jp_expectation *x, const struct jp_comm *c,
                      const char *coll, uint64_t bytes,
                      struct jp_expected_bw *out)
{
    double bound = INFINITY;
    const struct peaks_row *row = find_row(x, c, coll, &bound);
    double share = row ? peaks_share(row, bytes) : 0;

    if (!(share > 0))
        return;
    out->against = JP_AGAINST_PEAKS;
    out->gbs = bound * share;
    out->low_gbs = out->least_gbs = out->gbs /
                                    (1 + limits_get(JP_LIMIT_NET_PEAKS));
    out->high_gbs = bound;
}

static void find_earlier(const struct jp_expectation *x,
                         const struct jp_comm *c, const char *coll,
                         uint64_t bytes, struct jp_expected_bw *out)
{
    const struct jp_baseline_cell *cell;
    struct jp_netkey key;
    double usual, low;

    netcells_key(c, x->gpu ? x->gpu : "", coll, bytes, &key);
    cell = baseline_find(x->baseline, &key);
    if (!cell)
        return;
    out->reports = cell->medians.total;
    if ((double) out->reports < limits_get(JP_LIMIT_NET_REPORTS))
        return;
    usual = bwhist_quantile(&cell->medians, 0.5);
    low = bwhist_quantile(&cell->medians, 0.05);
    out->against = JP_AGAINST_BASELINE;
    out->gbs = usual;
    out->least_gbs =
        fmax(0, fmin(usual / (1 + limits_get(JP_LIMIT_NET_BASELINE)),
                     usual - limits_get(JP_LIMIT_NET_SPREAD) * (usual - low)));
    out->low_gbs = bwhist_quantile(&cell->ops, 0.05);
    out->high_gbs = bwhist_quantile(&cell->ops, 0.95);
}

void expectation_find(const struct jp_expectation *x, const struct jp_comm *c,
                      const char *coll, uint64_t bytes,
                      struct jp_expected_bw *out)
{
    *out = (struct jp_expected_bw){
        .gbs = NAN, .least_gbs = NAN, .low_gbs = NAN, .high_gbs = NAN};
    if (x && x->peaks)
        find_peak(x, c, coll, bytes, out);
    if (x && x->baseline && out->against == JP_AGAINST_NOTHING)
        find_earlier(x, c, coll, bytes, out);
}
