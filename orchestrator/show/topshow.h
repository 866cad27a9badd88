/* topshow.h - what `jobprof top` prints of a step that runs: the verdict, then
 * a row a rank or a node, the worst first.
 *
 * One table of columns (topshow.c) is for text and JSON. A line is never longer
 * than the width: columns are left out instead, those of least use first. 80
 * columns hold node, rank, state, age, function, communicator and the data's
 * own age.
 */
#ifndef JP_SHOW_TOPSHOW_H
#define JP_SHOW_TOPSHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/json_stream.h"
#include "orchestrator/live/livestate.h"

/* From so many ranks on, rows are nodes. */
#define TOPSHOW_RANKS_MAX 32
/* Rows of a text that is no screen; --json has all. */
#define TOPSHOW_ROWS 40

struct topshow_row {
    const char *node;
    uint64_t ranks; /* of a node's row; 0: a rank's */
    int64_t rank, pid;
    enum stuck_state state;
    bool keeps, late, stale, in_flight;
    double age_s, data_age_s; /* NAN: not known, here and below */
    const char *func, *comm_name;
    uint64_t hash, seq, bytes;
    double ops, busbw_gbs, share, caused, gpu, mhz, watts;
    int severity;
};

enum topshow_sort {
    TOPSHOW_WORST,
    TOPSHOW_PLACE,  /* node, rank */
    TOPSHOW_AGE,    /* the oldest operation first */
    TOPSHOW_CAUSED, /* who makes the others wait */
    TOPSHOW_OPS,    /* the fewest first */
    TOPSHOW_N_SORTS
};
extern const char *const topshow_sort_words[TOPSHOW_N_SORTS];

struct topshow_how {
    const char *job;  /* "42.0", or the directory's name */
    const char *node; /* only that node's ranks; NULL: all */
    enum topshow_sort sort;
    bool odd; /* only what does not just work */
    /* of the print */
    unsigned width;
    size_t rows;     /* at most so many */
    size_t first;    /* from this one on */
    size_t selected; /* marked; SIZE_MAX: none */
    bool colour;
    bool screen; /* erases the rest of each line */
};

struct topshow {
    struct topshow_row *rows;
    size_t n;
    bool nodes; /* a row a node */
};

/* Rows of a look, which borrow from it. 0, or -1 without memory. topshow_fini
 * is due after a 0. */
int topshow_make(struct topshow *top, const struct livestate *state,
                 const struct topshow_how *how);
void topshow_fini(struct topshow *top);

/* How many lines stand above the rows. */
#define TOPSHOW_HEAD_LINES 4
void topshow_print(const struct topshow *top, const struct livestate *state,
                   const struct topshow_how *how, FILE *out);

/* Of the diagnostics: what the look read. One line. */
void topshow_print_reading(const struct livestate *state,
                           const struct topshow_how *how, FILE *out);

/* The members of a step's object; all nodes and ranks. 0, or -1 without memory.
 */
int topshow_json(struct jp_json_stream *s, const struct livestate *state);

#endif
