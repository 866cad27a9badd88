/* inspector_reader.c - the lines of a log become records. */
#include "plugins/nccl_inspector/inspector.h"

#include <stdlib.h>

#include "plugins/nccl_inspector/loglines.h"
#include "plugins/nccl_inspector/neighbours.h"
#include "plugins/nccl_inspector/reader.h"

/* Of a thread. */
struct state {
    struct inspector_reader reader; /* with a cache */
    struct jp_loglines lines;
};

/* One log's way into the sink. */
struct way {
    struct state *state;
    const struct reader_sink *sink;
    struct source_facts *facts;
    struct neighbours *neighbours; /* NULL before the first verbose record */
};

static void destroy(void *arg)
{
    struct state *state = arg;

    if (!state)
        return;
    inspector_cache_destroy(state->reader.cache);
    loglines_fini(&state->lines);
    free(state);
}

static void *create(void)
{
    struct state *state = calloc(1, sizeof(*state));

    if (!state)
        return NULL;
    state->reader.cache = inspector_cache_create();
    if (state->reader.cache && loglines_init(&state->lines, NULL) == 0)
        return state;
    destroy(state);
    return NULL;
}

/* What comes out of neighbours.h. */
static int take(void *arg, const struct record *record)
{
    struct way *w = arg;

    return w->sink->take(w->sink->arg, record, 1);
}

/* Only verbose records tell of batches. */
static int take_record(struct way *w, const struct record *record)
{
    if (!record->start_us || !record->end_us) {
        int rc = w->neighbours ? neighbours_flush(w->neighbours) : 0;

        return rc ? rc : w->sink->take(w->sink->arg, record, 1);
    }
    if (!w->neighbours)
        w->neighbours = neighbours_create(take, w);
    return w->neighbours ? neighbours_add(w->neighbours, record) : -1;
}

static int take_line(struct way *w, enum loglines_kind kind, const char *text,
                     size_t len)
{
    struct inspector_reader *reader = &w->state->reader;
    struct source_facts *facts = w->facts;
    struct record record;

    switch (inspector_read_line(reader, text, len, &record)) {
    case INSPECTOR_RECORD:
        return take_record(w, &record);
    case INSPECTOR_OTHER:
        facts->other_lines++;
        break;
    case INSPECTOR_BAD:
        if (kind == LOGLINES_LAST)
            facts->cut = true; /* killed while writing, or still growing */
        else
            reader_note_bad(facts, facts->lines, reader->bad, reader->why);
        break;
    case INSPECTOR_BLANK:
        break;
    }
    return 0;
}

/* Tells how far the file is read; false: stop. */
static bool tick(const struct jp_loglines *lines, uint64_t *seen,
                 const struct reader_input *in)
{
    uint64_t now = logsource_consumed(lines->source);

    atomic_fetch_add_explicit(in->done, now - *seen, memory_order_relaxed);
    *seen = now;
    return !atomic_load_explicit(in->stop, memory_order_relaxed);
}

/* Lines that look like those before, as many as are in the buffer. */
static int take_ahead(struct way *w, struct jp_loglines *lines)
{
    const char *text;
    size_t used, len = loglines_ahead(lines, &text);
    uint64_t at = loglines_at(lines);
    int rc = 0;

    while (rc == 0 && at < lines->to) {
        struct record record;

        if (!inspector_read_ahead(&w->state->reader, text, len, &record, &used))
            break;
        rc = take_record(w, &record);
        w->facts->lines++;
        loglines_take(lines, used);
        text += used;
        len -= used;
        at += used;
    }
    return rc;
}

/* The line in which a piece begins belongs to the one before. */
static bool skip_first(struct jp_loglines *lines, struct jp_error *err)
{
    const char *text;
    size_t len;

    return lines->from == 0 ||
           loglines_next(lines, &text, &len, err) < LOGLINES_END;
}

/* What the whole of a file or piece showed. */
static void sum_up(struct source_facts *facts, const struct jp_loglines *lines,
                   const struct jp_error *err)
{
    const char *damage = logsource_damage(lines->source);

    if (damage || err->text[0]) {
        facts->cut = true;
        reader_note_damage(facts, damage ? damage : err->text);
    }
}

/* The lines behind the first; lines' source is open. */
static int read_lines(struct way *w, const struct reader_input *in,
                      struct jp_loglines *lines, struct jp_error *err)
{
    struct source_facts *facts = w->facts;
    uint64_t read = 0, seen = 0;
    bool more = true;
    int rc = 0;

    while (more) {
        const char *text;
        size_t len;
        enum loglines_kind kind;

        rc = take_ahead(w, lines);
        if (rc || loglines_at(lines) >= lines->to)
            break;
        kind = loglines_next(lines, &text, &len, err);
        if (kind == LOGLINES_END || kind == LOGLINES_ERROR)
            break;
        facts->lines++;
        if (kind == LOGLINES_TOO_LONG)
            reader_note_bad(facts, facts->lines, JP_BAD_LONG,
                            "line longer than 1 MiB");
        else
            rc = take_line(w, kind, text, len);
        more = rc == 0;
        if (more && lines->bytes != read)
            more = tick(lines, &seen, in);
        read = lines->bytes;
    }
    if (w->neighbours && rc == 0)
        rc = neighbours_flush(w->neighbours);
    tick(lines, &seen, in);
    return rc;
}

static int read_source(struct state *state, const struct reader_input *in,
                       const struct reader_sink *sink,
                       struct source_facts *facts)
{
    struct way w = {.state = state, .sink = sink, .facts = facts};
    struct jp_loglines *lines = &state->lines;
    uint64_t odd = state->reader.ways.odd, from;
    struct jp_error err = {""};
    int rc = 0;

    lines->stop = in->stop; /* a line may be as long as a disk */
    if (skip_first(lines, &err)) {
        from = loglines_at(lines);
        rc = read_lines(&w, in, lines, &err);
    } else {
        from = loglines_at(lines);
    }
    neighbours_destroy(w.neighbours);
    facts->bytes = loglines_at(lines) - from;
    facts->odd_lines = state->reader.ways.odd - odd;
    sum_up(facts, lines, &err);
    return rc;
}

static int read_file(void *arg, const struct reader_input *in,
                     const struct reader_sink *sink, struct source_facts *facts)
{
    struct state *state = arg;
    struct jp_error err = {""};
    uint64_t from = in->from ? in->from - 1 : 0; /* a newline there? */
    struct jp_logsource *source =
        in->data ? logsource_open_memory(in->data, in->len, &err)
        : from   ? logsource_open_at(in->path, from, &err)
                 : logsource_open(in->path, &err);
    int rc;

    if (!source)
        return reader_refuse(facts, in->path, &err);
    loglines_reset(&state->lines, source);
    state->lines.from = from;
    state->lines.to = in->to;
    rc = read_source(state, in, sink, facts);
    logsource_close(source);
    return rc;
}

const struct backend_reader inspector_reader = {.takes_rest = true,
                                                .splits = true,
                                                .create = create,
                                                .destroy = destroy,
                                                .read = read_file};
