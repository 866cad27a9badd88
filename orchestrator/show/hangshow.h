/* hangshow.h - `jobprof show --pending`: which ranks wait for which. */
#ifndef JP_SHOW_HANGSHOW_H
#define JP_SHOW_HANGSHOW_H

#include <stdbool.h>
#include <stdio.h>

#include "common/error.h"
#include "orchestrator/ingest/logwalk.h"
#include "orchestrator/live/livestate.h"

/* Reads the walk's recordings and prints the answer with its tables, or a JSON
 * object. Without recordings, prints only JSON. Returns 0, or -1: no memory, or
 * the output failed. */
int hangshow_print(struct jp_recwalk *walk, bool json, FILE *out,
                   struct jp_error *err);

/* The same for a running step, from its nodes' snapshots. The output includes
 * their age. step: "42.0". */
int hangshow_print_live(const struct livestate *state, const char *step,
                        bool json, FILE *out, struct jp_error *err);

#endif
