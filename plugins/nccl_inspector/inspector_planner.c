/* inspector_planner.c - the backend of NVIDIA's Inspector: its variables, what
 * it costs and what it loses.
 *
 * inspector_size() computes a struct inspector_plan: size_rings() from 2.30 on,
 * size_single() before. The forecast and the variables are made of that plan.
 * inspector.h has the formulas and their sources.
 */
#include "plugins/nccl_inspector/inspector.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/figure.h"
#include "common/num.h"
#include "plugins/backend.h"
#include "plugins/nccl_knobs.h"

/* --- sizes of Inspector's rings, and its losses --- */

/* Bytes: of a record, of a verbose one and its channels, of a slot in a ring.
 */
#define LINE_BYTES 447
#define VERBOSE_BYTES 610
#define VERBOSE_CHANNEL_BYTES 205
#define SLOT_BYTES 3192
#define NO_RING 1
#define MIN_INTERVAL_US 10000
/* how much later than its interval a write may be; at most an interval */
#define JITTER_US 100000
#define TAIL_LATE_US 50000 /* how late the last write is */
#define MEAN_LATE_US 50000.0
#define WRITTEN_A_SECOND 60000.0 /* records, by the thread on a busy core */
#define PASS_US 150
#define MIN_SLEEP_US 50
#define RINGS_SINCE JP_NCCL_VERSION(2, 30)
#define MICROSECONDS_SINCE JP_NCCL_RELEASE(2, 29, 7)
#define SECOND_US 1000000u

/* Returns whether the knob was set, by any source but its default. */
static bool is_named(const struct plan_side *side, const char *knob)
{
    const struct plan_value *value = plan_find(side, knob);

    return value && value->value && value->source > PLAN_DEFAULT;
}

/* Returns a / b, rounded up, without overflow. */
static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* Returns whether the knob has the word "off". */
static bool is_off(const struct plan_side *side, const char *knob)
{
    const char *value = plan_get(side, knob);

    return value && !strcmp(value, "off");
}

/* What a ring is for: operations of one kind in one communicator. */
struct kind {
    const char *knob;   /* of the operations in an iteration */
    double rate;        /* operations a second */
    uint64_t iteration; /* operations of an iteration; 0: the plan says nothing
                           about bursts */
    uint64_t given;     /* slots that the user has set; 0: none */
};

/* Lateness that a ring survives and its least slots, best first. */
static const struct {
    uint64_t late_us, slots;
} slacks[] = {{INSPECTOR_SLACK_US, 1024},
              {100000, 512},
              {50000, 256},
              {25000, 128},
              {0, 16}};

#define N_SLACKS (sizeof(slacks) / sizeof(*slacks))

/* Describes one kind of operations from the settings; the user's own variable
 * wins over the knob ring=. */
static struct kind make_kind(const struct backend_input *in, const char *knob,
                             const char *variable)
{
    const struct plan_side *side = in->side;
    struct kind kind = {.knob = knob,
                        .rate = (double) plan_number(side, "rate")};
    uint64_t colls = plan_number(side, "colls"), ops = plan_number(side, knob);

    /* rate= is of collectives; other operations come in proportion */
    if (colls)
        kind.rate *= (double) ops / (double) colls;
    /* the operations of an iteration may come in one burst */
    if (plan_number(side, "iterations") > 1)
        kind.iteration = divide_up(ops, plan_number(side, "comms"));
    if (is_named(side, "ring"))
        kind.given = plan_number(side, "ring");
    num_parse_u64(backend_user_value(in, variable), 1, UINT32_MAX, &kind.given,
                  NULL);
    return kind;
}

/* Returns the most operations in a stretch of time: by the rate, or an
 * iteration at once. */
static uint64_t ops_in(const struct kind *kind, uint64_t us)
{
    double steady = ceil(kind->rate * (double) us / SECOND_US);
    uint64_t n = steady < 1e18 ? (uint64_t) steady : UINT64_MAX;

    return n > kind->iteration ? n : kind->iteration;
}

/* Returns the slots for a kind: a power of two that holds two iterations and
 * the operations of an interval with its jitter and slack. */
static uint64_t ring_for(const struct kind *kind, uint64_t interval_us,
                         size_t slack)
{
    uint64_t jitter = interval_us < JITTER_US ? interval_us : JITTER_US;
    uint64_t wanted = num_mul(2, kind->iteration);
    uint64_t steady =
        ops_in(kind, num_add(interval_us, jitter + slacks[slack].late_us));
    uint64_t ring = slacks[slack].slots;

    if (kind->given)
        return kind->given;
    if (steady > wanted)
        wanted = steady;
    while (ring < wanted && ring < UINT64_MAX / 2)
        ring *= 2;
    return ring;
}

/* The two kinds of a plan; `p2p` is NULL without sends and receives. */
struct kinds {
    const struct kind *colls, *p2p;
};

/* Sets both rings and their memory; each slot has a drain buffer of its size.
 */
static void set_rings(const struct plan_side *side, const struct kinds *kinds,
                      size_t slack, struct inspector_plan *p)
{
    p->ring = ring_for(kinds->colls, p->interval_us, slack);
    p->p2p_ring = kinds->p2p ? ring_for(kinds->p2p, p->interval_us, slack)
                             : NO_RING;
    p->memory_bytes =
        num_mul(num_mul(plan_number(side, "comms"), 2 * SLOT_BYTES),
                num_add(p->ring, p->p2p_ring));
}

/* Takes the first sizes that fit: more slack is preferred, then a longer
 * interval. `fixed`: the interval was set. If nothing fits, memory_bytes stays
 * above the limit. */
static void fit_rings(const struct plan_side *side, const struct kinds *kinds,
                      bool fixed, uint64_t limit, struct inspector_plan *p)
{
    uint64_t interval = p->interval_us;

    /* each step down gives up some slack and tries the whole interval again */
    for (size_t i = 0; i < N_SLACKS; i++) {
        p->interval_us = interval;
        set_rings(side, kinds, i, p);
        while (p->memory_bytes > limit && !fixed &&
               p->interval_us / 2 >= MIN_INTERVAL_US) {
            p->interval_us /= 2;
            set_rings(side, kinds, i, p);
        }
        if (p->memory_bytes <= limit)
            break;
    }
    p->shortened = p->interval_us < interval; /* the plan says so */
}

/* Returns how late the thread may be before this ring overwrites; negative: it
 * always does. */
static double spare_us(const struct kind *kind, uint64_t ring,
                       const struct inspector_plan *p)
{
    return kind->rate > 0 ? (double) ring / kind->rate * SECOND_US -
                                (double) p->interval_us
                          : INFINITY;
}

/* Returns how many of a run's operations are written. */
static uint64_t count_written(const struct plan_side *side,
                              const struct kind *kind, uint64_t ring,
                              const struct inspector_plan *p)
{
    uint64_t ops =
        num_mul(plan_number(side, kind->knob), plan_number(side, "iterations"));
    uint64_t tail =
        num_mul(plan_number(side, "comms"),
                ops_in(kind, num_add(p->interval_us, TAIL_LATE_US)));
    double spare = spare_us(kind, ring, p);
    double pass_us = (double) p->interval_us + MEAN_LATE_US;
    double lost = 0;

    /* inspector.h: the share that a late thread loses */
    if (spare < 0)
        lost = (MEAN_LATE_US - spare) / pass_us;
    else if (spare < INSPECTOR_SLACK_US)
        lost = MEAN_LATE_US * exp(-spare / MEAN_LATE_US) / pass_us;
    if (ring < kind->iteration) /* a burst is larger than the ring */
        lost = fmax(lost, 1 - (double) ring / (double) kind->iteration);
    /* the larger loss includes the other; the end loses what still waits */
    ops = (uint64_t) ((double) ops * (1 - fmax(lost, p->overload)));
    return ops > tail ? ops - tail : 0;
}

/* Reads the user's own interval as the library does. Returns whether there is
 * one; a negative interval writes nothing. */
static bool take_interval(const struct backend_input *in,
                          struct inspector_plan *p)
{
    const char *text = backend_user_value(
        in, INSPECTOR_VARIABLE("DUMP_THREAD_INTERVAL_MICROSECONDS"));
    int64_t us;

    /* a value that is no number counts as not set */
    if (!text || num_parse_i64(text, INT64_MIN, INT64_MAX, &us, NULL) < 0)
        return false;
    p->never = us < 0;
    if (us >= 0)
        p->interval_us = (uint64_t) us;
    return true;
}

/* Returns the share of a process' operations that one thread cannot write. */
static double overload(const struct plan_side *side, const struct kinds *kinds)
{
    double all = (double) plan_number(side, "comms") *
                 (kinds->colls->rate + (kinds->p2p ? kinds->p2p->rate : 0));

    return all > WRITTEN_A_SECOND ? 1 - WRITTEN_A_SECOND / all : 0;
}

/* Fills in what is kept, and how late the thread may be. */
static void forecast(const struct plan_side *side, const struct kinds *kinds,
                     struct inspector_plan *p)
{
    p->overload = overload(side, kinds);
    p->spare_us = spare_us(kinds->colls, p->ring, p);
    if (kinds->p2p)
        p->spare_us = fmin(p->spare_us, spare_us(kinds->p2p, p->p2p_ring, p));
    if (p->never)
        return;
    p->kept_ops = count_written(side, kinds->colls, p->ring, p);
    if (kinds->p2p)
        p->kept_ops = num_add(p->kept_ops,
                              count_written(side, kinds->p2p, p->p2p_ring, p));
}

/* Sizes a release with rings. Returns -1 if not even the smallest fit. */
static int size_rings(const struct backend_input *in, struct inspector_plan *p,
                      struct jp_error *err)
{
    const struct plan_side *side = in->side;
    const struct kind colls =
        make_kind(in, "colls", INSPECTOR_VARIABLE("DUMP_COLL_RING_SIZE"));
    const struct kind p2p =
        make_kind(in, "p2p", INSPECTOR_VARIABLE("DUMP_P2P_RING_SIZE"));
    const struct kinds kinds = {&colls, is_off(side, "p2p") ? NULL : &p2p};
    uint64_t mem = plan_number(side, "mem"), step = jobshape_memory(&in->shape);
    uint64_t limit = step < mem ? step : mem;
    bool fixed = is_named(side, "interval");

    /* the rings that fit, then what they keep */
    p->interval_us = plan_number(side, "interval");
    fixed |= take_interval(in, p);
    fit_rings(side, &kinds, fixed, limit, p);
    p->variable = p->interval_us;
    /* not even the smallest rings fit */
    if (p->memory_bytes > limit)
        return error_set(err,
                         "Inspector's rings need %s for each rank (%s slots "
                         "for each of %s communicators), but %s allows %s",
                         FIG_BYTES(p->memory_bytes),
                         FIG_COUNT(p->ring + p->p2p_ring),
                         FIG_COUNT(plan_number(side, "comms")),
                         step < mem ? "a quarter of the step's memory" : "mem=",
                         FIG_BYTES(limit));
    forecast(side, &kinds, p);
    return 0;
}

/* Returns the variable's value before 2.29.7, where its part below a second
 * counts nanoseconds. Changes *us to an interval that can be expressed. */
static uint64_t as_nanoseconds(uint64_t *us)
{
    if (*us >= SECOND_US)
        return *us -= *us % SECOND_US;
    if (*us > 999)
        *us = 999;
    return *us * 1000;
}

/* Sizes 2.28 and 2.29: the shorter the interval, the less is lost. */
static void size_single(const struct backend_input *in,
                        struct inspector_plan *p)
{
    const struct plan_side *side = in->side;
    uint64_t rate = plan_number(side, "rate");
    uint64_t colls =
        num_mul(plan_number(side, "colls"), plan_number(side, "iterations"));
    uint64_t us = SECOND_US / (2 * rate);
    double x;

    /* half the time between two collectives, within what the library can do */
    us = us < MIN_SLEEP_US ? MIN_SLEEP_US : us > 999 ? 999 : us;
    if (is_named(side, "interval"))
        us = plan_number(side, "interval");
    if (take_interval(in, p)) {
        p->variable = us = p->interval_us;
        /* what the library makes of it: microseconds as nanoseconds */
        if (backend_release(in) < MICROSECONDS_SINCE)
            us = us / SECOND_US * SECOND_US + us % SECOND_US / 1000;
    } else {
        p->variable = us;
        if (backend_release(in) < MICROSECONDS_SINCE)
            p->variable = as_nanoseconds(&us);
    }
    p->interval_us = us;
    if (p->never)
        return;
    /* of collectives at random times, one in each interval survives */
    x = (double) rate * (double) (us + PASS_US) / SECOND_US;
    p->kept_ops = (uint64_t) ((double) colls * (1 - exp(-x)) / x);
}

/* Returns the value of the user's own variable, else of the knob. */
static uint64_t given(const struct backend_input *in, const char *knob,
                      const char *variable)
{
    uint64_t number = plan_number(in->side, knob);

    num_parse_u64(backend_user_value(in, variable), 0, INT64_MAX, &number,
                  NULL);
    return number;
}

/* Returns -1 if the files of all ranks exceed disk= or the free space. */
static int check_files(const struct backend_input *in,
                       const struct inspector_plan *p, struct jp_error *err)
{
    const struct jp_jobshape *shape = &in->shape;
    uint64_t files = num_mul(p->disk_bytes, shape->ntasks ? shape->ntasks : 1);
    uint64_t disk = plan_number(in->side, "disk");
    uint64_t min_free = plan_number(in->side, "min_free");

    if (files > disk)
        return error_set(err,
                         "Inspector's files would take %s, but disk= allows %s",
                         FIG_BYTES(files), FIG_BYTES(disk));
    if (files > jobshape_room(shape, min_free))
        return error_set(err,
                         "Inspector's files would take %s, but the file "
                         "system has %s free, and min_free= reserves %s",
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

    p.verbose = given(in, "verbose", INSPECTOR_VARIABLE("DUMP_VERBOSE"));
    p.min_size =
        given(in, "min_size", INSPECTOR_VARIABLE("DUMP_MIN_SIZE_BYTES"));
    if (p.verbose)
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

/* --- the planner --- */

/* Releases: the first with Inspector, with PROM_DUMP, with rings. */
#define FIRST JP_NCCL_VERSION(2, 28)
#define PROM JP_NCCL_RELEASE(2, 29, 3)
#define RINGS JP_NCCL_VERSION(2, 30)

/* What the value of a variable is taken from. */
enum what { ONE, ZERO, INTERVAL, VERBOSE, MIN_SIZE, RING, P2P_RING, P2P };

/* All variables, the release that first reads each, its value and the reason.
 * Defaults are set as well: with Inspector's own it writes no file at all. */
static const struct {
    const char *name;
    unsigned since;
    enum what what;
    const char *reason;
} variables[] = {
    {"ENABLE", FIRST, ONE, "default 0"},
    {"DUMP_THREAD_ENABLE", FIRST, ONE, "writes during the run"},
    {"DUMP_THREAD_INTERVAL_MICROSECONDS", FIRST, INTERVAL,
     "the default writes nothing"},
    {"DUMP_VERBOSE", FIRST, VERBOSE, "verbose="},
    {"PROM_DUMP", PROM, ZERO, "its files are deleted at the end"},
    {"OTEL_EXPORT", RINGS, ZERO, "with 1 it writes no files"},
    {"ENABLE_P2P", RINGS, P2P, "p2p="},
    {"DUMP_MIN_SIZE_BYTES", RINGS, MIN_SIZE,
     "min_size=; default 8192 hides small messages"},
    {"DUMP_COLL_RING_SIZE", RINGS, RING,
     "rate x (interval + slack), or 2 iterations; default 1024"},
    {"DUMP_P2P_RING_SIZE", RINGS, P2P_RING,
     "the same for sends and receives; default 1024"},
    {"REQUIRE_KERNEL_TIMING", RINGS, ZERO,
     "1 drops operations without GPU time; records name their clock"},
};

/* Returns whether sends and receives are recorded. */
static bool wants_p2p(const struct plan_side *side)
{
    const char *p2p = plan_get(side, "p2p");

    return !p2p || strcmp(p2p, "off") != 0;
}

/* Returns the value of a variable. */
static uint64_t number(const struct plan_side *side,
                       const struct inspector_plan *plan, enum what what)
{
    switch (what) {
    case ONE:
        return 1;
    case ZERO:
        return 0;
    case INTERVAL:
        return plan->variable;
    case VERBOSE:
        return plan->verbose;
    case MIN_SIZE:
        return plan->min_size;
    case RING:
        return plan->ring;
    case P2P_RING:
        return plan->p2p_ring;
    case P2P:
        return wants_p2p(side);
    }
    return 0;
}

/* Needs a readable library and NCCL 2.28. */
static int inspector_usable(const struct backend_input *in,
                            struct jp_error *err)
{
    if (!in->library)
        return error_set(err, "NVIDIA's Inspector is not installed here "
                              "(the site file has no nccl.inspector)");
    if (!in->library_exists)
        return error_set(err,
                         "%s (nccl.inspector in the site file) cannot be "
                         "read",
                         in->library);
    /* the program's release: its NCCL must have the interface */
    if (plan_number(in->side, "nccl") < FIRST)
        return error_set(
            err, "NCCL %s does not support Inspector (2.28 and later do)",
            plan_get(in->side, "nccl"));
    return 0;
}

/* Writes the sentence on what will be missing. */
static void say_lost(const struct plan_side *side,
                     const struct inspector_plan *p, struct backend_forecast *f)
{
    uint64_t colls =
        num_mul(plan_number(side, "colls"), plan_number(side, "iterations"));
    char interval[32];

    if (p->never) {
        snprintf(f->lost, sizeof(f->lost),
                 "loses all records: the user's "
                 "NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS is below 0, "
                 "so nothing is written; force=1 replaces it");
        return;
    }
    num_format_time_us(p->interval_us, interval, sizeof(interval));
    if (!p->rings) {
        snprintf(f->lost, sizeof(f->lost),
                 "keeps one collective of each communicator in each dump "
                 "(every %s), and no sends and receives: about %s of the "
                 "collectives are lost at %s a second, more in bursts",
                 interval, FIG_SHARE(1 - (double) p->kept_ops / (double) colls),
                 FIG_COUNT(plan_number(side, "rate")));
        return;
    }
    snprintf(
        f->lost, sizeof(f->lost),
        "loses up to %s of %s records of each rank: those of the last %s of a "
        "communicator%s",
        FIG_COUNT(p->planned_ops - p->kept_ops), FIG_COUNT(p->planned_ops),
        interval,
        p->overload > 0
            ? ", and those that the writing thread cannot handle on a busy core"
        : p->spare_us < INSPECTOR_SLACK_US
            ? ", and those that do not fit in the rings while the writing "
              "thread is late"
            : "");
}

/* Writes how memory and files were counted. */
static void say_counted(const struct plan_side *side,
                        const struct inspector_plan *p,
                        struct backend_forecast *f)
{
    if (!p->rings) {
        snprintf(f->counted, sizeof(f->counted),
                 "at most %s records of %s B; this release has no rings",
                 FIG_COUNT(p->planned_ops), FIG_COUNT(p->line_bytes));
        return;
    }
    snprintf(f->counted, sizeof(f->counted),
             "rings of %s and %s slots x 2 x 3,192 B in each of %s "
             "communicators; %s records of %s B%s",
             FIG_COUNT(p->ring), FIG_COUNT(p->p2p_ring),
             FIG_COUNT(plan_number(side, "comms")), FIG_COUNT(p->planned_ops),
             FIG_COUNT(p->line_bytes),
             p->shortened ? "; shorter interval to fit the memory" : "");
}

static int inspector_forecast(const struct backend_input *in,
                              struct backend_forecast *out,
                              struct jp_error *err)
{
    struct backend_forecast f = {0};
    struct inspector_plan p;

    if (inspector_size(in, &p, err) < 0)
        return -1;
    f.memory_bytes = f.reserved_bytes = p.memory_bytes;
    f.disk_bytes = p.disk_bytes;
    f.planned_ops = p.planned_ops;
    f.kept_ops = p.kept_ops;
    say_counted(in->side, &p, &f);
    say_lost(in->side, &p, &f);
    *out = f;
    return 0;
}

/* Returns the reason for a variable. The interval has another one where its
 * number is not what its name says. */
static const char *reason_of(size_t i, const struct inspector_plan *p)
{
    if (variables[i].what == INTERVAL && p->variable != p->interval_us)
        return "1,000 x the interval: this release counts nanoseconds";
    return variables[i].reason;
}

/* Sets the folder. If the user has set one, the finish of a node takes the
 * files from there (orchestrator/agent/agent.h). */
static int add_folder(const struct backend_input *in, struct backend_env *out,
                      struct jp_error *err)
{
    const char *own = backend_user_value(in, INSPECTOR_FOLDER);

    if (own)
        return backend_env_add(out, err, INSPECTOR_FOLDER, "%s", own);
    return backend_env_add(out, err, INSPECTOR_FOLDER, "%s/raw/%%N",
                           in->step_dir);
}

/* The variables follow from the plan, so both always agree. */
static int inspector_env(const struct backend_input *in,
                         struct backend_env *out, struct jp_error *err)
{
    uint32_t release = backend_release(in);
    struct inspector_plan plan;
    char name[64];

    if (inspector_size(in, &plan, err) < 0 ||
        backend_env_add(out, err, "NCCL_PROFILER_PLUGIN", "%s", in->library) <
            0 ||
        add_folder(in, out, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
        if (release < variables[i].since) /* the library would ignore it */
            continue;
        snprintf(name, sizeof(name), INSPECTOR_VARIABLE("%s"),
                 variables[i].name);
        if (backend_env_number(out, err, name,
                               number(in->side, &plan, variables[i].what),
                               reason_of(i, &plan)) < 0)
            return -1;
    }
    return 0;
}

static const struct backend_planner inspector_planner = {
    .usable = inspector_usable,
    .size = inspector_forecast,
    .env = inspector_env,
    .fallback = "recorder",
};

static const struct jp_mode words[] = {
    {.name = "inspector",
     .help = "NVIDIA's Inspector if the site has it, else the recorder"},
    {0}};

const struct jp_knob inspector_knobs[] = {
    NCCL_KNOB_RATE,
    /* Measured on Inspector 2.30.7 at 5,800 collectives a second: with 100 ms
     * the default ring writes 94 %, and a ring of 2 x rate x interval writes
     * all. 10 ms costs ten times the wake-ups. */
    {JP_KNOB("interval", JP_KNOB_TIME, 500, 3600 * JP_SECOND, NULL, "100ms",
             "time between two writes of Inspector"),
     .place = JP_KNOB_LOAD},
    {JP_KNOB("ring", JP_KNOB_COUNT, 16, 16 * JP_MIB, NULL, NULL,
             "slots of each ring of Inspector; default from rate and interval"),
     .place = JP_KNOB_LOAD},
    NCCL_KNOB_CHANNELS,
    {JP_KNOB("verbose", JP_KNOB_BOOL, 0, 1, NULL, "0",
             "also the events of each operation: more than twice the volume")},
    /* 0 writes every message, so that a gap in the sequence numbers proves a
     * loss. */
    {JP_KNOB("min_size", JP_KNOB_SIZE, 0, JP_TIB, NULL, "0",
             "smallest message to record")},
    {0}};

static const struct jp_knob site_keys[] = {
    {JP_KNOB("inspector", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "NVIDIA's libnccl-profiler-inspector.so")},
    {JP_KNOB("inspector_release", JP_KNOB_VERSION, 0, 0, NULL, NULL,
             "NCCL release of Inspector's library")},
    {0}};

extern const struct backend backend_nccl_inspector;
const struct backend backend_nccl_inspector = {
    .abi = BACKEND_ABI,
    .about = {.name = "inspector",
              .title = "NVIDIA's Inspector",
              .option = OPTION_NCCL,
              .words = words,
              .knobs = inspector_knobs,
              .site_keys = site_keys,
              .library = "inspector",
              .release = "inspector_release",
              .mark = INSPECTOR_VARIABLE("ENABLE"),
              .folder = INSPECTOR_FOLDER,
              .records_ended = true},
    .planner = &inspector_planner,
    .reader = &inspector_reader,
};
