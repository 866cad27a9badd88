/* samples.h - what a step's nodes sampled, in equal slices of the run.
 *
 * Where util.h says what a series was like on the whole, this says when: the
 * mean of each slice. A slice is no shorter than the time between samples.
 */
#ifndef JP_CAUSE_SAMPLES_H
#define JP_CAUSE_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/util/util.h"
#include "orchestrator/cause/cause.h"

enum { SAMPLES_SLICES = 60 };

/* A node, task, GPU, port, or the step's part of a node. */
struct sampled {
    enum jp_util_scope scope;
    uint32_t node;                   /* index of the samples' nodes */
    char id[UTIL_ID_MAX];            /* rank, bus id, port; "" none */
    float *slices[UTIL_COLUMNS_MAX]; /* means, NAN not known; NULL: none is */
};

struct samples_node {
    const char *name;                  /* borrowed from struct jp_nodes */
    const struct clockmap_node *clock; /* as there: of its rows' times */
    /* other jobs may run there: the step has not all of its processors, or that
     * is not known. What the node counts may be theirs then */
    bool shared;
    size_t first[JP_UTIL_SCOPES], n[JP_UTIL_SCOPES]; /* of its members */
};

struct samples {
    struct sampled *at; /* by scope, then node, then as they came */
    size_t n;
    size_t first[JP_UTIL_SCOPES + 1]; /* of each scope */
    struct samples_node *nodes;
    size_t n_nodes;
    uint64_t from_us, slice_us, period_us;
    unsigned n_slices;
    size_t left_out; /* members beyond the memory allowed */
    void *open;      /* private: the file that is being read */
};

/* An empty value for rows from..to, which come every period_us. -1: no memory,
 * or no such time. Free with samples_fini, which takes zeros. */
int samples_init(struct samples *s, const struct jp_nodes *nodes,
                 uint64_t from_us, uint64_t to_us, uint64_t period_us,
                 struct jp_error *err);
/* Rows of a node and kind come together: begin, rows, end. */
int samples_begin(struct samples *s, uint32_t node, enum util_kind kind,
                  struct jp_error *err);
int samples_row(void *samples, const struct util_row *row,
                struct jp_error *err);
int samples_end(struct samples *s, struct jp_error *err);
/* After the last: sorts members, tells which nodes are shared. */
void samples_settle(struct samples *s);
void samples_fini(struct samples *s);

/* All of it from nodes/<node>/util-*.csv.gz. util: the same files' series,
 * which tell the time; NULL leaves s empty. */
int samples_load(struct samples *s, const char *step_dir,
                 const struct jp_nodes *nodes, const struct jp_util *util,
                 struct jp_error *err);

/* The files of a scope, and a column by its name; -1: they have none. */
enum util_kind samples_kind(enum jp_util_scope scope);
int samples_column(enum jp_util_scope scope, const char *name);

/* How likely it is that one of a few members is so far off. */

/* One-sided tail of Student's t, P(T >= t); dof > 0. */
double deviation_t_tail(double t, double dof);

/* The chance that a further member is `excess` or more off the median of n
 * peers (n >= 1), which are reordered. usual: what members differ by anyway, a
 * standard deviation; > 0. Their variance is moderated by it, as if
 * JP_LIMIT_CAUSE_PRIOR peers more had told that. *deviations: standard ones. */
double deviation_chance(double *peers, size_t n, double median, double excess,
                        double usual, double *deviations);

/* The same of two means, of a and b values, that have the pooled variance of n
 * values. */
double deviation_within(double variance, size_t n, double a, double b,
                        double excess, double usual, double *deviations);

/* When a finding held the others up, in slices of the samples. */

struct course {
    /* how long others waited for it; of what the records tell */
    double waits_us[SAMPLES_SLICES];
    bool late[SAMPLES_SLICES]; /* the time of the finding */
    bool rest[SAMPLES_SLICES]; /* the rest of the time with operations */
    /* before and after the finding; what is between two of its waits is in rest
     * only, where nothing need have changed */
    bool outside[SAMPLES_SLICES];
    unsigned n_late, n_rest, n_outside;
    unsigned first, end; /* slices with operations; [first, end) */
    bool parts;          /* the finding is of a part of the run */
    bool varies;         /* waits_us does */
};

struct causes_input;

/* Of all findings; an array that the caller frees. NULL: no memory. */
struct course *courses_make(const struct causes_input *in);

#endif
