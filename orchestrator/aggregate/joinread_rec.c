/* joinread_rec.c - the operations of one recorder's file into a join. */
#include <stdio.h>
#include <string.h>

#include "orchestrator/aggregate/joinrun.h"

/* Operations between two looks at *stop. */
#define LOOK_EVERY 4096

static enum join_status take_op(struct join *join, struct jp_recfile *source,
                                const struct jpr_op *op, struct join_file *file)
{
    struct inspector_record record;
    const char *why = recfile_record(source, op, &record);

    file->records++;
    if (!why)
        return joinrun_take(join, file, &record);
    joinrun_note_bad(file, file->records, source->bad, why);
    return JOIN_OK;
}

/* The first damage is named; err says "name: offset N: what". */
static void note_damage(struct join_file *file, const struct jp_error *err)
{
    const char *at = strstr(err->text, ": offset ");

    if (!file->trouble[0])
        snprintf(file->trouble, sizeof(file->trouble), "%.150s",
                 at ? at + 2 : err->text);
}

/* What was produced, lost and left out, to the communicators. */
static enum join_status add_counts(struct join *join,
                                   const struct jp_recfile *source)
{
    enum join_status status = JOIN_OK;
    struct jpr_counts counts;

    for (uint32_t i = 0; i < source->n_comms && status != JOIN_NO_MEMORY; i++) {
        const struct recfile_comm *comm = source->comms[i];

        if (!comm || comm->why || !comm->n_counts)
            continue;
        recfile_sum(comm, &counts);
        status = join_add_counts(join, &comm->base, &counts);
    }
    return status;
}

static enum join_status take_record(struct join *join,
                                    struct jp_recfile *source,
                                    const struct jpr_record *record,
                                    struct join_file *file,
                                    struct stuck_file *reading)
{
    if (file->evidence && stuck_file_add(reading, source, record) < 0)
        return JOIN_NO_MEMORY;
    return record->type == JPR_OP ? take_op(join, source, record->op, file)
                                  : JOIN_OK;
}

/* What is told at the end of the file. */
static enum join_status take_end(struct join *join,
                                 const struct jp_recfile *source,
                                 struct join_file *file,
                                 struct stuck_file *reading)
{
    if (file->evidence && stuck_file_end(reading, source, file->evidence) < 0)
        return JOIN_NO_MEMORY;
    return add_counts(join, source);
}

enum join_status joinrun_read_recorder(struct join *join,
                                       struct jp_recfile *source,
                                       struct join_file *file,
                                       atomic_bool *stop)
{
    enum join_status status = JOIN_OK;
    struct stuck_file reading = {0};
    struct jpr_record record;
    struct jp_error err;
    int rc = 1;

    file->recorder = true;
    while (status != JOIN_NO_MEMORY && !join->conflict &&
           (rc = recfile_next(source, &record, &err)) != 0) {
        if (rc < 0)
            note_damage(file, &err);
        else
            status = take_record(join, source, &record, file, &reading);
        if (file->records % LOOK_EVERY == 0 && atomic_load(stop))
            break;
    }
    if (status != JOIN_NO_MEMORY &&
        take_end(join, source, file, &reading) == JOIN_NO_MEMORY)
        status = JOIN_NO_MEMORY;
    stuck_file_fini(&reading);
    if (recfile_damage(source) && !file->trouble[0])
        snprintf(file->trouble, sizeof(file->trouble), "%.150s",
                 recfile_damage(source));
    file->bytes = jpr_end(source->reader)->offset;
    file->damaged = jpr_end(source->reader)->damaged;
    file->tail = source->tail;
    file->cut = !source->tail.final || jpr_end(source->reader)->cut;
    file->notes = source->notes;
    source->notes = NULL;
    return status;
}
