/* cuda_backend.c - the place of CUDA's counters among the backends: a knob of
 * the option that takes samples, and doctor's look. */
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugins/backend.h"
#include "plugins/cuda/cuda_file.h"
#include "plugins/cuda/cuda_launch.h"

/* Doctor reports whether the library that tasks load is installed, and which
 * CUPTI it would find. */
#define INSTALLED JP_PKGLIBDIR "/" CUDA_LIBRARY_NAME

/* Places in which CUDA's toolkits and distributions install CUPTI. */
static const char *const usual[] = {
    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so*",
    "/usr/local/cuda/lib64/libcupti.so*",
    "/usr/local/cuda-*/extras/CUPTI/lib64/libcupti.so*",
    "/usr/local/cuda-*/lib64/libcupti.so*",
    "/usr/lib/*-linux-gnu/libcupti.so*",
    "/usr/lib64/libcupti.so*",
};

/* The first file that matches the pattern, into path. */
static bool find_file(const char *pattern, char *path, size_t len)
{
    glob_t found = {0};
    bool there = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;

    if (there)
        snprintf(path, len, "%s", found.gl_pathv[0]);
    globfree(&found);
    return there;
}

/* LD_LIBRARY_PATH comes first, as for the dynamic loader. */
static bool find_cupti(char *path, size_t len)
{
    const char *folders = getenv("LD_LIBRARY_PATH");
    char pattern[4096];

    while (folders && *folders) {
        size_t n = strcspn(folders, ":");

        snprintf(pattern, sizeof(pattern), "%.*s/libcupti.so*", (int) n,
                 folders);
        /* relative folders depend on where the task runs */
        if (*folders == '/' && find_file(pattern, path, len))
            return true;
        folders += n + (folders[n] == ':');
    }
    for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
        if (find_file(usual[i], path, len))
            return true;
    return false;
}

/* Formats "CUDA's calls (cuda=1): PATH, libcupti at PATH", or what is missing,
 * into buf. No library is loaded. Returns whether they can be counted. */
static bool can_count(char *buf, size_t len)
{
    char cupti[512];

    if (access(INSTALLED, R_OK) < 0) {
        snprintf(buf, len,
                 "CUDA's calls (cuda=1) cannot be counted: %s does not exist",
                 INSTALLED);
        return false;
    }
    if (!find_cupti(cupti, sizeof(cupti)))
        snprintf(cupti, sizeof(cupti),
                 "no libcupti in the usual places, so only programs with their "
                 "own are counted");
    snprintf(buf, len, "CUDA's calls (cuda=1): %s, %s", INSTALLED, cupti);
    return true;
}

static const struct jp_knob knobs[] = {
    {JP_KNOB(
        "cuda", JP_KNOB_BOOL, 0, 1, NULL, "0",
        "1: count CUDA launches, copies, allocations and waits of the tasks")},
    {0}};

static int look_at_node(const struct jp_plan *plan, backend_note *say,
                        void *arg, struct jp_error *err)
{
    char line[1024];
    bool usable = can_count(line, sizeof(line));

    (void) plan;
    return say(arg, !usable, line, err);
}

const struct backend backend_cuda = {
    .abi = BACKEND_ABI,
    .about = {.name = "cuda",
              .title = "the counters of CUDA's calls",
              .option = OPTIONS,
              .with_samples = true,
              .knobs = knobs},
    .side = &cuda_side,
    .look = look_at_node,
    .check_step = cuda_check_step,
};
