/* Operations in flight, and the handles NCCL holds for them.
 *
 * A handle is a number, not a pointer: it names a slot of a table, the slot's
 * generation and what kind of event it is for. NCCL may use a handle long
 * after the operation was recorded (a late child, a replayed graph); such a
 * handle no longer matches its slot's generation and is ignored. Slots are
 * never given back to the system, so looking one up is always safe.
 *
 * Life of a slot: rec_op_create (live, locked) - unlock, find, unlock ... -
 * rec_op_retire (its handles die) - free for the next operation.
 */
#ifndef JP_REC_OP_H
#define JP_REC_OP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "plugins/nccl_recorder/nccl_profiler.h"

struct jp_rec_comm;

/* What the interface tells about an operation when it is enqueued. */
struct jp_rec_op_facts {
    bool is_p2p;
    int func;       /* index of rec_func.h */
    uint64_t seq;   /* collectives: NCCL's own; p2p: filled in by rec_core */
    uint64_t bytes; /* count times element size */
    int peer;       /* p2p only */
    int n_channels; /* kernel channels that will report; 0: not told */
    bool kernel_reports; /* at least one will (v3 on) */
};

/* The GPU side of one channel between its start and its stop. */
struct jp_rec_channel {
    uint64_t gpu_start_ns; /* 0: the GPU gave no time */
    uint64_t host_start_ns;
};

struct jp_rec_op {
    pthread_mutex_t lock; /* over everything below */
    uint32_t index;
    uint32_t generation;
    bool live;
    struct jp_rec_op *next_free;

    struct jp_rec_comm *comm;
    struct jp_rec_op_facts facts;
    bool enqueued; /* its own stopEvent was seen */
    bool loose;    /* counted by rec_op_loose() */
    int channels_done;
    int proxies_open;
    uint64_t channels_open; /* bit per channel */
    uint64_t start_ns;      /* monotonic */
    uint64_t last_ns;       /* monotonic, of the last event */
    uint64_t child_ns;      /* the same of the last child's stop; 0: none */
    uint64_t gpu_max_ns;    /* longest channel by the GPU's clock */
    uint64_t host_max_ns;   /* longest channel by the host's */
    struct jp_rec_channel channels[JP_NCCL_MAX_CHANNELS];
};

enum jp_rec_kind { JP_REC_OP = 1, JP_REC_KERNEL = 2, JP_REC_PROXY = 3 };

/* A fresh slot, zeroed and locked, live; NULL when 65,536 operations are in
 * flight or there is no memory. */
struct jp_rec_op *rec_op_create(void);

/* The handle of an operation, of its kernel channel or of a proxy below it. */
void *rec_op_handle(const struct jp_rec_op *op, enum jp_rec_kind kind,
                    unsigned channel);

/* The live operation a handle belongs to, locked, with kind and channel; NULL
 * where the handle is NULL or outlived its operation. */
struct jp_rec_op *rec_op_find(void *handle, enum jp_rec_kind *kind,
                              unsigned *channel);

/* Ends an operation that the caller has locked; unlocks it. Handles to it are
 * ignored from now on. */
void rec_op_retire(struct jp_rec_op *op);

/* Calls `visit` for every live operation, locked; visit unlocks or retires
 * it. New ones that appear meanwhile may be left out. */
void rec_op_each(void (*visit)(struct jp_rec_op *op, void *data), void *data);

/* A loose operation: nobody can tell which event is its last, see
 * rec_core.c. The writer looks for quiet ones only while there are any. */
void rec_op_set_loose(struct jp_rec_op *op);
bool rec_op_any_loose(void);

/* Monotonic and wall clock in ns. */
uint64_t rec_op_now_ns(void);
uint64_t rec_op_wall_ns(void);

/* In a forked child: forget the parent's operations. */
void rec_op_after_fork(void);

#endif
