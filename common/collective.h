/* collective.h - what a collective's name says of how its ranks wait. */
#ifndef JP_COMMON_COLLECTIVE_H
#define JP_COMMON_COLLECTIVE_H

#include <stdbool.h>
#include <string.h>

/* No rank is done before all have begun, so that a wait can be told from the
 * ranks' times: every rank's result needs data of every other one. A Broadcast
 * or a Reduce lets ranks go on early. */
static inline bool collective_is_barrier(const char *name)
{
    return !strcmp(name, "AllReduce") || !strcmp(name, "AllGather") ||
           !strcmp(name, "ReduceScatter");
}

#endif
