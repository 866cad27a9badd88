/* copper_dump.c - read an ioctl's dumps of counters and cache sizes. */
#include "plugins/copper/copper_dump.h"

#include <inttypes.h>
#include <string.h>

static const char *const titles[COPPER_N_DUMPS] = {
    "Aggregate Operation Counter {",
    "Aggregate Operation Time (microseconds) {",
    "Aggregate Operation Cache Hit {", "Aggregate Operation Cache Miss {",
    "Aggregate Operation Cache Negative {"};

static uint64_t *field_of(struct copper_op *op, enum copper_dump dump)
{
    switch (dump) {
    case COPPER_DUMP_COUNT:
        return &op->calls;
    case COPPER_DUMP_TIME:
        return &op->time_us;
    case COPPER_DUMP_HIT:
        return &op->hits;
    case COPPER_DUMP_MISS:
        return &op->misses;
    default:
        return &op->negatives;
    }
}

static int start(struct copper_stream *stream, const char *title,
                 struct jp_error *err)
{
    const char *text;
    size_t len;
    int rc = copper_stream_line(stream, &text, &len, err);

    if (rc < 0)
        return -1;
    if (rc == 0)
        return error_set(err, "empty");
    if (!copper_is(text, len, title))
        return copper_stream_bad(stream, err, "\"%s\" is not \"%s\"",
                                 COPPER_SHOW(text, len), title);
    return 0;
}

/* "name: value" with or without a comma. */
static int take_line(const struct copper_stream *stream, const char *text,
                     size_t len, enum copper_dump dump, struct copper_ops *ops,
                     struct jp_error *err)
{
    const char *colon = len ? memchr(text, ':', len) : NULL;
    size_t name_len = colon ? (size_t) (colon - text) : 0, at = name_len + 2;
    uint64_t value = 0,
             limit = dump == COPPER_DUMP_TIME ? UINT64_MAX / 64 : UINT32_MAX;
    bool wrapped = false;
    size_t i;

    if (len && text[len - 1] == ',')
        len--;
    if (colon && at < len && text[at] == '-') {
        wrapped = true;
        at++;
    }
    if (!colon || at >= len || text[name_len + 1] != ' ' ||
        !copper_u64(text + at, len - at, &value) || value > limit)
        return copper_stream_bad(stream, err, "bad line \"%s\"",
                                 COPPER_SHOW(text, len));
    i = copper_op_find(text, name_len);
    if (i == COPPER_OTHER_OP && !*ops->odd.text)
        copper_stream_bad(stream, &ops->odd, "unknown operation \"%s\"",
                          COPPER_SHOW(text, name_len));
    ops->overflow |= wrapped;
    if (!wrapped && i == COPPER_OTHER_OP)
        value = *field_of(&ops->row[i], dump) <= limit - value
                    ? *field_of(&ops->row[i], dump) + value
                    : limit;
    *field_of(&ops->row[i], dump) = wrapped ? 0 : value;
    return 0;
}

int copper_dump_read(struct copper_stream *stream, enum copper_dump dump,
                     struct copper_ops *ops, struct jp_error *err)
{
    struct copper_ops more = *ops;
    const char *text;
    size_t len;
    int rc;

    if (start(stream, titles[dump], err) < 0)
        return -1;
    while ((rc = copper_stream_line(stream, &text, &len, err)) > 0) {
        if (copper_is(text, len, "}")) {
            *ops = more;
            return 0;
        }
        if (take_line(stream, text, len, dump, &more, err) < 0)
            return -1;
    }
    return rc < 0 ? -1
                  : copper_stream_bad(stream, err,
                                      "cut: the closing brace is missing");
}

int copper_ops_since(const struct copper_ops *later,
                     const struct copper_ops *earlier, struct copper_ops *out,
                     struct jp_error *err)
{
    struct copper_ops diff = *later;

    for (size_t i = 0; i <= COPPER_N_OPS; i++)
        for (unsigned d = 0; d < COPPER_N_DUMPS; d++) {
            struct copper_op before = earlier->row[i];
            uint64_t *now = field_of(&diff.row[i], d);
            uint64_t then = *field_of(&before, d);

            if (*now < then)
                return error_set(err,
                                 "%s fell from %" PRIu64 " to %" PRIu64
                                 ": counters were reset in between",
                                 copper_op_names[i], then, *now);
            *now -= then;
        }
    diff.overflow |= earlier->overflow;
    *out = diff;
    return 0;
}

int copper_cache_size_read(struct copper_stream *stream,
                           struct copper_cache_size *out, struct jp_error *err)
{
    static const char bytes[] = "Total bytes: ";
    static const char *const counts[] = {"total number of files: ",
                                         "total number of entries: "};
    struct copper_cache_size size = {0};
    bool has_bytes = false, has_count = false;
    const char *text;
    size_t len;
    int rc;

    while ((rc = copper_stream_line(stream, &text, &len, err)) > 0) {
        if (copper_begins(text, len, bytes))
            has_bytes = copper_u64(text + sizeof(bytes) - 1,
                                   len - sizeof(bytes) + 1, &size.bytes);
        for (size_t i = 0; i < 2; i++)
            if (copper_begins(text, len, counts[i]))
                has_count = copper_u64(text + strlen(counts[i]),
                                       len - strlen(counts[i]), &size.entries);
    }
    if (rc < 0)
        return -1;
    if (!has_bytes || !has_count)
        return error_set(err, "ends after line %" PRIu64 " without its sums",
                         stream->line);
    *out = size;
    return 0;
}
