/* inspector_size.c - size Inspector's rings and count its losses. */
#include "plugins/nccl_inspector/inspector_size.h"

#include <math.h>

#include "common/defaults.h"
#include "common/figure.h"

#define LINE_BYTES 447
#define VERBOSE_BYTES 1020
#define SLOT_BYTES 3192
#define MIN_RING 16
#define MIN_INTERVAL_US 10000
#define PASS_US 150
#define MIN_SLEEP_US 50
#define RINGS_SINCE JP_NCCL_VERSION(2, 30)
#define MICROSECONDS_SINCE JP_NCCL_RELEASE(2, 29, 7)
#define SECOND_US 1000000u

static uint64_t mul(uint64_t a, uint64_t b)
{
    uint64_t c;

    return __builtin_mul_overflow(a, b, &c) ? UINT64_MAX : c;
}

static bool is_named(const struct plan_side *side, const char *knob)
{
    const struct plan_value *value = plan_find(side, knob);

    return value && value->value && value->source > PLAN_DEFAULT;
}

/* Operations that complete in one interval at the peak rate, rounded up. */
static uint64_t burst(const struct plan_side *side, uint64_t interval_us)
{
    uint64_t ops = mul(plan_number(side, "rate"), interval_us);

    return ops / SECOND_US + (ops % SECOND_US != 0);
}

static uint64_t ring_for(const struct plan_side *side, uint64_t interval_us)
{
    uint64_t wanted = mul(2, burst(side, interval_us)), ring = MIN_RING;

    if (is_named(side, "ring"))
        return plan_number(side, "ring");
    while (ring < wanted && ring < UINT64_MAX / 2)
        ring *= 2;
    return ring;
}

static uint64_t memory_of(const struct plan_side *side, uint64_t ring)
{
    return mul(mul(plan_number(side, "comms"), 4 * SLOT_BYTES), ring);
}

/* Memory that one rank may take. */
static uint64_t memory_limit(const struct backend_input *in)
{
    uint64_t mem = plan_number(in->side, "mem"), step;

    if (!in->shape.step_memory_bytes)
        return mem;
    step = in->shape.step_memory_bytes / JP_STEP_MEMORY_PARTS /
           jobshape_ranks(&in->shape);
    return step < mem ? step : mem;
}

static int size_rings(const struct backend_input *in, struct inspector_plan *p,
                      struct jp_error *err)
{
    const struct plan_side *side = in->side;
    uint64_t limit = memory_limit(in), tail, held;

    p->interval_us = plan_number(side, "interval");
    while (memory_of(side, ring_for(side, p->interval_us)) > limit &&
           !is_named(side, "interval") &&
           p->interval_us / 2 >= MIN_INTERVAL_US) {
        p->interval_us /= 2;
        p->shortened = true;
    }
    p->variable = p->interval_us;
    p->ring = ring_for(side, p->interval_us);
    p->memory_bytes = memory_of(side, p->ring);
    if (p->memory_bytes > limit)
        return error_set(err,
                         "Inspector's rings need %s a rank (ring %s, %s "
                         "communicators); mem= or a quarter of the step's "
                         "memory allows %s",
                         FIG_BYTES(p->memory_bytes), FIG_COUNT(p->ring),
                         FIG_COUNT(plan_number(side, "comms")),
                         FIG_BYTES(limit));
    held = burst(side, p->interval_us);
    p->kept_ops = p->planned_ops;
    if (p->ring < held)
        p->kept_ops = (uint64_t) ((double) p->planned_ops * (double) p->ring /
                                  (double) held);
    tail = mul(plan_number(side, "comms"), held);
    p->kept_ops = p->kept_ops > tail ? p->kept_ops - tail : 0;
    return 0;
}

/* What the variable must hold before 2.29.7, which may change *us. */
static uint64_t as_nanoseconds(uint64_t *us)
{
    if (*us >= SECOND_US)
        return *us -= *us % SECOND_US;
    if (*us > 999)
        *us = 999;
    return *us * 1000;
}

/* 2.28, 2.29: the shorter the interval, the less is lost. */
static void size_single(const struct plan_side *side, struct inspector_plan *p)
{
    uint64_t rate = plan_number(side, "rate");
    uint64_t colls =
        mul(plan_number(side, "colls"), plan_number(side, "iterations"));
    uint64_t us = SECOND_US / (2 * rate);
    double x;

    us = us < MIN_SLEEP_US ? MIN_SLEEP_US : us > 999 ? 999 : us;
    if (is_named(side, "interval"))
        us = plan_number(side, "interval");
    p->variable = us;
    if (plan_number(side, "nccl") < MICROSECONDS_SINCE)
        p->variable = as_nanoseconds(&us);
    p->interval_us = us;
    x = (double) rate * (double) (us + PASS_US) / SECOND_US;
    p->kept_ops = (uint64_t) ((double) colls * (1 - exp(-x)) / x);
}

static int check_files(const struct backend_input *in,
                       const struct inspector_plan *p, struct jp_error *err)
{
    const struct jp_jobshape *shape = &in->shape;
    uint64_t files = mul(p->disk_bytes, shape->ntasks ? shape->ntasks : 1);
    uint64_t disk = plan_number(in->side, "disk");
    uint64_t min_free = plan_number(in->side, "min_free");
    uint64_t room = shape->disk_free_bytes > min_free
                        ? shape->disk_free_bytes - min_free
                        : 0;

    if (files > disk)
        return error_set(err,
                         "Inspector's files would take %s; disk= allows %s",
                         FIG_BYTES(files), FIG_BYTES(disk));
    if (shape->disk_free_bytes && files > room)
        return error_set(err,
                         "Inspector's files would take %s; the file system "
                         "has %s free and min_free= keeps %s of it",
                         FIG_BYTES(files), FIG_BYTES(shape->disk_free_bytes),
                         FIG_BYTES(min_free));
    return 0;
}

int inspector_size(const struct backend_input *in, struct inspector_plan *out,
                   struct jp_error *err)
{
    const struct plan_side *side = in->side;
    uint64_t line = plan_number(side, "verbose") ? VERBOSE_BYTES : LINE_BYTES;
    struct inspector_plan p = {.rings = plan_number(side, "nccl") >=
                                        RINGS_SINCE};

    p.planned_ops = mul(plan_number(side, "colls") + plan_number(side, "p2p"),
                        plan_number(side, "iterations"));
    if (!p.rings)
        size_single(side, &p);
    else if (size_rings(in, &p, err) < 0)
        return -1;
    p.disk_bytes = mul(p.kept_ops, line);
    if (check_files(in, &p, err) < 0)
        return -1;
    *out = p;
    return 0;
}
