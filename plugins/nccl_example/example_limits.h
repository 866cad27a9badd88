/* example_limits.h - what pools of the example plugin may not exceed. */
#ifndef JP_EXAMPLE_LIMITS_H
#define JP_EXAMPLE_LIMITS_H

#include "plugins/backend.h"
#include "plugins/nccl_example/example_size.h"

/* What sizing starts from, with everything looked up once. */
struct example_demand {
    const struct backend_input *in;
    const struct example_slots *slots;
    uint64_t comms, wanted_colls, wanted_p2p; /* of each communicator */
    uint64_t channels, proxy_ops; /* of one operation; ops of a channel */
    uint64_t page_bytes;
};

/* A limit that was exceeded: the bytes that were compared with it. */
struct example_limit {
    const char *name;
    uint64_t bytes, limit;
};

/* Whether p exceeds a limit of example_size.h; the first one into *out. */
bool example_limits_exceeded(const struct example_demand *d,
                             const struct example_plan *p,
                             struct example_limit *out);

#endif
