/* plugstack.h - Slurm's plugstack.conf, as its own loader reads it.
 *
 * "optional|required PLUGIN [ARGUMENT...]" and "include PATTERN" (relative to
 * the file's folder); '#' starts a comment, nothing is quoted.
 */
#ifndef JP_DOCTOR_PLUGSTACK_H
#define JP_DOCTOR_PLUGSTACK_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

#define PLUGSTACK_ARGS_MAX 16

struct plugstack_line {
    bool required;
    char *plugin; /* as written: absolute or within Slurm's plugin folder */
    char *args[PLUGSTACK_ARGS_MAX];
    size_t n_args; /* further ones are counted, not kept */
    char *where;   /* "file:line" */
};

struct plugstack {
    struct plugstack_line *lines; /* in the order of loading */
    size_t n_lines;
    char **files; /* those that were read */
    size_t n_files;
    char *trouble; /* the first thing that cannot be understood; NULL: none */
};

/* Reads path and what it includes. -1: path itself cannot be read; else
 * plugstack_fini frees. */
int plugstack_read(const char *path, struct plugstack *out,
                   struct jp_error *err);
void plugstack_fini(struct plugstack *stack);

/* Whether the line's plugin is a file of that name. */
bool plugstack_is(const struct plugstack_line *line, const char *name);

/* The value of an argument "key=..."; NULL: not there. Borrowed. */
const char *plugstack_arg(const struct plugstack_line *line, const char *key);

#endif
