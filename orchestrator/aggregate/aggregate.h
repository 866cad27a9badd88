/* aggregate.h - the records of one step (or folder), joined to operations.
 *
 * An operation is (communicator, function, sequence number, message size). Each
 * rank of the communicator leaves one record of it. Bandwidths are GB/s (1e9
 * bytes a second), times microseconds, sizes bytes. While records are joined, a
 * bandwidth is an integer number of 1e-6 GB/s, so that sums do not depend on
 * the order of the files. Percentiles are interpolated linearly (quantile_cont)
 * over the operations' mean bus bandwidths.
 *
 * struct jp_result owns everything in it; result_destroy frees it. The comments
 * have the order of arrays: equal input gives equal output. */
#ifndef JP_AGGREGATE_AGGREGATE_H
#define JP_AGGREGATE_AGGREGATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/launched.h"
#include "common/record.h"
#include "orchestrator/ingest/logwalk.h"
#include "plugins/traced.h"

/* NVIDIA's four names. NVIDIA's formula, in this order: n_ranks = 1;
 * nnodes = 1; nnodes = n_ranks; anything else. nnodes counts NVLink domains. */
enum jp_comm_type {
    JP_COMM_SINGLE_RANK,
    JP_COMM_NVLINK_ONLY,
    JP_COMM_HCA_ONLY,
    JP_COMM_MIXED,
    JP_COMM_N_TYPES
};
const char *comm_type_name(enum jp_comm_type type); /* "single-rank" ... */

/* min, max, mean and percentiles of n values of one quantity. */
struct jp_dist {
    uint64_t n;
    double mean, min, p5, p50, p95, p99, max;
};

/* What carried a communicator's data, by NCCL's log. Zeros without a log. */
struct jp_carriers {
    const char *nvls; /* NVLink SHARP: "no", "ready" (it has channels), "yes"
                       * (it also has buffers); NULL: unknown */
    char collnet[32]; /* in-network reduction: "SHARP", "yes" (of an unnamed
                         kind), "no"; "": unknown */
    bool has_net;     /* some channels go over a network */
    double gdr_share; /* share of these that use GPUDirect RDMA, 0 to 1 */
    bool pxn;         /* some channels use another rank's adapter (PXN) */
};

/* One communicator. Its key is (id, n_ranks, nnodes), because NVIDIA cuts ids
 * to 16 characters. Where its ranks gave several names, the first one in
 * alphabetical order counts. Sorted by (comm_type, id, name, n_ranks,
 * nnodes). */
struct jp_comm {
    char id[20]; /* "0x..." as in the records */
    char *name;  /* "" if unknown */
    uint32_t n_ranks;
    uint32_t nnodes; /* NVLink domains by NCCL's count */
    bool guessed;    /* n_ranks and nnodes come from the ranks and hosts seen:
                        NCCL before 2.27 and traces of the example plugin do
                        not record them */
    enum jp_comm_type type;
    char **hosts; /* of the ranks seen: sorted, each once */
    size_t n_hosts;
    uint32_t ranks_seen;
    uint64_t ops;          /* joined operations */
    uint64_t ops_complete; /* operations with a record of each rank */
    uint64_t records;
    uint64_t bytes;       /* sum of message sizes over operations */
    uint64_t sizeless;    /* of ops: those of which no size was recorded */
    uint64_t time_us;     /* sum over operations of the longest rank's time */
    uint64_t p2p_records; /* Send and Recv; records does not include them */
    /* Sums of the recorder's counters over all ranks, including Send and Recv.
     * counted: all ranks have such counters. */
    bool counted;
    uint64_t produced, lost, capped;
    /* The evidence for the label, or for the type where there is no label. */
    const char *evidence; /* "records", "records+hosts", "contradicted",
                             "hosts", "ranks" (guessed without hosts); with a
                             label: a word of orchestrator/topo/label.h */
    char *why;            /* one sentence: the rule and its numbers */
    /* The label, set by result_label: what the communicator runs over, in words
     * of orchestrator/topo/label.h. NULL: no label. hca_path may be "". */
    const char *fabric, *inter, *rail, *hca_path;
    char **warnings;
    size_t n_warnings;
    struct jp_carriers carriers; /* set by result_label */
};

/* The run is cut into so many equal parts, by each function's sequence
 * numbers. */
#define JP_SLICES 20
#define JP_STALL_US 1000
/* One rank of one communicator; sorted by (comm, rank).
 *
 * A timed operation is a complete one of a barrier-like function (AllReduce,
 * AllGather, ReduceScatter). The rank with the shortest time in it came last;
 * where two ranks share the shortest time, no rank counts as the last one.
 * Communicators of one rank are not timed, nor are sequence numbers that carry
 * two sizes.
 *
 * instance tells processes with one host and pid apart (their pid namespaces
 * and start times), device the devices of one process; of these numbers only
 * equality counts, and 0 is unknown.
 *
 * Where two processes wrote as one rank (quality.shared_ranks), host, pid,
 * instance and device are the smaller ones. Of an operation that both wrote,
 * the record in the first file (in order of path) counts. */
struct jp_rank {
    size_t comm; /* index into comms */
    uint32_t rank;
    char *host;
    int64_t pid;
    uint64_t instance, device;
    int64_t restarts; /* how often its launcher had started its workers anew,
                         or its attempt or program as found by generations.c;
                         -1: unknown */
    uint64_t records;
    uint64_t timed_ops;
    uint64_t last_ops;    /* timed operations in which it came last */
    double last_share;    /* last_ops / timed_ops */
    uint64_t exec_us;     /* its time in timed operations */
    uint64_t wait_us;     /* sum of (own time - shortest time) */
    uint64_t caused_us;   /* the others' waits in the last_ops */
    uint64_t p2p_records; /* Send and Recv; records does not include them */
    /* Of its records, those with a time by a CPU's clock: of the kernel's
     * events, and from the call to the last event. */
    uint64_t kernel_cpu, call_cpu;
    double p2p_fast_gbs; /* fast_gbs of jp_p2p, of all its Send and Recv */
    /* By part of the run: its time in timed operations, scaled up to all
     * operations of the part. NAN: the part has operations, but none is
     * complete. NULL: quality.waits_unknown. Points into the result's slices.
     */
    const float *slice_us;
    /* By part of the run, of the operations to which it came more than
     * JP_STALL_US later than the median rank (of two, the one that came
     * earlier): how much later, in sum. NULL: as slice_us. */
    const float *stalled_us;
    uint64_t stalled_ops; /* the number of these operations */
    /* Its time in each AlltoAll that is made of Send and Recv, in order.
     * JP_NO_KERNEL: a message of that AlltoAll is missing. NULL: its messages
     * do not form AlltoAlls. Points into the result's kernels. */
    const uint32_t *kernel_us;
    size_t n_kernels;
    /* Its time in Send and Recv, over the run: part k is of so many messages,
     * from the one after k * part_messages on, of last_message. No message
     * after the last part took any time. n_message_us 0: the messages have no
     * numbers, or no times. The rank owns message_us. */
    uint32_t *message_us;
    uint32_t n_message_us;
    uint64_t part_messages, last_message;
};
#define JP_NO_KERNEL UINT32_MAX

/* All operations of one (comm_type, function, size); sorted by these. */
struct jp_cell {
    enum jp_comm_type type;
    const char *coll; /* borrowed from the result's table of functions */
    uint64_t bytes;
    uint64_t ops;
    uint64_t records;
    struct jp_dist busbw; /* an operation's value: the mean over its ranks */
    struct jp_dist exec;  /* an operation's value: its longest time, us */
    /* From the shortest time, which is that of the rank that came last: without
     * the waits. Of timed operations (jp_rank); n = 0: there are none. */
    struct jp_dist net_busbw;
    double time_weighted_gbs; /* sum(busbw * time) / sum(time) */
    bool rounded; /* percentiles come from a histogram: within 0.3 % */
};

/* One joined operation, as ops_at (ops.h) returns it; sorted by (comm, coll,
 * sn, bytes). A value that no record supports is 0. */
struct jp_op {
    uint32_t comm;
    uint32_t coll; /* index into coll_names */
    uint64_t sn;
    uint64_t bytes;
    uint32_t n;        /* records */
    uint32_t min_rank; /* the rank with the shortest time, which came last;
                          UINT32_MAX: two ranks share it, or a record has no
                          time */
    uint32_t n_exec;   /* records with a time (exec_us is not 0) */
    uint32_t n_busbw;  /* records with a bandwidth */
    uint32_t n_start;  /* records with a start */
    /* Of the n_exec records. The second-shortest time equals the shortest where
     * two ranks share it, or where there is one record. The other ranks waited
     * (n - 1) * (second - min) for the last rank alone. */
    uint64_t exec_min_us, exec_second_us, exec_max_us, exec_sum_us;
    /* Of the n_busbw records, in 1e-6 GB/s. */
    uint64_t busbw_sum_micro, busbw_min_micro, busbw_max_micro;
    /* When the records were written: microseconds since 1970. */
    uint64_t dump_min_us, dump_max_us;
    /* Of the n_start records, microseconds since 1970: when the first and the
     * last rank arrived, and the last end (0: unknown). */
    uint64_t start_min_us, start_max_us, end_max_us;
    uint32_t phase; /* index into phases, plus 1; 0: no rank gave one;
                       JP_PHASE_SEVERAL: its ranks gave different ones */
};
#define JP_PHASE_SEVERAL UINT32_MAX

/* Packed operations: ops.h. */
struct jp_ops;
struct timeline;
struct jp_clocks;

/* Send and Recv between two ranks; sorted by (comm, src, dst, function). */
struct jp_p2p {
    size_t comm;
    uint32_t src, dst; /* rank that sends, rank that receives */
    const char *func;  /* "Send" or "Recv": the side that recorded it */
    uint64_t count, bytes, exec_us;
    double busbw_mean;
    /* The quantile JP_P2P_SLOWER of bytes / time over its messages, within 6 %.
     * A side that arrives last does not wait, so its fastest messages show the
     * network's speed. NAN: not kept (join.h), or the sizes differ too much. */
    double fast_gbs;
};
#define JP_P2P_SLOWER 0.85

/* The records of one function in a communicator that ran with one algorithm and
 * protocol, and the sizes that they had; sorted by (comm, function, algorithm,
 * protocol). Only of records that name them (Inspector from v4.2 on). */
struct jp_algo {
    size_t comm;
    const char *func;    /* of coll_names */
    uint8_t algo, proto; /* numbers of words (common/record.h) */
    uint64_t records, bytes_min, bytes_max;
};

/* Send and Recv between two hosts, over all communicators and pairs of ranks;
 * sorted by (src_host, dst_host, function). A rank's own records name its host;
 * "": it has no records. The names belong to the result's hosts. */
struct jp_p2p_node {
    const char *src_host, *dst_host;
    const char *func;
    uint64_t pairs; /* pairs of ranks, counted in each communicator */
    uint64_t count, bytes, exec_us;
    uint64_t n_busbw; /* records with a bandwidth; 0: there is no mean */
    double busbw_mean;
};

/* Operations of one communicator, function and phase in one window of time (by
 * dump_min_us); sorted by (t0, comm, coll, phase). A run has 200 windows of
 * equal length at most. Where these would make more than 50,000 rows, it has
 * fewer, but 10 at least. */
struct jp_window {
    uint64_t t0_us, t1_us;
    size_t comm;
    const char *coll; /* one of coll_names */
    uint32_t phase;   /* as in struct jp_op */
    uint64_t ops, bytes, time_us;
    uint64_t sizeless; /* as in struct jp_comm */
    double busbw_mean;
};

/* How long a process had at least one operation (collective, Send or Recv) in
 * flight: from start to end in its records (busy.h), by its own clock. This
 * time is not lost: computation may go on meanwhile. Sorted by (host, pid). */
struct jp_busy {
    char *host;
    int64_t pid;
    uint64_t instance;       /* as in struct jp_rank */
    uint64_t timed, untimed; /* records with start and end, and without */
    /* First start, last end, and how long it was busy between them. Zeros
     * unless the state is JP_BUSY_TOLD. */
    uint64_t from_us, to_us, busy_us;
    const uint64_t *slice_us; /* points into the result's busy_slices */
    enum {
        JP_BUSY_TOLD,    /* known */
        JP_BUSY_UNTIMED, /* over 1 % of its records have no start and end */
        JP_BUSY_MIXED,   /* its file holds records of several processes */
        JP_BUSY_SEVERAL, /* several files hold its records */
        JP_BUSY_ORDER    /* its records are too far out of order */
    } state;
};

/* What the recorder itself cost, summed over the recordings that have these
 * figures. */
struct jp_overhead {
    uint64_t recordings; /* that have the figures; 0: all other fields are 0 */
    uint64_t events;     /* callbacks by NCCL */
    double callbacks_ns; /* time in callbacks, estimated from a sample */
    double life_ns;      /* time in init and finalize of communicators */
    double writer_ns;    /* CPU time of the writing threads */
    double wall_ns;      /* wall time of the processes */
    double worst_share;  /* the largest (callbacks + life) / wall */
    uint64_t bytes;      /* size of the recordings, uncompressed */
};

/* The note on a recording that is cut, or whose process was killed, begins so.
 */
#define JP_NOTE_UNENDED "ends without its final block"
/* The note on a folder of the input that cannot be opened ends so. */
#define JP_NOTE_FOLDER LOGWALK_NO_FOLDER

/* The example plugin has a pool for each of these kinds of event. */
enum jp_trace_pool {
    JP_TRACE_COLL,
    JP_TRACE_P2P,
    JP_TRACE_GROUP_API,
    JP_TRACE_GROUP,
    JP_TRACE_POOLS
};

#define JP_UNSEEN_FUNCS 8 /* have a row of their own; the sum has all */

#define JP_DOUBTS 5 /* reasons not to use kernel events: enum jpr_doubt */

/* Calls of one function for which NCCL reported no operation to the recorder.
 */
struct jp_unseen {
    char func[40];
    uint64_t calls;
};

/* Symmetric kernels whose phases NCCL reported (v7): sums over all ranks. sync:
 * the wait for the other ranks before a kernel begins; close: the same at its
 * end. */
struct jp_phases {
    uint64_t records;
    double exec_us, sync_us, close_us;
};

#define JP_TAGS 12 /* of the program, that have sums of their own */

/* Records with a tag of the program (v7), sums over all ranks. */
struct jp_tag {
    uint64_t tag, records;
    char name[RECORD_MAX_PHASE + 1]; /* the phase's: "backward", "tag 2" */
    double exec_us, sync_us;         /* sync: of symmetric kernels */
};

#define JP_PAUSES 8 /* later ones are added to the last one */

/* Nothing was recorded in this time: it was switched off. Microseconds since
 * 1970; to_us 0: until the end. records: there would be so many of that time, by
 * a mask without those of Send and Recv (pauses.h). */
struct jp_pause {
    uint64_t from_us, to_us, records;
};

/* Limits of recorders that left no room for records, by their own word. */
struct jp_room {
    unsigned limits;     /* enum jpr_limit; 0: none, or older recordings */
    uint64_t recordings; /* that reached one */
    uint64_t since_us;   /* the first moment, since 1970; 0: not known */
    uint64_t error;      /* errno of a failed write; 0: none */
};

/* How complete the data is. */
struct jp_quality {
    uint64_t files, cut_files, skipped_files, bytes_read;
    uint64_t records; /* good collective and p2p records, without duplicates
                         and without those left out */
    uint64_t coll_records, p2p_records;
    uint64_t bad_lines, duplicate_records, unknown_lines;
    /* Of each kind of bad line: how many, and the first one (in order of path):
     * its number in its file. In a recording, the number of the operation.
     * path NULL: there are none. */
    struct jp_bad_lines {
        uint64_t n, line;
        char *path;
    } bad[JP_BAD_KINDS];
    uint64_t nan_busbw; /* records with bandwidth nan; no mean includes them */
    /* How many records there should be.
     * COUNTED: every file is a recording with counters, and all ranks of the
     *   largest communicator were seen. The sum of what was produced by these
     *   counters. Of a cut file, its records are the least.
     *   What is missing from a cut file after its last counters is not
     *   included: see cut_recordings and unbounded_recordings.
     * BOUND: a lower bound, so records <= expected. For each (communicator,
     *   function): the sequence numbers that any rank recorded, times n_ranks;
     *   then the p2p records, and for ranks of a communicator without a record
     *   as many as the others have of Send and Recv at the mean. unseen_records
     * are added where records were lost: a rank has no record that another rank
     * has (for Send and Recv: the two sides of a pair differ in number), or
     * counters show more. Where all ranks agree in every number, gaps are most
     * likely the profiler's size filter (8 KiB by default) and count in
     * unseen_records only. Traces have no such filter: their gaps are
     * overflow_records, and lost. The sum of what was produced by counters is
     * the least. NONE: unknown. */
    enum {
        JP_EXPECT_NONE,
        JP_EXPECT_COUNTED,
        JP_EXPECT_BOUND,
        JP_EXPECT_PLANNED /* only in struct jp_expected, never here */
    } expected_kind;
    uint64_t expected;
    uint64_t lost; /* records lost by the recorder's own count */
    /* records that Inspector overwrote before it could write them, by its own
     * count; what its end lost is not in it */
    uint64_t overwritten;
    uint64_t capped; /* of lost, left out on purpose at a limit: disk=,
                        min_free= */
    struct jp_room room;
    uint64_t in_flight; /* operations that had not ended at the recorder's last
                           count, or that finalize or exit ended; the latter
                           have records */
    uint64_t in_flight_us; /* the longest of these had begun so long before its
                              recording ends; a lower bound; 0: none. Without
                              in_flight_ended */
    uint64_t in_flight_ended; /* of in_flight, those of an attempt after which
                                 the launcher has started its workers anew:
                                 they ended with their processes, and have no
                                 records */
    uint64_t unseen_calls;    /* calls of the program for which NCCL reported no
                                 operation; no loss, and not expected */
    struct jp_unseen unseen[JP_UNSEEN_FUNCS];
    size_t n_unseen;
    /* Operations without a time because no kernel event of NCCL belongs to
     * them. unsure_by: of these, by each reason that their communicator has
     * (bits of enum jpr_doubt; it may have several). refused_times: operations
     * without a time because their time stamps contradict each other. */
    uint64_t unsure_records, unsure_by[JP_DOUBTS], refused_times;
    uint64_t lost_comms;     /* communicators for which the recorder had no
                                room: it keeps so many of a process at a time;
                                their operations count as lost */
    uint64_t lost_steps;     /* network steps that no wait includes */
    uint64_t recordings;     /* files of the recorder */
    uint64_t cut_recordings; /* recordings without their final block; cut_files
                              * does not include them. At most the last 100 ms
                              * of each are not counted, except for the next
                              * ones */
    uint64_t unbounded_recordings; /* cut recordings that had lost or left out
                                    * operations, are damaged, or hold no
                                    * counters: what else is missing is unknown
                                    */
    uint64_t unbounded_since_us;   /* the earliest time of their last counters,
                                      since 1970; 0: one of them has none */
    uint64_t damaged_blocks;       /* of recordings, not used */
    uint64_t traces;               /* files of NVIDIA's example plugin */
    uint64_t kernel_traces; /* traces of GPUs, such as PyTorch's, that show
                               kernels (traced) */
    uint64_t trace_most[JP_TRACE_POOLS]; /* the most events in one trace */
    uint64_t overflow_records; /* part of expected: records in gaps of the
                                  sequence numbers that no rank recorded */
    uint64_t partly_timed;     /* records with the times of some channels only:
                                  the other channels never ended (traces of NCCL
                                  2.28 to 2.30) */
    /* records with a time by a CPU's clock; as in struct jp_rank */
    uint64_t kernel_cpu_records, call_cpu_records;
    uint64_t untimed_records; /* records without a time: no exec_us and no wait
                                 includes them */
    /* Of the job. A rank is one of a process in a communicator; its ranks in
     * other communicators are the same one. ranks_expected: what is known to
     * exist, the larger of ranks_seen and the largest n_ranks; 0: unknown.
     * short_comms: communicators of which a rank has no records. */
    uint32_t ranks_seen, ranks_expected, short_comms;
    /* programs that the tasks ran one after the other, each to its end, which
     * are numbered as attempts (generations.c); 0: none were found */
    uint32_t programs;
    struct jp_file_note *notes; /* the first 100, in order of path */
    size_t n_notes;
    uint64_t notes_left_out;
    /* BOUND only: records in gaps that no rank recorded. Of collectives: gaps
     * below each series' largest sequence number, times n_ranks. Of Send and
     * Recv: gaps below each rank's largest p2p_sn, which counts both from 1. */
    uint64_t unseen_records;
    uint64_t unseen_before; /* of these: below the smallest sequence number of a
                               series; the run is judged from there on */
    uint64_t left_out_records; /* good records beyond options.memory_bytes */
    uint32_t shared_ranks; /* ranks with records of two processes (host, pid) */
    /* recordings of a process with one rank in two communicators of one id:
     * then records of two processes as one rank are no second run */
    uint64_t twin_recordings;
    uint64_t rounded_cells; /* cells beyond options.row_limit */
    struct jp_overhead overhead;
    struct jp_phases phases;
    struct jp_tag tags[JP_TAGS]; /* most time first */
    size_t n_tags;
    /* In order of time, over all recordings. paused_records: operations that
     * were not recorded then; expected includes them. Without those of Send and
     * Recv where NCCL's mask was cleared (paused_by_mask). */
    struct jp_pause pauses[JP_PAUSES];
    size_t n_pauses;
    bool pauses_joined; /* a recording had more than are kept, so the last one
                           is of several, and of what was recorded in between */
    uint64_t paused_records;
    bool paused_by_mask;
    uint64_t partial_nodes; /* nodes whose partial was read instead of logs */
    bool waits_unknown; /* there are too many records for options.memory_bytes:
                           exec_us and wait_us of all ranks are 0; last_share
                           and caused_us are right */
};

/* An operation hangs if it has been in flight for this long when its recordings
 * end. Collectives take milliseconds, and a wait for a slow checkpoint or data
 * loader takes seconds; watchdogs give up after minutes. */
#define JP_HANG_US 10000000

/* Where a rank of a hanging operation is. */
enum jp_hang_state {
    JP_HANG_IN,        /* in the operation: it waits */
    JP_HANG_ABSENT,    /* it never entered, and is in no other operation */
    JP_HANG_ELSEWHERE, /* it never entered, and is in another operation */
    JP_HANG_DONE,      /* it has ended the operation */
    JP_HANG_UNKNOWN,   /* it has no recording, or the recording does not show it
                        */
    JP_HANG_STATES
};

/* One of the operations that hang, worst first. */
struct jp_hang_op {
    int64_t comm;  /* index into comms; -1: unknown */
    char coll[40]; /* function */
    char name[40]; /* of the communicator; its id where it has no name */
    uint64_t sn;
    int64_t since_us; /* since 1970; 0: unknown */
    uint64_t age_us;  /* a lower bound */
    uint32_t n_ranks;
    uint8_t *states; /* enum jp_hang_state of each rank */
    /* Each one's rank in the job; if that of one is unknown, all are their
     * ranks in the communicator: a mixture would name the wrong ones. */
    int64_t *ranks;
};
#define JP_HANG_OPS 16     /* the most that are kept, */
#define JP_HANG_RANKS 4096 /* each with so many ranks at most */

struct jp_hang {
    uint64_t operations; /* that hang; 0: all other fields are 0 */
    uint64_t age_us;     /* of the oldest one; a lower bound */
    int64_t since_us;    /* start of the oldest one, since 1970; 0: unknown */
    char text[700];      /* one sentence: which rank is missing where */
    size_t whom; /* so many bytes at the start of text name one rank by its
                    number in the communicator; 0: several ranks, or none */
    /* The operation that text is about, and its rank; -1 and "": unknown. */
    int64_t comm;       /* index into comms */
    char coll[40];      /* function */
    uint64_t sn;        /* sequence number */
    int64_t rank;       /* the first one that never entered, or is held up */
    int64_t world_rank; /* its rank in the job; -1: none */
    int64_t pid;
    uint64_t instance; /* as in struct jp_rank */
    char host[256];
    /* when its recording ended as it does at the end of a process or of its
     * last communicator, since 1970; 0: it did not, or the time is unknown */
    int64_t closed_us;
    struct jp_hang_op ops[JP_HANG_OPS];
    size_t n_ops;
    /* it is known by dumps of PyTorch's Flight Recorder: text has whole
     * sentences, or is "", and ages may be 0, unknown */
    bool dumps;
    const char *table; /* of csv/, with all operations; NULL: none */
};

/* A process that wrote a recording, also one without operations. Sorted by
 * host, pid and instance. */
struct jp_recorded {
    char *host;
    int64_t pid;
    uint64_t instance; /* as in struct jp_rank */
    int64_t procid;    /* SLURM_PROCID: of the task that it is or descends from;
                          -1: unknown */
    struct launched launched; /* what its launcher told it */
    bool cut; /* a recording of it has no final block: it died, was killed,
                 left by _exit, or the file could not be finished */
};

/* Phases that have names of their own; the last one is "others". */
#define JP_PHASES 64

struct jp_result {
    char **coll_names; /* sorted */
    size_t n_coll_names;
    /* Of the program, such as "backward" or "tag 3"; sorted. */
    char *phases[JP_PHASES];
    size_t n_phases;
    struct jp_comm *comms;
    size_t n_comms;
    struct jp_rank *ranks;
    size_t n_ranks;
    float *slices;     /* JP_SLICES each: zeros, which ranks without times
                          share, then those of the others in any order */
    uint32_t *kernels; /* kernel_us of all ranks */
    struct jp_cell *cells;
    size_t n_cells;
    struct jp_ops *ops; /* packed: read by ops_at (ops.h) */
    size_t n_ops;
    struct jp_algo *algos;
    size_t n_algos;
    struct jp_p2p *p2p;
    size_t n_p2p;
    struct jp_p2p_node *p2p_nodes;
    size_t n_p2p_nodes;
    char **hosts; /* sorted; empty without p2p_nodes */
    size_t n_hosts;
    struct jp_window *windows;
    size_t n_windows;
    struct jp_busy *busy;
    size_t n_busy;
    uint64_t *busy_slices; /* n_busy_slices for each process, in any order */
    size_t n_busy_slices;
    uint64_t busy_slice_us, busy_from_us; /* width; start of the first */
    uint64_t busy_silent; /* files without a single start and end */
    /* One for each file whose records have start and end (timeline.h). Together
     * they hold TIMELINE_EVENTS operations at most; fewer where memory_bytes is
     * below 1 GiB. Strips have bins on the first hosts in order of name, as
     * many as have STRIP_ROWS processes. */
    struct timeline **timelines;
    size_t n_timelines;
    /* The same of each file of which a record has neither: of all its records
     * the order and how long each took; every start is 0. They share that
     * limit. A file with both kinds of records has a timeline, too, which is
     * `ordered`. */
    struct timeline **sequences;
    size_t n_sequences;
    struct jp_recorded *recorded; /* sorted by host, pid and instance */
    size_t n_recorded;
    /* Processes whose kernels were recorded, by rank, then by host, pid and
     * first kernel. */
    struct traced_list traced;
    struct jp_clocks *clocks; /* of the nodes; NULL: they were not compared */
    struct jp_quality quality;
    struct jp_hang hang;
};

struct backend;

struct jp_aggregate_options {
    unsigned threads;      /* 0: one for each CPU, 8 at most */
    uint64_t memory_bytes; /* limit of the join, which takes some 100 B for each
                              operation and thread, and 3 B for each record; 0:
                              1 GiB. The result takes 30 B for each operation in
                              addition */
    /* Cells have exact percentiles, beginning with the cell of the fewest
     * operations, until they hold this many operations together. The other
     * cells are rounded. 0: one operation for each 32 bytes of memory_bytes. */
    uint64_t row_limit;
    uint64_t piece_bytes; /* threads share a huge log in pieces of this size; 0:
                             16 MiB. It does not change the result */
    /* Called regularly, from one thread, with the bytes read and all bytes.
     * Non-zero stops with the error "stopped". May be NULL. */
    int (*progress)(void *arg, uint64_t done, uint64_t total);
    void *progress_arg;
    /* Which of the files that were found are read: others belong to other
     * readers (filekinds.h). NULL: all are. */
    enum logwalk_use (*use)(const void *arg, const char *path);
    const void *use_arg;
    /* Backends beside those of the registry whose readers may take a file
     * (reader_find_with); ends with NULL. NULL: none. */
    const struct backend *const *readers;
    bool evidence;    /* keep each recording's evidence of hangs, as partials
                         need it */
    bool as_recorded; /* leave times on each node's own clock (clocks.h) */
    /* Processes of the whole step: timelines are cut as if there were at least
     * so many files. 0: unknown. */
    uint32_t processes;
    /* A folder. Its <node>/partial.jpp may replace the logs in folder <node> of
     * the first input. NULL: no partial is used. */
    const char *partials;
    /* With partials: a folder that replaces the first input, which may be
     * missing. A partial then also replaces the logs of a node that are gone.
     * NULL: no. */
    const char *gone;
    /* A folder. Its <node>/clock.jsonl hold what the nodes' agents measured of
     * each other's clocks. NULL: none. */
    const char *nodes;
    const char *tags; /* names of the program's tags (usertags_name); may be
                         NULL */
    /* Called with the reason why a node's partial was not used; may be NULL. */
    void (*note)(void *arg, const char *node, const char *why);
    void *note_arg;
};

/* Reads and joins the given files and all files below the given folders: .jpr,
 * .jpr.gz, .log, .jsonl, .log.gz, .jsonl.gz and, if they are traces of the
 * example plugin, .json, .json.gz and .txt. Symbolic links and FIFOs are
 * counted, but not followed. Bad lines and cut or unreadable files are counted
 * and noted, and the rest is used. NULL with err: no memory, an input does not
 * exist, or progress stopped. */
struct jp_result *aggregate_run(const char *const *inputs, size_t n_inputs,
                                const struct jp_aggregate_options *options,
                                struct jp_error *err);
void result_destroy(struct jp_result *result);

/* Frees the intervals of all timelines, which only the judge reads: of
 * thousands of processes they take as much as the rest of the timelines. */
void result_drop_intervals(struct jp_result *result);

/* The name of a phase as struct jp_op has it: "" for none, "several" where the
 * ranks gave different ones. Borrowed. */
const char *result_phase(const struct jp_result *result, uint32_t phase);

/* The topology's labels for a result: one for each communicator, in order, and
 * notes on files that were not used. The caller owns them; labels_fini also
 * takes zeros. */
struct jp_comm_label {
    const char *fabric, *inter, *rail, *hca_path; /* constants */
    const char *evidence; /* a constant; NULL: the communicator keeps its own */
    struct jp_carriers carriers;
    char *why; /* replaces the communicator's */
    char **warnings;
    size_t n_warnings;
};

struct jp_labels {
    struct jp_comm_label *comms;
    size_t n_comms;
    struct jp_file_note *notes;
    size_t n_notes;
};

/* Moves the labels into the result; labels are empty then. Notes beyond the
 * result's 100 are counted in notes_left_out. -1 without memory: nothing has
 * changed. */
int result_label(struct jp_result *result, struct jp_labels *labels,
                 struct jp_error *err);
void labels_fini(struct jp_labels *labels);

#endif
