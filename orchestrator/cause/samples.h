/* samples.h - the samples of a step's nodes, as means over equal slices of the
 * run.
 *
 * util.h summarises a series over the whole run; this module shows the course
 * over time by the mean of each slice. A slice is at least as long as the
 * sampling period.
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
    struct sampled *at; /* ordered by scope, node, then as read */
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

/* Probability that one of a few members differs so much by chance. */

/* One-sided tail of Student's t, P(T >= t); dof > 0. */
double deviation_t_tail(double t, double dof);

/* The probability that a further member exceeds the median of n peers (n >= 1)
 * by `excess` or more. Reorders peers. usual: the standard deviation that
 * members of this kind normally have; > 0. The peers' variance is moderated by
 * it, with the weight of JP_LIMIT_CAUSE_PRIOR further peers. *deviations:
 * excess in standard deviations. */
double deviation_chance(double *peers, size_t n, double median, double excess,
                        double usual, double *deviations);

/* The same for the difference of two means of a and b values, with a variance
 * pooled over n values. */
double deviation_within(double variance, size_t n, double a, double b,
                        double excess, double usual, double *deviations);

/* When a finding delayed the others, in slices of the samples. */

struct course {
    /* time that others waited for it; only if the records contain it */
    double waits_us[SAMPLES_SLICES];
    bool late[SAMPLES_SLICES]; /* the slice belongs to the finding's time */
    bool rest[SAMPLES_SLICES]; /* the slice belongs to the rest of the time with
                                * operations */
    /* slices before and after the finding; a slice between two of its waits is
     * only in rest, because nothing need have changed there */
    bool outside[SAMPLES_SLICES];
    unsigned n_late, n_rest, n_outside;
    unsigned first, end; /* slices with operations: [first, end) */
    bool parts;          /* the finding concerns a part of the run */
    bool varies;         /* waits_us varies over the run */
};

struct causes_input;

/* Makes the courses of all findings as an array. Caller frees. NULL: no
 * memory. */
struct course *courses_make(const struct causes_input *in);

#endif
