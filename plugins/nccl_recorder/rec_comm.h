/* rec_comm.h - the tables of fixed size that all of the recorder shares:
 * communicators with their counters, threads, NCCL's words, pools of indices.
 *
 * The context that NCCL holds for a communicator is a place in the table and
 * the place's generation, like the handle of an operation. A place is used
 * again once its communicator is finalized, everything of it is written and its
 * last counters are in the file.
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
 * The GPU does not send KernelCh events. The device counts the works of a
 * channel and leaves time stamps in a ring of 64. The host counts the works it
 * enqueued, and its progress thread reports an operation when the ring's entry
 * of that number is filled (src/transport/profiler.cc). Where the two counts
 * differ, an operation gets the stamps of another one and is reported as ended
 * before its kernel has run. In NCCL 2.26 to 2.30.7 they differ for good
 *  - after a Send to oneself (in every AlltoAll): the device counts that copy,
 *    the host does not (enqueue.cc, selfSend; device/common.h, workCounter);
 *  - after Broadcasts of several roots in one group, which 2.29 and 2.30 make
 *    one AllGatherV (scheduler/allgatherv_sched.cc), and after the capture of a
 *    Broadcast, which they count once. A later operation may then wait for
 *    stamps that never come, and so may ncclCommDestroy(). The process requests
 *    no more kernel events from then on;
 *  - once a CUDA graph is replayed after an eager call on the communicator: the
 *    host counts a replay only where the last launch was a capture (proxy.cc,
 *    SaveProxyProfiler; include/group.h resets planner.persistent).
 * After that the communicator's kernel events are not used any more. Two checks
 * find cases that these rules do not cover:
 *  - Stamps belong to an earlier operation if they begin before those of
 *    another launch on the same connection have ended, or before the kernel was
 *    launched, by the GPU's clock. After eight such operations among 10,000 the
 *    communicator's kernel events are not used any more.
 *  - If 60 operations or more were enqueued after the one that is reported, the
 *    ring may have been overrun, and the stamps may be those of a later one.
 *    That shows when the progress thread has caught up: a stamp runs backwards.
 *    All operations with times since the reports were late lose their times,
 *    and nothing else. Where none ran backwards until it caught up, all of them
 *    are right: a stamp's owner is the operation itself or one that is 64, 128,
 *    ... works later, and an operation with fewer than 60 after it has its own
 *    (rec_trust_is_proven). So has one whose stamp is earlier than the launch
 *    of the operation that is 64 later, by the GPU's clock: then only the
 *    reports are late, and not the calls early. The operation is written at
 *    once, and its times when they are proven (rec_writer.c): a thread that
 *    lags may catch up much later. What nothing proves has no time.
 *
 * Kernel events stay on while the program captures a CUDA graph, although they
 * put a host function into every captured launch. The mask cannot be changed
 * before the first captured call is under way, and a graph with only some of
 * its operations watched never gets its stamps (tried: ncclCommDestroy() of
 * 2.28.9, 2.29.7 and 2.30.7 does not return).
 *
 * The thread that calls NCCL for a communicator, NCCL's progress thread and the
 * driver's thread for host functions, which starts the operations of replays
 * and of calls beside them (enqueue.cc, hostStreamPlanCallback), write its
 * state. Two writes at once cause a wrong guess, nothing worse. Counters lose
 * nothing, as each is added to in one step.
 */

/* The connections over which NCCL's progress thread watches the kernels of a
 * channel (proxy.cc, SaveProxyProfiler): one has all Recvs, the other one the
 * rest. Each reports its operations one after the other, but a progress thread
 * that lags reports stops of one before earlier starts of the other. */
enum jp_rec_link { JP_REC_LINK_SEND, JP_REC_LINK_RECV, JP_REC_N_LINKS };

/* The last stamps of a connection, by the GPU's clock; 0: none yet. */
struct jp_rec_channel {
    _Atomic uint64_t start_ns, stop_ns;
    /* the earliest start, and the lowest number of an operation, since nothing
     * proves whose the stamps are; 0: they are proven */
    _Atomic uint64_t late_ns, unproven;
    _Atomic uint32_t launch; /* the launch that start_ns is of */
    _Atomic uint32_t number; /* of the last operation, modulo 2^32 */
};

/* A span that stamps ran back over: from the first late one, or from the one
 * that was early, to the one before it. */
struct jp_rec_overrun {
    _Atomic uint64_t from_ns, to_ns;
};

enum { JP_REC_OVERRUNS = 64, JP_REC_AFTERS = 256 };

/* A number that two threads add to: by the communicator's owner without a lock
 * prefix, and by all others. The number is the sum, modulo 2^64. */
struct jp_rec_sum {
    _Atomic uint64_t by_owner, by_others;
};

static inline uint64_t rec_comm_sum(const struct jp_rec_sum *sum)
{
    return atomic_load_explicit(&sum->by_owner, memory_order_acquire) +
           atomic_load_explicit(&sum->by_others, memory_order_acquire);
}

/* What a communicator has of this; all zeros to begin with. */
struct jp_rec_trust {
    _Atomic uint32_t reasons;     /* enum jpr_doubt; 0: events are used */
    _Atomic uint32_t n_stale;     /* stale stamps since operation ... */
    _Atomic uint64_t stale_since; /* ... of this number */
    struct jp_rec_sum n_unsure;
    _Atomic uint64_t n_refused;
    struct jp_rec_sum launch;    /* plans that NCCL has launched: the number of
                                    the one that operations now belong to */
    _Atomic uint32_t first_of;   /* the launch that launch_ns is of */
    _Atomic uint64_t n_ops;      /* operations that started */
    _Atomic uint64_t late_until; /* the ring may be overrun up to this one */
    /* One more than the last launch with a stamp in doubt; 0: none yet. The
     * operations of a launch share their times: if only a part of them had any,
     * the launch would seem to have moved fewer bytes. */
    _Atomic uint64_t doubtful_launch;
    /* its first operation's start, CLOCK_MONOTONIC */
    _Atomic uint64_t launch_ns;
    _Atomic uint64_t before_ns; /* the same of the launch before */
    /* before_ns of the last operations, by their numbers */
    _Atomic uint64_t afters[JP_REC_AFTERS];
    atomic_bool has_events;    /* NCCL has reported a kernel */
    atomic_bool replays_count; /* NCCL's planner.persistent: the last call was
                                  captured, so replays are counted */
    /* the group of calls that had the last Broadcast */
    uint64_t broadcast_group;
    int broadcast_root;
    /* the last spans by the GPU's clock in which times are refused */
    struct jp_rec_overrun overruns[JP_REC_OVERRUNS];
    _Atomic uint32_t n_overruns; /* so far; the entry is this modulo the size */
    _Atomic uint32_t n_proofs;   /* how often stamps of a connection were proven
                                    or refused */
    /* of its GPU, borrowed; NULL: unknown, not checked */
    struct jp_rec_gpu_clock *clock;
    struct jp_rec_channel channels[JP_NCCL_MAX_CHANNELS][JP_REC_N_LINKS];
};

/* In a process's first init, also after a fork: whether kernel events are
 * requested, and where NCCL keeps its mask (NULL: it cannot be changed).
 * `interface` is 1 to 7. */
void rec_trust_init(bool asks, int interface, int *mask);

/* To be called after the mask was written: meanwhile a call of another thread
 * may have ended the requests. */
void rec_trust_mask(void);

/* Requests the phases of kernels, from the first symmetric kernel on: they are
 * nine more events a channel, and mean nothing for other kernels. */
void rec_trust_ask_phases(void);

/* Returns NCCL's mask as it is now; -1: not known. */
int rec_trust_seen(void);

/* Looks whether somebody else has taken the kernel events out of NCCL's mask:
 * then the process requests none any more. Returns whether operations may be
 * live that wait for kernel events in vain. For the writer only. */
bool rec_trust_look(int mask);

/* Whether kernel events are requested now. */
bool rec_trust_enabled(void);

/* Whether the kernel events of an operation that starts now will be used; if
 * not, the caller counts it (n_unsure). `replayed`: it was captured in a CUDA
 * graph. */
bool rec_trust_usable(struct jp_rec_trust *trust, bool replayed);

/* A communicator begins on the GPU with that PCI bus id ("": not known). */
void rec_trust_comm(struct jp_rec_trust *trust, const char *gpu_pci);

/* Where an operation stands among those of its communicator. */
struct jp_rec_place {
    enum jp_rec_link link; /* set by the caller: what NCCL watches it by */
    uint32_t launch;
    uint64_t number; /* among the communicator's operations, from 1 */
    /* its kernel was launched later than this; 0: not known */
    uint64_t after_ns;
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
    /* so many operations followed that only later stamps can tell whose it is:
     * rec_trust_is_proven() */
    JP_REC_LATE,
    JP_REC_DOUBTFUL, /* may be a later operation's: the time is not used */
    /* an earlier operation's: the end of this one cannot be known */
    JP_REC_STALE,
};

/* Takes the start that NCCL reports for a channel, at `now_ns` by the host's
 * clock (0: not looked at). */
enum jp_rec_stamp rec_trust_start(struct jp_rec_trust *trust, unsigned channel,
                                  const struct jp_rec_place *place,
                                  uint64_t gpu_ns, uint64_t now_ns);

/* Takes the stop of a channel of the operation at that place, which began at
 * start_ns. Returns JP_REC_FRESH, JP_REC_LATE, or, if the two stamps are of
 * different operations, JP_REC_DOUBTFUL. */
enum jp_rec_stamp rec_trust_stop(struct jp_rec_trust *trust, unsigned channel,
                                 const struct jp_rec_place *place,
                                 uint64_t start_ns, uint64_t gpu_ns);

/* Returns whether stamps ran back over a part of the span between two late
 * stamps of an operation, or may have, as such spans are too many to be kept:
 * they may be a later operation's. */
bool rec_trust_is_overrun(const struct jp_rec_trust *trust, uint64_t first_ns,
                          uint64_t last_ns);

/* Returns whether the reports after an operation's late stamps on these
 * channels (bit i: channel i) show whose they are. Its times are right then,
 * unless rec_trust_is_overrun(). */
bool rec_trust_is_proven(const struct jp_rec_trust *trust,
                         enum jp_rec_link link, uint64_t number,
                         uint64_t channels);

/* NCCL launches an operation that is not recorded. */
void rec_trust_skip(struct jp_rec_trust *trust);

/* Returns whether a span by the GPU's clock is longer than one by the host's
 * that contains it; false where the clocks are not known to run alike. */
bool rec_trust_is_too_long(const struct jp_rec_trust *trust, uint64_t gpu_ns,
                           uint64_t host_ns);

/* --- rec_pause.c -------------------------------------------------------- */

/* Operations that begin now are dropped, and counted by rec_pause_drop(). */
extern atomic_bool rec_paused;

/* In a process's first init, also after a fork. */
void rec_pause_reset(void);

/* An operation is dropped in a pause. Where NCCL's mask was changed, the
 * numbers of later collectives show how many are missing. */
void rec_pause_drop(bool numbered);

/* n numbers of collectives are missing before the one that begins. */
void rec_pause_gap(uint64_t n);

/* Looks whether a pause begins or ends. `mask` is NCCL's. For the writer only.
 */
void rec_pause_look(const char *dir, int mask, uint64_t now_ns);

/* Returns the number of pauses so far, and the list, which is borrowed. */
unsigned rec_pause_list(const struct jpr_pause **list);

/* Communicators at a time. The table is address space first: the kernel gives
 * its pages as places are used, the lowest ones first. The memory that was set
 * for the recorder includes JP_REC_PLANNED_COMMS of them. */
enum { JP_REC_MAX_COMMS = 4096, JP_REC_PLANNED_COMMS = 256 };

/* What init() passes (v4 to v7). `known` is false for v1 to v3, where name,
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
    struct jp_rec_sum produced;
    _Atomic uint64_t lost;
    /* the writer's */
    uint64_t written;
    uint64_t left_out;
};

/* NCCL's words as small numbers: functions, datatypes, the rest.
 *
 * NCCL passes strings and decides how long they live. The hot path keeps
 * numbers, and the writer turns them into text again. An unknown word gets the
 * next free number, without a lock; when none is left, it gets the last number,
 * "other". Names are never taken back. Number 0 is "".
 */

/* All numbers are below these. */
enum { JP_REC_FUNCS = 24, JP_REC_WORDS = 64 };

struct jp_rec_comm {
    _Atomic uint32_t generation; /* odd: live or not yet written out */
    atomic_bool finalized;
    atomic_bool closed; /* takes no operations any more */
    atomic_bool known;
    /* The thread of its first operation: no other one writes by_owner. NULL:
     * none yet. */
    struct jp_rec_thread *_Atomic owner;
    _Atomic uint64_t p2p_seq;
    struct jp_rec_count counts[JPR_N_OP_KINDS][JP_REC_FUNCS];
    /* API calls, less those that had their operation reported */
    struct jp_rec_sum unseen[JP_REC_FUNCS];
    /* collectives: one more than NCCL's last number, and how many replays got a
     * number of the recorder (JPR_REPLAY_SEQ) */
    _Atomic uint64_t next_seq[JP_REC_FUNCS];
    _Atomic uint64_t replays[JP_REC_FUNCS];
    struct jp_rec_trust trust;
    /* the writer's */
    /* latest start of an ended operation of which a channel has stopped, of
     * each connection: all that were enqueued before are over */
    uint64_t reached_ns[JP_REC_N_LINKS];
    uint64_t looked_unseen[JP_REC_FUNCS]; /* at the last look */
    uint64_t told_unseen[JP_REC_FUNCS];   /* as the file has them */
    bool told;    /* its block is in the file or in the buffer */
    bool in_file; /* its block is in the file */
    uint64_t told_sums[JP_REC_FUNCS]; /* sums of all counts in the file, to find
                                         changes */
    uint64_t told_doubts;             /* the same of struct jpr_doubts */
    uint32_t looked_proofs;           /* trust.n_proofs at the last look */
    bool has_proof;                   /* it was another one before */
    uint32_t n_waiting;               /* operations whose times wait */
    /* written before other threads can see it, or by identify under the lock;
     * about.index counts all communicators of the process */
    struct jpr_comm about; /* texts point into the members below */
    char name[256];
    char gpu_pci[32];
    char gpu_uuid[64];
};

/* Adds to one of its numbers, for the calling thread (NULL: it has no entry).
 */
static inline void rec_comm_add(struct jp_rec_comm *comm,
                                struct jp_rec_thread *thread,
                                struct jp_rec_sum *sum, uint64_t n)
{
    struct jp_rec_thread *owner =
        atomic_load_explicit(&comm->owner, memory_order_relaxed);

    if (!owner && thread &&
        atomic_compare_exchange_strong(&comm->owner, &owner, thread))
        owner = thread;
    if (thread && owner == thread)
        atomic_store_explicit(
            &sum->by_owner,
            n + atomic_load_explicit(&sum->by_owner, memory_order_relaxed),
            memory_order_release);
    else
        atomic_fetch_add_explicit(&sum->by_others, n, memory_order_release);
}

/* Takes zeroed memory into use for both tables, of threads and communicators.
 * Returns how many bytes of it, or 0 when threads cannot be distinguished here
 * (no thread-specific key). `epoch` counts the forks that the process comes
 * from: its contexts differ from its parent's. */
size_t rec_comm_init(char *memory, unsigned epoch);

/* Makes a communicator and returns its context. When the table is full, which
 * is counted, this is the context of all communicators without a place. Returns
 * NULL when all are closed. */
void *rec_comm_create(const struct jp_rec_comm_facts *facts);

/* Sets name, hash and rank of a communicator made with known = false; only the
 * first call counts. */
void rec_comm_identify(struct jp_rec_comm *comm, uint64_t hash,
                       const char *name, int rank);

/* Returns the communicator of a context, or NULL. */
struct jp_rec_comm *rec_comm_get(void *context);

/* Counts an operation if its context is that of communicators without a place.
 * Returns NULL, its handle. */
void *rec_comm_foreign(void *context);

unsigned rec_comm_place(const struct jp_rec_comm *comm);
struct jp_rec_comm *rec_comm_at(unsigned place);

/* Returns how many places were ever used; those of even generation are free. */
unsigned rec_comm_places(void);
static inline bool rec_comm_used(const struct jp_rec_comm *comm)
{
    return atomic_load_explicit(&comm->generation, memory_order_acquire) & 1;
}

/* From now on no operation of the communicator is taken. NULL: no operation of
 * any communicator, and no new communicator either. */
void rec_comm_close(struct jp_rec_comm *comm);

/* Marks it as finalized; returns true for the first call. */
bool rec_comm_finalize(struct jp_rec_comm *comm);

/* How many communicators are not finalized yet. */
int rec_comm_live(void);

/* In a forked child: no context or thread of the parent is ours, nor is its
 * cost. */
void rec_comm_after_fork(void);

/* The numbers that these functions always have. */
enum { JP_REC_FUNC_RECV = 5, JP_REC_FUNC_BROADCAST = 6 };

/* What a thread looked up last: NCCL mostly passes the same few addresses. All
 * zeros to begin with. */
enum { JP_REC_CACHED = 16 };
struct jp_rec_name_cache {
    const char *text[JP_REC_CACHED]; /* as NCCL passed it */
    uint8_t number[JP_REC_CACHED];
    const struct jp_rec_constants *of; /* the library that these are for */
};

/* Where the words of a library stand that nobody can change. */
struct jp_rec_constants {
    uintptr_t from;
    size_t bytes;
};

/* A communicator of NCCL begins, whose mask is there (NULL: not known): the
 * words in that library's constants are known by their address from now on.
 * All others are compared each time, as NCCL may reuse an address. */
void rec_names_begin(const void *mask);

/* Returns the number of a function's name ("AllReduce") or of any other word
 * (datatype, algorithm, protocol). NULL is ""; words are cut to 31 bytes. A
 * cache serves one of the two. */
unsigned rec_names_func(struct jp_rec_name_cache *cache, const char *name);
unsigned rec_names_word(struct jp_rec_name_cache *cache, const char *word);

/* Returns the text, always at the same address for a number. */
const char *rec_names_func_text(unsigned number);
const char *rec_names_word_text(unsigned number);

/* Returns the bytes of one element of a datatype, by its word's number; 0: not
 * known. NCCL 2.24 to 2.30 calls uint8 "Unknown", so that is one byte. */
uint64_t rec_names_datatype_bytes(unsigned word);

/* What each thread from which NCCL calls the recorder has for itself: free
 * places for operations, a chunk of finished records, the words it saw.
 *
 * A thread claims an entry of a fixed table with its first event and gives it
 * back when it ends. What the entry holds serves the next thread.
 */

/* --- indices of equal pieces of memory, taken and given without locks.
 *
 * Indices travel in short chains, linked through next[], so that a thread
 * touches the shared head once for each chain. A head carries a tag that
 * changes with every exchange: an exchange fails if another thread took an
 * index and gave it back meanwhile (the ABA problem).
 */

#define JP_REC_NONE UINT32_MAX

/* Indices that a thread takes at once, of pools that many threads use. */
enum { JP_REC_CHAIN = 16 };

struct jp_rec_pool {
    /* upper 32 bits: tag; lower: index + 1, 0: empty */
    _Alignas(64) _Atomic uint64_t head;
    /* no index from here on was ever taken */
    _Alignas(64) _Atomic uint32_t fresh;
    uint32_t n;
    uint32_t chain; /* indices of a chain, at most */
    uint32_t *next; /* the next index of a chain; the last is JP_REC_NONE */
    /* the chain below a chain in the stack, index + 1 */
    _Atomic uint32_t *below;
};

/* Returns the bytes of memory that a pool of n indices needs for its links. */
size_t rec_pool_bytes(uint32_t n);

/* `links` is borrowed, zeroed memory of that size. */
void rec_pool_init(struct jp_rec_pool *pool, uint32_t n, uint32_t chain,
                   void *links);

/* Returns a chain's first index, or JP_REC_NONE when all are taken. */
uint32_t rec_pool_take(struct jp_rec_pool *pool);
void rec_pool_give(struct jp_rec_pool *pool, uint32_t first);

/* Returns the first index that was never taken; all from there on are unused.
 */
uint32_t rec_pool_used(struct jp_rec_pool *pool);

/* A thread's own stock of indices of a pool. */
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
    _Atomic uint32_t chunk; /* the chunk being filled, or JP_REC_NONE */
    struct jp_rec_purse ops;
    struct jp_rec_purse steps;
    struct jp_rec_name_cache funcs;
    /* one for each role: two words of different roles never share an entry */
    struct jp_rec_name_cache datatypes, algos, protos;
    uint32_t group;  /* number of the program's current group of calls */
    int group_depth; /* how deep ncclGroupStart() calls are nested there */
    /* the phase of a kernel that began last: its channel's handle (0: none),
     * its kind, its start by the GPU's clock */
    uint64_t phase_of, phase_ns;
    unsigned phase;
    /* loose operations (rec_op.c) that began here less those that ended here;
     * the sum over all threads is right */
    _Atomic int64_t loose;
    /* the recorder's own cost; the thread writes, the writer reads */
    _Atomic uint64_t events, timed, timed_ns;
};

/* Returns the calling thread's entry, or NULL when the table is full. */
struct jp_rec_thread *rec_thread_get(void);

/* Returns the table, for the writer, or NULL; entries may be free. */
struct jp_rec_thread *rec_thread_table(void);

/* --- what the recorder itself takes of the program's time.
 *
 * NCCL's callbacks are counted, and a thread times each JP_REC_COST_EVERY-th of
 * its own, at the cost of two more readings of the clock. A time above
 * JP_REC_COST_MOST_NS counts as that: the thread lost the processor meanwhile,
 * and the sample would multiply the pause. init and finalize, which may wait
 * for the writer, are timed each.
 */

enum { JP_REC_COST_EVERY = 64, JP_REC_COST_MOST_NS = 50000 };

struct jp_rec_timer {
    struct jp_rec_thread *thread; /* the calling one; NULL: it has no entry */
    uint64_t since_ns;            /* 0: this call is not timed */
};

/* Adds to a counter that only this thread writes, without a lock prefix.
 * Returns the sum. */
static inline uint64_t rec_cost_add(_Atomic uint64_t *counter, uint64_t n)
{
    n += atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, n, memory_order_relaxed);
    return n;
}

/* A callback begins. */
static inline struct jp_rec_timer rec_cost_begin(void)
{
    struct jp_rec_timer timer = {.thread = rec_thread_get()};

    if (timer.thread &&
        rec_cost_add(&timer.thread->events, 1) % JP_REC_COST_EVERY == 0)
        timer.since_ns = rec_clock_ns();
    return timer;
}

/* Adds the time since then to the timed callbacks of a thread, or, with NULL,
 * to what init and finalize take. */
void rec_cost_take(struct jp_rec_thread *thread, uint64_t since_ns);

/* A callback ends. */
static inline void rec_cost_end(const struct jp_rec_timer *timer)
{
    if (timer->since_ns)
        rec_cost_take(timer->thread, timer->since_ns);
}

/* Fills in what holds for the whole process so far: communicators without a
 * place, their operations, and the cost over all threads. Only the writer may
 * call it, as it adds the CPU time of the calling thread. */
void rec_comm_totals(struct jpr_counters *counters);

#endif
