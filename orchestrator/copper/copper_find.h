/* copper_find.h - which files below the inputs are Copper's.
 *
 * Symbolic links are not followed. Names decide (plugins/copper/copper_name.h);
 * what a file holds its reader checks. A log directory is the folder above
 * profiling/, tables/ or logs/; where files lie otherwise, their own folder.
 */
#ifndef JP_COPPER_COPPER_FIND_H
#define JP_COPPER_COPPER_FIND_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "plugins/copper/copper_name.h"

#define COPPER_FIND_DEPTH 32

struct copper_file {
    char *path;
    size_t root_len; /* the log directory's part of path */
    struct copper_name name;
    uint64_t size;
    int64_t mtime_us;
};

struct copper_found {
    struct copper_file
        *files; /* by host, pid, log directory, kind, tag, copy */
    size_t n;
    size_t profiles; /* files but logs and lists of nodes */
    size_t logs;     /* that are not empty */
    size_t lists;    /* of nodes */
};

/* 0, or -1: no memory, or an input cannot be opened. */
int copper_find(const char *const *inputs, size_t n_inputs,
                struct copper_found *found, struct jp_error *err);
void copper_found_fini(struct copper_found *found);

#endif
