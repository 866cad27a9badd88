/* result_build.h - from files to a join, and from a finished join to a struct
 * jp_result: for result*.c, busy.c, scout.c and aggregate.c only.
 */
#ifndef JP_AGGREGATE_RESULT_BUILD_H
#define JP_AGGREGATE_RESULT_BUILD_H

#include <stdlib.h>
#ifdef __GLIBC__ /* by the line before */
#include <malloc.h>
#endif
#include <unistd.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/busy.h"
#include "orchestrator/aggregate/join.h"
#include "orchestrator/ingest/hangs.h"
#include "orchestrator/ingest/logwalk.h"
#include "plugins/backend.h"

struct partial_set;

/* --- aggregate.c: files to a join ---------------------------------------- */

/* What one thread reads with. */
struct join_reading {
    struct join *join;
    struct reader_states *states;
    atomic_bool *stop;
    _Atomic uint64_t *done;
    bool evidence;            /* of recordings is wanted */
    bool timelines;           /* are wanted */
    uint64_t timeline_events; /* of each, at most */
    uint64_t strip_bins;      /* of the strip of each; of a piece's, too */
    bool apart; /* of a backend that is_second, only facts are wanted */
    const struct backend *const *readers; /* as in jp_aggregate_options */
};

/* Reads a source by its backend into reading->join. What is wrong with the
 * source is in *facts. JOIN_OK, or JOIN_NO_MEMORY. */
enum join_status aggregate_read(const struct join_reading *reading,
                                const struct backend *backend,
                                const struct reader_input *in,
                                struct source_facts *facts);

/* The most threads, and the most unless a caller asks for more. */
enum { AGGREGATE_THREADS = 64, DEFAULT_THREADS = 8 };

/* The number of threads by the options. */
static inline unsigned
aggregate_threads(const struct jp_aggregate_options *options)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned n = options->threads;

    if (!n)
        n = cpus < 1                 ? 1
            : cpus < DEFAULT_THREADS ? (unsigned) cpus
                                     : DEFAULT_THREADS;
    return n > AGGREGATE_THREADS ? AGGREGATE_THREADS : n;
}

/* Frees what a file's facts refer to; they are all zeros then. */
void aggregate_clear_facts(struct source_facts *file);

/* --- result.c and others: a join to a result ----------------------------- */

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

/* Finds hangs, if there may be any, for result->hang. 0, or -1: no memory, or
 * stopped (build->stopped). */
int result_hang(struct build *build);

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
