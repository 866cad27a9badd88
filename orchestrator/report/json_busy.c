/* json_busy.c - busy{} of summary.json. */
#include "orchestrator/report/json_busy.h"

#include <math.h>
#include <stdlib.h>

#include "orchestrator/report/busy.h"
#include "orchestrator/report/procs.h"

#define MAX_ROWS 10000

static void put_share(struct jp_json *j, json_t *object, const char *key,
                      double share)
{
    if (isnan(share))
        json_out_null(j, object, key);
    else
        json_out_real(j, object, key, share);
}

static void put_spread(struct jp_json *j, json_t *object,
                       const struct jp_busy_spread *s)
{
    json_out_count(j, object, "processes", s->n);
    put_share(j, object, "least", s->least);
    put_share(j, object, "median", s->median);
    put_share(j, object, "most", s->most);
}

static json_t *row(struct jp_json *j, const struct jp_busy *b, uint32_t rank)
{
    json_t *object = json_out_object(j);
    bool told = !busy_why(b);

    json_out_known(j, object, "rank", rank != JP_PROC_NONE, rank);
    json_out_text(j, object, "host", b->host);
    json_out_known(j, object, "pid", b->pid >= 0, (uint64_t) b->pid);
    json_out_count(j, object, "timed", b->timed);
    json_out_count(j, object, "untimed", b->untimed);
    json_out_known(j, object, "from_us", told, b->from_us);
    json_out_known(j, object, "to_us", told, b->to_us);
    json_out_known(j, object, "busy_us", told, b->busy_us);
    put_share(j, object, "share", busy_share(b));
    json_out_text(j, object, "why", busy_why(b));
    return object;
}

static json_t *window(struct jp_json *j, const struct jp_result *r,
                      const struct jp_busy_rows *rows, size_t slice,
                      double *values)
{
    const struct jp_busy_spread s = busy_spread(r, rows, slice, values);
    json_t *object = json_out_object(j);

    json_out_count(j, object, "t0_us",
                   r->busy_from_us + slice * r->busy_slice_us);
    json_out_count(j, object, "t1_us",
                   r->busy_from_us + (slice + 1) * r->busy_slice_us);
    put_spread(j, object, &s);
    return object;
}

static json_t *make(struct jp_json *j, const struct jp_result *r,
                    const struct jp_busy_rows *rows, double coverage,
                    double *values)
{
    const struct jp_busy_spread all = busy_spread(r, rows, SIZE_MAX, values);
    json_t *object = json_out_object(j), *list = json_out_array(j);
    json_t *windows = json_out_array(j);
    char text[JP_BUSY_TEXT];

    busy_text(r, rows, coverage, text);
    json_out_text(j, object, "text", text);
    put_spread(j, object, &all);
    for (size_t i = 0; i < r->n_busy && i < MAX_ROWS; i++)
        json_out_append(
            j, list,
            row(j, &r->busy[rows->by_rank[i]], rows->rank[rows->by_rank[i]]));
    json_out_put(j, object, "rows", list);
    for (size_t k = 0; k < r->n_busy_slices; k++)
        json_out_append(j, windows, window(j, r, rows, k, values));
    json_out_put(j, object, "windows", windows);
    json_out_count(j, object, "left_out",
                   r->n_busy > MAX_ROWS ? r->n_busy - MAX_ROWS : 0);
    return object;
}

json_t *json_busy(struct jp_json *j, const struct jp_result *result,
                  double coverage)
{
    struct jp_busy_rows rows;
    json_t *object = NULL;
    double *values;

    if (!result)
        return json_null();
    if (busy_rows_make(result, &rows) < 0) {
        j->failed = true;
        return json_null();
    }
    values = calloc(rows.n_told + 1, sizeof(*values));
    if (values)
        object = make(j, result, &rows, coverage, values);
    else
        j->failed = true;
    free(values);
    busy_rows_fini(&rows);
    return object ? object : json_null();
}
