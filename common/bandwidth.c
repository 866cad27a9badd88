/* bandwidth.c - Inspector's formula for bandwidths, and its six decimals as an
 * integer. bandwidth.h has the table of factors. */
#include "common/bandwidth.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "common/record.h"

/* The rule of each function. Names of newer functions are added here. */
static const struct {
    const char *func;
    enum bandwidth_rule rule;
} rows[] = {
    {"AllReduce", BANDWIDTH_ALL_REDUCE},
    {"AllGather", BANDWIDTH_SHARE},
    {"ReduceScatter", BANDWIDTH_SHARE},
    {"Broadcast", BANDWIDTH_ONE},
    {"Reduce", BANDWIDTH_ONE},
    {"Send", BANDWIDTH_ONE},
    {"Recv", BANDWIDTH_ONE},
    {"SendRecv", BANDWIDTH_ONE},
    {"AllGatherV", BANDWIDTH_SHARE},
};

enum bandwidth_rule bandwidth_find(const char *func)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t n = strlen(rows[i].func);

        /* Either the name itself, or with the suffix of the copy engines. */
        if (!strncmp(rows[i].func, func, n) &&
            (!func[n] || !strcmp(func + n, RECORD_CE)))
            return rows[i].rule;
    }
    return BANDWIDTH_NONE;
}

struct bandwidth bandwidth_of(enum bandwidth_rule rule, int64_t n_ranks,
                              uint64_t bytes, uint64_t exec_us)
{
    double seconds = (double) exec_us / 1000000.0;
    double traffic = (double) bytes, n = (double) n_ranks, factor = 0.0;
    struct bandwidth b = {0.0, 0.0};

    /* With one rank nothing is sent: the factor is 0. */
    switch (rule) {
    case BANDWIDTH_ONE:
        factor = 1.0;
        break;
    /* bytes is the share of one rank: all ranks together move n times as
     * much. */
    case BANDWIDTH_SHARE:
        traffic *= n;
        factor = n_ranks > 0 ? (n - 1) / n : 0.0;
        break;
    case BANDWIDTH_ALL_REDUCE:
        factor = n_ranks > 0 ? 2.0 * (n - 1) / n : 0.0;
        break;
    case BANDWIDTH_NONE:
        traffic = 0.0;
        break;
    }
    /* Without a time both stay 0, as in Inspector's logs. */
    if (exec_us)
        b.algo_gbs = traffic / 1.0E9 / seconds;
    b.bus_gbs = b.algo_gbs * factor;
    return b;
}

double bandwidth_factor(enum bandwidth_rule rule, uint32_t n_ranks)
{
    double n = n_ranks;

    switch (rule) {
    case BANDWIDTH_ONE:
        return 1.0;
    case BANDWIDTH_SHARE:
        return n > 0 ? n - 1 : 0.0;
    case BANDWIDTH_ALL_REDUCE:
        return n > 0 ? 2.0 * (n - 1) / n : 0.0;
    case BANDWIDTH_NONE:
        break;
    }
    return 0.0;
}

uint64_t bandwidth_micro(double gbs)
{
    /* gbs = mantissa * 2^(exponent - 53), exactly. Multiply by 10^6 in 128
     * bits, then divide by 2^shift and round half to even, as printf does. */
    int exponent;
    uint64_t mantissa = (uint64_t) ldexp(frexp(gbs, &exponent), 53);
    unsigned __int128 product = (unsigned __int128) mantissa * 1000000u, half;
    int shift = 53 - exponent;
    uint64_t whole;

    if (shift > 100) /* the product has at most 73 bits */
        return 0;
    if (shift <= 0 || product >> shift > UINT64_MAX)
        return UINT64_MAX;
    whole = (uint64_t) (product >> shift);
    half = (unsigned __int128) 1 << (shift - 1);
    product &= 2 * half - 1;
    return whole + (product > half || (product == half && (whole & 1)));
}
