/* copper_planner.c - Copper's place among the backends. */
#include "plugins/copper/copper_face.h"

/* A profile of Copper is made by its daemons and not by variables of the
 * tasks: it runs beside an NCCL profiler, never in its place. */
static int copper_usable(const struct backend_input *in, struct jp_error *err)
{
    return error_set(err, "Copper is asked for by --copper-profile");
}

static const struct backend_planner copper_planner = {
    .usable = copper_usable,
};

extern const struct backend backend_copper;
const struct backend backend_copper = {
    .abi = BACKEND_ABI,
    .name = "copper",
    .help = "the Copper cache's own counters and path lists",
    .planner = &copper_planner,
    .runner = &copper_face,
};
