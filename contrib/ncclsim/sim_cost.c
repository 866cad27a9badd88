/* sim_cost.c - how long an operation takes, by its links and its size. */
#include "contrib/ncclsim/sim_cost.h"

#include "contrib/ncclsim/sim_link.h"
#include "contrib/ncclsim/sim_random.h"

#define MIB (1024ULL * 1024)

#define LOCAL_LATENCY_NS 3000.0 /* a communicator of one rank */
#define LOCAL_GBS 150.0

/* Returns the bytes that cross a link. `bytes` is the message size as Inspector
 * defines it; the factors are those of nccl-tests. */
static double bus_bytes(enum jp_nccl_func func, double bytes, int n)
{
    switch (func) {
    case JP_NCCL_ALL_REDUCE:
        return n > 1 ? bytes * 2.0 * (n - 1) / n : bytes;
    case JP_NCCL_ALL_GATHER:
    case JP_NCCL_REDUCE_SCATTER:
        return n > 1 ? bytes * (n - 1) : bytes;
    default:
        return bytes;
    }
}

/* Returns the time in ns that these bytes take over the group's links. */
static double link_ns(const struct jp_sim_group *group, bool p2p, double bytes)
{
    uint32_t n_nodes = (uint32_t) group->n_nodes;

    /* a copy within the GPU */
    if (group->n == 1)
        return LOCAL_LATENCY_NS + bytes / LOCAL_GBS;
    return sim_link_ns(n_nodes > 1,
                       /* a message has one adapter, a collective one per rank
                        * of a node */
                       p2p || !n_nodes ? 1 : (uint32_t) group->n / n_nodes,
                       bytes);
}

int64_t sim_cost_ns(const struct jp_sim_group *group, enum jp_nccl_func func,
                    uint64_t bytes, uint64_t noise)
{
    double ns = link_ns(group, func == JP_NCCL_SEND || func == JP_NCCL_RECV,
                        bus_bytes(func, (double) bytes, group->n));

    /* --run-noise */
    if (group->tempo > 0.0)
        ns *= group->tempo;
    /* 0.98 to 1.02 */
    return (int64_t) (ns *
                      (0.98 + (double) sim_random_below(noise, 4001) / 1e5));
}

int sim_cost_channels(uint64_t bytes)
{
    /* NCCL uses more channels for larger messages */
    if (bytes < MIB)
        return 2;
    return bytes < 16 * MIB ? 4 : bytes < 64 * MIB ? 8 : 16;
}

const char *sim_cost_func_name(enum jp_nccl_func func)
{
    static const char *const names[JP_NCCL_N_FUNCS] = {
        "Broadcast", "Reduce",   "AllGather", "ReduceScatter",
        "AllReduce", "SendRecv", "Send",      "Recv"};

    return names[func];
}
