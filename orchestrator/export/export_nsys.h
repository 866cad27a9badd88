/* export_nsys.h - add GPU activity from nsys exports to a trace of events.
 *
 * An export has times since the start of its session. utcEpochNs converts them
 * to the clock of its node, and the report's clocks to the clock common to all
 * nodes. Kernels and copies are thus aligned with the collectives, as precisely
 * as both conversions are known.
 */
#ifndef JP_EXPORT_EXPORT_NSYS_H
#define JP_EXPORT_EXPORT_NSYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/clockmap.h"
#include "common/error.h"

struct export_nsys;

/* Finds the exports (.sqlite) among and below the inputs that contain the start
 * of their session. Others and damaged ones are counted in *bad. Returns NULL
 * without memory. */
struct export_nsys *export_nsys_find(const char *const *inputs, size_t n,
                                     const struct clockmap *clocks,
                                     size_t *bad);
void export_nsys_free(struct export_nsys *list); /* accepts NULL */
size_t export_nsys_count(const struct export_nsys *list);
/* The earliest event in unix ns, by the common clock; UINT64_MAX: none. */
uint64_t export_nsys_first_ns(const struct export_nsys *list);

/* Writes the events of all exports: one process per rank, one thread per stream
 * of a GPU. pid is the rank's number (is_named marks those that already have a
 * name), or counts from free_pid. *comma: a comma is needed before the next
 * event. Returns the number of exports found to be damaged. */
size_t export_nsys_write(const struct export_nsys *list, uint64_t origin_ns,
                         const bool *is_named, size_t n_named,
                         uint64_t free_pid, bool *comma, FILE *out);

#endif
