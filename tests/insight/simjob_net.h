/* simjob_net.h - what a fault makes of the time between two nodes. */
#ifndef JP_TESTS_SIMJOB_NET_H
#define JP_TESTS_SIMJOB_NET_H

#include <string.h>

#include "tests/insight/simjob.h"

/* Of all that crosses, in a step of `steps`; at_node: it touches truth's. */
static inline double simjob_slowed(const struct simjob_truth *t, uint32_t step,
                                   uint32_t steps, bool at_node)
{
    if (t->fault == SIMJOB_SLOW_LINK && at_node && step >= t->from_step)
        return 1 + t->effect;
    if (t->fault == SIMJOB_DRIFT)
        return 1 + t->effect * step / steps;
    return t->fault == SIMJOB_SLOW_NET ? 1 + t->effect : 1;
}

/* Do only Send and Recv feel the fault? */
static inline bool simjob_by_messages(const struct simjob_truth *t)
{
    return t->fault == SIMJOB_SLOW_SENDS || t->fault == SIMJOB_SLOW_PAIR ||
           t->fault == SIMJOB_SLOW_EXPERTS;
}

/* Is it a message that the fault makes slow? */
static inline bool simjob_message_slow(const struct simjob_truth *t, uint32_t a,
                                       uint32_t b)
{
    if (t->fault == SIMJOB_SLOW_SENDS)
        return a != b && (a == t->node || b == t->node);
    return t->fault == SIMJOB_SLOW_PAIR && a != b &&
           (a == t->node || b == t->node) &&
           (a == t->other_node || b == t->other_node);
}

/* Bytes on the bus for a byte of the vector. */
static inline double simjob_bus_factor(const char *func, uint32_t n)
{
    return (strcmp(func, "AllReduce") ? 1.0 : 2.0) * (n - 1) / n;
}

#endif
