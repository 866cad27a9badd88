/* report.h - write everything a reader gets: text, JSON, HTML, CSV, plots.
 *
 * The writers take the same model, print no figure of their own and never
 * change it. Files appear by temp + rename, summary.json last: whoever sees it
 * sees all.
 */
#ifndef JP_REPORT_REPORT_H
#define JP_REPORT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "common/error.h"
#include "common/jobconf.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/cause/bottleneck.h"
#include "orchestrator/cause/cause.h"
#include "orchestrator/cause/iteration.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/copper/copper.h"
#include "orchestrator/insight/insight.h"
#include "orchestrator/insight/verdict.h"
#include "orchestrator/evidence/hangstacks.h"
#include "orchestrator/nsys/nsys.h"
#include "orchestrator/topo/steplabels.h"
#include "orchestrator/util/util.h"
#include "orchestrator/util/util_agents.h"
#include "orchestrator/util/util_cuda.h"

struct samples;

struct jp_report {
    const struct jp_jobconf *conf;            /* NULL: plain folders of logs */
    const struct jp_nodes *nodes;             /* NULL likewise */
    const struct jp_result *result;           /* NULL: nothing to join */
    const struct jp_copper *copper;           /* NULL: no profiles of Copper */
    const struct jp_util *util;               /* NULL: nobody sampled it */
    const struct samples *samples;            /* of it over time; or NULL */
    const struct jp_agents *agents;           /* NULL: the same */
    const struct jp_cuda *cuda;               /* NULL: no counters of it */
    const struct jp_nsys *nsys;               /* NULL: no exports of nsys */
    const struct hangstacks *hang;            /* NULL: no evidence of one */
    const struct jp_step_labels *labels;      /* NULL: nodes left no records */
    const struct jp_processes *processes;     /* of the result; NULL without */
    const struct jp_insight *insight;         /* NULL: no findings */
    const struct jp_causes *causes;           /* of these; NULL: no samples */
    const struct jp_iteration *iteration;     /* NULL: not looked for */
    const struct jp_bottlenecks *bottlenecks; /* NULL likewise */
    const struct jp_expectation *expectation; /* NULL: nothing was expected */
    const struct jp_verdict *verdict;
    const char *reporter; /* "srun", "watcher", "user" */
    uint64_t duration_us; /* of the analysis */
    unsigned threads;     /* 0: as many as CPUs, at most 8 */
};

/* Writes all files of the report into dir (exists). -1: the error names the
 * file; what was written stays. */
int report_write(const struct jp_report *report, const char *dir,
                 struct jp_error *err);

/* Single writers, used by report_write and by tests. */
int report_write_json(const struct jp_report *report, FILE *out,
                      struct jp_error *err);
int report_write_text(const struct jp_report *report, FILE *out,
                      struct jp_error *err);
int report_write_html(const struct jp_report *report, FILE *out,
                      struct jp_error *err);
int report_write_csvs(const struct jp_report *report, const char *csv_dir,
                      struct jp_error *err);
/* ops.csv's rows, the largest table by far. Each thread formats every nth chunk
 * of rows and hands it over when its turn has come, so the bytes do not depend
 * on how many there are. threads: 0: as many as CPUs, at most 8; the caller's
 * does it all where no thread or memory is to be had. Failures show in
 * csv->out. */
struct jp_csv;
void csv_ops_write(struct jp_csv *csv, const struct jp_result *result,
                   unsigned threads);
int report_write_plots(const struct jp_report *report, const char *plots_dir,
                       struct jp_error *err);

/* Draws what report_write left in dir/plots, with gnuplot: pictures come after
 * the summary and its card, as they take time. A gnuplot that is absent or
 * fails is no failure: plots/NOTE says so. A report.html without charts gets
 * the pictures, too. */
int report_draw(const char *dir, struct jp_error *err);

/* The line (or, wanted and a terminal, the card of <= 12 lines and 100 columns)
 * for srun's stderr, read back from <step_dir>/summary.json, so that whoever
 * did not write the report prints the same. */
int report_print_line(const char *step_dir, enum jp_summary how, FILE *out,
                      struct jp_error *err);

#define JP_CARD_MIN_COLUMNS 80
#define JP_CARD_MAX_COLUMNS 100
#define JP_CARD_MAX_LINES 12

/* The card of a checked summary (summary_file_read). Only the path of the
 * report may make a line longer than columns, which are brought between these
 * limits. colour: the verdict's word is coloured. */
void card_print(const json_t *root, const char *step_dir, bool colour,
                unsigned columns, FILE *out);

/* Rewrites <job_dir>/job.json and index.html from every step directory's
 * summary.json there (temp + rename, safe beside other steps' reports). */
int report_index(const char *job_dir, struct jp_error *err);

#endif
