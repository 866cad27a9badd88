/* The communicators of a 3-D parallel job: who is in which, under which hash.
 *
 *   kind   name     members                               how many
 *   SELF   (none)   one rank                              one per rank
 *   TP     tp       the ranks of a node (tensor)          one per node
 *   DP     dp       the same local number on all nodes    one per number
 *   WORLD  world    all ranks                             one
 *   PP     pp       the same local number on two nodes    one per number of
 *                   next to each other (pipeline)         every two nodes
 * With tp_ranks N, TP are N ranks in a row and DP every N-th rank, whatever
 * nodes they are on.
 * TP, DP, WORLD and PP exist only where they have two ranks or more, PP only
 * where it is asked for.
 */
#ifndef JP_SIM_GROUPS_H
#define JP_SIM_GROUPS_H

#include <stdint.h>

#include "common/error.h"
#include "contrib/ncclsim/sim_world.h"

enum jp_sim_kind { SIM_SELF, SIM_TP, SIM_DP, SIM_WORLD, SIM_PP, SIM_N_KINDS };

struct jp_sim_group {
    enum jp_sim_kind kind;
    int index;         /* of our rank's communicators; here the kind */
    const char *label; /* what --fault calls it: "self", "tp", ... */
    const char *name;  /* NULL: the user set none */
    uint64_t hash;
    int n;        /* ranks; 0: no such communicator */
    int *members; /* world ranks, ascending */
    int n_nodes;  /* nodes they are on */
    double tempo; /* its operations take so many times longer; 0: 1 */
};

/* All groups of one kind; groups[of[r]] is the one rank r belongs to. */
struct jp_sim_groups {
    int n;
    struct jp_sim_group *groups;
    int *of; /* [n_ranks] */
};

/* Fills groups[SIM_N_KINDS]; tp_ranks: 0 for a node's; pp: PP too. 0 or -1;
 * release with sim_groups_fini(). */
int sim_groups_init(struct jp_sim_groups groups[SIM_N_KINDS],
                    const struct jp_sim_world *world, uint64_t seed,
                    int tp_ranks, int pp, struct jp_error *err);
void sim_groups_fini(struct jp_sim_groups groups[SIM_N_KINDS]);

/* A world rank's number in the group; -1 where it is no member. */
int sim_groups_rank(const struct jp_sim_group *group, int world_rank);

#endif
