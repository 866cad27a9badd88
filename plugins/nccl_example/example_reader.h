/* example_reader.h - the example plugin's trace as the records that the join
 * takes.
 *
 * A thin layer over plugins/nccl_example/trace_read.h, as recfile.h is over the
 * recorder's files; bounds are those of common/record.h.
 *
 * - id: NCCL's hash as Inspector prints it (recfile_id). Where an event lacks
 *   it, it and the rank are taken from the file's name,
 * `..._<hash>_<rank>.json`.
 * - host: the folder's name, where the folder lies in one named "raw", as the
 *   launch makes it (raw/<node>/); else unknown.
 * - n_ranks and nnodes are 0, "unknown": see join_guess_sizes. The bandwidth
 * is therefore bytes / time; the join gives it the factor of the size it finds.
 * - function of a collective by the copy engines: "AllGather-CE", as recfile.h
 *   has it.
 * - dump time, start and end: 0, unknown, as ts have an origin of the process.
 *   Send and Recv have no number.
 */
#ifndef JP_NCCL_EXAMPLE_TRACEFILE_H
#define JP_NCCL_EXAMPLE_TRACEFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/record.h"
#include "common/error.h"
#include "common/logsource.h"
#include "plugins/nccl_example/trace_read.h"

/* What a file holds of one (communicator, function). */
struct tracefile_series {
    uint64_t comm_hash;
    char func[RECORD_MAX_FUNC + 1];
    uint64_t n, last; /* operations, largest SeqNum */
};

#define TRACEFILE_SERIES 64 /* watched; more are only read */

struct jp_tracefile {
    struct jp_logsource *source;
    struct trace_reader *reader;
    struct trace_op op; /* of the last record */
    char host[RECORD_MAX_HOST + 1];
    size_t host_len;
    bool named; /* the file's name has the next two */
    uint64_t name_hash, name_rank;
    char id[RECORD_MAX_ID + 1];
    char func[TRACE_MAX_TEXT + 8]; /* of the last record */
    const char *why;               /* of the last TRACE_OP_BAD, constant */
    enum jp_bad bad;               /* its kind */
    uint64_t line;
    uint64_t records; /* good ones */
    uint64_t untimed; /* of these without a time */
    uint64_t partly;  /* with the time of some channels: the others' end is not
                         there */
    struct tracefile_series series[TRACEFILE_SERIES];
    unsigned n_series;
};

/* 0 or -1. tracefile_close is due only after 0. */
int tracefile_open(struct jp_tracefile *file, const char *path,
                   struct jp_error *err);
/* The same over bytes, borrowed until the close, as if they lay at path. */
int tracefile_open_bytes(struct jp_tracefile *file, const void *bytes, size_t n,
                         const char *path, struct jp_error *err);
void tracefile_close(struct jp_tracefile *file);

/* TRACE_OP: *out is a record; texts are borrowed until the next call.
 * TRACE_OP_BAD: why and line of *file. */
enum trace_status tracefile_next(struct jp_tracefile *file, struct record *out);

/* Operations that are missing from the file, by its sequence numbers. */
uint64_t tracefile_missing(const struct jp_tracefile *file);

#endif
