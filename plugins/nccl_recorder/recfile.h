/* recfile.h - a recorder's file as the records that the join takes.
 *
 * A thin layer over plugins/nccl_recorder/jpr_read.h. It remembers what a file
 * has once (header, communicators, the last counters) and turns an operation
 * into the record that Inspector would have written. Bounds are those of
 * common/record.h, so that a file and its exported lines agree.
 *
 * - id: NCCL's hash as Inspector prints it, "0x%lx" cut to 16 characters.
 * - function of an operation by the copy engines: "AllGather-CE". NCCL has a
 *   separate counter for those (ceSeqNum, one for all functions of a
 *   communicator), so they must not be joined with the kernels' "AllGather".
 * - function of a replayed collective that NCCL does not number:
 *   "AllReduce-Graph". The recorder numbers those separately, so they must not
 *   be joined with the eager "AllReduce".
 * - dump time: the wall clock at the operation's end, by the header's clocks.
 * - start and end: when the host saw the kernel's first channel start and its
 *   last one stop, by the same clocks; 0 without such events.
 */
#ifndef JP_NCCL_RECORDER_RECFILE_H
#define JP_NCCL_RECORDER_RECFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/launched.h"
#include "common/bandwidth.h"
#include "common/logsource.h"
#include "common/record.h"
#include "plugins/nccl_recorder/jpr_read.h"

/* Functions that are remembered: more than NCCL has. Further ones replace the
 * oldest, which costs time and the numbers of series. */
#define RECFILE_FUNCS 32

/* The last counters of one function in a communicator. */
struct recfile_count {
    char func[RECORD_MAX_FUNC + 1]; /* cut if it is longer */
    struct jpr_counts counts;
};

/* Calls of one function for which NCCL reported no operation. */
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
    uint64_t series[RECFILE_FUNCS]; /* number of the series of records, by
                                       function; 0: none yet */
    struct recfile_count *counts;
    size_t n_counts;
    struct recfile_unseen *unseen;
    size_t n_unseen;
    struct jpr_doubts doubts; /* the last row */
    uint64_t sampled;         /* its part of tail.room.sampled */
};

/* A function that operations of the file have named. */
struct recfile_func {
    enum jpr_op_kind kind;
    bool replay;
    char asked[RECORD_MAX_FUNC + 1]; /* as in the file */
    char name[RECORD_MAX_FUNC + 1];  /* as in records */
    size_t len;
    enum bandwidth_rule rule;
};

/* Reasons why operations have no kernel events: bits of enum jpr_doubt. */
#define RECFILE_DOUBTS 5

/* distinct functions; further ones are only in the sum */
#define RECFILE_UNSEEN 8

/* tags with sums of their own; further ones are in no sum */
#define RECFILE_TAGS 12
#define RECFILE_PAUSES 8
/* tags that are phases of their own; further ones are "others" */
#define RECFILE_PHASES 64

/* Complete operations of symmetric kernels whose phases are known. */
struct recfile_phases {
    uint64_t ops, exec_ns, sync_ns, close_ns; /* sums */
};

/* Operations with a tag of the program. Times are of those that have one. */
struct recfile_tag {
    uint64_t tag, ops, exec_ns, sync_ns;
};

/* Nothing was recorded then; wall clock, ns since 1970. to_ns 0: it had not
 * ended. Where there are more, the last one is of all of them. */
struct recfile_pause {
    uint64_t from_ns, to_ns, skipped;
    bool by_mask; /* only collectives are in skipped */
};

/* The limits that left no room. */
struct recfile_room {
    unsigned limits;   /* enum jpr_limit; 0: none, or an older file */
    uint64_t sampled;  /* operations that were kept while it was full */
    uint64_t since_ns; /* wall clock, since 1970; 0: not known */
    uint64_t error;    /* errno of the first failed write; 0: none */
};

/* The last counters of a file, and how it ends. */
struct recfile_tail {
    bool counted; /* there were counters */
    bool final;   /* the last record was a final one: the file is complete */
    struct jpr_clocks clocks;
    struct jpr_counts counts; /* over all kinds; operations of communicators
                                 without a place count as lost */
    uint64_t in_flight, lost_steps, lost_comms;
    uint64_t by_ce;     /* produced by the copy engines */
    uint64_t cut_short; /* operations that finalize or exit cut short */
    bool has_replays;   /* there are operations that NCCL does not number */
    /* two communicators of the process have one id, and it has the same rank in
     * both: NCCL 2.23 gives one id to two splits of one colour */
    bool has_twins;
    /* over all communicators: operations without kernel events; of these the
     * ones with each reason (maybe among others); operations with refused times
     */
    uint64_t unsure, unsure_by[RECFILE_DOUBTS], refused;
    /* over all communicators */
    struct recfile_unseen unseen[RECFILE_UNSEEN];
    uint32_t n_unseen;
    uint64_t unseen_calls;
    struct jpr_cost cost; /* by the last counters that have it */
    uint64_t wall_ns;     /* how long the process ran up to these */
    /* Wall clock, 0: none. last_ns: the last counters or snapshot. oldest_ns:
     * the earliest start of an operation that had not ended in the last
     * snapshot or that was cut short. */
    uint64_t last_ns, oldest_ns;
    struct recfile_phases phases;
    struct recfile_tag tags[RECFILE_TAGS];
    uint32_t n_tags;
    struct recfile_pause pauses[RECFILE_PAUSES];
    uint32_t n_pauses;
    struct recfile_room room;
    uint64_t at_mono_ns;     /* of the last snapshot */
    uint64_t fly_ns, cut_ns; /* oldest_ns is the earlier of the two */
};

/* Who wrote a recording. */
struct recfile_process {
    bool known; /* the header is good; false: the rest is zero */
    char host[RECORD_MAX_HOST + 1];
    int64_t pid, procid; /* procid: SLURM_PROCID, which children inherit */
    uint64_t pid_namespace, start; /* 0: unknown */
    struct launched launched;
};

struct jp_recfile {
    struct jpr_reader *reader;
    struct jp_logsource *source; /* of a compressed file; else NULL */
    bool has_header;
    struct jpr_clocks clocks; /* of the header */
    char host[RECORD_MAX_HOST + 1];
    size_t host_len;
    char recorder[64]; /* "jobprof 0.1.0" */
    char *notes;       /* settings that were ignored; NULL: none */
    int64_t pid, procid;
    uint64_t pid_namespace, start; /* of the process; 0: unknown */
    struct launched launched;      /* what launchers told the process */
    const char *why;               /* NULL: the header is good */
    enum jp_bad why_bad;           /* kind of `why` */
    enum jp_bad bad; /* kind of the last reason that recfile_record() gave */
    struct recfile_comm **comms; /* by index; entries may be NULL */
    uint32_t n_comms;
    uint32_t n_counts, n_unseen; /* rows of all communicators */
    struct recfile_tail tail;
    /* The file is full from here on, and was not before: the operations that
     * follow are a few of many. Each rank keeps others, so that hardly one of
     * them has the records of all its ranks. */
    bool is_sample;
    bool has_ops; /* there were operations before it was full */
    struct recfile_func funcs[RECFILE_FUNCS];
    unsigned n_funcs, next_func;
    bool only_times;   /* the caller does not need bandwidths */
    bool forgot_funcs; /* a function was replaced: records have no series any
                          more */
    uint64_t n_series;
    const struct recfile_func *func; /* of the last operation */
    /* the tags of operations, as phases of records */
    struct recfile_phase {
        uint64_t tag;
        char name[RECORD_MAX_PHASE + 1]; /* "tag 3" */
    } phases[RECFILE_PHASES];
    unsigned n_phases;
};

/* Returns whether the first bytes are a recorder's, unpacked if the file is
 * compressed: 1, 0, or -1 if it cannot be read. */
int recfile_probe(const char *path, struct jp_error *err);

/* Returns 0 or -1. Only after 0 recfile_close() must be called. */
int recfile_open(struct jp_recfile *file, const char *path,
                 struct jp_error *err);
/* The same over bytes, borrowed until the close; errors use name. */
int recfile_open_bytes(struct jp_recfile *file, const void *bytes, size_t n,
                       const char *name, struct jp_error *err);
void recfile_close(struct jp_recfile *file);

/* Who wrote the file, as far as it has been read. */
void recfile_process_of(const struct jp_recfile *file,
                        struct recfile_process *process);

/* Why a compressed file ended early, or NULL. */
const char *recfile_damage(const struct jp_recfile *file);

/* As jpr_next(); also updates the members above. */
int recfile_next(struct jp_recfile *file, struct jpr_record *record,
                 struct jp_error *err);

/* Makes *out the record of an operation; its texts are borrowed until the next
 * call. Returns NULL, or why there is no record ("bad rank"); then file->bad is
 * the kind. */
const char *recfile_record(struct jp_recfile *file, const struct jpr_op *op,
                           struct record *out);

/* Returns the communicator that an operation names, or NULL if it is unknown.
 */
const struct recfile_comm *recfile_comm(const struct jp_recfile *file,
                                        uint32_t index);

/* Converts a CLOCK_MONOTONIC time to wall clock, ns since 1970; 0: unknown. */
uint64_t recfile_wall_ns(const struct jp_recfile *file, uint64_t mono_ns);

/* Returns when the operation was over, CLOCK_MONOTONIC: its kernel's end as the
 * host saw it, else its start plus its time. */
uint64_t recfile_end_ns(const struct jpr_op *op);

/* Returns the execution time in us; 0: unknown. An operation that finalize or
 * exit ended has none. The time from being enqueued to the last child
 * (JPR_COLLECTIVE_CPU) is not used either: it is mostly waiting in the stream,
 * and as a kernel's time it would blame the wrong rank. */
uint64_t recfile_exec_us(const struct jpr_op *op);

/* The function's name in records, and the sequence number there. A name longer
 * than buf is cut. Returns buf. */
char *recfile_func_name(const struct jpr_op *op, char *buf, size_t size);
uint64_t recfile_seq(const struct jpr_op *op);

/* Adds counters to file->tail and the communicators. Returns 0, or -1 without
 * memory. */
int recfile_tail_counters(struct jp_recfile *file,
                          const struct jpr_counters *counters);

/* "0x%lx" cut to 16 characters. */
void recfile_id(uint64_t hash, char id[RECORD_MAX_ID + 1]);
/* A number for the GPU of a communicator (a hash of its name); 0: unknown. */
uint64_t recfile_device(const struct jpr_comm *comm);

#endif
