/* Who is late by a cause, and how all ranks get to know by how much.
 *
 * Every process works out the times of all ranks, so all must know how late
 * those are that measure it. Before an iteration each such rank works, or asks
 * the machine, writes how late that made it into a file in the current folder,
 * and all ranks wait until it is there. So ranks whose faults have causes must
 * run at the same time, in one folder, on one host (or a file system without
 * delay).
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
    const char *nvml; /* for dlopen() */
};

/* Borrows all of it. NULL on failure. Release with sim_meet_end(). */
struct jp_sim_meet *sim_meet_begin(const struct jp_sim_meet_place *place,
                                   struct jp_error *err);

/* How late each rank reaches each collective of the iteration, in ns:
 * [n_ranks]. `calls` is how many collectives an iteration has for a rank, which
 * share the lateness among them. NULL on failure. */
const int64_t *sim_meet_late_ns(struct jp_sim_meet *meet, int iteration,
                                int calls, struct jp_error *err);

void sim_meet_end(struct jp_sim_meet *meet); /* takes NULL */

#endif
