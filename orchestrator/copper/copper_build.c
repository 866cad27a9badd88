/* copper_build.c - what the parts of copper_run share. */
#include "orchestrator/copper/copper_build.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int copper_note(struct copper_build *b, const char *path, bool bad,
                const char *fmt, ...)
{
    struct jp_copper *c = b->copper;
    struct jp_file_note *more = c->notes;
    char what[600];
    va_list ap;

    c->notes_bad += bad;
    if (c->n_notes == JP_COPPER_MAX_NOTES) {
        c->notes_left_out++;
        return 0;
    }
    if (!(c->n_notes & (c->n_notes - 1))) {
        more =
            reallocarray(more, c->n_notes ? 2 * c->n_notes : 1, sizeof(*more));
        if (!more)
            return -1;
        c->notes = more;
    }
    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    more[c->n_notes] = (struct jp_file_note){strdup(path), strdup(what)};
    c->n_notes++;
    return more[c->n_notes - 1].path && more[c->n_notes - 1].what ? 0 : -1;
}

int copper_read_done(struct copper_build *b, const struct copper_stream *s)
{
    const struct jp_copper_options *o = b->options;

    b->copper->files++;
    b->copper->bytes_read += s->bytes;
    if (o->progress &&
        o->progress(o->progress_arg, b->copper->bytes_read, b->bytes_all))
        return error_set(b->err, "stopped");
    return 0;
}
