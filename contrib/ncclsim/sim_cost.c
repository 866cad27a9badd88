/* How long an operation takes by its links and its size. */
#include "contrib/ncclsim/sim_cost.h"

#include "contrib/ncclsim/sim_random.h"

#define MIB (1024ULL * 1024)

struct link {
    double latency_ns;
    double gbs; /* GB/s is bytes per ns */
};

static struct link link_of(const struct jp_sim_group *group, int p2p)
{
    int per_node = p2p || group->n_nodes == 0 ? 1 : group->n / group->n_nodes;
    struct link link = {6000.0, 350.0};

    if (group->n == 1)
        return (struct link){3000.0, 150.0};
    if (group->n_nodes > 1) {
        link.latency_ns = 12000.0;
        link.gbs = 45.0 * (per_node < 7 ? per_node : 7);
    }
    return link;
}

/* What goes over the links for `bytes` of Inspector's message size. */
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

int64_t sim_cost_ns(const struct jp_sim_group *group, enum jp_nccl_func func,
                    uint64_t bytes, uint64_t noise)
{
    struct link link =
        link_of(group, func == JP_NCCL_SEND || func == JP_NCCL_RECV);
    double ns = link.latency_ns +
                bus_bytes(func, (double) bytes, group->n) / link.gbs;

    return (int64_t) (ns *
                      (0.98 + (double) sim_random_below(noise, 4001) / 1e5));
}

int sim_cost_channels(uint64_t bytes)
{
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
