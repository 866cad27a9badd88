/* hangshow.h - `jobprof show --pending`: who keeps whom waiting. */
#ifndef JP_SHOW_HANGSHOW_H
#define JP_SHOW_HANGSHOW_H

#include <stdbool.h>
#include <stdio.h>

#include "common/error.h"
#include "orchestrator/ingest/logwalk.h"
#include "orchestrator/live/livestate.h"

/* Reads the walk's recordings and prints the answer with the tables behind it,
 * or a JSON object; nothing where there is no recording and no JSON is wanted.
 * 0, or -1: no memory, or the output failed. */
int hangshow_print(struct jp_recwalk *walk, bool json, FILE *out,
                   struct jp_error *err);

/* The same of a step that runs, by a look at its nodes' snapshots: as old as
 * they are, which is said. step: "42.0". */
int hangshow_print_live(const struct livestate *state, const char *step,
                        bool json, FILE *out, struct jp_error *err);

#endif
