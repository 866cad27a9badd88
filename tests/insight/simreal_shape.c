/* simreal_shape.c - shapes of realistic jobs. */
#include <math.h>

#include "tests/insight/simreal_parts.h"

#define MAX_RECORDS 60000.0
#define LEAST_STEPS 20
#define LINK_GBS 45.0 /* as sim_link_ns has them */
#define NVLINK_GBS 350.0

/* In [from, to), evenly by the logarithm. */
static double between(struct simjob_random *r, double from, double to)
{
    return from * pow(to / from, random_unit(r));
}

static void replicas(struct simjob_shape *s, struct simjob_random *r)
{
    s->tp = s->pp = s->microbatches = 1;
    s->dp = 8 * (1 + random_below(r, 8));
    s->layers = 6 + random_below(r, 10);
    s->buckets = 3 + random_below(r, 4);
}

static void pipelines(struct simjob_shape *s, struct simjob_random *r)
{
    s->tp = 1u << random_below(r, 4);
    s->pp = 1u << random_below(r, 3);
    s->dp = 2 << random_below(r, 2);
    while (s->tp * s->pp * s->dp > 64)
        s->tp /= 2;
    while (s->tp * s->pp * s->dp < 8)
        s->dp *= 2;
    s->dp_before_pp = random_below(r, 2);
    s->layers = 2 + random_below(r, 3);
    s->microbatches = s->pp > 1 ? s->pp + random_below(r, 5) : 2;
    s->buckets = s->pp > 1 ? 1 : 2;
    if (s->pp > 1 && random_below(r, 2))
        s->real.last_stage = 0.1 + 0.3 * random_unit(r);
}

static void experts(struct simjob_shape *s, struct simjob_random *r)
{
    s->tp = s->pp = s->microbatches = 1;
    s->expert_ranks = random_below(r, 2) ? 4 : 8;
    s->dp = 16 * (1 + random_below(r, 2));
    s->experts = s->uneven_sizes = s->step_sizes = true;
    s->native = random_below(r, 2);
    s->layers = 2 + random_below(r, 2);
    s->buckets = 2;
    s->real.experts_sd = between(r, 0.03, 0.3);
}

/* Records of all ranks in a step, about. */
static double records(const struct simjob_shape *s)
{
    double layers = 2.0 * s->layers * s->microbatches;
    double n = s->buckets + 3;

    if (s->tp > 1)
        n += layers * s->tp_ops;
    if (s->experts)
        n += layers * 2 * (s->native ? 1 : 2 * s->expert_ranks);
    if (s->pp > 1)
        n += 4 * s->microbatches;
    return n * simjob_ranks(s);
}

static void vary(struct simjob_shape *s, struct simjob_random *r)
{
    struct simreal *x = &s->real;
    double step_us = between(r, 0.3e6, 5e6);

    /* how long the layers, and the operations, of such a step are */
    x->layer_us = 1;
    x->layer_us = step_us / real_step_us(s);
    s->tp_bytes = (uint64_t) (between(r, 0.02, 0.3) * x->layer_us *
                              (s->experts ? LINK_GBS : NVLINK_GBS) * 1e3);
    s->dp_bytes =
        (uint64_t) (between(r, 0.01, 0.15) * step_us * LINK_GBS * 1e3);
    x->layer_sd = between(r, 0.008, 0.03);
    x->wander_sd = between(r, 0.002, 0.008);
    x->hold = 0.5 + 0.48 * random_unit(r);
    x->apart = between(r, 0.002, 0.006);
    x->lengths_sd = random_below(r, 3) ? between(r, 0.005, 0.1) : 0;
    x->ahead_us = between(r, 2000, 200000);
    if (random_below(r, 3)) {
        x->gc_us = between(r, 15000, 250000);
        x->gc_every_us = fmax(between(r, 10, 80) * step_us, 50 * x->gc_us);
    }
    x->start_us = between(r, 0.5e6, 8e6);
    x->connect_us = between(r, 40e3, 6e6);
    if (random_below(r, 2)) {
        x->eval_every = 10 + random_below(r, 20);
        x->eval_batches = 2;
    }
    if (random_below(r, 2)) {
        x->save_every = 12 + random_below(r, 20);
        x->save_us = fmin(4e6, between(r, 0.5, 5) * step_us);
    }
    if (random_below(r, 2)) {
        x->tenants = between(r, 0.02, 0.15);
        x->tenants_slow = between(r, 1.15, 2.5);
    }
    x->scatter = random_below(r, 2);
    x->norm = random_below(r, 4) > 0;
}

struct simjob_shape simjob_real_shape(uint64_t seed)
{
    struct simjob_random r = {seed ^ 0x4ea1};
    struct simjob_shape s = {.per_node = 8, .tp_ops = 1};
    double steps;

    s.real.on = true;
    s.real.kind = random_below(&r, SIMREAL_KINDS);
    switch (s.real.kind) {
    case SIMREAL_REPLICAS:
        replicas(&s, &r);
        break;
    case SIMREAL_PIPELINE:
        pipelines(&s, &r);
        break;
    default:
        experts(&s, &r);
    }
    if (simjob_ranks(&s) < 16 || random_below(&r, 3) == 0)
        s.per_node = 4;
    s.tp_ops = 1 + random_below(&r, 2);
    vary(&s, &r);
    steps = between(&r, 30, 200);
    s.steps =
        (uint32_t) fmax(LEAST_STEPS, fmin(steps, MAX_RECORDS / records(&s)));
    s.real.often = 0.3;
    return s;
}

struct simjob_shape simjob_buckets_shape(uint64_t seed)
{
    struct simjob_random r = {seed ^ 0xb0c4};
    struct simjob_shape s = {.per_node = 4,
                             .tp = 1,
                             .pp = 1,
                             .tp_ops = 1,
                             .microbatches = 1,
                             .dp = 2 + random_below(&r, 15)};
    double steps;

    s.buckets = 3 + random_below(&r, 10);
    s.layers = s.buckets * (1 + random_below(&r, 3));
    s.real.on = true;
    s.real.kind = SIMREAL_REPLICAS;
    vary(&s, &r);
    s.dp_bytes *= 1 + random_below(&r, 4); /* up to half of the step */
    s.real.alike = random_below(&r, 4) > 0;
    s.real.scatter = s.real.scatter && random_below(&r, 2);
    s.real.norm = random_below(&r, 2);
    s.real.often = 0.3;
    steps = between(&r, 40, 200);
    s.steps =
        (uint32_t) fmax(LEAST_STEPS, fmin(steps, MAX_RECORDS / records(&s)));
    return s;
}
