/* sim_cost.h - how long an operation takes, by its links and its size.
 *
 * Time = latency + traffic * factor / bus bandwidth, with 2 % of seeded noise:
 *   link      latency   bus bandwidth
 *   one GPU   3 us      150 GB/s
 *   NVLink    6 us      350 GB/s
 *   HCA       12 us     45 GB/s per member on a node, at most 315
 *
 * Traffic and factor are those of nccl-tests (see also rec_func.h). */
#ifndef JP_SIM_COST_H
#define JP_SIM_COST_H

#include <stdint.h>

#include "contrib/ncclsim/sim_groups.h"
#include "plugins/nccl_recorder/nccl_profiler.h"

/* Returns the duration in ns after all needed ranks have arrived. The same
 * `noise`, which is any number, gives the same time. */
int64_t sim_cost_ns(const struct jp_sim_group *group, enum jp_nccl_func func,
                    uint64_t bytes, uint64_t noise);

/* Returns the number of channels that NCCL would use for that many bytes. */
int sim_cost_channels(uint64_t bytes);

/* Returns NCCL's name of the function, such as "AllReduce". */
const char *sim_cost_func_name(enum jp_nccl_func func);

#endif
