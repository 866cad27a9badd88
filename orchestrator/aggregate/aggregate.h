/* aggregate.h - what the joined records of one step (or folder) say.
 *
 * An operation is (communicator, function, sequence number, message size); its
 * records come from the communicator's ranks. Bandwidths are GB/s = 1e9 bytes a
 * second, times microseconds, sizes bytes. Bandwidth is kept as an integer of
 * 1e-6 GB/s while records are joined, so sums do not depend on the order of
 * files. Percentiles are linear-interpolated (quantile_cont) over operations'
 * mean bus bandwidth.
 *
 * Everything in struct jp_result is owned by it and freed by result_destroy.
 * Arrays are sorted as their comments say, so equal input gives equal output.
 */
#ifndef JP_AGGREGATE_AGGREGATE_H
#define JP_AGGREGATE_AGGREGATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/badkind.h"
#include "common/error.h"

/* NVIDIA's four names, by its own formula on (n_ranks, nnodes): one rank;
 * nnodes = 1; nnodes = n_ranks; else. nnodes counts NVLink domains. */
enum jp_comm_type {
    JP_COMM_SINGLE_RANK,
    JP_COMM_NVLINK_ONLY,
    JP_COMM_HCA_ONLY,
    JP_COMM_MIXED,
    JP_COMM_N_TYPES
};
const char *comm_type_name(enum jp_comm_type type); /* "single-rank" ... */

/* min, max, mean and percentiles of one quantity. n values. */
struct jp_dist {
    uint64_t n;
    double mean, min, p5, p50, p95, p99, max;
};

/* What carried a communicator's data, by NCCL's log; nothing without one. */
struct jp_carriers {
    const char *nvls; /* "no", "ready" (channels for NVLink SHARP), "yes" (its
                         buffers were made); NULL not told */
    char collnet[32]; /* in-network reduction: "SHARP", "yes" (nobody named
                         it), "no"; "" not told */
    bool has_net;     /* it has channels over a network: */
    double gdr_share; /* of these with GPUDirect RDMA */
    bool pxn;         /* some go over another rank's adapter */
};

/* One communicator: (id, n_ranks, nnodes), because NVIDIA cuts ids to 16
 * characters; name is the smallest that its ranks gave. Sorted by (comm_type,
 * id, name, n_ranks, nnodes). */
struct jp_comm {
    char id[20]; /* "0x..." as in the records */
    char *name;  /* "" if unknown */
    uint32_t n_ranks;
    uint32_t nnodes; /* NVLink domains, as NCCL says */
    bool guessed;    /* NCCL before 2.27 and the example plugin's traces tell no
                        sizes: from ranks and hosts seen */
    enum jp_comm_type type;
    char **hosts; /* sorted, distinct, of the ranks seen */
    size_t n_hosts;
    uint32_t ranks_seen;
    uint64_t ops;          /* joined operations */
    uint64_t ops_complete; /* all n_ranks records present */
    uint64_t records;
    uint64_t bytes;       /* sum of message sizes over operations */
    uint64_t time_us;     /* sum over operations of the longest rank's time */
    uint64_t p2p_records; /* Send and Recv; not among records */
    /* the recorder's counters over its ranks, Send and Recv among them */
    bool counted;
    uint64_t produced, lost, capped;
    /* what supports the label, else the type, and one sentence with the rule
     * and numbers */
    const char *evidence; /* "records", "records+hosts", "contradicted",
                             "hosts", "ranks" (guessed without hosts); of a
                             label those of orchestrator/topo/label.h */
    char *why;
    /* what it runs over, in words of orchestrator/topo/label.h, and warnings;
     * set by result_label. NULL: no label. hca_path may be "" */
    const char *fabric, *inter, *rail, *hca_path;
    char **warnings;
    size_t n_warnings;
    struct jp_carriers carriers; /* set by result_label */
};

/* One rank of one communicator; sorted by (comm, rank). Times cover complete
 * operations of barrier-like functions (AllReduce, AllGather, ReduceScatter):
 * wait_us = sum of (own time - shortest), caused_us = what the others waited
 * for this rank in the operations in which it came last (shortest time; ties:
 * none is blamed). last_share = those operations / timed_ops. Communicators of
 * one rank, and sequence numbers that carry two sizes, are not timed. host and
 * pid: the smallest, where two processes wrote as one rank
 * (quality.shared_ranks); of an operation that both wrote, the first in order
 * of path is kept. slice_us: time in complete barrier-like operations, of
 * JP_SLICES equal parts of the run by each function's sequence numbers, scaled
 * up to all operations of the part; NAN where a part has operations and none is
 * complete; NULL: waits_unknown. stalled_us, in the same parts: how much later
 * than the median rank (the later of two) it came to those of these operations
 * to which it came later by more than JP_STALL_US; stalled_ops: how many these
 * are; NULL as slice_us. */
#define JP_SLICES 20
#define JP_STALL_US 1000
struct jp_rank {
    size_t comm; /* index into comms */
    uint32_t rank;
    char *host;
    int64_t pid;
    uint64_t records;
    uint64_t timed_ops;
    uint64_t last_ops;
    double last_share;
    uint64_t exec_us; /* sum over timed_ops */
    uint64_t wait_us;
    uint64_t caused_us;
    uint64_t p2p_records;  /* not among records */
    double p2p_fast_gbs;   /* as of jp_p2p, of all its Send and Recv */
    const float *slice_us; /* in the result's slices, stalled_us behind it */
    const float *stalled_us;
    uint64_t stalled_ops;
    /* how long each AlltoAll of Send and Recv kept it, in order; of those of
     * which a message is missing JP_NO_KERNEL. In the result's kernels; NULL:
     * its messages are no AlltoAll's */
    const uint32_t *kernel_us;
    size_t n_kernels;
};
#define JP_NO_KERNEL UINT32_MAX

/* Operations of one (comm_type, function, size); sorted so. */
struct jp_cell {
    enum jp_comm_type type;
    const char *coll; /* borrowed from the result's table of functions */
    uint64_t bytes;
    uint64_t ops;
    uint64_t records;
    struct jp_dist busbw; /* operations' mean over ranks */
    struct jp_dist exec;  /* operations' longest time, us */
    struct jp_dist
        net_busbw;            /* from the last arriver's (shortest) time, over
                                 complete barrier-like operations; n = 0: none */
    double time_weighted_gbs; /* sum(busbw * time) / sum(time) */
    bool rounded; /* percentiles are from a histogram: within 0.3 % */
};

/* One joined operation, as ops_at of ops.h gives it; sorted by (comm, coll, sn,
 * bytes). A value over no records is 0. */
struct jp_op {
    uint32_t comm;
    uint32_t coll; /* index into coll_names */
    uint64_t sn;
    uint64_t bytes;
    uint32_t n;        /* records */
    uint32_t min_rank; /* of exec_min_us, who came last; UINT32_MAX on a tie, or
                          where a record has no time */
    uint32_t n_exec;   /* records with a time: exec_us was not 0 */
    uint32_t n_busbw;  /* records with a bandwidth */
    uint32_t n_start;  /* records with a start */
    /* over n_exec. The second-shortest is the shortest on a tie or where there
     * is no second: what n - 1 ranks waited for the last one alone is (n - 1)
     * * (second - min) */
    uint64_t exec_min_us, exec_second_us, exec_max_us, exec_sum_us;
    uint64_t busbw_sum_micro; /* 1e-6 GB/s, over n_busbw, as the others */
    uint64_t busbw_min_micro, busbw_max_micro;
    uint64_t dump_min_us, dump_max_us; /* realtime, of the records' writing */
    /* realtime by each rank's own clock: over n_start, when the first and the
     * last rank began, which is when they arrived; the last end, 0: unknown */
    uint64_t start_min_us, start_max_us, end_max_us;
};

/* Packed operations: ops.h. */
struct jp_ops;
struct timeline;
struct jp_clocks;

/* Send and Recv between two ranks; sorted by (comm, src, dst, function). */
struct jp_p2p {
    size_t comm;
    uint32_t src, dst; /* ranks: who sends, who receives */
    const char *func;  /* "Send", "Recv": which side recorded it */
    uint64_t count, bytes, exec_us;
    double busbw_mean;
    double fast_gbs; /* bytes / time that JP_P2P_SLOWER of its messages do not
                        reach, within 6 %: where this side was there last, that
                        is the network's; NAN: not kept (join.h), or of unlike
                        messages */
};
#define JP_P2P_SLOWER 0.85

/* The same between two hosts, over all communicators and pairs of ranks; sorted
 * by (src_host, dst_host, function). A rank's host is that of its own records:
 * "" where it has none. Borrowed from the result's hosts. */
struct jp_p2p_node {
    const char *src_host, *dst_host;
    const char *func;
    uint64_t pairs; /* of ranks of a communicator */
    uint64_t count, bytes, exec_us;
    uint64_t n_busbw; /* records with a bandwidth; 0: no mean */
    double busbw_mean;
};

/* Operations of one communicator and function in one slice of time (by
 * dump_min_us); at most 200 slices of equal length, fewer, but at least 10,
 * where that makes more than 50,000 rows; sorted by (t0, comm, coll). */
struct jp_window {
    uint64_t t0_us, t1_us;
    size_t comm;
    const char *coll; /* one of coll_names */
    uint64_t ops, bytes, time_us;
    double busbw_mean;
};

/* A process and the time in which it had at least one operation (collective,
 * Send or Recv) in flight: from start to end as records tell them (busy.h), by
 * its own clock. That is no share of time lost: computation may go on beside
 * it. Sorted by (host, pid). */
struct jp_busy {
    char *host;
    int64_t pid;
    uint64_t timed, untimed; /* records with start and end, and without */
    /* first start and last end; busy_us of these are busy. 0 without told */
    uint64_t from_us, to_us, busy_us;
    const uint64_t *slice_us; /* in the result's slices */
    /* TOLD; more than one record in 100 has no start and end; a file holds
     * records of several processes; several files hold this one's; records came
     * too far out of order */
    enum {
        JP_BUSY_TOLD,
        JP_BUSY_UNTIMED,
        JP_BUSY_MIXED,
        JP_BUSY_SEVERAL,
        JP_BUSY_ORDER
    } state;
};

/* What the recorder itself took, over the recordings that tell. */
struct jp_overhead {
    uint64_t recordings; /* that tell; 0: then the rest is 0 */
    uint64_t events;     /* callbacks by NCCL */
    double callbacks_ns; /* in these, from a sample */
    double life_ns;      /* in init and finalize of communicators */
    double writer_ns;    /* CPU time of the writing threads */
    double wall_ns;      /* of the processes, summed */
    double worst_share;  /* (callbacks + life) / wall of one process */
    uint64_t bytes;      /* of the recordings, unpacked */
};

/* How the note on a recording begins that is cut, or whose process was killed.
 */
#define JP_NOTE_UNENDED "ends without its final block"

/* Events of a trace that fill a pool of the example plugin each. */
enum jp_trace_pool {
    JP_TRACE_COLL,
    JP_TRACE_P2P,
    JP_TRACE_GROUP_API,
    JP_TRACE_GROUP,
    JP_TRACE_POOLS
};

#define JP_UNSEEN_FUNCS 8 /* told apart; the rest is in the sum */

#define JP_DOUBTS 5 /* reasons not to use kernel events: enum jpr_doubt */

/* Calls of one function that NCCL told the recorder no operation of. */
struct jp_unseen {
    char func[40];
    uint64_t calls;
};

/* How complete the data is. */
struct jp_quality {
    uint64_t files, cut_files, skipped_files, bytes_read;
    uint64_t records; /* good collective and p2p records, duplicates and
                         those left out not among them */
    uint64_t coll_records, p2p_records;
    uint64_t bad_lines, duplicate_records, unknown_lines;
    struct jp_bad_lines { /* of each kind, and where the first stands: number of
                             the line (a recorder's file: of the operation) in
                             the first file in order of path; NULL: none */
        uint64_t n, line;
        char *path;
    } bad[JP_BAD_KINDS];
    uint64_t nan_busbw; /* records whose bandwidth was nan, left out of means */
    /* what should be there. COUNTED: every file is a recorder's and holds
     * counters, and all ranks of the largest communicator were seen; the sum of
     * what they say was produced (of a cut file: at least what is in it), and
     * unseen_calls. What a cut file misses behind its last counters is in no
     * sum: cut_recordings, unbounded_recordings. BOUND: for each (communicator,
     * function) the sequence numbers that any rank recorded times n_ranks (at
     * least its records), plus the p2p records, plus unseen_records where some
     * rank lacks a record that another one has (of Send and Recv: a pair's
     * sides differ in number), or counters tell of more: then records were
     * lost, and gaps count as lost, too; at least the sum of produced. Where
     * all ranks agree in every number, gaps are most likely the profiler's size
     * filter (8 KiB by default) and are only told in unseen_records - but for
     * traces, which know no filter: their gaps are overflow_records, and lost.
     * NONE: unknown. records <= expected for a BOUND. */
    enum {
        JP_EXPECT_NONE,
        JP_EXPECT_COUNTED,
        JP_EXPECT_BOUND,
        JP_EXPECT_PLANNED /* never here: of struct jp_expected */
    } expected_kind;
    uint64_t expected;
    uint64_t lost;      /* the recorder's own count of lost records */
    uint64_t capped;    /* of those it left out on purpose at its cap (disk=) */
    uint64_t in_flight; /* had not ended when the recorder counted last, or were
                           ended by finalize or exit (these are records, too) */
    uint64_t unseen_calls; /* the program made them, NCCL told no operation of
                              them; in a COUNTED expected */
    struct jp_unseen unseen[JP_UNSEEN_FUNCS];
    size_t n_unseen;
    /* operations that no kernel event of NCCL's tells of: no time; of these
     * those whose communicator has each reason (bits of enum jpr_doubt) among
     * others. And operations whose time stamps contradict each other: no time
     */
    uint64_t unsure_records, unsure_by[JP_DOUBTS], refused_times;
    uint64_t lost_steps;     /* network steps that no wait includes */
    uint64_t recordings;     /* files of the recorder */
    uint64_t cut_recordings; /* of these without their final block; not among
                                cut_files. Each misses at most 100 ms more, but
                                for the next */
    uint64_t unbounded_recordings; /* cut ones that had lost operations or left
                                some out, are damaged, or hold no counters: what
                                they miss besides is not known */
    uint64_t unbounded_since_us;   /* the earliest last counters of these, wall
                                  clock; 0: one has none */
    uint64_t damaged_blocks;       /* of the recorder's files, left aside */
    uint64_t traces;               /* files of NVIDIA's example plugin */
    uint64_t trace_most[JP_TRACE_POOLS]; /* events in one of them, the most */
    uint64_t overflow_records; /* of the expected: those that a gap in their
                                  sequence numbers tells of, which no rank
                                  recorded */
    uint64_t partly_timed; /* records with the time of some channels: the others
                              were never ended (traces of 2.28 to 2.30) */
    uint64_t untimed_records;   /* without a time: in no exec_us and no wait */
    uint32_t ranks_seen;        /* of the largest communicator */
    uint32_t ranks_expected;    /* its n_ranks, else 0 */
    struct jp_file_note *notes; /* first 100, in order of path */
    size_t n_notes;
    uint64_t notes_left_out;
    /* what the gaps below each series' largest sequence number stand for, times
     * n_ranks: numbers that no rank recorded; and those below each rank's
     * largest p2p_sn, one counter from 1 for Send and Recv. BOUND only */
    uint64_t unseen_records;
    uint64_t left_out_records; /* good ones over options.memory_bytes */
    uint32_t shared_ranks; /* ranks with records of two processes (host, pid) */
    uint64_t rounded_cells; /* beyond options.row_limit */
    struct jp_overhead overhead;
    uint64_t partial_nodes; /* nodes whose partial was read in place of logs */
    bool waits_unknown; /* too many records for options.memory_bytes: exec_us
                           and wait_us of all ranks are 0; last_share and
                           caused_us hold */
};

/* An operation that is in flight for this long when its recordings end hangs:
 * NCCL's own take milliseconds, a wait for a slow checkpoint or data loader
 * seconds; watchdogs give up after minutes. */
#define JP_HANG_US 10000000

/* Where a rank is that a hanging operation needs. */
enum jp_hang_state {
    JP_HANG_IN,        /* it waits in it */
    JP_HANG_ABSENT,    /* never entered, and in nothing else */
    JP_HANG_ELSEWHERE, /* never entered: it is in another operation */
    JP_HANG_DONE,      /* it has ended it */
    JP_HANG_UNKNOWN,   /* its recording does not tell, or there is none */
    JP_HANG_STATES
};

/* One of the operations that hang, worst first. */
struct jp_hang_op {
    int64_t comm;  /* index into comms; -1: not known */
    char coll[40]; /* function */
    char name[40]; /* the communicator's, else its id */
    uint64_t sn;
    int64_t since_us; /* since 1970; 0: unknown */
    uint64_t age_us;  /* at least */
    uint32_t n_ranks;
    uint8_t *states; /* n_ranks of enum jp_hang_state */
    int64_t *tasks;  /* SLURM_PROCID of each; -1: not known */
};
#define JP_HANG_OPS 16 /* kept; and of at most so many ranks: */
#define JP_HANG_RANKS 4096

struct jp_hang {
    uint64_t operations; /* that hang; 0: none, then the rest is 0 */
    uint64_t age_us;     /* of the oldest, at least */
    int64_t since_us;    /* when the earliest began, since 1970; 0: unknown */
    char text[700];      /* who is missing where, a sentence on the worst */
    size_t whom; /* bytes at its start that name one rank, by its place in the
                    communicator; 0: several ranks, or none */
    /* of that one; -1 and "": not known */
    int64_t comm;  /* index into comms */
    char coll[40]; /* function */
    uint64_t sn;   /* its sequence number */
    int64_t rank;  /* the first that never entered it, else that is held up */
    int64_t task;  /* its SLURM_PROCID */
    int64_t pid;
    char host[256];
    struct jp_hang_op ops[JP_HANG_OPS];
    size_t n_ops;
};

struct jp_result {
    char **coll_names; /* sorted */
    size_t n_coll_names;
    struct jp_comm *comms;
    size_t n_comms;
    struct jp_rank *ranks;
    size_t n_ranks;
    float *slices;     /* 2 x JP_SLICES a rank, in any order */
    uint32_t *kernels; /* of all ranks */
    struct jp_cell *cells;
    size_t n_cells;
    struct jp_ops *ops; /* ops_at reads them */
    size_t n_ops;
    struct jp_p2p *p2p;
    size_t n_p2p;
    struct jp_p2p_node *p2p_nodes;
    size_t n_p2p_nodes;
    char **hosts; /* sorted; none without p2p_nodes */
    size_t n_hosts;
    struct jp_window *windows;
    size_t n_windows;
    struct jp_busy *busy;
    size_t n_busy;
    uint64_t *busy_slices; /* of all, n_busy_slices each, in any order */
    size_t n_busy_slices;
    uint64_t busy_slice_us, busy_from_us; /* width, begin of the first */
    uint64_t busy_silent; /* files of which no record has start and end */
    /* of files whose records tell start and end (timeline.h); as a whole of so
     * many operations, fewer if memory_bytes is below 1 GiB */
    struct timeline **timelines;
    size_t n_timelines;
    struct jp_clocks *clocks; /* of its nodes (clocks.h); NULL: not compared */
    struct jp_quality quality;
    struct jp_hang hang;
};

struct jp_aggregate_options {
    unsigned threads;      /* 0: as many as CPUs, at most 8 */
    uint64_t memory_bytes; /* bound of the join (about 100 B an operation and
                              thread, 3 B a record); 0: 1 GiB. The result's
                              own 30 B an operation come on top */
    /* percentiles are exact while no more operations than this are in the
     * cells, of fewest operations first; the other cells' are ROUNDED. 0: one
     * for each 32 bytes of memory_bytes */
    uint64_t row_limit;
    uint64_t piece_bytes; /* of a huge log that threads share; 0: 16 MiB. The
                             result does not depend on it */
    /* called now and then from one thread with bytes done and in all; may be
     * NULL; non-zero stops with an error ("stopped") */
    int (*progress)(void *arg, uint64_t done, uint64_t total);
    void *progress_arg;
    bool evidence;    /* of hangs is kept of each recording: for partials */
    bool as_recorded; /* times stay on each node's own clock (clocks.h) */
    /* processes of the whole step, where that is known: timelines are cut as if
     * there were no fewer files; 0: not known */
    uint32_t processes;
    /* folder whose <node>/partial.jpp may stand for the logs in folder <node>
     * of the first input; NULL: none is used */
    const char *partials;
    /* with partials: its folders <node> are the logs' in place of the first
     * input's, which may be missing; a partial also stands for all logs of a
     * node that are gone. NULL: for none */
    const char *gone;
    /* folder whose <node>/clock.jsonl hold what the nodes' agents measured of
     * each other's clocks; NULL: none */
    const char *nodes;
    /* told why a node's partial was not used; may be NULL */
    void (*note)(void *arg, const char *node, const char *why);
    void *note_arg;
};

/* Reads every .jpr, .jpr.gz, .log, .jsonl, .log.gz, .jsonl.gz and, if they are
 * the example plugin's traces, .json, .json.gz and .txt below the given files
 * and folders (recursively; symbolic links and FIFOs are not followed but
 * counted) and joins them. A bad line, a cut or unreadable file is counted and
 * noted, the rest is used; only no memory, no such input or progress' stop
 * fail. Returns NULL and err then. */
struct jp_result *aggregate_run(const char *const *inputs, size_t n_inputs,
                                const struct jp_aggregate_options *options,
                                struct jp_error *err);
void result_destroy(struct jp_result *result);

/* What the topology says of a result: a label for each communicator, in order,
 * and notes on records that it left aside. Owned; labels_fini takes zeros. */
struct jp_comm_label {
    const char *fabric, *inter, *rail, *hca_path; /* constants */
    const char *evidence; /* a constant; NULL: the communicator's own stands */
    struct jp_carriers carriers;
    char *why; /* takes the place of the communicator's */
    char **warnings;
    size_t n_warnings;
};

struct jp_labels {
    struct jp_comm_label *comms;
    size_t n_comms;
    struct jp_file_note *notes;
    size_t n_notes;
};

/* Takes the labels over, which are empty then; of the notes as many as there
 * are places for, the others are counted. -1 without memory: both are as they
 * were. */
int result_label(struct jp_result *result, struct jp_labels *labels,
                 struct jp_error *err);
void labels_fini(struct jp_labels *labels);

#endif
