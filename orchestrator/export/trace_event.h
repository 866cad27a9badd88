/* trace_event.h - an operation as the members of a trace event. */
#ifndef JP_EXPORT_TRACE_EVENT_H
#define JP_EXPORT_TRACE_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "orchestrator/ingest/recfile.h"

/* Prints "<us>.<ns>" of nanoseconds. */
void trace_event_us(FILE *out, int64_t ns);

/* From where to where an operation stands in the trace, CLOCK_MONOTONIC: its
 * kernel, else from enqueueing on for its time. False: no time is known. */
bool trace_event_span(const struct jpr_op *op, uint64_t *start_ns,
                      uint64_t *end_ns);

/* The members name, cat and args of an operation, as they stand between
 * "tid":N, and the closing brace; caller frees. NULL without memory. */
char *trace_event_describe(const struct jp_recfile *file,
                           const struct jpr_op *op);

#endif
