/* html_busy.c - section: how much of the time processes communicated. */
#include "orchestrator/report/html_sections.h"

#include <math.h>
#include <stdlib.h>

#include "common/figure.h"
#include "orchestrator/report/busy.h"
#include "orchestrator/report/html_out.h"
#include "orchestrator/report/procs.h"

#define MAX_ROWS 200

bool html_busy_present(const struct jp_report *report)
{
    return report->result &&
           (report->result->n_busy || report->result->quality.records);
}

static void put_row(FILE *out, const struct jp_busy *b, uint32_t rank)
{
    double share = busy_share(b);

    html_out_row(out);
    html_out_figure(out, rank == JP_PROC_NONE ? "-" : FIG_COUNT(rank),
                    rank == JP_PROC_NONE ? (double) NAN : rank);
    html_out_cell(out, b->host);
    html_out_figure(out, b->pid < 0 ? "-" : FIG_EXACT((double) b->pid),
                    (double) b->pid);
    html_out_figure(out, FIG_COUNT(b->timed), (double) b->timed);
    if (isnan(share)) {
        html_out_figure(out, "-", NAN);
        html_out_figure(out, "-", NAN);
        html_out_cell(out, busy_why(b));
    } else {
        html_out_figure(out, FIG_US((double) (b->to_us - b->from_us)),
                        (double) (b->to_us - b->from_us));
        html_out_figure(out, FIG_US((double) b->busy_us), (double) b->busy_us);
        html_out_bar(out, FIG_SHARE(share), share, share);
    }
    html_out_row_end(out);
}

static void put_table(FILE *out, const struct jp_result *r,
                      const struct jp_busy_rows *rows)
{
    static const struct jp_html_column columns[] = {
        {"Rank", "in the largest communicator", true},
        {"Host", NULL, false},
        {"Process", "its number on the host", true},
        {"Operations", "that tell start and end, Send and Recv among them",
         true},
        {"Time", "from the first start to the last end", true},
        {"Busy", "at least one operation was in flight", true},
        {"Share", "busy of that time", true},
    };
    const size_t n = sizeof(columns) / sizeof(*columns);
    size_t shown = r->n_busy < MAX_ROWS ? r->n_busy : MAX_ROWS;

    html_out_table(out, columns, n, true);
    for (size_t i = 0; i < shown; i++)
        put_row(out, &r->busy[rows->by_rank[i]], rows->rank[rows->by_rank[i]]);
    html_out_table_end(out, n, r->n_busy - shown, "csv/busy.csv");
}

int html_busy_put(const struct jp_report *report, FILE *out)
{
    const struct jp_result *r = report->result;
    struct jp_busy_rows rows;
    char text[JP_BUSY_TEXT];

    if (busy_rows_make(r, &rows) < 0)
        return -1;
    busy_text(r, &rows, report->verdict->coverage, text);
    fputs("<p>", out);
    html_out_text(out, text);
    fputs(".</p>\n", out);
    if (rows.n_told)
        html_out_chart(out, "busy",
                       "Share of time with an operation in flight, over the "
                       "run");
    if (r->n_busy)
        put_table(out, r, &rows);
    busy_rows_fini(&rows);
    return 0;
}
