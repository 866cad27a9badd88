/* rccl_inspector.c - the backend of RCCL's Inspector, AMD's port of NVIDIA's.
 *
 * librccl-profiler-inspector.so writes the same lines (format v4.0), which
 * NVIDIA's reader takes, and has the rings and variables of 2.30. The
 * differences (ROCm, plugins/profiler/inspector and "Using the RCCL Inspector
 * plugin"):
 *
 *   DUMP_THREAD_INTERVAL_MICROSECONDS  -1, the default, writes at the end of a
 *       communicator what its rings then hold. NVIDIA's writes nothing.
 *   release  RCCL numbers its releases like NCCL, but an RCCL older than 2.30
 * may have the port. Without rccl_inspector_release it counts as 2.30. DDA runs
 * AllReduce of eight ranks in one node without any profiler; RCCL_DDA_ENABLE=0
 * makes it visible.
 *
 * RCCL finds profilers as NCCL does (NCCL_PROFILER_PLUGIN), so the recorder
 * runs under both. Before the launch it is unknown which of the two a program
 * loads. So auto means the recorder, and this backend is used only by its name.
 */
#include "plugins/backend.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/figure.h"
#include "common/num.h"
#include "plugins/nccl_inspector/inspector.h"

/* first RCCL with the interface that it needs */
#define FIRST JP_NCCL_VERSION(2, 27)
#define PORTED JP_NCCL_VERSION(2, 30)

/* What the value of a variable is taken from. */
enum what { ONE, ZERO, INTERVAL, VERBOSE, MIN_SIZE, RING, P2P_RING, P2P };

/* Its variables, their values and reasons; defaults are set as well. */
static const struct {
    const char *name;
    enum what what;
    const char *reason;
} variables[] = {
    {"ENABLE", ONE, "default 0"},
    {"DUMP_THREAD_ENABLE", ONE, "writes during the run"},
    {"DUMP_THREAD_INTERVAL_MICROSECONDS", INTERVAL,
     "by default it writes only at the end what the rings then hold"},
    {"DUMP_VERBOSE", VERBOSE, "verbose="},
    {"PROM_DUMP", ZERO, "its files are deleted at the end"},
    {"OTEL_EXPORT", ZERO, "with 1 it writes no files"},
    {"ENABLE_P2P", P2P, "p2p="},
    {"DUMP_MIN_SIZE_BYTES", MIN_SIZE,
     "min_size=; default 8192 hides small messages"},
    {"DUMP_COLL_RING_SIZE", RING,
     "rate x (interval + slack), or 2 iterations; default 1024"},
    {"DUMP_P2P_RING_SIZE", P2P_RING,
     "the same for sends and receives; default 1024"},
    {"POOL_GROW", ONE, "pools of operations in flight grow"},
    {"REQUIRE_KERNEL_TIMING", ZERO,
     "1 drops operations without GPU time, with some ROCm all; records name "
     "their clock"},
};

/* Returns the input with the release of the library, which may differ from the
 * program's. */
static struct backend_input of_library(const struct backend_input *in)
{
    struct backend_input out = *in;

    if (!out.release)
        out.release = PORTED;
    return out;
}

static int usable(const struct backend_input *in, struct jp_error *err)
{
    if (!in->library)
        return error_set(err, "no RCCL Inspector library is configured "
                              "(nccl.rccl_inspector in the site file)");
    if (!in->library_exists)
        return error_set(err,
                         "%s (nccl.rccl_inspector in the site file) cannot be "
                         "read",
                         in->library);
    if (plan_number(in->side, "nccl") < FIRST)
        return error_set(err,
                         "RCCL %s does not support its Inspector (2.27 "
                         "and later do)",
                         plan_get(in->side, "nccl"));
    return 0;
}

/* With a negative interval of the user only what the rings hold is kept. */
static int forecast(const struct backend_input *in,
                    struct backend_forecast *out, struct jp_error *err)
{
    const struct backend_input library = of_library(in);
    struct backend_forecast f = {0};
    struct inspector_plan p;
    uint64_t comms = plan_number(in->side, "comms"), held;
    char interval[32];

    if (inspector_size(&library, &p, err) < 0)
        return -1;
    f.memory_bytes = f.reserved_bytes = p.memory_bytes;
    f.disk_bytes = p.disk_bytes;
    f.planned_ops = p.planned_ops;
    held = num_mul(comms, p.ring + p.p2p_ring);
    f.kept_ops = !p.never               ? p.kept_ops
                 : held < p.planned_ops ? held
                                        : p.planned_ops;
    snprintf(f.counted, sizeof(f.counted),
             "rings of %s and %s slots x 2 x 3,192 B in each of %s "
             "communicators; %s records of %s B%s",
             FIG_COUNT(p.ring), FIG_COUNT(p.p2p_ring), FIG_COUNT(comms),
             FIG_COUNT(p.planned_ops), FIG_COUNT(p.line_bytes),
             p.shortened ? "; shorter interval to fit the memory" : "");
    if (p.never)
        snprintf(f.lost, sizeof(f.lost),
                 "keeps only what its rings hold when a communicator ends, %s "
                 "of %s records of each rank: the user's interval is below 0; "
                 "force=1 replaces it",
                 FIG_COUNT(f.kept_ops), FIG_COUNT(p.planned_ops));
    else
        snprintf(f.lost, sizeof(f.lost),
                 "loses up to %s of %s records of each rank: those that do not "
                 "fit in its rings between two writes, every %s",
                 FIG_COUNT(p.planned_ops - p.kept_ops),
                 FIG_COUNT(p.planned_ops),
                 num_format_time_us(p.interval_us, interval, sizeof(interval)));
    *out = f;
    return 0;
}

/* Returns the value of a variable. */
static uint64_t number(const struct plan_side *side,
                       const struct inspector_plan *plan, enum what what)
{
    const char *p2p = plan_get(side, "p2p");

    switch (what) {
    case ONE:
        return 1;
    case ZERO:
        return 0;
    case INTERVAL:
        return plan->variable;
    case VERBOSE:
        return plan_number(side, "verbose");
    case MIN_SIZE:
        return plan_number(side, "min_size");
    case RING:
        return plan->ring;
    case P2P_RING:
        return plan->p2p_ring;
    case P2P:
        return !p2p || strcmp(p2p, "off") != 0;
    }
    return 0;
}

static int env(const struct backend_input *in, struct backend_env *out,
               struct jp_error *err)
{
    const struct backend_input library = of_library(in);
    struct inspector_plan plan;
    char name[64];

    if (inspector_size(&library, &plan, err) < 0 ||
        backend_env_add(out, err, "NCCL_PROFILER_PLUGIN", "%s", in->library) <
            0 ||
        backend_env_add(out, err, INSPECTOR_VARIABLE("DUMP_DIR"), "%s/raw/%%N",
                        in->step_dir) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
        snprintf(name, sizeof(name), INSPECTOR_VARIABLE("%s"),
                 variables[i].name);
        if (backend_env_number(out, err, name,
                               number(in->side, &plan, variables[i].what),
                               variables[i].reason) < 0)
            return -1;
    }
    return 0;
}

/* DDA is not switched off for the user, as that would measure another run. */
static int notes(const struct backend_input *in, backend_note *say, void *arg,
                 struct jp_error *err)
{
    const char *dda = in->user ? plan_env(in->user, "RCCL_DDA_ENABLE") : NULL;

    return dda && strcmp(dda, "0") == 0
               ? 0
               : say(arg, false,
                     "RCCL's DDA runs AllReduce of 8 ranks in one node without "
                     "any profiler; RCCL_DDA_ENABLE=0 makes it visible, at "
                     "another speed",
                     err);
}

static const struct backend_planner planner = {
    .usable = usable,
    .size = forecast,
    .env = env,
    .notes = notes,
    .fallback = "recorder",
};

static const struct jp_mode words[] = {
    {.name = "rccl-inspector",
     .help = "RCCL's Inspector if the site has it, else the recorder"},
    {0}};

static const struct jp_knob site_keys[] = {
    {JP_KNOB("rccl_inspector", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "AMD's librccl-profiler-inspector.so")},
    {JP_KNOB("rccl_inspector_release", JP_KNOB_VERSION, 0, 0, NULL, NULL,
             "release of RCCL's Inspector; default 2.30")},
    {0}};

extern const struct backend backend_rccl_inspector;
const struct backend backend_rccl_inspector = {
    .abi = BACKEND_ABI,
    .about = {.name = "rccl-inspector",
              .title = "RCCL's Inspector",
              .option = OPTION_NCCL,
              .words = words,
              .knobs = inspector_knobs,
              .site_keys = site_keys,
              .library = "rccl_inspector",
              .release = "rccl_inspector_release"},
    .planner = &planner,
    /* no reader: NVIDIA's takes its lines */
};
