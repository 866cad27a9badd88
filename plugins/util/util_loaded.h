/* util_loaded.h - which frameworks a step's tasks have loaded, and their
 * versions.
 *
 * From /proc/PID/maps: torch, jax, tensorflow, nccl, rccl, cuda (the runtime)
 * and driver (CUDA's). A version is what NCCL's library says of itself in its
 * constants, the end of a file's name (libcudart.so.12.4.127), or that of the
 * Python package that the file belongs to. Files are those of the tasks: they
 * are foreign input, and their file system may hang. So a child reads them.
 */
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

/* Each name and version once, in the order in which they were seen. */
struct util_loaded {
    uint32_t n;
    struct util_library {
        char name[UTIL_LOADED_NAME];
        char version[UTIL_LOADED_VERSION]; /* "": not known */
    } list[UTIL_LOADED_MAX];
};

/* Adds what processes have loaded: at most 32 of them, evenly chosen. root
 * replaces /. May block. */
void util_loaded_find(const char *root, const struct util_pids *pids,
                      struct util_loaded *loaded);

/* Adds one, unless it is there. One without a version gives way to the same
 * with one. Names and versions that no library has are left out. */
void util_loaded_add(struct util_loaded *loaded, const char *name,
                     const char *version);

/* The same in a child, which is killed after UTIL_LOOK_MS. */
#define UTIL_LOOK_MS 10000
struct util_look {
    pid_t pid;
    int fd; /* the child's answer */
    uint64_t start_ms;
    uint64_t cpu_us; /* that the child has taken; 0 until it has ended */
};
struct util_look *util_look_start(const char *root,
                                  const struct util_pids *pids, uint64_t now_ms,
                                  struct jp_error *err);
/* 1: it has ended, and what it found is in *loaded; 0: not yet; -1: it was
 * killed for its slowness or died; err says so. */
int util_look_take(struct util_look *look, uint64_t now_ms,
                   struct util_loaded *loaded, struct jp_error *err);
void util_look_stop(struct util_look *look); /* takes NULL; frees */

#endif
