/* feature.h - what a feature adds to a report.
 *
 * A feature is a source of data beside the recordings of NCCL: a folder
 * orchestrator/NAME/ with a const struct feature_NAME, and a line of
 * registry.c. The report, the verdict and the commands walk feature_registry;
 * what they still know by name is counted in contrib/checks/features.known.
 * What runs in or beside the tasks is no feature, but a backend
 * (plugins/backend.h).
 *
 * Hooks are only called if there is data, unless said otherwise; a hook that is
 * NULL has nothing to do. Those that return int return 0, or -1 without memory
 * (or with err, where they have one).
 */
#ifndef JP_FEATURE_FEATURE_H
#define JP_FEATURE_FEATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "common/jobconf.h"

struct filekinds; /* orchestrator/ingest/filekinds.h */
struct first_screen_tile;
struct hangstacks; /* orchestrator/evidence/hangstacks.h */
struct jp_chart;
struct jp_csv;
struct jp_insight;
struct jp_json_stream;
struct jp_report;
struct jp_result;
struct jp_table;
struct jp_verdict;
struct json_t; /* jansson.h */

/* What a feature reads its data from. */
struct feature_input {
    const char *const *inputs; /* n files and folders, as for aggregate_run */
    size_t n;
    const struct jp_jobconf *conf; /* NULL: a folder of logs */
    /* Called between parts; true ends the reading. NULL: never. */
    int (*progress)(void *arg, uint64_t done, uint64_t total);
    void *progress_arg;
};

/* Rows of a table that its columns do not describe. */
struct feature_rows {
    const struct jp_table *table; /* NULL: end of the list */
    int (*put)(struct jp_csv *csv, const struct jp_report *report,
               const struct jp_table *table);
};

struct feature {
    const char *name;    /* of the folder; the key in summary.json; the anchor
                            of the section */
    const char *title;   /* a noun for sentences */
    const char *section; /* heading in the page, HTML */
    const char *note;    /* a line below the heading, HTML; NULL: none */

    /* Where its data is about the operations of NCCL: the id of the page's
     * section after which its own comes. The report is one of NCCL then, so
     * feature_known, feature_reported and feature_first leave the feature out,
     * its object comes last in summary.json, and its verdict after those of
     * other data. NULL: its data stands for itself. */
    const char *beside;

    /* --- data: whatever read() makes */

    /* Whether the feature was asked for, so that missing data is an error. conf
     * may be NULL. Called without data, too. */
    bool (*asked)(const struct jp_jobconf *conf);
    /* Reads the data. *data stays NULL if there is none. -1 and err: it could
     * not be read. */
    int (*read)(const struct feature_input *in, void **data,
                struct jp_error *err);
    /* Reads the files of its kind that `jobprof aggregate` has found. Otherwise
     * as read(). in->inputs is not set. */
    int (*read_found)(const struct filekinds *found,
                      const struct feature_input *in, void **data,
                      struct jp_error *err);
    /* Reads what was collected for it while the step in dir hung. Otherwise as
     * read(), which the same feature does not have. hang may be NULL. */
    int (*read_evidence)(const struct hangstacks *hang, const char *dir,
                         void **data, struct jp_error *err);
    /* Calls note(arg, path, why) for each file that cannot be used. */
    void (*notes)(const void *data,
                  void (*note)(void *arg, const char *path, const char *why),
                  void *arg);
    void (*destroy)(void *data); /* takes NULL */
    /* Makes paths within the data relative to the step's directory. */
    void (*relative)(void *data, void (*one)(char *path, const char *dir),
                     const char *dir);

    /* --- findings and verdict */

    /* Adds findings to those of the operations, and sets the result's hang.
     * Adds fewer without memory. result may be NULL. */
    void (*judge_operations)(const void *data, struct jp_result *result,
                             struct jp_insight *insight);
    /* Adds sentences to the verdict, and makes it worse if the data shows so.
     * alone: nothing else was profiled, so the verdict is that of this data. */
    void (*judge)(const void *data, bool alone, struct jp_verdict *verdict);
    /* Adds that the data could not be read, and why. Called without data. */
    void (*failed)(const char *why, struct jp_verdict *verdict);
    /* What to look at if the feature is alone and not OK; NULL ends a list of
     * less than JP_PLAIN_CHECKS. */
    const char *const *checks;

    /* --- files of a report */

    const struct jp_table *const *tables; /* with a file in csv/; ends with
                                             NULL */
    const struct feature_rows *rows;      /* of some of these tables */
    const struct jp_chart *const *charts; /* in plots/; ends with NULL */
    /* The object of summary.json. Called without data, too: it is empty
     * then. */
    void (*json)(struct jp_json_stream *s, const char *key,
                 const struct jp_report *report);
    /* Findings, as members of an open array. */
    void (*findings)(struct jp_json_stream *s, const struct jp_report *report);
    /* Lines in the block of data of summary.txt. */
    void (*lines)(const struct jp_report *report, FILE *out);
    /* Its part of summary.txt. NULL: its tables follow the block of data. */
    int (*text)(const struct jp_report *report, FILE *out);
    int (*html)(const struct jp_report *report, FILE *out);
    /* The figure of the closed section. Returns whether there is one. buf:
     * DRAWER_FIGURE bytes. */
    bool (*figure)(const struct jp_report *report, char *buf);
    /* Further files below dir. */
    int (*files)(const struct jp_report *report, const char *dir,
                 struct jp_error *err);

    /* --- the page's first screen, if the feature is alone */

    /* The first four tiles. */
    void (*tiles)(const struct jp_report *report,
                  struct first_screen_tile *tiles);
    /* The picture that proves the verdict. 1: nothing to draw. */
    int (*proof)(const struct jp_report *report, FILE *out);

    /* --- the card: a line from the object of summary.json, which may be of
     * another version, or NULL. */
    void (*card)(const struct json_t *object, unsigned columns, FILE *out);
};

/* registry.c; ends with NULL. */
extern const struct feature *const feature_registry[];

/* Most features; the registry has fewer. */
enum { FEATURES_MAX = 8 };

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
/* Sets the data of a feature, which only feature_fini destroys. */
void feature_lend(struct feature_set *set, const struct feature *feature,
                  void *data);

/* Reads the files of all features among those found. -1 and err: some could not
 * be read; the set has to be destroyed all the same. */
int feature_read_found(const struct filekinds *found,
                       const struct feature_input *in, struct feature_set *set,
                       struct jp_error *err);
/* Reads the evidence of all features; what cannot be read is in
 * set->trouble. */
void feature_read_evidence(const struct hangstacks *hang, const char *dir,
                           struct feature_set *set);
/* Calls note for each file of any feature that cannot be used. */
void feature_notes(const struct feature_set *set,
                   void (*note)(void *arg, const char *path, const char *why),
                   void *arg);
/* Calls all judge_operations. */
void feature_judge_operations(const struct feature_set *set,
                              struct jp_result *result,
                              struct jp_insight *insight);

/* The features with data of their own: bit i is that of feature_registry[i].
 * set may be NULL. */
uint32_t feature_known(const struct feature_set *set);
/* The same of a summary.json: the features whose object is not empty. */
uint32_t feature_reported(const struct json_t *summary);
/* Whether a feature was asked for. conf may be NULL. */
bool feature_asked(const struct jp_jobconf *conf);
/* The first feature with data of its own, or NULL. set may be NULL. */
const struct feature *feature_first(const struct feature_set *set);

#endif
