/* clockshow.h - `jobprof show --clock`: what the nodes' agents measured of each
 * other's clocks, and whether that is good. */
#ifndef JP_SHOW_CLOCKSHOW_H
#define JP_SHOW_CLOCKSHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/error.h"

struct clockshow_done {
    size_t files, bad_files; /* of agents; that could not be read */
    size_t neighbours;       /* rows */
    size_t failed;           /* checks, where there is a row */
};

/* Reads <nodes>/<node>/clock.jsonl of the folders and prints a row for each two
 * neighbours, then the checks; or a JSON object. node: only of that node; NULL:
 * of all. Where there is no file only JSON is printed. Damaged files are told
 * by say (may be NULL). 0, or -1: no memory, or the output failed. */
int clockshow_print(char *const *nodes, size_t n, const char *node, bool json,
                    FILE *out, void (*say)(const char *text),
                    struct clockshow_done *done, struct jp_error *err);

#endif
