/* rec_v1_names.h - what interface v1 hands over as numbers, by name.
 *
 * Source: NVIDIA/nccl 2.23.4, src/include/nccl_common.h, src/nccl.h.in and
 * device.h.
 */
#ifndef JP_REC_V1_NAMES_H
#define JP_REC_V1_NAMES_H

#include "plugins/nccl_recorder/nccl_profiler.h"

static const char *const rec_v1_funcs[JP_NCCL_N_FUNCS] = {
    [JP_NCCL_BROADCAST] = "Broadcast",
    [JP_NCCL_REDUCE] = "Reduce",
    [JP_NCCL_ALL_GATHER] = "AllGather",
    [JP_NCCL_REDUCE_SCATTER] = "ReduceScatter",
    [JP_NCCL_ALL_REDUCE] = "AllReduce",
    [JP_NCCL_SEND_RECV] = "SendRecv",
    [JP_NCCL_SEND] = "Send",
    [JP_NCCL_RECV] = "Recv",
};

static const char *const rec_v1_datatypes[JP_NCCL_N_DATATYPES] = {
    [JP_NCCL_INT8] = "ncclInt8",
    [JP_NCCL_UINT8] = "ncclUint8",
    [JP_NCCL_INT32] = "ncclInt32",
    [JP_NCCL_UINT32] = "ncclUint32",
    [JP_NCCL_INT64] = "ncclInt64",
    [JP_NCCL_UINT64] = "ncclUint64",
    [JP_NCCL_FLOAT16] = "ncclFloat16",
    [JP_NCCL_FLOAT32] = "ncclFloat32",
    [JP_NCCL_FLOAT64] = "ncclFloat64",
    [JP_NCCL_BFLOAT16] = "ncclBfloat16",
    [JP_NCCL_FLOAT8E4M3] = "ncclFloat8e4m3",
    [JP_NCCL_FLOAT8E5M2] = "ncclFloat8e5m2",
};

#endif
