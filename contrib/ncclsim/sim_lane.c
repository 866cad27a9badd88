/* One user thread with its communicators and its proxy thread. */
#include "contrib/ncclsim/sim_lane.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "contrib/ncclsim/sim_plugin.h"

/* Any number: GPU clocks of different nodes have nothing in common. */
#define GPU_EPOCH_NS 1000000000000000ULL
#define GPU_SKEW_NS 7777777777ULL

static void create_comms(struct jp_sim_lane *lane)
{
    int me = lane->world->rank;
    int k;

    for (k = 0; k < SIM_N_KINDS; k++) {
        const struct jp_sim_groups *all = &lane->groups[k];
        const struct jp_sim_group *group = &all->groups[all->of[me]];
        struct jp_sim_comm *comm = &lane->comms[k];

        if (group->n == 0)
            continue;
        comm->group = group;
        comm->rank = sim_groups_rank(group, me);
        comm->gpu_base_ns = GPU_EPOCH_NS +
                            GPU_SKEW_NS * (uint64_t) lane->world->node[me];
        sim_plugin_init(lane->options->interface, group->hash, group->name,
                        group->n_nodes, group->n, comm->rank, &comm->context);
        if (lane->options->verbose)
            printf("ncclsim: rank %d: comm %s 0x%" PRIx64
                   " rank %d of %d on %d nodes%s\n",
                   me, group->name ? group->name : "(single)", group->hash,
                   comm->rank, group->n, group->n_nodes,
                   comm->context ? "" : ", not profiled");
    }
}

static void destroy_comms(struct jp_sim_lane *lane)
{
    int k;

    for (k = 0; k < SIM_N_KINDS; k++) {
        if (lane->comms[k].group)
            sim_plugin_finalize(lane->comms[k].context);
    }
}

static void issue(void *data, const struct jp_sim_launch *launch)
{
    struct jp_sim_lane *lane = data;

    sim_events_launch(&lane->comms[launch->ops[0].group->kind], lane->proxy,
                      launch);
}

static int64_t wall_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void sleep_until(int64_t ns)
{
    struct timespec ts = {ns / 1000000000, ns % 1000000000};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
        ;
}

/* Waits until the iteration just done may be over. */
static void pace(const struct jp_sim_lane *lane, int64_t began, int done)
{
    const struct jp_sim_options *o = lane->options;
    double virtual_ns = (double) sim_model_now_ns(&lane->model);
    int64_t until = 0;

    if (o->seconds_us > 0)
        until =
            (int64_t) ((double) o->seconds_us * 1000.0 * done / o->iterations);
    else if (o->realtime > 0.0)
        until = (int64_t) (virtual_ns * o->realtime);
    if (until > 0)
        sleep_until(began + until);
}

static int prepare(struct jp_sim_lane *lane)
{
    if (sim_groups_init(lane->groups, lane->world, lane->seed, &lane->err) < 0)
        return -1;
    lane->model = (struct jp_sim_model){
        .world = lane->world,
        .groups = lane->groups,
        .faults = &lane->options->faults,
        .seed = lane->seed,
        .p2p = lane->options->p2p,
        .alltoall = lane->options->alltoall,
    };
    return sim_model_init(&lane->model, &lane->err);
}

void sim_lane_run(struct jp_sim_lane *lane)
{
    int64_t began = wall_ns();
    int i;

    if (prepare(lane) < 0) {
        lane->failed = 1;
        return;
    }
    create_comms(lane);
    lane->proxy = sim_proxy_create(lane->comms[0].context, &lane->err);
    lane->failed = !lane->proxy;
    for (i = 0; lane->proxy && i < lane->options->iterations; i++) {
        sim_model_iterate(&lane->model, i, issue, lane);
        pace(lane, began, i + 1);
    }
    sim_proxy_destroy(lane->proxy);
    lane->proxy = NULL;
    if (lane->options->finalize)
        destroy_comms(lane);
}

void sim_lane_put_counts(const struct jp_sim_lane *lane, FILE *out, int *first)
{
    int k;

    for (k = 0; k < SIM_N_KINDS; k++) {
        const struct jp_sim_comm *comm = &lane->comms[k];

        if (!comm->group)
            continue;
        if (!*first)
            fputc(',', out);
        *first = 0;
        sim_counts_put(out, &comm->counts, comm->group, comm->rank);
    }
}

uint64_t sim_lane_total(const struct jp_sim_lane *lane)
{
    uint64_t sum = 0;
    int k;

    for (k = 0; k < SIM_N_KINDS; k++)
        sum += sim_counts_total(&lane->comms[k].counts);
    return sum;
}

void sim_lane_fini(struct jp_sim_lane *lane)
{
    sim_model_fini(&lane->model);
    sim_groups_fini(lane->groups);
}
