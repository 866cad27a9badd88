/* sim_meet.h - how all ranks learn which of them are late, and by how much.
 *
 * Every process computes the times of all ranks, so each needs the measured
 * delays of all late ranks. Before an iteration, each rank with a cause works,
 * or reads the machine. Then every rank writes its delay and its time into a
 * file in the current folder, and waits until all have done so. Thus GPU times
 * are the same for all ranks, and never before the call.
 *
 * Ranks whose faults have causes must therefore run at the same time, in one
 * folder, on one host or on a file system without delay. */
#ifndef JP_SIM_MEET_H
#define JP_SIM_MEET_H

#include <stdint.h>

#include "common/error.h"
#include "contrib/ncclsim/sim_faults.h"
#include "contrib/ncclsim/sim_world.h"

struct jp_sim_meet;

struct jp_sim_meet_place {
    const struct jp_sim_faults *faults;
    const struct jp_sim_world *world;
    uint64_t seed;     /* names the file */
    int in_operations; /* ranks also meet in operations */
    int64_t ahead_ns; /* from the exchange to the iteration's first operation */
    const char *nvml; /* for dlopen() */
};

/* Borrows all members. Returns NULL on failure. Release with sim_meet_end(). */
struct jp_sim_meet *sim_meet_begin(const struct jp_sim_meet_place *place,
                                   struct jp_error *err);

/* An iteration that is about to begin. The caller fills the first four members
 * for this rank; sim_meet() sets the values of all ranks. */
struct jp_sim_round {
    int iteration;
    int calls; /* number of our collectives in an iteration, which share the
                  delay */
    int64_t now_ns; /* virtual time */
    int64_t
        base_ns; /* CLOCK_MONOTONIC at virtual time 0: first ours, then the one
                    for all ranks, at which the iteration is still to come */
    const int64_t
        *late_ns; /* [n_ranks] how late each reaches each collective */
};

/* With in_operations, ranks also wait for each other in operations, by a table
 * in shared memory: no rank sees the end of a collective before all have seen
 * its start. Call it when one of the `n` ranks has begun an operation of its
 * communicator. Any thread may call it. */
void sim_meet_arrive(struct jp_sim_meet *meet, uint64_t comm, uint64_t op,
                     int n);
/* Waits until all `n` ranks have begun it. Returns when the last one did
 * (CLOCK_MONOTONIC); 0: one of them does not come. */
int64_t sim_meet_all(struct jp_sim_meet *meet, uint64_t comm, uint64_t op,
                     int n);

/* Exchanges the delays. Returns 0 or -1. */
int sim_meet(struct jp_sim_meet *meet, struct jp_sim_round *round,
             struct jp_error *err);

void sim_meet_end(struct jp_sim_meet *meet); /* accepts NULL */

#endif
