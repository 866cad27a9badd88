/* partial_parts.h - what the writer and the reader of partials share: for
 * partial*.c only.
 *
 * The functions are named after the sections of docs/dev/partial-format.md. */
#ifndef JP_AGGREGATE_PARTIAL_PARTS_H
#define JP_AGGREGATE_PARTIAL_PARTS_H

#include <stdio.h>

#include "orchestrator/aggregate/join_parts.h"
#include "orchestrator/aggregate/partial.h"
#include "orchestrator/aggregate/timeline.h"
#include "common/bandwidth.h"
#include "common/clockmap.h"
#include "plugins/nccl_recorder/jpr_frame.h"

enum {
    PARTIAL_MAGIC_BYTES = 8,
    PARTIAL_HEAD_BYTES = 12,
    PARTIAL_FRAME_BYTES = 12,
    PARTIAL_MAX_BLOCK = 64 << 20, /* bytes of a payload */
    PARTIAL_ROWS = 1024,          /* operations of a block */
};

/* The types of blocks. The numbers are part of the format; never reuse one. */
enum partial_block {
    PARTIAL_FILES = 1,
    PARTIAL_TABLES = 2, /* functions, communicators, members, totals */
    PARTIAL_PAIRS = 3,  /* Send and Recv */
    PARTIAL_BITS = 4,   /* sequence numbers of Send and Recv, by member */
    PARTIAL_STRAYS = 5,
    PARTIAL_OPS = 6,
    PARTIAL_END = 7,
    PARTIAL_HANG = 8,       /* of one recording; between files and tables */
    PARTIAL_KERNELS = 9,    /* of each AlltoAll, by member */
    PARTIAL_TIMELINE = 10,  /* of one file; between those and the tables */
    PARTIAL_STRIP = 11,     /* of one file, after its timeline */
    PARTIAL_MESSAGES = 12,  /* their times over the run, by member */
    PARTIAL_MEMBERS = 13,   /* what tells the members' processes apart */
    PARTIAL_WORD = 14,      /* algorithms, protocols, CPUs' clocks */
    PARTIAL_SEQUENCE = 15,  /* of one file, before its timeline */
    PARTIAL_PHASES = 16,    /* of the program, and of strays and operations */
    PARTIAL_INTERVALS = 17, /* of one file, after its strip */
    PARTIAL_N_TYPES
};

/* A block's CRC, over type, length and payload, so that no block passes for
 * another one. */
uint32_t partial_check(const uint8_t frame[PARTIAL_FRAME_BYTES],
                       const uint8_t *payload, size_t n);

/* --- writing --- */

struct partial_out {
    FILE *stream;
    struct jpr_out out; /* a block's payload; grows */
    const struct join *join;
    struct join_member **members; /* by communicator */
    uint32_t *first;              /* of a communicator, n_comms + 1 */
    uint32_t *place;              /* of the join's members among these */
    uint64_t blocks;
    struct jp_error *err;
};

/* Puts a payload into out. It is called again with more room if out was full.
 */
typedef void partial_put(struct jpr_out *out, const void *arg);
/* Writes a block. 0, or -1 with err. */
int partial_put_block(struct partial_out *w, enum partial_block type,
                      partial_put *put, const void *arg);

int partial_put_files(struct partial_out *w, const struct jp_logwalk *walk,
                      size_t skip, const struct source_facts *files);
/* Evidence of hangs, timelines and strips. The evidence gets sorted. */
int partial_put_processes(struct partial_out *w, const struct jp_logwalk *walk,
                          const struct source_facts *files);
/* Functions, communicators and members, then what the members sent. */
int partial_put_tables(struct partial_out *w);
int partial_put_strays(struct partial_out *w);
/* After all operations and strays. The series' blocks are sorted. */
int partial_put_phases(struct partial_out *w);
int partial_put_series(struct partial_out *w, uint32_t comm,
                       struct join_series *series);

/* --- reading --- */

/* Reads a text of less than size bytes without control characters. False:
 * damaged. */
bool partial_get_short(struct jpr_in *in, char *buf, size_t size);

struct partial_rows; /* work space of partial_rows_in.c */
struct partial_lane;

struct partial_in {
    struct jpr_in in;
    struct join *join;
    struct partial *partial;
    size_t n_hangs;                  /* blocks so far */
    size_t hang_file;                /* the first file that the next one may be
                                        of */
    struct hangs_evidence *evidence; /* the next block's; the caller's then.
                                        NULL: it is only checked */
    size_t next_timeline;            /* the least file that it may be of */
    /* members are sorted by communicator, as in the writer: those of
     * communicator i begin at first[i] */
    uint32_t *first;
    /* work space that partial_get_ops makes; freed by free() */
    struct partial_rows *rows;
    struct partial_lane *lanes; /* for the lanes of a block */
    uint32_t room_lanes;
    const struct clockmap_node *clock; /* of all its records; NULL: their times
                                          stay */
    /* the join's numbers of the partial's phases */
    uint32_t phases[JP_PHASES];
    uint32_t n_phases;
};

/* Each reads one block's payload. 0, or -1: damaged, or no memory. */
int partial_get_files(struct partial *partial, struct jpr_in *in);
/* PARTIAL_HANG goes to r->evidence; PARTIAL_SEQUENCE, PARTIAL_TIMELINE,
 * PARTIAL_STRIP and PARTIAL_INTERVALS go to their file. */
int partial_get_process(struct partial_in *r, enum partial_block type);
/* TABLES, PAIRS, BITS, KERNELS, MESSAGES or STRAYS, into the join. */
int partial_get_table(struct partial_in *r, enum partial_block type);
int partial_get_ops(struct partial_in *r);
int partial_get_phases(struct partial_in *r);

void partial_put_counts(struct jpr_out *out, const struct jpr_counts *counts);
void partial_get_counts(struct jpr_in *in, struct jpr_counts *counts);

/* As jpr_get_u64, quicker for numbers of one byte. */
static inline uint64_t partial_get(struct jpr_in *in)
{
    if (in->at < in->end && *in->at < 0x80)
        return *in->at++;
    return jpr_get_u64(in);
}

/* As jpr_get_i64, in the same way. */
static inline uint64_t partial_get_signed(struct jpr_in *in)
{
    uint64_t code = partial_get(in);

    return (code >> 1) ^ (0 - (code & 1));
}

/* --- the expected bandwidth --- */

/* The product of bandwidth and time, in 1e-6 GB/s times us, of a record of this
 * size if its bandwidth follows from its time. Integers below 2^53 as a rule,
 * so that every machine computes the same. */
static inline double partial_work(enum bandwidth_rule rule, uint32_t n_ranks,
                                  uint64_t bytes)
{
    double n = (double) n_ranks, work = 1000.0 * (double) bytes;

    if (rule == BANDWIDTH_SHARE)
        work *= n - 1;
    else if (rule == BANDWIDTH_ALL_REDUCE)
        work = n_ranks ? 2 * (n - 1) * work / n : 0;
    else if (rule != BANDWIDTH_ONE)
        work = 0;
    return work < 0 ? 0 : work < 9e18 ? work : 9e18;
}

static inline uint64_t partial_rate(double work, uint64_t exec_us)
{
    /* the value is below 2^63, and signed conversions are one instruction */
    return exec_us
               ? (uint64_t) (int64_t) (work / (double) (int64_t) exec_us + 0.5)
               : 0;
}

#endif
