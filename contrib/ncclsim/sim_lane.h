/* One user thread with its communicators and its proxy thread.
 *
 * A lane is a whole program of its own: it creates the communicators our rank
 * is in, runs the iterations, destroys them. Lanes share nothing but the
 * plugin, as threads of one NCCL process do.
 */
#ifndef JP_SIM_LANE_H
#define JP_SIM_LANE_H

#include "contrib/ncclsim/sim_graph.h"
#include "contrib/ncclsim/sim_meet.h"
#include "contrib/ncclsim/sim_plain.h"

struct jp_sim_lane {
    const struct jp_sim_options *options;
    const struct jp_sim_world *world;
    uint64_t seed; /* another one for each lane */
    struct jp_sim_groups groups[SIM_N_KINDS];
    struct jp_sim_model model; /* one of the two programs runs */
    struct jp_sim_plain plain;
    struct jp_sim_comms comms;
    struct jp_sim_proxy *proxy;
    struct jp_sim_host *host; /* NULL: there are no graphs */
    struct jp_sim_meet *meet; /* NULL: no fault has a cause */
    struct jp_sim_pace pace;
    struct jp_sim_clock clock;
    double tempo;        /* of this run, about 1: --run-noise */
    uint64_t n_issued;   /* operations */
    int64_t ran_ns;      /* first operation to last one's end */
    struct jp_error err; /* why it failed */
    int failed;
    int halted; /* it hung, and --seconds are over; or it would at its end */
};

/* Runs it all; sets `failed` and `err` on failure. A lane that hangs stays
 * here for ever, unless --seconds says how long. */
void sim_lane_run(struct jp_sim_lane *lane);

void sim_lane_fini(struct jp_sim_lane *lane);

#endif
