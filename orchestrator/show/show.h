/* show.h - what `jobprof show` prints: after a run's logs were removed, of
 * a hang (--pending), of clocks (--clock). */
#ifndef JP_SHOW_SHOW_H
#define JP_SHOW_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/error.h"
#include "orchestrator/ingest/logwalk.h"
#include "orchestrator/live/livestate.h"
#include "orchestrator/show/opsum.h"
#include "orchestrator/show/show_table.h"

/* Whether one of these folders, or the parent of a raw/, has a report. */
bool show_saved_has(char *const *folders, size_t n);

/* Whether all of them are steps without raw/. Other files of a step, such as
 * the nodes' lists of tasks, are not logs. */
bool show_saved_bare(char *const *folders, size_t n);

/* Prints the tables of csv/ on standard output: ranks if the filter names a
 * rank or a node, otherwise totals of operations. Returns 0; 1 if nothing
 * passes the filter; -1 and err. */
int show_saved_sums(char *const *folders, size_t n,
                    const struct opsum_filter *filter, enum show_form form,
                    struct jp_error *err);

/* Prints from summary.json whether the report found a hang. Returns 0, or -1
 * and err. */
int show_saved_pending(char *const *folders, size_t n, bool json,
                       struct jp_error *err);

/* --- --pending: which ranks wait for which ------------------------------- */

/* Reads the walk's recordings and prints the answer with its tables, or a JSON
 * object. Without recordings, prints only JSON. Returns 0, or -1: no memory, or
 * the output failed. */
int hangshow_print(struct jp_recwalk *walk, bool json, FILE *out,
                   struct jp_error *err);

/* The same for a running step, from its nodes' snapshots. The output includes
 * their age. step: "42.0". */
int hangshow_print_live(const struct livestate *state, const char *step,
                        bool json, FILE *out, struct jp_error *err);

/* --- --clock: the nodes' clocks as their agents have measured them ------- */

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
