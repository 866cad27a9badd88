/* How long an operation takes by its links and its size.
 *
 * latency + traffic * factor / bus bandwidth, with 2 % of seeded noise:
 *   link      latency   bus bandwidth
 *   one GPU   3 us      150 GB/s
 *   NVLink    6 us      350 GB/s
 *   HCA       12 us     45 GB/s for each member on a node, at most 315
 * Traffic and factor are nccl-tests' (rec_func.h has them too).
 */
#ifndef JP_SIM_COST_H
#define JP_SIM_COST_H

#include <stdint.h>

#include "contrib/ncclsim/sim_groups.h"
#include "plugins/nccl_recorder/nccl_profiler.h"

/* From the moment everyone needed is there. `noise` is any number; the same
 * one gives the same time. */
int64_t sim_cost_ns(const struct jp_sim_group *group, enum jp_nccl_func func,
                    uint64_t bytes, uint64_t noise);

/* Channels NCCL would use for that many bytes. */
int sim_cost_channels(uint64_t bytes);

/* "AllReduce", ... as NCCL calls it. */
const char *sim_cost_func_name(enum jp_nccl_func func);

#endif
