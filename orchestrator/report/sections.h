/* sections.h - parts of a report, each in the file of its subject: the quality
 * of the data, the nodes' topology, the job, the timeline. The page,
 * the text and the JSON of a subject are together there. */
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
#include "orchestrator/feature/feature.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/report.h"
#include "orchestrator/report/table.h"

/* --- the sections of report.html ------------------------------------------ */

/* A section of the page. The page, its table of contents and the order of the
 * sections follow the table of sections in report_html.c. */
struct jp_html_section {
    const char *id;    /* anchor of the heading: [a-z0-9-] */
    const char *title; /* HTML */
    const char *note;  /* a line below the title, as HTML; NULL: none */
    /* JP_HTML_CHARTS: only charts; left out by a program without charts and
     * hidden without JavaScript. JP_HTML_BOOKS: bookkeeping, after all other
     * sections */
    enum { JP_HTML_WIDE, JP_HTML_CHARTS, JP_HTML_BOOKS } kind;
    /* of a section with a table: whether to show it; NULL: if it has rows */
    bool (*present)(const struct jp_report *report);
    /* Whether the section is open in this report. NULL: it is folded, unless
     * it is the answer of a report without findings. */
    bool (*open)(const struct jp_report *report);
    /* Writes what the section shows while it is closed, as plain text
     * (DRAWER_FIGURE bytes). False: "not known". NULL: the number of the
     * table's rows. */
    bool (*figure)(const struct jp_report *report, char *buf);
    /* Writes the part below the heading; nothing if there is nothing to show,
     * and then the section is left out. Returns 0, or -1 when out of memory.
     * NULL: the section is only its charts and its table. */
    int (*put)(const struct jp_report *report, FILE *out);
    const struct jp_table *table;
    /* names of charts (chart.h), shown above the table */
    const char *charts[2];
    /* of a feature: the id of the section after or before which this one
     * stands; both NULL: with those of other features, before the
     * bookkeeping */
    const char *after, *before;
    unsigned order;   /* among those of one place, to HTML_LAST; the same order:
                         by the registry */
    bool of_features; /* here are the sections of features; nothing else is
                         set */
};

enum { HTML_LAST = 9 };

/* Writes the place of a chart of chart.h, by its name. A program without charts
 * writes nothing; without JavaScript the place is hidden. */
void html_put_chart(FILE *out, const char *name);

/* drawers.c; those of settings and commands are in job_html.c */
enum { DRAWER_FIGURE = 120 };
typedef bool drawer_figure(const struct jp_report *report, char *buf);
drawer_figure drawer_findings, drawer_timeline, drawer_hypotheses, drawer_comms,
    drawer_waits, drawer_nodes, drawer_busy, drawer_operations, drawer_network,
    drawer_p2p, drawer_quality, drawer_settings, drawer_env, drawer_run,
    drawer_attempts, drawer_spread, drawer_job, drawer_commands;

/* The figure of the first screen on the network, "98 %", and what it is of.
 * False: no bandwidth was measured, and they say so. */
enum { DRAWER_VALUE = 64, DRAWER_NOTE = 200 };
bool drawer_network_tile(const struct jp_report *report, char *value,
                         char *note);
/* Returns the cell of most time; NULL: none has a time. r may be NULL. */
const struct jp_cell *drawer_heaviest(const struct jp_result *r);

typedef int html_put(const struct jp_report *report, FILE *out);

/* Sections with a file of their own; the others are in report_html.c. */
html_put quality_html;
/* Writes the first notes on files. where: the file with all notes; NULL: none.
 */
void quality_html_notes(FILE *out, const struct jp_file_note *notes, size_t n,
                        uint64_t left_out, const char *where);
html_put job_html_facts;
html_put job_html_settings;
html_put job_html_env;
html_put job_html_command;
html_put timeline_html;
/* Returns true if the report has a timeline. */
bool timeline_html_present(const struct jp_report *report);
/* Returns true if a finding refers to the timeline. */
bool timeline_html_proves(const struct jp_report *report);
/* Writes timeline.js: single operations of a window of the timeline. Call it
 * only if the timeline is present. In timeline_detail.c. */
int report_write_timeline(const struct jp_report *report, FILE *out,
                          struct jp_error *err);

/* Marks the place of the pictures. Foreign text in a page never has a bare '<',
 * so it cannot contain the mark. */
#define HTML_PICTURES "<!-- pictures -->"

/* Limits of what a report shows, which decide no verdict; ends with a name that
 * is NULL. The page lists them with the others. */
enum {
    REPORT_LIMIT_SURE_HIGH,
    REPORT_LIMIT_SURE_MEDIUM,
    REPORT_LIMIT_OVERHEAD,
    REPORT_LIMITS
};
extern const struct jp_limit report_limits[REPORT_LIMITS + 1];

/* --- figures about the data itself, one row each -------------------------
 *
 * summary.json, quality.csv, summary.txt and report.html read this table. */

struct jp_quality_item {
    const char *key;   /* key in summary.json and quality.csv */
    const char *label; /* for readers */
    const char *help;  /* one phrase */
    bool always;       /* also shown to readers if 0 */
    bool (*get)(const struct jp_report *report, uint64_t *value);
};

/* The rows. get returns false if the value is unknown. */
extern const struct jp_quality_item quality_items[];
extern const size_t quality_n_items;

/* Returns true if the report has anything about NCCL. A report of only a
 * profile of the registry, or of only figures such as utilisation, has not. */
bool quality_has_nccl(const struct jp_report *report);

/* Returns the feature whose data a folder has in place of records, such as
 * dumps of PyTorch's Flight Recorder: counts of records would all be 0, and
 * say nothing. NULL: records were read, or a step should have left some. */
const struct feature *quality_in_place(const struct jp_report *report);

/* Formats how small an effect would have been detected, and what was not
 * judged. Returns buf, or NULL if there are no records. */
const char *quality_judged(const struct jp_report *report,
                           char buf[JP_HYPOTHESES_LINE]);
/* Returns "counted", "bound" or "planned"; NULL if the expected number of
 * records is unknown. */
const char *quality_expected_kind(const struct jp_report *report);
/* Describes the warm-up in text, which has JP_WARMUP_TEXT bytes. Returns text,
 * or NULL if warm-up was not looked for. */
const char *quality_warmup(const struct jp_report *report, char *text);
/* Returns " of ...", the total that the coverage refers to, if that is less
 * than everything; else "". */
const char *quality_coverage_of(const struct jp_report *report);

/* Returns the share of the processes' wall time spent in the recorder, in their
 * own threads. NAN: unknown, or the processes ran for too short a time
 * (REPORT_LIMIT_OVERHEAD). */
double quality_overhead_share(const struct jp_overhead *overhead);

/* Formats the recorder's cost, or why it is unknown. */
#define JP_OVERHEAD_TEXT 300
void quality_overhead_text(const struct jp_quality *quality,
                           char text[JP_OVERHEAD_TEXT]);

/* Formats how much of the time in symmetric kernels is waiting, by their
 * phases. Returns false if there are none. */
bool quality_phases_text(const struct jp_quality *quality,
                         char text[JP_OVERHEAD_TEXT]);

/* Formats the operations and the time of each of the program's tags. Returns
 * false if there are none. */
#define JP_TAGS_TEXT 1200
bool quality_tags_text(const struct jp_quality *quality,
                       char text[JP_TAGS_TEXT]);

/* Formats "0.071 %", "69 %", "130 %": two digits, or all digits before the
 * point. Returns buf. */
char *quality_overhead_percent(double share, char buf[JP_FIGURE_LEN]);

/* Formats which ranks the nodes' agents did not watch for hangs, and why:
 * "on n1 rank 512, rank 513 and 86 more processes, ..."; "": the agents left
 * out none. Returns buf. (unwatched.c) */
#define UNWATCHED_TEXT 2000
char *unwatched_text(const struct jp_report *report, char *buf, size_t size);

/* --- the page's first screen, and the card -------------------------------- */

/* A tile: a figure and what it means. */
struct first_screen_tile {
    const char *label;         /* HTML */
    char value[64], note[200]; /* plain text */
};

/* Formats the value or the note of a tile. */
#define SAY(text, ...) snprintf((text), sizeof(text), __VA_ARGS__)

/* Writes "24/32" to buf, with "-" for a number that is JSON_UNKNOWN. Returns
 * buf. */
char *card_of(uint64_t some, uint64_t all, char *buf, size_t size);

#endif
