/* joinread.c - one file into a join, by the reader that takes it. */
#include "orchestrator/aggregate/joinrun.h"

#include <stdlib.h>

#include "orchestrator/aggregate/timeline.h"

/* One file's way into a join. */
struct way {
    struct join *join;
    struct source_facts *facts;
    struct hangs_file reading;
    bool timelines;
    uint64_t timeline_events;
};

/* A good record's time in flight. JOIN_OK, or JOIN_NO_MEMORY. */
static enum join_status stamp(struct source_facts *facts,
                              const struct record *record)
{
    if (!facts->busy && !(facts->busy = busy_create(facts->piece)))
        return JOIN_NO_MEMORY;
    return busy_add(facts->busy, record) < 0 ? JOIN_NO_MEMORY : JOIN_OK;
}

/* What a replay needs of it. 0, or -1 without memory. */
static int follow(const struct way *w, const struct record *record)
{
    struct source_facts *facts = w->facts;

    if (!w->timelines || facts->no_clock)
        return 0;
    if (!facts->timeline &&
        !(facts->timeline = timeline_create(w->timeline_events)))
        return -1;
    return timeline_add(facts->timeline, record);
}

static int take(void *arg, const struct record *records, size_t n)
{
    const struct way *w = arg;

    for (size_t i = 0; i < n; i++) {
        if (records[i].start_us && records[i].end_us) {
            if (stamp(w->facts, &records[i]) != JOIN_OK ||
                follow(w, &records[i]) < 0)
                return -1;
        } else {
            w->facts->unstamped += !w->facts->no_clock;
        }
        if (join_add(w->join, &records[i]) == JOIN_NO_MEMORY)
            return -1;
        if (w->join->conflict)
            return 1;
    }
    return 0;
}

static int counts(void *arg, const struct record *base,
                  const struct jpr_counts *told)
{
    const struct way *w = arg;

    return join_add_counts(w->join, base, told) == JOIN_NO_MEMORY ? -1 : 0;
}

static int watch(void *arg, const struct jp_recfile *file,
                 const struct jpr_record *record)
{
    struct way *w = arg;

    if (!w->facts->evidence &&
        !(w->facts->evidence = calloc(1, sizeof(*w->facts->evidence))))
        return -1;
    return record ? hangs_file_add(&w->reading, file, record)
                  : hangs_file_end(&w->reading, file, w->facts->evidence);
}

enum join_status joinrun_read(const struct join_reading *r,
                              const struct backend *backend,
                              const struct reader_input *in,
                              struct source_facts *facts)
{
    struct way w = {.join = r->join,
                    .facts = facts,
                    .timelines = r->timelines,
                    .timeline_events = r->timeline_events};
    const struct reader_sink sink = {.take = take,
                                     .counts = counts,
                                     .watch = r->evidence ? watch : NULL,
                                     .arg = &w};
    int rc = reader_read(r->states, backend, in, &sink, facts);

    hangs_file_fini(&w.reading);
    return rc < 0 ? JOIN_NO_MEMORY : JOIN_OK;
}

enum join_status joinrun_read_file(const struct join_reading *r,
                                   const struct jp_logfile *log,
                                   const struct join_turn *turn)
{
    struct jp_error err = {""};
    const struct backend *backend = reader_find(log->path, !log->maybe, &err);
    const struct reader_input in = {.path = log->path,
                                    .from = turn->from,
                                    .to = turn->to,
                                    .stop = r->stop,
                                    .done = r->done};
    enum join_status status = JOIN_OK;

    turn->file->piece = turn->file != turn->whole;
    if (backend)
        status = joinrun_read(r, backend, &in, turn->file);
    else if (*err.text)
        reader_refuse(turn->file, log->path, &err);
    else
        turn->file->foreign = true;
    if (turn->file->busy && !turn->file->piece)
        busy_end(turn->file->busy);
    if (!backend || !backend->reader->splits)
        atomic_fetch_add(r->done, log->size);
    return status;
}
