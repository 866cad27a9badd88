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
#include "plugins/nccl_recorder/rec_compat.h"
#include "plugins/nccl_recorder/rec_trust.h"

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

/* Takes zeroed memory for JP_REC_MAX_COMMS into use. */
void rec_comm_init(struct jp_rec_comm *table, unsigned epoch);

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

/* Not finalized yet; without a place. */
int rec_comm_live(void);
uint64_t rec_comm_lost(void);
uint64_t rec_comm_lost_foreign(void);

/* In a forked child: no context of the parent's is ours. */
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

/* Names of the numbers that interface v1 hands over; NULL for unknown ones. */
const char *rec_names_v1_func(unsigned number);
const char *rec_names_v1_datatype(unsigned number);

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
    uint32_t group; /* of calls, see rec_trust_group */
    int group_depth;
    /* cost of our own; the thread writes, the writer reads */
    _Atomic uint64_t events, timed, timed_ns;
};

/* The calling thread's; NULL when the table is full. */
struct jp_rec_thread *rec_thread_get(void);

/* The table, for the writer; entries may be free. */
struct jp_rec_thread *rec_thread_table(void);

/* Takes zeroed memory for JP_REC_MAX_THREADS into use. 0, or -1 when threads
 * cannot be distinguished here (no thread-specific key). */
int rec_thread_init(struct jp_rec_thread *table);

/* In a forked child: nothing of the parent's threads is left. */
void rec_thread_after_fork(void);

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

/* Over all threads so far; the caller is the writer. */
void rec_cost_sum(struct jpr_cost *cost);

/* In a forked child: nothing of the parent's time counts. */
void rec_cost_after_fork(void);

#endif
