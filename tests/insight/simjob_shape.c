/* simjob_shape.c - shapes of jobs, as people run them. */
#include <math.h>

#include "tests/insight/simjob.h"
#include "tests/insight/simjob_random.h"

#define MIB (1024ULL * 1024)
#define EXPERTS 4
#define MAX_RECORDS 160000.0 /* of a job, about */

const char *simjob_fault_name(enum simjob_fault fault)
{
    static const char *const names[SIMJOB_N_FAULTS] = {
        [SIMJOB_CLEAN] = "clean",
        [SIMJOB_JITTER] = "jitter",
        [SIMJOB_HICCUPS] = "hiccups",
        [SIMJOB_LATE_RANK] = "late-rank",
        [SIMJOB_LATE_LAYERS] = "late-layers",
        [SIMJOB_LATE_NODE] = "late-node",
        [SIMJOB_TWO_LATE] = "two-late",
        [SIMJOB_SLOW_LINK] = "slow-link",
        [SIMJOB_DRIFT] = "drift",
        [SIMJOB_SLOW_NET] = "slow-net",
        [SIMJOB_SLOW_SENDS] = "slow-sends",
        [SIMJOB_SLOW_PAIR] = "slow-pair",
        [SIMJOB_SLOW_EXPERTS] = "slow-experts",
        [SIMJOB_HANG] = "hang",
        [SIMJOB_RECORDED] = "recorded-hang",
        [SIMJOB_DIES] = "dies",
        [SIMJOB_KILLED] = "killed",
        [SIMJOB_LOSSY] = "lossy",
        [SIMJOB_TINY] = "tiny",
        [SIMJOB_STALLS] = "stalls",
        [SIMJOB_ALL_STALL] = "all-stall",
        [SIMJOB_CHECKPOINT] = "checkpoint",
        [SIMJOB_ONSET] = "onset",
        [SIMJOB_COMES] = "comes-goes",
        [SIMJOB_SLOW_STAGE] = "slow-stage",
        [SIMJOB_NODE_ONSET] = "node-onset",
        [SIMJOB_ONCE] = "once",
        [SIMJOB_TURNS] = "turns",
        [SIMJOB_THROTTLE] = "throttle",
        [SIMJOB_SLOW_RAIL] = "slow-rail",
    };

    return names[fault];
}

uint32_t simjob_ranks(const struct simjob_shape *shape)
{
    return shape->tp * shape->pp * shape->dp;
}

void simjob_place(const struct simjob_shape *s, uint32_t rank, uint32_t *t,
                  uint32_t *p, uint32_t *d)
{
    *t = rank % s->tp;
    rank /= s->tp;
    *d = s->dp_before_pp ? rank % s->dp : rank / s->pp;
    *p = s->dp_before_pp ? rank / s->dp : rank % s->pp;
}

/* The group divides dp, or each rank is a group of its own. */
uint32_t simjob_ep_ranks(const struct simjob_shape *s)
{
    uint32_t n = s->expert_ranks ? s->expert_ranks : EXPERTS;

    return s->dp % n ? 1 : n;
}

/* Buckets complete at even distances; the last layer completes the last. */
bool simjob_ends_bucket(const struct simjob_shape *s, uint32_t layer,
                        uint32_t *bucket)
{
    *bucket = (layer + 1) * s->buckets / s->layers;
    return *bucket > layer * s->buckets / s->layers;
}

uint32_t simjob_layers_of(const struct simjob_shape *s, uint32_t stage)
{
    return s->layers - (stage + 1 == s->pp ? s->short_stage : 0);
}

/* Records of a rank in one step, about. */
static double step_records(const struct simjob_shape *s)
{
    double layers = (double) s->layers * s->microbatches * 2;
    double ops = s->tp > 1 ? layers * s->tp_ops : 0;

    if (s->sharded)
        return layers * 2;
    if (s->experts)
        ops += layers * 2 * EXPERTS;
    if (s->pp > 1)
        ops += 4.0 * s->microbatches;
    return ops + (s->grads == SIMJOB_SCATTER ? 2 : s->buckets) + s->world;
}

static void cut_to_size(struct simjob_shape *s)
{
    while (s->layers > 1 &&
           step_records(s) * simjob_ranks(s) * s->steps > MAX_RECORDS)
        s->layers--;
    while (s->microbatches > 1 &&
           step_records(s) * simjob_ranks(s) * s->steps > MAX_RECORDS)
        s->microbatches--;
    if (s->short_stage >= s->layers)
        s->short_stage = s->layers - 1;
    if (s->grads == SIMJOB_OVERLAP && s->layers < s->buckets)
        s->buckets = s->layers;
}

struct simjob_shape simjob_random_shape(uint64_t seed)
{
    struct simjob_random r = {seed ^ 0x5ba9e};
    struct simjob_shape s = {.per_node = random_below(&r, 3) ? 8 : 4};
    uint32_t ranks = 16u << random_below(&r, 5);

    s.sharded = random_below(&r, 5) == 0;
    s.tp = s.sharded ? 1 : 1u << random_below(&r, 4);
    s.pp = s.sharded || random_below(&r, 3) ? 1 : 2u << random_below(&r, 2);
    if (ranks / s.tp / s.pp < 2)
        s.pp = 1;
    s.dp = ranks / s.tp / s.pp;
    s.dp_before_pp = random_below(&r, 2);
    s.layers = 2 + random_below(&r, 11);
    s.microbatches = s.pp > 1 ? 2 + random_below(&r, 3) : 1;
    s.steps = 100 + random_below(&r, 60);
    s.warmup = random_below(&r, 2) ? 1 + random_below(&r, 3) : 0;
    s.tp_ops = 1 + random_below(&r, 2);
    s.world = random_below(&r, 2);
    s.gaussian = random_below(&r, 2);
    s.uneven = random_below(&r, 4) == 0;
    s.skewed = s.pp > 1 && random_below(&r, 4) == 0;
    /* groups that are all of dp leave no collective to be late in */
    s.experts = !s.sharded && s.dp > EXPERTS && random_below(&r, 6) == 0;
    s.grads = random_below(&r, 4);
    s.buckets = s.grads == SIMJOB_ONE ? 1 : 2 + random_below(&r, 4);
    s.tp_bytes = MIB << random_below(&r, 5);
    s.dp_bytes = 4 * MIB << random_below(&r, 6);
    cut_to_size(&s);
    return s;
}

struct simjob_shape simjob_other_shape(uint64_t seed)
{
    static const uint32_t tps[] = {1, 1, 2, 3, 4, 6},
                          pps[] = {1, 1, 1, 2, 3, 5}, nodes[] = {4, 6, 8, 12};
    struct simjob_random r = {seed ^ 0x07e4};
    struct simjob_shape s = {.per_node = nodes[random_below(&r, 4)]};

    s.sharded = random_below(&r, 6) == 0;
    s.tp = s.sharded ? 1 : tps[random_below(&r, 6)];
    s.pp = s.sharded ? 1 : pps[random_below(&r, 6)];
    s.dp = 2 + random_below(&r, 11);
    while (s.tp * s.pp * s.dp < 16)
        s.dp++;
    s.experts = !s.sharded && s.dp > EXPERTS && random_below(&r, 4) == 0;
    if (s.experts)
        s.dp = (s.dp / EXPERTS + 1) * EXPERTS;
    s.uneven_sizes = s.experts;
    s.dp_before_pp = random_below(&r, 2);
    s.layers = 2 + random_below(&r, 7);
    s.short_stage = s.pp > 1 ? random_below(&r, 2) : 0;
    s.layer_us = 300 * pow(10, random_unit(&r));
    s.microbatches = s.pp > 1 ? s.pp + random_below(&r, 3) : 1;
    s.steps = 100 + random_below(&r, 100);
    s.warmup = random_below(&r, 5);
    s.tp_ops = 1 + random_below(&r, 2);
    s.world = random_below(&r, 3) == 0;
    s.gaussian = random_below(&r, 2);
    s.uneven = random_below(&r, 4) == 0;
    s.grads = random_below(&r, 4);
    s.buckets = s.grads == SIMJOB_ONE ? 1 : 2 + random_below(&r, 6);
    s.tp_bytes = 300000 + random_below(&r, 12000000);
    s.dp_bytes = 3000000 + random_below(&r, 90000000);
    cut_to_size(&s);
    return s;
}

struct simjob_shape simjob_third_shape(uint64_t seed)
{
    static const uint32_t tps[] = {1, 2, 4, 5, 8, 10}, pps[] = {1, 1, 3, 6},
                          nodes[] = {4, 5, 8, 10};
    struct simjob_random r = {seed ^ 0x3d5a};
    struct simjob_shape s = {.per_node = nodes[random_below(&r, 4)]};

    s.sharded = random_below(&r, 5) == 0;
    s.tp = s.sharded ? 1 : tps[random_below(&r, 6)];
    s.pp = s.sharded ? 1 : pps[random_below(&r, 4)];
    s.dp = s.sharded ? 24 + random_below(&r, 40) : 2 + random_below(&r, 8);
    while (s.tp * s.pp * s.dp < 24)
        s.dp++;
    s.experts = !s.sharded && s.dp > EXPERTS && random_below(&r, 4) == 0;
    if (s.experts)
        s.dp = (s.dp / EXPERTS + 1) * EXPERTS;
    s.uneven_sizes = s.experts && random_below(&r, 2);
    s.dp_before_pp = random_below(&r, 2);
    s.layers = 3 + random_below(&r, 6);
    s.short_stage = s.pp > 1 ? random_below(&r, 3) : 0;
    s.layer_us = 400 + 1600 * random_unit(&r);
    s.microbatches = s.pp > 1 ? s.pp + random_below(&r, 4) : 1;
    s.steps = 100 + random_below(&r, 120);
    s.warmup = random_below(&r, 4);
    s.tp_ops = 1 + random_below(&r, 2);
    s.world = random_below(&r, 2);
    s.noise = random_below(&r, SIMJOB_N_NOISES);
    s.gaussian = random_below(&r, 2);
    s.uneven = random_below(&r, 3) == 0;
    s.grads = random_below(&r, 4);
    s.buckets = s.grads == SIMJOB_ONE ? 1 : 2 + random_below(&r, 5);
    s.tp_bytes = 500000 + random_below(&r, 20000000);
    s.dp_bytes = 5000000 + random_below(&r, 150000000);
    cut_to_size(&s);
    return s;
}

struct simjob_shape simjob_fourth_shape(uint64_t seed)
{
    struct simjob_random r = {seed ^ 0x4f17};
    struct simjob_shape s = {.per_node = random_below(&r, 2) ? 8 : 4,
                             .tp = 1,
                             .pp = 1,
                             .microbatches = 1,
                             .tp_ops = 1,
                             .buckets = 1};

    switch (random_below(&r, 3)) {
    case 0:
        s.sharded = s.prefetched = true;
        s.dp = 16 + 8 * random_below(&r, 7);
        break;
    case 1:
        s.tp = 2u << random_below(&r, 2);
        s.pp = 2u << random_below(&r, 2);
        s.dp = 64 / s.tp / s.pp;
        s.microbatches = s.pp + random_below(&r, 5);
        s.tp_ops = 1 + random_below(&r, 2);
        break;
    default:
        s.tp = 1u << random_below(&r, 2);
        s.dp = EXPERTS * (2 + random_below(&r, 7));
        s.experts = s.uneven_sizes = s.step_sizes = true;
        s.grads = random_below(&r, 4);
        s.buckets = s.grads == SIMJOB_ONE ? 1 : 2 + random_below(&r, 4);
    }
    s.dp_before_pp = random_below(&r, 2);
    s.layers = 3 + random_below(&r, 8);
    s.layer_us = 400 + 1200 * random_unit(&r);
    s.steps = 120 + random_below(&r, 200);
    s.warmup = random_below(&r, 4);
    s.world = random_below(&r, 2);
    s.noise = random_below(&r, 2) ? SIMJOB_USUAL : SIMJOB_ONE_SIDED;
    s.gaussian = random_below(&r, 2);
    s.uneven = random_below(&r, 4) == 0;
    s.tp_bytes = 1000000 + random_below(&r, 16000000);
    s.dp_bytes = 10000000 + random_below(&r, 100000000);
    cut_to_size(&s);
    return s;
}

struct simjob_shape simjob_stages_shape(uint64_t seed)
{
    struct simjob_random r = {seed ^ 0x57a6};
    struct simjob_shape s = {.per_node = 8, .pp = 8, .tp_ops = 1, .world = 1};

    s.tp = 4u << random_below(&r, 2);
    s.dp = 64 / s.tp / s.pp;
    s.dp_before_pp = random_below(&r, 2);
    s.layers = 2 + random_below(&r, 2);
    s.microbatches = 2 + random_below(&r, 2);
    s.layer_us = 600 + 800 * random_unit(&r);
    s.steps = 60;
    s.warmup = random_below(&r, 3);
    s.noise = random_below(&r, 2) ? SIMJOB_USUAL : SIMJOB_ONE_SIDED;
    s.gaussian = random_below(&r, 2);
    s.uneven = random_below(&r, 4) == 0;
    s.buckets = 1;
    s.tp_bytes = 1000000 + random_below(&r, 8000000);
    s.dp_bytes = 10000000 + random_below(&r, 50000000);
    return s;
}

struct simjob_shape simjob_experts_shape(uint64_t seed)
{
    struct simjob_random r = {seed ^ 0xe4be};
    struct simjob_shape s = {.per_node = 4,
                             .tp = 1,
                             .pp = 1,
                             .dp = 16,
                             .microbatches = 1,
                             .tp_ops = 1,
                             .experts = true,
                             .uneven_sizes = true,
                             .step_sizes = true,
                             .steps = 150};

    s.expert_ranks = random_below(&r, 2) ? 4 : 8;
    s.native = random_below(&r, 2);
    s.load = 0.02 * pow(15, random_unit(&r));
    s.layers = 3 + random_below(&r, 6);
    s.layer_us = 400 + 1200 * random_unit(&r);
    s.grads = random_below(&r, 3);
    s.buckets = s.grads == SIMJOB_ONE ? 1 : 2 + random_below(&r, 3);
    s.warmup = random_below(&r, 3);
    s.world = random_below(&r, 2);
    s.noise = random_below(&r, 2) ? SIMJOB_TAILS : SIMJOB_ONE_SIDED;
    s.tp_bytes = 4000000 + random_below(&r, 16000000);
    s.dp_bytes = 10000000 + random_below(&r, 50000000);
    return s;
}

struct simjob_shape simjob_few_shape(uint64_t seed)
{
    struct simjob_random r = {seed ^ 0xfe3};
    struct simjob_shape s = {.per_node = 1u << random_below(&r, 3),
                             .tp = 1,
                             .pp = 1,
                             .microbatches = 1,
                             .buckets = 1};

    switch (random_below(&r, 3)) {
    case 0:
        s.dp = 2 + random_below(&r, 6);
        break;
    case 1:
        s.tp = 2 + 2 * random_below(&r, 2);
        s.dp = s.tp == 2 ? 1 + random_below(&r, 3) : 1;
        break;
    default:
        s.pp = 2 + random_below(&r, 3);
        s.tp = 1 + random_below(&r, 2);
        s.dp = 2 + (s.tp == 1 ? random_below(&r, 5) : random_below(&r, 2));
        s.microbatches = s.pp + random_below(&r, 4);
    }
    s.dp_before_pp = random_below(&r, 2);
    s.layers = 2 + random_below(&r, 8);
    s.layer_us = 400 + 1600 * random_unit(&r);
    s.steps = 100 + random_below(&r, 200);
    s.warmup = random_below(&r, 4);
    s.tp_ops = 1 + random_below(&r, 2);
    s.world = s.dp == 1 || random_below(&r, 2);
    s.noise = random_below(&r, SIMJOB_N_NOISES);
    s.gaussian = random_below(&r, 2);
    s.uneven = random_below(&r, 2);
    s.grads = random_below(&r, 4);
    s.buckets = s.grads == SIMJOB_ONE ? 1 : 2 + random_below(&r, 5);
    s.tp_bytes = 500000 + random_below(&r, 20000000);
    s.dp_bytes = 5000000 + random_below(&r, 150000000);
    cut_to_size(&s);
    return s;
}
