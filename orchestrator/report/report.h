/* report.h - write all files for readers: text, JSON, HTML, CSV, plots.
 *
 * All writers read the same model, compute no figures of their own and never
 * change it. Files appear by temp + rename. summary.json comes last, so the
 * report is complete once that file exists.
 */
#ifndef JP_REPORT_REPORT_H
#define JP_REPORT_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/error.h"
#include "common/jobconf.h"
#include "common/quote.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/collect/agents.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/feature/feature.h"
#include "orchestrator/insight/insight.h"
#include "orchestrator/insight/verdict.h"
#include "orchestrator/topo/steplabels.h"

/* Work that a report leaves to its user, and the command that does it. */
struct report_undone {
    const char *kind; /* "pictures", or the name of a feature or command */
    char text[80];    /* a clause */
    char command[80];
};
/* At most so many commands follow a report at one of the two times. */
#define REPORT_FOLLOWING 4
/* one of each kind */
#define REPORT_UNDONE_MAX (1 + 2 * REPORT_FOLLOWING + FEATURES_MAX)

struct jp_report {
    /* NULL: the input is plain folders of logs */
    const struct jp_jobconf *conf;
    const struct jp_nodes *nodes;        /* NULL: as for conf */
    const struct jp_result *result;      /* NULL: no records to join */
    const struct feature_set *features;  /* may be NULL */
    const struct jp_agents *agents;      /* NULL: no agents ran */
    const struct jp_step_labels *labels; /* NULL: the nodes left no records */
    /* processes of result; NULL without result */
    const struct jp_processes *processes;
    const struct jp_insight *insight;         /* NULL: no findings */
    const struct jp_expectation *expectation; /* NULL: no expectation */
    const struct jp_verdict *verdict;
    const char *reporter;               /* "srun", "watcher", "user" */
    const struct report_undone *undone; /* borrowed */
    size_t n_undone;
    uint64_t duration_us; /* duration of the analysis */
    unsigned threads;     /* 0: one per CPU, at most 8 */
    /* of the files beside the page, which lists them; report_write sets it.
     * NULL: not known */
    const char *folder;
};

/* Whether the report has the data of a feature. */
static inline bool report_has(const struct jp_report *report,
                              const struct feature *feature)
{
    return feature->present ? feature->present(report)
                            : feature_data(report->features, feature) != NULL;
}

/* Writes all files of the report into dir, which must exist. Returns 0, or -1
 * and an error that names the file; files written before stay. */
int report_write(const struct jp_report *report, const char *dir,
                 struct jp_error *err);

/* Single writers, for report_write and for tests. */
int report_write_json(const struct jp_report *report, FILE *out,
                      struct jp_error *err);
int report_write_text(const struct jp_report *report, FILE *out,
                      struct jp_error *err);
int report_write_html(const struct jp_report *report, FILE *out,
                      struct jp_error *err);
int report_write_csvs(const struct jp_report *report, const char *csv_dir,
                      struct jp_error *err);
struct jp_csv;
/* Writes the rows of ops.csv, by far the largest table. threads: 0 means one
 * per CPU; at most 8 are used. Threads format chunks of rows in parallel and
 * write them in order, so the bytes do not depend on the number of threads. The
 * caller is one of them and does all the work if no other can be created.
 * Failures show in csv->out. */
void csv_ops_write(struct jp_csv *csv, const struct jp_result *result,
                   unsigned threads);
int report_write_plots(const struct jp_report *report, const char *plots_dir,
                       struct jp_error *err);

/* Draws the scripts that report_write left in dir/plots, with gnuplot. Drawing
 * takes time, so it comes after the summary and its card. If gnuplot is absent
 * or fails, plots/NOTE has the reason, and that is not an error. The pictures
 * are also put into a report.html without charts. */
int report_draw(const char *dir, struct jp_error *err);

/* Prints the line for srun's stderr, or the card of at most 12 lines and 100
 * columns. how: line, card, nothing, or the card only on a terminal. Reads the
 * figures from <step_dir>/summary.json, so the text is the same in a process
 * that did not write the report. by_id: the reader's JOBID leads to the step,
 * as in srun's own folder; otherwise this is looked at from the current one. */
int report_print_line(const char *step_dir, enum jp_summary how, bool by_id,
                      FILE *out, struct jp_error *err);

#define JP_CARD_MIN_COLUMNS 80
#define JP_CARD_MAX_COLUMNS 100
#define JP_CARD_MAX_LINES 12

/* Prints the card of a summary (summary_file_read). columns is clamped
 * to these limits. Only the report's path may make a line longer. colour:
 * colours the verdict's word. */
void card_print(const struct summary_file *summary, const char *step_dir,
                bool by_id, bool colour, unsigned columns, FILE *out);

/* The folder in a job's directory that has the report of several steps. */
#define REPORT_JOB_FOLDER "job"

/* Rewrites <job_dir>/job.json and index.html from the summary.json of each
 * step's directory (temp + rename; safe while other steps do the same). */
int report_index(const char *job_dir, struct jp_error *err);

/* --- report_jobs.c ------------------------------------------------------ */

/* One page about all jobs of a folder, worst first. */

/* Not index.html: the folder is the user's, and that file may already exist. */
#define REPORT_JOBS_NAME "jobprof-index.html"

struct report_jobs_done {
    size_t jobs;
    enum jp_verdict_word worst;
};

/* Returns true if a subfolder is a job with a report (job.json). */
bool report_jobs_is_folder(const char *folder);

/* Writes <folder>/jobprof-index.html from the job.json of its jobs (temp +
 * rename). Does not follow links. Returns 0, or -1 and err if there is no job
 * or the page cannot be written; *done is then unchanged. */
int report_jobs(const char *folder, struct report_jobs_done *done,
                struct jp_error *err);

/* --- first_screen.c ----------------------------------------------------- */

/* What a reader sees before scrolling: the verdict in plain words, its figures,
 * the picture that proves it, causes, the next command. */

/* Formats the command to type next, as summary.json has it. Uses "." for the
 * report's folder if no step is known. Returns buf. */
#define FIRST_SCREEN_COMMAND 160
char *first_screen_command(const struct jp_report *report,
                           char buf[FIRST_SCREEN_COMMAND]);

/* Writes a command with another name of the report: the last word is replaced
 * by the folder, quoted for a shell, if it is "." or step ("1.0"). For the
 * card, whose reader may stand anywhere. Returns buf. */
#define FIRST_SCREEN_TYPED (FIRST_SCREEN_COMMAND + 2 * JP_CLEAN_MAX)
char *first_screen_typed(const char *command, const char *step,
                         const char *folder, char buf[FIRST_SCREEN_TYPED]);
/* Whether the settings that any later command reads lead from JOBID to the
 * step's directory. */
bool first_screen_by_id(const struct jp_jobconf *conf);

/* The command of the page and summary.txt: with "." where JOBID does not lead
 * to the report, because srun's option has set the directory. */
char *first_screen_type(const struct jp_report *report,
                        char buf[FIRST_SCREEN_TYPED]);

/* Returns what to check, as JP_PLAIN_CHECKS sentences; NULL if the findings
 * already have advice. */
const char *const *first_screen_checks(const struct jp_report *report);

/* Returns 0, or -1 when out of memory. */
int first_screen_write(const struct jp_report *report, FILE *out);

#endif
