/* example_planner.c - variables of NVIDIA's example plugin. */
#include "plugins/backend.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/defaults.h"

#define V(minor) JP_NCCL_VERSION(2, minor)
#define NEVER (~0u)

/* Slots of each pool, by release: small constants that every node can hold
 * until sizing counts them. Pools are calloc'ed for each communicator; a slot
 * of COLL is 10.7 MB in 2.26 and 2.27, 755 MB in 2.28 and 24 MB since, so 2.28
 * gets less than its own default, which asks for 193 GB. */
static const struct {
    const char *name;
    unsigned since, until; /* until: first release without this row */
    unsigned slots;
} pools[] = {
    {"GROUP_API", V(28), NEVER, 256},    {"COLL_API", V(28), NEVER, 256},
    {"P2P_API", V(28), NEVER, 256},      {"KERNEL_LAUNCH", V(28), NEVER, 256},
    {"GROUP", V(23), NEVER, 64},         {"COLL", V(23), V(28), 16},
    {"COLL", V(28), V(29), 2},           {"COLL", V(29), NEVER, 16},
    {"P2P", V(23), V(28), 64},           {"P2P", V(28), V(29), 8},
    {"P2P", V(29), NEVER, 64},           {"PROXY_CTRL", V(23), NEVER, 16},
    {"PROXY_DETACH", V(23), V(28), 128}, {"PROXY_DETACH", V(28), V(29), 16},
    {"PROXY_DETACH", V(29), NEVER, 128}, {"CE_COLL", V(29), NEVER, 8},
    {"CE_SYNC", V(29), NEVER, 8},        {"CE_BATCH", V(29), NEVER, 8},
};

static int example_usable(const struct backend_input *in, struct jp_error *err)
{
    if (!in->library)
        return error_set(err, "no example library is configured "
                              "(nccl.example in the site file)");
    if (!in->library_exists)
        return error_set(err,
                         "%s (nccl.example in the site file) cannot be "
                         "read",
                         in->library);
    return 0;
}

static int example_env(const struct backend_input *in, struct backend_env *out,
                       struct jp_error *err)
{
    uint64_t release = plan_number(in->side, "nccl");
    char name[64];

    /* the plugin adds _<commHash>_<rank>.json; its mask's default is 0 */
    if (backend_env_add(out, err, "NCCL_PROFILER_PLUGIN", "%s", in->library) <
            0 ||
        backend_env_add(out, err, "NCCL_PROFILE_DUMP_FILE", "%s/raw/%%N/trace",
                        in->step_dir) < 0 ||
        backend_env_add(out, err, "NCCL_PROFILE_EVENT_MASK", "%d",
                        JP_DEF_EXAMPLE_MASK) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(pools) / sizeof(*pools); i++) {
        if (release < pools[i].since || release >= pools[i].until)
            continue;
        snprintf(name, sizeof(name), "NCCL_PROFILE_%s_POOL_SIZE",
                 pools[i].name);
        if (backend_env_add(out, err, name, "%u", pools[i].slots) < 0)
            return -1;
    }
    return 0;
}

static const struct backend_planner example_planner = {
    .usable = example_usable,
    .size = NULL, /* with the sizing of pools */
    .env = example_env,
};

extern const struct backend backend_nccl_example;
const struct backend backend_nccl_example = {
    .abi = BACKEND_ABI,
    .name = "example",
    .help = "NVIDIA's example plugin: a timeline of the last operations",
    .planner = &example_planner,
};
