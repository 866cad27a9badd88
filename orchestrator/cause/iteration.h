/* iteration.h - measure the duration of an iteration of the program's main
 * loop.
 *
 * From collectives: each operation of a process has a kind (communicator,
 * function, size, peer). Most kinds occur once per iteration, or a whole number
 * of times, so the number of iterations is the count that most kinds share.
 * Kinds that occur only in every twentieth iteration, or once per layer, have
 * other counts. The duration is the distance between operations of a kind that
 * occurs once per iteration; the order in which several streams are recorded
 * does not matter. If all operations are of one kind, their distances must form
 * a repeating pattern. From utilisation, if the operations show no iteration:
 * the autocorrelation of the busy share of a GPU or a task over the samples. A
 * peak counts if its double is a peak as well and if it exceeds what noise can
 * produce.
 */
#ifndef JP_CAUSE_ITERATION_H
#define JP_CAUSE_ITERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/collect/nodes.h"

enum jp_iteration_source {
    JP_ITERATION_UNKNOWN,
    JP_ITERATION_COLLECTIVES,
    JP_ITERATION_UTILISATION,
    JP_ITERATION_SOURCES
};
extern const char *const iteration_sources[JP_ITERATION_SOURCES];

/* Unknown values are NAN or 0. */
struct jp_iteration {
    enum jp_iteration_source source;
    double period_us;     /* median */
    double p5_us, p95_us; /* only from collectives */
    uint64_t count;       /* number of repetitions found */
    uint64_t ops;         /* operations per repetition; only from collectives */
    /* 0 to 1: the fraction of operations that belong to such repetitions, or
     * the autocorrelation at the period */
    double confidence;
    double drift; /* relative increase until the end of the run */
    char text[200];
};

/* One operation of a process; operations are in order. */
struct iteration_op {
    uint64_t kind; /* equal for the same communicator, function and size */
    uint64_t start_us;
};

/* From the operations of one process, which it sorts. out->source 0: nothing
 * repeats. Returns -1 without memory. */
int iteration_of_ops(struct iteration_op *ops, size_t n,
                     struct jp_iteration *out);
/* From a series of samples step_us apart. Changes the series. */
void iteration_of_series(double *v, size_t n, double step_us,
                         struct jp_iteration *out);

/* For a whole step. result may be NULL; the samples are in nodes/ of
 * step_dir. */
int iteration_find(const struct jp_result *result, const char *step_dir,
                   const struct jp_nodes *nodes, struct jp_iteration *out,
                   struct jp_error *err);

#endif
