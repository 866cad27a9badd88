/* bandwidth.h - bandwidths of an operation as Inspector computes them.
 *
 * GB/s of 10^9 bytes, by nccl-tests' definitions. `bytes` is Inspector's
 * message size: count times element size, as NCCL enqueues the operation. For
 * AllGather and ReduceScatter that is one rank's share, so the traffic is
 * n_ranks times as much.
 *
 *   function                          traffic           busbw / algobw
 *   AllReduce                         bytes             2 (n - 1) / n
 *   AllGather, ReduceScatter, ...V    bytes * n_ranks   (n - 1) / n
 *   Broadcast, Reduce, Send, Recv     bytes             1
 *   any other                         0                 0
 */
#ifndef JP_COMMON_BANDWIDTH_H
#define JP_COMMON_BANDWIDTH_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum bandwidth_rule {
    BANDWIDTH_NONE,
    BANDWIDTH_ONE,
    BANDWIDTH_SHARE,
    BANDWIDTH_ALL_REDUCE
};

/* The rule of a function. "AllGather-CE", by the copy engines, has that of
 * AllGather; an unknown name has BANDWIDTH_NONE. */
enum bandwidth_rule bandwidth_find(const char *func);

struct bandwidth {
    double algo_gbs, bus_gbs;
};

/* The bandwidths of one operation. They are 0 without a time, or without
 * n_ranks if it is needed (NCCL before 2.27). The order of the arithmetic is
 * Inspector's, because the last printed digit depends on it. */
struct bandwidth bandwidth_of(enum bandwidth_rule rule, int64_t n_ranks,
                              uint64_t bytes, uint64_t exec_us);

/* The factor from bytes / time to the bus bandwidth. */
double bandwidth_factor(enum bandwidth_rule rule, uint32_t n_ranks);

/* gbs in units of 1e-6, rounded as printf's %.6f prints it: exact, half to
 * even. UINT64_MAX if it does not fit. gbs is finite and not negative. */
uint64_t bandwidth_micro(double gbs);

/* No rank can end before all have begun, because every rank's result needs data
 * of all other ranks. Waits can therefore be computed from the ranks' times. A
 * Broadcast or a Reduce lets ranks continue early. */
static inline bool collective_is_barrier(const char *name)
{
    return !strcmp(name, "AllReduce") || !strcmp(name, "AllGather") ||
           !strcmp(name, "ReduceScatter") || !strcmp(name, "AlltoAll");
}

#endif
