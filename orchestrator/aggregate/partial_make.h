/* partial_make.h - read one node's logs and leave their partial. */
#ifndef JP_AGGREGATE_PARTIAL_MAKE_H
#define JP_AGGREGATE_PARTIAL_MAKE_H

#include "common/error.h"
#include "orchestrator/aggregate/aggregate.h"

/* How long reading the logs below a folder takes at most, by their sizes, in
 * ms; cautious, to be compared with a limit. Symbolic links are not followed.
 * 0: no logs, or no folder. */
uint64_t partial_estimate_ms(const char *raw);

/* Joins the logs below raw and writes them to path, by temp + rename.
 * options: threads is ignored (one). 0; 1: no logs: nothing written; -1 and
 * err: stopped, over the memory bound, a log cannot be read: path is as it was.
 */
int partial_make(const char *raw, const char *path,
                 const struct jp_aggregate_options *options,
                 struct jp_error *err);

#endif
