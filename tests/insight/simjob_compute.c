/* simjob_compute.c - how long a rank computes. */
#include "tests/insight/simjob_parts.h"

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
        place(j->shape, rank, &other, &stage, &parts);
        return stage == t->stage;
    case SIMJOB_LATE_NODE:
        return node_of(j, rank) == t->node;
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

void compute(struct job *j, uint32_t rank, uint32_t number)
{
    const struct simjob_shape *s = j->shape;
    double mean_ns = s->layer_us > 0 ? 1000 * s->layer_us : LAYER_NS;
    double ns = mean_ns * (1 + noise(j)) * j->pace[rank], stall;

    if (is_late(j, rank))
        ns *= 1 + j->truth->effect;
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
