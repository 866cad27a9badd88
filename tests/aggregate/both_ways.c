/* both_ways.c - a line read by speculation and by the generic parser. */
#include "tests/aggregate/both_ways.h"

#include <stdlib.h>
#include <string.h>

static bool same(const struct record_text *a, const struct record_text *b)
{
    return a->len == b->len && (!a->len || !memcmp(a->text, b->text, a->len));
}

static const char *record_differs(const struct record *a,
                                  const struct record *b)
{
    if (!same(&a->id, &b->id) || !same(&a->name, &b->name))
        return "id or name";
    if (!same(&a->host, &b->host) || a->pid != b->pid)
        return "host or pid";
    if (!same(&a->func, &b->func) || a->p2p != b->p2p)
        return "function";
    if (a->rank != b->rank || a->n_ranks != b->n_ranks ||
        a->nnodes != b->nnodes)
        return "shape";
    if (a->sn != b->sn || a->has_sn != b->has_sn || a->bytes != b->bytes ||
        (a->p2p && a->peer != b->peer))
        return "operation";
    if (a->gaps_lost != b->gaps_lost)
        return "gaps";
    if (a->dump_us != b->dump_us || a->exec_us != b->exec_us ||
        a->exec_unknown != b->exec_unknown)
        return "time";
    if (a->start_us != b->start_us || a->end_us != b->end_us)
        return "stamps";
    if (a->algo != b->algo || a->proto != b->proto || a->clock != b->clock)
        return "words";
    if (a->busbw_micro != b->busbw_micro || a->busbw_nan != b->busbw_nan)
        return "bandwidth";
    return NULL;
}

/* A copy of len bytes, followed by an end of line if there is one. */
static char *copy_of(const char *text, size_t len, const char *ending)
{
    size_t n = strlen(ending);
    char *copy = malloc(len + n + 1);

    if (!copy)
        abort();
    memcpy(copy + 1, text, len);
    memcpy(copy + 1 + len, ending, n);
    return copy;
}

/* The line, at the front of the text that follows it. */
static const char *ahead_differs(struct inspector_reader *reader,
                                 const char *text, size_t len,
                                 const char *ending, enum inspector_line kind,
                                 const struct record *generic)
{
    struct record a = {.gaps_lost = true, .exec_unknown = true};
    char *line = copy_of(text, len, ending);
    const char *differs = NULL;
    size_t used;

    if (inspector_read_ahead(reader, line + 1, len + strlen(ending), &a, &used))
        differs = kind != INSPECTOR_RECORD || used != len + 1
                      ? "kind of the line ahead"
                      : record_differs(&a, generic);
    free(line);
    return differs;
}

static const char *line_differs(struct inspector_reader *reader,
                                const char *text, size_t len)
{
    static char more[8000]; /* more than the reader looks at without checking
                             * for the end */
    /* each way begins in the batch of the lines before */
    const struct inspector_batch batch = reader->batch;
    struct inspector_reader generic = {.batch = batch};
    struct record a = {.gaps_lost = true, .exec_unknown = true}, b;
    char *line = copy_of(text, len, "");
    const char *differs = NULL;
    enum inspector_line kind = inspector_read_line(&generic, line + 1, len, &b);

    memset(more, '1', sizeof(more) - 1);
    more[0] = '\n';
    differs = ahead_differs(reader, text, len, "\n", kind, &b);
    reader->batch = batch;
    if (!differs)
        differs = ahead_differs(reader, text, len, more, kind, &b);
    reader->batch = batch;
    if (differs)
        goto out;
    if (inspector_read_line(reader, line + 1, len, &a) != kind)
        differs = "kind";
    else if (kind == INSPECTOR_BAD && strcmp(reader->why, generic.why))
        differs = "reason";
    else if (kind == INSPECTOR_RECORD)
        differs = record_differs(&a, &b);
    else if (kind == INSPECTOR_MARKER &&
             (reader->stats.records != generic.stats.records ||
              reader->stats.dropped != generic.stats.dropped))
        differs = "marker";
    if (!differs && (reader->batch.left[0] != generic.batch.left[0] ||
                     reader->batch.left[1] != generic.batch.left[1]))
        differs = "records left";
    if (!differs && reader->has_header != generic.has_header)
        differs = "header";
out:
    free(line);
    return differs;
}

const char *both_ways_differ(struct inspector_reader *reader, const char *text,
                             size_t len)
{
    const char *differs = NULL;

    while (len && !differs) {
        const char *newline = memchr(text, '\n', len);
        size_t n = newline ? (size_t) (newline - text) : len;

        differs = line_differs(reader, text, n);
        n += newline != NULL;
        text += n;
        len -= n;
    }
    return differs;
}
