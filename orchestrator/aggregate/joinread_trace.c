/* joinread_trace.c - the operations of one of the example plugin's traces into
 * a join. */
#include <stdio.h>
#include <string.h>

#include "orchestrator/aggregate/joinrun.h"

enum join_status joinrun_read_trace(struct join *join,
                                    struct jp_tracefile *source,
                                    struct join_file *file, atomic_bool *stop)
{
    enum join_status status = JOIN_OK;
    enum trace_status kind = TRACE_OP;
    struct inspector_record record;
    const char *damage;

    file->trace = true;
    while (status != JOIN_NO_MEMORY && !join->conflict &&
           !atomic_load_explicit(stop, memory_order_relaxed) &&
           (kind = tracefile_next(source, &record)) <= TRACE_OP_BAD) {
        if (kind == TRACE_OP)
            status = join_add(join, &record);
        else
            joinrun_note_bad(file, source->line, source->bad, source->why);
    }
    file->bytes = source->reader->lex.bytes;
    file->other_lines = source->reader->others;
    file->records = source->records;
    file->untimed = source->untimed;
    file->partly = source->partly;
    memcpy(file->pools, source->reader->pools, sizeof(file->pools));
    file->missing = tracefile_missing(source);
    damage = logsource_damage(source->source);
    file->cut = source->reader->cut || damage || kind == TRACE_OP_FAILED;
    if (damage || kind == TRACE_OP_FAILED)
        snprintf(file->trouble, sizeof(file->trouble), "%.150s",
                 damage ? damage : "cannot be read to its end");
    return status;
}
