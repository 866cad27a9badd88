/* metrics.h - the table of all metrics (name, type, unit, labels, help), and
 * their output as text for Prometheus.
 *
 * The node agent's files of a running step, `jobprof export openmetrics`, the
 * history of a site and docs/metrics.md all use these rows. A set contains
 * objects (a node, a rank, a collective of one size, ...). An object has the
 * labels of its scope and a value for each metric of that scope.
 *
 *     struct metrics_set set;
 *     metrics_init(&set);
 *     double *v = metrics_add(&set, METRICS_RANK, "42", "0", "n1", "7");
 *     if (v)
 *         v[METRIC_OPERATIONS] = 1000;
 *     metrics_write(&set, &how, stream, &done, &err);
 *     metrics_fini(&set);
 *
 * Formats: Prometheus' text format 0.0.4 (prometheus.io/docs/instrumenting/
 * exposition_formats), which node_exporter's textfile collector reads, and
 * OpenMetrics 1.0 (github.com/OpenObservability/OpenMetrics). They name the
 * family of a counter differently, so one text cannot be valid in both formats.
 */
#ifndef JP_METRICS_METRICS_H
#define JP_METRICS_METRICS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

/* METRICS_UNTYPED: a name that NCCL Inspector uses. Its own files give neither
 * type nor help, and a file that gave them would contradict Inspector's on the
 * same node. */
enum metrics_type { METRICS_GAUGE, METRICS_COUNTER, METRICS_UNTYPED };

/* The kind of an object, which determines its labels. */
enum metrics_scope {
    METRICS_STEP,    /* the step, as seen by one node */
    METRICS_VERDICT, /* ... its verdict */
    METRICS_FINDING, /* ... its findings of a kind */
    METRICS_NODE,
    METRICS_STATE, /* number of a node's ranks in each state */
    METRICS_RANK,
    METRICS_COLL, /* a rank's collective, by size */
    METRICS_P2P,  /* ... Send or Recv */
    /* for a whole site, over steps: jobprof history */
    METRICS_HISTORY_STEP,
    METRICS_HISTORY_FINDING,
    METRICS_HISTORY_NODE,
    METRICS_HISTORY_ACCOUNT,
    METRICS_N_SCOPES
};

enum { METRICS_LABELS = 13, METRICS_LABEL_BYTES = 128 };

struct metrics_scope_row {
    const char *what;                   /* "a rank" */
    const char *labels[METRICS_LABELS]; /* terminated by NULL */
};
extern const struct metrics_scope_row metrics_scopes[METRICS_N_SCOPES];

enum metric {
    METRIC_INFO,
    METRIC_VERDICT,
    METRIC_FINDINGS,
    METRIC_HANGS,
    METRIC_ALERTS,
    METRIC_LATE_RANKS,
    METRIC_COVERAGE,
    METRIC_DURATION,
    METRIC_STATE,
    METRIC_LEFT_RANKS,
    METRIC_LEFT_SERIES,
    METRIC_AGENT_CPU,
    METRIC_AGENT_MEMORY,
    METRIC_OPERATIONS,
    METRIC_BYTES,
    METRIC_IN_FLIGHT,
    METRIC_OLDEST,
    METRIC_LAST_RECORD,
    METRIC_BUSY,
    METRIC_CAUSED,
    METRIC_WAITED,
    METRIC_CPU,
    METRIC_GPU_BUSY,
    METRIC_COLL_BUSBW,
    METRIC_COLL_TIME,
    METRIC_P2P_BUSBW,
    METRIC_P2P_TIME,
    METRIC_HISTORY_STEPS,
    METRIC_HISTORY_FINDINGS,
    METRIC_HISTORY_WAIT,
    METRIC_HISTORY_GPU_BUSY,
    METRICS_N
};

/* Where a metric is written. */
enum { METRICS_LIVE = 1, METRICS_REPORT = 2, METRICS_HISTORY = 4 };

struct metrics_row {
    const char *name; /* name of samples; that of a counter ends in _total */
    enum metrics_type type;
    const char *unit; /* last part of the name, without _total; NULL: none */
    enum metrics_scope scope;
    unsigned told; /* METRICS_LIVE and so on */
    const char *help;
};
extern const struct metrics_row metrics_rows[METRICS_N];

struct metrics_object {
    enum metrics_scope scope;
    double time_s; /* time of its samples (OpenMetrics only); NAN: omitted */
    char labels[METRICS_LABELS][METRICS_LABEL_BYTES];
    /* NAN: unknown. Values of other scopes' metrics are never written. */
    double values[METRICS_N];
};

struct metrics_set {
    double time_s; /* time of objects that are added from now on */
    struct metrics_object **objects;
    size_t n, room;
    size_t *slots; /* hash table by labels; 0: free, otherwise 1 + index */
    size_t n_slots;
};

void metrics_init(struct metrics_set *set);
void metrics_fini(struct metrics_set *set);

/* Returns the values of the object with these labels, one string for each label
 * of the scope. A new object is added with all values NAN. NULL or "": the
 * label is omitted. Strings are foreign input: invalid UTF-8 and control
 * characters become "?", and long strings are truncated. The values are
 * borrowed until the set ends. Returns NULL without memory. */
double *metrics_add_texts(struct metrics_set *set, enum metrics_scope scope,
                          const char *const texts[METRICS_LABELS]);
#define metrics_add(set, scope, ...)                                           \
    metrics_add_texts(set, scope,                                              \
                      (const char *const[METRICS_LABELS]){__VA_ARGS__})

enum metrics_format { METRICS_TEXT, METRICS_OPENMETRICS };

struct metrics_how {
    enum metrics_format format;
    size_t max_series; /* limit; the end of the table is left out; 0: none */
};

/* Writes the set. Metrics without any value are omitted, and so are values that
 * are not finite, and negative counters. *left: number of series left out
 * because of max_series (may be NULL); metrics_count gives the total
 * beforehand. Returns -1 if the stream failed. */
int metrics_write(const struct metrics_set *set, const struct metrics_how *how,
                  FILE *out, size_t *left, struct jp_error *err);

/* The number of series that metrics_write would write without a limit. */
size_t metrics_count(const struct metrics_set *set);

/* Size ranges as in Inspector's message_size. The unit is the largest power of
 * 1,024, with an exponent from 0 to 4, that is not above the size; a range
 * spans one whole unit. metrics_size_first: the first size of the range. The
 * other function formats it: "512-513MB". */
uint64_t metrics_size_first(uint64_t bytes);
char *metrics_size_text(uint64_t bytes, char *buf, size_t size);

/* Writes the tables of docs/metrics.md in Markdown. */
void metrics_describe(FILE *out);

/* --- metricsfile.c ------------------------------------------------------ */

/* A step's file in the folder of node_exporter's textfile
 * collector.
 *
 * The site sets the folder (metrics.textfile_dir); the job's user writes the
 * file. The folder therefore belongs to root and has the sticky bit (1777, or
 * 3770 with a group of all users), and the files belong to the users. A name
 * stands for one step, node and user:
 *
 *     jobprof-<job>.<step>-n<node's number>-<uid>.prom        mode 0644
 *
 * A file appears complete, by rename. Links are not followed. If the name is
 * taken by another user's file, that file is kept and an error is reported:
 * this step has no metrics then. A folder in which other users could replace
 * files is not used.
 */

/* The agent of a file not written for this many seconds is gone. */
#define METRICSFILE_STALE_S 900

enum { METRICSFILE_NAME_BYTES = 128 };

/* The owner of a file. */
struct metricsfile_step {
    uint64_t job; /* job id of the component */
    const char *step;
    uint32_t nodeid; /* index within the component */
};

/* Formats the file's name to buf. Returns buf. */
char *metricsfile_name(const struct metricsfile_step *step,
                       char buf[METRICSFILE_NAME_BYTES]);

/* Opens the folder if it can be trusted. Returns a descriptor, or -1; err then
 * says what to change. */
int metricsfile_open(const char *folder, struct jp_error *err);

/* Replaces the file's contents by these bytes. */
int metricsfile_write(const char *folder, const struct metricsfile_step *step,
                      const void *bytes, size_t n, struct jp_error *err);

/* Removes the file if it exists and is ours. */
void metricsfile_remove(const char *folder,
                        const struct metricsfile_step *step);

/* Removes stale files with such names, and the temporary files of their
 * writers: our own, or as root those of all users. *n: number of files (may be
 * NULL). dry: only counts. */
int metricsfile_clean(const char *folder, int dry, size_t *n,
                      struct jp_error *err);

#endif
