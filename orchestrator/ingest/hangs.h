/* hangs.h - find the operations that have not ended and the ranks that block
 * them.
 *
 * Input: the recorder's files of a step. They hold each rank's last snapshot of
 * operations in flight, and each rank's progress in every communicator and
 * function. Collectives with equal (communicator, function, sequence number)
 * are one operation of all ranks. Each rank numbers its own Send and Recv
 * calls, so these are listed one by one. Exchanges (AlltoAll) are recognised
 * among them: at least half of a communicator's ranks have begun the same
 * number of messages, the others only a few less, and a rank has at least as
 * many messages in flight as there are ranks. A rank that has begun fewer
 * messages has not entered the last exchange.
 *
 * Each process writes its file on its own, about every 100 ms, so the files do
 * not show one moment. A rank counts as "never entered" only on evidence: its
 * file must cover a time at which it should have entered. Its last counters
 * must be HANGS_SAME_HOST_NS or HANGS_OTHER_HOST_NS later than the operation's
 * start, or the process must have ended normally.
 */
#ifndef JP_INGEST_HANGS_H
#define JP_INGEST_HANGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clockmap.h"
#include "common/error.h"
#include "common/hash.h"
#include "plugins/nccl_recorder/recfile.h"
#include "plugins/nccl_recorder/jpr_read.h"

/* Minimum time from the start of an operation in one process to the last
 * counters of another process, for the missing entry to count as evidence. On
 * one host: three flush intervals of the recorder, because a flush may be late
 * on a busy host. Between hosts: the same plus the uncertainty of both clocks,
 * but no more than HANGS_OTHER_HOST_NS, which covers the usual offset of
 * unsynchronised clocks. */
#define HANGS_SAME_HOST_NS INT64_C(300000000)
#define HANGS_OTHER_HOST_NS INT64_C(1000000000)

/* A process, which is one file of the recorder. One with several GPUs counts as
 * a process for each of them. */
struct hangs_process {
    char host[RECORD_MAX_HOST + 1];
    int64_t pid;
    int64_t task; /* SLURM_PROCID, which children of a task inherit; -1:
                     unknown */
    struct launched launched; /* what its launcher told it */
    bool has_peers;  /* it has other GPUs, too: task and launched are of all */
    uint64_t device; /* the GPU, as in struct record; 0: all, or unknown */
    char gpu[32];    /* its PCI bus id; "": unknown, or its process has one */
    int64_t rank; /* in the job, by rankrule.h; -1: none. hangs_sum_finish sets
                     it */
    /* from the recording, to find the process while it runs; 0: unknown */
    uint64_t pid_namespace, start;
    bool cut;     /* the file has no final block */
    bool busy;    /* it certainly has an operation in flight */
    bool final;   /* it ended normally; nothing can follow */
    bool damaged; /* some blocks of the file are unreadable */
    /* wall clock in ns since 1970 of the last counters, and of the last record
     * of any kind; 0: unknown */
    int64_t counted_ns, last_ns;
    double unc_ns; /* uncertainty of both against other hosts; INFINITY:
                    * unknown */
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
    uint64_t device;  /* as in struct record */
    int64_t start_ns; /* wall clock, ns since 1970; 0: unknown */
    int64_t until_ns; /* last time it was seen in flight; 0: unknown */
    bool cut_short;   /* finalize or exit ended it then, e.g. after a watchdog's
                       * abort */
    bool captured;    /* captured in a graph without a kernel: it may never
                       * run */
    bool unsure;      /* its end is not recorded, so it may have ended; only a
                       * rank that has not entered it proves a hang */
    bool many;        /* Send and Recv of an exchange, see mark_many */
    bool passed;      /* a later one of its function has ended: NCCL did not
                       * report this one's end */
    uint32_t channels, started, stopped;
    int64_t limit_ns; /* longer than this is suspect (hung.h); 0: unknown */
};

enum hangs_state {
    HANGS_NO_FILE, /* no data of this rank */
    HANGS_UNSURE,  /* not entered, but its file ends too early to be sure */
    HANGS_MISSING, /* never entered, and has nothing in flight */
    HANGS_HELD,    /* never entered, but has another operation in flight */
    HANGS_BEGUN,   /* entered according to its counters; no record shows more */
    HANGS_IN_FLIGHT,
    HANGS_DONE,
    HANGS_N_STATES
};

/* One operation of all its ranks; ops[first..first + n_ops) are its entries in
 * the processes where it is in flight. */
struct hangs_group {
    size_t first, n_ops;
    int64_t start_ns;    /* earliest start; 0: unknown */
    uint32_t starter;    /* process with the earliest start */
    int64_t age_ns;      /* minimum time in flight; -1: unknown */
    uint32_t n_ranks;    /* 0: unknown, or Send and Recv (except unsure ones of
                          * exchanges); states is NULL */
    uint8_t *states;     /* n_ranks of enum hangs_state */
    uint32_t *processes; /* n_ranks entries; UINT32_MAX: none */
    uint32_t count[HANGS_N_STATES];
};

struct jp_hangs {
    struct hangs_process *processes;
    size_t n_processes;
    struct hangs_op *ops; /* grouped; by rank within a group */
    size_t n_ops;
    /* those with missing ranks first, then those with held ranks, then the
     * unclear ones; oldest first within each part */
    struct hangs_group *groups;
    size_t n_groups;
    uint64_t left_out; /* operations in flight beyond the memory limit */
};

/* Each rank's progress in each communicator and function. */

/* One rank in one series. Operations of the copy engines are numbered across
 * all functions of a communicator; the recorder numbers Send and Recv. func is
 * "" for both. kind JPR_N_OP_KINDS: the row only shows that the rank belongs to
 * the communicator. */
struct progress_row {
    uint64_t hash; /* of the communicator */
    int64_t n_ranks, rank;
    unsigned kind;
    char func[RECORD_MAX_FUNC + 1];
    uint32_t process;
    uint64_t device; /* as in struct record */
    /* 1 + the largest sequence number that has ended, and that is known to have
     * begun; 0: none */
    uint64_t ended, begun;
};

struct progress {
    struct progress_row *rows;
    size_t n;
    struct hash_table series; /* one file's rows by their series */
};

/* ---- the evidence of one file
 *
 *     struct hangs_file reading = {0};
 *     while (... each record of a file, in order ...)
 *         hangs_file_add(&reading, file, &record);
 *     hangs_file_end(&reading, file, &evidence);
 *     ... the next file ...
 *     hangs_file_fini(&reading);
 *
 * Evidence takes a few hundred bytes, 100 bytes per series (communicator and
 * function), and at most 2 x PENDING_MAX operations, however long the file is.
 */
struct hangs_evidence {
    struct hangs_process process;
    struct hangs_op *ops; /* in flight, then cut short; .process is 0 in each */
    size_t n_ops;
    struct progress progress; /* .process is 0 in each row */
    uint64_t left_out;        /* operations in flight beyond the limit */
};

void hangs_evidence_fini(struct hangs_evidence *evidence);

#define PENDING_TEXTS 256 /* different names; further ones become "?" */

struct pending_op {
    struct jpr_op op; /* its strings belong to the pending */
    bool ended;       /* always false after pending_settle */
    uint32_t next; /* 1 + index of one that looks like it and is in flight; 0:
                    * none */
    /* last time at which the file shows it in flight */
    uint64_t until_mono_ns;
};

struct jp_pending {
    struct pending_op *ops;
    size_t n;
    uint64_t left_out;
    uint64_t at_mono_ns;          /* time of the snapshot; 0: no snapshot */
    uint32_t left;                /* operations of the snapshot still to be
                                   * read */
    struct pending_op *cut_short; /* ended by finalize or exit */
    size_t n_cut_short, n_dated;  /* n_dated: those with a known until */
    uint64_t told_mono_ns;        /* time of the last counters; 0: none */
    struct hash_table in_flight;  /* those of ops that have not ended */
    char *texts[PENDING_TEXTS];
    size_t n_texts;
};

/* The state of a file being read; the owner zero-initialises it. */
struct hangs_file {
    struct progress progress;
    struct jp_pending pending;
};

/* Adds a record. Returns 0, or -1 without memory. */
int hangs_file_add(struct hangs_file *reading, const struct jp_recfile *file,
                   const struct jpr_record *record);
/* Call it at the end of the file. Returns 0, and the caller frees evidence with
 * hangs_evidence_fini; or -1 without memory. reading can then be used for the
 * next file. */
int hangs_file_end(struct hangs_file *reading, const struct jp_recfile *file,
                   struct hangs_evidence *evidence);
/* The same for a file that is still growing; reading can be continued. */
int hangs_file_look(struct hangs_file *reading, const struct jp_recfile *file,
                    struct hangs_evidence *evidence);
void hangs_file_fini(struct hangs_file *reading);

/* Combines the evidence of files, added in the order of their paths. */
struct hangs_sum {
    struct jp_hangs *hangs;        /* owned by the caller, who zero-initialises
                                    * it */
    const struct clockmap *clocks; /* NULL: times stay as recorded */
    struct progress progress;
};

/* Whether one process has ranks on several GPUs. Then it becomes several
 * processes of the sum, and cannot be kept in a partial. */
bool hangs_has_gpus(const struct hangs_evidence *evidence);
/* Both return 0, or -1 without memory. */
int hangs_sum_add(struct hangs_sum *sum, const struct hangs_evidence *evidence);
/* Makes the groups. The caller frees with hangs_fini, whatever is returned. */
int hangs_sum_finish(struct hangs_sum *sum);
void hangs_sum_fini(struct hangs_sum *sum);

/* ---- all files */

/* Frees the result of hangs_sum_finish. */
void hangs_fini(struct jp_hangs *hangs);

/* Minimum time that an operation was in flight; -1: unknown. */
int64_t hangs_age_ns(const struct hangs_op *op);

/* Formats the result as a sentence: which ranks are missing where. Returns
 * buf. */
char *hangs_answer(const struct jp_hangs *hangs, char *buf, size_t size);
/* The same for one group. */
char *hangs_answer_of(const struct jp_hangs *hangs,
                      const struct hangs_group *group, char *buf, size_t size);

/* Returns the rank in the job of a process, by rankrule.h. -1: none, or process
 * is out of range. */
int64_t hangs_job_rank(const struct jp_hangs *hangs, uint32_t process);

/* Formats a rank of a communicator by its number in the job, as far as that is
 * known:
 *     rank 5 (n2 pid 103)                              both numbers are equal
 *     rank 5 (n2 pid 103, rank 1 of the communicator)
 *     rank 1 (n2 pid 103)                              the job's is unknown
 * process: index; out of range: unknown, and the place is left out. rank: -1:
 * unknown. Returns buf. */
#define HANGS_NAME_LEN 160
char *hangs_name(const struct jp_hangs *hangs, uint32_t process, int64_t rank,
                 char buf[HANGS_NAME_LEN]);

/* Formats the ranks of a state: one as hangs_name does, several as "ranks 3,
 * 5-7" or "ranks 9, 11-13 (3, 5-7 of the communicator)". */
char *hangs_whom(const struct jp_hangs *hangs, const struct hangs_group *group,
                 enum hangs_state state, char *buf, size_t size);

/* Format an operation, "AllReduce 900 of dp (0x8a07aed05ae9a0)" or "Send 3 of
 * ... to rank 2", and its time, " since 2026-11-21 21:42:03 UTC (at least 1.995
 * s)"; "" if the time is unknown. Both return buf. */
char *hangs_format_op(const struct hangs_op *op, char *buf, size_t size);
char *hangs_format_since(const struct hangs_group *group, char *buf,
                         size_t size);

/* Formats the latest operation in flight of one process, from the recordings in
 * a folder. instance 0: unknown, so the process id alone identifies it. "":
 * none. */
void hangs_process_op(const char *folder, int64_t pid, uint64_t instance,
                      char *buf, size_t size);

int progress_op(struct progress *progress, const struct jpr_comm *comm,
                const struct jpr_op *op, bool ended);

int progress_add(struct progress *progress, const struct progress_row *row);

/* Sorts by (hash, n_ranks, kind, func, rank, process), for progress_find. */
void progress_sort(struct progress *progress);
/* The rows of a series; *n is their number. func matters only for
 * collectives. */
const struct progress_row *progress_find(const struct progress *progress,
                                         uint64_t hash, int64_t n_ranks,
                                         unsigned kind, const char *func,
                                         size_t *n);

/* The operations that had not ended, according to a recorder's file.
 *
 *     while (... each record of a file, in order ...)
 *         pending_add(&pending, &record);
 *     pending_settle(&pending);
 *     ... pending.ops[0..n) and pending.cut_short[0..n_cut_short) ...
 *
 * A snapshot replaces the one before it. An operation that ends after the last
 * snapshot is no longer pending. One that finalize or exit has ended (e.g. when
 * a watchdog aborts a hang) is kept, because it was in flight until then. At
 * most PENDING_MAX of each kind are kept. The others are counted, together with
 * those that the recorder had no room for.
 */

#define PENDING_MAX 16384

/* Returns 0, or -1 without memory; what is already kept stays valid. */
int pending_add(struct jp_pending *pending, const struct jpr_record *record);
/* Call it at the end of the file: removes the operations that have ended. */
void pending_settle(struct jp_pending *pending);
/* Resets it for the next file; strings are kept. */
void pending_clear(struct jp_pending *pending);
void pending_fini(struct jp_pending *pending);

#endif
