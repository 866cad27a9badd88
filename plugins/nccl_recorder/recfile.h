/* recfile.h - a recorder's file as the records that the join takes.
 *
 * A thin layer over plugins/nccl_recorder/jpr_read.h: it remembers what stands
 * once in a file (header, communicators, the last counters) and turns an
 * operation into what Inspector would have written of it. Bounds are those of
 * common/record.h, so that a file and its exported lines say the same.
 *
 * - id: NCCL's hash as Inspector prints it, "0x%lx" cut to 16 characters.
 * - function of an operation by the copy engines: "AllGather-CE". NCCL numbers
 *   those by a counter of their own (ceSeqNum, one for all functions of a
 *   communicator), so they must not meet the kernels' "AllGather".
 * - function of a replayed collective that NCCL does not number:
 *   "AllReduce-Graph"; the recorder numbers those by themselves, and they must
 *   not meet the eager "AllReduce".
 * - dump time: the wall clock at the operation's end, by the header's clocks.
 * - start and end: when the host saw the kernel's first channel start and its
 *   last one stop, by the same clocks; none without such events.
 */
#ifndef JP_NCCL_RECORDER_RECFILE_H
#define JP_NCCL_RECORDER_RECFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/bandwidth.h"
#include "common/logsource.h"
#include "common/record.h"
#include "plugins/nccl_recorder/jpr_read.h"

/* Functions that are remembered: all that NCCL has; more only cost time. */
#define RECFILE_FUNCS 32

/* The last counters of one function in a communicator. */
struct recfile_count {
    char func[RECORD_MAX_FUNC + 1]; /* cut if it is longer */
    struct jpr_counts counts;
};

/* Calls of one function that NCCL told no operation of. */
struct recfile_unseen {
    char func[RECORD_MAX_FUNC + 1]; /* cut if it is longer */
    uint64_t calls;
};

/* A communicator of the file, as records name it. */
struct recfile_comm {
    const char *why; /* NULL: its records are good */
    char id[RECORD_MAX_ID + 1];
    char name[RECORD_MAX_NAME + 1];
    struct record base;             /* what all its records share */
    uint64_t series[RECFILE_FUNCS]; /* of records, by function; 0: none yet */
    struct recfile_count *counts;
    size_t n_counts;
    struct recfile_unseen *unseen;
    size_t n_unseen;
    struct jpr_doubts doubts; /* the last */
};

/* A function that operations of the file have named. */
struct recfile_func {
    enum jpr_op_kind kind;
    bool replay;
    char asked[RECORD_MAX_FUNC + 1]; /* as the file has it */
    char name[RECORD_MAX_FUNC + 1];  /* as records have it */
    size_t len;
    enum bandwidth_rule rule;
};

/* Why operations have no kernel events: bits of enum jpr_doubt. */
#define RECFILE_DOUBTS 5

#define RECFILE_UNSEEN 8 /* distinct functions; the rest is in the sum */

/* The last counters of a file, and how it ends. */
struct recfile_tail {
    bool counted; /* there were counters */
    bool final;   /* the process ended in order: nothing is missing behind */
    struct jpr_clocks clocks;
    struct jpr_counts counts; /* over all kinds; communicators there was no
                                 room for count as lost */
    uint64_t in_flight, lost_steps, lost_comms;
    uint64_t by_ce;     /* produced by the copy engines */
    uint64_t cut_short; /* operations that finalize or exit ended */
    bool has_replays;   /* operations that NCCL does not number */
    /* over all communicators: operations without kernel events, also those with
     * each reason among others; operations whose times were refused */
    uint64_t unsure, unsure_by[RECFILE_DOUBTS], refused;
    /* over all communicators */
    struct recfile_unseen unseen[RECFILE_UNSEEN];
    uint32_t n_unseen;
    uint64_t unseen_calls;
    struct jpr_cost cost; /* by the last counters that tell */
    uint64_t wall_ns;     /* the process' time that it is of */
    /* wall clock, 0: none. The last counters or snapshot; and since when there
     * was an operation that had not ended in the last snapshot, or that was
     * truncated: the earliest */
    uint64_t last_ns, oldest_ns;
    uint64_t at_mono_ns;     /* of the last snapshot */
    uint64_t fly_ns, cut_ns; /* the two that oldest_ns is the earlier of */
};

struct jp_recfile {
    struct jpr_reader *reader;
    struct jp_logsource *source; /* of a compressed file; else NULL */
    bool has_header;
    struct jpr_clocks clocks; /* of the header */
    char host[RECORD_MAX_HOST + 1];
    size_t host_len;
    char recorder[64]; /* "jobprof 0.1.0" */
    char *notes;       /* settings that were not taken; NULL: none */
    int64_t pid, procid;
    const char *why;     /* NULL: the header is good */
    enum jp_bad why_bad; /* its kind */
    enum jp_bad bad;     /* of the last reason that recfile_record gave */
    struct recfile_comm **comms; /* by index; entries may be NULL */
    uint32_t n_comms;
    uint32_t n_counts, n_unseen; /* rows of all communicators */
    struct recfile_tail tail;
    struct recfile_func funcs[RECFILE_FUNCS];
    unsigned n_funcs, next_func;
    bool only_times;   /* the reader's caller looks at no bandwidth */
    bool forgot_funcs; /* there were more: records have no series any more */
    uint64_t n_series;
    const struct recfile_func *func; /* of the last operation */
};

/* Is it a recorder's, by its first bytes (those of a compressed file
 * unpacked)? 1, 0, or -1: cannot be read. */
int recfile_probe(const char *path, struct jp_error *err);

/* 0 or -1. recfile_close is due only after 0. */
int recfile_open(struct jp_recfile *file, const char *path,
                 struct jp_error *err);
/* The same over bytes, borrowed until the close; errors use name. */
int recfile_open_bytes(struct jp_recfile *file, const void *bytes, size_t n,
                       const char *name, struct jp_error *err);
void recfile_close(struct jp_recfile *file);

/* Why a compressed file ended early, or NULL. */
const char *recfile_damage(const struct jp_recfile *file);

/* jpr_next, which sees to the members above. */
int recfile_next(struct jp_recfile *file, struct jpr_record *record,
                 struct jp_error *err);

/* NULL: *out is the record of the operation, texts borrowed until the next
 * call; else why there is none ("bad rank"), and file->bad is its kind. */
const char *recfile_record(struct jp_recfile *file, const struct jpr_op *op,
                           struct record *out);

/* The communicator that an operation names, NULL: unknown. */
const struct recfile_comm *recfile_comm(const struct jp_recfile *file,
                                        uint32_t index);

/* Wall clock, ns since 1970, of a CLOCK_MONOTONIC time; 0: not known. */
uint64_t recfile_wall_ns(const struct jp_recfile *file, uint64_t mono_ns);

/* When the operation was over, CLOCK_MONOTONIC: its kernel's end as the host
 * saw it, else its start and its time. */
uint64_t recfile_end_ns(const struct jpr_op *op);

/* The execution time; 0: not known. What finalize or exit ended has none, and
 * from being enqueued to the last child (JPR_COLLECTIVE_CPU) is mostly waiting
 * in the stream: as a kernel's time it would blame the wrong rank. */
uint64_t recfile_exec_us(const struct jpr_op *op);

/* The function's name in records, and its number there. A name longer than buf
 * is cut. Returns buf. */
char *recfile_func_name(const struct jpr_op *op, char *buf, size_t size);
uint64_t recfile_seq(const struct jpr_op *op);

/* Takes counters into file->tail and the communicators. 0, or -1 without
 * memory. */
int recfile_tail_counters(struct jp_recfile *file,
                          const struct jpr_counters *counters);

/* "0x%lx" cut to 16 characters. */
void recfile_id(uint64_t hash, char id[RECORD_MAX_ID + 1]);

#endif
