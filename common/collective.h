/* collective.h - what a collective's name says of how its ranks wait. */
#ifndef JP_COMMON_COLLECTIVE_H
#define JP_COMMON_COLLECTIVE_H

#include <stdbool.h>
#include <string.h>

/* No rank can end before all have begun, because every rank's result needs data
 * of all other ranks. Waits can therefore be computed from the ranks' times. A
 * Broadcast or a Reduce lets ranks continue early. */
static inline bool collective_is_barrier(const char *name)
{
    return !strcmp(name, "AllReduce") || !strcmp(name, "AllGather") ||
           !strcmp(name, "ReduceScatter");
}

#endif
