/* html_footer.c - the page's foot: limits with their reasons, the writer. */
#include "orchestrator/report/html_sections.h"

#include "common/figure.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/report/html_out.h"
#include "orchestrator/report/version.h"

void html_footer_put(const struct jp_report *report, FILE *out)
{
    fputs("<footer><details><summary>How the verdict is decided</summary><ul>",
          out);
    for (size_t i = 0; i < JP_N_LIMITS; i++)
        fprintf(out, "<li>%s than %s: %s.</li>\n", limits_table[i].text,
                limits_table[i].unit == JP_LIMIT_IS_US
                    ? FIG_US(limits_table[i].value)
                : limits_table[i].unit == JP_LIMIT_IS_SHARE
                    ? FIG_SHARE(limits_table[i].value)
                    : FIG_EXACT(limits_table[i].value),
                limits_table[i].reason);
    fputs("</ul></details>\n<p>Written by jobprof " JP_VERSION " (", out);
    html_out_text(out, report->reporter);
    fprintf(out, ") in %s.</p></footer>\n",
            FIG_US((double) report->duration_us));
}
