/* inspector_planner.c - variables and cost of NVIDIA's Inspector. */
#include "plugins/backend.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/figure.h"
#include "common/num.h"
#include "plugins/nccl_inspector/inspector.h"
#include "plugins/nccl_knobs.h"
#include "plugins/nccl_inspector/inspector_size.h"

/* Release that brought the Inspector. */
#define FIRST JP_NCCL_VERSION(2, 28)
#define PROM JP_NCCL_RELEASE(2, 29, 3)
#define RINGS JP_NCCL_VERSION(2, 30)

/* What a variable's number is made of. */
enum what { ONE, ZERO, INTERVAL, VERBOSE, MIN_SIZE, RING, P2P_RING, P2P };

/* All variables, the release that first reads each, its value and the reason.
 * Defaults are written out: Inspector's own write no file at all. */
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
    {"ENABLE_P2P", RINGS, P2P, "p2p="},
    {"DUMP_MIN_SIZE_BYTES", RINGS, MIN_SIZE,
     "min_size=; default 8192 hides small messages"},
    {"DUMP_COLL_RING_SIZE", RINGS, RING,
     "rate x (interval + slack), or 2 iterations; default 1024"},
    {"DUMP_P2P_RING_SIZE", RINGS, P2P_RING,
     "the same for sends and receives; default 1024"},
    {"REQUIRE_KERNEL_TIMING", RINGS, ZERO,
     "1 drops what has no GPU time; records name their clock"},
};

static bool wants_p2p(const struct plan_side *side)
{
    const char *p2p = plan_get(side, "p2p");

    return !p2p || strcmp(p2p, "off") != 0;
}

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

static int inspector_usable(const struct backend_input *in,
                            struct jp_error *err)
{
    if (!in->library)
        return error_set(err, "no Inspector library is configured "
                              "(nccl.inspector in the site file)");
    if (!in->library_exists)
        return error_set(err,
                         "%s (nccl.inspector in the site file) cannot be "
                         "read",
                         in->library);
    if (plan_number(in->side, "nccl") < FIRST)
        return error_set(err, "NCCL %s cannot run Inspector (2.28 can)",
                         plan_get(in->side, "nccl"));
    return 0;
}

static void say_lost(const struct plan_side *side,
                     const struct inspector_plan *p, struct backend_forecast *f)
{
    uint64_t colls =
        num_mul(plan_number(side, "colls"), plan_number(side, "iterations"));
    char interval[32];

    if (p->never) {
        snprintf(f->lost, sizeof(f->lost),
                 "loses all: the user's "
                 "NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS is below 0, "
                 "so that nothing is written; force=1 replaces it");
        return;
    }
    num_format_time_us(p->interval_us, interval, sizeof(interval));
    if (!p->rings) {
        snprintf(
            f->lost, sizeof(f->lost),
            "keeps one collective a communicator and dump (each %s) and "
            "no sends and receives: an estimated %s of the collectives are "
            "lost at %s a second, more in bursts",
            interval, FIG_SHARE(1 - (double) p->kept_ops / (double) colls),
            FIG_COUNT(plan_number(side, "rate")));
        return;
    }
    snprintf(f->lost, sizeof(f->lost),
             "loses up to %s of %s records a rank: what completes in the last "
             "%s of a communicator%s",
             FIG_COUNT(p->planned_ops - p->kept_ops), FIG_COUNT(p->planned_ops),
             interval,
             p->overload > 0
                 ? ", and more than one thread can write on a busy core"
             : p->spare_us < INSPECTOR_SLACK_US
                 ? ", and what its rings cannot hold when the writing thread "
                   "is late"
                 : "");
}

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
             p->shortened ? "; interval shortened to fit the memory" : "");
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

/* The variable's own reason, where it does not hold what it is named after. */
static const char *reason_of(size_t i, const struct inspector_plan *p)
{
    if (variables[i].what == INTERVAL && p->variable != p->interval_us)
        return "1,000 x the interval: this release takes it as nanoseconds";
    return variables[i].reason;
}

/* Where the user has named a folder himself, a node's finish takes the files
 * from there (orchestrator/agent/ownfolder.h). */
static int add_folder(const struct backend_input *in, struct backend_env *out,
                      struct jp_error *err)
{
    const char *own = backend_user_value(in, INSPECTOR_FOLDER);

    if (own)
        return backend_env_add(out, err, INSPECTOR_FOLDER, "%s", own);
    return backend_env_add(out, err, INSPECTOR_FOLDER, "%s/raw/%%N",
                           in->step_dir);
}

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
        if (release < variables[i].since)
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
     .help = "NVIDIA's Inspector where the site names it, else the recorder"},
    {0}};

const struct jp_knob inspector_knobs[] = {
    NCCL_KNOB_RATE,
    /* Measured on Inspector 2.30.7 at 5,800 collectives a second: 100 ms writes
     * 94 % with the default ring, and all of them with a ring of 2 x rate x
     * interval; 10 ms costs ten times the wake-ups. */
    {JP_KNOB("interval", JP_KNOB_TIME, 500, 3600 * JP_SECOND, NULL, "100ms",
             "time between two writes of Inspector"),
     .place = JP_KNOB_LOAD},
    {JP_KNOB("ring", JP_KNOB_COUNT, 16, 16 * JP_MIB, NULL, NULL,
             "slots of each of Inspector's rings; by rate and interval without "
             "it"),
     .place = JP_KNOB_LOAD},
    NCCL_KNOB_CHANNELS,
    {JP_KNOB("verbose", JP_KNOB_BOOL, 0, 1, NULL, "0",
             "each operation's events too: more than twice the volume")},
    /* 0 writes every message: a gap in the sequence numbers then proves a
     * loss. */
    {JP_KNOB("min_size", JP_KNOB_SIZE, 0, JP_TIB, NULL, "0",
             "smallest message that is recorded")},
    {0}};

static const struct jp_knob site_keys[] = {
    {JP_KNOB("inspector", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "NVIDIA's libnccl-profiler-inspector.so")},
    {JP_KNOB("inspector_release", JP_KNOB_VERSION, 0, 0, NULL, NULL,
             "NCCL release that Inspector's library is of")},
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
              .folder = INSPECTOR_FOLDER},
    .planner = &inspector_planner,
    .reader = &inspector_reader,
};
