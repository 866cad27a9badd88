/* sim_plain.c - the plain program: a number of communicators, a number of
 * operations on each.
 *
 * All ranks are in all communicators and do the same, so one virtual clock
 * serves all of them; only their arrivals differ. This makes the program cheap
 * enough for measurements of a profiler's cost. */
#include "contrib/ncclsim/sim_plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contrib/ncclsim/sim_cost.h"
#include "contrib/ncclsim/sim_random.h"

enum { JITTER_NS = 3000, NAME_BYTES = 16, SMALL_BYTES = 1024 };

/* The functions of the collectives, in turn. */
static const enum jp_nccl_func funcs[SIM_PLAIN_FUNCS] = {
    JP_NCCL_ALL_REDUCE, JP_NCCL_ALL_GATHER, JP_NCCL_REDUCE_SCATTER};

/* Fills the group of communicator c: all ranks, named comm0, comm1, ... */
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
        .tempo = plain->tempo,
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
    /* operations of an AlltoAll */
    int rounds = 2 * plain->world->n_ranks + 2;
    int n_ops = plain->group > rounds ? plain->group : rounds;
    int rc = 0;
    int i;

    plain->groups = calloc((size_t) plain->n_comms, sizeof(*plain->groups));
    plain->n_ops = calloc((size_t) plain->n_comms, sizeof(*plain->n_ops));
    plain->ops = calloc((size_t) n_ops, sizeof(*plain->ops));
    if (!plain->groups || !plain->n_ops || !plain->ops)
        rc = -1;
    for (i = 0; i < plain->n_comms && rc == 0; i++)
        rc = fill_group(plain, i);
    if (rc < 0) {
        sim_plain_fini(plain);
        return error_set(err, "no memory");
    }
    for (i = 0; i < SIM_PLAIN_FUNCS; i++)
        /* computed once: all operations have one size */
        plain->took_ns[i] =
            sim_cost_ns(&plain->groups[0], funcs[i], plain->bytes, plain->seed);
    if (plain->n_channels == 0)
        plain->n_channels = plain->bytes > 0 ? sim_cost_channels(plain->bytes)
                                             : 1;
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
    free(plain->ops);
    plain->ops = NULL;
    plain->groups = NULL;
    plain->n_ops = NULL;
}

/* Returns when a rank arrives, in ns after the operation before. */
static int64_t arrival(const struct jp_sim_plain *plain, int rank, int is_p2p,
                       uint64_t key)
{
    const struct jp_sim_fault_site site = {.rank = rank,
                                           .node = plain->world->node[rank],
                                           .comm_ranks = plain->world->n_ranks,
                                           .is_p2p = is_p2p};
    int64_t ns = (int64_t) sim_random_below(key + (uint64_t) rank, JITTER_NS);

    if (plain->faults->n > 0)
        ns += sim_faults_arrival_ns(plain->faults, &site);
    if (plain->late_ns && !is_p2p && site.comm_ranks > 1)
        ns += plain->late_ns[rank];
    return ns;
}

/* Sets our own arrival and the end for all ranks, and moves the clock there. */
static void set_times(struct jp_sim_plain *plain, struct jp_sim_op *op,
                      int is_p2p, int64_t took_ns, uint64_t key)
{
    /* the latest arrival; without faults its upper bound is good enough */
    int64_t all = JITTER_NS;
    int r;

    for (r = 0; plain->faults->n > 0 && r < plain->world->n_ranks; r++) {
        int64_t at = arrival(plain, r, is_p2p, key);

        if (at > all)
            all = at;
    }
    op->start_ns = plain->clock_ns +
                   arrival(plain, plain->world->rank, is_p2p, key);
    op->all_ns = plain->clock_ns + all;
    op->end_ns = op->all_ns + took_ns;
    plain->calls += !is_p2p && plain->world->n_ranks > 1;
    plain->clock_ns = op->end_ns;
}

/* Finds the ranks that stop before the operation. Returns whether our rank
 * enters it. */
static int check_halt(struct jp_sim_plain *plain,
                      const struct jp_sim_group *group, uint64_t op,
                      int is_alltoall)
{
    int me = plain->world->rank;
    int r;

    for (r = 0; r < plain->world->n_ranks; r++) {
        const struct jp_sim_fault_site site = {.rank = r,
                                               .comm = group->label,
                                               .op = op,
                                               .is_alltoall = is_alltoall};
        struct jp_sim_halt halt = {.group = group, .op = op};

        halt.stop = sim_faults_stop(plain->faults, &site, &halt.signal);
        if (halt.stop == SIM_GOES_ON)
            continue;
        if (plain->halt.stop == SIM_GOES_ON)
            /* our rank waits for the one that stops */
            plain->halt = (struct jp_sim_halt){
                .stop = SIM_HANGS, .waits = 1, .group = group, .op = op};
        if (r == me)
            plain->halt = halt;
    }
    return plain->halt.stop == SIM_GOES_ON || plain->halt.waits;
}

/* Sets the channels of the i-th of n collectives in a group. NCCL divides the
 * channels among them by traffic, so each has a part, and neighbours share one
 * channel. */
static void set_channels(const struct jp_sim_plain *plain, struct jp_sim_op *op,
                         int i, int n)
{
    int channels = plain->n_channels;
    int end = ((i + 1) * channels + n - 1) / n;

    op->channel = i * channels / n;
    op->n_channels = end - op->channel;
}

/* Issues `n` collectives, from number `k` on, in one call. */
static void collectives(struct jp_sim_plain *plain, int c, int k, int n,
                        enum jp_sim_mode mode, sim_model_issue_fn *issue,
                        void *data)
{
    int f = k / plain->group % SIM_PLAIN_FUNCS;
    struct jp_sim_launch launch = {.n = n,
                                   .ops = plain->ops,
                                   .grouped = n > 1,
                                   .mode = mode,
                                   .slot = k / plain->group};
    int i;

    for (i = 0; i < n; i++) {
        struct jp_sim_op *op = &plain->ops[i];

        *op = (struct jp_sim_op){
            .group = &plain->groups[c],
            .func = funcs[f],
            .bytes = plain->bytes,
            .peer = -1,
            .crosses = plain->world->n_nodes > 1,
            .number = plain->n_ops[c],
        };
        set_channels(plain, op, i, n);
        /* a capture does not run and is not counted */
        if (mode == SIM_CAPTURE)
            continue;
        plain->n_ops[c]++;
        if (plain->faults->n > 0 &&
            !check_halt(plain, op->group, op->number, 0))
            return;
        op->hangs = plain->halt.waits;
        if (i == 0) {
            set_times(plain, op, 0, plain->took_ns[f],
                      sim_random_mix(plain->seed + (uint64_t) c, op->number));
            continue;
        }
        /* the others of a group follow without a pause */
        op->start_ns = plain->clock_ns;
        op->end_ns = op->start_ns + plain->took_ns[f];
        plain->clock_ns = op->end_ns;
    }
    issue(data, &launch);
}

/* Fills our side of round `r`: a Send to rank me + r, and a Recv from rank me -
 * r. */
static void fill_round(const struct jp_sim_plain *plain, int c, int r,
                       struct jp_sim_op ops[2])
{
    const struct jp_sim_world *world = plain->world;
    int i;

    for (i = 0; i < 2; i++) {
        int step = i == 0 ? r : 2 * world->n_ranks - r;
        int peer = (world->rank + step) % world->n_ranks;

        ops[i] = (struct jp_sim_op){
            .group = &plain->groups[c],
            .func = i == 0 ? JP_NCCL_SEND : JP_NCCL_RECV,
            .bytes = plain->bytes,
            .peer = peer,
            .round = r,
            .n_channels = plain->n_channels,
            .crosses = world->node[peer] != world->node[world->rank],
        };
    }
}

/* Copies the times of an operation to another one of the same launch. */
static void copy_times(struct jp_sim_op *to, const struct jp_sim_op *from)
{
    to->start_ns = from->start_ns;
    to->end_ns = from->end_ns;
}

/* Issues an AlltoAll: all rounds in one launch. Round 0 is a copy to oneself.
 */
static void alltoall(struct jp_sim_plain *plain, int c,
                     sim_model_issue_fn *issue, void *data)
{
    int n = plain->world->n_ranks;
    struct jp_sim_launch launch = {.n = 2 * n, .ops = plain->ops};
    int r;

    if (plain->faults->n > 0 &&
        !check_halt(plain, &plain->groups[c], plain->n_alltoalls, 1))
        return;

    for (r = 0; r < n; r++) {
        struct jp_sim_op *ops = &plain->ops[2 * r];

        fill_round(plain, c, r, ops);
        if (r == 0) {
            set_times(plain, &ops[0], 1, plain->took_ns[0], plain->seed);
        } else {
            ops[0].start_ns = plain->clock_ns;
            ops[0].end_ns = plain->clock_ns + plain->took_ns[0];
            plain->clock_ns = ops[0].end_ns;
        }
        ops[0].hangs = plain->halt.waits;
        ops[1].hangs = plain->halt.waits;
        copy_times(&ops[1], &ops[0]);
    }
    issue(data, &launch);
}

/* Issues two Broadcasts with different roots in one group, which NCCL turns
 * into AllGatherV. */
static void broadcasts(struct jp_sim_plain *plain, int c,
                       sim_model_issue_fn *issue, void *data)
{
    struct jp_sim_launch launch = {.n = 2, .ops = plain->ops, .grouped = 1};
    int i;

    for (i = 0; i < 2; i++) {
        plain->ops[i] = (struct jp_sim_op){
            .group = &plain->groups[c],
            .func = JP_NCCL_BROADCAST,
            .bytes = plain->bytes,
            .root = i % plain->world->n_ranks,
            .peer = -1,
            .n_channels = plain->n_channels,
            .crosses = plain->world->n_nodes > 1,
            .number = plain->n_ops[c]++,
        };
        set_times(plain, &plain->ops[i], 0, plain->took_ns[0],
                  plain->seed + (uint64_t) i);
    }
    issue(data, &launch);
}

/* Issues n operations of one group call: Send and Recv; one of them alone at
 * the end of an odd number; or four, a small pair and one of the next round. */
static void exchange(struct jp_sim_plain *plain, int c, int n,
                     sim_model_issue_fn *issue, void *data)
{
    struct jp_sim_op ops[4];
    struct jp_sim_launch launch = {.n = n, .ops = ops, .grouped = n > 1};
    int i;

    fill_round(plain, c, 1, ops);
    set_times(plain, &ops[0], 1, plain->took_ns[0], plain->seed);
    if (n > 2) {
        /* a round with oneself is no message */
        fill_round(plain, c, plain->world->n_ranks > 2 ? 2 : 3, &ops[2]);
        ops[0].bytes = SMALL_BYTES;
        ops[1].bytes = SMALL_BYTES;
    }
    for (i = 1; i < n; i++)
        copy_times(&ops[i], &ops[0]);
    issue(data, &launch);
}

/* Issues the Sends and Recvs of an iteration. */
static void exchanges(struct jp_sim_plain *plain, int c,
                      sim_model_issue_fn *issue, void *data)
{
    int most = plain->mixed_protocols ? 4 : 2;
    int k;

    for (k = 0; k < plain->p2p_ops && !plain->halt.stop; k += most) {
        int left = plain->p2p_ops - k;

        exchange(plain, c, left < most ? left : most, issue, data);
    }
}

/* Issues or captures all collectives of an iteration. */
static void all_collectives(struct jp_sim_plain *plain, int c,
                            enum jp_sim_mode mode, sim_model_issue_fn *issue,
                            void *data)
{
    int k;

    for (k = 0; k < plain->colls && !plain->halt.stop; k += plain->group) {
        int left = plain->colls - k;

        collectives(plain, c, k, left < plain->group ? left : plain->group,
                    mode, issue, data);
    }
}

/* Whether the communicator's collectives are in graphs. */
static int is_captured(const struct jp_sim_plain *plain, int c)
{
    return plain->graph > 0 &&
           (!plain->graph_comm ||
            strcmp(plain->graph_comm, plain->groups[c].label) == 0);
}

/* Captures the collectives of an iteration. */
static void capture(struct jp_sim_plain *plain, sim_model_issue_fn *issue,
                    void *data)
{
    int c;

    for (c = 0; c < plain->n_comms; c++) {
        if (is_captured(plain, c))
            all_collectives(plain, c, SIM_CAPTURE, issue, data);
    }
    plain->captured = 1;
}

/* Replays the graphs; with --graph-mix there are eager calls between the
 * replays. */
static void replay(struct jp_sim_plain *plain, sim_model_issue_fn *issue,
                   void *data)
{
    int i, c;

    for (i = 0; i < plain->graph; i++) {
        for (c = 0; c < plain->n_comms && !plain->halt.stop; c++) {
            if (!is_captured(plain, c))
                continue;
            if (plain->graph_mix && c % 2 == 1)
                collectives(plain, c, 0, 1, SIM_EAGER, issue, data);
            all_collectives(plain, c, SIM_REPLAY, issue, data);
            if (plain->graph_mix && c % 2 == 0 && !plain->halt.stop)
                collectives(plain, c, 0, 1, SIM_EAGER, issue, data);
        }
    }
}

void sim_plain_iterate(struct jp_sim_plain *plain, sim_model_issue_fn *issue,
                       void *data)
{
    int c;

    plain->calls = 0;
    for (c = 0; c < plain->n_comms; c++) {
        if (plain->alltoall && !plain->halt.stop)
            alltoall(plain, c, issue, data);
        if (plain->broadcasts && !plain->halt.stop)
            broadcasts(plain, c, issue, data);
        if (!is_captured(plain, c))
            all_collectives(plain, c, SIM_EAGER, issue, data);
        exchanges(plain, c, issue, data);
    }
    plain->n_alltoalls++;
    if (plain->graph > 0 && !plain->captured)
        capture(plain, issue, data);
    replay(plain, issue, data);
}
