/* clock_peers.c - the graph of neighbours: which nodes compare their clocks. */
#include "plugins/clock/clock_peers.h"

#include <string.h>

/* Each stride gives two neighbours: i + stride and i - stride. */
#define STRIDES (CLOCK_DEGREE / 2)

/* 1, the cube root r of n rounded down, and r^2. Every node is then within
 * about 1.5 n^(1/3) steps of any other. Whole numbers only: all nodes must
 * compute the same graph. */
static size_t strides(uint32_t n, uint32_t out[STRIDES])
{
    uint32_t root = 1;

    while ((root + 1) * (root + 1) * (root + 1) <= n)
        root++;
    out[0] = 1;
    out[1] = root;
    out[2] = root * root;
    return STRIDES;
}

/* Inserts into the ascending list unless it is there: strides of a small n may
 * lead to the same node. Returns the new length. */
static size_t add_peer(uint32_t *out, size_t n, uint32_t node)
{
    size_t at = n;

    while (at && out[at - 1] > node)
        at--;
    if (at && out[at - 1] == node)
        return n;
    memmove(&out[at + 1], &out[at], (n - at) * sizeof(*out));
    out[at] = node;
    return n + 1;
}

/* The neighbours of node i of n, ascending. Returns their number. */
static size_t neighbours(uint32_t n, uint32_t i, uint32_t out[CLOCK_DEGREE])
{
    uint32_t by[STRIDES];
    size_t found = 0, n_by = 0;

    if (n <= CLOCK_DEGREE + 1) {
        for (uint32_t j = 0; j < n; j++)
            if (j != i)
                out[found++] = j;
        return found;
    }
    n_by = strides(n, by);
    for (size_t k = 0; k < n_by; k++) {
        found = add_peer(out, found, (i + by[k]) % n);
        found = add_peer(out, found, (i + n - by[k]) % n);
    }
    return found;
}

size_t clock_peers_of(uint32_t n, uint32_t i, uint32_t out[CLOCK_DEGREE],
                      bool asks[CLOCK_DEGREE])
{
    size_t found = neighbours(n, i, out);

    for (size_t k = 0; k < found; k++)
        /* Both nodes must agree. By parity of the sum, each node asks about
         * half of its neighbours, wherever it stands in the list. */
        asks[k] = (i + out[k]) % 2 ? i > out[k] : i < out[k];
    return found;
}
