/* scout.h - the clocks of the nodes, found before the records are joined.
 *
 * An operation keeps the first and the last start of all its ranks, so times of
 * different nodes must be on one clock when they meet in the join. Where logs
 * are of several nodes they are therefore looked at beforehand: only as far as
 * timelines go, and of a partial only its timelines. One node costs a look at
 * the first records of some files.
 */
#ifndef JP_AGGREGATE_SCOUT_H
#define JP_AGGREGATE_SCOUT_H

#include <stdint.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/partial.h"
#include "orchestrator/ingest/logwalk.h"

/* The clocks, by timelines of at most `events` operations each. NULL: of one
 * node as far as the first records tell, or no memory, or the caller wants to
 * stop. Caller destroys (clocks_destroy). */
struct jp_clocks *scout_clocks(const struct jp_logwalk *walk,
                               const struct partial_set *partials,
                               const struct jp_aggregate_options *options,
                               uint64_t events);

#endif
