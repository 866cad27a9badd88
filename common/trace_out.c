/* trace_out.c - write a trace of events. */
#include "common/trace_out.h"

void trace_out_begin(struct trace_out *trace, struct jp_json_stream *s,
                     const char *phase, uint64_t process, uint64_t thread)
{
    if (trace->comma)
        fputs(",\n", trace->out);
    trace->comma = true;
    json_stream_open(s, JSON_PART, trace->out);
    json_stream_text(s, "ph", phase);
    json_stream_count(s, "pid", process);
    json_stream_count(s, "tid", thread);
}

void trace_out_name(struct trace_out *trace, const char *what, uint64_t process,
                    uint64_t thread, const char *name)
{
    struct jp_json_stream s;

    trace_out_begin(trace, &s, "M", process, thread);
    json_stream_text(&s, "name", what);
    json_stream_object(&s, "args");
    json_stream_text(&s, "name", name);
    json_stream_end_object(&s);
    json_stream_close(&s, NULL);
}
