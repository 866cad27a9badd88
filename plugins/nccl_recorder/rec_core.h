/* What NCCL's events mean: the one core behind all six interfaces.
 *
 * The adapters (rec_abi_v1.c to rec_abi_v6.c) translate; everything is decided
 * here. No call fails towards NCCL: what cannot be recorded is counted as
 * lost, or not at all when there is nowhere to write.
 *
 * When is an operation done? Its own stopEvent means "enqueued" only.
 *  - v4 to v6 tell how many kernel channels will report: done when it is
 *    enqueued and that many have stopped.
 *  - v3 tells an upper bound only, v1 and v2 have no kernel events. Such an
 *    operation is "loose": done when it is enqueued, no child is open, nothing
 *    happened for half a second and (v3) at least one channel has stopped, for
 *    a kernel may start long after it was enqueued.
 *  - At finalize of the communicator, and at the end of the process, whatever
 *    is pending is recorded with what is known.
 * Each operation is recorded exactly once; what comes later is ignored.
 *
 * Execution time: the longest channel by the GPU's clock (kernel_gpu); else
 * the longest channel as the host saw it (kernel_cpu); else from being
 * enqueued until the last child stopped (collective_cpu), 0 when no child ever
 * reported, for then the time is not known.
 *
 * Not seen yet: copy engine collectives (v6, CeColl). Their sequence numbers
 * are others than those of Coll, and their events carry no time.
 */
#ifndef JP_REC_CORE_H
#define JP_REC_CORE_H

#include <stdint.h>
#include <sys/types.h>

#include "plugins/nccl_recorder/nccl_profiler.h"
#include "plugins/nccl_recorder/rec_comm.h"
#include "plugins/nccl_recorder/rec_op.h"

/* An operation is being enqueued; its handle, NULL when it is not recorded. */
void *rec_core_op(struct jp_rec_comm *comm,
                  const struct jp_rec_op_facts *facts);

/* A child of an operation starts; NULL when there is no such operation. */
void *rec_core_kernel(void *parent, unsigned channel, uint64_t gpu_ns);
void *rec_core_proxy(void *parent, pid_t pid);

/* Callbacks that are the same in several interfaces; JP_NCCL_SUCCESS always. */
int rec_core_stop(void *handle);
int rec_core_record_v1(void *handle, int state, union jp_nccl_args_v1 *args);
int rec_core_record_v4(void *handle, int state, union jp_nccl_args_v4 *args);

/* Records what is pending: of one communicator, of all (NULL), or the loose
 * operations that are over. */
void rec_core_finish_all(struct jp_rec_comm *comm);
void rec_core_finish_quiet(void);

#endif
