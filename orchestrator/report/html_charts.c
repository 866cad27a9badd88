/* html_charts.c - sections that are charts only, and the charts' half of the
 * page. */
#include "orchestrator/report/html_sections.h"

#include "orchestrator/report/chart_data.h"
#include "orchestrator/report/html_assets.h"
#include "orchestrator/report/html_out.h"

/* Operations with a time make windows; traces have none. */
bool html_time_present(const struct jp_report *report)
{
    return report->result && report->result->n_windows;
}

int html_time_put(const struct jp_report *report, FILE *out)
{
    (void) report;
    html_out_chart(out, "busbw-time",
                   "Bus bandwidth over the run, by function and message size");
    html_out_chart(out, "drift",
                   "Each communicator's bandwidth against its usual one");
    return 0;
}

bool html_spread_present(const struct jp_report *report)
{
    return report->result && report->result->n_cells;
}

int html_spread_put(const struct jp_report *report, FILE *out)
{
    (void) report;
    html_out_chart(out, "spread", "How one kind of operation varies");
    return 0;
}

int html_charts_put(const struct jp_report *report, FILE *out)
{
    if (!html_out_has_charts())
        return 0;
    fputs("<script type=\"application/json\" id=\"chart-data\">", out);
    if (chart_data_write(report->result, report->insight, out) < 0)
        return -1;
    fprintf(out, "</script>\n<script>\n%s</script>\n", html_assets_charts);
    return 0;
}
