/* join.h - the records of many ranks become operations, in dense arrays.
 *
 * One struct join belongs to one thread; join_merge folds them into one.
 *
 * Communicator: (id, n_ranks, nnodes). NVIDIA cuts ids to 16 characters, so
 *   equal ids of different shape are different communicators. The name is not
 *   part of the key, because ranks may give different ones; the first in
 *   alphabetical order is shown.
 * Series: (communicator, function). Its rows lie in blocks of 64 sequence
 *   numbers, which are found by number, so gaps of any width cost nothing. A
 *   row is one operation. A sequence number with a second size is another
 *   operation: it goes to the list of strays, which is sorted at the end.
 * Member: (communicator, rank), written by one process.
 * Lane: (member, function). One bit for each sequence number shows a record
 *   that comes twice. Lanes of barrier-like functions also keep the times (the
 *   journal, 2 bytes a record), because only the end shows which operations are
 *   complete.
 *
 * Where a rank has two records of one operation, the first one (in order of
 * path and line) counts. Two threads cannot decide that order. So the join is
 * in conflict if two files repeat a record (a log and its copy, or two
 * processes that wrote as one rank), if two threads see a second size, or if
 * the memory bound is reached. Then the caller joins once more, with one thread
 * and in order of path. The result therefore does not depend on threads or on
 * the order of files, whatever the input. Only how much fits within the bound
 * may depend on them, as communicators are closed early (join_end_file). */
#ifndef JP_AGGREGATE_JOIN_H
#define JP_AGGREGATE_JOIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/record.h"
#include "orchestrator/aggregate/aggregate.h"
#include "common/hash.h"
#include "common/keymap.h"
#include "orchestrator/aggregate/ops.h"
#include "plugins/nccl_recorder/jpr.h"

/* --- blockmap.c --------------------------------------------------------- */

/* Blocks found by their number.
 *
 * A block is any struct with `uint64_t number` as its first member; the map
 * holds pointers and owns nothing. Slots are eight bytes. If at least a quarter
 * of the numbers in a window is there, as it is mostly for sequence numbers,
 * the map has a slot for each number of the window; otherwise it is a list in
 * the order of addition, with a hash table.
 */

struct blockmap {
    uint64_t **slots; /* NULL: free */
    unsigned bits;    /* 1 << bits slots, 0: none */
    bool listed;
    uint64_t first; /* number of the window's first slot */
    size_t n;
    struct hash_table places; /* of a list */
};

/* The block; NULL: there is none. */
void *blockmap_find(const struct blockmap *map, uint64_t number);
/* Adds a block with a new number. 0, or -1 without memory. */
int blockmap_add(struct blockmap *map, void *block);
/* Moves the blocks to the front of slots, sorted by number; only iteration over
 * slots[0..n), or over all, and fini are allowed afterwards. Borrowed. */
void **blockmap_sort(struct blockmap *map);
/* The blocks sorted by number, as an array of n, which the caller frees. NULL:
 * no memory. */
void **blockmap_copy(const struct blockmap *map);
/* Frees the slots, not the blocks. */
void blockmap_fini(struct blockmap *map);

/* for (i = 0; i < blockmap_slots(map); i++) if (map->slots[i]) ... */
static inline size_t blockmap_slots(const struct blockmap *map)
{
    return map->bits ? (size_t) 1 << map->bits : 0;
}

#define JOIN_BLOCK 64
#define JOIN_SEVERAL UINT32_MAX /* phase: its ranks gave different ones */
#define JOIN_MAX_FUNCS 256      /* distinct names of functions */
#define JOIN_NO_RANK UINT32_MAX
#define JOIN_LONG_US (UINT32_MAX - 1) /* this time, and all longer ones */
#define JOIN_NO_TIME UINT64_MAX

/* --- join_messages.c: a rank's time in each AlltoAll of Send and Recv ---
 *
 * NCCL runs the Send and Recv of an AlltoAll as one kernel, which ends with its
 * longest message. So the longest message is the rank's time in the AlltoAll,
 * whatever the sizes. A rank's messages are numbered. An AlltoAll has `per` of
 * them, one to and one from each peer, so kernel k has messages k * per to
 * (k + 1) * per - 1. Only the end shows whether ranks also send to themselves,
 * so both ways of counting are kept. A kernel counts if none of its messages is
 * missing. The result does not depend on the order of the records.
 */

/* The two or three ranks of a short pipeline also exchange messages with all
 * others, but not with themselves. So with fewer than ALONE ranks, only ranks
 * that send to themselves are in an AlltoAll. With more than MAX ranks a kernel
 * has so many messages that some are always missing. */
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

/* blocks[0]: counted with messages to itself; blocks[1]: without them. */
struct join_kernels {
    struct blockmap blocks[2];
};

/* Adds a whole kernel, from a partial. */
int join_kernels_put(struct join *join, struct join_member *member, bool self,
                     uint64_t kernel, uint32_t us);

/* Whether the member's messages form AlltoAlls: one to and one from each peer.
 * *self: also one to itself. */
bool join_kernels_fit(const struct join *join, const struct join_member *member,
                      bool *self);
/* The kernels of a member that fits; *per: messages of each. NULL: there are
 * none, or they are switched off. */
const struct blockmap *join_kernels_of(const struct join *join,
                                       const struct join_member *member,
                                       unsigned *per);

/* --- join_messages.c: a histogram of the messages' bandwidths ---
 *
 * Each power of two of a bandwidth (in 1e-6 GB/s) is cut into 16 equal buckets,
 * so a bucket is 3 to 6 % wide. Counts are integers that saturate, so the sum
 * of histograms does not depend on their order.
 */

#define JOIN_RATE_BUCKETS 976 /* of 64-bit numbers */

struct join_rate {
    uint32_t bucket, count;
};

/* The buckets with a count, in order; zeros: empty. */
struct join_rates {
    struct join_rate *at; /* allocated; the owner frees it */
    uint32_t n;
};

/* Adds count (not 0) to a bucket below JOIN_RATE_BUCKETS. -1: the memory limit
 * is reached, and nothing has changed. */
int join_rates_add(struct join *join, struct join_rates *rates, uint32_t bucket,
                   uint32_t count);
/* Adds all of from. After -1 a part of it may have been added. */
int join_rates_merge(struct join *join, struct join_rates *into,
                     const struct join_rates *from);

/* Quantile q (0 to 1), in GB/s, interpolated within its bucket. NAN: empty. */
double join_rates_quantile(const struct join_rates *rates, double q);

/* Quantile JP_P2P_SLOWER. NAN where a few messages are faster by far: such
 * messages differ too much to show how fast the network is. */
double join_rates_fast(const struct join_rates *rates);

/* --- join_messages.c: how long a rank's messages took, over the run ---
 *
 * A rank's messages are numbered from 1. Part k has those of which the number
 * less 1, shifted right, is k. Where a number is beyond the last part, the
 * shift grows and two parts become one. The shift follows from the largest
 * number, so the result does not depend on the order of the records.
 */
#define JOIN_MESSAGE_PARTS 256
#define JOIN_MESSAGE_SHIFT 56 /* of 64-bit numbers, at most */

struct join_messages {
    uint32_t *us; /* room of them; 71 minutes and longer count as that */
    uint32_t room;
    unsigned shift;
};

/* Adds a part, of messages that were shifted by so many bits. */
int join_messages_put(struct join *join, struct join_messages *messages,
                      unsigned shift, uint32_t part, uint32_t us);
/* Parts up to the last one that took any time. */
uint32_t join_messages_parts(const struct join_messages *messages);

/* --- join_messages.c: the three together ---------------------------------- */

struct join_p2p;

/* What is kept of the member's messages, made if there are none yet. NULL: the
 * memory limit is reached, or no memory. */
struct join_traffic *join_traffic_get(struct join *join,
                                      struct join_member *member);
/* The same; zeros if there are none. */
const struct join_traffic *join_traffic_of(const struct join_member *member);

/* Adds a message of the member and of its pair of ranks. At the memory limit
 * for kernels these are switched off (budget->kernels_off). -1: the memory
 * limit is reached, or no memory; a part of it may have been added. */
int join_messages_add(struct join *join, struct join_member *member,
                      struct join_p2p *p2p, const struct record *record);
/* Adds what another join's member has. As above. */
int join_messages_merge(struct join *into, struct join_member *to,
                        const struct join_member *from);
void join_messages_fini(struct join_member *member);

/* --- join.c, join_parts.c, join_close.c: operations and ranks ------------- */

/* The sums over one operation's records. n = 0: it has no record yet. */
struct join_row {
    uint64_t bytes;
    uint64_t exec_sum, exec_min, exec_max; /* of n_exec records, us */
    uint64_t exec_second; /* second-shortest; JOIN_NO_TIME: fewer than two */
    uint64_t busbw_sum, busbw_min, busbw_max; /* of n_busbw, 1e-6 GB/s */
    uint64_t dump_min, dump_max;              /* 0: no time stamp */
    uint32_t n, n_busbw, n_exec;
    uint32_t min_rank; /* the rank with exec_min; JOIN_NO_RANK: several ranks
                          have it, or none */
};

/* When the ranks of an operation began and ended it, by their own clocks, and
 * in which phase of the program. */
struct join_stamp {
    uint64_t start_min, start_max; /* of n ranks; 0: none */
    uint64_t end_max;
    uint32_t n;
    uint32_t phase; /* join_phase_get; 0: no rank gave one; JOIN_SEVERAL */
};

struct join_block {
    uint64_t number;           /* sequence number / JOIN_BLOCK */
    uint64_t timed;            /* a bit for each row that is a timed operation
                                  (aggregate.h); set at the end */
    struct join_stamp *stamps; /* JOIN_BLOCK; NULL: no record has one */
    struct join_row *rows;     /* the first `room` of JOIN_BLOCK rows; read by
                                  join_row_get */
    unsigned room;
};

struct join_series {
    uint32_t func;
    bool barrier; /* barrier-like: times show the waits */
    bool shares;  /* shares sequence numbers with other series, so a gap means
                     nothing */
    struct blockmap blocks;
};

/* A record with another size than the row of its sequence number. */
struct join_stray {
    uint32_t comm, func, rank;
    uint64_t sn, seq; /* seq: order of arrival */
    struct join_row row;
    struct join_stamp stamp;
};

struct join_lane_block {
    uint64_t number;
    uint64_t seen;  /* a bit for each sequence number with a record */
    uint32_t *wide; /* JOIN_BLOCK times; NULL: narrow has them */
    uint32_t base;
    bool based;
    uint16_t narrow[]; /* JOIN_BLOCK times less base, if the lane keeps times:
                          those of one block mostly differ by little */
};

struct join_lane {
    struct join_series *series; /* NULL: Send or Recv, which has bits only */
    uint32_t func;
    bool journal;
    struct blockmap blocks;
    /* the blocks that were used last */
    struct join_lane_block *lane_block;
    struct join_block *block;
};

/* What is kept of a member's Send and Recv. Most members have none. */
struct join_traffic {
    struct join_rates rates;     /* of all its messages */
    struct join_kernels kernels; /* of its messages, if they may be AlltoAlls */
    struct join_messages messages; /* their times, over the run */
};

struct join_member {
    uint32_t comm, rank;
    char *host; /* of the processes that wrote it, the smallest (host, pid) */
    int64_t pid;
    uint64_t instance, device; /* as in struct record */
    bool shared;               /* two processes wrote it */
    bool read;                 /* its file was read to the end */
    bool many_files;           /* its records come from more than one file */
    uint32_t file;
    uint32_t number; /* its place in join.members */
    uint64_t turn;   /* join.turn when it had a record last */
    uint64_t records, p2p_records;
    /* Of its collectives, those whose time is by a CPU's clock: of the kernel's
     * events, of the call. */
    uint64_t kernel_cpu, call_cpu;
    uint64_t p2p_last;            /* largest p2p_sn, which counts both from 1 */
    uint32_t p2p_rows;            /* its rows in join.p2p */
    struct join_traffic *traffic; /* NULL: it has no messages. Owned */
    /* Results: as in struct jp_rank. slices holds slice_us, then stalled_us,
     * JP_SLICES each; NULL: none yet. */
    uint64_t exec_us;
    uint64_t last_ops, caused_us, stalled_ops;
    float *slices;
    struct join_lane **lanes;
    uint32_t n_lanes;
};

/* The sums over a closed communicator's operations. */
struct join_sums {
    /* as in struct jp_comm */
    uint64_t ops, ops_complete, bytes, sizeless, time_us;
    /* Timed operations. All its ranks have the same number, because a complete
     * operation has all of them. */
    uint64_t timed_ops, shortest_us;
    uint64_t expected, unseen, overflow; /* records, by sequence numbers */
    uint64_t before; /* of unseen: numbers before the first of a function */
    bool ragged;     /* a rank has no record that another rank has */
};

/* The records of one function in a communicator with one algorithm and
 * protocol, numbers of words (common/record.h), and their sizes. */
struct join_path {
    uint32_t func;
    uint8_t algo, proto;
    uint64_t records, bytes_min, bytes_max;
};

/* The most of a communicator; records with further ones are in none. */
#define JOIN_PATHS 64

struct join_comm {
    char id[RECORD_MAX_ID + 2];
    char *name;
    uint32_t n_ranks, nnodes; /* 0: not recorded; guessed at the end */
    bool guessed;
    bool gaps_lost; /* as in its records (common/record.h) */
    bool counted;   /* counts holds a recorder's counters; there may be no
                       members */
    struct jpr_counts counts;
    uint64_t records, p2p_records;
    struct join_path *paths;     /* in the order in which they came */
    uint32_t n_paths, last_path; /* last_path: that of the last record */
    struct join_series **series; /* empty after the communicator is closed */
    uint32_t n_series;
    uint32_t *members; /* numbers in join.members */
    uint32_t n_members;
    uint32_t read; /* members with a file that was read to its end */
    bool strays;   /* some strays belong to it */
    bool closed;
    struct join_sums sums;
};

/* A rank that exchanges messages with more peers than these, counting both
 * directions, has rates over all of them and none for each peer. Such traffic
 * is an AlltoAll, which single links do not decide, and the number of pairs
 * grows with the square of the ranks. */
#define JOIN_P2P_ROWS 16

struct join_p2p {
    uint32_t comm, src, dst;
    bool recv;
    uint64_t count, bytes, exec_us, busbw_sum, n_busbw;
    struct join_rates rates; /* empty if its member has more than JOIN_P2P_ROWS
                                rows */
};

/* Memory limits, in bytes; shared by all threads of a run. */
struct join_budget {
    _Atomic uint64_t used, journal_used, kernels_used;
    uint64_t limit, journal_limit;
    uint64_t timeline_events;      /* of the timeline of each file, at most */
    atomic_bool journal_off;       /* limit reached: the ranks have no waits */
    atomic_bool kernels_off;       /* limit reached: AlltoAlls have no times */
    bool keep;                     /* close no communicator before the end */
    const struct clockmap *clocks; /* maps all times to one clock; NULL: times
                                      are left as they are */
    /* The phases of all records, in order of appearance; NULL: none yet. The
     * owner of the budget frees them (join_phases_fini). */
    _Atomic(char *) phases[JP_PHASES];
};

/* The process that wrote the last records. Comparing is faster than hashing. */
struct join_stream {
    struct join_member *member;
    char id[RECORD_MAX_ID];
    uint8_t id_len, name_len, host_len;
    uint32_t rank, n_ranks, nnodes;
    int64_t pid;
    uint64_t instance;
    char name[RECORD_MAX_NAME];
    char host[RECORD_MAX_HOST];
};

#define JOIN_STREAMS 16

/* The lane of the records with one record.series number. */
struct join_known {
    uint64_t series; /* 0: unused */
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
    uint64_t coll_records, p2p_records; /* that were joined */
    uint64_t duplicates, nan_busbw, left_out;
    uint64_t untimed;         /* joined records without a time */
    _Atomic uint64_t charged; /* bytes of the budget that this join holds */
    _Atomic uint64_t freed;   /* bytes freed since pages went back to the
                                 system */
    struct jp_ops *ops; /* of closed communicators, with this join's numbers */
    uint64_t turn;      /* number of files begun */
    uint32_t *touched;  /* members with records in the current file */
    uint32_t n_touched;
    size_t room_touched;
    uint32_t file;  /* index of the current file */
    uint32_t phase; /* of the last record that has one; 0: none */
    bool over;      /* the last failure was the memory limit */
    bool conflict;  /* see the top of this file */
    bool late;      /* a record came for a communicator that was closed */
    bool ordered;   /* files come in order of path, so there are no conflicts */
    /* The clock of the host that wrote the last record. NULL: its times are
     * left as they are. */
    const struct clockmap_node *clock;
    char clock_host[RECORD_MAX_HOST];
    size_t clock_len;
    struct join_stream streams[JOIN_STREAMS];
    unsigned n_streams, next_stream;
    struct join_known known[RECORD_MAX_SERIES]; /* of the current file */
};

enum join_status { JOIN_OK, JOIN_LEFT_OUT, JOIN_NO_MEMORY };

/* On the heap, because it is large. NULL: no memory. */
struct join *join_create(struct join_budget *budget, bool ordered);
void join_destroy(struct join *join);
/* Takes NULL. */
void join_block_destroy(struct join_block *block);

/* Begins a file: the next records come from it. */
void join_begin_file(struct join *join, uint32_t file);

/* Adds a record and copies its texts. JOIN_LEFT_OUT: the memory limit is
 * reached. Duplicates are counted in join, and a conflict is noted there. */
enum join_status join_add(struct join *join, const struct record *record);

/* Adds a recorder's counters of a communicator. base names the communicator as
 * its records do. It need not have records; without any it has no members. */
enum join_status join_add_counts(struct join *join, const struct record *base,
                                 const struct jpr_counts *counts);

/* Returns the number of a phase, from 1 on. Names after the first JP_PHASES - 1
 * are one phase, "others". 0: no memory. Threads may call it at once. */
uint32_t join_phase_get(struct join_budget *budget, const char *name,
                        size_t len);
void join_phases_fini(struct join_budget *budget);

/* Adds records of one path to a communicator's. 0, or -1: no memory. */
int join_path_add(struct join_comm *comm, const struct join_path *path);

/* Sorts the strays by (comm, func, sn, size, rank, arrival) and drops a rank's
 * second record of one operation. */
void join_sort_strays(struct join *join);

/* Adds from to into. Only join_destroy may follow for from. Before it,
 * join_sort_strays was called for both; into needs it once more afterwards. */
enum join_status join_merge(struct join *into, struct join *from);

/* Ends the current file and closes the communicators that are complete now,
 * unless budget.keep is set. 0, or -1: no memory. */
int join_end_file(struct join *join);

/* Guesses the sizes that NCCL before 2.27 does not record, and closes all open
 * communicators, with several threads if there is much to do. The strays have
 * to be sorted. 0, or -1: no memory. */
int join_close_all(struct join *join, unsigned threads);

#endif
