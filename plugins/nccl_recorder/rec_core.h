/* What NCCL's events mean: the one core behind all six interfaces.
 *
 * The adapters (rec_abi.c) translate; everything is decided
 * here. No call fails towards NCCL, waits or allocates; each reads the clock
 * once at most, but for the few that are timed (rec_cost.h), and an operation's
 * channels only for the first that starts, the first and the last that stop.
 * What cannot be recorded is counted as lost.
 *
 * When is an operation done? Its own stopEvent means "enqueued" only.
 *  - With kernel events it tells how many channels will report: done when it
 *    is enqueued and that many have stopped (and its proxies, if network waits
 *    were asked for). CollNet does not tell (0): it is "loose", done when
 *    nothing happened for 50 ms since its last child and at least one channel
 *    has stopped, for a kernel may start long after it was enqueued.
 *  - Without kernel events, or where these are not believed (rec_trust.h), it
 *    is loose and "unsure": done when it is enqueued and, 50 ms ago, its last
 *    proxy ended or a later launch of its communicator came. The latter does
 *    not count while an earlier operation has an open proxy. The last one of
 *    a communicator without network transfers stays in flight.
 *  - Copy engine collectives (v6) are done when they are enqueued: their
 *    events carry no time of the copies. So is a Send or Recv to oneself: NCCL
 *    announces its channels and reports none (enqueue.cc: selfSend).
 *  - Of the others NCCL reports fewer channels than announced now and then
 *    (nccl#2056, #2221). Kernels of a communicator run one after the other: an
 *    operation of which nothing was heard for half a second while a channel of
 *    one enqueued after it has stopped is over, and recorded as incomplete.
 *  - At finalize of the communicator, and at the end of the process, whatever
 *    is pending is recorded, as incomplete unless it is loose and may be over;
 *    an unsure one may be if something was heard of it in the last second.
 * Each operation is recorded exactly once; what comes later is ignored. From
 * finalize on, and when the process ends, no operation of the communicator is
 * taken any more.
 *
 * Calls that NCCL tells no operation of (docs/recorder-format.md, "What NCCL
 * does not tell") are counted: CollApi events without those that a Coll or
 * CeColl event names as its parent. Not P2pApi, nor calls that are captured in
 * a graph: their operations come with each replay.
 *
 * Execution time: the longest channel by the GPU's clock; without kernel events
 * from being enqueued until the last child stopped, 0 when no child ever
 * reported, for then the time is not known.
 */
#ifndef JP_REC_CORE_H
#define JP_REC_CORE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "plugins/nccl_recorder/jpr.h"
#include "plugins/nccl_recorder/nccl_profiler.h"
#include "plugins/nccl_recorder/rec_comm.h"
#include "plugins/nccl_recorder/rec_op.h"

/* An operation as the interface tells it; texts may be NULL. */
struct jp_rec_start {
    enum jpr_op_kind kind;
    uint64_t seq; /* p2p: counted here */
    const char *func;
    const char *datatype;
    const char *algo;
    const char *proto;
    uint64_t count;
    int root;
    int peer;
    int n_channels; /* kernel channels that it has; 0: not told */
    bool silent;    /* none of them will report: a message to oneself */
    void *api;      /* handle of the API event, NULL: none */
};

/* It is being enqueued; its handle, NULL when it is not recorded. */
void *rec_core_op(struct jp_rec_comm *comm, const struct jp_rec_start *start);

/* A plan is launched; a handle that says nothing, but NCCL before 2.28 tells no
 * operation of a plan without one. `comm` may be NULL. */
void *rec_core_launch(struct jp_rec_comm *comm);

/* The user's calls from here on are of one group (v5, v6). */
void rec_core_calls(int depth);

/* The user's call (v5, v6): all it tells travels in the handle. */
struct jp_rec_call {
    const char *func;
    const char *datatype;
    uint64_t count;
    int root;
    bool graph_captured;
    bool is_p2p;
};
void *rec_core_api(struct jp_rec_comm *comm, const struct jp_rec_call *call);

/* A child of an operation starts; NULL when there is no such operation. */
void *rec_core_kernel(void *parent, unsigned channel, uint64_t gpu_ns);
void *rec_core_proxy(void *parent, pid_t pid);

/* Callbacks that are the same in several interfaces; JP_NCCL_SUCCESS always. */
int rec_core_stop(void *handle);
int rec_core_record_v1(void *handle, int state, union jp_nccl_args_v1 *args);
int rec_core_record_v4(void *handle, int state, union jp_nccl_args_v4 *args);

#endif
