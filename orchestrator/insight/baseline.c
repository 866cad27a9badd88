/* baseline.c - add up what earlier steps did. */
#include "orchestrator/insight/baseline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

/* Takes the next of both, which are sorted; *i and *k move. */
static int merge_next(struct jp_baseline *into, const struct jp_baseline *from,
                      size_t *i, size_t *k, struct jp_baseline_cell *out)
{
    int order = *i == into->n_cells   ? 1
                : *k == from->n_cells ? -1
                                      : netkey_compare(&into->cells[*i].key,
                                                       &from->cells[*k].key);

    if (order <= 0) {
        *out = into->cells[*i];
        into->cells[(*i)++] = (struct jp_baseline_cell){0}; /* handed over */
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
