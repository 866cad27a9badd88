/* sim_model.c - the 3-D parallel program: what it computes and communicates,
 * and when.
 *
 * An iteration is the table `steps`. Each step advances the virtual clocks of
 * all ranks; for our own rank it also calls issue with the launch. collective
 * shows the principle: all members arrive, the last arrival and the cost give
 * the end, and each member's clock moves there. Faults are asked before an
 * operation (is_blocked) and at each arrival (arrive). */
#include "contrib/ncclsim/sim_model.h"

#include <stdlib.h>
#include <string.h>

#include "contrib/ncclsim/sim_cost.h"
#include "contrib/ncclsim/sim_random.h"

#define MIB (1024ULL * 1024)

/* What a step does. */
enum action { COMPUTE, COLLECTIVE, PIPELINE, ALLTOALL };

/* One iteration, in order. `every` N: only each N-th iteration. */
static const struct step {
    enum action action;
    enum jp_sim_kind kind;
    enum jp_nccl_func func;
    uint64_t bytes; /* COMPUTE: microseconds */
    int every;
    int backwards; /* PIPELINE: from the last node to the first */
} steps[] = {
    {COMPUTE, SIM_SELF, 0, 2000, 1, 0},
    {COLLECTIVE, SIM_SELF, JP_NCCL_ALL_REDUCE, 2 * MIB, 1, 0},
    {COLLECTIVE, SIM_TP, JP_NCCL_ALL_GATHER, 2 * MIB, 1, 0},
    {COLLECTIVE, SIM_TP, JP_NCCL_REDUCE_SCATTER, 2 * MIB, 1, 0},
    {COLLECTIVE, SIM_TP, JP_NCCL_ALL_GATHER, 4 * MIB, 1, 0},
    {COLLECTIVE, SIM_TP, JP_NCCL_REDUCE_SCATTER, 4 * MIB, 1, 0},
    {COLLECTIVE, SIM_TP, JP_NCCL_ALL_GATHER, 8 * MIB, 1, 0},
    {COLLECTIVE, SIM_TP, JP_NCCL_REDUCE_SCATTER, 8 * MIB, 1, 0},
    {PIPELINE, SIM_WORLD, 0, 4 * MIB, 1, 0},
    {COMPUTE, SIM_SELF, 0, 3000, 1, 0},
    {PIPELINE, SIM_WORLD, 0, 4 * MIB, 1, 1},
    {ALLTOALL, SIM_WORLD, 0, 1 * MIB, 1, 0},
    {COLLECTIVE, SIM_DP, JP_NCCL_ALL_GATHER, 8 * MIB, 1, 0},
    {COLLECTIVE, SIM_DP, JP_NCCL_ALL_REDUCE, 64 * MIB, 1, 0},
    {COLLECTIVE, SIM_DP, JP_NCCL_ALL_REDUCE, 512 * MIB, 20, 0},
    {COLLECTIVE, SIM_WORLD, JP_NCCL_ALL_REDUCE, 128 * MIB, 1, 0},
    {COLLECTIVE, SIM_WORLD, JP_NCCL_BROADCAST, MIB / 2, 5, 0},
    {COLLECTIVE, SIM_WORLD, JP_NCCL_REDUCE, 1 * MIB, 10, 0},
    {COLLECTIVE, SIM_PP, JP_NCCL_BROADCAST, 4 * MIB, 1, 0},
};

enum { N_STEPS = sizeof(steps) / sizeof(steps[0]) };

int sim_model_init(struct jp_sim_model *model, struct jp_error *err)
{
    size_t n = (size_t) model->world->n_ranks;
    int ok;
    int k;

    model->clock_ns = calloc(n, sizeof(*model->clock_ns));
    /* an AlltoAll has a Send and a Recv per rank */
    model->ops = calloc(2 * n + 2, sizeof(*model->ops));
    model->stuck = calloc(n, sizeof(*model->stuck));
    ok = model->clock_ns && model->ops && model->stuck;
    for (k = 0; k < SIM_N_KINDS; k++) {
        model->n_ops[k] = calloc(n, sizeof(*model->n_ops[k]));
        ok = ok && model->n_ops[k];
    }
    if (!ok) {
        sim_model_fini(model);
        return error_set(err, "no memory");
    }
    return 0;
}

void sim_model_fini(struct jp_sim_model *model)
{
    int k;

    free(model->clock_ns);
    free(model->ops);
    free(model->stuck);
    model->clock_ns = NULL;
    model->ops = NULL;
    model->stuck = NULL;
    for (k = 0; k < SIM_N_KINDS; k++) {
        free(model->n_ops[k]);
        model->n_ops[k] = NULL;
    }
}

int64_t sim_model_now_ns(const struct jp_sim_model *model)
{
    return model->clock_ns[model->world->rank];
}

/* Returns a key for noise: the same in all processes, but different each time.
 */
static uint64_t noise_key(const struct jp_sim_model *model, uint64_t what)
{
    uint64_t key = sim_random_mix(model->seed, (uint64_t) model->iteration);

    return sim_random_mix(sim_random_mix(key, (uint64_t) model->step), what);
}

/* Moves a rank's clock to its arrival at the operation. Returns the clock. */
static int64_t arrive(struct jp_sim_model *model, int rank,
                      const struct jp_sim_group *group, int is_p2p)
{
    const struct jp_sim_fault_site site = {
        .rank = rank,
        .node = model->world->node[rank],
        .comm_ranks = group->n,
        .is_p2p = is_p2p,
        .func = steps[model->step % N_STEPS].action == COLLECTIVE
                    ? sim_cost_func_name(steps[model->step % N_STEPS].func)
                    : NULL,
    };
    uint64_t jitter = noise_key(model, 1000 + (uint64_t) rank);
    int is_call = !is_p2p && group->n > 1;

    model->clock_ns[rank] +=
        (int64_t) sim_random_below(jitter, 3000) +
        sim_faults_arrival_ns(model->faults, &site) +
        (model->late_ns && is_call ? model->late_ns[rank] : 0);
    model->calls += is_call && rank == model->world->rank;
    return model->clock_ns[rank];
}

/* Lets a rank enter an operation that never ends, because a peer never comes.
 * Returns whether it is our own rank. */
static int catch_in(struct jp_sim_model *model, int rank,
                    const struct jp_sim_group *group, uint64_t op)
{
    /* it waits somewhere else already */
    if (model->stuck[rank])
        return 0;
    model->stuck[rank] = 1;
    if (rank != model->world->rank)
        return 0;
    model->halt = (struct jp_sim_halt){
        .stop = SIM_HANGS, .waits = 1, .group = group, .op = op};
    return 1;
}

/* Stops a rank before the operation if a fault demands it. */
static void stop_before(struct jp_sim_model *model, int rank,
                        const struct jp_sim_group *group, uint64_t op,
                        int is_alltoall)
{
    const struct jp_sim_fault_site site = {.rank = rank,
                                           .comm = group->label,
                                           .op = op,
                                           .is_alltoall = is_alltoall};
    struct jp_sim_halt halt = {.group = group, .op = op};

    if (model->stuck[rank])
        return;
    halt.stop = sim_faults_stop(model->faults, &site, &halt.signal);
    if (halt.stop == SIM_GOES_ON)
        return;
    model->stuck[rank] = 1;
    if (rank == model->world->rank)
        model->halt = halt;
}

/* Whether a member of the group never comes to the operation. */
static int is_blocked(struct jp_sim_model *model,
                      const struct jp_sim_group *group, uint64_t op,
                      int is_alltoall)
{
    int blocked = 0;
    int i;

    if (model->faults->n == 0)
        return 0;
    for (i = 0; i < group->n; i++) {
        stop_before(model, group->members[i], group, op, is_alltoall);
        blocked |= model->stuck[group->members[i]];
    }
    return blocked;
}

/* Returns an operation of the group, without its times. */
static struct jp_sim_op make_op(const struct jp_sim_model *model,
                                const struct jp_sim_group *group,
                                enum jp_nccl_func func, uint64_t bytes)
{
    return (struct jp_sim_op){
        .group = group,
        .func = func,
        .bytes = bytes,
        .peer = -1,
        .n_channels = model->n_channels ? model->n_channels
                                        : sim_cost_channels(bytes),
        .crosses = group->n_nodes > 1,
    };
}

/* Returns when the operation ends for member i, given its own arrival, the
 * root's and the last one's. */
static int64_t end_for(const struct jp_sim_op *op, int i, int64_t own,
                       int64_t root, int64_t all, int64_t took)
{
    int64_t begin = all;

    if (op->func == JP_NCCL_BROADCAST)
        begin = own > root ? own : root; /* the root sends and goes on */
    else if (op->func == JP_NCCL_REDUCE && i != op->root)
        begin = own; /* only the root needs everyone */
    return begin + took;
}

/* Runs a collective of one group. */
static void collective(struct jp_sim_model *model, const struct step *step,
                       const struct jp_sim_group *group, enum jp_sim_mode mode,
                       sim_model_issue_fn *issue, void *data)
{
    const struct jp_sim_groups *all_groups = &model->groups[step->kind];
    /* counted per communicator, by all processes alike */
    uint64_t *n_ops = &model->n_ops[step->kind][group - all_groups->groups];
    struct jp_sim_op op = make_op(model, group, step->func, step->bytes);
    struct jp_sim_launch launch = {
        .n = 1, .ops = &op, .mode = mode, .slot = (int) (step - steps)};
    int64_t took = sim_cost_ns(group, step->func, step->bytes,
                               noise_key(model, group->hash));
    int64_t all = 0;
    int64_t root = 0;
    int i;

    op.number = (*n_ops)++;
    op.hangs = is_blocked(model, group, op.number, 0);
    for (i = 0; i < group->n; i++) {
        int64_t at = arrive(model, group->members[i], group, 0);

        if (i == op.root)
            root = at;
        if (at > all)
            all = at;
    }
    for (i = 0; i < group->n; i++) {
        int rank = group->members[i];
        int64_t own = model->clock_ns[rank];

        model->clock_ns[rank] = end_for(&op, i, own, root, all, took);
        if (op.hangs ? catch_in(model, rank, group, op.number)
                     : rank == model->world->rank) {
            op.start_ns = own;
            op.all_ns = all;
            op.end_ns = model->clock_ns[rank];
            issue(data, &launch);
        }
    }
}

/* Adds our side of a message to the launch. Returns the operation. */
static struct jp_sim_op *add_p2p(struct jp_sim_model *model,
                                 struct jp_sim_launch *launch, int peer,
                                 enum jp_nccl_func func, uint64_t bytes)
{
    const struct jp_sim_group *world = &model->groups[SIM_WORLD].groups[0];
    struct jp_sim_op *op = &launch->ops[launch->n++];

    *op = make_op(model, world, func, bytes);
    op->peer = peer;
    op->crosses = model->world->node[peer] !=
                  model->world->node[model->world->rank];
    return op;
}

/* One message of the pipeline; both clocks move to its end. */
static void message(struct jp_sim_model *model, const struct step *step,
                    int from, int to, const int64_t arrived_ns[2],
                    struct jp_sim_launch *launch)
{
    const struct jp_sim_group *world = &model->groups[SIM_WORLD].groups[0];
    int me = model->world->rank;
    int64_t from_ns = arrived_ns[0], to_ns = arrived_ns[1];
    int64_t end = (from_ns > to_ns ? from_ns : to_ns) +
                  sim_cost_ns(world, JP_NCCL_SEND, step->bytes,
                              noise_key(model, (uint64_t) from));
    struct jp_sim_op *op = NULL;

    if (from == me)
        op = add_p2p(model, launch, to, JP_NCCL_SEND, step->bytes);
    else if (to == me)
        op = add_p2p(model, launch, from, JP_NCCL_RECV, step->bytes);
    if (op) {
        op->start_ns = from == me ? from_ns : to_ns;
        op->end_ns = end;
        /* one of the two never comes */
        op->hangs = model->stuck[from] || model->stuck[to];
    }
    if (end > model->clock_ns[from])
        model->clock_ns[from] = end;
    if (end > model->clock_ns[to])
        model->clock_ns[to] = end;
}

/* Lets the neighbours of stuck ranks wait for them from now on. */
static void catch_neighbours(struct jp_sim_model *model,
                             const struct jp_sim_group *dp)
{
    const struct jp_sim_group *world = &model->groups[SIM_WORLD].groups[0];
    char *before = calloc((size_t) dp->n + 1, sizeof(*before));
    int i;

    if (!before)
        abort();
    for (i = 0; i < dp->n; i++)
        /* a copy, because a hang spreads by one neighbour per step */
        before[i] = model->stuck[dp->members[i]];
    for (i = 0; i < dp->n; i++) {
        if ((i > 0 && before[i - 1]) || before[i + 1])
            catch_in(model, dp->members[i], world, 0);
    }
    free(before);
}

/* Runs the pipeline between neighbouring nodes. Its ranks have the same local
 * number, so they are neighbours in DP. */
static void pipeline(struct jp_sim_model *model, const struct step *step,
                     const struct jp_sim_group *dp, sim_model_issue_fn *issue,
                     void *data)
{
    const struct jp_sim_group *world = &model->groups[SIM_WORLD].groups[0];
    struct jp_sim_launch launch = {.ops = model->ops, .grouped = 1};
    int64_t *arrived = calloc((size_t) dp->n + 1, sizeof(*arrived));
    int i;

    if (!arrived)
        abort();
    for (i = 0; i < dp->n; i++)
        arrived[i] = arrive(model, dp->members[i], world, 1);
    for (i = 0; i + 1 < dp->n; i++) {
        int back = step->backwards;
        const int64_t at[2] = {arrived[i + back], arrived[i + !back]};

        message(model, step, dp->members[i + back], dp->members[i + !back], at,
                &launch);
    }
    free(arrived);
    if (model->faults->n > 0)
        catch_neighbours(model, dp);
    if (launch.n > 0)
        issue(data, &launch);
}

/* Adds round r of an AlltoAll: our rank sends to rank me + r and receives from
 * rank me - r. Round 0 is a copy to oneself. */
static void add_round(struct jp_sim_model *model, struct jp_sim_launch *launch,
                      int r, uint64_t bytes)
{
    int n = model->world->n_ranks;
    int me = model->world->rank;

    add_p2p(model, launch, (me + r) % n, JP_NCCL_SEND, bytes)->round = r;
    add_p2p(model, launch, (me + n - r) % n, JP_NCCL_RECV, bytes)->round = r;
}

/* Sets the times of a round's Send and Recv. */
static void set_round(struct jp_sim_launch *launch, int r, int64_t start_ns,
                      int64_t end_ns)
{
    int i;

    for (i = 2 * r; i < 2 * r + 2; i++) {
        launch->ops[i].start_ns = start_ns;
        launch->ops[i].end_ns = end_ns;
    }
}

/* Runs an AlltoAll, which NCCL turns into n Sends and n Recvs, one pair of them
 * with itself. */
static void alltoall(struct jp_sim_model *model, const struct step *step,
                     const struct jp_sim_group *world,
                     sim_model_issue_fn *issue, void *data)
{
    struct jp_sim_launch launch = {.ops = model->ops};
    uint64_t number = model->n_alltoalls++;
    int hangs = is_blocked(model, world, number, 1);
    int64_t mine = 0;
    int64_t end = 0;
    int64_t took;
    int r;

    if (model->halt.stop)
        return;

    for (r = 0; r < world->n; r++) {
        int64_t at = arrive(model, r, world, 1);

        if (r == model->world->rank)
            mine = at;
        if (at > end)
            end = at;
    }
    took = sim_cost_ns(world, JP_NCCL_SEND, step->bytes,
                       noise_key(model, world->hash));
    for (r = 0; r < world->n; r++) {
        add_round(model, &launch, r, step->bytes);
        set_round(&launch, r, r == 0 ? mine : end, end + took);
        end += took;
    }
    for (r = 0; r < world->n; r++)
        /* all ranks end together */
        model->clock_ns[r] = end;
    for (r = 0; r < launch.n; r++)
        launch.ops[r].hangs = hangs;
    for (r = 0; hangs && r < world->n; r++)
        catch_in(model, r, world, number);
    issue(data, &launch);
}

/* Computes on all ranks, with up to 20 us of noise. */
static void compute(struct jp_sim_model *model, const struct step *step)
{
    double tempo = model->tempo > 0.0 ? model->tempo : 1.0;
    int64_t ns = (int64_t) ((double) step->bytes * 1000.0 * tempo);
    int r;

    for (r = 0; r < model->world->n_ranks; r++) {
        uint64_t key = noise_key(model, 2000 + (uint64_t) r);

        model->clock_ns[r] += ns + (int64_t) sim_random_below(key, 20000);
    }
}

/* Whether step n is part of a CUDA graph. */
static int is_captured(const struct jp_sim_model *model, int n)
{
    const char *comm = model->graph_comm ? model->graph_comm : "tp";
    const struct step *step = &steps[n];
    int next = n + 1;

    if (model->graph == 0 || step->action != COLLECTIVE || step->every != 1 ||
        model->groups[step->kind].n == 0 ||
        strcmp(model->groups[step->kind].groups[0].label, comm) != 0)
        return 0;
    /* the last one of the communicator stays eager */
    while (model->graph_mix && next < N_STEPS &&
           (steps[next].action != COLLECTIVE || steps[next].kind != step->kind))
        next++;
    return !model->graph_mix || next < N_STEPS;
}

/* Captures all of our own operations, before the first replay. */
static void capture(struct jp_sim_model *model, sim_model_issue_fn *issue,
                    void *data)
{
    int n;

    for (n = 0; n < N_STEPS; n++) {
        const struct jp_sim_groups *all = &model->groups[steps[n].kind];
        struct jp_sim_op op;
        struct jp_sim_launch launch = {
            .n = 1, .ops = &op, .mode = SIM_CAPTURE, .slot = n};

        if (!is_captured(model, n))
            continue;
        op = make_op(model, &all->groups[all->of[model->world->rank]],
                     steps[n].func, steps[n].bytes);
        if (op.group->n > 0)
            issue(data, &launch);
    }
}

/* Runs a step for all groups of its kind, because every process needs the
 * clocks of all ranks. */
static void run_step(struct jp_sim_model *model, int n,
                     sim_model_issue_fn *issue, void *data)
{
    const struct step *step = &steps[n];
    int kind = step->action == PIPELINE ? SIM_DP : step->kind;
    enum jp_sim_mode mode = is_captured(model, n) ? SIM_REPLAY : SIM_EAGER;
    int g;

    for (g = 0; g < model->groups[kind].n && !model->halt.stop; g++) {
        const struct jp_sim_group *group = &model->groups[kind].groups[g];

        if (group->n == 0)
            continue;
        if (step->action == COLLECTIVE)
            collective(model, step, group, mode, issue, data);
        else if (step->action == PIPELINE && model->p2p)
            pipeline(model, step, group, issue, data);
        else if (step->action == ALLTOALL && model->alltoall)
            alltoall(model, step, group, issue, data);
    }
}

void sim_model_iterate(struct jp_sim_model *model, int iteration,
                       sim_model_issue_fn *issue, void *data)
{
    int again, n;

    model->iteration = iteration;
    model->calls = 0;
    if (iteration == 0 && model->graph > 0)
        capture(model, issue, data);
    for (n = 0; n < N_STEPS; n++) {
        model->step = n;
        if (iteration % steps[n].every != 0)
            continue;
        if (steps[n].action == COMPUTE)
            compute(model, &steps[n]);
        else
            run_step(model, n, issue, data);
    }
    /* further replays of the captured steps */
    for (again = 1; again < model->graph; again++) {
        for (n = 0; n < N_STEPS; n++) {
            model->step = again * N_STEPS + n;
            if (is_captured(model, n))
                run_step(model, n, issue, data);
        }
    }
}
