/* feature.h - what a feature adds to a report.
 *
 * A feature is a source of data beside the recordings of NCCL: a folder
 * orchestrator/NAME/ with a const struct feature_NAME, and two lines of
 * registry.c. The report, the verdict and the commands walk feature_registry;
 * what they still know by name is counted in contrib/checks/features.known.
 * What runs in or beside the tasks is no feature, but a backend
 * (plugins/backend.h).
 *
 * Hooks are only called if the report has the feature's data
 * (report_has in report.h), unless said otherwise; a hook that is NULL has
 * nothing to do. Those that return int return 0, or -1 without memory (or with
 * err, where they have one).
 */
#ifndef JP_FEATURE_FEATURE_H
#define JP_FEATURE_FEATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "common/jobconf.h"

struct backend; /* plugins/backend.h */
struct clockmap;
struct filekinds; /* orchestrator/ingest/filekinds.h */
struct first_screen_tile;
struct jp_chart;
struct jp_csv;
struct jp_html_section; /* orchestrator/report/sections.h */
struct jp_insight;
struct jp_json_stream;
struct jp_limit; /* orchestrator/insight/limits.h */
struct jp_nodes;
struct jp_reason_row; /* orchestrator/insight/reasons.h */
struct jp_report;
struct jp_result;
struct jp_step_labels;
struct jp_table;
struct jp_verdict;
struct json_t;        /* jansson.h */
struct summary_file;  /* orchestrator/report/summary_file.h */
struct trace_out;     /* common/trace_out.h */
struct verdict_input; /* orchestrator/insight/verdict.h */

/* An option of `jobprof aggregate` that is for one feature. */
struct feature_option {
    const char *name;  /* without dashes; NULL: end of the list */
    const char *value; /* its name in --help; NULL: none */
    const char *help;
    unsigned most; /* how often it may be given */
    /* Checks a value. NULL: any is good. */
    int (*check)(const char *value, struct jp_error *err);
};

/* How `jobprof show` asks a feature, and what that has shown. */
struct feature_show {
    const char *node; /* only this node; NULL: all */
    bool json;
    FILE *out;
    void (*say)(const char *text); /* of each damaged file; NULL: nobody */
};
struct feature_shown {
    size_t files, bad_files; /* of the agents; those that could not be read */
    size_t rows;
    size_t failed; /* failed checks, if there is a row */
};

/* Such an option as the user gave it, in the order of the command line. */
struct feature_given {
    const struct feature_option *option;
    const char *value; /* NULL: it has none */
};

/* What a feature reads its data from. */
struct feature_input {
    const char *const *inputs; /* n files and folders, as for aggregate_run */
    size_t n;
    const struct jp_jobconf *conf;     /* NULL: a folder of logs */
    const struct feature_given *given; /* of all features */
    size_t n_given;
    uint64_t memory_bytes; /* limit; 0: the feature decides */
    unsigned threads;      /* the same */
    bool over; /* time is up: only what takes next to no time is read */
    /* Called between parts with bytes read and all bytes, which are shown to
     * the user; true ends the reading. NULL: never. */
    int (*progress)(void *arg, uint64_t done, uint64_t total);
    void *progress_arg;
    /* The same where no progress is known. NULL: never. */
    bool (*stop)(void *arg);
    void *stop_arg;
    /* Whether other programs may be started to make data readable, and how long
     * they may run together. */
    bool may_run;
    uint32_t run_limit_ms;
    /* Takes a line about the reading for the step's log. NULL: nobody reads
     * it. */
    void (*log)(void *arg, const char *line);
    void *log_arg;
};

/* What explain() gets. All pointers are borrowed, and may be NULL but for
 * features and insight. */
struct feature_explain {
    const struct feature_set *features; /* what the others have read */
    const char *dir;                    /* of the step */
    const struct jp_nodes *nodes;
    struct jp_result *result;
    struct jp_insight *insight;
    const struct jp_step_labels *labels;
    /* Takes what could not be found, and why. */
    void (*failed)(void *arg, const char *what, const char *why);
    void *arg;
};

/* What coincides with a finding, by the samples of a feature. Borrowed from its
 * data. */
#define FEATURE_LOOKED_MAX 19 /* most n_looked */
struct feature_coincidence {
    const char *why;     /* a sentence; "": nothing is unusual */
    char *const *looked; /* n_looked kinds of causes that could have been seen,
                          * words of the schema */
    size_t n_looked;
    const struct jp_table *table; /* its rows from first on, strongest first */
    size_t first, n;
};

/* A metric of the samples, rows of "series" in the feature's object of
 * summary.json, whose largest value job.json keeps of each step. Constants. */
#define FEATURE_KEPT_MAX 32 /* metrics of a feature */
struct feature_kept {
    const char *scope, *metric, *unit; /* words of such a row */
    const char *help;                  /* one phrase */
};

/* What a verdict on a step needs to know of figures that agents take by
 * themselves, where nothing was profiled. */
enum { FEATURE_GAPS = 120 };
struct feature_figures {
    bool asked, there;
    const char *noun, *of;   /* "utilisation", "samples of utilisation" */
    const char *trouble;     /* why there are none; NULL: unknown */
    char gaps[FEATURE_GAPS]; /* what is missing of them, a clause; "" */
};

/* Rows of a table that its columns do not describe. */
struct feature_rows {
    const struct jp_table *table; /* NULL: end of the list */
    int (*put)(struct jp_csv *csv, const struct jp_report *report,
               const struct jp_table *table);
};

/* What the data of a feature is to a report. */
enum feature_role {
    /* A profile of something else than NCCL, which may be all that was asked
     * for. Such a report is about this feature: feature_known, feature_reported
     * and feature_first count it. */
    FEATURE_PROFILE,
    /* Figures of the same step that explain it, such as samples. They decide
     * the verdict only where nothing was profiled. */
    FEATURE_FIGURES,
    /* About the operations of NCCL: its object comes last in summary.json, and
     * its verdict after those of other data. */
    FEATURE_OPERATIONS,
    /* The machines that communicators run on: what their labels were made of.
     * Its part of summary.txt follows the communicators, and it has no object
     * in summary.json. */
    FEATURE_HARDWARE,
    /* A format of other tools that a finished report can also have. It has a
     * name, a title and a format, and no data. */
    FEATURE_FORMAT
};

/* How `jobprof export NAME` was called. */
struct feature_export {
    const char *output;      /* NULL: the format's own place */
    const char *compression; /* NULL: the best; otherwise has_compression */
};
struct feature_exported {
    uint64_t files; /* number of files written */
    uint64_t lost;  /* see lost of struct feature_format */
};

/* A table that is written row by row in a format of other tools. */
enum feature_cell {
    FEATURE_TEXT,
    FEATURE_BOOL,
    FEATURE_COUNT,
    FEATURE_CLOCK, /* microseconds since 1970, UTC */
    FEATURE_REAL
};
enum { FEATURE_COLUMNS_MAX = 64 };
struct feature_column {
    const char *name; /* borrowed while the table is written */
    enum feature_cell kind;
};
struct feature_value {
    bool known;
    uint64_t number;  /* of a count, clock or bool */
    double real;      /* of a real */
    const char *text; /* of a text, which is borrowed for the call */
};
struct feature_sheet {
    /* Begins a table with 1 to FEATURE_COLUMNS_MAX columns on out, which is
     * borrowed and positioned at its start. table: its name for readers.
     * Returns NULL and err on failure. */
    void *(*create)(FILE *out, const char *table,
                    const struct feature_column *columns, size_t n,
                    struct jp_error *err);
    /* Adds a row, a value for each column. */
    int (*add)(void *sheet, const struct feature_value *row,
               struct jp_error *err);
    /* Writes the end. */
    int (*finish)(void *sheet, struct jp_error *err);
    void (*destroy)(void *sheet); /* takes NULL */
};

/* A format of other tools, made of a finished report. The feature's name is the
 * option of `jobprof report` and `jobprof aggregate`, the word of `jobprof
 * export`, and the key of the settings (nccl.NAME). */
struct feature_format {
    const char *option; /* help of the option */
    /* Writes the tables of the report in dir into its own place below dir. */
    int (*write)(const char *dir, struct jp_error *err);
    /* Writes a file for each log of n inputs below dir, a tree like that of
     * NCCL Inspector's exporter. NULL: its tree has none of this format. */
    int (*write_logs)(const char *const *inputs, size_t n, const char *dir,
                      struct jp_error *err);

    /* --- jobprof export. Texts are for --help. */

    const char *about;
    const char *output; /* what --output names */
    /* --compression: its words, its help, and the message about others; NULL:
     * there is none */
    const char *compressions, *compression, *bad_compression;
    bool (*has_compression)(const char *word);
    /* Writes a step's report. Adds to *done; no file: there is no report. */
    int (*export_step)(const char *step, const struct feature_export *how,
                       struct feature_exported *done, struct jp_error *err);
    const char *lost; /* what follows a number of lost values, in a line */

    const struct feature_sheet *sheet; /* NULL: it has no tables by row */
};

/* Files with events of GPUs, for a trace of events (`jobprof export chrome`).
 */
struct feature_found {
    size_t n;          /* files */
    uint64_t first_ns; /* the earliest start in unix ns, by the clock common to
                          all nodes; UINT64_MAX: none */
    size_t bad;        /* files that cannot be placed in time, or damaged */
    void *list;        /* the feature's */
};

struct feature_events {
    const char *about; /* a sentence for --help: where they come from */
    /* Finds them among and below the inputs. say (NULL: nobody) is told of each
     * file that cannot be used, and why. 0, or -1 without memory. */
    int (*find)(struct feature_found *found, const char *const *inputs,
                size_t n, const struct clockmap *clocks,
                void (*say)(void *arg, const char *text), void *arg);
    /* Writes their events: one process per rank, one thread per stream of a
     * GPU. pid is the rank's number (is_named marks those that already have a
     * name), or counts from free_pid. Returns the number of files found to be
     * damaged. */
    size_t (*write)(const struct feature_found *found, uint64_t origin_ns,
                    const bool *is_named, size_t n_named, uint64_t free_pid,
                    struct trace_out *events);
    void (*fini)(struct feature_found *found); /* takes zeros */
};

struct feature {
    const char *name;  /* the key in summary.json */
    const char *title; /* a noun for sentences */
    enum feature_role role;
    /* The data has samples of what happened while the step ran, by which
     * findings are explained. Where nothing was profiled, their sentence
     * ("text" in summary.json) is the answer that srun prints. */
    bool samples;
    /* Sentences of such a feature on the first screen: nothing of a finding is
     * unusual in the samples; there are none, and how to get them; the same as
     * the note of a tile. */
    const char *usual, *unsampled, *offer;
    /* The i-th metric that job.json keeps; false: no more. */
    bool (*kept)(size_t i, struct feature_kept *out);
    /* Formats a value of it with its unit into buf of JP_FIGURE_LEN bytes.
     * Returns buf. */
    char *(*kept_figure)(size_t i, double value, char *buf);

    /* --- data: whatever read() makes */

    /* Whether the feature was asked for, so that missing data is an error. conf
     * may be NULL. Called without data, too. */
    bool (*asked)(const struct jp_jobconf *conf);
    /* Reads the data of a step from its raw/, for `jobprof report`. *data stays
     * NULL if there is none. -1 and err: it could not be read. */
    int (*read)(const struct feature_input *in, void **data,
                struct jp_error *err);
    /* Whether the report has its data, where that is a part of what the report
     * has anyway: figures of the joined result. NULL: it has if read() made
     * some. */
    bool (*present)(const struct jp_report *report);
    /* The same for `jobprof aggregate`, which does not call read(): reads the
     * files of its kind that were found. */
    int (*read_found)(const struct filekinds *found,
                      const struct feature_input *in, void **data,
                      struct jp_error *err);
    /* Reads what was collected in dir, a step's, while the step hung. Otherwise
     * as read(), which the same feature does not have. */
    int (*read_hang)(const char *dir, void **data, struct jp_error *err);
    /* Calls file(arg, path) for each file of that kind that was collected so;
     * dir as for read_hang. Returns 0, or what file has returned if that is not
     * 0; -1 without memory. */
    int (*collected)(const void *data, const char *dir, const char *kind,
                     int (*file)(void *arg, const char *path), void *arg);
    /* Reads n such files of this kind, which another feature has collected.
     * Otherwise as read(), which the same feature does not have. */
    const char *collected_kind;
    int (*read_collected)(const char *const *paths, size_t n, void **data,
                          struct jp_error *err);
    /* Whether a file that the user has named is only for this feature, so that
     * no other reader gets it. Called without data. */
    bool (*claims)(const char *path);
    /* Names of files that jobprof has written for it beside the data, which no
     * other reader gets; ends with NULL. NULL: none. */
    const char *const *own_files;
    /* The i-th of its files that hold operations of NCCL, too, borrowed; NULL:
     * no more. `jobprof aggregate` gives them to reader. */
    const char *(*operations_file)(const void *data, size_t i);
    const struct backend *reader;
    /* Reads what the nodes' agents have left in the step's directory. Otherwise
     * as read(), which the same feature does not have. */
    int (*read_nodes)(const char *dir, const struct jp_nodes *nodes,
                      void **data, struct jp_error *err);
    /* Derives data from that of others, when all findings are known. Otherwise
     * as read(), which the same feature does not have. */
    int (*explain)(const struct feature_explain *in, void **data,
                   struct jp_error *err);
    /* Whether the site has this data taken of every step, profiled or not, for
     * its history. Called without data. */
    bool (*wanted_of_all)(const struct jp_jobconf *conf);
    const struct feature_option *options;
    /* A sentence for the help of `jobprof aggregate`: which inputs it reads.
     * NULL: none of its own. */
    const char *inputs;
    /* Calls note(arg, path, why) for each file that cannot be used. why is NULL
     * for a line that is not about one file, in place of path. */
    void (*notes)(const void *data,
                  void (*note)(void *arg, const char *path, const char *why),
                  void *arg);
    void (*destroy)(void *data); /* takes NULL */
    /* Makes paths within the data relative to the step's directory. */
    void (*relative)(void *data, void (*one)(char *path, const char *dir),
                     const char *dir);

    /* --- findings and verdict */

    /* Adds findings to those of the operations, answers its questions, and sets
     * the result's hang. Adds fewer without memory. Called without data, too
     * (data is NULL). result may be NULL. */
    void (*judge_operations)(const void *data, struct jp_result *result,
                             struct jp_insight *insight);
    /* Adds sentences to the verdict, and makes it worse if the data shows so.
     * alone: nothing else was profiled, so the verdict is that of this data.
     * Called without data, too (data is NULL). */
    void (*judge)(const void *data, const struct verdict_input *in, bool alone,
                  struct jp_verdict *verdict);
    /* Says whether there are such figures. *figures holds zeros. Called without
     * data, too. NULL: the feature has none of this kind. */
    void (*figures)(const void *data, const struct verdict_input *in,
                    struct feature_figures *figures);
    /* What its findings need, for the page's list of limits; ends with a name
     * that is NULL. NULL: none. */
    const struct jp_limit *limits;
    /* Why its verdicts are NODATA, INCOMPLETE or UNJUDGED; ends with a key that
     * is NULL. NULL: none of its own. */
    const struct jp_reason_row *reasons;
    /* Adds that the data could not be read, and why. Called without data. */
    void (*failed)(const char *why, struct jp_verdict *verdict);
    /* What to look at if the feature is alone and not OK; NULL ends a list of
     * less than JP_PLAIN_CHECKS. */
    const char *const *checks;

    /* What coincides with the i-th finding. false: nobody looked there. */
    bool (*coincides)(const void *data, size_t finding,
                      struct feature_coincidence *out);

    /* --- files of a report */

    /* With a file in csv/. Ends with NULL; may be NULL. Columns with the
     * members label and metric are metrics of `jobprof export openmetrics`, too
     * (orchestrator/metrics/metrics.h). */
    const struct jp_table *const *tables;
    const struct feature_rows *rows; /* of some of these tables */
    /* In plots/, and if they have a name, in the data of the page, also without
     * data. Ends with NULL. */
    const struct jp_chart *const *charts;
    /* The object of summary.json. Called without data, too: it is empty
     * then. */
    void (*json)(struct jp_json_stream *s, const char *key,
                 const struct jp_report *report);
    /* Findings, as elements of an open array (tables_finding of
     * orchestrator/report/tables.h writes the members). */
    void (*findings)(struct jp_json_stream *s, const struct jp_report *report);
    /* Their kinds, regular expressions for docs/summary.schema.json; ends with
     * NULL. NULL: there are none. */
    const char *const *finding_kinds;
    /* Lines in the block of data of summary.txt. */
    void (*lines)(const struct jp_report *report, FILE *out);
    /* Its part of summary.txt. NULL: its tables follow the block of data. */
    int (*text)(const struct jp_report *report, FILE *out);
    /* Its sections of the page; ends with an id that is NULL. */
    const struct jp_html_section *sections;
    /* Writes in a clause what `jobprof report` has to do again to complete the
     * data; returns false if there is nothing. */
    bool (*undone)(const void *data, char *buf, size_t size);
    /* Further files below dir. */
    int (*files)(const struct jp_report *report, const char *dir,
                 struct jp_error *err);

    /* --- the page's first screen. The first four tiles and the picture are for
     * a feature that is alone. */

    /* The first four tiles. */
    void (*tiles)(const struct jp_report *report,
                  struct first_screen_tile *tiles);
    /* Further tiles of a report without any profile, at most room. Returns
     * their number. */
    size_t (*further_tiles)(const struct jp_report *report,
                            struct first_screen_tile *tiles, size_t room);
    /* Tiles about the step: what limits it, and how long a step of the
     * program's loop takes. false: unknown, or there is nothing to say. */
    bool (*tile_bound)(const struct jp_report *report,
                       struct first_screen_tile *tile);
    bool (*tile_pace)(const struct jp_report *report,
                      struct first_screen_tile *tile);
    /* The command that shows what a slow network connects. NULL: there is
     * nothing to show. */
    const char *(*network_command)(const struct jp_report *report);
    /* The picture that proves the verdict. 1: nothing to draw. */
    int (*proof)(const struct jp_report *report, FILE *out);

    /* --- the card. Both get summary.json, which may be of another version
     * (summary_file_own reads what the feature has written there), and are
     * called without data. */

    /* Prints the feature's lines. */
    void (*card)(const struct summary_file *summary, unsigned columns,
                 FILE *out);
    /* Returns a sentence if the feature was asked for and left nothing. */
    const char *(*missing)(const struct summary_file *summary);

    const struct feature_format *format; /* of FEATURE_FORMAT */
    const struct feature_events *events; /* for traces; NULL: none */

    /* --- `jobprof show` with its name as an option: for what the nodes' agents
     * have left in n steps' folders nodes/ (NULL: a step has none), or for data
     * of read_hang */

    /* Prints rows and checks. Returns 0, or -1: no memory, or the output
     * failed. */
    int (*show_nodes)(char *const *nodes, size_t n,
                      const struct feature_show *how,
                      struct feature_shown *shown, struct jp_error *err);
    const char *shows_no_row; /* what it says if the files have none */

    /* Prints the data of one step; what is missing of it goes to stderr, unless
     * quiet. *complete: nothing is. */
    int (*show)(const void *data, bool json, bool quiet, bool *complete,
                struct jp_error *err);
    /* What it says of a step without such data, to stderr. */
    const char *shows_nothing;
};

/* registry.c; ends with NULL. */
extern const struct feature *const feature_registry[];

/* Most features; the registry has fewer. */
enum { FEATURES_MAX = 16 };

/* The data of all features, in the order of the registry. */
struct feature_set {
    void *data[FEATURES_MAX];
    struct jp_error trouble[FEATURES_MAX]; /* why it could not be read; "":
                                              none */
};

/* Reads the data of all features; what cannot be read is in set->trouble. */
void feature_read(const struct feature_input *in, struct feature_set *set);
void feature_fini(struct feature_set *set);

/* The data of a feature, or NULL. set may be NULL. */
const void *feature_data(const struct feature_set *set,
                         const struct feature *feature);
/* The same by the feature's name, for its own files. */
const void *feature_data_of(const struct feature_set *set, const char *name);
/* The feature of that name, or NULL. */
const struct feature *feature_named(const char *name);
/* The feature that takes samples, or NULL. */
const struct feature *feature_sampler(void);
/* Sets the data of a feature, which only feature_fini destroys. */
void feature_lend(struct feature_set *set, const struct feature *feature,
                  void *data);

/* Reads the files of all features among those found. -1 and err: some could not
 * be read; the set has to be destroyed all the same. */
int feature_read_found(const struct filekinds *found,
                       const struct feature_input *in, struct feature_set *set,
                       struct jp_error *err);
/* Reads what was collected while steps hung, for each feature from the first of
 * n folders that has some. Files of other features are looked for in dir. What
 * cannot be read is in set->trouble. */
void feature_read_hang(const char *const *dirs, size_t n, const char *dir,
                       struct feature_set *set);
/* Calls all read_nodes; what cannot be read is in set->trouble. */
void feature_read_nodes(const char *dir, const struct jp_nodes *nodes,
                        struct feature_set *set);
/* Calls all explain; what failed altogether goes to in->failed. */
void feature_explain_all(const struct feature_explain *in,
                         struct feature_set *set);
/* Calls note for each file of any feature that cannot be used. */
void feature_notes(const struct feature_set *set,
                   void (*note)(void *arg, const char *path, const char *why),
                   void *arg);
/* Whether a feature claims a file that the user has named. */
bool feature_claims(const char *path);
/* Whether a file of this name is among a feature's own_files. */
bool feature_owns(const char *name);
/* The k-th file of feature_registry[i] that holds operations; NULL: no more. */
const char *feature_operations_file(const struct feature_set *set, size_t i,
                                    size_t k);
/* Lists the features' readers of such files; ends with NULL. */
void feature_readers(const struct backend *readers[FEATURES_MAX + 1]);
/* Calls all judge_operations. */
void feature_judge_operations(const struct feature_set *set,
                              struct jp_result *result,
                              struct jp_insight *insight);

/* What coincides with the i-th finding, by the first feature that looked;
 * false: none has. set may be NULL. */
bool feature_coincides(const struct feature_set *set, size_t finding,
                       struct feature_coincidence *out);

/* Writes a report's tables in dir in these formats (bit i is that of
 * feature_registry[i]). Ends with the first one that fails: -1, *failed and
 * err. */
int feature_write_formats(uint32_t formats, const char *dir,
                          const struct feature **failed, struct jp_error *err);
/* Writes all formats of n inputs' logs into dir, a tree like the exporter's. */
int feature_write_logs(const char *const *inputs, size_t n, const char *dir,
                       struct jp_error *err);

/* The profiles (FEATURE_PROFILE) that have data: bit i is that of
 * feature_registry[i]. set may be NULL. */
uint32_t feature_known(const struct feature_set *set);
/* The same of a summary.json: the features whose object is not empty. root may
 * be NULL. */
uint32_t feature_reported(const struct json_t *root);
/* Whether a feature was asked for. conf may be NULL. */
bool feature_asked(const struct jp_jobconf *conf);
/* The first profile that has data, or NULL. set may be NULL. */
const struct feature *feature_first(const struct feature_set *set);

#endif
