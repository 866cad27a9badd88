/* export_nsys.h - GPUs' work by exports of nsys, in a trace of events.
 *
 * An export has times since its session's start, which utcEpochNs puts on its
 * node's clock; the clocks of the report put that on the clock of all nodes. So
 * kernels and copies stand beside the collectives, as exactly as both are told.
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

/* The exports (.sqlite) among and below the inputs that say when their session
 * began; the others and the damaged ones are counted in *bad. NULL without
 * memory. */
struct export_nsys *export_nsys_find(const char *const *inputs, size_t n,
                                     const struct clockmap *clocks,
                                     size_t *bad);
void export_nsys_free(struct export_nsys *list); /* takes NULL */
size_t export_nsys_count(const struct export_nsys *list);
/* The earliest event, unix ns by the clock of all nodes; UINT64_MAX: none. */
uint64_t export_nsys_first_ns(const struct export_nsys *list);

/* The events of all: a process a rank, the one of its number (is_named tells
 * those that have a name), or from free_pid on; a thread a stream of a GPU.
 * *comma: an event stands before. Returns the exports that were damaged on the
 * way. */
size_t export_nsys_write(const struct export_nsys *list, uint64_t origin_ns,
                         const bool *is_named, size_t n_named,
                         uint64_t free_pid, bool *comma, FILE *out);

#endif
