/* simreal.c - run a realistic job: programs of ranks, streams, operations.
 *
 * A rank's program runs until it waits. An operation ends when its last member
 * has arrived; then those that waited for it go on. Operations of one
 * communicator kind follow each other on a stream of their own.
 */
#include "tests/insight/simreal_parts.h"

#include <stdlib.h>
#include <string.h>

#include "contrib/ncclsim/sim_link.h"

#define LAUNCH_US 8.0   /* the host queues a kernel */
#define HOST_SHARE 0.25 /* ... and what a layer costs it, of the GPU's time */
#define NET_SD 0.04     /* of the logarithm of an operation's time */
#define OPTIMIZER_LAYERS 0.5
#define TAIL_MOST 25.0
#define APART_MOST                                                             \
    0.006 /* GPUs of a clean job differ by no more, either way                 \
           */
enum { IN_FLIGHT = 64 };

struct op {
    const struct real_instr *what;
    struct group *group;
    uint32_t n, arrived, number;
    double *at; /* [member] */
    bool message, backward;
    double end;
    struct op *next; /* of the step's */
};

/* A communicator while the job runs. */
struct group {
    struct simjob_comm comm;
    enum real_comm kind;
    double connect_ns; /* until its first operation is done */
    struct op **ops;   /* of the step */
    uint32_t n_ops, room;
    uint32_t *posted; /* [member] in the step */
    /* messages: [stage][direction] of those above */
    struct link {
        struct op **ops;
        uint32_t n, room, sent, received;
    } (*links)[2];
};

struct stream {
    double end;
    struct {
        struct op *op;
        double at;
    } queue[IN_FLIGHT];
    uint32_t head, n;
};

struct rank {
    uint32_t number, t, p, d, node;
    double gpu, host, apart, wander;
    uint32_t layers; /* that it has computed */
    struct real_program program;
    uint32_t pc;
    struct op *waits; /* for this one */
    bool joins;
    uint32_t in_flight; /* messages it waits for */
    double messages_end, messages_at;
    struct op *messages[2];
    struct stream streams[REAL_COMMS];
    struct group *in[REAL_COMMS];
    uint32_t seat[REAL_COMMS]; /* in that communicator */
    uint64_t p2p_sn[2];
    struct simjob_record *saved; /* of the step */
    uint32_t n_saved, room;
    bool queued;
};

struct real {
    const struct simjob_shape *s;
    const struct simreal *x;
    struct simjob_truth *t;
    uint64_t seed;
    simjob_sink *sink;
    void *arg;
    uint32_t n, nodes, step;
    enum real_step what;
    struct rank *ranks;
    struct group *groups[REAL_COMMS];
    uint32_t n_groups[REAL_COMMS];
    struct op *all; /* of the step */
    struct op **done;
    uint32_t n_done, done_room;
    uint32_t *ready;
    uint32_t n_ready;
    double spent_ns;
};

static void *need(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);

    if (!p)
        abort();
    return p;
}

/* --- communicators -------------------------------------------------------- */

static uint32_t group_number(const struct simjob_shape *s, enum real_comm kind,
                             const struct rank *r)
{
    uint32_t ep = simjob_ep_ranks(s);

    switch (kind) {
    case REAL_TP:
        return r->p * s->dp + r->d;
    case REAL_PP:
    case REAL_EMB:
        return r->d * s->tp + r->t;
    case REAL_DP:
        return r->p * s->tp + r->t;
    case REAL_EP:
        return (r->p * s->tp + r->t) * (s->dp / ep) + r->d / ep;
    default:
        return 0;
    }
}

static void join_group(struct real *j, struct rank *r, enum real_comm kind)
{
    struct group *g = &j->groups[kind][group_number(j->s, kind, r)];
    bool new_node = true;

    if (kind == REAL_EMB && r->p && r->p + 1 < j->s->pp)
        return;
    for (uint32_t i = 0; i < g->comm.n; i++)
        new_node &= j->ranks[g->comm.members[i]].node != r->node;
    g->comm.n_nodes += new_node;
    r->in[kind] = g;
    r->seat[kind] = g->comm.n;
    g->comm.members[g->comm.n++] = r->number;
}

static void make_groups(struct real *j, enum real_comm kind)
{
    static const char *const names[REAL_COMMS] = {"tp", "pp",  "dp",
                                                  "ep", "emb", "world"};
    const struct simjob_shape *s = j->s;
    const uint32_t sizes[REAL_COMMS] = {s->tp, s->pp, s->dp, simjob_ep_ranks(s),
                                        s->pp, j->n};

    j->n_groups[kind] = j->n / sizes[kind];
    j->groups[kind] = need(j->n_groups[kind], sizeof(**j->groups));
    for (uint32_t i = 0; i < j->n_groups[kind]; i++) {
        struct group *g = &j->groups[kind][i];
        struct simjob_random r = real_random(j->seed, REAL_ID, kind, i, 0);

        g->kind = kind;
        g->comm.id = random_next(&r) >> 4;
        g->comm.name = names[kind];
        g->comm.members = need(sizes[kind], sizeof(uint32_t));
        g->posted = need(sizes[kind], sizeof(*g->posted));
        g->connect_ns = 1e3 * (20e3 + j->x->connect_us * random_unit(&r));
        if (kind == REAL_PP)
            g->links = need(sizes[kind], sizeof(*g->links));
    }
    for (uint32_t r = 0; r < j->n; r++)
        join_group(j, &j->ranks[r], kind);
}

static void free_groups(struct real *j, enum real_comm kind)
{
    for (uint32_t i = 0; i < j->n_groups[kind]; i++) {
        struct group *g = &j->groups[kind][i];

        for (uint32_t k = 0; g->links && k < g->comm.n; k++) {
            free(g->links[k][0].ops);
            free(g->links[k][1].ops);
        }
        free(g->links);
        free(g->comm.members);
        free(g->posted);
        free(g->ops);
    }
    free(j->groups[kind]);
}

/* --- how long a rank computes --------------------------------------------- */

/* Student's t on 3 degrees of freedom, cut. */
static double tailed(struct simjob_random *r)
{
    double a = random_normal(r), b = random_normal(r), c = random_normal(r);
    double t = random_normal(r) / sqrt((a * a + b * b + c * c) / 3);

    return fmax(fmin(t, TAIL_MOST), -3);
}

/* What the fault adds to a rank's computation, as a share of it. */
static double fault_share(const struct real *j, const struct rank *r)
{
    const struct simjob_truth *t = j->t;
    bool since = j->step >= t->from_step;

    switch (t->fault) {
    case SIMJOB_LATE_RANK:
        return r->number == t->ranks[0] ? t->effect : 0;
    case SIMJOB_ONSET:
        return r->number == t->ranks[0] && since ? t->effect : 0;
    case SIMJOB_TWO_LATE:
        return r->number == t->ranks[0] || r->number == t->ranks[1] ? t->effect
                                                                    : 0;
    case SIMJOB_LATE_NODE:
        return r->node == t->node ? t->effect : 0;
    case SIMJOB_THROTTLE: /* over a quarter of the run */
        return r->node == t->node && since
                   ? t->effect *
                         fmin(1, 4.0 * (j->step - t->from_step) / j->s->steps)
                   : 0;
    case SIMJOB_SLOW_STAGE:
        return r->p == t->stage ? t->effect : 0;
    default:
        return 0;
    }
}

/* The work of a replica's batch, over the usual. */
static double length_of(const struct real *j, const struct rank *r,
                        uint32_t batch)
{
    struct simjob_random x =
        real_random(j->seed, REAL_LENGTH, r->d, j->step, batch);
    double sd = j->x->lengths_sd;

    return sd > 0 ? exp(sd * (random_normal(&x) - sd / 2)) : 1;
}

static double layer_ns(const struct real *j, const struct rank *r,
                       const struct real_instr *i)
{
    const struct simreal *x = j->x;
    uint64_t place = i->batch * 4096ULL + i->layer * 4 + i->backward * 2 +
                     i->experts;
    struct simjob_random n =
        real_random(j->seed, REAL_LAYER, r->number, j->step, place);
    double ns = 1e3 * x->layer_us * (i->backward ? 2 : 1);

    ns *= length_of(j, r, i->batch) * (1 + r->apart + r->wander);
    ns *= fmax(0.7, 1 + x->layer_sd * tailed(&n));
    if (r->p + 1 == j->s->pp)
        ns *= 1 + x->last_stage;
    if (i->experts) { /* forward and backward have the same samples */
        struct simjob_random e =
            real_random(j->seed, REAL_LOAD, r->number, j->step, i->layer);

        ns *= exp(x->experts_sd * (random_normal(&e) - x->experts_sd / 2));
    }
    return ns * (1 + fault_share(j, r));
}

/* A collection of garbage stops the host, after so much of its work. */
static double garbage_ns(const struct real *j, struct rank *r, double ns)
{
    struct simjob_random x =
        real_random(j->seed, REAL_GC, r->number, r->layers++, 0);

    if (!(j->x->gc_us > 0) || random_unit(&x) * 1e3 * j->x->gc_every_us > ns)
        return 0;
    return 1e3 * j->x->gc_us * (0.7 + 0.6 * random_unit(&x));
}

/* Work of the GPU that the host queues while it runs. The host is ahead by so
 * much at most; if it stops for longer, the GPU waits for it. */
static void compute(const struct real *j, struct rank *r, double ns)
{
    double host = fmax(r->host, r->gpu - 1e3 * j->x->ahead_us);
    double start = fmax(r->gpu, host + 1e3 * LAUNCH_US);

    r->host = host + HOST_SHARE * ns + garbage_ns(j, r, 1e3 * j->x->layer_us);
    r->gpu = fmax(start + ns, r->host);
}

static void stop(struct rank *r, double ns)
{
    r->gpu = r->host = fmax(r->gpu, r->host) + ns;
}

/* What a fault stops a rank for before a step. */
static double stall_ns(const struct real *j, const struct rank *r)
{
    const struct simjob_truth *t = j->t;
    double step = 1e3 * real_step_us(j->s);
    struct simjob_random x;

    switch (t->fault) {
    case SIMJOB_STALLS:
        x = real_random(j->seed, REAL_STALL, j->step, 0, 0);
        return r->number == t->ranks[0] && random_unit(&x) < j->x->often
                   ? t->effect / j->x->often * step
                   : 0;
    case SIMJOB_ONCE:
        return r->number == t->ranks[0] && j->step == t->from_step
                   ? t->effect * step * j->s->steps
                   : 0;
    case SIMJOB_CHECKPOINT:
        return r->number == 0 && j->step && j->step % t->every == 0
                   ? t->effect * step * t->every
                   : 0;
    case SIMJOB_TURNS: /* another rank in each step */
        x = real_random(j->seed, REAL_TURN, j->step, 0, 0);
        return random_below(&x, j->n) == r->number ? t->effect * step : 0;
    default:
        return 0;
    }
}

/* --- operations ----------------------------------------------------------- */

/* How much longer what crosses to a group's nodes takes. */
static double crossing(const struct real *j, const struct group *g)
{
    const struct simjob_truth *t = j->t;
    double most = 1;

    for (uint32_t i = 0; i < g->comm.n; i++) {
        const struct rank *r = &j->ranks[g->comm.members[i]];
        struct simjob_random x =
            real_random(j->seed, REAL_TENANT, r->node, j->step / 3, 0);
        double slow = random_unit(&x) < j->x->tenants ? j->x->tenants_slow : 1;

        slow *= simjob_slowed(t, j->step, j->s->steps, r->node == t->node);
        if (t->fault == SIMJOB_SLOW_RAIL && j->step >= t->from_step &&
            r->number % j->s->per_node == t->ranks[0] % j->s->per_node)
            slow *= 1 + t->effect;
        most = fmax(most, slow);
    }
    return most;
}

static double net_ns(const struct real *j, struct op *op, double bus_bytes)
{
    struct group *g = op->group;
    bool crosses = g->comm.n_nodes > 1;
    struct simjob_random x =
        real_random(j->seed, REAL_NET, g->comm.id, j->step, op->number);
    double ns = sim_link_ns(crosses, g->comm.n / g->comm.n_nodes, bus_bytes);

    ns *= exp(NET_SD * fmax(-2, fmin(tailed(&x), 12)));
    if (crosses)
        ns *= crossing(j, g);
    ns += g->connect_ns;
    g->connect_ns = 0;
    return ns;
}

static void save(struct real *j, struct rank *r, struct simjob_record record,
                 double start, double end)
{
    if (j->x->alone && r->number != j->t->ranks[0])
        return;
    if (j->x->sampled && j->step % j->x->sampled)
        return;
    record.rank = r->number;
    record.start_ns = (int64_t) start;
    record.end_ns = (int64_t) end;
    record.exec_us = (uint64_t) ((end - start) / 1000);
    if (r->n_saved == r->room) {
        r->room = r->room ? 2 * r->room : 256;
        r->saved = reallocarray(r->saved, r->room, sizeof(*r->saved));
        if (!r->saved)
            abort();
    }
    r->saved[r->n_saved++] = record;
}

static void wake(struct real *j, struct rank *r)
{
    if (!r->queued)
        j->ready[j->n_ready++] = r->number;
    r->queued = true;
}

static struct op *new_op(struct real *j, struct group *g,
                         const struct real_instr *what, uint32_t n,
                         uint32_t number)
{
    struct op *op = need(1, sizeof(*op));

    op->what = what;
    op->group = g;
    op->n = n;
    op->number = number;
    op->at = need(n, sizeof(*op->at));
    op->next = j->all;
    j->all = op;
    return op;
}

static void push(struct op ***ops, uint32_t *n, uint32_t *room, struct op *op)
{
    if (*n == *room) {
        *room = *room ? 2 * *room : 32;
        *ops = reallocarray(*ops, *room, sizeof(**ops));
        if (!*ops)
            abort();
    }
    (*ops)[(*n)++] = op;
}

static void arrive(struct real *j, struct op *op, uint32_t seat, double at)
{
    op->at[seat] = at;
    if (++op->arrived == op->n)
        push(&j->done, &j->n_done, &j->done_room, op);
}

/* An operation of a stream: it starts when the one before it has ended. */
static void post(struct real *j, struct rank *r, const struct real_instr *i)
{
    struct group *g = r->in[i->comm];
    struct stream *stream = &r->streams[i->comm];
    uint32_t seat = r->seat[i->comm], number = g->posted[seat]++;
    struct op *op;
    double at;

    if (number == g->n_ops)
        push(&g->ops, &g->n_ops, &g->room, new_op(j, g, i, g->comm.n, number));
    op = g->ops[number];
    r->host = fmax(r->host, r->gpu - 1e3 * j->x->ahead_us) + 1e3 * LAUNCH_US;
    at = fmax(r->gpu, r->host);
    if (stream->n == IN_FLIGHT)
        abort();
    stream->queue[(stream->head + stream->n++) % IN_FLIGHT].op = op;
    stream->queue[(stream->head + stream->n - 1) % IN_FLIGHT].at = at;
    if (!i->aside)
        r->waits = op;
    if (stream->n == 1)
        arrive(j, op, seat, fmax(at, stream->end));
}

/* Bytes of a message of an exchange. */
static double part_bytes(const struct real *j, const struct op *op, uint32_t i,
                         uint32_t k)
{
    struct simjob_random r = real_random(j->seed, REAL_LOAD,
                                         op->group->comm.id + op->number,
                                         j->step, 1000 + i * 64 + k);

    return (double) op->what->bytes / op->n * (0.25 + 1.5 * random_unit(&r));
}

static void save_exchange(struct real *j, const struct op *op, uint32_t seat)
{
    struct simjob_comm *c = &op->group->comm;
    struct rank *r = &j->ranks[c->members[seat]];
    struct simjob_record record = {
        .comm = c, .comm_rank = seat, .func = "AlltoAll", .sn = c->next_sn[0]};
    double bytes = 0;

    for (uint32_t k = 0; k < op->n; k++)
        bytes += part_bytes(j, op, seat, k);
    record.bytes = (uint64_t) bytes;
    if (j->s->native) {
        save(j, r, record, op->at[seat], op->end);
        return;
    }
    for (uint32_t k = 0; k < 2 * op->n; k++) {
        uint32_t peer = k / 2;

        record.func = k % 2 ? "Send" : "Recv";
        record.p2p = true;
        record.peer = peer;
        record.sn = ++r->p2p_sn[1];
        record.bytes = (uint64_t) (k % 2 ? part_bytes(j, op, seat, peer)
                                         : part_bytes(j, op, peer, seat));
        save(j, r, record, op->at[seat], op->end);
    }
}

static void save_collective(struct real *j, const struct op *op, uint32_t seat)
{
    struct simjob_comm *c = &op->group->comm;
    bool gathers = strcmp(op->what->func, "AllReduce") != 0;
    struct simjob_record record = {.comm = c,
                                   .comm_rank = seat,
                                   .func = op->what->func,
                                   .sn = c->next_sn[op->what->which],
                                   .bytes = gathers ? op->what->bytes / c->n
                                                    : op->what->bytes};

    save(j, &j->ranks[c->members[seat]], record, op->at[seat], op->end);
}

/* Bytes that a link carries. */
static double bus_bytes(const struct real *j, const struct op *op)
{
    double n = op->n, most = 0, factor;

    if (op->message)
        return (double) op->what->bytes;
    if (op->what->act == REAL_EXCHANGE) {
        for (uint32_t i = 0; i < op->n; i++) {
            double sum = 0;

            for (uint32_t k = 0; k < op->n; k++)
                sum += k == i ? 0 : part_bytes(j, op, i, k);
            most = fmax(most, sum);
        }
        return most;
    }
    factor = strcmp(op->what->func, "AllReduce") ? 1 : 2;
    return (double) op->what->bytes * factor * (n - 1) / n;
}

/* The stream's first operation has ended; the next one starts. */
static void go_on(struct real *j, struct rank *r, const struct op *op)
{
    struct stream *stream = &r->streams[op->what->comm];

    stream->end = op->end;
    stream->head = (stream->head + 1) % IN_FLIGHT;
    stream->n--;
    if (stream->n)
        arrive(j, stream->queue[stream->head].op, r->seat[op->what->comm],
               fmax(stream->queue[stream->head].at, op->end));
    if (r->waits == op) {
        r->waits = NULL;
        r->gpu = fmax(r->gpu, op->end);
        wake(j, r);
    } else if (r->joins) {
        wake(j, r);
    }
}

static void save_messages(struct real *j, struct rank *r)
{
    struct group *g = r->in[REAL_PP];

    for (int k = 0; k < 2; k++) {
        const struct op *op = r->messages[k];
        struct simjob_record record;

        if (!op)
            continue;
        record = (struct simjob_record){
            .comm = &g->comm,
            .comm_rank = r->seat[REAL_PP],
            .func = k ? "Recv" : "Send",
            .p2p = true,
            .bytes = j->s->tp_bytes,
            .sn = ++r->p2p_sn[0],
            .peer = r->seat[REAL_PP] + ((k == 0) == op->backward ? -1U : 1U)};
        save(j, r, record, r->messages_at, r->messages_end);
        r->messages[k] = NULL;
    }
    j->spent_ns += r->messages_end - r->messages_at;
}

/* A message of two ranks has ended. */
static void end_message(struct real *j, const struct op *op)
{
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t stage = op->number + ((i == 0) == op->backward);
        struct rank *r = &j->ranks[op->group->comm.members[stage]];

        r->messages_end = fmax(r->messages_end, op->end);
        if (--r->in_flight)
            continue;
        save_messages(j, r);
        r->gpu = fmax(r->gpu, r->messages_end);
        wake(j, r);
    }
}

static void finish(struct real *j, struct op *op)
{
    double last = 0;

    for (uint32_t i = 0; i < op->n; i++)
        last = fmax(last, op->at[i]);
    op->end = last + net_ns(j, op, bus_bytes(j, op));
    if (op->message) {
        end_message(j, op);
        return;
    }
    for (uint32_t i = 0; i < op->n; i++) {
        j->spent_ns += op->end - op->at[i];
        if (op->what->act == REAL_EXCHANGE)
            save_exchange(j, op, i);
        else
            save_collective(j, op, i);
    }
    op->group->comm.next_sn[op->what->which]++;
    for (uint32_t i = 0; i < op->n; i++)
        go_on(j, &j->ranks[op->group->comm.members[i]], op);
}

/* One side of a message between a stage and the next one. */
static void post_message(struct real *j, struct rank *r,
                         const struct real_instr *i, bool sends, int further)
{
    struct group *g = r->in[REAL_PP];
    bool backward = sends ? further < 0 : further > 0;
    uint32_t stage = further < 0 ? r->p - 1 : r->p; /* the lower one */
    struct link *link = &g->links[stage][backward];
    uint32_t number = sends ? link->sent++ : link->received++;
    struct op *op;

    if (number == link->n) {
        op = new_op(j, g, i, 2, stage);
        op->message = true;
        op->backward = backward;
        push(&link->ops, &link->n, &link->room, op);
    }
    op = link->ops[number];
    r->messages[!sends] = op;
    arrive(j, op, !sends, r->messages_at);
}

static void post_messages(struct real *j, struct rank *r,
                          const struct real_instr *i)
{
    r->host = fmax(r->host, r->gpu - 1e3 * j->x->ahead_us) + 1e3 * LAUNCH_US;
    r->messages_at = fmax(r->gpu, r->host);
    r->messages_end = 0;
    r->in_flight = (i->send_to != 0) + (i->recv_from != 0);
    if (i->send_to)
        post_message(j, r, i, true, i->send_to);
    if (i->recv_from)
        post_message(j, r, i, false, i->recv_from);
}

/* --- a step --------------------------------------------------------------- */

/* Returns false if the rank waits. */
static bool execute(struct real *j, struct rank *r, const struct real_instr *i)
{
    const struct simreal *x = j->x;
    struct simjob_random n;

    switch (i->act) {
    case REAL_COMPUTE:
        compute(j, r, layer_ns(j, r, i));
        return true;
    case REAL_OPTIMIZER:
        compute(j, r, OPTIMIZER_LAYERS * 1e3 * x->layer_us);
        return true;
    case REAL_PAUSE:
        n = real_random(j->seed, REAL_SAVE, r->number, j->step, 0);
        stop(r, 1e3 * x->save_us * (1 + 0.1 * random_unit(&n)));
        return true;
    case REAL_JOIN:
        for (int k = 0; k < REAL_COMMS; k++) {
            if (r->streams[k].n) {
                r->joins = true;
                return false;
            }
            r->gpu = fmax(r->gpu, r->streams[k].end);
        }
        r->joins = false;
        return true;
    case REAL_MESSAGES:
        post_messages(j, r, i);
        return false;
    default:
        if (!r->in[i->comm] || r->in[i->comm]->comm.n < 2)
            return true;
        post(j, r, i);
        return i->aside;
    }
}

static void run_rank(struct real *j, struct rank *r)
{
    while (r->pc < r->program.n && !r->waits && !r->in_flight) {
        const struct real_instr *i = &r->program.at[r->pc];

        if (i->act == REAL_JOIN) {
            if (!execute(j, r, i))
                return; /* asked again */
            r->pc++;
            continue;
        }
        r->pc++;
        if (!execute(j, r, i))
            return;
    }
}

static void begin_step(struct real *j, struct rank *r, bool saves)
{
    struct simjob_random x =
        real_random(j->seed, REAL_WANDER, r->number, j->step, 0);

    real_program_make(j->s, r->p, j->what, saves, &r->program);
    r->pc = 0;
    r->wander = j->x->hold * r->wander + sqrt(1 - j->x->hold * j->x->hold) *
                                             j->x->wander_sd *
                                             random_normal(&x);
    r->host = fmax(r->host, r->gpu); /* it reads the loss */
    if (j->what == REAL_TRAIN)
        stop(r, stall_ns(j, r));
    wake(j, r);
}

static int by_end(const void *a, const void *b)
{
    const struct simjob_record *x = a, *y = b;

    return x->end_ns != y->end_ns ? (x->end_ns < y->end_ns ? -1 : 1)
                                  : (x->sn > y->sn) - (x->sn < y->sn);
}

/* Records are written as operations end. */
static void end_step(struct real *j)
{
    for (uint32_t r = 0; r < j->n; r++) {
        struct rank *k = &j->ranks[r];

        if (k->pc < k->program.n)
            abort(); /* a program that never ends */
        if (k->n_saved)
            qsort(k->saved, k->n_saved, sizeof(*k->saved), by_end);
        for (uint32_t i = 0; i < k->n_saved; i++)
            j->sink(j->arg, &k->saved[i]);
        k->n_saved = 0;
    }
    for (struct op *op = j->all, *next; op; op = next) {
        next = op->next;
        free(op->at);
        free(op);
    }
    j->all = NULL;
    for (int kind = 0; kind < REAL_COMMS; kind++)
        for (uint32_t i = 0; i < j->n_groups[kind]; i++) {
            struct group *g = &j->groups[kind][i];

            g->n_ops = 0;
            memset(g->posted, 0, g->comm.n * sizeof(*g->posted));
            if (g->links)
                for (uint32_t k = 0; k < g->comm.n; k++)
                    for (int d = 0; d < 2; d++)
                        g->links[k][d].n = g->links[k][d].sent =
                            g->links[k][d].received = 0;
        }
}

static void run_step(struct real *j, enum real_step what, bool saves)
{
    j->what = what;
    for (uint32_t r = 0; r < j->n; r++)
        begin_step(j, &j->ranks[r], saves);
    while (j->n_ready || j->n_done) {
        if (j->n_done) {
            finish(j, j->done[--j->n_done]);
        } else {
            struct rank *r = &j->ranks[j->ready[--j->n_ready]];

            r->queued = false;
            run_rank(j, r);
        }
    }
    end_step(j);
}

/* --- the job -------------------------------------------------------------- */

/* Is the node all there is of its stages? Then it is the stage that is late. */
static bool is_whole_stage(const struct real *j, uint32_t node)
{
    for (uint32_t r = 0; r < j->n; r++)
        for (uint32_t k = 0; k < j->n; k++)
            if (j->ranks[r].node == node && j->ranks[k].node != node &&
                j->ranks[k].p == j->ranks[r].p)
                return false;
    return true;
}

static void choose(struct real *j, enum simjob_fault fault, double effect)
{
    struct simjob_random r = real_random(j->seed, REAL_CHOICE, 0, 0, 0);
    struct simjob_truth *t = j->t;
    uint32_t steps = j->s->steps;

    *t = (struct simjob_truth){.fault = fault, .effect = effect, .shown = true};
    t->ranks[0] = random_below(&r, j->n);
    t->ranks[1] = (t->ranks[0] + 1 + random_below(&r, j->n - 1)) % j->n;
    t->node = random_below(&r, j->nodes);
    t->stage = random_below(&r, j->s->pp);
    t->from_step = steps * (3 + random_below(&r, 4)) / 10;
    t->every = steps > 25 ? steps / 5 : 5;
    t->rate = j->x->often;
    if (fault == SIMJOB_CHECKPOINT)
        t->ranks[0] = 0;
    if (fault == SIMJOB_SLOW_STAGE)
        t->shown = j->s->pp > 1 && !(j->x->last_stage > 0);
}

static void place(struct real *j, struct rank *r, uint32_t number)
{
    const struct simreal *x = j->x;
    struct simjob_random n = real_random(j->seed, REAL_APART, number, 0, 0);

    r->number = number;
    r->node = number / j->s->per_node;
    simjob_place(j->s, number, &r->t, &r->p, &r->d);
    r->apart =
        fmax(-APART_MOST, fmin(APART_MOST, x->apart / 2 * random_normal(&n)));
    n = real_random(j->seed, REAL_START, number, 0, 0);
    r->gpu = r->host = 1e3 * x->start_us * random_unit(&n);
}

void real_run(const struct simjob_shape *shape, enum simjob_fault fault,
              double effect, uint64_t seed, simjob_sink *sink, void *arg,
              struct simjob_truth *truth)
{
    const struct simreal *x = &shape->real;
    struct real j = {.s = shape,
                     .x = x,
                     .t = truth,
                     .seed = seed,
                     .sink = sink,
                     .arg = arg,
                     .n = simjob_ranks(shape)};

    j.nodes = (j.n + shape->per_node - 1) / shape->per_node;
    j.ranks = need(j.n, sizeof(*j.ranks));
    j.ready = need(j.n, sizeof(*j.ready));
    choose(&j, fault, effect);
    for (uint32_t r = 0; r < j.n; r++)
        place(&j, &j.ranks[r], r);
    for (int kind = 0; kind < REAL_COMMS; kind++)
        make_groups(&j, kind);
    truth->undecidable = simjob_late_node(fault) &&
                         is_whole_stage(&j, truth->node);
    for (; j.step < shape->steps; j.step++) {
        if (j.step == truth->from_step)
            truth->from_ns = j.ranks[0].gpu;
        run_step(&j, REAL_TRAIN,
                 x->save_every && (j.step + 1) % x->save_every == 0);
        for (uint32_t b = 0; x->eval_every && b < x->eval_batches &&
                             (j.step + 1) % x->eval_every == 0;
             b++)
            run_step(&j, REAL_EVALUATE, false);
    }
    for (uint32_t r = 0; r < j.n; r++)
        truth->end_ns = fmax(truth->end_ns, j.ranks[r].gpu);
    truth->spent_ns = j.spent_ns / j.n;
    for (int kind = 0; kind < REAL_COMMS; kind++)
        free_groups(&j, kind);
    for (uint32_t r = 0; r < j.n; r++) {
        free(j.ranks[r].program.at);
        free(j.ranks[r].saved);
    }
    free(j.ranks);
    free(j.ready);
    free(j.done);
}
