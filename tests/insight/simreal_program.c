/* simreal_program.c - what a rank of a realistic job does in a step. */
#include <stdlib.h>
#include <string.h>

#include "tests/insight/simreal_parts.h"

static struct real_instr *add(struct real_program *p, enum real_act act)
{
    if (p->n == p->room) {
        p->room = p->room ? 2 * p->room : 64;
        p->at = reallocarray(p->at, p->room, sizeof(*p->at));
        if (!p->at)
            abort();
    }
    p->at[p->n] = (struct real_instr){.act = act};
    return &p->at[p->n++];
}

static void add_layer(struct real_program *p, uint32_t batch, uint32_t layer,
                      bool backward, bool experts)
{
    struct real_instr *i = add(p, REAL_COMPUTE);

    i->batch = batch;
    i->layer = layer;
    i->backward = backward;
    i->experts = experts;
}

static void add_collective(struct real_program *p, enum real_comm comm,
                           const char *func, unsigned which, uint64_t bytes,
                           bool aside)
{
    struct real_instr *i = add(p, REAL_COLLECTIVE);

    i->comm = comm;
    i->func = func;
    i->which = which;
    i->bytes = bytes;
    i->aside = aside;
}

static void add_exchange(const struct simjob_shape *s, struct real_program *p,
                         uint32_t layer)
{
    struct real_instr *i = add(p, REAL_EXCHANGE);

    i->comm = REAL_EP;
    i->bytes = s->tp_bytes;
    i->layer = layer;
}

static void add_messages(struct real_program *p, int send_to, int recv_from,
                         uint32_t batch)
{
    struct real_instr *i = add(p, REAL_MESSAGES);

    i->comm = REAL_PP;
    i->send_to = send_to;
    i->recv_from = recv_from;
    i->batch = batch;
}

/* Gradients of a bucket. */
static void add_gradients(const struct simjob_shape *s, struct real_program *p,
                          uint32_t bucket, bool aside)
{
    uint64_t unlike = s->real.alike ? 0 : 1024 * bucket;

    add_collective(p, REAL_DP, s->real.scatter ? "ReduceScatter" : "AllReduce",
                   0, s->dp_bytes / s->buckets + unlike, aside);
}

/* A batch through a stage's layers, forward or backward. grads: buckets are
 * reduced as soon as they are complete. */
static void add_batch(const struct simjob_shape *s, struct real_program *p,
                      uint32_t batch, bool backward, bool grads)
{
    bool experts = s->real.kind == SIMREAL_EXPERTS;

    for (uint32_t l = 0; l < s->layers; l++) {
        uint32_t bucket;

        add_layer(p, batch, l, backward, false);
        if (s->tp > 1 && s->tp_ops == 1) {
            add_collective(p, REAL_TP, "AllReduce", 0, s->tp_bytes, false);
        } else if (s->tp > 1) {
            add_collective(p, REAL_TP, "ReduceScatter", 0, s->tp_bytes, false);
            add_collective(p, REAL_TP, "AllGather", 1, s->tp_bytes, false);
        }
        if (experts) {
            add_exchange(s, p, l);
            add_layer(p, batch, l, backward, true);
            add_exchange(s, p, l);
        }
        if (grads && simjob_ends_bucket(s, l, &bucket))
            add_gradients(s, p, bucket, true);
    }
}

/* One forward, one backward: a stage works ahead by as many batches as stages
 * follow it. */
static void add_pipeline(const struct simjob_shape *s, uint32_t stage,
                         struct real_program *p, bool train)
{
    uint32_t m = s->microbatches, last = s->pp - 1;
    uint32_t ahead = last - stage < m ? last - stage : m;
    bool grads = s->pp == 1;

    for (uint32_t i = 0; i < (train ? ahead : m); i++) {
        if (stage)
            add_messages(p, 0, -1, i);
        add_batch(s, p, i, false, false);
        if (stage < last)
            add_messages(p, 1, 0, i);
    }
    if (!train)
        return;
    if (ahead < m && stage)
        add_messages(p, 0, -1, ahead);
    for (uint32_t i = ahead; i < m; i++) {
        add_batch(s, p, i, false, false);
        if (stage < last)
            add_messages(p, 1, 1, i);
        add_batch(s, p, i - ahead, true, grads && i + 1 == m);
        if (stage)
            add_messages(p, -1, i + 1 < m ? -1 : 0, i);
    }
    for (uint32_t i = m - ahead; i < m; i++) {
        add_messages(p, 0, 1, i);
        add_batch(s, p, i, true, false);
        if (stage)
            add_messages(p, -1, 0, i);
    }
    if (!grads)
        for (uint32_t b = 0; b < s->buckets; b++)
            add_gradients(s, p, b, false);
    if (s->pp > 1 && (!stage || stage == last))
        add_collective(p, REAL_EMB, "AllReduce", 0, s->tp_bytes, false);
}

void real_program_make(const struct simjob_shape *s, uint32_t stage,
                       enum real_step what, bool saves, struct real_program *p)
{
    p->n = 0;
    add_pipeline(s, stage, p, what == REAL_TRAIN);
    add(p, REAL_JOIN);
    if (what == REAL_EVALUATE) {
        add_collective(p, REAL_WORLD, "AllReduce", 0, 16, false);
        return;
    }
    if (s->real.norm)
        add_collective(p, REAL_WORLD, "AllReduce", 0, 64, false);
    add(p, REAL_OPTIMIZER);
    if (s->real.scatter)
        add_collective(p, REAL_DP, "AllGather", 1, s->dp_bytes, false);
    if (saves)
        add(p, REAL_PAUSE);
}

double real_step_us(const struct simjob_shape *s)
{
    double batches = s->microbatches + s->pp - 1;
    double layers = s->layers * (s->real.kind == SIMREAL_EXPERTS ? 2 : 1);

    return batches * layers * 3 * s->real.layer_us;
}
