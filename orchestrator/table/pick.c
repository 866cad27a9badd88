/* pick.c - pick the rows of a table that are worth most. See table.h.
 *
 * pick keeps the heaviest rows in a heap whose root is the lightest of them. So
 * it needs memory only for the rows that are kept, and one comparison for most
 * of the others. */
#include "orchestrator/table/table.h"

#include <math.h>
#include <stdlib.h>

/* A row and its weight. Equal weights are ordered by row, so the result does
 * not depend on the sort. */
struct weighed {
    double weight;
    size_t row;
};

/* Compares for descending weight. Below 0: a is heavier than b. */
static int heaviest_first(const void *a, const void *b)
{
    const struct weighed *x = a, *y = b;

    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->row < y->row ? -1 : 1;
}

static int by_row(const void *a, const void *b)
{
    const struct weighed *x = a, *y = b;

    return x->row < y->row ? -1 : x->row > y->row;
}

/* Moves the row at index `at` down the heap until no child is lighter. */
static void sift(struct weighed *heap, size_t n, size_t at)
{
    struct weighed moved = heap[at];

    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && heaviest_first(&heap[child], &heap[child + 1]) < 0)
            child++;
        if (heaviest_first(&moved, &heap[child]) > 0)
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

/* Puts the heaviest `keep` of n rows into heap, in no particular order. */
static void keep_heaviest(size_t n, jp_row_worth *worth, void *arg,
                          struct weighed *heap, size_t keep)
{
    for (size_t i = 0; keep && i < n; i++) {
        double w = worth(arg, i);
        /* NaN would break the order of the heap */
        struct weighed row = {isnan(w) ? 0 : w, i};

        /* lighter than all that are kept */
        if (i >= keep && heaviest_first(&row, &heap[0]) > 0)
            continue;
        heap[i < keep ? i : 0] = row;
        if (i >= keep)
            sift(heap, keep, 0);
        /* the first `keep` rows are there: make them a heap */
        else if (i + 1 == keep)
            for (size_t k = keep / 2; k > 0; k--)
                sift(heap, keep, k - 1);
    }
}

/* Picks at most max rows by worth. in_order: heaviest first; else the rows keep
 * their order. Returns 0, or -1 when out of memory; *rows is then unchanged. */
static int pick(size_t n, size_t max, jp_row_worth *worth, void *arg,
                bool in_order, struct jp_rows *rows)
{
    size_t keep = n < max ? n : max;
    /* one more, because calloc(0) may return NULL */
    struct weighed *kept = calloc(keep + 1, sizeof(*kept));
    size_t *index = calloc(keep + 1, sizeof(*index));

    if (!kept || !index) {
        free(kept);
        free(index);
        return -1;
    }
    keep_heaviest(n, worth, arg, kept, keep);
    if (keep)
        qsort(kept, keep, sizeof(*kept), in_order ? heaviest_first : by_row);
    for (size_t i = 0; i < keep; i++)
        index[i] = kept[i].row;
    free(kept);
    *rows = (struct jp_rows){.index = index, .n = keep, .left_out = n - keep};
    return 0;
}

/* Adapts a weight of the result's rows to the general form. */
struct of_result {
    const struct jp_result *result;
    jp_row_weight *weight;
};

static double weigh(void *arg, size_t row)
{
    const struct of_result *of = arg;

    return of->weight ? of->weight(of->result, row) : 0;
}

int rows_pick(const struct jp_result *result, size_t n, size_t max,
              jp_row_weight *weight, bool by_weight, struct jp_rows *rows)
{
    struct of_result of = {result, weight};

    return pick(n, max, weigh, &of, by_weight, rows);
}

int rows_pick_by(size_t n, size_t max, jp_row_worth *worth, void *arg,
                 struct jp_rows *rows)
{
    return pick(n, max, worth, arg, true, rows);
}

void rows_fini(struct jp_rows *rows)
{
    free(rows->index);
    *rows = (struct jp_rows){0};
}
