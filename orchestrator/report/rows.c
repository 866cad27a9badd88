/* rows.c - pick the heaviest rows of a table. */
#include "orchestrator/report/rows.h"

#include <math.h>
#include <stdlib.h>

double rows_comm_time(const struct jp_result *result, size_t row)
{
    return (double) result->comms[row].time_us;
}

double rows_cell_time(const struct jp_result *result, size_t row)
{
    const struct jp_cell *cell = &result->cells[row];

    return (double) cell->exec.n * cell->exec.mean;
}

double rows_cell_busbw(const struct jp_result *result, size_t row)
{
    return result->cells[row].busbw.max > 0 ? rows_cell_time(result, row) : -1;
}

double rows_rank_caused(const struct jp_result *result, size_t row)
{
    return (double) result->ranks[row].caused_us;
}

double rows_p2p_bytes(const struct jp_result *result, size_t row)
{
    return (double) result->p2p[row].bytes;
}

double rows_p2p_node_bytes(const struct jp_result *result, size_t row)
{
    return (double) result->p2p_nodes[row].bytes;
}

double rows_window_time(const struct jp_result *result, size_t row)
{
    return (double) result->windows[row].time_us;
}

struct weighed {
    double weight;
    size_t row;
};

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

int rows_pick(const struct jp_result *result, size_t n, size_t max,
              jp_row_weight *weight, bool by_weight, struct jp_rows *rows)
{
    struct weighed *all = calloc(n + 1, sizeof(*all));
    size_t *index = calloc(n + 1, sizeof(*index));
    size_t keep = n < max ? n : max;

    if (!all || !index) {
        free(all);
        free(index);
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        double w = weight(result, i);

        all[i] = (struct weighed){isnan(w) ? 0 : w, i};
    }
    qsort(all, n, sizeof(*all), heaviest_first);
    if (!by_weight)
        qsort(all, keep, sizeof(*all), by_row);
    for (size_t i = 0; i < keep; i++)
        index[i] = all[i].row;
    free(all);
    *rows = (struct jp_rows){.index = index, .n = keep, .left_out = n - keep};
    return 0;
}

void rows_fini(struct jp_rows *rows)
{
    free(rows->index);
    *rows = (struct jp_rows){0};
}

const struct jp_comm *rows_comm(const struct jp_result *result, size_t comm)
{
    static char empty[] = "";
    static const struct jp_comm none = {
        .name = empty, .why = empty, .evidence = ""};

    return comm < result->n_comms ? &result->comms[comm] : &none;
}
