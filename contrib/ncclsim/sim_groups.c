/* sim_groups.c - the communicators of a 3-D parallel job: their members and
 * hashes.
 *
 * Every process fills all groups of all kinds, so that it can compute the times
 * of all ranks. */
#include "contrib/ncclsim/sim_groups.h"

#include <stdlib.h>

#include "contrib/ncclsim/sim_random.h"

/* Names that the program sets in NCCL (names), and those that --fault uses
 * (labels). */
static const char *const names[SIM_N_KINDS] = {
    [SIM_SELF] = NULL,     [SIM_TP] = "tp", [SIM_DP] = "dp",
    [SIM_WORLD] = "world", [SIM_PP] = "pp",
};

static const char *const labels[SIM_N_KINDS] = {
    [SIM_SELF] = "self",   [SIM_TP] = "tp", [SIM_DP] = "dp",
    [SIM_WORLD] = "world", [SIM_PP] = "pp",
};

/* Returns the first rank of a pipeline pair: nodes 2k and 2k + 1, same local
 * number. Without pairs it is the rank itself. */
static int pair_of(const struct jp_sim_world *world, int rank, int pp)
{
    int r;

    for (r = 0; pp && r < rank; r++)
        if (world->node[r] / 2 == world->node[rank] / 2 &&
            world->local[r] == world->local[rank])
            return r;
    return rank;
}

/* Returns the number of the rank's group of that kind. */
static int group_of(enum jp_sim_kind kind, const struct jp_sim_world *world,
                    int rank, int tp_ranks, int pp)
{
    switch (kind) {
    case SIM_SELF:
        return rank;
    case SIM_TP:
        return tp_ranks ? rank / tp_ranks : world->node[rank];
    case SIM_DP:
        return tp_ranks ? rank % tp_ranks : world->local[rank];
    case SIM_PP:
        return pair_of(world, rank, pp);
    default:
        return 0;
    }
}

/* Counts the nodes of the members. The loop is quadratic, but groups are small.
 */
static void count_nodes(struct jp_sim_group *group,
                        const struct jp_sim_world *world)
{
    int i, k;

    for (i = 0; i < group->n; i++) {
        int node = world->node[group->members[i]];

        for (k = 0; k < i && world->node[group->members[k]] != node; k++)
            ;
        group->n_nodes += k == i;
    }
}

/* Fills all groups of a kind. Three passes: sizes, memory, members. */
static int fill_groups(struct jp_sim_groups *all, enum jp_sim_kind kind,
                       const struct jp_sim_world *world, uint64_t seed,
                       int tp_ranks, int pp)
{
    int min = kind == SIM_SELF ? 1 : 2;
    int r, g;

    all->of = calloc((size_t) world->n_ranks, sizeof(*all->of));
    all->groups = calloc((size_t) world->n_ranks, sizeof(*all->groups));
    if (!all->of || !all->groups)
        return -1;
    for (r = 0; r < world->n_ranks; r++) {
        g = group_of(kind, world, r, tp_ranks, pp);
        all->of[r] = g;
        all->groups[g].n++;
        if (g >= all->n)
            all->n = g + 1;
    }
    for (g = 0; g < all->n; g++) {
        struct jp_sim_group *group = &all->groups[g];

        group->kind = kind;
        group->index = (int) kind;
        group->label = labels[kind];
        group->name = names[kind];
        group->hash =
            sim_random_mix(sim_random_mix(seed, 100 + kind), (uint64_t) g);
        group->members = calloc((size_t) group->n + 1, sizeof(*group->members));
        if (!group->members)
            return -1;
        group->n = 0;
    }
    for (r = 0; r < world->n_ranks; r++) {
        struct jp_sim_group *group = &all->groups[all->of[r]];

        group->members[group->n++] = r;
    }
    for (g = 0; g < all->n; g++) {
        count_nodes(&all->groups[g], world);
        /* one rank alone needs no such communicator */
        if (all->groups[g].n < min)
            all->groups[g].n = 0;
    }
    return 0;
}

int sim_groups_init(struct jp_sim_groups groups[SIM_N_KINDS],
                    const struct jp_sim_world *world, uint64_t seed,
                    int tp_ranks, int pp, struct jp_error *err)
{
    int k;

    for (k = 0; k < SIM_N_KINDS; k++)
        /* so that sim_groups_fini() can be called at any time */
        groups[k] = (struct jp_sim_groups){0};
    for (k = 0; k < SIM_N_KINDS; k++) {
        if (fill_groups(&groups[k], (enum jp_sim_kind) k, world, seed, tp_ranks,
                        pp) < 0) {
            sim_groups_fini(groups);
            return error_set(err, "no memory");
        }
    }
    return 0;
}

void sim_groups_share_ids(struct jp_sim_groups groups[SIM_N_KINDS])
{
    int g;

    for (g = 0; g < groups[SIM_DP].n && g < groups[SIM_TP].n; g++)
        groups[SIM_DP].groups[g].hash = groups[SIM_TP].groups[g].hash;
}

void sim_groups_fini(struct jp_sim_groups groups[SIM_N_KINDS])
{
    int k, g;

    for (k = 0; k < SIM_N_KINDS; k++) {
        for (g = 0; g < groups[k].n; g++)
            free(groups[k].groups[g].members);
        free(groups[k].groups);
        free(groups[k].of);
        groups[k] = (struct jp_sim_groups){0};
    }
}

int sim_groups_rank(const struct jp_sim_group *group, int world_rank)
{
    int i;

    for (i = 0; i < group->n; i++) {
        if (group->members[i] == world_rank)
            return i;
    }
    return -1;
}
