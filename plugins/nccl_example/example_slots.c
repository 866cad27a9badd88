/* example_slots.c - sizes of the example plugin's slots by release. */
#include "plugins/nccl_example/example_slots.h"

#include <stdio.h>

#include <stddef.h>

#include "common/knob.h"

static const char *const pool_names[EXAMPLE_POOLS] = {
    "GROUP_API",    "COLL_API", "P2P_API", "KERNEL_LAUNCH",
    "GROUP",        "COLL",     "P2P",     "PROXY_CTRL",
    "PROXY_DETACH", "CE_COLL",  "CE_SYNC", "CE_BATCH"};

/* In the order of enum example_pool. */
#define OLD(coll, p2p, op)                                                     \
    {                                                                          \
        0, 0, 0, 0, 64, coll, p2p, 40, op, 0, 0, 0                             \
    }
#define NEW(coll, p2p, op, ...)                                                \
    {                                                                          \
        120, 112, 112, 56, 64, coll, p2p, 40, op, __VA_ARGS__                  \
    }
#define OLD_DEFAULTS                                                           \
    {                                                                          \
        0, 0, 0, 0, 16, 16, 1024, 16, 128, 0, 0, 0                             \
    }
#define DEFAULTS_256                                                           \
    {                                                                          \
        256, 256, 256, 256, 256, 256, 256, 16, 256, 0, 0, 0                    \
    }
#define DEFAULTS_8                                                             \
    {                                                                          \
        8, 8, 8, 8, 8, 8, 8, 16, 8, 8, 8, 8                                    \
    }
#define R JP_NCCL_RELEASE

static const struct example_slots rows[] = {
    {R(2, 23, 0), KEEPS_FIRST, OLD(74368, 1256, 1160), OLD_DEFAULTS, 32, true},
    {R(2, 24, 0), KEEPS_FIRST, OLD(1188128, 37232, 1160), OLD_DEFAULTS, 32,
     true},
    {R(2, 26, 3), KEEPS_LAST, OLD(10757400, 337264, 10504), OLD_DEFAULTS, 32,
     true},
    {R(2, 27, 0), KEEPS_LAST, OLD(10700552, 335968, 10448), OLD_DEFAULTS, 32,
     true},
    {R(2, 28, 0), KEEPS_FIRST, NEW(755066640, 23597416, 737368, 0, 0, 0),
     DEFAULTS_256, 32, true},
    {R(2, 29, 3), KEEPS_FIRST, NEW(23684880, 741736, 23128, 224, 176, 184),
     DEFAULTS_8, 32, true},
    {R(2, 30, 0), KEEPS_FIRST, NEW(23684880, 741736, 23128, 224, 176, 184),
     DEFAULTS_8, 32, false},
};

#define N (sizeof(rows) / sizeof(*rows))

const char *example_variable(int pool, char name[EXAMPLE_VARIABLE_LEN])
{
    snprintf(name, EXAMPLE_VARIABLE_LEN, "NCCL_PROFILE_%s_POOL_SIZE",
             pool_names[pool]);
    return name;
}

/* The oldest release that one may mean. */
static uint32_t oldest_of(uint32_t release)
{
    return release % 1000 == JP_NCCL_NO_PATCH ? release - JP_NCCL_NO_PATCH
                                              : release;
}

/* Whether rows[i] is valid for a release from oldest to release. */
static bool may_mean(size_t i, uint32_t oldest, uint32_t release)
{
    return rows[i].since <= release &&
           (i + 1 == N || rows[i + 1].since > oldest);
}

const struct example_slots *example_slots_find(uint32_t release)
{
    const struct example_slots *found = &rows[0];
    uint32_t oldest = oldest_of(release);
    bool any = false;

    for (size_t i = 0; i < N; i++)
        if (may_mean(i, oldest, release) &&
            (!any || rows[i].bytes[POOL_COLL] > found->bytes[POOL_COLL])) {
            found = &rows[i];
            any = true;
        }
    return found;
}

bool example_slots_differ(uint32_t release)
{
    enum example_keeps keeps = example_slots_find(release)->keeps;

    for (size_t i = 0; i < N; i++)
        if (may_mean(i, oldest_of(release), release) && rows[i].keeps != keeps)
            return true;
    return false;
}
