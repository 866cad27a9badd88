/* What NCCL's events mean: the one core behind all six interfaces.
 *
 * The adapters (rec_abi_v1.c to rec_abi_v6.c) translate; everything is decided
 * here. No call fails towards NCCL, waits or allocates; each reads the clock
 * once at most. What cannot be recorded is counted as lost.
 *
 * When is an operation done? Its own stopEvent means "enqueued" only.
 *  - v4 to v6 tell how many kernel channels will report: done when it is
 *    enqueued and that many have stopped (and its proxies, if network waits
 *    were asked for).
 *  - v3 tells an upper bound only, v1 and v2 have no kernel events. Such an
 *    operation is "loose": done when it is enqueued, no child is open, nothing
 *    happened for 50 ms since its last child, or half a second without any, and
 *    (v3) at least one channel has stopped, for a kernel may start long after
 *    it was enqueued.
 *  - Copy engine collectives (v6) are done when they are enqueued: their
 *    events carry no time of the copies.
 *  - At finalize of the communicator, and at the end of the process, whatever
 *    is pending is recorded, as incomplete unless it is loose and may be over.
 * Each operation is recorded exactly once; what comes later is ignored.
 *
 * Execution time: the longest channel by the GPU's clock; else the longest
 * channel as the host saw it; else from being enqueued until the last child
 * stopped, 0 when no child ever reported, for then the time is not known.
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
    int n_channels;      /* kernel channels that will report; 0: not told */
    bool kernel_reports; /* at least one will (v3 on) */
    bool loose;          /* v1 to v3 */
    void *api;           /* handle of the API event, NULL: none */
};

/* It is being enqueued; its handle, NULL when it is not recorded. */
void *rec_core_op(struct jp_rec_comm *comm, const struct jp_rec_start *start);

/* The user's call (v5, v6): all it tells travels in the handle. */
void *rec_core_api(const char *func, uint64_t count, const char *datatype,
                   bool graph_captured);

/* A child of an operation starts; NULL when there is no such operation. */
void *rec_core_kernel(void *parent, unsigned channel, uint64_t gpu_ns);
void *rec_core_proxy(void *parent, pid_t pid);

/* Callbacks that are the same in several interfaces; JP_NCCL_SUCCESS always. */
int rec_core_stop(void *handle);
int rec_core_record_v1(void *handle, int state, union jp_nccl_args_v1 *args);
int rec_core_record_v4(void *handle, int state, union jp_nccl_args_v4 *args);

#endif
