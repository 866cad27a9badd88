/* cuda_look.c - looks for the library that tasks load, and for CUPTI. */
#include "plugins/cuda/cuda_look.h"

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugins/cuda/cuda_env.h"

#define INSTALLED JP_PKGLIBDIR "/" CUDA_LIBRARY_NAME

/* Where CUDA's toolkits and distributions put it. */
static const char *const usual[] = {
    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so*",
    "/usr/local/cuda/lib64/libcupti.so*",
    "/usr/local/cuda-*/extras/CUPTI/lib64/libcupti.so*",
    "/usr/local/cuda-*/lib64/libcupti.so*",
    "/usr/lib/*-linux-gnu/libcupti.so*",
    "/usr/lib64/libcupti.so*",
};

static bool find(const char *pattern, char *path, size_t len)
{
    glob_t found = {0};
    bool there = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;

    if (there)
        snprintf(path, len, "%s", found.gl_pathv[0]);
    globfree(&found);
    return there;
}

/* Folders of LD_LIBRARY_PATH come first, as the loader has it. */
static bool find_cupti(char *path, size_t len)
{
    const char *folders = getenv("LD_LIBRARY_PATH");
    char pattern[4096];

    while (folders && *folders) {
        size_t n = strcspn(folders, ":");

        snprintf(pattern, sizeof(pattern), "%.*s/libcupti.so*", (int) n,
                 folders);
        if (*folders == '/' && find(pattern, path, len))
            return true;
        folders += n + (folders[n] == ':');
    }
    for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
        if (find(usual[i], path, len))
            return true;
    return false;
}

const char *cuda_look(char *buf, size_t len)
{
    bool installed = access(INSTALLED, R_OK) == 0;
    char cupti[512];

    if (!find_cupti(cupti, sizeof(cupti)))
        snprintf(cupti, sizeof(cupti),
                 "no libcupti in the usual places: programs that bring their "
                 "own are counted");
    snprintf(buf, len, "CUDA's calls (cuda=1): %s%s, %s", INSTALLED,
             installed ? "" : " is not there", cupti);
    return buf;
}
