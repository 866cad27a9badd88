/* rec_trust.h - whether NCCL's kernel events can be believed.
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
#ifndef JP_REC_TRUST_H
#define JP_REC_TRUST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "plugins/nccl_recorder/jpr.h"
#include "plugins/nccl_recorder/nccl_profiler.h"

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
    _Atomic uint32_t launch;     /* number of the last one, from 1 */
    _Atomic uint32_t first_of;   /* the launch that launch_ns is of */
    _Atomic uint64_t n_ops;      /* operations that started */
    _Atomic uint64_t late_until; /* the ring may be overrun up to this one */
    _Atomic uint64_t launch_ns;  /* its first operation, CLOCK_MONOTONIC */
    _Atomic uint64_t before_ns;  /* ... and of the launch before */
    atomic_bool replays_count;   /* NCCL's planner.persistent */
    uint64_t broadcast_group;    /* of the last Broadcast: rec_trust_group */
    int broadcast_root;
    _Atomic uint64_t overrun_from_ns,
        overrun_to_ns;              /* starts between: refused */
    struct jp_rec_gpu_clock *clock; /* borrowed; NULL: not checked */
    struct jp_rec_channel channels[JP_NCCL_MAX_CHANNELS];
};

/* In a process's first init: what is asked for, and where NCCL keeps its mask
 * (NULL: it cannot be changed). `interface` is 1 to 6. */
void rec_trust_init(bool asks, int interface, int *mask);

/* The mask was written: another thread's call may have stopped the asking
 * meanwhile. */
void rec_trust_mask(void);

/* Whether kernel events are requested now. */
bool rec_trust_asks(void);

/* Whether those of an operation that starts now will be used; if not, it is
 * counted as unsure. */
bool rec_trust_believes(struct jp_rec_trust *trust);

/* A communicator of the GPU with that PCI bus id ("": not known). */
void rec_trust_comm(struct jp_rec_trust *trust, const char *gpu_pci);

/* NCCL launches a plan: operations that start from now on are of it. */
void rec_trust_launch(struct jp_rec_trust *trust);

/* What an operation's place is known by. */
struct jp_rec_place {
    uint32_t launch;
    uint64_t number;   /* among the communicator's operations, from 1 */
    uint64_t after_ns; /* its kernel was not launched before; 0: not known */
};

/* An operation of the last launch starts at now_ns. */
void rec_trust_op(struct jp_rec_trust *trust, uint64_t now_ns,
                  struct jp_rec_place *place);

/* The user's group of calls that the thread is in gets a number. */
struct jp_rec_thread;
void rec_trust_group(struct jp_rec_thread *thread, int depth);

/* The user's call. */
void rec_trust_call(struct jp_rec_trust *trust, bool captured);
void rec_trust_broadcast(struct jp_rec_trust *trust,
                         const struct jp_rec_thread *thread, int root,
                         bool captured);

/* A replayed operation starts. */
void rec_trust_replay(struct jp_rec_trust *trust);

void rec_trust_doubt(struct jp_rec_trust *trust, uint32_t reason);

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

/* In a forked child. */
void rec_trust_after_fork(void);

#endif
