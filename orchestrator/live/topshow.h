/* topshow.h - the output of `jobprof top` for a running step: the verdict, then
 * one row per rank or node, worst first.
 *
 * One table of columns (topshow.c) serves text and JSON. A line is never longer
 * than the width; instead, the least useful columns are omitted. 80 columns
 * have room for node, rank, state, age, function, communicator and the age of
 * the data.
 */
#ifndef JP_LIVE_TOPSHOW_H
#define JP_LIVE_TOPSHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/json_stream.h"
#include "orchestrator/live/livestate.h"

/* With this many ranks or more, rows are nodes. */
#define TOPSHOW_RANKS_MAX 32
/* Number of rows if the output is not a screen; --json has all. */
#define TOPSHOW_ROWS 40

struct topshow_row {
    const char *node;
    uint64_t ranks; /* number of ranks in a node's row; 0: a rank's row */
    int64_t rank, pid;
    enum hung_state state;
    bool keeps, late, stale, in_flight;
    double age_s, data_age_s; /* NAN: unknown, here and below */
    const char *func, *comm_name;
    uint64_t hash, seq, bytes;
    double ops, busbw_gbs, share, caused, gpu, mhz, watts;
    int severity;
};

enum topshow_sort {
    TOPSHOW_WORST,
    TOPSHOW_PLACE,  /* by node and rank */
    TOPSHOW_AGE,    /* oldest operation first */
    TOPSHOW_CAUSED, /* first the ranks for which others wait */
    TOPSHOW_OPS,    /* fewest first */
    TOPSHOW_N_SORTS
};
extern const char *const topshow_sort_words[TOPSHOW_N_SORTS];

struct topshow_how {
    const char *job;  /* "42.0", or the name of the directory */
    const char *node; /* show only that node's ranks; NULL: all */
    enum topshow_sort sort;
    bool odd; /* show only ranks that are not simply working */
    /* of the output in columns */
    unsigned width;
    size_t rows;     /* maximum number of rows */
    size_t first;    /* index of the first row */
    size_t selected; /* index of the marked row; SIZE_MAX: none */
    bool colour;
    bool screen;  /* erase the rest of each line */
    bool reading; /* add a diagnostic line about what the look has read */
};

struct topshow {
    struct topshow_row *rows;
    size_t n;
    bool nodes; /* one row per node */
};

/* Makes the rows of a look and borrows from it. Returns 0, or -1 without
 * memory. Call topshow_fini after a 0. */
int topshow_make(struct topshow *top, const struct livestate *state,
                 const struct topshow_how *how);
void topshow_fini(struct topshow *top);

/* Number of lines above the rows. */
#define TOPSHOW_HEAD_LINES 4
void topshow_print(const struct topshow *top, const struct livestate *state,
                   const struct topshow_how *how, FILE *out);

/* Writes the members of a step's object, with all nodes and ranks. Returns 0,
 * or -1 without memory. */
int topshow_json(struct jp_json_stream *s, const struct livestate *state);

#endif
