/* sim_lane.h - one user thread with its communicators and its proxy thread.
 *
 * A lane is a program of its own: it creates the communicators of our rank,
 * runs the iterations, and destroys the communicators. Lanes share nothing but
 * the plugin, like the threads of one NCCL process. */
#ifndef JP_SIM_LANE_H
#define JP_SIM_LANE_H

#include "contrib/ncclsim/sim_graph.h"
#include "contrib/ncclsim/sim_meet.h"
#include "contrib/ncclsim/sim_plain.h"

struct jp_sim_lane {
    const struct jp_sim_options *options;
    const struct jp_sim_world *world;
    uint64_t seed; /* different for each of a rank's lanes */
    int device;    /* GPU of the thread; -1: none is set */
    struct jp_sim_groups groups[SIM_N_KINDS];
    struct jp_sim_model model; /* only one of the two programs runs */
    struct jp_sim_plain plain;
    struct jp_sim_comms comms;
    struct jp_sim_proxy *proxy;
    struct jp_sim_host *host; /* NULL: without graphs */
    struct jp_sim_meet *meet; /* NULL: no fault has a cause */
    struct jp_sim_pace pace;
    struct jp_sim_clock clock;
    double tempo;      /* of this run, about 1: --run-noise */
    uint64_t n_issued; /* operations */
    int64_t ran_ns;    /* from the first operation to the end of the last one */
    struct jp_error err; /* reason, if failed */
    int failed;
    int halted; /* it hung until --seconds had passed, or NCCL would hang at its
                   end */
};

/* Runs the lane. Sets `failed` and `err` on failure. A lane that hangs never
 * returns, unless --seconds limits it. */
void sim_lane_run(struct jp_sim_lane *lane);

void sim_lane_fini(struct jp_sim_lane *lane);

#endif
