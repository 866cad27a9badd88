/* cmd_aggregate.h - the parts of `jobprof aggregate`. */
#ifndef JP_CMD_AGGREGATE_H
#define JP_CMD_AGGREGATE_H

#include <stdbool.h>

#include "orchestrator/aggregate/aggregate.h"

/* --exporter-layout: writes the exporter's tree into dir (exists), and says on
 * stderr, unless quiet, how far its pictures are and what it left out. Returns
 * -1 after saying why. */
int aggregate_exporter(const struct jp_result *result, const char *dir,
                       bool quiet);

#endif
