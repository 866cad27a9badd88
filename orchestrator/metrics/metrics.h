/* metrics.h - the one table of metrics: name, type, unit, labels, help; and
 * text of it for Prometheus.
 *
 * The node agent's files while a step runs, `jobprof export openmetrics` of a
 * report, the history of a site and docs/metrics.md read the same rows. A set
 * holds objects (a node, a rank, a collective of one size ...); an object has
 * its scope's labels and a value for each metric of that scope.
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
 * OpenMetrics 1.0 (github.com/OpenObservability/OpenMetrics). They differ in a
 * counter's family name, so that one text cannot be both.
 */
#ifndef JP_METRICS_METRICS_H
#define JP_METRICS_METRICS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

/* METRICS_UNTYPED: a name of NCCL Inspector's. Its own files tell neither type
 * nor help of it; text that told one would contradict them on the same node. */
enum metrics_type { METRICS_GAUGE, METRICS_COUNTER, METRICS_UNTYPED };

/* What an object is: which labels it has. */
enum metrics_scope {
    METRICS_STEP,    /* the step, as a node tells it */
    METRICS_VERDICT, /* ... its verdict */
    METRICS_FINDING, /* ... its findings of a kind */
    METRICS_NODE,
    METRICS_STATE, /* ranks of a node, by how they are */
    METRICS_RANK,
    METRICS_COLL, /* a rank's collective, by size */
    METRICS_P2P,  /* ... Send or Recv */
    /* of a site, over steps: jobprof history */
    METRICS_HISTORY_STEP,
    METRICS_HISTORY_FINDING,
    METRICS_HISTORY_NODE,
    METRICS_HISTORY_ACCOUNT,
    METRICS_N_SCOPES
};

enum { METRICS_LABELS = 13, METRICS_LABEL_BYTES = 128 };

struct metrics_scope_row {
    const char *what;                   /* "a rank" */
    const char *labels[METRICS_LABELS]; /* NULL ends them */
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

/* Where a metric is told. */
enum { METRICS_LIVE = 1, METRICS_REPORT = 2, METRICS_HISTORY = 4 };

struct metrics_row {
    const char *name; /* of samples: a counter's ends with _total */
    enum metrics_type type;
    const char *unit; /* the name's end, without _total; NULL: none */
    enum metrics_scope scope;
    unsigned told; /* METRICS_LIVE ... */
    const char *help;
};
extern const struct metrics_row metrics_rows[METRICS_N];

struct metrics_object {
    enum metrics_scope scope;
    double time_s; /* of its samples (OpenMetrics only); NAN: not told */
    char labels[METRICS_LABELS][METRICS_LABEL_BYTES];
    /* NAN: not known. Those of other scopes' metrics are never told. */
    double values[METRICS_N];
};

struct metrics_set {
    double time_s; /* of objects that are added from now on */
    struct metrics_object **objects;
    size_t n, room;
    size_t *slots; /* by labels; 0: free, else an index from 1 on */
    size_t n_slots;
};

void metrics_init(struct metrics_set *set);
void metrics_fini(struct metrics_set *set);

/* The values of the object with those labels, one text for each of the scope's
 * labels; made where it is new, all NAN. NULL or "": the label is not told.
 * Texts are foreign: what is no UTF-8 or no character becomes "?", what is too
 * long is cut. Borrowed until the set ends. NULL: no memory. */
double *metrics_add_texts(struct metrics_set *set, enum metrics_scope scope,
                          const char *const texts[METRICS_LABELS]);
#define metrics_add(set, scope, ...)                                           \
    metrics_add_texts(set, scope,                                              \
                      (const char *const[METRICS_LABELS]){__VA_ARGS__})

enum metrics_format { METRICS_TEXT, METRICS_OPENMETRICS };

struct metrics_how {
    enum metrics_format format;
    size_t max_series; /* more are left out, from the table's end; 0: none is */
};

/* Writes the set. Of metrics that no object has a value of nothing is written.
 * A value that is not finite is left out, and so is a counter below 0. *left:
 * series that max_series left out (may be NULL); metrics_count tells before.
 * -1: the stream failed. */
int metrics_write(const struct metrics_set *set, const struct metrics_how *how,
                  FILE *out, size_t *left, struct jp_error *err);

/* How many series metrics_write would write without a limit. */
size_t metrics_count(const struct metrics_set *set);

/* Ranges of sizes, as Inspector's message_size has them: the unit of 1,024 to
 * the power of 0 to 4 in which the size is at least 1, and the whole number
 * below it. The first size of a range; "512-513MB". */
uint64_t metrics_size_first(uint64_t bytes);
char *metrics_size_text(uint64_t bytes, char *buf, size_t size);

/* docs/metrics.md's tables, in Markdown. */
void metrics_describe(FILE *out);

#endif
