/* simjob.c - run a simulated job: clocks, collectives, messages. */
#include "tests/insight/simjob.h"

#include <stdlib.h>
#include <string.h>

#include "contrib/ncclsim/sim_link.h"
#include "tests/insight/simjob_random.h"
#include "tests/insight/simreal_parts.h"

/* --- a job while it runs --- */

#define LAYER_NOISE 0.015
#define JITTER_SHARE 0.02 /* of operations or layers that take far longer */

enum { TP, PP, DP, EP, WORLD, N_KINDS };

struct job {
    const struct simjob_shape *shape;
    struct simjob_random random;
    struct simjob_truth *truth;
    simjob_sink *sink;
    void *arg;
    uint32_t n, steps, step, hung_ranks, hang_layer;
    uint32_t batch;       /* of the step's pass through the pipeline */
    double spent_ns;      /* in communication, by all ranks */
    double *pace;         /* of each rank: its time over the usual */
    double *clock, *side; /* side: of operations beside the computation */
    bool *stuck;
    uint64_t *p2p_sn; /* of each rank: in its pipeline, in its AlltoAll */
    struct simjob_comm *comms[N_KINDS]; /* by rank: the one it is in */
    uint32_t *at[N_KINDS];              /* rank: index into comms */
    uint32_t n_comms[N_KINDS];
};

static void *need(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);

    if (!p)
        abort();
    return p;
}

static uint32_t node_of(const struct job *j, uint32_t rank)
{
    return rank / j->shape->per_node;
}

/* --- who is in which communicator --- */

static uint32_t group_of(const struct job *j, int kind, uint32_t rank)
{
    const struct simjob_shape *s = j->shape;
    uint32_t t, p, d;

    simjob_place(s, rank, &t, &p, &d);
    switch (kind) {
    case TP:
        return p * s->dp + d;
    case PP:
        return d * s->tp + t;
    case DP:
        return p * s->tp + t;
    case EP:
        return (p * s->tp + t) * (s->dp / simjob_ep_ranks(s)) +
               d / simjob_ep_ranks(s);
    default:
        return 0;
    }
}

/* All communicators of a kind. */
static void make_comms(struct job *j, int kind)
{
    static const char *const names[N_KINDS] = {"tp", "pp", "dp", "ep", "world"};
    const struct simjob_shape *s = j->shape;
    const uint32_t sizes[N_KINDS] = {s->tp, s->pp, s->dp, simjob_ep_ranks(s),
                                     j->n};

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

/* Have three quarters of the node's ranks likes elsewhere that they can be
 * compared with, in groups that their node does not make most of? Late, and the
 * others early, look the same otherwise. The communicators are there. */
static bool node_can_be_told(const struct job *j, uint32_t node)
{
    uint32_t all = 0, told = 0;

    for (uint32_t r = 0; r < j->n; r++)
        if (node_of(j, r) == node) {
            all++;
            told += has_likes(j, TP, r) || has_likes(j, DP, r);
        }
    return 4 * told >= 3 * all;
}

/* --- how long a rank computes --- */

#define LAYER_NS 900000.0
#define LATE_LAYERS_SHARE 0.4
#define STALL_NOISE 0.05
#define MODE_SHARE 0.3 /* of layers that take the longer way */
#define MODE_LONGER 0.25
#define LOADING_SHARE 0.05 /* of steps that wait for their samples */
#define LOADING_LAYERS 8   /* as long as that many of them, at most */

/* What a layer takes more than its mean, as a share of it. */
static double noise(struct job *j)
{
    struct simjob_random *r = &j->random;

    switch (j->shape->noise) {
    case SIMJOB_TAILS: /* normal over the root of a mean square: Student's t */
    {
        double a = random_normal(r), b = random_normal(r), c = random_normal(r);
        double t = random_normal(r) / sqrt((a * a + b * b + c * c) / 3);

        return LAYER_NOISE * fmax(fmin(t, 60), -10);
    }
    case SIMJOB_ONE_SIDED: /* never faster than the best */
        return -2 * LAYER_NOISE * log(1 - random_unit(r));
    case SIMJOB_MODES:
        return (random_unit(r) < MODE_SHARE ? MODE_LONGER : 0) +
               LAYER_NOISE * random_normal(r);
    default:
        return j->shape->gaussian ? LAYER_NOISE * random_normal(r)
                                  : LAYER_NOISE * (2 * random_unit(r) - 1);
    }
}

static bool is_late(struct job *j, uint32_t rank)
{
    const struct simjob_truth *t = j->truth;
    bool first = rank == t->ranks[0];
    uint32_t stage, other, parts;

    switch (t->fault) {
    case SIMJOB_LATE_LAYERS:
        return first && random_unit(&j->random) < LATE_LAYERS_SHARE;
    case SIMJOB_ONSET:
        return first && j->step >= t->from_step;
    case SIMJOB_COMES: /* an eighth to a quarter of the run in each part */
        parts = 2 + t->from_step % 3;
        return first && (j->step + t->from_step) % (j->steps / parts) <
                            j->steps / (2 * parts);
    case SIMJOB_SLOW_STAGE:
        simjob_place(j->shape, rank, &other, &stage, &parts);
        return stage == t->stage;
    case SIMJOB_LATE_NODE:
        return node_of(j, rank) == t->node;
    case SIMJOB_NODE_ONSET:
        return node_of(j, rank) == t->node && j->step >= t->from_step;
    case SIMJOB_TWO_LATE:
        return first || rank == t->ranks[1];
    case SIMJOB_LATE_RANK:
    case SIMJOB_LOSSY:
    case SIMJOB_TINY:
        return first;
    default:
        return false;
    }
}

/* How long the rank stops before a layer. */
static double stall_ns(struct job *j, uint32_t rank, uint32_t number)
{
    const struct simjob_truth *t = j->truth;
    double ns = 1e6 * t->effect;

    switch (t->fault) {
    case SIMJOB_STALLS:
        return rank == t->ranks[0] && random_unit(&j->random) < t->rate ? ns
                                                                        : 0;
    case SIMJOB_ONCE:
        return rank == t->ranks[0] && !number && !j->batch &&
                       j->step == t->from_step
                   ? ns
                   : 0;
    case SIMJOB_ALL_STALL:
    case SIMJOB_CHECKPOINT:
        if (number || j->batch || !j->step || j->step % t->every ||
            (t->fault == SIMJOB_CHECKPOINT && rank))
            return 0;
        return ns * (1 + STALL_NOISE * random_normal(&j->random));
    default:
        return 0;
    }
}

/* A layer's computation; number: of the step's layers. */
static void compute(struct job *j, uint32_t rank, uint32_t number)
{
    const struct simjob_shape *s = j->shape;
    double mean_ns = s->layer_us > 0 ? 1000 * s->layer_us : LAYER_NS;
    double ns = mean_ns * (1 + noise(j)) * j->pace[rank], stall;

    if (s->load > 0)
        ns *= exp(s->load * (random_normal(&j->random) - s->load / 2));
    if (is_late(j, rank)) {
        if (j->step >= s->warmup)
            j->truth->late_ns[rank == j->truth->ranks[1]] += ns *
                                                             j->truth->effect;
        ns *= 1 + j->truth->effect;
    }
    if (j->truth->fault == SIMJOB_HICCUPS &&
        random_unit(&j->random) < JITTER_SHARE)
        ns *= 3;
    if (j->step < s->warmup)
        ns *= 4 + 6 * random_unit(&j->random);
    if (s->noise == SIMJOB_LOADING && !number &&
        random_unit(&j->random) < LOADING_SHARE)
        ns += mean_ns * LOADING_LAYERS * random_unit(&j->random);
    stall = stall_ns(j, rank, number);
    if (rank == j->truth->ranks[0])
        j->truth->stalled_ns += stall;
    j->clock[rank] += ns + stall;
}

/* --- clocks, collectives, messages --- */

#define NET_NOISE 0.02
#define LOST_SHARE 0.35
#define LAUNCH_NS 2000.0 /* a rank's own delay before an operation, at most */
#define TINY_STEPS 4
#define SHOWN_BYTES 1000000 /* below, links matter little */

/* Bytes on the bus for a byte of the vector. */
static double bus_factor(const char *func, uint32_t n)
{
    return (strcmp(func, "AllReduce") ? 1.0 : 2.0) * (n - 1) / n;
}

static bool touches(const struct job *j, const struct simjob_comm *c,
                    uint32_t node)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (node_of(j, c->members[i]) == node)
            return true;
    return false;
}

static double net_ns(struct job *j, bool crosses, bool at_node,
                     uint32_t per_node, double bus_bytes)
{
    double ns = sim_link_ns(crosses, per_node, bus_bytes);

    ns *= 1 + NET_NOISE * (2 * random_unit(&j->random) - 1);
    if (j->truth->fault == SIMJOB_JITTER &&
        random_unit(&j->random) < JITTER_SHARE)
        ns *= 3;
    return crosses ? ns * simjob_slowed(j->truth, j->step, j->steps, at_node)
                   : ns;
}

static void emit(struct job *j, struct simjob_record *r, double start,
                 double end)
{
    if (j->truth->fault == SIMJOB_LOSSY && random_unit(&j->random) < LOST_SHARE)
        return;
    r->exec_us = (uint64_t) ((end - start) / 1000);
    r->start_ns = (int64_t) start;
    r->end_ns = (int64_t) end;
    j->sink(j->arg, r);
}

static void stick(struct job *j, uint32_t rank)
{
    j->hung_ranks += !j->stuck[rank];
    j->stuck[rank] = true;
}

/* A rank enters what never ends. */
static void enter(struct job *j, struct simjob_record record, uint32_t rank)
{
    record.rank = rank;
    record.pending = true;
    record.start_ns = (int64_t) j->clock[rank];
    if (!j->stuck[rank])
        j->sink(j->arg, &record);
    stick(j, rank);
}

/* Some member never comes: the others wait for ever. what: of them. */
static bool blocks(struct job *j, const struct simjob_comm *c,
                   struct simjob_record what)
{
    bool blocked = false;

    for (uint32_t i = 0; i < c->n; i++)
        blocked |= j->stuck[c->members[i]];
    if (!blocked)
        return false;
    if (!j->truth->comm)
        j->truth->comm = c->id;
    for (uint32_t i = 0; i < c->n; i++) {
        what.comm = c;
        what.comm_rank = i;
        what.peer = (i + 1) % c->n;
        enter(j, what, c->members[i]);
    }
    return true;
}

/* bytes: of the whole vector. `which`: which of the functions of the
 * communicator. */
static void collective(struct job *j, int kind, uint32_t g, const char *func,
                       int which, uint64_t bytes, double *clock)
{
    struct simjob_comm *c = &j->comms[kind][g];
    bool gathers = strcmp(func, "AllReduce") != 0;
    double all = 0, end;
    struct simjob_record what = {.func = func,
                                 .sn = c->next_sn[which],
                                 .bytes = gathers ? bytes / c->n : bytes};

    if (c->n < 2 || blocks(j, c, what))
        return;
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t r = c->members[i];

        if (clock != j->clock && clock[r] < j->clock[r])
            clock[r] = j->clock[r];
        clock[r] += LAUNCH_NS * random_unit(&j->random);
        if (clock[r] > all)
            all = clock[r];
    }
    /* a late node is told by its like, ranks of the same stage elsewhere */
    if (c->n_nodes > 1 && !simjob_by_messages(j->truth) &&
        (simjob_late_node(j->truth->fault) ? kind != WORLD
                                           : bytes > SHOWN_BYTES))
        j->truth->shown |= touches(j, c, j->truth->node);
    end = all + net_ns(j, c->n_nodes > 1, touches(j, c, j->truth->node),
                       c->n / c->n_nodes,
                       (double) bytes * bus_factor(func, c->n));
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t r = c->members[i];
        struct simjob_record record = {.comm = c,
                                       .rank = r,
                                       .comm_rank = i,
                                       .func = func,
                                       .sn = c->next_sn[which],
                                       .bytes = gathers ? bytes / c->n : bytes};

        emit(j, &record, clock[r], end);
        j->spent_ns += end - clock[r];
        clock[r] = end;
    }
    c->next_sn[which]++;
}

/* What the step's messages differ by from other steps'. */
static double step_size(const struct job *j)
{
    struct simjob_random r = {j->step};

    return j->shape->step_sizes ? 0.4 * pow(6.25, random_unit(&r)) : 1;
}

/* The last number of the rank's messages, of which each communicator has its
 * own. */
static uint64_t *last_sn(const struct job *j, const struct simjob_comm *c,
                         uint32_t me)
{
    return &j->p2p_sn[2 * c->members[me] + !strcmp(c->name, "ep")];
}

static void message_side(struct job *j, const struct simjob_comm *c, bool sends,
                         uint32_t me, uint32_t peer, double end, uint64_t bytes)
{
    struct simjob_record record = {.comm = c,
                                   .rank = c->members[me],
                                   .comm_rank = me,
                                   .func = sends ? "Send" : "Recv",
                                   .p2p = true,
                                   .peer = peer,
                                   .sn = ++*last_sn(j, c, me),
                                   .bytes = bytes};

    emit(j, &record, j->clock[c->members[me]], end);
    j->clock[c->members[me]] = end;
}

/* Bytes of the message from i to k of an operation that has `number`. */
static double message_bytes(const struct job *j, uint64_t number, uint32_t i,
                            uint32_t k)
{
    struct simjob_random r = {number * 64 + i * 8 + k};

    return (double) j->shape->tp_bytes * step_size(j) *
           (j->shape->uneven_sizes ? 0.25 + 1.5 * random_unit(&r) : 1);
}

/* Told from what the other groups do. */
static double slow_experts(struct job *j, const struct simjob_comm *c)
{
    if (j->truth->fault != SIMJOB_SLOW_EXPERTS || c->n_nodes < 2 ||
        !touches(j, c, j->truth->node))
        return 1;
    j->truth->shown = true;
    return 1 + j->truth->effect;
}

/* A rank's record of a whole AlltoAll. */
static void whole_exchange(struct job *j, const struct simjob_comm *c,
                           uint32_t me, uint64_t number, double start,
                           double end)
{
    double bytes = 0;

    struct simjob_record record = {.comm = c,
                                   .rank = c->members[me],
                                   .comm_rank = me,
                                   .func = "AlltoAll",
                                   .sn = number};

    for (uint32_t k = 0; k < c->n; k++) /* no two ranks send as much */
        bytes += message_bytes(j, number, me, k);
    record.bytes = (uint64_t) bytes;
    emit(j, &record, start, end);
}

/* Sends and receives of one kernel: each of equal ones lasts as long as it. */
static void exchange(struct job *j, struct simjob_comm *c)
{
    double all = 0, net, *start = need(c->n, sizeof(*start));
    bool uneven = j->shape->uneven_sizes;
    uint64_t number = c->next_sn[0]++;
    struct simjob_record what = {.func = "Recv",
                                 .p2p = true,
                                 .sn = *last_sn(j, c, 0) + 1,
                                 .bytes = j->shape->tp_bytes};

    if (blocks(j, c, what)) {
        free(start);
        return;
    }
    for (uint32_t i = 0; i < c->n; i++) {
        start[i] = j->clock[c->members[i]];
        all = fmax(all, start[i]);
    }
    net = net_ns(j, c->n_nodes > 1, touches(j, c, j->truth->node),
                 c->n / c->n_nodes,
                 (double) j->shape->tp_bytes * step_size(j)) *
          slow_experts(j, c);
    for (uint32_t i = 0; i < c->n; i++) {
        double last = 0;

        for (uint32_t k = 0; k < 2 * c->n; k++) {
            uint32_t peer = k / 2, from = k % 2 ? i : peer,
                     to = k % 2 ? peer : i;
            double size = message_bytes(j, number, from, to) /
                          (double) j->shape->tp_bytes / step_size(j);
            double end = all + net * (uneven ? size : 1);

            j->clock[c->members[i]] = start[i];
            if (!j->shape->native)
                message_side(j, c, k % 2, i, peer, end,
                             (uint64_t) message_bytes(j, number, from, to));
            last = fmax(last, end);
        }
        if (j->shape->native)
            whole_exchange(j, c, i, number, start[i], last);
        j->spent_ns += last - start[i];
        j->clock[c->members[i]] = last;
    }
    free(start);
}

/* Does the rank never begin that layer? */
static bool stops(struct job *j, uint32_t rank, uint32_t number)
{
    struct simjob_truth *t = j->truth;

    if ((t->fault != SIMJOB_HANG && t->fault != SIMJOB_RECORDED &&
         t->fault != SIMJOB_DIES) ||
        rank != t->ranks[0] || j->step != t->from_step ||
        number != j->hang_layer)
        return false;
    if (t->fault == SIMJOB_DIES)
        t->lost_ns = j->clock[rank];
    return true;
}

/* One layer of all ranks of a stage, with its collectives. */
static void layer(struct job *j, uint32_t stage, uint32_t number)
{
    const struct simjob_shape *s = j->shape;

    for (uint32_t r = 0; r < j->n; r++) {
        uint32_t t, p, d;

        simjob_place(s, r, &t, &p, &d);
        if (p != stage || j->stuck[r])
            continue;
        if (stops(j, r, number))
            stick(j, r);
        compute(j, r, number);
    }
    for (uint32_t g = stage * s->dp; s->tp > 1 && g < (stage + 1) * s->dp;
         g++) {
        if (s->tp_ops == 1) {
            collective(j, TP, g, "AllReduce", 0, s->tp_bytes, j->clock);
        } else {
            collective(j, TP, g, "ReduceScatter", 0, s->tp_bytes, j->clock);
            collective(j, TP, g, "AllGather", 1, s->tp_bytes, j->clock);
        }
    }
    for (uint32_t g = 0; s->experts && g < j->n_comms[EP]; g++) {
        uint32_t t, p, d;

        simjob_place(s, j->comms[EP][g].members[0], &t, &p, &d);
        if (p == stage && j->comms[EP][g].n > 1)
            exchange(j, &j->comms[EP][g]);
    }
}

static void enter_message(struct job *j, const struct simjob_comm *c,
                          bool sends, uint32_t me, uint32_t peer)
{
    struct simjob_record what = {.comm = c,
                                 .comm_rank = me,
                                 .func = sends ? "Send" : "Recv",
                                 .p2p = true,
                                 .peer = peer,
                                 .sn = *last_sn(j, c, me) + 1,
                                 .bytes = j->shape->tp_bytes};

    enter(j, what, c->members[me]);
}

/* From stage to stage, in each pipeline. */
static void messages(struct job *j, uint32_t from, uint32_t to)
{
    uint32_t n_slow = 0;

    for (uint32_t g = 0; g < j->n_comms[PP]; g++) {
        const struct simjob_comm *c = &j->comms[PP][g];
        uint32_t a = c->members[from], b = c->members[to];
        uint32_t at_a = node_of(j, a), at_b = node_of(j, b);
        uint32_t node = j->truth->node;
        bool slow = simjob_message_slow(j->truth, at_a, at_b);
        double end = j->clock[a] > j->clock[b] ? j->clock[a] : j->clock[b];

        if (j->stuck[a] || j->stuck[b]) {
            if (!j->truth->comm)
                j->truth->comm = c->id;
            enter_message(j, c, true, from, to);
            enter_message(j, c, false, to, from);
            continue;
        }
        end += net_ns(j, at_a != at_b, at_a == node || at_b == node, 1,
                      (double) j->shape->tp_bytes) *
               (slow ? 1 + j->truth->effect : 1);
        n_slow += slow;
        j->spent_ns += 2 * end - j->clock[a] - j->clock[b];
        message_side(j, c, true, from, to, end, j->shape->tp_bytes);
        message_side(j, c, false, to, from, end, j->shape->tp_bytes);
    }
    /* told from what most of the likes do */
    j->truth->shown |= n_slow && 3 * n_slow <= j->n_comms[PP] &&
                       j->n_comms[PP] >= 8;
}

static void gradients(struct job *j, uint32_t bucket, bool aside)
{
    const struct simjob_shape *s = j->shape;
    double *clock = aside ? j->side : j->clock;

    for (uint32_t g = 0; s->dp > 1 && g < j->n_comms[DP]; g++) {
        if (s->grads == SIMJOB_SCATTER) {
            collective(j, DP, g, "ReduceScatter", 0, s->dp_bytes, clock);
            collective(j, DP, g, "AllGather", 1, s->dp_bytes, clock);
        } else {
            collective(j, DP, g, "AllReduce", 0,
                       s->dp_bytes / s->buckets + 1024 * bucket, clock);
        }
    }
}

static void pipeline(struct job *j, bool backward)
{
    const struct simjob_shape *s = j->shape;
    bool aside = backward && s->grads == SIMJOB_OVERLAP && s->pp == 1;

    for (uint32_t m = 0; m < s->microbatches; m++)
        for (uint32_t i = 0; i < s->pp; i++) {
            uint32_t stage = backward ? s->pp - 1 - i : i, bucket;

            j->batch = m;
            if (i)
                messages(j, backward ? stage + 1 : stage - 1, stage);
            for (uint32_t l = 0; l < simjob_layers_of(s, stage); l++) {
                layer(j, stage, backward ? s->layers + l : l);
                if (aside && m + 1 == s->microbatches &&
                    simjob_ends_bucket(s, l, &bucket))
                    gradients(j, bucket, true);
            }
        }
    for (uint32_t r = 0; aside && r < j->n; r++)
        if (j->side[r] > j->clock[r])
            j->clock[r] = j->side[r];
}

/* Weights are gathered a layer ahead and gradients scattered behind, on a
 * stream of their own that only the next layer, or the step's end, waits for.
 */
static void prefetched_layers(struct job *j)
{
    const struct simjob_shape *s = j->shape;
    double *ready = need(j->n, sizeof(*ready));

    collective(j, DP, 0, "AllGather", 0, s->dp_bytes, j->side);
    for (uint32_t l = 0; l < 2 * s->layers; l++) {
        memcpy(ready, j->side, j->n * sizeof(*ready));
        if (l + 1 < 2 * s->layers)
            collective(j, DP, 0, "AllGather", 0, s->dp_bytes, j->side);
        for (uint32_t r = 0; r < j->n; r++)
            j->clock[r] = fmax(j->clock[r], ready[r]);
        layer(j, 0, l);
        if (l >= s->layers)
            collective(j, DP, 0, "ReduceScatter", 1, s->dp_bytes, j->side);
    }
    for (uint32_t r = 0; r < j->n; r++)
        j->clock[r] = fmax(j->clock[r], j->side[r]);
    free(ready);
}

static void sharded_layers(struct job *j)
{
    const struct simjob_shape *s = j->shape;

    for (uint32_t l = 0; l < 2 * s->layers; l++) {
        collective(j, DP, 0, "AllGather", 0, s->dp_bytes, j->clock);
        layer(j, 0, l);
        if (l >= s->layers)
            collective(j, DP, 0, "ReduceScatter", 1, s->dp_bytes, j->clock);
    }
}

/* A Reduce over all ranks: rank 0 waits for the last of them, each other rank
 * sends its part and goes on. */
static void reduce(struct job *j)
{
    struct simjob_comm *c = &j->comms[WORLD][0];
    struct simjob_record what = {
        .comm = c, .func = "Reduce", .sn = c->next_sn[1], .bytes = 4096};
    double all = 0;

    if (blocks(j, c, what))
        return;
    for (uint32_t r = 0; r < j->n; r++)
        all = fmax(all, j->clock[r] += LAUNCH_NS * random_unit(&j->random));
    for (uint32_t r = 0; r < j->n; r++) {
        double start = j->clock[r];

        what.rank = what.comm_rank = r;
        j->clock[r] = (r ? start : all) +
                      net_ns(j, c->n_nodes > 1, false, 1, (double) what.bytes);
        emit(j, &what, start, j->clock[r]);
        j->spent_ns += j->clock[r] - start;
    }
    c->next_sn[1]++;
}

static void step(struct job *j)
{
    const struct simjob_shape *s = j->shape;

    if (s->sharded && s->prefetched) {
        prefetched_layers(j);
    } else if (s->sharded) {
        sharded_layers(j);
    } else {
        pipeline(j, false);
        pipeline(j, true);
        if (s->grads != SIMJOB_OVERLAP || s->pp > 1)
            for (uint32_t b = 0;
                 b < (s->grads == SIMJOB_SCATTER ? 1 : s->buckets); b++)
                gradients(j, b, false);
    }
    if (s->world)
        collective(j, WORLD, 0, "AllReduce", 0, 65536, j->clock);
    if (s->reduced)
        reduce(j);
}

/* When, how often, and in which stage. */
static void choose_course(struct job *j)
{
    struct simjob_random r = {j->random.state ^ 0xc0542};
    struct simjob_truth *t = j->truth;

    t->rate = 0.005 * pow(10, random_unit(&r));
    t->every = 10 + random_below(&r, 31);
    t->stage = random_below(&r, j->shape->pp);
    if (t->fault == SIMJOB_CHECKPOINT) {
        t->ranks[0] = 0;
        t->every = j->steps < 200 ? j->steps / 5 : 40;
    }
    if (t->fault == SIMJOB_ONSET || t->fault == SIMJOB_NODE_ONSET)
        t->from_step = (uint32_t) (j->steps * (0.3 + 0.6 * random_unit(&r)));
}

/* From this share of the ranks' time in communication on, and so many, stalls
 * count. */
#define STALL_COST 0.02
#define STALL_TIMES 3

static void choose(struct job *j, enum simjob_fault fault, double effect)
{
    struct simjob_random *r = &j->random;
    uint32_t nodes = (j->n + j->shape->per_node - 1) / j->shape->per_node;
    uint32_t apart;

    *j->truth = (struct simjob_truth){.fault = fault, .effect = effect};
    j->truth->ranks[0] = random_below(r, j->n);
    j->truth->ranks[1] = (j->truth->ranks[0] + 1 + random_below(r, j->n - 1)) %
                         j->n;
    j->truth->node = random_below(r, nodes);
    j->truth->shown = fault != SIMJOB_SLOW_LINK && fault != SIMJOB_DRIFT &&
                      fault != SIMJOB_SLOW_NET && !simjob_late_node(fault) &&
                      !simjob_by_messages(j->truth);
    j->truth->from_step = j->steps * (3 + random_below(r, 5)) / 10;
    j->hang_layer = random_below(r, 2 * j->shape->layers);
    choose_course(j);
    /* a pipeline's next stage, where there is one */
    apart = (j->shape->dp_before_pp ? j->n / j->shape->pp : j->shape->tp) /
            j->shape->per_node;
    j->truth->other_node = (j->truth->node + (apart ? apart : 1)) % nodes;
}

static void set_pace(struct job *j)
{
    for (uint32_t r = 0; r < j->n; r++) {
        uint32_t t, p, d;

        simjob_place(j->shape, r, &t, &p, &d);
        j->pace[r] = 1;
        if (j->shape->uneven)
            j->pace[r] += LAYER_NOISE * (2 * random_unit(&j->random) - 1);
        if (j->shape->skewed && p == j->shape->pp - 1)
            j->pace[r] *= 1.1;
    }
}

void simjob_run(const struct simjob_shape *shape, enum simjob_fault fault,
                double effect, uint64_t seed, simjob_sink *sink, void *arg,
                struct simjob_truth *truth)
{
    struct job j = {.shape = shape,
                    .random = {seed},
                    .truth = truth,
                    .sink = sink,
                    .arg = arg,
                    .n = simjob_ranks(shape),
                    .steps = fault == SIMJOB_TINY ? TINY_STEPS : shape->steps};

    if (shape->real.on) {
        real_run(shape, fault, effect, seed, sink, arg, truth);
        return;
    }
    j.pace = need(j.n, sizeof(*j.pace));
    j.clock = need(j.n, sizeof(*j.clock));
    j.side = need(j.n, sizeof(*j.side));
    j.stuck = need(j.n, sizeof(*j.stuck));
    j.p2p_sn = need(2 * j.n, sizeof(*j.p2p_sn));
    choose(&j, fault, effect);
    set_pace(&j);
    for (int kind = 0; kind < N_KINDS; kind++)
        make_comms(&j, kind);
    truth->undecidable = simjob_late_node(fault) &&
                         !node_can_be_told(&j, truth->node);
    for (; j.step < j.steps && j.hung_ranks < j.n; j.step++) {
        if (j.step == truth->from_step)
            truth->from_ns = j.clock[0];
        step(&j);
        if (fault == SIMJOB_KILLED && j.step == truth->from_step) {
            truth->lost_ns = truth->from_ns + (j.clock[0] - truth->from_ns) *
                                                  random_unit(&j.random);
            break;
        }
    }
    truth->end_ns = j.clock[0];
    truth->spent_ns = j.spent_ns / j.n;
    if (fault == SIMJOB_SLOW_STAGE)
        truth->shown = shape->pp > 1 && !shape->skewed && !shape->short_stage;
    if (fault == SIMJOB_STALLS || fault == SIMJOB_CHECKPOINT)
        truth->shown &= truth->stalled_ns * j.n > STALL_COST * j.spent_ns &&
                        truth->stalled_ns > 0.9e6 * STALL_TIMES * effect;
    for (int kind = 0; kind < N_KINDS; kind++) {
        for (uint32_t g = 0; g < j.n_comms[kind]; g++)
            free(j.comms[kind][g].members);
        free(j.comms[kind]);
        free(j.at[kind]);
    }
    free(j.pace);
    free(j.clock);
    free(j.side);
    free(j.stuck);
    free(j.p2p_sn);
}
