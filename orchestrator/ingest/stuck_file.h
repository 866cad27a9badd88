/* stuck_file.h - what one of the recorder's files tells of operations that had
 * not ended: all that stuck.h judges by.
 *
 *     struct stuck_file reading = {0};
 *     while (... each record of a file, in order ...)
 *         stuck_file_add(&reading, file, &record);
 *     stuck_file_end(&reading, file, &evidence);
 *     ... the next file ...
 *     stuck_file_fini(&reading);
 *
 * Evidence is a few hundred bytes and 100 a series (communicator and function),
 * however long the file is; at most 2 x PENDING_MAX operations.
 */
#ifndef JP_INGEST_STUCK_FILE_H
#define JP_INGEST_STUCK_FILE_H

#include "orchestrator/ingest/pending.h"
#include "orchestrator/ingest/progress.h"
#include "orchestrator/ingest/stuck.h"

struct stuck_evidence {
    struct stuck_process process;
    struct stuck_op *ops; /* in flight, then cut short; .process is 0 */
    size_t n_ops;
    struct progress progress; /* .process is 0 */
    uint64_t left_out;        /* in flight, over the bounds */
};

void stuck_evidence_fini(struct stuck_evidence *evidence);

/* A file being read; zero-initialised by its owner. */
struct stuck_file {
    struct progress progress;
    struct jp_pending pending;
};

/* 0, or -1 without memory. */
int stuck_file_add(struct stuck_file *reading, const struct jp_recfile *file,
                   const struct jpr_record *record);
/* At the end of the file. 0, then stuck_evidence_fini is due; -1: no memory.
 * reading is ready for another file. */
int stuck_file_end(struct stuck_file *reading, const struct jp_recfile *file,
                   struct stuck_evidence *evidence);
void stuck_file_fini(struct stuck_file *reading);

/* Files' evidence, put together in order of their paths. */
struct stuck_sum {
    struct jp_stuck *stuck; /* the caller's, zero-initialised */
    struct progress progress;
};

/* Each 0, or -1 without memory. */
int stuck_sum_add(struct stuck_sum *sum, const struct stuck_evidence *evidence);
/* Makes the groups. Whatever it returns, stuck_fini is due. */
int stuck_sum_finish(struct stuck_sum *sum);
void stuck_sum_fini(struct stuck_sum *sum);

#endif
