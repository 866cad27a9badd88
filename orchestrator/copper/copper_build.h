/* copper_build.h - the parts of copper_run, in the order in which they run.
 *
 * Each returns 0, or -1 when out of memory (or what its comment says).
 */
#ifndef JP_COPPER_COPPER_BUILD_H
#define JP_COPPER_COPPER_BUILD_H

#include "orchestrator/copper/copper.h"
#include "orchestrator/copper/copper_find.h"
#include "orchestrator/copper/copper_pathset.h"

/* One daemon: a run of the files that copper_find sorted. */
struct copper_daemon {
    const char *host;
    int64_t pid;
    const struct copper_file *files;
    size_t n_files;
    bool has_profile;
    bool has_log;
    struct copper_log log;
    size_t launch;
    int level;
    const char *level_from;
};

struct copper_build {
    struct jp_copper *copper;
    const struct jp_copper_options *options;
    struct copper_found found;
    struct copper_daemon *daemons; /* by host, pid */
    size_t n_daemons;
    char **roster; /* expected hosts, sorted, distinct */
    size_t n_roster;
    struct copper_pathset *paths;
    uint64_t bytes_all;
    struct jp_error *err;
};

/* Notes what is odd about a file; bad: figures are missing because of it. */
int copper_note(struct copper_build *b, const char *path, bool bad,
                const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* After a file: counts it, reports progress. -1: stopped. */
int copper_read_done(struct copper_build *b, const struct copper_stream *s);

/* Is it one host, by its short or full name? */
bool copper_same_host(const char *a, const char *b);

int copper_daemons(struct copper_build *b);  /* groups files, reads logs */
int copper_launches(struct copper_build *b); /* whose daemon is whose */
int copper_roster(struct copper_build *b);   /* expected hosts, levels */
int copper_ranks(struct copper_build *b);    /* counters of each daemon */
int copper_totals(struct copper_build *b);   /* sums and ranges */
int copper_outliers(struct copper_build *b);
int copper_paths(struct copper_build *b); /* tables and top rows */
int copper_usage(struct copper_build *b); /* roots, lists */
int copper_vain(struct copper_build *b);  /* folders searched in vain */
int copper_findings(struct copper_build *b);
int copper_answers(struct copper_build *b);
int copper_advice(struct copper_build *b);

/* The counters of one daemon into a rank; in copper_rank.c. */
int copper_rank_load(struct copper_build *b, const struct copper_daemon *d,
                     struct jp_copper_rank *rank, size_t index);

/* The file of a daemon, or NULL. */
const struct copper_file *copper_daemon_file(const struct copper_daemon *d,
                                             enum copper_kind kind,
                                             enum copper_tag tag,
                                             uint64_t copy);

/* The class of a path; in copper_class.c. */
enum jp_copper_class copper_class_of(enum copper_category category,
                                     const char *path);

#endif
