/* util.h - the utilisation samples of a step's nodes, as one row per series.
 *
 * A series is one column of one member: a node, a task, a GPU, a port, or the
 * step's part of a node. Rows for all members together come first and have no
 * node name. The files are foreign input: bad parts are counted and the rest is
 * used.
 */
#ifndef JP_UTIL_UTIL_H
#define JP_UTIL_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/collect/nodes.h"
#include "common/loaded.h"
#include "plugins/util/util_rows.h"

enum jp_util_scope {
    JP_UTIL_STEP, /* the step's tasks on a node, measured by their cgroup */
    JP_UTIL_NODE, /* the whole node */
    JP_UTIL_TASK,
    JP_UTIL_GPU,
    JP_UTIL_PORT,
    JP_UTIL_SCOPES
};

struct jp_util_row {
    enum jp_util_scope scope;
    const char *node;     /* "": all members; owned by struct jp_util */
    char id[UTIL_ID_MAX]; /* rank, bus id or port; "": none */
    const struct util_column *column;
    uint64_t members, samples;
    double mean;      /* over all samples, with equal weight */
    double p50, p95;  /* over samples; for all members: over their means */
    double min, max;  /* over samples */
    double imbalance; /* largest mean / mean of means; NAN: one member, or
                       * zero */
    uint64_t first_us, last_us; /* since 1970, by the step's clock */
};

struct jp_util {
    struct jp_util_row *rows;
    size_t n_rows;
    uint64_t left_out; /* rows of members beyond UTIL_ROWS_MAX */
    char **nodes;      /* nodes with samples */
    size_t n_nodes;
    uint64_t files, cut_files, bad_lines, bad_files;
    char trouble[256]; /* error of the first bad file; "": none */
};

#define UTIL_ROWS_MAX 100000
#define JP_UTIL_TEXT 400 /* buffer size for util_text */

const char *util_scope_name(enum jp_util_scope scope);

/* Reads nodes/<node>/util-*.csv.gz of all nodes. *out is NULL if there are no
 * such files. Returns -1 without memory. */
int util_load(const char *step_dir, const struct jp_nodes *nodes,
              struct jp_util **out, struct jp_error *err);
void util_destroy(struct jp_util *util); /* accepts NULL */

/* The row for all members, or NULL. column: enum util_..._column of the
 * scope. */
const struct jp_util_row *util_find_row(const struct jp_util *util,
                                        enum jp_util_scope scope,
                                        unsigned column);

/* Formats "GPUs 63 % busy; CPU 12 of 96 cores; memory 41 of 80 GiB; ..." to buf
 * and leaves out what is unknown. Returns buf. */
char *util_text(const struct jp_util *util, char *buf, size_t size);

#endif
