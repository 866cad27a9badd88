/* clock_feature.h - the part of a report that the nodes' clocks have. */
#ifndef JP_CLOCK_CLOCK_FEATURE_H
#define JP_CLOCK_CLOCK_FEATURE_H

#include "orchestrator/feature/feature.h"

extern const struct feature feature_clock;

/* clock_show.c: reads <nodes>/<node>/clock.jsonl of the folders (NULL: none).
 * Prints one row per pair of neighbours, then the checks; or a JSON object.
 * Without any file, prints only JSON. Returns 0, or -1: no memory, or the
 * output failed. */
int clock_show(char *const *nodes, size_t n, const struct feature_show *how,
               struct feature_shown *done, struct jp_error *err);

#endif
