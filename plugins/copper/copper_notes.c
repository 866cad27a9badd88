/* copper_notes.c - the head of a summary.md, the address book, the tree. */
#include "plugins/copper/copper_notes.h"

#include <string.h>

/* The text between the first two backquotes, as a number or as it stands. */
static bool quoted(const char *text, size_t len, const char **value, size_t *n)
{
    const char *a = memchr(text, '`', len);
    const char *b = a ? memchr(a + 1, '`', len - (size_t) (a + 1 - text))
                      : NULL;

    if (!b)
        return false;
    *value = a + 1;
    *n = (size_t) (b - a - 1);
    return true;
}

static void take_bullet(const char *text, size_t len, struct copper_settings *s)
{
    const char *value;
    uint64_t number;
    size_t n;

    if (!quoted(text, len, &value, &n))
        return;
    if (copper_begins(text, len, "- Profiling mode:") && n < sizeof(s->mode)) {
        memcpy(s->mode, value, n);
        s->mode[n] = '\0';
    } else if (copper_begins(text, len, "- Full path outputs enabled:")) {
        s->full = copper_is(value, n, "yes");
    } else if (copper_u64(value, n, &number) && number <= INT32_MAX) {
        if (copper_begins(text, len, "- Metadata ENOENT TTL (ms):"))
            s->ttl_ms = (int64_t) number;
        else if (copper_begins(text, len, "- Top-path limit:"))
            s->top_n = (int64_t) number;
    }
}

int copper_summary_read(struct copper_stream *stream,
                        struct copper_settings *out, struct jp_error *err)
{
    struct copper_settings s = {.ttl_ms = -1, .top_n = -1, .full = -1};
    const char *text;
    size_t len;
    int rc = copper_stream_line(stream, &text, &len, err);

    if (rc < 0)
        return -1;
    if (rc == 0)
        return error_set(err, "empty");
    if (!copper_is(text, len, "# Copper Profiling Summary"))
        return copper_stream_bad(stream, err, "no heading of a summary");
    while ((rc = copper_stream_line(stream, &text, &len, err)) > 0) {
        if (copper_begins(text, len, "## "))
            break;
        take_bullet(text, len, &s);
    }
    if (rc < 0)
        return -1;
    if (rc == 0)
        return copper_stream_bad(stream, err, "cut within the settings");
    *out = s;
    return 0;
}

int copper_book_next(struct copper_stream *stream, const char **host,
                     size_t *len, struct jp_error *err)
{
    const char *text;
    size_t n;
    int rc;

    while ((rc = copper_stream_line(stream, &text, &n, err)) > 0) {
        size_t k = 0;

        while (k < n && text[k] != ' ' && text[k] != '\t' && text[k] != '\r')
            k++;
        if (!k)
            continue;
        *host = text;
        *len = k;
        return 1;
    }
    return rc;
}

unsigned copper_tree_fanout(uint64_t n)
{
    static const struct {
        uint64_t most;
        unsigned fanout;
    } table[] = {{31, 2}, {121, 3}, {341, 4}, {781, 5}, {1555, 6}};

    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        if (n <= table[i].most)
            return table[i].fanout;
    return 7;
}

unsigned copper_tree_level(uint64_t i, unsigned fanout)
{
    uint64_t width = 1, before = 0;
    unsigned level = 0;

    while (i - before >= width) {
        before += width;
        width *= fanout;
        level++;
    }
    return level;
}
