/* sim_ways.h - operations for which NCCL does not use its usual kernels, and
 * for which it raises few events.
 *
 *   way            releases   events
 *   one rank       all        none; Send and Recv are as usual
 *   no bytes       all        none; Send and Recv are as usual
 *   symmetric      2.27       none
 *                  2.28 on    GroupApi, CollApi
 *   copy engines   2.28       GroupApi, CollApi
 *                  2.29 on    also CeColl, CeSync, CeBatch; of a graph only at
 *                             its capture
 *   AllGatherV     2.29 on    GroupApi, CollApi; the GPU counts its works and
 *                             does not stamp them, the host does not count
 *
 * Source: NVIDIA/nccl 2.23 to 2.30, src/enqueue.cc, scheduler/, ce_coll.cc,
 * plugin/profiler.cc. */
#ifndef JP_SIM_WAYS_H
#define JP_SIM_WAYS_H

#include "contrib/ncclsim/sim_comms.h"

/* Sets the `way` of a launch's operations, by the options and the release. */
void sim_ways_set(const struct jp_sim_options *options,
                  const struct jp_sim_launch *launch);

/* Whether the GPU runs NCCL's own kernel for the operation, which has counters.
 */
int sim_ways_has_works(enum jp_sim_way way);

/* Raises the events of the copy engines. api: handle of the CollApi event. */
void sim_ways_copy(struct jp_sim_comm *comm, const struct jp_sim_op *op,
                   void *api);

#endif
