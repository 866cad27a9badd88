/* inspector_size.c - size Inspector's rings and count its losses. */
#include "plugins/nccl_inspector/inspector_size.h"

#include <math.h>
#include <string.h>

#include "common/figure.h"
#include "common/num.h"

#define LINE_BYTES 447
#define VERBOSE_BYTES 610
#define VERBOSE_CHANNEL_BYTES 205
#define SLOT_BYTES 3192
#define MIN_RING 16
#define NO_RING 1
#define MIN_INTERVAL_US 10000
#define PASS_US 150
#define MIN_SLEEP_US 50
#define RINGS_SINCE JP_NCCL_VERSION(2, 30)
#define MICROSECONDS_SINCE JP_NCCL_RELEASE(2, 29, 7)
#define SECOND_US 1000000u

static bool is_named(const struct plan_side *side, const char *knob)
{
    const struct plan_value *value = plan_find(side, knob);

    return value && value->value && value->source > PLAN_DEFAULT;
}

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* Operations of `knob` that a communicator completes in one interval. */
static uint64_t burst(const struct plan_side *side, const char *knob,
                      uint64_t interval_us)
{
    uint64_t steady =
        divide_up(num_mul(plan_number(side, "rate"), interval_us), SECOND_US);
    uint64_t iteration =
        divide_up(plan_number(side, knob), plan_number(side, "comms"));

    return plan_number(side, "iterations") > 1 && iteration > steady ? iteration
                                                                     : steady;
}

static uint64_t ring_for(const struct plan_side *side, const char *knob,
                         uint64_t interval_us)
{
    uint64_t wanted = num_mul(2, burst(side, knob, interval_us));
    uint64_t ring = MIN_RING;

    if (is_named(side, "ring"))
        return plan_number(side, "ring");
    while (ring < wanted && ring < UINT64_MAX / 2)
        ring *= 2;
    return ring;
}

static bool is_off(const struct plan_side *side, const char *knob)
{
    const char *value = plan_get(side, knob);

    return value && !strcmp(value, "off");
}

static void set_rings(const struct plan_side *side, struct inspector_plan *p)
{
    p->ring = ring_for(side, "colls", p->interval_us);
    p->p2p_ring = is_off(side, "p2p") ? NO_RING
                                      : ring_for(side, "p2p", p->interval_us);
    p->memory_bytes =
        num_mul(num_mul(plan_number(side, "comms"), 2 * SLOT_BYTES),
                num_add(p->ring, p->p2p_ring));
}

/* What overwriting and the end of the communicators leave of the run. */
static void count_kept(const struct plan_side *side, struct inspector_plan *p)
{
    uint64_t tail = num_mul(plan_number(side, "comms"), p->burst);

    p->kept_ops = p->planned_ops;
    if (p->ring < p->burst)
        p->kept_ops = (uint64_t) ((double) p->planned_ops * (double) p->ring /
                                  (double) p->burst);
    p->kept_ops = p->kept_ops > tail ? p->kept_ops - tail : 0;
}

static int size_rings(const struct backend_input *in, struct inspector_plan *p,
                      struct jp_error *err)
{
    const struct plan_side *side = in->side;
    uint64_t mem = plan_number(side, "mem"), step = jobshape_memory(&in->shape);
    uint64_t limit = step < mem ? step : mem;

    p->interval_us = plan_number(side, "interval");
    set_rings(side, p);
    while (p->memory_bytes > limit && !is_named(side, "interval") &&
           p->interval_us / 2 >= MIN_INTERVAL_US) {
        p->interval_us /= 2;
        p->shortened = true;
        set_rings(side, p);
    }
    p->variable = p->interval_us;
    p->burst = burst(side, "colls", p->interval_us);
    if (p->memory_bytes > limit)
        return error_set(err,
                         "Inspector's rings need %s a rank (%s slots for each "
                         "of %s communicators); %s allows %s",
                         FIG_BYTES(p->memory_bytes),
                         FIG_COUNT(p->ring + p->p2p_ring),
                         FIG_COUNT(plan_number(side, "comms")),
                         step < mem ? "a quarter of the step's memory" : "mem=",
                         FIG_BYTES(limit));
    count_kept(side, p);
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
static void size_single(const struct backend_input *in,
                        struct inspector_plan *p)
{
    const struct plan_side *side = in->side;
    uint64_t rate = plan_number(side, "rate");
    uint64_t colls =
        num_mul(plan_number(side, "colls"), plan_number(side, "iterations"));
    uint64_t us = SECOND_US / (2 * rate);
    double x;

    us = us < MIN_SLEEP_US ? MIN_SLEEP_US : us > 999 ? 999 : us;
    if (is_named(side, "interval"))
        us = plan_number(side, "interval");
    p->variable = us;
    if (backend_release(in) < MICROSECONDS_SINCE)
        p->variable = as_nanoseconds(&us);
    p->interval_us = us;
    x = (double) rate * (double) (us + PASS_US) / SECOND_US;
    p->kept_ops = (uint64_t) ((double) colls * (1 - exp(-x)) / x);
}

static int check_files(const struct backend_input *in,
                       const struct inspector_plan *p, struct jp_error *err)
{
    const struct jp_jobshape *shape = &in->shape;
    uint64_t files = num_mul(p->disk_bytes, shape->ntasks ? shape->ntasks : 1);
    uint64_t disk = plan_number(in->side, "disk");
    uint64_t min_free = plan_number(in->side, "min_free");

    if (files > disk)
        return error_set(err,
                         "Inspector's files would take %s; disk= allows %s",
                         FIG_BYTES(files), FIG_BYTES(disk));
    if (files > jobshape_room(shape, min_free))
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
    struct inspector_plan p = {.rings = backend_release(in) >= RINGS_SINCE,
                               .line_bytes = LINE_BYTES};

    if (plan_number(side, "verbose"))
        p.line_bytes = VERBOSE_BYTES +
                       VERBOSE_CHANNEL_BYTES * plan_number(side, "channels");
    p.planned_ops =
        num_mul(num_add(plan_number(side, "colls"), plan_number(side, "p2p")),
                plan_number(side, "iterations"));
    if (!p.rings)
        size_single(in, &p);
    else if (size_rings(in, &p, err) < 0)
        return -1;
    p.disk_bytes = num_mul(p.planned_ops, p.line_bytes);
    if (check_files(in, &p, err) < 0)
        return -1;
    *out = p;
    return 0;
}
