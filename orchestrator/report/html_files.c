/* html_files.c - section: the report's other files. */
#include "orchestrator/report/html_sections.h"

int html_files_put(const struct jp_report *report, FILE *out)
{
    static const char *const files[] = {
        "summary.txt",          "summary.json",
        "csv/cells.csv",        "csv/comms.csv",
        "csv/ranks.csv",        "csv/ops.csv",
        "csv/p2p.csv",          "csv/p2p_nodes.csv",
        "csv/windows.csv",      "csv/busy.csv",
        "csv/busy_windows.csv", "csv/network.csv",
        "csv/quality.csv",      "plots/",
    };
    static const char *const job_files[] = {"job.conf", "../index.html"};

    fputs("<ul class=\"files\">\n", out);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        fprintf(out, "<li><a href=\"%s\">%s</a></li>\n", files[i], files[i]);
    for (size_t i = 0;
         report->conf && i < sizeof(job_files) / sizeof(*job_files); i++)
        fprintf(out, "<li><a href=\"%s\">%s</a></li>\n", job_files[i],
                job_files[i]);
    fputs("</ul>\n", out);
    return 0;
}
