/* hangs.h - which operations had not ended, and who kept whom waiting.
 *
 * From the recorder's files of a step: every rank's last snapshot of operations
 * in flight, and how far each rank has come in every communicator and function.
 * Collectives of equal (communicator, function, sequence number) are one
 * operation of all ranks; Send and Recv are numbered by each rank on its own
 * and are told one by one. Where at least half of a communicator's ranks have
 * begun the same number of them, the others only a few less, and as many are in
 * flight as there are ranks, they exchange (AlltoAll): then who has begun fewer
 * has not entered the last one.
 *
 * Files are written on their own, some 100 ms apart, so that they must not be
 * compared as if at one moment: a rank is said to have never entered an
 * operation only where its file tells of a time when it should have, its
 * counters at the latest (HANGS_SAME_HOST_NS, HANGS_OTHER_HOST_NS behind the
 * operation's start), or where the process ended in order.
 */
#ifndef JP_INGEST_HANGS_H
#define JP_INGEST_HANGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clockmap.h"
#include "common/error.h"
#include "plugins/nccl_recorder/recfile.h"
#include "plugins/nccl_recorder/jpr_read.h"

/* How far behind the start of an operation in one process the last counters of
 * another one must be for their silence to be evidence. On one host: three
 * flushes of the recorder, as one may be late on a busy host. Between hosts:
 * what their clocks are uncertain besides, at most what clocks without care are
 * apart. */
#define HANGS_SAME_HOST_NS INT64_C(300000000)
#define HANGS_OTHER_HOST_NS INT64_C(1000000000)

/* A process: one of the recorder's files. */
struct hangs_process {
    char host[RECORD_MAX_HOST + 1];
    int64_t pid, task; /* task: SLURM_PROCID, -1 not known */
    bool cut;          /* the file has no final block */
    bool busy;         /* it has an operation in flight, for sure */
    bool final;        /* it ended in order: nothing can follow */
    bool damaged;      /* blocks of the file cannot be read */
    /* wall clock since 1970, 0: not known: the last counters, and the last
     * that the file tells at all */
    int64_t counted_ns, last_ns;
    double unc_ns; /* how wrong these are against other hosts'; INFINITY: not
                      known */
};

/* An operation in flight in one process. */
struct hangs_op {
    uint32_t process;
    uint64_t hash; /* the communicator's full id */
    char id[RECORD_MAX_ID + 1];
    char name[RECORD_MAX_NAME + 1];
    char func[RECORD_MAX_FUNC + 1];
    enum jpr_op_kind kind;
    int64_t rank, n_ranks, peer;
    uint64_t seq, bytes;
    int64_t start_ns; /* wall clock since 1970; 0: not known */
    int64_t until_ns; /* when it was in flight still; 0: not known */
    bool cut_short;   /* finalize or exit ended it then, say by a watchdog */
    bool captured;    /* in a graph, and no kernel was seen: may never run */
    bool unsure;      /* nothing tells when it ends: it may have ended. Only
                         who has not entered it tells of a hang */
    bool many;        /* of Send and Recv: set here, see mark_many */
    bool passed;      /* the process has ended a later one of its function:
                         NCCL has not told this one's end */
    uint32_t channels, started, stopped;
    int64_t limit_ns; /* longer is suspect (stuck.h); 0: not known */
};

enum hangs_state {
    HANGS_NO_FILE, /* nothing is known of the rank */
    HANGS_UNSURE,  /* did not enter as far as its file goes, which is too early
                      to tell */
    HANGS_MISSING, /* has a file and nothing in flight, but never entered */
    HANGS_HELD,    /* never entered, but has something else in flight */
    HANGS_BEGUN,   /* has entered by its counters; no record tells more */
    HANGS_IN_FLIGHT,
    HANGS_DONE,
    HANGS_N_STATES
};

/* One operation of all its ranks; ops[first..first + n_ops) is where it is in
 * flight. */
struct hangs_group {
    size_t first, n_ops;
    int64_t start_ns;    /* the earliest; 0: not known */
    uint32_t starter;    /* its process */
    int64_t age_ns;      /* in flight so long at least; -1: not known */
    uint32_t n_ranks;    /* 0: not told, or Send and Recv (but for unsure ones
                            of exchanges): states is NULL */
    uint8_t *states;     /* n_ranks of enum hangs_state */
    uint32_t *processes; /* n_ranks; UINT32_MAX: none */
    uint32_t count[HANGS_N_STATES];
};

struct jp_hangs {
    struct hangs_process *processes;
    size_t n_processes;
    struct hangs_op *ops; /* each group's by rank */
    size_t n_ops;
    struct hangs_group *groups; /* those with ranks missing first, then those
                                   with ranks held up, then those where it
                                   cannot be told; each the oldest first */
    size_t n_groups;
    uint64_t left_out; /* in flight, over the bounds of memory */
};

/* How far each rank has come in each communicator and function. */

/* One rank in one series. Operations of the copy engines are numbered over all
 * functions of a communicator, Send and Recv by the recorder: func is "" for
 * them. kind JPR_N_OP_KINDS: only
 * that the rank has the communicator. */
struct progress_row {
    uint64_t hash; /* of the communicator */
    int64_t n_ranks, rank;
    unsigned kind;
    char func[RECORD_MAX_FUNC + 1];
    uint32_t process;
    /* one over the largest sequence number that ended, and that is known to
     * have begun; 0: none */
    uint64_t ended, begun;
};

struct progress {
    struct progress_row *rows;
    size_t n;
    /* one file's rows by their series: open addressing, 1 over the row, 0 free;
     * at most half is taken */
    uint32_t *slots;
    size_t n_slots, used;
};

/* ---- what one of the files tells
 *
 *     struct hangs_file reading = {0};
 *     while (... each record of a file, in order ...)
 *         hangs_file_add(&reading, file, &record);
 *     hangs_file_end(&reading, file, &evidence);
 *     ... the next file ...
 *     hangs_file_fini(&reading);
 *
 * Evidence is a few hundred bytes and 100 a series (communicator and function),
 * however long the file is; at most 2 x PENDING_MAX operations.
 */
struct hangs_evidence {
    struct hangs_process process;
    struct hangs_op *ops; /* in flight, then cut short; .process is 0 */
    size_t n_ops;
    struct progress progress; /* .process is 0 */
    uint64_t left_out;        /* in flight, over the bounds */
};

void hangs_evidence_fini(struct hangs_evidence *evidence);

#define PENDING_TEXTS 256 /* different names; more are told as "?" */

struct pending_op {
    struct jpr_op op; /* texts belong to the pending */
    bool ended;       /* false behind pending_settle */
    uint32_t next;    /* 1 over the next one of its bucket; 0: none */
    /* when it was in flight still, at the latest that the file tells */
    uint64_t until_mono_ns;
};

struct jp_pending {
    struct pending_op *ops;
    size_t n;
    uint64_t left_out;
    uint64_t at_mono_ns;          /* of the snapshot; 0: there was none */
    uint32_t left;                /* of the snapshot, still to come */
    struct pending_op *cut_short; /* by finalize or exit */
    size_t n_cut_short, n_dated;  /* dated: until is known */
    uint64_t told_mono_ns;        /* the last counters; 0: there were none */
    /* the snapshot's operations that have not ended, by what tells them apart;
     * 1 over the first; NULL until there are any */
    uint32_t *buckets;
    char *texts[PENDING_TEXTS];
    size_t n_texts;
};

/* A file being read; zero-initialised by its owner. */
struct hangs_file {
    struct progress progress;
    struct jp_pending pending;
};

/* 0, or -1 without memory. */
int hangs_file_add(struct hangs_file *reading, const struct jp_recfile *file,
                   const struct jpr_record *record);
/* At the end of the file. 0, then hangs_evidence_fini is due; -1: no memory.
 * reading is ready for another file. */
int hangs_file_end(struct hangs_file *reading, const struct jp_recfile *file,
                   struct hangs_evidence *evidence);
/* The same of a file that grows: reading goes on from here. */
int hangs_file_look(struct hangs_file *reading, const struct jp_recfile *file,
                    struct hangs_evidence *evidence);
void hangs_file_fini(struct hangs_file *reading);

/* Files' evidence, put together in order of their paths. */
struct hangs_sum {
    struct jp_hangs *hangs;        /* the caller's, zero-initialised */
    const struct clockmap *clocks; /* NULL: times stay as recorded */
    struct progress progress;
};

/* Each 0, or -1 without memory. */
int hangs_sum_add(struct hangs_sum *sum, const struct hangs_evidence *evidence);
/* Makes the groups. Whatever it returns, hangs_fini is due. */
int hangs_sum_finish(struct hangs_sum *sum);
void hangs_sum_fini(struct hangs_sum *sum);

/* ---- all files */

/* Takes what hangs_sum_finish has made. */
void hangs_fini(struct jp_hangs *hangs);

/* How long at least an operation was in flight; -1: not known. */
int64_t hangs_age_ns(const struct hangs_op *op);

/* Ranks of a state as "3, 5-7, ..." into buf. Returns buf. */
char *hangs_ranks(const struct hangs_group *group, enum hangs_state state,
                  char *buf, size_t size);

/* The answer in a sentence: who is missing where. Returns buf. */
char *hangs_answer(const struct jp_hangs *hangs, char *buf, size_t size);
/* The same of one group. */
char *hangs_answer_of(const struct jp_hangs *hangs,
                      const struct hangs_group *group, char *buf, size_t size);

/* How it calls the ranks of a state: "rank 3 (n2 pid 103)" or "ranks 3, 5-7".
 */
char *hangs_whom(const struct jp_hangs *hangs, const struct hangs_group *group,
                 enum hangs_state state, char *buf, size_t size);

/* "AllReduce 900 of dp (0x8a07aed05ae9a0)", "Send 3 of ... to rank 2";
 * " since 2026-11-21 21:42:03 UTC (at least 1.995 s)", "" where not known.
 * Both return buf. */
char *hangs_format_op(const struct hangs_op *op, char *buf, size_t size);
char *hangs_format_since(const struct hangs_group *group, char *buf,
                         size_t size);

int progress_op(struct progress *progress, const struct jpr_comm *comm,
                const struct jpr_op *op, bool ended);

int progress_add(struct progress *progress, const struct progress_row *row);
/* Another file's rows, which get the process. 0, or -1 without memory. */
int progress_append(struct progress *progress, const struct progress *file,
                    uint32_t process);

/* Sorts by (hash, n_ranks, kind, func, rank, process), for progress_find. */
void progress_sort(struct progress *progress);
/* The rows of a series; *n how many. func is ignored but for collectives. */
const struct progress_row *progress_find(const struct progress *progress,
                                         uint64_t hash, int64_t n_ranks,
                                         unsigned kind, const char *func,
                                         size_t *n);
void progress_fini(struct progress *progress);

/* The operations that a recorder's file says had not ended.
 *
 *     while (... each record of a file, in order ...)
 *         pending_add(&pending, &record);
 *     pending_settle(&pending);
 *     ... pending.ops[0..n) and pending.cut_short[0..n_cut_short) ...
 *
 * A snapshot replaces the one before it; an operation that ends behind the last
 * snapshot is no longer pending. One that finalize or exit ended (a watchdog's
 * abort of a hang) stays: it was in flight then. At most PENDING_MAX of either
 * are kept; the rest, and what the recorder had no room for, is counted.
 */

#define PENDING_MAX 16384

/* 0, or -1 without memory (what is kept so far stays good). */
int pending_add(struct jp_pending *pending, const struct jpr_record *record);
/* At the end of the file: only what has not ended stays. */
void pending_settle(struct jp_pending *pending);
/* Ready for another file; texts stay. */
void pending_clear(struct jp_pending *pending);
void pending_fini(struct jp_pending *pending);

#endif
