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

/* The function's row of the table; the copy engines' "AllGather-CE" is in that
 * of AllGather; unknown names are "any other". */
enum bandwidth_rule bandwidth_find(const char *func);

struct bandwidth {
    double algo_gbs, bus_gbs;
};

/* No time, or no n_ranks where it is needed (NCCL before 2.27), gives 0. The
 * order of the operations is Inspector's: the last printed digit shows it. */
struct bandwidth bandwidth_of(enum bandwidth_rule rule, int64_t n_ranks,
                              uint64_t bytes, uint64_t exec_us);

/* What bytes / time is to be multiplied by for busbw. */
double bandwidth_factor(enum bandwidth_rule rule, uint32_t n_ranks);

/* The integer of 1e-6 that printf's %.6f shows of gbs: exact, half to even.
 * UINT64_MAX where it is more. gbs is finite and not negative. */
uint64_t bandwidth_micro(double gbs);

/* No rank can end before all have begun, because every rank's result needs data
 * of all other ranks. Waits can therefore be computed from the ranks' times. A
 * Broadcast or a Reduce lets ranks continue early. */
static inline bool collective_is_barrier(const char *name)
{
    return !strcmp(name, "AllReduce") || !strcmp(name, "AllGather") ||
           !strcmp(name, "ReduceScatter");
}

#endif
