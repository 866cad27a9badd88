/* example_reader.c - a trace becomes records. */
#include "plugins/reader.h"

#include <string.h>

#include "plugins/nccl_example/example.h"
#include "plugins/nccl_example/tracefile.h"

static bool probe(const char *name, const void *head, size_t len)
{
    return trace_lex_begins(head, len);
}

static void sum_up(struct jp_tracefile *source, enum trace_status last,
                   struct source_facts *facts)
{
    const char *damage = logsource_damage(source->source);

    facts->bytes = source->reader->lex.bytes;
    facts->other_lines = source->reader->others;
    facts->records = source->records;
    facts->untimed = source->untimed;
    facts->partly = source->partly;
    memcpy(facts->pools, source->reader->pools, sizeof(facts->pools));
    facts->missing = tracefile_missing(source);
    facts->cut = source->reader->cut || damage || last == TRACE_OP_FAILED;
    reader_note_damage(facts, damage ? damage
                              : last == TRACE_OP_FAILED
                                  ? "cannot be read to its end"
                                  : NULL);
}

static int read_file(void *state, const struct reader_input *in,
                     const struct reader_sink *sink, struct source_facts *facts)
{
    enum trace_status kind = TRACE_OP;
    struct jp_tracefile source;
    struct jp_error err = {""};
    struct record record;
    int rc = 0;

    if ((in->data
             ? tracefile_open_bytes(&source, in->data, in->len, in->path, &err)
             : tracefile_open(&source, in->path, &err)) < 0)
        return reader_refuse(facts, in->path, &err);
    facts->has_pools = true;
    facts->no_clock = true;
    while (rc == 0 && !atomic_load_explicit(in->stop, memory_order_relaxed) &&
           (kind = tracefile_next(&source, &record)) <= TRACE_OP_BAD) {
        if (kind == TRACE_OP)
            rc = sink->take(sink->arg, &record, 1);
        else
            reader_note_bad(facts, source.line, source.bad, source.why);
    }
    sum_up(&source, kind, facts);
    tracefile_close(&source);
    return rc;
}

const struct backend_reader example_reader = {.probe = probe,
                                              .read = read_file};
