/* Who is late by a cause, and how all ranks get to know by how much.
 *
 * Every process works out the times of all ranks, so all must know how late
 * those are that measure it. Before an iteration each such rank works, or asks
 * the machine; then every rank writes how late that made it, and what time it
 * is, into a file in the current folder, and waits until all have. So the times
 * of GPUs are the same for all, and never before the call. So
 * ranks whose faults have causes must run at the same time, in one folder, on
 * one host (or a file system without delay).
 */
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
    uint64_t seed;    /* names the file */
    int together;     /* ranks meet in operations, too */
    const char *nvml; /* for dlopen() */
};

/* Borrows all of it. NULL on failure. Release with sim_meet_end(). */
struct jp_sim_meet *sim_meet_begin(const struct jp_sim_meet_place *place,
                                   struct jp_error *err);

/* An iteration that is about to begin: what it is for us, and what all ranks
 * hear of it. */
struct jp_sim_round {
    int iteration;
    int calls;       /* our collectives of one, which share a lateness */
    int64_t now_ns;  /* virtual time */
    int64_t base_ns; /* CLOCK_MONOTONIC at virtual time 0: ours, then the one of
                      * all, by which the iteration is still to come */
    const int64_t
        *late_ns; /* [n_ranks] how late each reaches each collective */
};

/* Ranks that run together (--together) wait for each other in operations, too,
 * by a table that all of them have mapped. One of `n` ranks has begun an
 * operation of its communicator. By any thread. */
void sim_meet_arrive(struct jp_sim_meet *meet, uint64_t comm, uint64_t op);
/* Waits until all have; returns when the last one did (CLOCK_MONOTONIC), 0: one
 * of them does not come. */
int64_t sim_meet_all(struct jp_sim_meet *meet, uint64_t comm, uint64_t op,
                     int n);

/* 0 or -1. */
int sim_meet(struct jp_sim_meet *meet, struct jp_sim_round *round,
             struct jp_error *err);

void sim_meet_end(struct jp_sim_meet *meet); /* takes NULL */

#endif
