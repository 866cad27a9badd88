/* result_build.h - from a finished join to a struct jp_result: for result*.c,
 * busy.c and aggregate.c only.
 */
#ifndef JP_AGGREGATE_RESULT_BUILD_H
#define JP_AGGREGATE_RESULT_BUILD_H

#include <stdlib.h>
#ifdef __GLIBC__ /* by the line before */
#include <malloc.h>
#endif

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/join.h"
#include "orchestrator/aggregate/joinrun.h"
#include "orchestrator/ingest/logwalk.h"

struct partial_set;

struct build {
    struct join *join;
    const struct jp_logwalk *walk;
    struct source_facts *files;         /* walk->n_logs */
    const struct partial_set *partials; /* NULL: none */
    const struct clockmap *clocks;      /* puts times on one; NULL: none */
    const struct jp_aggregate_options *options;
    struct jp_result *result;
    uint64_t row_limit;  /* operations with exact percentiles, at most */
    unsigned threads;    /* that may work at once; 0 is 1 */
    uint32_t *comm_at;   /* join's number -> place in result->comms */
    uint32_t *comm_from; /* and back */
    uint32_t *func_at;   /* join's number -> place in result->coll_names */
    /* join's number -> place in result->phases, plus 1 */
    uint32_t phase_at[JP_PHASES + 1];
    /* records by sequence numbers; set with the communicators */
    uint64_t expected, unseen, before, overflow;
    bool stopped; /* by options->progress, in the second reading */
    bool ragged;  /* some rank has no record that another one has */
};

/* All rows of the result but the hangs. Communicators that are still open are
 * closed first (join_close_all). 0, or -1 without memory; what is made so far
 * is in build->result. */
int result_build(struct build *build);

/* Its parts in other files, called by result_build in its own order: cells and
 * windows need the operations, quality needs the pairs of ranks. */
int result_cells_and_windows(struct build *build);
int result_quality(struct build *build);
/* Frees the busy times of the files. */
int busy_result(struct build *build);
/* Sets the attempts (launched.restarts) of the files' processes where no
 * launcher has told them (generations.c), and the attempts of all ranks. Needs
 * ranks and busy times; quality needs it. */
int generations_find(struct build *build);
/* The same for programs that followed each other, in logs (logprograms.c):
 * their processes have no attempts of their own, only their ranks. */
int logprograms_find(struct build *b);

/* Gives freed pages back to the system. Only glibc keeps them. */
static inline void result_give_back(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* Mean of an operation's bandwidths, GB/s. n_busbw must not be 0. */
static inline double op_busbw_gbs(const struct jp_op *op)
{
    return (double) op->busbw_sum_micro / ((double) op->n_busbw * 1e6);
}

#endif
