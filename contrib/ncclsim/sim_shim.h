/* sim_shim.h - other profiler tables, wrapped as v6. */
#ifndef JP_SIM_SHIM_H
#define JP_SIM_SHIM_H

#include "plugins/nccl_recorder/nccl_profiler.h"

/* States of a ProxyOp that exist in v1 to v3 and were retired in v4. record()
 * of these three shims takes them with a union jp_nccl_args_v1. */
enum {
    SIM_OP_SEND_POSTED = 0,
    SIM_OP_SEND_REM_FIFO_WAIT = 1,
    SIM_OP_SEND_TRANSMITTED = 2,
    SIM_OP_SEND_DONE = 3,
    SIM_OP_RECV_POSTED = 4,
    SIM_OP_RECV_RECEIVED = 5,
    SIM_OP_RECV_TRANSMITTED = 6,
    SIM_OP_RECV_DONE = 7,
};

/* Each takes the table that a library exports and returns a v6 table that calls
 * it; static, one per interface. */
struct jp_nccl_plugin_v6 *sim_shim_v1(void *table);
struct jp_nccl_plugin_v6 *sim_shim_v2(void *table);
struct jp_nccl_plugin_v6 *sim_shim_v3(void *table);
struct jp_nccl_plugin_v6 *sim_shim_v4(void *table);
struct jp_nccl_plugin_v6 *sim_shim_v5(void *table);
struct jp_nccl_plugin_v6 *sim_shim_v7(void *table);

/* What v7 says beyond v6 of the next Coll or P2p event of this thread. */
struct jp_sim_more {
    uint64_t tag;
    bool symmetric;
};
extern __thread struct jp_sim_more sim_shim_more;

/* Raises the phases of a kernel channel, between four times, one right after
 * the other; does nothing without a v7 table. */
void sim_shim_phases(void *context, void *kernel, uint8_t channel,
                     const uint64_t times[4]);

#endif
