/* join.h - the records of many ranks become operations, in dense arrays.
 *
 * One struct join belongs to one thread; join_merge folds them into one.
 *
 * A communicator is (id, n_ranks, nnodes): NVIDIA cuts ids to 16 characters, so
 * equal ids of different shape are different communicators. The name is no part
 * of it (ranks may name it differently); the smallest one is shown.
 * A series is (communicator, function): rows by sequence number in blocks of
 * 64, found by block number, so gaps of any width cost nothing. A row is one
 * operation. A second size for a sequence number is another operation and goes
 * to a list of strays, sorted at the end.
 * A member is (communicator, rank), written by one process. A lane is (member,
 * function): one bit a sequence number tells a record seen twice, and the times
 * of barrier-like functions are kept (2 bytes a record, the journal), because
 * which operations are complete is known only at the end.
 *
 * Twice the same operation of a rank: the first is kept, in order of path and
 * line. Two threads cannot know that order, so a repetition between files (a
 * log and its copy; a rank that was written by two processes) makes the join
 * CONFLICTED, and the caller joins again with one thread in order of path. So
 * does a second size seen by two threads, and a memory bound that was hit:
 * whatever the input, the result does not depend on threads or file order; but
 * how much goes into the bound may, as communicators are closed early
 * (join_end_file).
 */
#ifndef JP_AGGREGATE_JOIN_H
#define JP_AGGREGATE_JOIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/blockmap.h"
#include "orchestrator/aggregate/keymap.h"
#include "orchestrator/aggregate/ops.h"
#include "common/record.h"
#include "plugins/nccl_recorder/jpr.h"

#define JOIN_BLOCK 64
#define JOIN_MAX_FUNCS 256 /* distinct names of functions */
#define JOIN_NO_RANK UINT32_MAX
#define JOIN_LONG_US (UINT32_MAX - 1) /* longer than the journal can say */
#define JOIN_NO_TIME UINT64_MAX

/* --- join_kernels.c: how long each AlltoAll of Send and Recv kept a rank
 * ------
 *
 * NCCL runs the Send and Recv of an AlltoAll as one kernel, which ends with the
 * longest message. That is how long the rank was in it, whatever the sizes. A
 * rank's messages are numbered, and an AlltoAll has one to and one from each
 * peer, so kernel k has the k-th `per` numbers. Whether a rank sends to itself
 * is known only at the end, so both ways of counting are kept. A kernel counts
 * if all of its messages are there. Longest times and counts do not depend on
 * the order of records.
 */

/* Two or three ranks may all be neighbours in a pipeline, where none sends to
 * itself: below ALONE only who does is in an AlltoAll. With more than MAX, a
 * kernel has so many messages that some are always missing. */
enum {
    JOIN_KERNEL_MIN_RANKS = 2,
    JOIN_KERNEL_ALONE_RANKS = 4,
    JOIN_KERNEL_MAX_RANKS = 4096
};
enum { JOIN_KERNEL_BLOCK = 64 };

struct clockmap;
struct clockmap_node;
struct join;
struct join_member;
struct record;

struct join_kernel_block {
    uint64_t number; /* of the kernel / JOIN_KERNEL_BLOCK */
    uint32_t us[JOIN_KERNEL_BLOCK];
    uint16_t n[JOIN_KERNEL_BLOCK]; /* messages */
};

/* [0]: with messages to itself; [1]: without. */
struct join_kernels {
    struct blockmap blocks[2];
};

/* Adds a message of the member. What does not fit the bound for them switches
 * kernels off (budget->kernels_off). 0, or -1 without memory. */
int join_kernels_add(struct join *join, struct join_member *member,
                     const struct record *record);
/* A kernel of `per` messages, as a partial has it. */
int join_kernels_put(struct join *join, struct join_member *member, bool self,
                     uint64_t kernel, uint32_t us);
int join_kernels_merge(struct join *into, struct join_member *to,
                       const struct join_member *from);
void join_kernels_fini(struct join_kernels *kernels);

/* Are its messages those of AlltoAll: to and from each peer? *self: and to
 * itself. */
bool join_kernels_fit(const struct join *join, const struct join_member *member,
                      bool *self);
/* Then its kernels, each of `per` messages. NULL: there are none, or they are
 * off. */
const struct blockmap *join_kernels_of(const struct join *join,
                                       const struct join_member *member,
                                       unsigned *per);

/* --- join_kernels.c: how fast messages were, as counts of bandwidths in buckets
 * --
 *
 * Each power of two of a bandwidth, in whole 1e-6 GB/s, is cut into 16 equal
 * parts, so a bucket is 3 to 6 % wide. Counts are whole numbers that saturate:
 * sums of histograms do not depend on their order.
 */

#define JOIN_RATE_BUCKETS 976 /* of 64-bit numbers */

struct join_rate {
    uint32_t bucket, count;
};

/* Those that have a count, in order; zero is empty. */
struct join_rates {
    struct join_rate *at;
    uint32_t n;
};

/* Of a message of so many bytes in so many us; JOIN_RATE_BUCKETS: it has no
 * bandwidth, for one of these is 0. */
uint32_t join_rate_bucket(uint64_t bytes, uint64_t exec_us);

/* Adds count, not 0, to a bucket below JOIN_RATE_BUCKETS, within the join's
 * bound. 0, or -1 with nothing changed. */
int join_rates_add(struct join *join, struct join_rates *rates, uint32_t bucket,
                   uint32_t count);
/* The same with all of from; what was added before a failure stays. */
int join_rates_merge(struct join *join, struct join_rates *into,
                     const struct join_rates *from);
void join_rates_fini(struct join_rates *rates);

/* Quantile q of 0..1, GB/s, spread evenly within its bucket; NAN of none. */
double join_rates_quantile(const struct join_rates *rates, double q);

/* What JP_P2P_SLOWER of them do not reach. NAN where a few are far faster
 * still: then messages are unlike, and how fast one was says little on the
 * network. */
double join_rates_fast(const struct join_rates *rates);

/* --- join.c, join_parts.c, join_close.c: operations and ranks ----------------
 */

/* What one operation's records add up to. n = 0: nothing yet. */
struct join_row {
    uint64_t bytes;
    uint64_t exec_sum, exec_min, exec_max; /* over n_exec */
    uint64_t exec_second; /* second-shortest; JOIN_NO_TIME below two */
    uint64_t busbw_sum, busbw_min, busbw_max; /* micro GB/s, over n_busbw */
    uint64_t dump_min, dump_max;              /* 0: no timestamp */
    uint32_t n, n_busbw, n_exec;
    uint32_t min_rank; /* of exec_min; JOIN_NO_RANK on a tie, or without it */
};

/* When an operation's ranks began and ended, by their own clocks. */
struct join_stamp {
    uint64_t start_min, start_max; /* over n; 0: none */
    uint64_t end_max;
    uint32_t n;
};

struct join_block {
    uint64_t number; /* sequence number / JOIN_BLOCK */
    uint64_t timed;  /* rows that count for the ranks; set at the end */
    struct join_stamp *stamps; /* JOIN_BLOCK; NULL: no record has one */
    struct join_row *rows;     /* the first of JOIN_BLOCK; join_row_get */
    unsigned room;             /* of these */
};

struct join_series {
    uint32_t func;
    bool barrier; /* waits can be told from times */
    bool shares;  /* its sequence numbers with other series: a gap says nothing
                   */
    struct blockmap blocks;
};

/* A record of a second size. */
struct join_stray {
    uint32_t comm, func, rank;
    uint64_t sn, seq; /* seq: order of arrival */
    struct join_row row;
    struct join_stamp stamp;
};

struct join_lane_block {
    uint64_t number;
    uint64_t seen;
    uint32_t *wide; /* JOIN_BLOCK times; NULL: they are the narrow ones */
    uint32_t base;
    bool based;
    uint16_t narrow[]; /* JOIN_BLOCK times above base, where the lane keeps
                          times: one block's mostly differ by little */
};

struct join_lane {
    struct join_series *series; /* NULL: p2p, bits only */
    uint32_t func;
    bool journal;
    struct blockmap blocks;
    /* the last ones used */
    struct join_lane_block *lane_block;
    struct join_block *block;
};

struct join_member {
    uint32_t comm, rank;
    char *host; /* smallest (host, pid) that wrote it */
    int64_t pid;
    bool shared;     /* by two processes */
    bool read;       /* to the end of a file */
    bool many_files; /* its records come from more than one file */
    uint32_t file;
    uint32_t number; /* its place in the join */
    uint64_t turn;   /* of the join: when it was touched last */
    uint64_t records, p2p_records;
    uint64_t p2p_last;           /* largest p2p_sn, which counts both from 1 */
    uint32_t p2p_rows;           /* of the join's p2p: those that it recorded */
    struct join_rates rates;     /* of all its messages */
    struct join_kernels kernels; /* of those, where they may be an AlltoAll's */
    uint64_t exec_us;            /* result: over timed operations */
    uint64_t last_ops, caused_us, stalled_ops;
    float *slices; /* result: JP_SLICES parts of it, as many of what it came to
                      single operations later by; NULL: none yet */
    struct join_lane **lanes;
    uint32_t n_lanes;
};

/* What a closed communicator's operations add up to. */
struct join_sums {
    uint64_t ops, ops_complete, bytes, time_us; /* as in struct jp_comm */
    /* timed operations, equal for all its ranks, because each of them is in
     * every complete one */
    uint64_t timed_ops, shortest_us;
    uint64_t expected, unseen, overflow; /* records, by sequence numbers */
    bool ragged; /* some rank lacks a record that another one has */
};

struct join_comm {
    char id[RECORD_MAX_ID + 2];
    char *name;
    uint32_t n_ranks, nnodes; /* 0: not told, see join_guess_sizes */
    bool guessed;
    bool gaps_lost; /* of its records: see common/record.h */
    bool counted;   /* by a recorder: the sums below; maybe without members */
    struct jpr_counts counts;
    uint64_t records, p2p_records;
    struct join_series **series; /* empty once it is closed */
    uint32_t n_series;
    uint32_t *members; /* by number */
    uint32_t n_members;
    uint32_t read; /* members that are */
    bool strays;   /* it has some */
    bool closed;
    struct join_sums sums;
};

/* Whoever exchanges messages with more peers than these both ways has the rates
 * of all of them only, not of each: an AlltoAll is no matter of single links,
 * and their number grows with the square of the ranks. */
#define JOIN_P2P_ROWS 16

struct join_p2p {
    uint32_t comm, src, dst;
    bool recv;
    uint64_t count, bytes, exec_us, busbw_sum, n_busbw;
    struct join_rates rates; /* void where its member has over JOIN_P2P_ROWS */
};

/* Shared by all threads of a run. */
struct join_budget {
    _Atomic uint64_t used, journal_used, kernels_used;
    uint64_t limit, journal_limit;
    atomic_bool journal_off; /* too many: no waits of ranks */
    atomic_bool kernels_off; /* too many: no times of AlltoAll */
    bool keep;               /* no communicator is closed before the end */
    const struct clockmap *clocks; /* put all times on one; NULL: they stay */
};

/* The process that wrote the last records: found by comparing, not hashing. */
struct join_stream {
    struct join_member *member;
    char id[RECORD_MAX_ID];
    uint8_t id_len, name_len, host_len;
    uint32_t rank, n_ranks, nnodes;
    int64_t pid;
    char name[RECORD_MAX_NAME];
    char host[RECORD_MAX_HOST];
};

#define JOIN_STREAMS 16

/* Where records of one record.series go: found by its number. */
struct join_known {
    uint64_t series; /* 0: none */
    struct join_member *member;
    struct join_lane *lane;
};

struct join {
    struct join_budget *budget;
    char **funcs; /* names */
    uint32_t n_funcs;
    struct join_comm **comms;
    uint32_t n_comms;
    struct keymap comm_map; /* (id, shape) */
    struct join_member **members;
    uint32_t n_members;
    struct keymap member_map; /* (comm, rank) */
    struct join_stray *strays;
    size_t n_strays;
    struct join_p2p **p2p;
    uint32_t n_p2p;
    struct keymap p2p_map;
    uint64_t coll_records, p2p_records; /* joined */
    uint64_t duplicates, nan_busbw, left_out;
    uint64_t untimed;         /* joined records without a time */
    _Atomic uint64_t charged; /* of the budget, by this join */
    _Atomic uint64_t freed;   /* since pages were given back */
    struct jp_ops *ops; /* of closed communicators, by this join's numbers */
    uint64_t turn;      /* files begun */
    uint32_t *touched;  /* members that the file has records of */
    uint32_t n_touched, room_touched;
    uint32_t file; /* index of the file being read */
    bool over;     /* the last failure was the memory bound */
    bool conflict;
    bool late;    /* a communicator was closed too early */
    bool ordered; /* files come in order of path: conflicts are resolved */
    /* the clock of the host that wrote the last record */
    const struct clockmap_node *clock; /* NULL: its times stay */
    char clock_host[RECORD_MAX_HOST];
    size_t clock_len;
    struct join_stream streams[JOIN_STREAMS];
    unsigned n_streams, next_stream;
    struct join_known known[RECORD_MAX_SERIES]; /* in this file */
};

enum join_status { JOIN_OK, JOIN_LEFT_OUT, JOIN_NO_MEMORY };

/* Heap, because it is large. NULL without memory. */
struct join *join_create(struct join_budget *budget, bool ordered);
void join_destroy(struct join *join);
/* Takes NULL. */
void join_block_destroy(struct join_block *block);

/* The next records come from this file. */
void join_begin_file(struct join *join, uint32_t file);

/* Adds a record; texts are copied. JOIN_LEFT_OUT: the memory bound. Duplicates
 * and conflicts are counted and noted in join. */
enum join_status join_add(struct join *join, const struct record *record);

/* Adds a recorder's counters of a communicator; base as of its records, of
 * which there may be none here, or none at all: then it has no members. */
enum join_status join_add_counts(struct join *join, const struct record *base,
                                 const struct jpr_counts *counts);

/* Sorts strays by (comm, func, sn, size, rank, arrival) and drops those that a
 * rank has twice. */
void join_sort_strays(struct join *join);

/* Communicators whose size was not told (NCCL before 2.27) get as many ranks as
 * the largest number among them says, and a domain for each host. 0, or -1
 * without memory. */
int join_guess_sizes(struct join *join);

/* Gives back what the join, which is then good for join_destroy only, holds of
 * the budget. */
void join_give_back(struct join *join);

/* Folds from into into; from is then only good for join_destroy. */
/* Both have had join_sort_strays; into needs it again. */
enum join_status join_merge(struct join *into, struct join *from);

/* The file that join_begin_file began is read to its end; closes what is
 * complete by that, unless the budget keeps rows. 0, or -1 without memory. */
int join_end_file(struct join *join);

/* Closes what is open, on as many threads where it is much; sizes are guessed
 * and strays sorted by now. 0, or -1 without memory. */
int join_close_all(struct join *join, unsigned threads);

#endif
