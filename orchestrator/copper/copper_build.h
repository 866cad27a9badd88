/* copper_build.h - the parts of copper_run, in the order in which they run.
 *
 * Each returns 0, or -1 when out of memory (or as its comment says).
 */
#ifndef JP_COPPER_COPPER_BUILD_H
#define JP_COPPER_COPPER_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/copper/copper.h"
#include "plugins/copper/copper_counts.h"

struct copper_file {
    char *path;
    size_t root_len; /* length of the log directory within path */
    struct copper_name name;
    uint64_t size;
    int64_t mtime_us;
};

/* Copper's files below the inputs. Symbolic links are not followed. Names
 * decide (plugins/copper/copper_counts.h); the readers check the contents. The
 * log directory is the folder above profiling/, tables/ or logs/; for other
 * files, their own folder. */
struct copper_found {
    struct copper_file
        *files; /* ordered by host, pid, log directory, kind, tag, copy */
    size_t n;
    size_t profiles; /* number of files other than logs and lists of nodes */
    size_t logs;     /* logs that are not empty */
    size_t lists;    /* lists of nodes */
    bool foreign;    /* a file, or an input, belongs to another user */
};

/* One daemon: a range of the files. */
struct copper_daemon {
    const char *host;
    int64_t pid;
    const struct copper_file *files; /* sorted by copper_find */
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
    struct copper_daemon *daemons; /* ordered by host, pid */
    size_t n_daemons;
    char **roster; /* expected hosts; sorted, distinct */
    size_t n_roster;
    struct copper_pathset *paths; /* while copper_paths runs */
    uint64_t bytes_all;
    /* false: a user looks at the user's own data with the user's own rights, so
     * that looking up files reveals no secret. true: files are looked up only
     * below options' usage_roots, and links are not followed. */
    bool guarded;
    struct jp_error *err;
};

struct copper_pathset;

/* Notes a problem with a file; bad: figures are missing because of it. */
int copper_note(struct copper_build *b, const char *path, bool bad,
                const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Call it after each file: counts it and reports progress. -1: stopped. */
int copper_read_done(struct copper_build *b, const struct copper_stream *s);

/* Whether both names, short or full, mean the same host. */
bool copper_same_host(const char *a, const char *b);

/* Groups files by daemon, reads logs, assigns daemons to launches, and finds
 * the expected hosts and their levels. */
int copper_daemons(struct copper_build *b);
int copper_ranks(struct copper_build *b); /* counters of each daemon */
int copper_paths(struct copper_build *b); /* tables and top rows */
/* Compares paths with existing files; folders of unsuccessful lookups. */
int copper_usage(struct copper_build *b);
int copper_advice(struct copper_build *b); /* findings, answers and advice */

/* Finds a file of a daemon; NULL: none. */
const struct copper_file *copper_daemon_file(const struct copper_daemon *d,
                                             enum copper_kind kind,
                                             enum copper_tag tag,
                                             uint64_t copy);

/* The class of a path. */
enum jp_copper_class copper_class_of(enum copper_category category,
                                     const char *path);

/* Returns 0, or -1: no memory, or an input cannot be opened. */
int copper_find(const char *const *inputs, size_t n_inputs,
                struct copper_found *found, struct jp_error *err);
/* Frees the files, the daemons and the expected hosts. */
void copper_daemons_fini(struct copper_build *b);

/* limit in bytes; 0: 1 GiB. Returns NULL when out of memory. */
struct copper_pathset *copper_pathset_create(uint64_t limit);
void copper_pathset_destroy(struct copper_pathset *set); /* accepts NULL */

/* Adds a row of rank (an index). full: the row is from a full table. Returns 0
 * if added, 1 if the path exceeds the limit, -1 when out of memory. Counts
 * saturate at UINT64_MAX. */
int copper_pathset_add(struct copper_pathset *set, const struct copper_row *row,
                       size_t rank, bool full);

/* Hands over the paths, sorted as in struct jp_copper, and the memory that
 * contains them, which copper_pathset_free frees. The set is empty then. */
void copper_pathset_take(struct copper_pathset *set,
                         struct jp_copper_path **paths, size_t *n,
                         void **memory);
void copper_pathset_free(void *memory);

/* Copies a text for the lifetime of the memory. Returns NULL when out of
 * memory. */
const char *copper_memory_keep(void **memory, const char *text, size_t len);

#endif
