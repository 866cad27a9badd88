/* report_csv_busy.c - busy.csv and busy_windows.csv. */
#include "orchestrator/report/report_csv_busy.h"

#include <math.h>

#include "orchestrator/report/busy.h"
#include "orchestrator/report/procs.h"

static void put_if(struct jp_csv *csv, bool known, uint64_t value)
{
    if (known)
        csv_out_count(csv, value);
    else
        csv_out_empty(csv);
}

static void put_process(struct jp_csv *csv, const struct jp_busy *b,
                        uint32_t rank)
{
    put_if(csv, rank != JP_PROC_NONE, rank);
    csv_out_text(csv, b->host);
    put_if(csv, b->pid >= 0, (uint64_t) b->pid);
}

static void put_share(struct jp_csv *csv, double share)
{
    if (isnan(share))
        csv_out_empty(csv);
    else
        csv_out_real(csv, share);
}

static void whole(struct jp_csv *csv, const struct jp_result *r,
                  const struct jp_busy_rows *rows)
{
    for (size_t i = 0; i < r->n_busy; i++) {
        const struct jp_busy *b = &r->busy[rows->by_rank[i]];
        const char *why = busy_why(b);

        put_process(csv, b, rows->rank[rows->by_rank[i]]);
        csv_out_count(csv, b->timed);
        csv_out_count(csv, b->untimed);
        put_if(csv, !why, b->from_us);
        put_if(csv, !why, b->to_us);
        put_if(csv, !why, b->busy_us);
        put_share(csv, busy_share(b));
        csv_out_text(csv, why ? why : "");
        csv_out_end(csv);
    }
}

static void windows(struct jp_csv *csv, const struct jp_result *r,
                    const struct jp_busy_rows *rows)
{
    for (size_t k = 0; k < r->n_busy_slices; k++)
        for (size_t i = 0; i < r->n_busy; i++) {
            const struct jp_busy *b = &r->busy[rows->by_rank[i]];
            double share = busy_slice_share(r, b, k);

            if (isnan(share))
                continue;
            csv_out_count(csv, r->busy_from_us + k * r->busy_slice_us);
            csv_out_count(csv, r->busy_from_us + (k + 1) * r->busy_slice_us);
            put_process(csv, b, rows->rank[rows->by_rank[i]]);
            csv_out_count(csv, b->slice_us[k]);
            csv_out_real(csv, share);
            csv_out_end(csv);
        }
}

static int put(struct jp_csv *csv, const struct jp_report *report,
               void (*rows_put)(struct jp_csv *, const struct jp_result *,
                                const struct jp_busy_rows *))
{
    const struct jp_result *r = report->result;
    struct jp_busy_rows rows;

    if (!r)
        return 0;
    if (busy_rows_make(r, &rows) < 0)
        return -1;
    rows_put(csv, r, &rows);
    busy_rows_fini(&rows);
    return 0;
}

int report_csv_busy(struct jp_csv *csv, const struct jp_report *report)
{
    return put(csv, report, whole);
}

int report_csv_busy_windows(struct jp_csv *csv, const struct jp_report *report)
{
    return put(csv, report, windows);
}
