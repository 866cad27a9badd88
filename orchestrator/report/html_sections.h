/* html_sections.h - the sections of report.html, one row each.
 *
 * A section is a function that writes what stands below its heading. The page,
 * its table of contents and the order of its sections are made from the table.
 */
#ifndef JP_REPORT_HTML_SECTIONS_H
#define JP_REPORT_HTML_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "orchestrator/report/report.h"
#include "orchestrator/report/table.h"

struct jp_html_section {
    const char *id;    /* the heading's anchor: [a-z0-9-] */
    const char *title; /* HTML */
    const char *note;  /* a line below the title, HTML; NULL: none */
    /* half: beside the next half one, where there is room. charts: nothing but
     * charts, left out by a program without them, not seen without JavaScript
     */
    enum { JP_HTML_WIDE, JP_HTML_HALF, JP_HTML_CHARTS } kind;
    /* false: nothing to show, the section is left out. NULL: always there, or
     * with a row of the table */
    bool (*present)(const struct jp_report *report);
    /* Returns 0, or -1 when out of memory; failed writes show in the stream.
     * NULL: nothing but the charts and the table. */
    int (*put)(const struct jp_report *report, FILE *out);
    const struct jp_table *table;
    struct {
        const char *name, *caption;
    } charts[2]; /* above the table */
};

typedef bool html_present(const struct jp_report *report);
typedef int html_put(const struct jp_report *report, FILE *out);

/* Sections in files of their own; the others are in report_html.c. */
html_put html_quality_put;
/* The first notes on files; where: the file that has all, NULL: none. */
void html_put_notes(FILE *out, const struct jp_file_note *notes, size_t n,
                    uint64_t left_out, const char *where);
html_present html_topology_present; /* in topology.c */
html_put html_topology_put;
html_present html_copper_present; /* in report_copper_html.c */
html_put html_copper_put;
html_present html_pictures_present;
html_put html_pictures_put;
/* The i-th of gnuplot's pictures that such a page shows, plots/NAME.png; NULL:
 * no more. */
const char *plots_in_page(size_t i, const char **caption);
/* Draws the scripts in plots_dir as far as there is a gnuplot. */
int plots_render(const char *plots_dir, struct jp_error *err);

#endif
