/* joinread.c - the lines of one log file into a join. */
#include <stdio.h>
#include <string.h>

#include "orchestrator/aggregate/joinrun.h"

static void note_bad(struct join_file *file, uint64_t line, const char *why)
{
    if (!file->bad_lines++) {
        file->bad_line = line;
        snprintf(file->why, sizeof(file->why), "%s", why);
    }
}

static enum join_status take_line(struct join *join,
                                  struct inspector_reader *reader,
                                  struct join_file *file,
                                  enum loglines_kind kind, const char *text,
                                  size_t len, uint64_t line)
{
    struct inspector_record record;

    switch (inspector_read_line(reader, text, len, &record)) {
    case INSPECTOR_RECORD:
        return join_add(join, &record);
    case INSPECTOR_OTHER:
        file->other_lines++;
        break;
    case INSPECTOR_BAD:
        if (kind == LOGLINES_LAST)
            file->cut = true; /* killed while writing, or still growing */
        else
            note_bad(file, line, reader->why);
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

enum join_status joinrun_read(struct join *join, struct jp_loglines *lines,
                              struct join_file *file, atomic_bool *stop,
                              _Atomic uint64_t *done)
{
    struct inspector_reader reader = {.why = ""};
    enum join_status status = JOIN_OK;
    uint64_t line = 0, read = 0, seen = 0;
    struct jp_error err = {""};
    const char *damage;
    bool more = true;

    while (more && status != JOIN_NO_MEMORY && !join->conflict) {
        const char *text;
        size_t len;
        enum loglines_kind kind = loglines_next(lines, &text, &len, &err);

        line++;
        if (kind == LOGLINES_END || kind == LOGLINES_ERROR)
            break;
        if (kind == LOGLINES_TOO_LONG)
            note_bad(file, line, "line longer than 1 MiB");
        else
            status = take_line(join, &reader, file, kind, text, len, line);
        if (lines->bytes != read)
            more = tick(lines, &seen, stop, done);
        read = lines->bytes;
    }
    tick(lines, &seen, stop, done);
    file->bytes = lines->bytes;
    damage = logsource_damage(lines->source);
    if (damage || err.text[0]) {
        file->cut = true;
        snprintf(file->trouble, sizeof(file->trouble), "%.150s",
                 damage ? damage : err.text);
    }
    return status;
}
