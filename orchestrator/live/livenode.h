/* livenode.h - follows a node's recordings while they grow, and its tasks.
 *
 * A look reads what was added to raw/<node>/ since the last one: each file from
 * the last position, complete blocks only (plugins/nccl_recorder/jpr_read.h,
 * jpr_follow). Most blocks of ended operations are skipped, because the
 * counters and the operations in flight show a rank's position and what took a
 * second or more. Now and then a block is read for the operations' mean size.
 * If counters mix functions (replays, copy engines), all blocks are read. A
 * file that was replaced is read from its beginning. If the profiler writes
 * logs of ended operations instead, those are followed (livelog.c). */
#ifndef JP_LIVE_LIVENODE_H
#define JP_LIVE_LIVENODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/ingest/hangs.h"
#include "orchestrator/ingest/hung.h"
#include "orchestrator/live/livesnap.h"
#include "orchestrator/live/livewant.h"
#include "orchestrator/metrics/metrics.h"
#include "plugins/backend.h"
#include "plugins/nccl_recorder/recfile.h"

/* --- livecells.c: bandwidth and time by function and size ---------------- */

/* As in NCCL Inspector's Prometheus files, from the operations that the live
 * module reads (a sample, see above). A cell is a communicator, a function, an
 * algorithm and a range of sizes (metrics_size_first). The means are
 * Inspector's: geometric for bandwidths, arithmetic for times
 * (plugins/profiler/inspector/inspector_prom.cc of NCCL 2.30). */
#define LIVECELLS_MAX 64 /* cells of a process */
/* A cell without new operations for this long is not shown. */
#define LIVECELLS_OLD_NS (60 * UINT64_C(1000000000))

struct livecell {
    /* the communicator's labels; communicators with equal labels are one */
    char comm[RECORD_MAX_NAME + 1], gpu[48];
    int64_t n_nodes, n_ranks;
    enum jpr_op_kind kind;
    char func[RECORD_MAX_FUNC + 1]; /* name as in the records */
    char algo[40];                  /* "RING_LL"; "" for Send and Recv */
    uint64_t size;                  /* first size of the range */
    uint64_t n, n_busbw;            /* operations since the last look */
    double us, log_busbw;           /* sums over these */
    double shown_us, shown_busbw;   /* from the last look that had operations */
    uint64_t shown_ns;              /* time of that look, monotonic; 0: never */
};

/* The cells of a process; zero-initialised by the owner. */
struct livecells {
    struct livecell *cells;
    size_t n;
};

void livecells_fini(struct livecells *cells);

/* Adds an operation. key names the cell; its size is set here. An operation
 * without a time (us 0) is ignored. */
void livecells_add(struct livecells *cells, struct livecell *key,
                   uint64_t bytes, uint64_t us);
/* The labels that the owner adds. */
struct livecells_labels {
    const char *job, *step, *node, *rank;
};

/* Adds the means since the last look to the set. Returns 0, or -1 without
 * memory. */
int livecells_put(struct livecells *cells, uint64_t mono_ns,
                  const struct livecells_labels *labels,
                  struct metrics_set *set);

struct livenode;

struct livenode_place {
    const char *raw;  /* raw/<node> in the step directory */
    const char *node; /* name of the node in Slurm */
    const char *root; /* replaces / as the root of paths */
    const struct hung_times *times;
    const struct module_shared *shared; /* GPUs' samples; NULL: none */
    bool cells;                         /* livenode_cells is wanted */
    /* profiler whose logs are followed; NULL: recordings are */
    const struct backend *reader;
    uint64_t batch_ms; /* interval at which such logs are written; 0: unknown */
};

/* Borrows strings and times. Returns NULL when out of memory. */
struct livenode *livenode_create(const struct livenode_place *place);
void livenode_destroy(struct livenode *node); /* accepts NULL */

struct livenode_time {
    uint64_t real_ns, mono_ns;
    /* The last look: it also checks tasks whose recordings showed that they
     * work. */
    bool last;
};

/* Number of recordings that are followed. */
size_t livenode_count(const struct livenode *node);

/* Reads new data. *class is set in any case: the worst class of the node's
 * processes. Returns -1 if a file cannot be read or is damaged; the other files
 * were read. */
int livenode_look(struct livenode *node, const struct livenode_time *now,
                  enum live_class *class, struct jp_error *err);

/* Sets the communicators that come first in snapshots, at most LIVE_WANTED_MAX.
 */
void livenode_want(struct livenode *node, const uint64_t *hashes, size_t n);

/* Fills in ranks, communicators, fronts, operations in flight, and the class.
 * The caller fills in the rest of the head. Returns 0, or -1 when out of
 * memory. */
int livenode_fill(struct livenode *node, const struct livenode_time *now,
                  struct live_snap *snap);

/* Puts the bandwidths by size of rank i of the last livenode_fill into the set;
 * labels and times as in livecells_put. Returns 0, or -1 when out of memory. */
int livenode_cells(struct livenode *node, uint32_t i, uint64_t mono_ns,
                   const struct livecells_labels *labels,
                   struct metrics_set *set);

struct livetask;

/* Finds the process with that pid in its recording: its pid on this node and
 * its start time. Returns false if it is gone or unknown. */
bool livenode_find(const struct livenode *node, int64_t pid,
                   struct livetask *out);

/* Recordings beyond LIVE_RANKS_MAX at the last search: their processes are not
 * watched. pids: of the first ones, by the files' names. */
#define LIVENODE_LEFT_MAX 16
struct livenode_left {
    uint64_t n;
    int64_t pids[LIVENODE_LEFT_MAX];
    size_t n_pids;
};
const struct livenode_left *livenode_left(const struct livenode *node);

/* Sends a signal to each task with a handler for it. Returns the number of
 * these tasks. */
unsigned livenode_signal(struct livenode *node, int signal);

/* --- livelog.c: logs of ended operations while they grow ----------------- */

/* If a profiler writes one line per ended operation
 * (jp_profiler.records_ended), its own reader (plugins/reader.h) reads what was
 * added to raw/<node>/ since the last look: each file from after the last
 * complete line; an incomplete one waits. A file that was replaced (it has
 * another inode) or truncated is read from its beginning. At most the last
 * LIVELOG_READ bytes of a file are read in a turn (below). What is skipped is
 * counted, and positions that are unknown since then are not reported. The
 * numbers in the lines show how many operations have ended, so that rates do
 * not need every line.
 *
 * A log does not show what is in flight, whether the process ended in order, or
 * why nothing is written. Only the age of its last growth and /proc are left.
 */

/* Limit for a file and turn; a longer line is skipped. */
#define LIVELOG_READ (256u << 10)

struct livelog;

/* Borrows strings and times. Returns NULL without memory. */
struct livelog *livelog_create(const struct livenode_place *place);
void livelog_destroy(struct livelog *log); /* takes NULL */

/* As the functions of the same name above. */
const struct livenode_left *livelog_left(const struct livelog *log);
int livelog_look(struct livelog *log, const struct livenode_time *now,
                 enum live_class *class, struct jp_error *err);
int livelog_fill(struct livelog *log, const struct livenode_time *now,
                 struct live_snap *snap);
int livelog_cells(struct livelog *log, uint32_t i, uint64_t mono_ns,
                  const struct livecells_labels *labels,
                  struct metrics_set *set);

/* For tests: bytes read and skipped, and bad lines. */
struct livelog_cost {
    uint64_t read, passed, bad;
};
struct livelog_cost livelog_cost(const struct livelog *log);

/* --- livetask.c --------------------------------------------------------- */

/* The state of a task from /proc: whether it exists, is stopped or held by a
 * debugger, and whether it computes, reads or writes.
 *
 * Only /proc/PID/stat, status and io are read. They take no lock that a process
 * in kernel state D may hold (as maps and cmdline do), so reading them never
 * blocks. */

struct livetask {
    int64_t pid;    /* as seen by this process */
    uint64_t start; /* ticks after boot; 0: not known yet */
    char state;     /* R S D T t Z X ... */
    bool traced;
    uint64_t cpu_ms;
    /* bytes read and written, by calls and by the disks; 0 if the kernel does
     * not report them */
    uint64_t io_bytes;
    uint64_t caught; /* bit i: signal i + 1 has a handler */
};

/* Returns 1 if the task exists; 0 if it is gone or a zombie; -1 if unknown, or
 * not this user's (common/ownproc.h). task->pid is input; a start that is
 * already set must match. root replaces /. */
int livetask_read(const char *root, struct livetask *task);

/* Sends the signal (1 to 64) if the task is still this one and has a handler
 * for it. Returns 0, or -1 if it was not sent. */
int livetask_signal(const char *root, struct livetask *task, int signal);

/* Adds the process of a file to those that are not watched. */
void livetask_leave(struct livenode_left *left, const char *name);

/* A process as its recording or log names it. */
struct livewatch_process {
    int64_t pid;            /* 0: not known yet */
    uint64_t pid_namespace; /* inode; 0: that of this process */
    uint64_t start;         /* 0: unknown */
};

/* A task over several looks; zero-initialised by its owner. */
struct livewatch {
    struct livetask task;
    struct livewatch_process is;
    bool known, gone;
    uint64_t read_ns; /* when /proc was read, monotonic; 0: due now */
    /* between two reads while it works, where that is longer than the usual
     * time: many processes are read less often */
    uint64_t pause_ns;
    unsigned disk_looks;
    /* when it last read or wrote much; bytes at the last look */
    uint64_t io_ns, io_bytes;
    uint64_t io_seen_ns;
    uint64_t share_ns, share_cpu_ms; /* where the span of `share` began */
    double share;                    /* share of a processor in the last span */
};

/* Sets the task to watch. */
void livewatch_name(struct livewatch *watch,
                    const struct livewatch_process *is);

/* Reads /proc if that is due. It is rarely due while the task's files show that
 * it works; they last did so at moved_ns. Times are monotonic. */
void livewatch_look(struct livewatch *watch, const char *root,
                    uint64_t moved_ns, uint64_t now_ns);

/* The state that the kernel alone shows: gone, held by a debugger, stopped, or
 * in state D for several looks; otherwise HUNG_UNKNOWN. */
enum hung_state livewatch_held(const struct livewatch *watch);

/* --- liverate.c --------------------------------------------------------- */

/* How fast a process communicates: its operations, their time and size over the
 * last LIVE_RECENT_MS, and how long its operations usually take.
 *
 * The number of ended operations is known from the recording's counters. Time
 * and size are means of a few operations that are read every
 * LIVERATE_SAMPLE_MS, at the same seconds of the day on all nodes, so that
 * ranks are compared by the same operations. Each turn reduces the weight of
 * earlier values, so that a change shows within half a minute, in bounded
 * memory. */

#define LIVERATE_SAMPLE_MS 5000
/* operations of a file at a turn, plus the rest of their block */
#define LIVERATE_OPS 64
#define LIVERATE_SERIES_MAX 256

struct liverate_series {
    uint32_t comm;
    enum jpr_op_kind kind;
    char func[RECORD_MAX_FUNC + 1]; /* name as in the file */
    bool told;                      /* it has a counter */
    bool rated; /* its counter was seen at two turns, so its rate is known */
    /* ended operations by the counters of the last turn */
    uint64_t ended;
    double recent;                /* operations that ended recently */
    double n, n_timed, us, bytes; /* sums over operations read recently */
};

/* The rates of a process; zero-initialised by the owner. */
struct liverate {
    struct liverate_series *series;
    size_t n;
    uint64_t turn_ns; /* time of the last turn, monotonic; 0: none yet */
    double seconds;   /* seconds that `recent` covers */
};

void liverate_fini(struct liverate *rate);

/* What a file knows besides the operations that are read: how many operations
 * of a series have ended so far, and which communicator a series belongs to. */
struct liverate_source {
    const void *of;
    bool (*ended)(const void *of, const struct liverate_series *series,
                  uint64_t *out);
    bool (*is_comm)(const void *of, uint32_t comm, uint64_t hash,
                    int64_t n_ranks, int64_t rank);
};

/* Returns the number of the turn at that time of day. A turn is due when the
 * number changes. */
uint64_t liverate_turn(uint64_t real_ns);

/* Adds an operation that was read. us 0: its time is unknown. */
void liverate_add(struct liverate *rate, const struct liverate_series *key,
                  uint64_t bytes, uint64_t us);

/* Ends a turn: takes the numbers of ended operations, and lets older values
 * fade. */
void liverate_pass(struct liverate *rate, const struct liverate_source *source,
                   uint64_t mono_ns);

/* Fill in the figures of a rank, and of a front. The front's name is set
 * already; its communicator is one of comms. */
void liverate_rank(const struct liverate *rate, uint64_t mono_ns,
                   struct live_rank *rank);
void liverate_front(const struct liverate *rate,
                    const struct liverate_source *source, uint64_t mono_ns,
                    const struct live_comm *comms, struct live_front *front);

/* --- how long operations usually take ------------------------------------ */

/* Learnt from operations that are in flight for a second or more. Shorter ones
 * are only counted, so ended operations need not be read. */

/* Limits: operations of a process that are in flight for long at the same time,
 * and pairs (communicator, function) with known lengths. */
enum { LIVEUSUAL_LONGS_MAX = 64, LIVEUSUAL_SERIES_MAX = 256 };

struct liveusual_series {
    uint32_t comm;
    enum jpr_op_kind kind;
    char func[RECORD_MAX_FUNC + 1];
    struct hung_usual lengths;
};

/* An operation that was in flight for a second or more at the last look. */
struct liveusual_long {
    uint32_t comm;
    enum jpr_op_kind kind;
    char func[RECORD_MAX_FUNC + 1];
    uint64_t seq, start_ns, age_ns;
    bool seen; /* also in flight at this look */
};

/* The lengths of a process's operations; zero-initialised by the owner. */
struct liveusual {
    struct liveusual_series *series;
    size_t n;
    struct liveusual_long longs[LIVEUSUAL_LONGS_MAX];
    size_t n_longs;
};

void liveusual_fini(struct liveusual *usual);

/* Notes what is in flight for a second or more, and learns from the operations
 * that have ended since the last look. An end is noticed at most one look late.
 */
void liveusual_look(struct liveusual *usual, const struct hung_times *times,
                    const struct jp_recfile *file,
                    const struct jp_pending *pending, uint64_t mono_ns);

/* Returns the usual length of such operations; NULL if none has ended. */
const struct hung_usual *liveusual_find(const struct liveusual *usual,
                                        const struct jp_recfile *file,
                                        const struct hangs_op *op);

#endif
