/* report_copper.h - Copper's part of each thing that a report consists of.
 *
 * copper may be NULL: nothing is written then, and summary.json's copper is an
 * empty object. Streams' failures show in the streams.
 */
#ifndef JP_REPORT_REPORT_COPPER_H
#define JP_REPORT_REPORT_COPPER_H

#include <stdio.h>

#include "common/error.h"
#include "orchestrator/copper/copper.h"
#include "orchestrator/report/json_out.h"

#define REPORT_COPPER_VAIN 100 /* folders in summary.json */
/* What copper{} says on paths, in report_copper_json_paths.c. */
void report_copper_json_paths(struct jp_json *json, json_t *object,
                              const struct jp_copper *copper);
json_t *report_copper_json(struct jp_json *json,
                           const struct jp_copper *copper);
/* Appends to summary.json's findings. */
void report_copper_findings(struct jp_json *json, json_t *findings,
                            const struct jp_copper *copper);

void report_copper_text(const struct jp_copper *copper, FILE *out);
/* Below the heading of report.html's section: the tables, in report_copper_tables.c. */
void report_copper_tables(const struct jp_copper *copper, FILE *out);
void report_copper_path_tables(const struct jp_copper *copper, FILE *out);
/* Pictures (SVG) of that section, in copper_svg.c. */
void report_copper_pictures(const struct jp_copper *copper, FILE *out);
/* How to read the counters, in report_copper_guide.c. */
void report_copper_guide(FILE *out);

/* The name of the i-th table, csv/copper_NAME.csv; NULL behind the last. */
const char *report_copper_sheet(size_t i);
/* All of them. */
int report_copper_csvs(const struct jp_copper *copper, const char *csv_dir,
                       struct jp_error *err);

/* <dir>/copper_paths/: the lists of Copper's path usage tool under its names,
 * a path a line, where observed paths were compared with the file system. */
int report_copper_lists(const struct jp_copper *copper, const char *dir,
                        struct jp_error *err);

/* plots/copper_*.tsv and .gp; see plots.h. */
typedef int report_copper_plot(const struct jp_copper *copper, FILE *tsv,
                               FILE *gp);
extern const struct report_copper_plots {
    const char *name;
    report_copper_plot *write;
} report_copper_plots[];
extern const size_t report_copper_n_plots;

#endif
