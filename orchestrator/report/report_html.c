/* report_html.c - report.html: one page that needs nothing but itself. */
#include "orchestrator/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "orchestrator/report/html_out.h"
#include "orchestrator/report/html_sections.h"

static void put_banner(FILE *out, const struct jp_report *report)
{
    const char *word = verdict_word_name(report->verdict->word);

    fputs("<h1>jobprof", out);
    if (report->conf) {
        fprintf(out, " &middot; step %" PRIu64 ".", report->conf->job_id);
        html_out_text(out, report->conf->step_id);
        fputs(" &middot; ", out);
        html_out_text(out, report->conf->job_name);
    }
    fprintf(out, "</h1>\n<div class=\"verdict %s\"><strong>%s</strong><p>",
            word, word);
    html_out_text(out, report->verdict->text);
    fputs("</p></div>\n", out);
}

static int put_section(const struct jp_html_section *section,
                       const struct jp_report *report, FILE *out)
{
    fprintf(out, "<section id=\"%s\"><h2>%s</h2>\n", section->id,
            section->title);
    if (section->note)
        fprintf(out, "<p class=\"note\">%s</p>", section->note);
    if (section->put(report, out) < 0)
        return -1;
    fputs("</section>\n", out);
    return 0;
}

/* Runs of half sections stand in a grid. */
static int put_sections(const struct jp_report *report, FILE *out)
{
    bool in_grid = false;

    for (size_t i = 0; i < html_n_sections; i++) {
        const struct jp_html_section *section = &html_sections[i];

        if (section->present && !section->present(report))
            continue;
        if (section->half != in_grid)
            fputs(in_grid ? "</div>\n" : "<div class=\"pair\">\n", out);
        in_grid = section->half;
        if (put_section(section, report, out) < 0)
            return -1;
    }
    if (in_grid)
        fputs("</div>\n", out);
    return 0;
}

int report_write_html(const struct jp_report *report, FILE *out,
                      struct jp_error *err)
{
    char title[128] = "jobprof report";

    errno = 0;
    if (report->conf)
        snprintf(title, sizeof(title), "%s %" PRIu64 ".%s - jobprof",
                 verdict_word_name(report->verdict->word), report->conf->job_id,
                 report->conf->step_id ? report->conf->step_id : "");
    html_out_begin(out, title);
    fputs("<main>\n", out);
    put_banner(out, report);
    if (put_sections(report, out) < 0)
        return error_set(err, "out of memory");
    html_footer_put(report, out);
    fputs("</main>\n", out);
    html_out_end(out);
    if (fflush(out) || ferror(out))
        return error_set(err, "%s",
                         errno ? strerror(errno) : "cannot be written");
    return 0;
}
