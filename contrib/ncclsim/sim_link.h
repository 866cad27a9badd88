/* sim_link.h - how long bytes take over simulated links, in ncclsim and in
 * tests/insight. */
#ifndef JP_SIM_LINK_H
#define JP_SIM_LINK_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the time in ns; GB/s is bytes per ns. A node has eight GPUs on one
 * switch, and seven adapters of 50 GB/s at 90 %. crosses: to another node; then
 * the per_node ranks of a node share the work, with an adapter each. bus_bytes:
 * bytes that one link carries. */
static inline double sim_link_ns(bool crosses, uint32_t per_node,
                                 double bus_bytes)
{
    double gbs = crosses ? 45.0 * (per_node < 7 ? per_node : 7) : 350.0;

    return (crosses ? 12000.0 : 6000.0) + bus_bytes / gbs;
}

#endif
