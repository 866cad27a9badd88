/* trace_event.h - an operation as the members of a trace event. */
#ifndef JP_EXPORT_TRACE_EVENT_H
#define JP_EXPORT_TRACE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/record.h"
#include "plugins/nccl_example/trace_read.h"
#include "plugins/nccl_recorder/recfile.h"

/* From where to where an operation stands in the trace, CLOCK_MONOTONIC: its
 * kernel, else from enqueueing on for its time. False: no time is known. */
bool trace_event_span(const struct jpr_op *op, uint64_t *start_ns,
                      uint64_t *end_ns);

/* An object with the members name, cat and args of an operation; caller frees.
 * NULL without memory. */
char *trace_event_describe(const struct jp_recfile *file,
                           const struct jpr_op *op);

/* The same of a record of another profiler. op: the example plugin's operation
 * that it was made of, or NULL. */
char *trace_event_of_record(const struct record *record,
                            const struct trace_op *op);

#endif
