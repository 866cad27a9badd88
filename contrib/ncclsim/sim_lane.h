/* One user thread with its communicators and its proxy thread.
 *
 * A lane is a whole program of its own: it creates the communicators our rank
 * is in, runs the iterations, destroys them. Lanes share nothing but the
 * plugin, as threads of one NCCL process do.
 */
#ifndef JP_SIM_LANE_H
#define JP_SIM_LANE_H

#include "contrib/ncclsim/sim_events.h"
#include "contrib/ncclsim/sim_options.h"

struct jp_sim_lane {
    const struct jp_sim_options *options;
    const struct jp_sim_world *world;
    uint64_t seed; /* another one for each lane */
    struct jp_sim_groups groups[SIM_N_KINDS];
    struct jp_sim_model model;
    struct jp_sim_comm comms[SIM_N_KINDS]; /* group NULL: none of this kind */
    struct jp_sim_proxy *proxy;
    struct jp_error err; /* why it failed */
    int failed;
};

/* Runs it all; sets `failed` and `err` on failure. */
void sim_lane_run(struct jp_sim_lane *lane);

/* Writes the communicators' counts, separated by commas; `first` says
 * whether one was written before and is updated. */
void sim_lane_put_counts(const struct jp_sim_lane *lane, FILE *out, int *first);

uint64_t sim_lane_total(const struct jp_sim_lane *lane);

void sim_lane_fini(struct jp_sim_lane *lane);

#endif
