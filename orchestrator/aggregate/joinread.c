/* joinread.c - the lines of one log file into a join. */
#include <stdio.h>
#include <string.h>

#include "orchestrator/aggregate/joinrun.h"

void joinrun_note_bad(struct join_file *file, uint64_t line, enum jp_bad kind,
                      const char *why)
{
    if (!file->bad[kind].n++)
        file->bad[kind].line = line;
    if (!file->bad_lines++) {
        file->bad_line = line;
        snprintf(file->why, sizeof(file->why), "%s", why);
    }
}

enum join_status joinrun_stamp(struct join_file *file,
                               const struct inspector_record *record)
{
    if (!file->busy && !(file->busy = busy_create(file->piece)))
        return JOIN_NO_MEMORY;
    return busy_add(file->busy, record) < 0 ? JOIN_NO_MEMORY : JOIN_OK;
}

static enum join_status take_line(struct join *join, struct join_file *file,
                                  enum loglines_kind kind, const char *text,
                                  size_t len)
{
    struct inspector_record record;

    switch (inspector_read_line(&join->reader, text, len, &record)) {
    case INSPECTOR_RECORD:
        return joinrun_take(join, file, &record);
    case INSPECTOR_OTHER:
        file->other_lines++;
        break;
    case INSPECTOR_BAD:
        if (kind == LOGLINES_LAST)
            file->cut = true; /* killed while writing, or still growing */
        else
            joinrun_note_bad(file, file->lines, join->reader.bad,
                             join->reader.why);
        break;
    case INSPECTOR_BLANK:
        break;
    }
    return JOIN_OK;
}

/* Tells how far the file is read; false: stop. */
static bool tick(const struct jp_loglines *lines, uint64_t *seen,
                 atomic_bool *stop, _Atomic uint64_t *done)
{
    uint64_t now = logsource_consumed(lines->source);

    atomic_fetch_add_explicit(done, now - *seen, memory_order_relaxed);
    *seen = now;
    return !atomic_load_explicit(stop, memory_order_relaxed);
}

/* Lines that look like those before, as many as are in the buffer. */
static enum join_status take_ahead(struct join *join, struct jp_loglines *lines,
                                   struct join_file *file)
{
    enum join_status status = JOIN_OK;
    const char *text;
    size_t used, len = loglines_ahead(lines, &text);
    uint64_t at = loglines_at(lines);

    while (status != JOIN_NO_MEMORY && !join->conflict && at < lines->to) {
        struct inspector_record record;

        if (!inspector_read_ahead(&join->reader, text, len, &record, &used))
            break;
        status = joinrun_take(join, file, &record);
        file->lines++;
        loglines_take(lines, used);
        text += used;
        len -= used;
        at += used;
    }
    return status;
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
static void sum_up(struct join_file *file, const struct jp_loglines *lines,
                   const struct jp_error *err)
{
    const char *damage = logsource_damage(lines->source);

    if (damage || err->text[0]) {
        file->cut = true;
        snprintf(file->trouble, sizeof(file->trouble), "%.150s",
                 damage ? damage : err->text);
    }
}

enum join_status joinrun_read(struct join *join, struct jp_loglines *lines,
                              struct join_file *file, atomic_bool *stop,
                              _Atomic uint64_t *done)
{
    enum join_status status = JOIN_OK;
    uint64_t odd = join->reader.ways.odd, read = 0, seen = 0, from;
    struct jp_error err = {""};
    bool more;

    lines->stop = stop; /* a line may be as long as a disk */
    more = skip_first(lines, &err);
    from = loglines_at(lines);
    while (more) {
        const char *text;
        size_t len;
        enum loglines_kind kind;

        status = take_ahead(join, lines, file);
        if (status == JOIN_NO_MEMORY || join->conflict ||
            loglines_at(lines) >= lines->to)
            break;
        kind = loglines_next(lines, &text, &len, &err);
        if (kind == LOGLINES_END || kind == LOGLINES_ERROR)
            break;
        file->lines++;
        if (kind == LOGLINES_TOO_LONG)
            joinrun_note_bad(file, file->lines, JP_BAD_LONG,
                             "line longer than 1 MiB");
        else
            status = take_line(join, file, kind, text, len);
        more = status != JOIN_NO_MEMORY && !join->conflict;
        if (more && lines->bytes != read)
            more = tick(lines, &seen, stop, done);
        read = lines->bytes;
    }
    tick(lines, &seen, stop, done);
    file->bytes = loglines_at(lines) - from;
    file->odd_lines = join->reader.ways.odd - odd;
    sum_up(file, lines, &err);
    return status;
}
