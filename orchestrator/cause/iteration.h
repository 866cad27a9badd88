/* iteration.h - how long a step of the program's loop takes.
 *
 * By collectives: each operation of a process is of a kind (communicator,
 * function, size, peer). Most kinds come once a step, or a whole number of
 * times, so the number of steps is what most of them come as often as; what
 * comes every twentieth step only, or as often as a step has layers, has other
 * numbers. A step's time is the distance between operations of such a kind, in
 * whatever order those of several streams are written. Where all operations
 * are alike, their distances must repeat themselves.
 * By utilisation, where no operation tells: the autocorrelation of a GPU's, or
 * a task's, share of busy time over the samples. A peak counts whose double is
 * one, too, and that noise does not reach.
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

/* What is not known is NAN or 0. */
struct jp_iteration {
    enum jp_iteration_source source;
    double period_us;     /* median */
    double p5_us, p95_us; /* of collectives only */
    uint64_t count;       /* repetitions that were seen */
    uint64_t ops;         /* of one; of collectives only */
    /* 0 to 1: the share of operations that are of such repetitions; the
     * autocorrelation at the period */
    double confidence;
    double drift; /* how much longer at the end of the run, a share */
    char text[200];
};

/* One operation of a process, in order. */
struct iteration_op {
    uint64_t kind; /* alike: the same communicator, function and size */
    uint64_t start_us;
};

/* Of one process' operations, which are sorted. out->source 0: none repeats
 * itself. -1: no memory. */
int iteration_of_ops(struct iteration_op *ops, size_t n,
                     struct jp_iteration *out);
/* Of a series of samples, which is changed; they are step_us apart. */
void iteration_of_series(double *v, size_t n, double step_us,
                         struct jp_iteration *out);

/* The step's; result may be NULL; nodes/ of step_dir has the samples. */
int iteration_find(const struct jp_result *result, const char *step_dir,
                   const struct jp_nodes *nodes, struct jp_iteration *out,
                   struct jp_error *err);

#endif
