/* inspector_size.h - interval, rings and what NVIDIA's Inspector will lose.
 *
 * From 2.30 on completed operations wait in two rings a communicator until the
 * next dump; a full ring overwrites silently. In one interval a communicator
 * completes at most
 *
 *   burst   = max(rate x interval, one iteration's operations / comms)
 *             (a run of one iteration tells nothing of bursts)
 *   ring    >= 2 x burst, a power of two; one of collectives, one of p2p
 *   memory  = comms x 2 x (both rings) x 3,192 B (each with a drain buffer)
 *
 * Where that exceeds mem= or a quarter of the step's memory over its ranks, the
 * interval is halved while it stays at least 10 ms, unless it has been named.
 * What is pending when a communicator is destroyed is dropped: burst operations
 * at most.
 *
 * 2.28 and 2.29 keep ONE completed collective a communicator between two dumps,
 * and no sends and receives. With x = rate x (interval + 150 us, what a pass
 * takes) and collectives at random times (1 - e^-x) / x of them are written; an
 * estimate, as collectives come in bursts. Before 2.29.7 the part of the
 * interval below a second is taken as nanoseconds (tv_nsec = microseconds %
 * 1,000,000): there the variable is 1,000 times the interval, which is at most
 * 999 us or whole seconds.
 *
 * files = iterations x (colls + p2p) x 447 B, with verbose=1 x (610 B + 205 B a
 * channel); x ranks <= disk= and <= the free space less min_free=.
 *
 * Sources: NVIDIA/nccl ext-profiler/inspector/inspector.cc at 2.28.3 to 2.29.7
 * (completedCollInfo, dumpMain), plugins/profiler/inspector/inspector_ring.h at
 * 2.30; bytes measured on 2.30.7.
 */
#ifndef JP_INSPECTOR_SIZE_H
#define JP_INSPECTOR_SIZE_H

#include "plugins/backend.h"

struct inspector_plan {
    bool rings;              /* 2.30 on */
    bool shortened;          /* the interval, to fit the memory */
    uint64_t interval_us;    /* that is kept */
    uint64_t variable;       /* that makes the release keep it */
    uint64_t ring, p2p_ring; /* slots; 0: the release has none */
    uint64_t burst;          /* collectives in one interval, at most */
    uint64_t line_bytes;     /* of a record */
    uint64_t memory_bytes, disk_bytes, planned_ops, kept_ops;
};

/* -1: memory or files exceed a limit; err names both. */
int inspector_size(const struct backend_input *in, struct inspector_plan *out,
                   struct jp_error *err);

#endif
