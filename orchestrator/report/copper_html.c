/* copper_html.c - begin, fill and end a table of Copper's. */
#include "orchestrator/report/copper_html.h"

#include <math.h>

#include "common/figure.h"

void copper_html_begin(FILE *out, const char *title, const char *note,
                       const struct jp_html_column *columns, size_t n)
{
    fprintf(out, "<h3>%s</h3>\n", title);
    if (note)
        fprintf(out, "<p class=\"note\">%s</p>\n", note);
    html_out_table(out, columns, n, true);
}

void copper_html_end(FILE *out, size_t columns, size_t n, const char *where)
{
    html_out_table_end(out, columns,
                       n > COPPER_HTML_ROWS ? n - COPPER_HTML_ROWS : 0, where);
}

void copper_html_count(FILE *out, uint64_t n)
{
    html_out_figure(out, FIG_COUNT(n), (double) n);
}

void copper_html_duration(FILE *out, double us)
{
    html_out_figure(out, FIG_US(us), us);
}

void copper_html_known(FILE *out, bool is, uint64_t n)
{
    if (is)
        copper_html_count(out, n);
    else
        html_out_figure(out, "-", NAN);
}
