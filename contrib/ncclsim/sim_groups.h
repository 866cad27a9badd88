/* sim_groups.h - the communicators of a 3-D parallel job: their members and
 * hashes.
 *
 *   kind   name     members                               how many
 *   SELF   (none)   one rank                              one per rank
 *   TP     tp       the ranks of a node (tensor)          one per node
 *   DP     dp       the same local number on all nodes    one per number
 *   WORLD  world    all ranks                             one
 *   PP     pp       the same local number on two nodes    one per number of
 *                   next to each other (pipeline)         every two nodes
 *
 * With tp_ranks N, TP has N consecutive ranks and DP every N-th rank, on
 * whatever nodes. TP, DP, WORLD and PP exist only with two ranks or more, and
 * PP only if requested. */
#ifndef JP_SIM_GROUPS_H
#define JP_SIM_GROUPS_H

#include <stdint.h>

#include "common/error.h"
#include "contrib/ncclsim/sim_world.h"

enum jp_sim_kind { SIM_SELF, SIM_TP, SIM_DP, SIM_WORLD, SIM_PP, SIM_N_KINDS };

struct jp_sim_group {
    enum jp_sim_kind kind;
    int index;         /* index among our rank's communicators; here the kind */
    const char *label; /* name for --fault: "self", "tp", ... */
    const char *name;  /* name set by the user, or NULL */
    uint64_t hash;
    int n;        /* number of ranks; 0: no such communicator */
    int *members; /* world ranks, ascending */
    int n_nodes;  /* number of their nodes */
    double tempo; /* factor of its operations' durations; 0 means 1 */
};

/* All groups of one kind; groups[of[r]] is the group of rank r. */
struct jp_sim_groups {
    int n;
    struct jp_sim_group *groups;
    int *of; /* [n_ranks] */
};

/* Fills groups[SIM_N_KINDS]. tp_ranks 0: the ranks of a node. pp: with PP.
 * Returns 0 or -1; release with sim_groups_fini(). */
int sim_groups_init(struct jp_sim_groups groups[SIM_N_KINDS],
                    const struct jp_sim_world *world, uint64_t seed,
                    int tp_ranks, int pp, struct jp_error *err);

/* Gives each group of dp the id of the group of tp with its number: splits of
 * one color, as NCCL 2.23 names them. */
void sim_groups_share_ids(struct jp_sim_groups groups[SIM_N_KINDS]);
void sim_groups_fini(struct jp_sim_groups groups[SIM_N_KINDS]);

/* Returns a world rank's number in the group, or -1. */
int sim_groups_rank(const struct jp_sim_group *group, int world_rank);

#endif
