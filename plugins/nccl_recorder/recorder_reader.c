/* recorder_reader.c - a recording becomes records. */
#include "plugins/nccl_recorder/recorder.h"

#include <string.h>

#include "plugins/nccl_recorder/jpr_frame.h"
#include "plugins/nccl_recorder/launches.h"

/* Operations between two looks at *stop. */
#define LOOK_EVERY 4096

/* One file's way into the sink. */
struct way {
    const struct reader_sink *sink;
    struct jp_recfile *source;
    struct source_facts *facts;
    struct launches *launches;
};

/* A file that was cut within the magic bytes is a recording, too. */
static bool probe(const char *name, const void *head, size_t len)
{
    uint8_t magic[JPR_HEAD_BYTES];

    jpr_head_write(magic);
    return len > 0 && !memcmp(head, magic, len < 8 ? len : 8);
}

/* What comes out of launches.h. */
static int take(void *arg, const struct record *record)
{
    struct way *w = arg;

    return w->sink->take(w->sink->arg, record, 1);
}

static int take_op(struct way *w, const struct jpr_op *op)
{
    struct record record;
    const char *why = recfile_record(w->source, op, &record);

    w->facts->records++;
    if (!why)
        return launches_add(w->launches, op, &record, w->source->func->rule);
    reader_note_bad(w->facts, w->facts->records, w->source->bad, why);
    return 0;
}

static int take_record(struct way *w, const struct jpr_record *record)
{
    int rc = w->sink->watch ? w->sink->watch(w->sink->arg, w->source, record)
                            : 0;

    return rc || record->type != JPR_OP ? rc : take_op(w, record->op);
}

/* The first damage is named; err says "name: offset N: what". */
static void note_damage(struct source_facts *facts, const struct jp_error *err)
{
    const char *at = strstr(err->text, ": offset ");

    reader_note_damage(facts, at ? at + 2 : err->text);
}

/* What was produced, lost and left out, to the communicators. */
static int add_counts(struct way *w)
{
    struct jpr_counts counts;
    int rc = 0;

    for (uint32_t i = 0; i < w->source->n_comms && rc == 0; i++) {
        const struct recfile_comm *comm = w->source->comms[i];

        if (!comm || comm->why || !comm->n_counts)
            continue;
        recfile_sum(comm, &counts);
        rc = w->sink->counts(w->sink->arg, &comm->base, &counts);
    }
    return rc;
}

/* What is told at the end of the file. */
static int take_end(struct way *w)
{
    int rc = launches_flush(w->launches);

    if (rc == 0 && w->sink->watch)
        rc = w->sink->watch(w->sink->arg, w->source, NULL);
    return rc ? rc : add_counts(w);
}

static void sum_up(struct jp_recfile *source, struct source_facts *facts)
{
    reader_note_damage(facts, recfile_damage(source));
    facts->bytes = jpr_end(source->reader)->offset;
    facts->damaged = jpr_end(source->reader)->damaged;
    facts->tail = source->tail;
    facts->cut = !source->tail.final || jpr_end(source->reader)->cut;
    facts->notes = source->notes;
    source->notes = NULL;
}

static int read_all(struct jp_recfile *source, const struct reader_input *in,
                    const struct reader_sink *sink, struct source_facts *facts)
{
    struct way w = {sink, source, facts, NULL};
    struct jpr_record record;
    struct jp_error err;
    int rc = 0, got;

    facts->has_counters = true;
    w.launches = launches_create(take, &w);
    if (!w.launches)
        return -1;
    while (rc == 0 && (got = recfile_next(source, &record, &err)) != 0) {
        if (got < 0)
            note_damage(facts, &err);
        else
            rc = take_record(&w, &record);
        if (facts->records % LOOK_EVERY == 0 && atomic_load(in->stop))
            break;
    }
    if (rc == 0)
        rc = take_end(&w);
    launches_destroy(w.launches);
    sum_up(source, facts);
    return rc;
}

static int read_file(void *state, const struct reader_input *in,
                     const struct reader_sink *sink, struct source_facts *facts)
{
    struct jp_recfile source;
    struct jp_error err = {""};
    int rc;

    if ((in->data
             ? recfile_open_bytes(&source, in->data, in->len, in->path, &err)
             : recfile_open(&source, in->path, &err)) < 0)
        return reader_refuse(facts, in->path, &err);
    rc = read_all(&source, in, sink, facts);
    recfile_close(&source);
    return rc;
}

const struct backend_reader recorder_reader = {.probe = probe,
                                               .read = read_file};
