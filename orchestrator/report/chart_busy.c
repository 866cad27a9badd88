/* chart_busy.c - figures: how busy processes were over the run. */
#include "orchestrator/report/chart_data.h"

#include <math.h>
#include <stdlib.h>

#include "orchestrator/report/busy.h"

#define MAX_ROWS 64 /* of a heat map that can be read */

/* Which processes are shown, by rank: all, else the least and the most busy. */
static size_t pick(const struct jp_result *r, const struct jp_busy_rows *rows,
                   size_t picked[MAX_ROWS])
{
    bool *is_picked = calloc(r->n_busy + 1, sizeof(*is_picked));
    size_t n = 0;

    for (size_t i = 0; is_picked && i < rows->n_told; i++)
        if (i < MAX_ROWS / 2 || rows->n_told - i <= MAX_ROWS / 2)
            is_picked[rows->told[i]] = true;
    for (size_t i = 0; is_picked && i < r->n_busy; i++)
        if (is_picked[rows->by_rank[i]])
            picked[n++] = rows->by_rank[i];
    free(is_picked);
    return n;
}

static void put_name(struct jp_chart_json *json, const struct jp_busy *b,
                     uint32_t rank)
{
    const struct jp_proc proc = {
        .host = b->host, .pid = b->pid, .world_rank = rank};
    char name[JP_PROC_NAME_LEN];

    chart_json_text(json, procs_name(&proc, name));
}

/* Per mille, as whole numbers are short. */
static void put_cells(struct jp_chart_json *json, const struct jp_result *r,
                      const size_t *picked, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < r->n_busy_slices; k++) {
            double share = busy_slice_share(r, &r->busy[picked[i]], k);

            if (isnan(share))
                continue;
            chart_json_count(json, i);
            chart_json_count(json, k);
            chart_json_count(json, (uint64_t) (1000 * share + 0.5));
        }
}

static int put(const struct jp_chart_view *view, void *state,
               struct jp_chart_json *json)
{
    const struct jp_result *r = view->result;
    struct jp_busy_rows rows;
    size_t picked[MAX_ROWS], n;

    (void) state;
    if (busy_rows_make(r, &rows) < 0)
        return -1;
    n = pick(r, &rows, picked);
    if (!n) {
        chart_json_null(json);
    } else {
        chart_json_begin(json, '{');
        chart_json_put_count(json, "from", r->busy_from_us);
        chart_json_put_count(json, "width", r->busy_slice_us);
        chart_json_put_count(json, "slices", r->n_busy_slices);
        chart_json_put_count(json, "of", rows.n_told);
        chart_json_key(json, "names");
        chart_json_begin(json, '[');
        for (size_t i = 0; i < n; i++)
            put_name(json, &r->busy[picked[i]], rows.rank[picked[i]]);
        chart_json_end(json, ']');
        chart_json_key(json, "cells");
        chart_json_begin(json, '[');
        put_cells(json, r, picked, n);
        chart_json_end(json, ']');
        chart_json_end(json, '}');
    }
    busy_rows_fini(&rows);
    return 0;
}

const struct jp_chart chart_busy = {.name = "busy", .put = put};
