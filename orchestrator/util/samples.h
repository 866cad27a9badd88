/* samples.h - the samples of a step's nodes over time, as means over equal
 * slices of the run.
 *
 * util.h summarises a series over the whole run; this shows its course by the
 * mean of each slice. A slice is at least as long as the sampling period.
 */
#ifndef JP_UTIL_SAMPLES_H
#define JP_UTIL_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/util/util.h"

enum { SAMPLES_SLICES = 60 };

/* A member: a node, task, GPU, port, or the step's part of a node. */
struct sampled {
    enum jp_util_scope scope;
    uint32_t node;                   /* index in the samples' nodes */
    char id[UTIL_ID_MAX];            /* rank, bus id or port; "": none */
    float *slices[UTIL_COLUMNS_MAX]; /* means; NAN: unknown; NULL: none is
                                      * known */
};

struct samples_node {
    const char *name;                  /* borrowed from struct jp_nodes */
    const struct clockmap_node *clock; /* clock of its rows' times, as in struct
                                        * jp_nodes */
    /* other jobs may run there, because the step does not have all of its CPUs,
     * or that is unknown; the node's totals may then be due to those jobs */
    bool shared;
    size_t first[JP_UTIL_SCOPES], n[JP_UTIL_SCOPES]; /* range of its members */
};

struct samples {
    struct sampled *at; /* ordered by scope, node, id */
    size_t n;
    size_t first[JP_UTIL_SCOPES + 1]; /* first member of each scope */
    struct samples_node *nodes;
    size_t n_nodes;
    uint64_t from_us, slice_us, period_us;
    unsigned n_slices;
    size_t left_out; /* members beyond the memory limit */
    void *open;      /* private: the file being read */
};

/* Makes empty samples for rows between from_us and to_us with period_us.
 * Returns -1 without memory, or if the times are invalid. Free with
 * samples_fini, which accepts zeroed samples. */
int samples_init(struct samples *s, const struct jp_nodes *nodes,
                 uint64_t from_us, uint64_t to_us, uint64_t period_us,
                 struct jp_error *err);
/* Adds the rows of one node and kind: call begin, rows, end. */
int samples_begin(struct samples *s, uint32_t node, enum util_kind kind,
                  struct jp_error *err);
int samples_row(void *samples, const struct util_row *row,
                struct jp_error *err);
int samples_end(struct samples *s, struct jp_error *err);
/* Call it last: sorts the members and determines which nodes are shared. */
void samples_settle(struct samples *s);
void samples_fini(struct samples *s);

/* Loads everything from nodes/<node>/util-*.csv.gz. util: summary of the same
 * files, which provides the times; NULL: s stays empty. */
int samples_load(struct samples *s, const char *step_dir,
                 const struct jp_nodes *nodes, const struct jp_util *util,
                 struct jp_error *err);

/* The kind of files for a scope, and the index of a column; -1: no such
 * column. */
enum util_kind samples_kind(enum jp_util_scope scope);
int samples_column(enum jp_util_scope scope, const char *name);

#endif
