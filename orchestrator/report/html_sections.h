/* html_sections.h - the sections of report.html, one row each.
 *
 * A section is a function in a file of its own, html_NAME.c, that writes what
 * stands below its heading. The page, its table of contents and the order of
 * its sections are made from the table.
 */
#ifndef JP_REPORT_HTML_SECTIONS_H
#define JP_REPORT_HTML_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "orchestrator/report/report.h"

struct jp_html_section {
    const char *id;    /* the heading's anchor: [a-z0-9-] */
    const char *title; /* HTML */
    const char *note;  /* a line below the title, HTML; NULL: none */
    /* half: beside the next half one, where there is room. charts: nothing but
     * charts, left out by a program without them, not seen without JavaScript
     */
    enum { JP_HTML_WIDE, JP_HTML_HALF, JP_HTML_CHARTS } kind;
    /* false: nothing to show, the section is left out. NULL: always there */
    bool (*present)(const struct jp_report *report);
    /* Returns 0, or -1 when out of memory; failed writes show in the stream. */
    int (*put)(const struct jp_report *report, FILE *out);
};

extern const struct jp_html_section html_sections[]; /* in the page's order */
extern const size_t html_n_sections;

typedef bool html_present(const struct jp_report *report);
typedef int html_put(const struct jp_report *report, FILE *out);

html_put html_quality_put, html_job_put, html_files_put;

html_present html_comms_present, html_cells_present, html_ranks_present,
    html_p2p_present, html_p2p_nodes_present;
html_put html_comms_put, html_cells_put, html_ranks_put, html_p2p_put,
    html_p2p_nodes_put;

html_present html_findings_present; /* in html_findings.c */
html_put html_findings_put;

html_present html_topology_present; /* in topology.c */
html_put html_topology_put;

html_present html_copper_present; /* in report_copper_html.c */
html_put html_copper_put;

html_present html_busy_present; /* in html_busy.c */
html_put html_busy_put;

html_present html_time_present, html_spread_present;
html_put html_time_put, html_spread_put;
html_present html_network_present;
html_put html_network_put;
html_present html_sizes_present, html_nodes_present;
html_put html_sizes_put, html_nodes_put;
html_present html_settings_present, html_env_present, html_command_present;
html_put html_settings_put, html_env_put, html_command_put;

html_present html_pictures_present;
html_put html_pictures_put;
/* Puts dir/plots/'s pictures into dir/report.html (temp + rename) where that
 * has no charts. */
int html_pictures_embed(const char *dir, struct jp_error *err);

/* Below all sections: the charts' figures and their script. */
int html_charts_put(const struct jp_report *report, FILE *out);

/* How the verdict is decided, who wrote the page: below all sections. */
void html_footer_put(const struct jp_report *report, FILE *out);

#endif
