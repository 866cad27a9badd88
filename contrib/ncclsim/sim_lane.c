/* sim_lane.c - one user thread with its communicators and its proxy thread.
 *
 * sim_lane_run is the life of the thread: prepare one of the two programs,
 * create the communicators, run the iterations, destroy everything. The
 * programs call issue for each launch; it waits for its time, decides how NCCL
 * does the operations, and raises the events. */
#include "contrib/ncclsim/sim_lane.h"

#include <inttypes.h>
#include <math.h>
#include <unistd.h>

#include "contrib/ncclsim/sim_crash.h"
#include "contrib/ncclsim/sim_device.h"
#include "contrib/ncclsim/sim_plugin.h"
#include "contrib/ncclsim/sim_random.h"
#include "contrib/ncclsim/sim_ways.h"

/* A longer delay is not made up for with --no-catch-up. */
#define HELD_UP_NS 50000000
/* Time for a rank to issue the first operations of an iteration, which it
 * exchanges with all others; with --sync nothing else keeps the GPU busy. */
#define AHEAD_NS 100000000
#define SYNC_AHEAD_NS 10000000

/* Whether the plain program runs, not the 3-D one. */
static int is_plain(const struct jp_sim_lane *lane)
{
    return sim_options_is_plain(lane->options);
}

/* Creates the communicators of our rank. */
static void create_comms(struct jp_sim_lane *lane)
{
    int me = lane->world->rank;
    int i;

    for (i = 0; i < lane->comms.n_at; i++) {
        const struct jp_sim_group *group =
            is_plain(lane) ? &lane->plain.groups[i]
                           : &lane->groups[i].groups[lane->groups[i].of[me]];

        if (group->n > 0)
            sim_comms_create(&lane->comms, group);
    }
    sim_proxy_move(lane->proxy, sim_comms_context(&lane->comms, -1));
}

/* Destroys or recreates the communicator after an operation, if a fault demands
 * it. As ncclCommDestroy() does, it waits for the communicator's operations. */
static void meet_fate(struct jp_sim_lane *lane, const struct jp_sim_op *op)
{
    const struct jp_sim_fault_site site = {.comm = op->group->label,
                                           .op = op->number};
    enum jp_sim_fate fate = sim_faults_fate(&lane->options->faults, &site);
    int index = op->group->index;

    /* only collectives are counted */
    if (fate == SIM_STAYS || op->peer >= 0 || op->hangs)
        return;
    sim_host_wait(lane->host, NULL);
    sim_proxy_move(lane->proxy, sim_comms_context(&lane->comms, index));
    sim_comms_destroy(&lane->comms, index);
    if (fate == SIM_RECREATED)
        sim_comms_create(&lane->comms, op->group);
    sim_proxy_move(lane->proxy, sim_comms_context(&lane->comms, -1));
}

/* Sets how many channels of each operation report nothing (--fault
 * short-channels). */
static void set_missing(struct jp_sim_lane *lane,
                        const struct jp_sim_launch *launch)
{
    int i;

    for (i = 0; i < launch->n; i++)
        launch->ops[i].n_missing =
            sim_faults_missing(&lane->options->faults, lane->n_issued++);
}

/* Runs a launch. Graphs are captured and launched by this thread and run by
 * CUDA's thread, while this one goes on with other communicators. */
static void launch_one(struct jp_sim_lane *lane, struct jp_sim_comm *comm,
                       const struct jp_sim_launch *launch)
{
    int meets = lane->options->together || lane->options->meet;
    const struct jp_sim_stage stage = {lane->options, lane->proxy, &lane->clock,
                                       lane->meet, meets};

    if (launch->mode != SIM_REPLAY) {
        sim_host_wait(lane->host, comm);
        sim_events_launch(&stage, comm, launch);
        return;
    }
    if (!sim_comms_graph(comm, launch->slot)) { /* created again */
        struct jp_sim_launch first = *launch;

        first.mode = SIM_CAPTURE;
        launch_one(lane, comm, &first);
    }
    sim_host_run(lane->host, &stage, comm, launch);
    if (lane->options->is_inline)
        sim_host_wait(lane->host, NULL);
}

/* Issues a launch of the program. A sim_model_issue_fn. */
static void issue(void *data, const struct jp_sim_launch *launch)
{
    struct jp_sim_lane *lane = data;
    struct jp_sim_comm *comm = lane->comms.at[launch->ops[0].group->index];

    /* destroyed by a fault */
    if (!comm)
        return;
    if (launch->mode != SIM_CAPTURE)
        sim_pace_wait(&lane->pace, launch->n);
    sim_ways_set(lane->options, launch);
    if (lane->options->faults.n > 0)
        set_missing(lane, launch);
    launch_one(lane, comm, launch);
    if (lane->options->faults.n > 0 && launch->mode != SIM_CAPTURE)
        meet_fate(lane, &launch->ops[0]);
}

/* Waits until the iteration that has just ended may be over, by --seconds or
 * --realtime. */
static void pace(struct jp_sim_lane *lane, int done)
{
    const struct jp_sim_options *o = lane->options;
    double virtual_ns = is_plain(lane)
                            ? (double) lane->plain.clock_ns
                            : (double) sim_model_now_ns(&lane->model);
    int64_t until = 0;

    if (o->seconds_us > 0)
        until =
            (int64_t) ((double) o->seconds_us * 1000.0 * done / o->iterations);
    else if (o->realtime > 0.0)
        until = (int64_t) (virtual_ns * o->realtime);
    if (until > 0) {
        int64_t late = sim_pace_now_ns() - lane->pace.began_ns - until;

        if (o->no_catch_up && late > HELD_UP_NS)
            lane->pace.began_ns += late;
        sim_pace_sleep_until(lane->pace.began_ns + until);
    }
}

/* Prepares the plain program. */
static int prepare_plain(struct jp_sim_lane *lane)
{
    const struct jp_sim_options *o = lane->options;

    lane->plain = (struct jp_sim_plain){
        .world = lane->world,
        .faults = &o->faults,
        .tempo = lane->tempo,
        .seed = lane->seed,
        .n_comms = o->n_comms > 0 ? o->n_comms : 1,
        .colls = o->colls >= 0 ? o->colls : 1,
        .p2p_ops = o->p2p_ops > 0 ? o->p2p_ops : 0,
        .group = o->group,
        .alltoall = o->alltoall,
        .mixed_protocols = o->mixed_protocols,
        .broadcasts = o->allgatherv,
        .graph = o->graph,
        .graph_mix = o->graph_mix,
        .graph_comm = o->graph_comm,
        .bytes = o->zero_bytes ? 0 : o->bytes,
        .n_channels = o->n_channels,
    };
    if (sim_plain_init(&lane->plain, &lane->err) < 0)
        return -1;
    return sim_comms_init(&lane->comms, lane->plain.n_comms, &lane->err);
}

/* Prepares the 3-D program. */
static int prepare_model(struct jp_sim_lane *lane)
{
    const struct jp_sim_options *o = lane->options;
    int k, g;

    if (sim_groups_init(lane->groups, lane->world, lane->seed, o->tp_ranks,
                        o->pp, &lane->err) < 0)
        return -1;
    if (o->one_id)
        sim_groups_share_ids(lane->groups);
    for (k = 0; k < SIM_N_KINDS; k++)
        for (g = 0; g < lane->groups[k].n; g++)
            lane->groups[k].groups[g].tempo = lane->tempo;
    lane->model = (struct jp_sim_model){
        .world = lane->world,
        .groups = lane->groups,
        .faults = &o->faults,
        .seed = lane->seed,
        .tempo = lane->tempo,
        .p2p = o->p2p,
        .alltoall = o->alltoall,
        .graph = o->graph,
        .graph_mix = o->graph_mix,
        .graph_comm = o->graph_comm,
        .n_channels = o->n_channels,
    };
    if (sim_model_init(&lane->model, &lane->err) < 0)
        return -1;
    return sim_comms_init(&lane->comms, SIM_N_KINDS, &lane->err);
}

/* Returns the factor of the run's duration. All ranks share the seed, so it is
 * the same for all: a normal number, as the sum of twelve uniform ones. */
static double run_tempo(uint64_t seed, double percent)
{
    double sum = -6;
    uint64_t i;

    for (i = 0; i < 12; i++)
        sum += (double) sim_random_below(sim_random_mix(seed, 9000 + i), 1001) /
               1000;
    return fmax(0.1, 1 + sum * percent / 100);
}

/* A fault that cannot happen is an error: without it a test would wait for what
 * never comes. */
static int check_faults(struct jp_sim_lane *lane)
{
    const struct jp_sim_options *o = lane->options;
    const struct jp_sim_groups plain = {.n = lane->plain.n_comms,
                                        .groups = lane->plain.groups};

    const struct jp_sim_groups *kinds = is_plain(lane) ? &plain : lane->groups;

    return sim_faults_check(&o->faults, kinds, is_plain(lane) ? 1 : SIM_N_KINDS,
                            o->alltoall, &lane->err);
}

/* Prepares everything that runs in threads. Returns -1 with lane->err on
 * failure. */
static int prepare(struct jp_sim_lane *lane)
{
    lane->tempo = run_tempo(lane->seed, lane->options->run_noise);
    lane->comms.options = lane->options;
    lane->comms.world = lane->world;
    if ((is_plain(lane) ? prepare_plain(lane) : prepare_model(lane)) < 0 ||
        check_faults(lane) < 0)
        return -1;
    lane->proxy = sim_proxy_create(lane->options->is_inline, &lane->err);
    if (!lane->proxy)
        return -1;
    if (lane->options->together || lane->options->meet ||
        sim_faults_have_causes(&lane->options->faults)) {
        const struct jp_sim_meet_place place = {
            .faults = &lane->options->faults,
            .world = lane->world,
            .seed = lane->seed,
            .in_operations = lane->options->together || lane->options->meet,
            .ahead_ns = lane->options->sync ? SYNC_AHEAD_NS : AHEAD_NS,
            .nvml = lane->options->nvml};

        lane->meet = sim_meet_begin(&place, &lane->err);
        if (!lane->meet)
            return -1;
    }
    if (lane->options->graph > 0)
        lane->host = sim_host_create(&lane->err);
    return lane->options->graph > 0 && !lane->host ? -1 : 0;
}

/* Prints why the lane stops, then stays until it is killed or --seconds have
 * passed. */
static void halt(struct jp_sim_lane *lane, const struct jp_sim_halt *halt)
{
    int64_t us = lane->options->seconds_us;

    fprintf(stderr, "ncclsim: rank %d %s operation %" PRIu64 " of %s\n",
            lane->world->rank,
            halt->stop == SIM_CRASHES ? "dies before"
            : halt->waits             ? "waits in"
                                      : "stops before",
            halt->op, halt->group->label);
    if (halt->stop == SIM_CRASHES)
        sim_crash_now(halt->signal);
    sim_crash_save();
    while (us == 0)
        pause();
    sim_pace_sleep_until(lane->pace.began_ns + us * 1000);
    lane->halted = 1;
}

/* Exchanges with all ranks how late each is by a cause, before an iteration. */
static int meet(struct jp_sim_lane *lane, int iteration)
{
    struct jp_sim_round round = {
        .iteration = iteration,
        .calls = is_plain(lane) ? lane->plain.calls : lane->model.calls,
        .base_ns = __atomic_load_n(&lane->clock.base_ns, __ATOMIC_RELAXED)};

    if (!lane->meet)
        return 0;
    round.now_ns = is_plain(lane) ? lane->plain.clock_ns
                                  : sim_model_now_ns(&lane->model);
    if (sim_meet(lane->meet, &round, &lane->err) < 0)
        return -1;
    __atomic_store_n(&lane->clock.base_ns, round.base_ns, __ATOMIC_RELAXED);
    lane->plain.late_ns = round.late_ns;
    lane->model.late_ns = round.late_ns;
    if (lane->options->verbose) {
        printf("ncclsim: iteration %d: late by", iteration);
        for (int r = 0; r < lane->world->n_ranks; r++)
            printf(" %" PRId64, round.late_ns[r] / 1000);
        puts(" us");
    }
    return 0;
}

/* Runs the iterations until the end or a hang. */
static void run_iterations(struct jp_sim_lane *lane)
{
    const struct jp_sim_halt *stop = is_plain(lane) ? &lane->plain.halt
                                                    : &lane->model.halt;
    int i;

    for (i = 0; i < lane->options->iterations && !stop->stop; i++) {
        if (lane->options->mute_from > 0 && i == lane->options->mute_from)
            sim_plugin_mute(1, lane->options->mute_mask);
        if (lane->options->mute_to > 0 && i == lane->options->mute_to)
            sim_plugin_mute(0, 0);
        if (meet(lane, i) < 0) {
            lane->failed = 1;
            break;
        }
        if (is_plain(lane))
            sim_plain_iterate(&lane->plain, issue, lane);
        else
            sim_model_iterate(&lane->model, i, issue, lane);
        if (lane->options->sync)
            sim_proxy_move(lane->proxy, sim_comms_context(&lane->comms, -1));
        if (!stop->stop)
            pace(lane, i + 1);
    }
    sim_host_wait(lane->host, NULL);
    if (stop->stop)
        halt(lane, stop);
}

void sim_lane_run(struct jp_sim_lane *lane)
{
    if (prepare(lane) < 0) {
        lane->failed = 1;
        return;
    }
    if (lane->device >= 0 && sim_device_set(lane->device, &lane->err) < 0) {
        lane->failed = 1;
        return;
    }
    create_comms(lane);
    sim_pace_init(&lane->pace, lane->options->rate / lane->options->threads);
    lane->clock.base_ns = lane->pace.began_ns;
    run_iterations(lane);
    /* replays need the progress thread, so this order */
    sim_host_destroy(lane->host);
    lane->host = NULL;
    sim_proxy_destroy(lane->proxy);
    lane->proxy = NULL;
    sim_meet_end(lane->meet);
    lane->meet = NULL;
    lane->ran_ns = sim_pace_now_ns() - lane->pace.began_ns;
    /* after a hang as ncclCommAbort() does: operations stay in flight */
    if (lane->options->finalize && sim_comms_destroy_all(&lane->comms) < 0)
        lane->halted = 1;
}

void sim_lane_fini(struct jp_sim_lane *lane)
{
    sim_meet_end(lane->meet); /* of a lane that failed */
    lane->meet = NULL;
    sim_model_fini(&lane->model);
    sim_groups_fini(lane->groups);
    sim_plain_fini(&lane->plain);
    sim_comms_fini(&lane->comms);
}
