/* Older profiler tables dressed as v6. */
#ifndef JP_SIM_SHIM_H
#define JP_SIM_SHIM_H

#include "plugins/nccl_recorder/nccl_profiler.h"

/* Each takes the table its library exports and returns a v6 that calls it;
 * static, one per interface. */
struct jp_nccl_plugin_v6 *sim_shim_v1(void *table);
struct jp_nccl_plugin_v6 *sim_shim_v2(void *table);
struct jp_nccl_plugin_v6 *sim_shim_v3(void *table);
struct jp_nccl_plugin_v6 *sim_shim_v4(void *table);
struct jp_nccl_plugin_v6 *sim_shim_v5(void *table);

#endif
