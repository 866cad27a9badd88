/* sections.h - what the writers of a report ask of the files that know one
 * subject: the data's quality, the nodes' topology, Copper, pictures.
 */
#ifndef JP_REPORT_SECTIONS_H
#define JP_REPORT_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "common/figure.h"
#include "common/json_stream.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/copper/copper.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/report.h"
#include "orchestrator/report/table.h"
#include "orchestrator/topo/steplabels.h"

/* --- the sections of report.html ------------------------------------------ */

/* A section writes what stands below its heading. The page, its table of
 * contents and the order of its sections are made from the table of them. */
struct jp_html_section {
    const char *id;    /* the heading's anchor: [a-z0-9-] */
    const char *title; /* HTML */
    const char *note;  /* a line below the title, HTML; NULL: none */
    /* Sections are folded, but for an open one. charts: nothing but charts,
     * left out by a program without them, not seen without JavaScript. books:
     * of the bookkeeping, behind all others */
    enum { JP_HTML_WIDE, JP_HTML_OPEN, JP_HTML_CHARTS, JP_HTML_BOOKS } kind;
    /* false: nothing to show, the section is left out. NULL: always there, or
     * with a row of the table */
    bool (*present)(const struct jp_report *report);
    /* Open in this report? NULL: as its kind says. */
    bool (*open)(const struct jp_report *report);
    /* Returns 0, or -1 when out of memory; failed writes show in the stream.
     * NULL: nothing but the charts and the table. */
    int (*put)(const struct jp_report *report, FILE *out);
    const struct jp_table *table;
    const char *charts[2]; /* names (chart.h), above the table */
};

typedef bool html_present(const struct jp_report *report);
typedef int html_put(const struct jp_report *report, FILE *out);

/* Sections in files of their own; the others are in report_html.c. */
html_put html_quality_put;
/* The first notes on files; where: the file that has all, NULL: none. */
void html_put_notes(FILE *out, const struct jp_file_note *notes, size_t n,
                    uint64_t left_out, const char *where);
html_put html_job_put; /* this and the next ones in report_job_html.c */
html_present html_settings_present;
html_put html_settings_put;
html_present html_env_present;
html_put html_env_put;
html_present html_command_present;
html_put html_command_put;
html_put html_files_put;
html_present html_topology_present; /* in topology.c */
html_put html_topology_put;
html_present html_copper_present; /* in report_copper_html.c */
html_put html_copper_put;
html_present html_nsys_present; /* in tables_nsys.c */
html_put html_nsys_put;
html_present html_hang_present; /* in tables_hang.c */
html_put html_hang_put;
html_present html_timeline_present; /* in timeline_html.c */
html_put html_timeline_put;
html_present html_timeline_proves; /* a finding is seen in it */
/* timeline.js: single operations of a window of it; only where it is present.
 * In timeline_detail.c. */
int report_write_timeline(const struct jp_report *report, FILE *out,
                          struct jp_error *err);
html_present html_pictures_present;
html_put html_pictures_put;
/* --- the figures on the data itself, one row each ------------------------
 *
 * summary.json, quality.csv, summary.txt and report.html read this table.
 */

struct jp_quality_item {
    const char *key;   /* in summary.json and quality.csv */
    const char *label; /* for readers */
    const char *help;  /* one phrase */
    bool always;       /* shown to readers even if 0 */
    bool (*get)(const struct jp_report *report, uint64_t *value);
};

/* The rows; get returns false where the value is unknown. */
extern const struct jp_quality_item quality_items[];
extern const size_t quality_n_items;

/* Has the report something on NCCL to say? A report on Copper's profiles alone
 * has not. */
bool report_has_nccl(const struct jp_report *report);

/* How small an effect would have been seen, what was not judged: buf, or NULL
 * where there is no record. */
const char *report_judged(const struct jp_report *report,
                          char buf[JP_HYPOTHESES_LINE]);
/* "counted", "bound", "planned", or NULL where nothing says what should be
 * there. */
const char *quality_expected_kind(const struct jp_report *report);
/* What is said of warm-up; JP_WARMUP_TEXT bytes. Returns text, or NULL where
 * there is nothing to say. */
const char *quality_warmup(const struct jp_report *report, char *text);
/* " of ...": what the coverage is a share of, where that is not all there was;
 * else "". */
const char *quality_coverage_of(const struct jp_report *report);

/* Of the processes' wall time, in their own threads; NAN: not told, or of
 * processes that lived for less than 10 s. */
double overhead_share(const struct jp_overhead *overhead);

/* The figures, or who does not tell them. */
#define JP_OVERHEAD_TEXT 300
void overhead_text(const struct jp_quality *quality,
                   char text[JP_OVERHEAD_TEXT]);

/* "0.071 %", "69 %", "130 %": two digits, or as many as stand before the point.
 * Returns buf. */
char *overhead_percent(double share, char buf[JP_FIGURE_LEN]);

/* --- the nodes' shapes, and what is odd about a step's media -------------
 *
 * labels may be NULL: the step has no records of its nodes; nothing is written
 * then.
 */

/* A section of summary.txt. -1 without memory. */
int topology_text(const struct jp_step_labels *labels, FILE *out);

/* One finding of kind "topology" a warning into the open array. */
void topology_findings(struct jp_json_stream *s,
                       const struct jp_step_labels *labels,
                       const struct jp_result *result);

/* --- Copper's part of each thing that a report consists of ---------------
 *
 * copper may be NULL: nothing is written then, and summary.json's copper is an
 * empty object. Streams' failures show in the streams.
 */

/* summary.json's copper{}, and its findings: members of an open array. */
void report_copper_json(struct jp_json_stream *s, const char *key,
                        const struct jp_report *report);
void report_copper_findings(struct jp_json_stream *s,
                            const struct jp_copper *copper);

/* 0, or -1 when out of memory. */
int report_copper_text(const struct jp_report *report, FILE *out);

/* The rows of csv/copper_totals.csv; 0. */
int report_copper_totals(struct jp_csv *csv, const struct jp_report *report,
                         const struct jp_table *table);

/* <dir>/copper_paths/: the lists of Copper's path usage tool under its names,
 * a path a line, where observed paths were compared with the file system. */
int report_copper_lists(const struct jp_copper *copper, const char *dir,
                        struct jp_error *err);

#endif
