/* rec_comm.h - communicators with their counters, in a table of fixed size.
 *
 * A context that NCCL holds is a place in the table and its generation, as a
 * handle is. A place is used again once its communicator is gone, everything of
 * it is written and its last counters are in the file.
 */
#ifndef JP_REC_COMM_H
#define JP_REC_COMM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugins/nccl_recorder/jpr.h"
#include "plugins/nccl_recorder/nccl_profiler.h"
#include "plugins/nccl_recorder/rec_compat.h"

/* --- rec_trust.c -------------------------------------------------------- */

/* Whether NCCL's kernel events can be believed.
 *
 * A KernelCh event is not sent by the GPU. The device counts the works of a
 * channel and leaves time stamps in a ring of 64; the host counts the works it
 * enqueued, and its progress thread reports an operation when the ring's entry
 * of that number says so (src/transport/profiler.cc). Where the two counts
 * differ, an operation gets the stamps of another one, and is reported as ended
 * before its kernel has run. They differ for good, in NCCL 2.26 to 2.30.7,
 *  - after a Send to oneself (in every AlltoAll): the device counts that copy,
 *    the host does not (enqueue.cc, selfSend; device/common.h, workCounter);
 *  - after Broadcasts of several roots in one group, which 2.29 and 2.30 make
 *    one AllGatherV (scheduler/allgatherv_sched.cc), and after the capture of a
 *    Broadcast, which they count once. A later operation may then wait for
 *    stamps that never come, and ncclCommDestroy() with it: no more kernel
 * events are requested in the process from then on;
 *  - once a CUDA graph is replayed after an eager call on the communicator: the
 *    host counts a replay only where the last launch was a capture (proxy.cc,
 *    SaveProxyProfiler; include/group.h resets planner.persistent).
 * After that the communicator's kernel events are not used any more. Two checks
 * find what these rules do not know:
 *  - stamps of one launch that begin before another launch's on the same
 *    channel have ended, or before the kernel was launched by the GPU's clock:
 *    of an earlier operation. Eight such operations among 10,000, and the
 *    communicator is not believed any more;
 *  - where 60 operations or more were enqueued after one that is reported only
 *    now, the ring may have been overrun: its stamps can be a later one's. Then
 *    such stamps, and those that run backwards, only cost the operations their
 *    time.
 *
 * Kernel events stay as they are when the program captures a CUDA graph, though
 * they put a host function into every captured launch: the mask cannot be
 * changed before the first captured call is under way, and a graph of which one
 * operation is watched and others are not never gets its stamps (driven:
 * ncclCommDestroy() of 2.28.9, 2.29.7 and 2.30.7 does not return).
 *
 * State of a communicator is written by the one thread that calls NCCL for it
 * or by its progress thread; two that do so at once cost a wrong guess, no
 * more.
 */

/* The last stamps of a channel, by the GPU's clock; 0: none yet. */
struct jp_rec_channel {
    _Atomic uint64_t start_ns, stop_ns;
    _Atomic uint32_t launch; /* whose start it is */
};

/* The part of a communicator; all zeros to begin with. */
struct jp_rec_trust {
    _Atomic uint32_t reasons;     /* enum jpr_doubt; 0: believed */
    _Atomic uint32_t n_stale;     /* since that operation */
    _Atomic uint64_t stale_since; /* its number */
    _Atomic uint64_t n_unsure, n_refused;
    _Atomic uint32_t launch;     /* plans that NCCL has launched: the number of
                                    the one that operations now belong to */
    _Atomic uint32_t first_of;   /* the launch that launch_ns is of */
    _Atomic uint64_t n_ops;      /* operations that started */
    _Atomic uint64_t late_until; /* the ring may be overrun up to this one */
    _Atomic uint64_t launch_ns;  /* its first operation, CLOCK_MONOTONIC */
    _Atomic uint64_t before_ns;  /* ... and of the launch before */
    atomic_bool replays_count;   /* NCCL's planner.persistent */
    uint64_t broadcast_group;    /* of calls: the last Broadcast's */
    int broadcast_root;
    _Atomic uint64_t overrun_from_ns,
        overrun_to_ns;              /* starts between: refused */
    struct jp_rec_gpu_clock *clock; /* borrowed; NULL: not checked */
    struct jp_rec_channel channels[JP_NCCL_MAX_CHANNELS];
};

/* In a process's first init, also after a fork: what is asked for, and where
 * NCCL keeps its mask (NULL: it cannot be changed). `interface` is 1 to 6. */
void rec_trust_init(bool asks, int interface, int *mask);

/* The mask was written: another thread's call may have stopped the asking
 * meanwhile. */
void rec_trust_mask(void);

/* Whether kernel events are requested now. */
bool rec_trust_enabled(void);

/* Whether the kernel events of an operation that starts now will be used; if
 * not, the operation is counted as unsure. `replayed`: it was captured in a
 * CUDA graph. */
bool rec_trust_usable(struct jp_rec_trust *trust, bool replayed);

/* A communicator of the GPU with that PCI bus id ("": not known). */
void rec_trust_comm(struct jp_rec_trust *trust, const char *gpu_pci);

/* What an operation's place is known by. */
struct jp_rec_place {
    uint32_t launch;
    uint64_t number;   /* among the communicator's operations, from 1 */
    uint64_t after_ns; /* its kernel was not launched before; 0: not known */
};

/* An operation of the last launch starts at now_ns. `self_copy`: it is a Send
 * or Recv to oneself, after which later operations' stamps come too early. */
void rec_trust_op(struct jp_rec_trust *trust, uint64_t now_ns, bool self_copy,
                  struct jp_rec_place *place);

/* The program called NCCL. `captured`: into a CUDA graph; `broadcast_root`: of
 * a Broadcast, -1 for any other function. */
struct jp_rec_thread;
void rec_trust_call(struct jp_rec_trust *trust,
                    const struct jp_rec_thread *thread, bool captured,
                    int broadcast_root);

enum jp_rec_stamp {
    JP_REC_FRESH,
    JP_REC_DOUBTFUL, /* may be a later operation's */
    JP_REC_STALE,    /* an earlier operation's: nothing is known of this one */
};

/* The start that NCCL reports for a channel, at `now_ns` by the host's clock
 * (0: not looked at). */
enum jp_rec_stamp rec_trust_start(struct jp_rec_trust *trust, unsigned channel,
                                  const struct jp_rec_place *place,
                                  uint64_t gpu_ns, uint64_t now_ns);

/* The stop of a channel of the operation with that number, begun at start_ns;
 * false: the two are of different operations. */
bool rec_trust_stop(struct jp_rec_trust *trust, unsigned channel,
                    uint64_t number, uint64_t start_ns, uint64_t gpu_ns);

/* Whether a span by the GPU's clock is longer than one that contains it by the
 * host's; false where the two clocks are not known to run alike. */
bool rec_trust_is_too_long(const struct jp_rec_trust *trust, uint64_t gpu_ns,
                           uint64_t host_ns);

enum { JP_REC_MAX_COMMS = 512 };

/* What init() tells (v4 to v6). `known` is false for v1 to v3, where name,
 * hash and rank come with the first operation and the sizes never. */
struct jp_rec_comm_facts {
    bool known;
    const char *name; /* NULL: none was set */
    uint64_t hash;
    int rank;
    int n_ranks; /* 0: unknown */
    int n_nodes; /* NCCL's count: NVLink domains, not hosts; 0: unknown */
};

struct jp_rec_count {
    _Atomic uint64_t produced;
    _Atomic uint64_t lost;
    /* the writer's */
    uint64_t written;
    uint64_t left_out;
};

/* NCCL's words as small numbers: functions, datatypes, the rest.
 *
 * NCCL hands over strings whose life is its own. The hot path keeps numbers;
 * the writer turns them into text again. A word that is not known yet gets the
 * next number while there are any, without a lock; after that it is the last
 * number's "other". Names are never taken back. Number 0 is "".
 */

/* Numbers are below these. */
enum { JP_REC_FUNCS = 24, JP_REC_WORDS = 64 };

struct jp_rec_comm {
    _Atomic uint32_t generation; /* odd: live or not yet written out */
    atomic_bool finalized;
    atomic_bool closed; /* takes no operation any more */
    atomic_bool known;
    _Atomic uint64_t p2p_seq;
    struct jp_rec_count counts[JPR_N_OP_KINDS][JP_REC_FUNCS];
    /* API calls less those that an operation came of */
    _Atomic int64_t unseen[JP_REC_FUNCS];
    /* collectives: one over the last number of NCCL's, and how many replays
     * have had a number of ours (JPR_REPLAY_SEQ) */
    _Atomic uint64_t next_seq[JP_REC_FUNCS];
    _Atomic uint64_t replays[JP_REC_FUNCS];
    struct jp_rec_trust trust;
    /* the writer's */
    uint64_t reached_ns; /* latest start of an operation that a channel of
                            has stopped: all enqueued before are over */
    uint64_t looked_unseen[JP_REC_FUNCS];
    uint64_t told_unseen[JP_REC_FUNCS];
    bool told;    /* its block is in the file, or on its way */
    bool in_file; /* it is there */
    uint64_t told_sums[JP_REC_FUNCS]; /* of all counts, as the file has them */
    uint64_t told_doubts;             /* likewise, of struct jpr_doubts */
    /* set before anybody else can see it, or under the lock by identify;
     * about.index counts all communicators of the process */
    struct jpr_comm about; /* texts point into the members below */
    char name[256];
    char gpu_pci[32];
    char gpu_uuid[64];
};

/* Takes zeroed memory into use for both tables, of threads and communicators.
 * Returns how many bytes of it, or 0 when threads cannot be distinguished here
 * (no thread-specific key). `epoch` counts the forks that the process comes
 * from: its contexts differ from its parent's. */
size_t rec_comm_init(char *memory, unsigned epoch);

/* A new communicator; its context. When the table is full, which is counted,
 * one whose operations are counted as foreign; NULL when all are closed. */
void *rec_comm_create(const struct jp_rec_comm_facts *facts);

/* Tells name, hash and rank of a communicator made with known = false; only
 * the first call counts. */
void rec_comm_identify(struct jp_rec_comm *comm, uint64_t hash,
                       const char *name, int rank);

/* The communicator behind a context, or NULL. */
struct jp_rec_comm *rec_comm_get(void *context);

/* An operation comes whose context rec_comm_get does not know; NULL. */
void *rec_comm_foreign(void *context);

unsigned rec_comm_place(const struct jp_rec_comm *comm);
struct jp_rec_comm *rec_comm_at(unsigned place);

/* How many places were ever used; those of even generation are free. */
unsigned rec_comm_places(void);
static inline bool rec_comm_used(const struct jp_rec_comm *comm)
{
    return atomic_load_explicit(&comm->generation, memory_order_acquire) & 1;
}

/* No operation of it is taken from now on, or of any, nor is a communicator
 * made (NULL). */
void rec_comm_close(struct jp_rec_comm *comm);

/* Marks it finalized; true for the first call. */
bool rec_comm_finalize(struct jp_rec_comm *comm);

/* Frees the place; for the writer, when nothing of it is left. */
void rec_comm_release(struct jp_rec_comm *comm);

/* How many communicators are not finalized yet. */
int rec_comm_live(void);

/* In a forked child: no context or thread of the parent is ours, nor is its
 * cost. */
void rec_comm_after_fork(void);

/* The number that "Broadcast" always has. */
enum { JP_REC_FUNC_BROADCAST = 6 };

/* What a thread asked last: NCCL's strings are mostly the same few addresses.
 * All zeros to begin with. */
struct jp_rec_name_cache {
    struct {
        const char *text; /* as NCCL gave it; the bytes are compared again */
        unsigned number;
    } entries[16];
};

/* Number of a function's name ("AllReduce") or of any other word (datatype,
 * algorithm, protocol); NULL is "". Longer than 31 bytes is cut. A cache
 * serves one of the two. */
unsigned rec_names_func(struct jp_rec_name_cache *cache, const char *name);
unsigned rec_names_word(struct jp_rec_name_cache *cache, const char *word);

/* The text; one address for each number, for ever. */
const char *rec_names_func_text(unsigned number);
const char *rec_names_word_text(unsigned number);

/* Bytes of one element of a datatype by its word's number; 0 where it is not
 * known. "Unknown" is one byte: so NCCL calls uint8 (2.24 to 2.30). */
uint64_t rec_names_datatype_bytes(unsigned word);

/* What each thread that NCCL calls us from has for itself.
 *
 * Free places for operations, a chunk of finished records, names it saw. A
 * thread claims an entry of a fixed table with its first event and gives it
 * back when it ends; what the entry holds serves the next thread.
 */

/* --- indices of equal pieces of memory, taken and given without
 * locks.
 *
 * Indices travel in short chains, linked through next[], so that a thread
 * touches the shared head once in CHAIN times. A head carries a tag that
 * changes with every exchange: an index that comes back meanwhile is noticed.
 */

#define JP_REC_NONE UINT32_MAX

/* Indices that a thread takes at once, of pools that many threads use. */
enum { JP_REC_CHAIN = 16 };

struct jp_rec_pool {
    _Alignas(64) _Atomic uint64_t head;  /* tag 32, index + 1 32 */
    _Alignas(64) _Atomic uint32_t fresh; /* never handed out from here on */
    uint32_t n;
    uint32_t chain;          /* indices a chain has, at most */
    uint32_t *next;          /* within a chain; its last is JP_REC_NONE */
    _Atomic uint32_t *below; /* chain under a chain, index + 1 */
};

/* Bytes of memory a pool of n indices needs for its links. */
size_t rec_pool_bytes(uint32_t n);

/* `links` is borrowed, zeroed memory of that size. */
void rec_pool_init(struct jp_rec_pool *pool, uint32_t n, uint32_t chain,
                   void *links);

/* A chain's first index, JP_REC_NONE when all are out. */
uint32_t rec_pool_take(struct jp_rec_pool *pool);
void rec_pool_give(struct jp_rec_pool *pool, uint32_t first);

/* No index from here on was ever handed out. */
uint32_t rec_pool_used(struct jp_rec_pool *pool);

/* A thread's own part of a pool. */
struct jp_rec_purse {
    uint32_t first; /* JP_REC_NONE: empty */
    uint32_t n;
};

uint32_t rec_purse_take(struct jp_rec_purse *purse, struct jp_rec_pool *pool);
void rec_purse_give(struct jp_rec_purse *purse, struct jp_rec_pool *pool,
                    uint32_t index);

enum { JP_REC_MAX_THREADS = 512 };

struct jp_rec_thread {
    _Alignas(64) atomic_bool taken;
    _Atomic uint32_t chunk; /* being filled; JP_REC_NONE */
    struct jp_rec_purse ops;
    struct jp_rec_purse steps;
    struct jp_rec_name_cache funcs;
    struct jp_rec_name_cache words;
    uint32_t group;  /* number of the program's current group of calls */
    int group_depth; /* how deep ncclGroupStart() calls are nested there */
    /* cost of our own; the thread writes, the writer reads */
    _Atomic uint64_t events, timed, timed_ns;
};

/* The calling thread's; NULL when the table is full. */
struct jp_rec_thread *rec_thread_get(void);

/* The table, for the writer; entries may be free. */
struct jp_rec_thread *rec_thread_table(void);

/* --- what the recorder itself takes of the program's time.
 *
 * NCCL's callbacks are counted, and each JP_REC_COST_EVERY-th of a thread is
 * timed: two more readings of the clock for one of so many. A longer time than
 * JP_REC_COST_MOST_NS counts as that: the thread lost the processor meanwhile,
 * which would be multiplied by what the sample stands for. init and finalize,
 * which may wait for the writer, are timed each.
 */

enum { JP_REC_COST_EVERY = 64, JP_REC_COST_MOST_NS = 50000 };

struct jp_rec_timer {
    struct jp_rec_thread *thread; /* NULL: it is not timed */
    uint64_t since_ns;
};

/* The thread's own counters: no lock prefix. */
static inline uint64_t rec_cost_add(_Atomic uint64_t *counter, uint64_t n)
{
    n += atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, n, memory_order_relaxed);
    return n;
}

/* A callback begins. */
static inline struct jp_rec_timer rec_cost_begin(void)
{
    struct jp_rec_thread *thread = rec_thread_get();
    struct jp_rec_timer timer = {0};

    if (thread && rec_cost_add(&thread->events, 1) % JP_REC_COST_EVERY == 0) {
        timer.thread = thread;
        timer.since_ns = rec_clock_ns();
    }
    return timer;
}

/* It ends. */
void rec_cost_take(struct jp_rec_thread *thread, uint64_t since_ns);
static inline void rec_cost_end(const struct jp_rec_timer *timer)
{
    if (timer->thread)
        rec_cost_take(timer->thread, timer->since_ns);
}

/* An init or a finalize that began then ends. */
void rec_cost_life(uint64_t since_ns);

/* Fills in what holds for the whole process so far: communicators without a
 * place, their operations, and the cost over all threads. The caller is the
 * writer, for it adds its own CPU time. */
void rec_comm_totals(struct jpr_counters *counters);

#endif
