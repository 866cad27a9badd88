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

static bool is_shown(const struct jp_html_section *section,
                     const struct jp_report *report)
{
    if (section->kind == JP_HTML_CHARTS && !html_out_has_charts())
        return false;
    return !section->present || section->present(report);
}

/* What is to be seen only where charts are. */
static const char *class_of(const struct jp_html_section *section)
{
    return section->kind == JP_HTML_CHARTS ? " class=\"charts\"" : "";
}

/* Links to the sections; page.js adds the switch between light and dark. */
static void put_top(const struct jp_report *report, FILE *out)
{
    fputs("<a class=\"skip\" href=\"#main\">To the report</a>\n"
          "<header class=\"top\"><nav aria-label=\"Sections\"><ul>\n",
          out);
    for (size_t i = 0; i < html_n_sections; i++)
        if (is_shown(&html_sections[i], report))
            fprintf(out, "<li%s><a href=\"#%s\">%s</a></li>\n",
                    class_of(&html_sections[i]), html_sections[i].id,
                    html_sections[i].title);
    fputs("</ul></nav></header>\n", out);
    if (html_out_has_charts())
        fputs("<noscript><p class=\"note\">The charts need JavaScript; text "
              "and tables do not.</p></noscript>\n",
              out);
}

static int put_section(const struct jp_html_section *section,
                       const struct jp_report *report, FILE *out)
{
    fprintf(out, "<section id=\"%s\"%s><h2>%s</h2>\n", section->id,
            class_of(section), section->title);
    if (section->note)
        fprintf(out, "<p class=\"note\">%s</p>\n", section->note);
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
        bool half = section->kind == JP_HTML_HALF;

        if (!is_shown(section, report))
            continue;
        if (half != in_grid)
            fputs(in_grid ? "</div>\n" : "<div class=\"pair\">\n", out);
        in_grid = half;
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
    put_top(report, out);
    fputs("<main id=\"main\">\n", out);
    put_banner(out, report);
    if (put_sections(report, out) < 0)
        return error_set(err, "out of memory");
    html_footer_put(report, out);
    fputs("</main>\n", out);
    if (html_charts_put(report, out) < 0)
        return error_set(err, "out of memory");
    html_out_end(out);
    if (fflush(out) || ferror(out))
        return error_set(err, "%s",
                         errno ? strerror(errno) : "cannot be written");
    return 0;
}
