/* loaded.h - which frameworks a step's tasks have loaded, and their
 * versions.
 *
 * From /proc/PID/maps: torch, jax, tensorflow, nccl, rccl, cuda (the runtime)
 * and driver (CUDA's). A version comes from the constants of NCCL's library,
 * from the end of a file's name (libcudart.so.12.4.127), or from the Python
 * package that the file belongs to. The files belong to the tasks: they are
 * foreign input, and their file system may hang. So a child reads them. */
#ifndef JP_COMMON_LOADED_H
#define JP_COMMON_LOADED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/procfs.h"

#define LOADED_MAX 16
#define LOADED_NAME 16
#define LOADED_VERSION 48

/* Each name and version once, in the order in which they were found. */
struct loaded_list {
    uint32_t n;
    struct loaded_library {
        char name[LOADED_NAME];
        char version[LOADED_VERSION]; /* "": unknown */
    } list[LOADED_MAX];
};

/* Adds what the processes have loaded. One that has ended, or whose number
 * belongs to another one, is left out. May block. */
void loaded_find(const struct procfs_some *some, struct loaded_list *loaded);

/* Adds a framework unless it is there. An entry without a version is replaced
 * by the same one with a version. Invalid names and versions are ignored. */
void loaded_add(struct loaded_list *loaded, const char *name,
                const char *version);

/* The same in a child, which is killed after LOADED_LOOK_MS. */
#define LOADED_LOOK_MS 10000
struct loaded_look {
    pid_t pid;
    int fd; /* the child's answer */
    uint64_t start_ms;
    uint64_t cpu_us; /* cost of the child; 0 until it has ended */
};
struct loaded_look *loaded_look_start(const struct procfs_some *some,
                                      uint64_t now_ms, struct jp_error *err);
/* Returns 1 if the child has ended: *loaded has what it found; 0: not yet; -1:
 * it died, or was killed because it was too slow; err says so. */
int loaded_look_take(struct loaded_look *look, uint64_t now_ms,
                     struct loaded_list *loaded, struct jp_error *err);
void loaded_look_stop(struct loaded_look *look); /* accepts NULL; frees */

#endif
