/* util_loaded.h - which frameworks a step's tasks have loaded, and their
 * versions.
 *
 * From /proc/PID/maps: torch, jax, tensorflow, nccl, rccl, cuda (the runtime)
 * and driver (CUDA's). A version comes from the constants of NCCL's library,
 * from the end of a file's name (libcudart.so.12.4.127), or from the Python
 * package that the file belongs to. The files belong to the tasks: they are
 * foreign input, and their file system may hang. So a child reads them. */
#ifndef JP_UTIL_LOADED_H
#define JP_UTIL_LOADED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "plugins/util/util_gpu.h"

#define UTIL_LOADED_MAX 16
#define UTIL_LOADED_NAME 16
#define UTIL_LOADED_VERSION 48

/* Each name and version once, in the order in which they were found. */
struct util_loaded {
    uint32_t n;
    struct util_library {
        char name[UTIL_LOADED_NAME];
        char version[UTIL_LOADED_VERSION]; /* "": unknown */
    } list[UTIL_LOADED_MAX];
};

/* Adds what the processes have loaded. One that has ended, or whose number
 * belongs to another one, is left out. May block. */
void util_loaded_find(const struct util_some *some, struct util_loaded *loaded);

/* Adds a framework unless it is there. An entry without a version is replaced
 * by the same one with a version. Invalid names and versions are ignored. */
void util_loaded_add(struct util_loaded *loaded, const char *name,
                     const char *version);

/* The same in a child, which is killed after UTIL_LOOK_MS. */
#define UTIL_LOOK_MS 10000
struct util_look {
    pid_t pid;
    int fd; /* the child's answer */
    uint64_t start_ms;
    uint64_t cpu_us; /* cost of the child; 0 until it has ended */
};
struct util_look *util_look_start(const struct util_some *some, uint64_t now_ms,
                                  struct jp_error *err);
/* Returns 1 if the child has ended: *loaded has what it found; 0: not yet; -1:
 * it died, or was killed because it was too slow; err says so. */
int util_look_take(struct util_look *look, uint64_t now_ms,
                   struct util_loaded *loaded, struct jp_error *err);
void util_look_stop(struct util_look *look); /* accepts NULL; frees */

#endif
