/* The plain program: so many communicators, so many operations on each. */
#include "contrib/ncclsim/sim_plain.h"

#include <stdio.h>
#include <stdlib.h>

#include "contrib/ncclsim/sim_cost.h"
#include "contrib/ncclsim/sim_random.h"

enum { JITTER_NS = 3000, NAME_BYTES = 16 };

static const enum jp_nccl_func funcs[SIM_PLAIN_FUNCS] = {
    JP_NCCL_ALL_REDUCE, JP_NCCL_ALL_GATHER, JP_NCCL_REDUCE_SCATTER};

/* All ranks, under a name of its own. */
static int fill_group(struct jp_sim_plain *plain, int c)
{
    const struct jp_sim_world *world = plain->world;
    struct jp_sim_group *group = &plain->groups[c];
    char *name = malloc(NAME_BYTES);
    int *members = calloc((size_t) world->n_ranks, sizeof(*members));
    int r;

    *group = (struct jp_sim_group){
        .kind = SIM_WORLD,
        .index = c,
        .label = name,
        .name = name,
        .hash = sim_random_mix(plain->seed, 5000 + (uint64_t) c),
        .n = world->n_ranks,
        .members = members,
        .n_nodes = world->n_nodes,
    };
    if (!name || !members)
        return -1;
    snprintf(name, NAME_BYTES, "comm%d", c);
    for (r = 0; r < world->n_ranks; r++)
        members[r] = r;
    return 0;
}

int sim_plain_init(struct jp_sim_plain *plain, struct jp_error *err)
{
    int rc = 0;
    int i;

    plain->groups = calloc((size_t) plain->n_comms, sizeof(*plain->groups));
    plain->n_ops = calloc((size_t) plain->n_comms, sizeof(*plain->n_ops));
    if (!plain->groups || !plain->n_ops)
        rc = -1;
    for (i = 0; i < plain->n_comms && rc == 0; i++)
        rc = fill_group(plain, i);
    if (rc < 0) {
        sim_plain_fini(plain);
        return error_set(err, "no memory");
    }
    for (i = 0; i < SIM_PLAIN_FUNCS; i++)
        plain->took_ns[i] =
            sim_cost_ns(&plain->groups[0], funcs[i], plain->bytes, plain->seed);
    if (plain->n_channels == 0)
        plain->n_channels = sim_cost_channels(plain->bytes);
    return 0;
}

void sim_plain_fini(struct jp_sim_plain *plain)
{
    int i;

    for (i = 0; plain->groups && i < plain->n_comms; i++) {
        free(plain->groups[i].members);
        free((char *) plain->groups[i].name);
    }
    free(plain->groups);
    free(plain->n_ops);
    plain->groups = NULL;
    plain->n_ops = NULL;
}

/* When a rank arrives, after the operation before. */
static int64_t arrival(const struct jp_sim_plain *plain, int rank, int is_p2p,
                       uint64_t key)
{
    const struct jp_sim_fault_site site = {
        .rank = rank, .comm_ranks = plain->world->n_ranks, .is_p2p = is_p2p};
    int64_t ns = (int64_t) sim_random_below(key + (uint64_t) rank, JITTER_NS);

    return plain->faults->n == 0
               ? ns
               : ns + sim_faults_arrival_ns(plain->faults, &site);
}

/* Our own arrival and everyone's end; moves the clock there. */
static void set_times(struct jp_sim_plain *plain, struct jp_sim_op *op,
                      int is_p2p, int64_t took_ns, uint64_t key)
{
    int64_t all = JITTER_NS;
    int r;

    for (r = 0; plain->faults->n > 0 && r < plain->world->n_ranks; r++) {
        int64_t at = arrival(plain, r, is_p2p, key);

        if (at > all)
            all = at;
    }
    op->start_ns = plain->clock_ns +
                   arrival(plain, plain->world->rank, is_p2p, key);
    op->end_ns = plain->clock_ns + all + took_ns;
    plain->clock_ns = op->end_ns;
}

/* Who stops before the operation; says whether we are to enter it. */
static int check_halt(struct jp_sim_plain *plain,
                      const struct jp_sim_group *group, uint64_t op)
{
    int me = plain->world->rank;
    int r;

    for (r = 0; r < plain->world->n_ranks; r++) {
        const struct jp_sim_fault_site site = {
            .rank = r, .comm = group->label, .op = op};
        struct jp_sim_halt halt = {.group = group, .op = op};

        halt.stop = sim_faults_stop(plain->faults, &site, &halt.signal);
        if (halt.stop == SIM_GOES_ON)
            continue;
        if (plain->halt.stop == SIM_GOES_ON)
            plain->halt = (struct jp_sim_halt){
                .stop = SIM_HANGS, .waits = 1, .group = group, .op = op};
        if (r == me)
            plain->halt = halt;
    }
    return plain->halt.stop == SIM_GOES_ON || plain->halt.waits;
}

static void collective(struct jp_sim_plain *plain, int c, int k,
                       sim_model_issue_fn *issue, void *data)
{
    struct jp_sim_op op = {
        .group = &plain->groups[c],
        .func = funcs[k % SIM_PLAIN_FUNCS],
        .bytes = plain->bytes,
        .peer = -1,
        .n_channels = plain->n_channels,
        .crosses = plain->world->n_nodes > 1,
        .number = plain->n_ops[c]++,
    };
    struct jp_sim_launch launch = {sim_cost_func_name(op.func), 1, &op, 0};

    if (plain->faults->n > 0 && !check_halt(plain, op.group, op.number))
        return;
    op.hangs = plain->halt.waits;
    set_times(plain, &op, 0, plain->took_ns[k % SIM_PLAIN_FUNCS],
              sim_random_mix(plain->seed + (uint64_t) c, op.number));
    issue(data, &launch);
}

/* Send and Recv of one group call; the last one is alone where their number is
 * odd. */
static void exchange(struct jp_sim_plain *plain, int c, int n,
                     sim_model_issue_fn *issue, void *data)
{
    const struct jp_sim_world *world = plain->world;
    struct jp_sim_op ops[2];
    struct jp_sim_launch launch = {"Send", n, ops, n > 1};
    int i;

    for (i = 0; i < n; i++) {
        int step = i == 0 ? 1 : world->n_ranks - 1;
        int peer = (world->rank + step) % world->n_ranks;

        ops[i] = (struct jp_sim_op){
            .group = &plain->groups[c],
            .func = i == 0 ? JP_NCCL_SEND : JP_NCCL_RECV,
            .bytes = plain->bytes,
            .peer = peer,
            .n_channels = plain->n_channels,
            .crosses = world->node[peer] != world->node[world->rank],
        };
    }
    set_times(plain, &ops[0], 1, plain->took_ns[0], plain->seed);
    for (i = 1; i < n; i++) {
        ops[i].start_ns = ops[0].start_ns;
        ops[i].end_ns = ops[0].end_ns;
    }
    issue(data, &launch);
}

void sim_plain_iterate(struct jp_sim_plain *plain, sim_model_issue_fn *issue,
                       void *data)
{
    int c, k;

    for (c = 0; c < plain->n_comms; c++) {
        for (k = 0; k < plain->colls && !plain->halt.stop; k++)
            collective(plain, c, k, issue, data);
        for (k = 0; k < plain->p2p_ops && !plain->halt.stop; k += 2)
            exchange(plain, c, plain->p2p_ops - k > 1 ? 2 : 1, issue, data);
    }
}
