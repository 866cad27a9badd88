/* rec_op.h - operations in flight, the handles that NCCL holds for them, and
 * how they end and become records.
 *
 * A handle is a number, not a pointer: the place of an operation in a table,
 * the place's generation and the kind of event. NCCL may use a handle long
 * after the operation was recorded (a late child, a replayed graph). Such a
 * handle no longer matches the generation and is ignored. The table is never
 * given back, so looking a handle up is always safe.
 *
 * Every member that two threads may touch is atomic, and one word, `state`,
 * decides: the thread that takes it from live to over owns the operation. NCCL
 * reports the children of one operation from one thread. If two did so at once,
 * a first or last time could be the other one's, nothing worse.
 */
#ifndef JP_REC_OP_H
#define JP_REC_OP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugins/nccl_recorder/jpr.h"
#include "plugins/nccl_recorder/nccl_profiler.h"
#include "plugins/nccl_recorder/rec_comm.h"

/* What NCCL says about an operation when it is enqueued. */
struct jp_rec_facts {
    uint64_t seq;
    uint64_t count;
    uint64_t api_count;
    uint64_t start_ns; /* CLOCK_MONOTONIC */
    uint64_t after_ns; /* struct jp_rec_place */
    int32_t root;
    int32_t peer;
    uint16_t comm; /* place in the table of communicators */
    uint16_t n_channels;
    uint8_t kind; /* enum jpr_op_kind */
    uint8_t func; /* this to api_datatype: numbers of words, rec_comm.h */
    uint8_t datatype;
    uint8_t algo;
    uint8_t proto;
    uint8_t api_func;
    uint8_t api_datatype;
    uint8_t flags;
    uint32_t launch; /* struct jp_rec_place */
    uint64_t number; /* the same */
};

enum {
    JP_REC_GRAPH = 1,      /* captured in a CUDA graph */
    JP_REC_INCOMPLETE = 2, /* ended before its last event */
    JP_REC_OVER = 4,       /* ... because later ones had ended */
    JP_REC_UNTIMED = 8,    /* kernel events were not used */
    JP_REC_SYMMETRIC = 16, /* done by a symmetric kernel (v7) */
    JP_REC_FACT_WORDS = sizeof(struct jp_rec_facts) / sizeof(uint64_t),
};

/* Times that the children report, in ns; 0: not yet. */
enum jp_rec_time {
    JP_REC_ENQUEUE_STOP,
    JP_REC_KERNEL_FIRST,
    JP_REC_KERNEL_LAST,
    JP_REC_PROXY_LAST,
    JP_REC_GPU_FIRST,
    JP_REC_GPU_LAST,
    JP_REC_GPU_MAX, /* longest channel by the GPU */
    JP_REC_LAST,    /* the last event of any kind */
    JP_REC_N_TIMES,
};

enum { JP_REC_N_NET = JPR_N_WAITS + 2 }; /* waits, steps, bytes */

/* What v7 adds: the program's tag, and the longest phases of a symmetric
 * kernel's channels. */
enum jp_rec_more {
    JP_REC_TAG,
    JP_REC_SYNC,
    JP_REC_COMPUTE,
    JP_REC_CLOSE,
    JP_REC_N_MORE,
};

struct jp_rec_op {
    _Alignas(64) _Atomic uint64_t state;
    _Atomic uint64_t facts[JP_REC_FACT_WORDS];
    _Atomic uint64_t times[JP_REC_N_TIMES];
    _Atomic uint32_t started; /* channels */
    _Atomic uint32_t stopped;
    /* channels with times of different operations */
    _Atomic uint32_t refused;
    _Atomic uint64_t late; /* channels with late stamps (bit i); rec_comm.h */
    _Atomic uint64_t more[JP_REC_N_MORE];
    _Atomic uint64_t net[JP_REC_N_NET];
    /* start of each open channel by the GPU's clock; 0: not open */
    _Atomic uint64_t channels[JP_NCCL_MAX_CHANNELS];
};

/* Bits of the state: what must still happen. The generation is above them. */
#define JP_REC_LEFT_ONE 1ULL /* channels that have not stopped */
#define JP_REC_LEFT_MASK 0xFFFULL
#define JP_REC_UNSURE                                                          \
    (1ULL << 12) /* kernel events are not used; always loose */
#define JP_REC_OPEN_ONE (1ULL << 16) /* open proxies and loose channels */
#define JP_REC_OPEN_MASK (0x7FFULL << 16)
#define JP_REC_OVERTAKEN                                                       \
    (1ULL << 27) /* ended early, because later ones ended */
#define JP_REC_CUT_SHORT (1ULL << 28) /* over, but not by its last event */
#define JP_REC_LOOSE (1ULL << 29)     /* its last event cannot be recognised */
#define JP_REC_ENQUEUED (1ULL << 30)
#define JP_REC_LIVE (1ULL << 31)
#define JP_REC_GENERATION_SHIFT 32

enum jp_rec_kind {
    JP_REC_OP = 1,
    JP_REC_KERNEL,
    JP_REC_PROXY,
    JP_REC_STEP,
    JP_REC_API, /* of a collective */
    JP_REC_API_P2P,
    JP_REC_GROUP, /* of a launch */
};

extern struct jp_rec_op *jp_rec_ops; /* NULL before the first communicator */
extern struct jp_rec_pool jp_rec_op_pool;
extern uint64_t jp_rec_handle_salt; /* mixed into the generation of handles */

/* Bits of a handle: kind 3, channel 6, index 20, generation 32 from bit 32. */
enum { JP_REC_INDEX_SHIFT = 9, JP_REC_INDEX_BITS = 20 };

/* Takes zeroed memory into use: three quarters of it for operations in flight,
 * a quarter for finished records, which the writer soon takes. `net`: records
 * hold network waits; `more`: and what v7 adds. Generations begin at `epoch` <<
 * 24, so that a forked child's differ from its parent's. In handles they are
 * mixed with a number of this process: with PXN and pid namespaces a handle of
 * another process can come here. NULL: there are no operations, and every
 * handle is too old. */
void rec_op_init(char *memory, size_t bytes, bool net, bool more,
                 unsigned epoch);

/* Returns a number that another process is unlikely to have. */
uint32_t rec_op_salt(void);

/* Makes the free place `index` a live operation and returns its handle.
 * `thread` is the calling one, `state` has the first bits of the state. `tag`:
 * with `more` only. */
void *rec_op_begin(struct jp_rec_thread *thread, uint32_t index,
                   const struct jp_rec_facts *facts, uint64_t state,
                   uint64_t tag);

/* One member of the facts, without the others. */
#define REC_OP_WORD(op, member)                                                \
    atomic_load_explicit(&(op)->facts[offsetof(struct jp_rec_facts, member) /  \
                                      sizeof(uint64_t)],                       \
                         memory_order_acquire)
#define REC_OP_FACT(op, member)                                                \
    (REC_OP_WORD(op, member) >>                                                \
     8 * (offsetof(struct jp_rec_facts, member) % sizeof(uint64_t)))

/* Returns the place that a handle names, or NULL where there is none, and the
 * handle's generation in the upper half, as a state has it. rec_op_is() says
 * whether the operation is live. */
static inline struct jp_rec_op *rec_op_find(uint64_t handle,
                                            uint64_t *generation)
{
    uint32_t index = (uint32_t) (handle >> JP_REC_INDEX_SHIFT) &
                     ((1u << JP_REC_INDEX_BITS) - 1);

    *generation = (handle ^ jp_rec_handle_salt) & ~0xFFFFFFFFULL;
    return jp_rec_ops && index < jp_rec_op_pool.n ? &jp_rec_ops[index] : NULL;
}

/* A handle of that operation for another kind of event. */
static inline void *rec_op_handle(uint64_t handle, enum jp_rec_kind kind,
                                  unsigned channel)
{
    return (void *) (uintptr_t) ((handle & ~0x1FFULL) | (uint64_t) kind |
                                 (uint64_t) channel << 3);
}

static inline enum jp_rec_kind rec_op_kind(uint64_t handle)
{
    return (enum jp_rec_kind)(handle & 7);
}

static inline unsigned rec_op_channel(uint64_t handle)
{
    return (unsigned) (handle >> 3) & 63;
}

/* The connection over which NCCL watches operations of that function. */
static inline enum jp_rec_link rec_op_link(uint8_t func)
{
    return func == JP_REC_FUNC_RECV ? JP_REC_LINK_RECV : JP_REC_LINK_SEND;
}

static inline uint64_t rec_op_state(const struct jp_rec_op *op)
{
    return atomic_load_explicit(&op->state, memory_order_acquire);
}

static inline bool rec_op_is(uint64_t state, uint64_t generation)
{
    return (state & JP_REC_LIVE) && ((state ^ generation) >> 32) == 0;
}

static inline uint64_t rec_op_time(const struct jp_rec_op *op,
                                   enum jp_rec_time which)
{
    return atomic_load_explicit(&op->times[which], memory_order_acquire);
}

static inline void rec_op_set_time(struct jp_rec_op *op, enum jp_rec_time which,
                                   uint64_t ns)
{
    atomic_store_explicit(&op->times[which], ns, memory_order_release);
}

/* --- how an operation ends and becomes a record -------------------------- */

/* rec_abi.c says when an operation is over. The thread that takes its state
 * from live to over makes the record; all others find it gone.
 *
 * Each thread fills its own chunk of records. A full chunk goes onto a common
 * stack, which the writer takes as a whole. The writer also reads the chunks
 * that are being filled, up to the last finished record. There are no locks;
 * without a free chunk the record is counted as lost. */

/* A finished operation: what struct jpr_op holds, before numbers become names.
 */
struct jp_rec_record {
    struct jp_rec_facts facts;
    uint64_t times[JP_REC_N_TIMES];
    uint32_t started;
    uint32_t stopped;
    uint32_t refused;
    uint64_t late;
    uint64_t more[JP_REC_N_MORE]; /* present only with v7 or network waits */
    uint64_t net[JP_REC_N_NET]; /* present only if network waits are recorded */
};

/* What the writer sleeps on while it has nothing to do. The bell belongs to
 * this file, not to the writer, because threads that end operations ring it. */
struct jp_rec_bell {
    atomic_bool sleeping;  /* the writer sleeps or is about to */
    _Atomic uint32_t rung; /* changes when there is a reason to wake; a futex */
};
extern struct jp_rec_bell jp_rec_bell;

/* Subtracts `one` from the state if any of `mask` is left, and sets the bits of
 * `set`. Finishes the operation if that was its last event. Does nothing when
 * it is no longer live in that generation. */
void rec_op_settle(struct jp_rec_op *op, uint64_t generation, uint64_t one,
                   uint64_t mask, uint64_t set);

/* Records all pending operations of one communicator, or of all (NULL), as
 * incomplete where they are. */
void rec_op_end_all(struct jp_rec_comm *comm);

/* Records operations that are over without a last event: loose ones, and those
 * that never get all of their events. For the writer only. */
void rec_op_end_quiet(void);

/* From now on the kernel events of the operation are not used. Does nothing
 * when it is no longer live in that generation. */
void rec_op_doubt(struct jp_rec_op *op, uint64_t generation);

/* The same for all live operations of which no kernel has begun: NCCL reports
 * none any more. */
void rec_op_doubt_waiting(void);

/* Copies the operation in place `index`; returns false when there is none. */
bool rec_op_look(uint32_t index, struct jp_rec_record *record);

/* Calls `take` for every record that was finished so far. For the writer only.
 */
void rec_op_drain(void (*take)(const struct jp_rec_record *record));

/* --- rec_net.c ---------------------------------------------------------- */

/* Network transfers (ProxyStep events) summed into their operation.
 *
 * A step goes through states, and the time in each is a wait. Only
 * JOBPROF_RECORDER_NET=1 switches this on, as an operation may have thousands
 * of steps.
 */

/* Takes zeroed memory into use and returns how many bytes of it. NULL: no steps
 * are recorded, and it returns 0. */
size_t rec_net_init(void *memory);

/* Begins a step of a ProxyOp (its handle). Returns the step's handle, or NULL
 * when it is not recorded. */
void *rec_net_start(void *parent);

/* The step enters a state of NCCL's; `bytes` is what it transfers. */
void rec_net_record(uint64_t handle, int state, uint64_t bytes);
void rec_net_stop(uint64_t handle);

/* Returns the number of steps for which there was no room. */
uint64_t rec_net_lost(void);

#endif
