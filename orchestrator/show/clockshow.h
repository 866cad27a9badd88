/* clockshow.h - `jobprof show --clock`: the nodes' clocks as their agents have
 * measured them, and checks of their quality. */
#ifndef JP_SHOW_CLOCKSHOW_H
#define JP_SHOW_CLOCKSHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/error.h"

struct clockshow_done {
    size_t files, bad_files; /* agents' files; those that could not be read */
    size_t neighbours;       /* rows */
    size_t failed;           /* failed checks, if there is a row */
};

/* Reads <nodes>/<node>/clock.jsonl of the folders. Prints one row per pair of
 * neighbours, then the checks; or a JSON object. node: only this node; NULL:
 * all. Without any file, prints only JSON. Damaged files are reported by say
 * (may be NULL). Returns 0, or -1: no memory, or the output failed. */
int clockshow_print(char *const *nodes, size_t n, const char *node, bool json,
                    FILE *out, void (*say)(const char *text),
                    struct clockshow_done *done, struct jp_error *err);

#endif
