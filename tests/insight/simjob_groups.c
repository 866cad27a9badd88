/* simjob_groups.c - who is in which communicator. */
#include "tests/insight/simjob_parts.h"

/* Coordinates of a rank. */
void place(const struct simjob_shape *s, uint32_t rank, uint32_t *t,
           uint32_t *p, uint32_t *d)
{
    *t = rank % s->tp;
    rank /= s->tp;
    *d = s->dp_before_pp ? rank % s->dp : rank / s->pp;
    *p = s->dp_before_pp ? rank / s->dp : rank % s->pp;
}

/* Of an expert group, which divides dp. */
static uint32_t ep_ranks(const struct simjob_shape *s)
{
    return s->dp % EXPERTS ? 1 : EXPERTS;
}

static uint32_t group_of(const struct job *j, int kind, uint32_t rank)
{
    const struct simjob_shape *s = j->shape;
    uint32_t t, p, d;

    place(s, rank, &t, &p, &d);
    switch (kind) {
    case TP:
        return p * s->dp + d;
    case PP:
        return d * s->tp + t;
    case DP:
        return p * s->tp + t;
    case EP:
        return (p * s->tp + t) * (s->dp / ep_ranks(s)) + d / ep_ranks(s);
    default:
        return 0;
    }
}

void make_comms(struct job *j, int kind)
{
    static const char *const names[N_KINDS] = {"tp", "pp", "dp", "ep", "world"};
    const struct simjob_shape *s = j->shape;
    const uint32_t sizes[N_KINDS] = {s->tp, s->pp, s->dp, ep_ranks(s), j->n};

    j->n_comms[kind] = j->n / sizes[kind];
    j->comms[kind] = need(j->n_comms[kind], sizeof(**j->comms));
    j->at[kind] = need(j->n, sizeof(**j->at));
    for (uint32_t g = 0; g < j->n_comms[kind]; g++) {
        j->comms[kind][g].id = random_next(&j->random) >> 4;
        j->comms[kind][g].name = names[kind];
        j->comms[kind][g].members = need(sizes[kind], sizeof(uint32_t));
    }
    for (uint32_t r = 0; r < j->n; r++) {
        struct simjob_comm *c = &j->comms[kind][group_of(j, kind, r)];
        bool new_node = true;

        for (uint32_t i = 0; i < c->n; i++)
            new_node &= node_of(j, c->members[i]) != node_of(j, r);
        j->at[kind][r] = group_of(j, kind, r);
        c->n_nodes += new_node;
        c->members[c->n++] = r;
    }
}

/* Has the rank likes elsewhere, in a group of which its node holds no more than
 * half? */
static bool has_likes(const struct job *j, int kind, uint32_t rank)
{
    const struct simjob_comm *c = &j->comms[kind][j->at[kind][rank]];
    uint32_t mates = 0;

    for (uint32_t i = 0; i < c->n; i++)
        mates += node_of(j, c->members[i]) == node_of(j, rank);
    return c->n > mates && 2 * mates <= c->n;
}

bool node_can_be_told(const struct job *j, uint32_t node)
{
    uint32_t all = 0, told = 0;

    for (uint32_t r = 0; r < j->n; r++)
        if (node_of(j, r) == node) {
            all++;
            told += has_likes(j, TP, r) || has_likes(j, DP, r);
        }
    return 4 * told >= 3 * all;
}
