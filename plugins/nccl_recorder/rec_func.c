/* NCCL's functions and datatypes: names, sizes and bandwidth factors. */
#include "plugins/nccl_recorder/rec_func.h"

#include <string.h>

#include "plugins/nccl_recorder/nccl_profiler.h"

enum factor { FACTOR_NONE, FACTOR_ONE, FACTOR_SHARE, FACTOR_ALL_REDUCE };

/* Names as NCCL's ncclFuncToString() has them. */
static const struct func_row {
    const char *name;
    enum factor factor;
} funcs[] = {
    {"AllReduce", FACTOR_ALL_REDUCE},
    {"AllGather", FACTOR_SHARE},
    {"ReduceScatter", FACTOR_SHARE},
    {"Broadcast", FACTOR_ONE},
    {"Reduce", FACTOR_ONE},
    {"Send", FACTOR_ONE},
    {"Recv", FACTOR_ONE},
    {"SendRecv", FACTOR_ONE},
    {"AllGatherV", FACTOR_SHARE},
    {"AlltoAll", FACTOR_NONE},
    {"Gather", FACTOR_NONE},
    {"Scatter", FACTOR_NONE},
    {"Invalid", FACTOR_NONE},
};

enum { N_FUNCS = sizeof(funcs) / sizeof(funcs[0]) };
static_assert((int) N_FUNCS <= (int) JP_REC_MAX_FUNCS,
              "counters are too short");

static const char *const v1_names[JP_NCCL_N_FUNCS] = {
    [JP_NCCL_BROADCAST] = "Broadcast",
    [JP_NCCL_REDUCE] = "Reduce",
    [JP_NCCL_ALL_GATHER] = "AllGather",
    [JP_NCCL_REDUCE_SCATTER] = "ReduceScatter",
    [JP_NCCL_ALL_REDUCE] = "AllReduce",
    [JP_NCCL_SEND_RECV] = "SendRecv",
    [JP_NCCL_SEND] = "Send",
    [JP_NCCL_RECV] = "Recv",
};

static const struct type_row {
    const char *name;
    uint8_t bytes;
} types[JP_NCCL_N_DATATYPES] = {
    [JP_NCCL_INT8] = {"ncclInt8", 1},
    [JP_NCCL_UINT8] = {"Unknown", 1},
    [JP_NCCL_INT32] = {"ncclInt32", 4},
    [JP_NCCL_UINT32] = {"ncclUint32", 4},
    [JP_NCCL_INT64] = {"ncclInt64", 8},
    [JP_NCCL_UINT64] = {"ncclUint64", 8},
    [JP_NCCL_FLOAT16] = {"ncclFloat16", 2},
    [JP_NCCL_FLOAT32] = {"ncclFloat32", 4},
    [JP_NCCL_FLOAT64] = {"ncclFloat64", 8},
    [JP_NCCL_BFLOAT16] = {"ncclBfloat16", 2},
    [JP_NCCL_FLOAT8E4M3] = {"ncclFloat8e4m3", 1},
    [JP_NCCL_FLOAT8E5M2] = {"ncclFloat8e5m2", 1},
};

int rec_func_find(const char *name)
{
    int i;

    for (i = 0; name && i < N_FUNCS; i++) {
        if (strcmp(funcs[i].name, name) == 0)
            return i;
    }
    return N_FUNCS - 1;
}

int rec_func_from_v1(unsigned number)
{
    return rec_func_find(number < JP_NCCL_N_FUNCS ? v1_names[number] : NULL);
}

const char *rec_func_name(int func)
{
    return funcs[func >= 0 && func < N_FUNCS ? func : N_FUNCS - 1].name;
}

int rec_func_count(void)
{
    return N_FUNCS;
}

uint64_t rec_func_type_bytes(const char *datatype)
{
    int i;

    if (!datatype)
        return 0;
    for (i = 0; i < JP_NCCL_N_DATATYPES; i++) {
        if (strcmp(types[i].name, datatype) == 0)
            return types[i].bytes;
    }
    return strcmp(datatype, "ncclUint8") == 0;
}

uint64_t rec_func_type_bytes_v1(unsigned number)
{
    return number < JP_NCCL_N_DATATYPES ? types[number].bytes : 0;
}

void rec_func_bandwidth(int func, int n_ranks, uint64_t bytes, uint64_t exec_us,
                        double *algobw_gbs, double *busbw_gbs)
{
    double seconds = (double) exec_us / 1000000.0;
    double traffic = (double) bytes;
    double factor = 0.0;

    switch (funcs[func].factor) {
    case FACTOR_ONE:
        factor = 1.0;
        break;
    case FACTOR_SHARE:
        traffic *= n_ranks;
        factor = n_ranks > 0 ? (double) (n_ranks - 1) / n_ranks : 0.0;
        break;
    case FACTOR_ALL_REDUCE:
        factor = n_ranks > 0 ? 2.0 * (n_ranks - 1) / n_ranks : 0.0;
        break;
    case FACTOR_NONE:
        traffic = 0.0;
        break;
    }
    /* The order of the divisions is Inspector's: the last digit shows. */
    *algobw_gbs = exec_us ? traffic / 1.0E9 / seconds : 0.0;
    *busbw_gbs = *algobw_gbs * factor;
}
