/* trace_out.h - write a trace of events: the array of JSON Trace Event Format,
 * event by event (github.com/google/perfetto reads it). Whoever writes the
 * trace opens and closes the array. */
#ifndef JP_COMMON_TRACE_OUT_H
#define JP_COMMON_TRACE_OUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/json_stream.h"

struct trace_out {
    FILE *out;  /* borrowed; an error is visible in it */
    bool comma; /* an event has been written */
};

/* Begins an event of that phase ("X": it has a duration). The caller adds
 * members and closes s. */
void trace_out_begin(struct trace_out *trace, struct jp_json_stream *s,
                     const char *phase, uint64_t process, uint64_t thread);
/* Names a process ("process_name", thread 0) or a thread ("thread_name"). */
void trace_out_name(struct trace_out *trace, const char *what, uint64_t process,
                    uint64_t thread, const char *name);

#endif
